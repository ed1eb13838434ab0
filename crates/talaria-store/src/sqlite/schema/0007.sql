-- What is remembered across conversations. Nothing is deleted: a removed entry keeps its row, and every former text is a
-- revision. Rows outlive the sessions that they name, so nothing here refers to another table.
create table memory_entry (
    id         text primary key not null,
    scope      text not null,
    -- The last text, also of a removed entry.
    text       text not null,
    is_removed integer not null,
    -- The revision that wrote it last, which a writer has to name.
    revision   integer not null,
    -- The revision that made it: the order of a scope.
    position   integer not null,
    updated_at integer not null
) strict, without rowid;
create index memory_entry_by_position on memory_entry (position) where is_removed = 0;

create table memory_revision (
    id      integer primary key autoincrement,
    entry   text not null,
    scope   text not null,
    before  text,
    after   text,
    author  text not null,
    session text,
    turn    text,
    call    text,
    -- The revision that this one takes back.
    undoes  integer,
    at      integer not null
) strict;
create index memory_revision_of_entry on memory_revision (entry, id);

-- Changes that wait for a person.
create table memory_proposal (
    id         text primary key not null,
    state      text not null,
    reason     text not null,
    -- The changes, as JSON.
    changes    text not null,
    author     text not null,
    session    text,
    turn       text,
    call       text,
    at         integer not null,
    decided_at integer
) strict, without rowid;

-- The text of each file as Talaria last wrote or read it.
create table memory_mirror (
    scope text primary key not null,
    text  text not null,
    at    integer not null
) strict, without rowid;

-- Texts that people wrote into the files, whole.
create table memory_file_text (
    id    integer primary key autoincrement,
    scope text not null,
    text  text not null,
    at    integer not null
) strict;

-- What each conversation was sent of the memory. Many have the same text.
create table memory_snapshot (
    id      integer primary key autoincrement,
    session text not null,
    digest  text not null,
    -- The entries in it, as a JSON array of their ids.
    entries text not null,
    at      integer not null
) strict;
create index memory_snapshot_of_session on memory_snapshot (session, id);
create table memory_snapshot_text (
    digest text primary key not null,
    text   text not null
) strict, without rowid;
