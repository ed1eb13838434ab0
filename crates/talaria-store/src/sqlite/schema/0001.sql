create table meta (
    key   text primary key not null,
    value text not null
) strict, without rowid;

create table session (
    id            text primary key not null,
    kind          text not null,
    alias         text unique,
    title         text,
    cwd           text not null,
    runtime       text not null,
    model         text,
    thread        text,
    host          text,
    codex_version text,
    asked         text,
    started       text,
    settings      text,
    state         text not null,
    archived      integer not null default 0,
    created_at    integer not null,
    updated_at    integer not null,
    -- The events that are kept are first_seq..=last_seq, without a gap; first_at is the time of the first of them.
    first_seq     integer not null default 1,
    last_seq      integer not null default 0,
    first_at      integer,
    -- What events and messages of this session take, about.
    bytes         integer not null default 0
) strict, without rowid;
create index session_by_time on session (updated_at, id);

create table lease (
    session    text primary key not null references session (id),
    epoch      integer not null,
    owner      text not null,
    expires_at integer not null
) strict, without rowid;

create table turn (
    session      text not null references session (id),
    ordinal      integer not null,
    stage        text not null,
    client_id    text not null,
    after_turn   text,
    codex_turn   text,
    input_sealed blob,
    input_text   text not null,
    limit_ms     integer,
    ours         integer not null,
    outcome      text,
    outcome_kind text,
    code         text,
    usage        text,
    -- The number that the next event had when the turn was written down.
    first_seq    integer not null,
    created_at   integer not null,
    sent_at      integer,
    accepted_at  integer,
    settled_at   integer,
    primary key (session, ordinal)
) strict, without rowid;
create index turn_unsettled on turn (session, ordinal) where stage <> 'settled';

-- No reference to session: the writer has looked at the session's row in the same transaction.
create table event (
    session text not null,
    seq     integer not null,
    turn    integer,
    at      integer not null,
    kind    text not null,
    json    text not null,
    primary key (session, seq)
) strict, without rowid;

-- No reference either: what belonged to a forgotten session is removed after it, a little at a time.
create table message (
    id      integer primary key,
    session text not null,
    key     text not null,
    turn    integer,
    seq     integer not null,
    role    text not null,
    text    text not null,
    json    text not null,
    at      integer not null,
    unique (session, key)
) strict;
create index message_in_order on message (session, seq, id);

-- Two characters behind the text, so that each of its own characters begins a trigram: this is what makes words of
-- one or two characters findable (see search.rs).
create view message_searched as select id, text || char(10, 10) as text from message;
create virtual table message_index using fts5 (
    text, content = 'message_searched', content_rowid = 'id', tokenize = 'trigram', columnsize = 0
);
create virtual table message_trigram using fts5vocab (message_index, row);
create trigger message_added after insert on message begin
    insert into message_index (rowid, text) values (new.id, new.text || char(10, 10));
end;
create trigger message_removed after delete on message begin
    insert into message_index (message_index, rowid, text) values ('delete', old.id, old.text || char(10, 10));
end;
create trigger message_changed after update of text on message when old.text <> new.text begin
    insert into message_index (message_index, rowid, text) values ('delete', old.id, old.text || char(10, 10));
    insert into message_index (rowid, text) values (new.id, new.text || char(10, 10));
end;

create table request (
    id            text primary key not null,
    session       text not null references session (id),
    turn          integer,
    host          text not null,
    thread        text not null,
    rpc_id        text not null,
    method        text not null,
    item          text,
    kind          text not null,
    summary       text not null,
    place         text,
    ask           text not null,
    binding       text,
    state         text not null,
    decision      text,
    answer_sealed blob,
    answered_by   text,
    answered_at   integer,
    opened_at     integer not null,
    closed_at     integer,
    expires_at    integer
) strict, without rowid;
create index request_of_session on request (session, opened_at);
create index request_pending on request (state, opened_at)
    where state in ('open', 'answered', 'delivering', 'escrowed');

create table host (
    nonce      text primary key not null,
    socket     text not null,
    dir        text not null,
    state      text not null,
    pid        integer,
    started    text,
    boot       text,
    version    text not null,
    codex_home text,
    key        text not null,
    created_at integer not null,
    ended_at   integer,
    why        text
) strict, without rowid;

create table outbox (
    id            text primary key not null,
    session       text not null references session (id),
    kind          text not null,
    payload       text not null,
    due_at        integer not null,
    attempts      integer not null default 0,
    claimed_by    text,
    claimed_until integer,
    done_at       integer
) strict, without rowid;
create index outbox_due on outbox (due_at) where done_at is null;
create index outbox_of_session on outbox (session);

-- Sessions that are gone, but whose events and messages are still to be removed.
create table forgotten (
    session text primary key not null
) strict, without rowid;
