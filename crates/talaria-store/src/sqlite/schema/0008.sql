-- Skills: proposed changes, where the skills that Talaria wrote came from, how often they are read, and those that were moved
-- out of the way. The files themselves are the user's. Nothing is deleted, and rows outlive the sessions that they name.
create table skill_proposal (
    id           text primary key not null,
    state        text not null,
    name         text not null,
    -- The folder of the skill.
    folder       text not null,
    -- The file in it.
    file         text not null,
    -- The edit, as JSON, and the change as a diff; secrets are masked in both.
    edit         text not null,
    diff         text not null,
    -- What the file was when it was proposed, and what it will be. Missing: there was or will be none.
    base_digest  text,
    after_digest text,
    -- Why a person should look closely.
    warning      text,
    author       text not null,
    session      text,
    turn         text,
    call         text,
    at           integer not null,
    decided_at   integer
) strict, without rowid;
create index skill_proposal_by_state on skill_proposal (state, at);

create table skill_source (
    folder   text primary key not null,
    proposal text not null,
    author   text not null,
    session  text,
    turn     text,
    call     text,
    at       integer not null
) strict, without rowid;

-- One row for each step of a conversation that read a skill.
create table skill_use (
    folder  text not null,
    session text not null,
    step    text not null,
    at      integer not null,
    primary key (folder, session, step)
) strict, without rowid;

create table skill_archive (
    id          text primary key not null,
    name        text not null,
    folder      text not null,
    -- Where it is now.
    kept        text not null,
    at          integer not null,
    restored_at integer
) strict, without rowid;
