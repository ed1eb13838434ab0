-- What happened in a conversation since its last review was put on record. Only that resets the counters.
alter table session add column review_turns integer not null default 0;
alter table session add column review_calls integer not null default 0;
-- Whether the model has read text of strangers in this conversation.
alter table session add column has_foreign_text integer not null default 0;

-- Reviews of finished turns: due, running, done, not_done.
create table review (
    id          integer primary key autoincrement,
    session     text not null,
    first_turn  integer not null,
    last_turn   integer not null,
    state       text not null,
    -- How often it was begun.
    attempts    integer not null default 0,
    -- The engine that began it last.
    epoch       integer,
    -- The proposals of the model, as JSON, secrets masked, until they are applied.
    answer      text,
    -- What it cost, as JSON.
    usage       text,
    -- What came of it, as JSON.
    report      text,
    due_at      integer not null,
    started_at  integer,
    ended_at    integer
) strict;
create index review_of_session on review (session, id);
-- A stretch of work is reviewed once, and one review of a conversation is open at a time.
create unique index review_open on review (session) where state in ('due', 'running');
