-- The call ledger: a call of one of our tools is a row before it runs. Arguments are a keyed digest, the result is sealed
-- until the runtime has it. The turn is the runtime's own name; the ordinal is ours.
create table tool_call (
    thread        text not null,
    turn          text not null,
    call_id       text not null,
    session       text not null references session (id),
    ordinal       integer not null,
    tool          text not null,
    contract      integer not null,
    arguments     text not null,
    state         text not null,
    -- Known from the first run on.
    changes       integer,
    -- The engine that ran it last, and how often it was begun.
    epoch         integer,
    runs          integer not null default 0,
    result_sealed blob,
    offered_at    integer not null,
    started_at    integer,
    ended_at      integer,
    delivered_at  integer,
    -- When its turn was over: no result is kept from then on.
    closed_at     integer,
    primary key (thread, turn, call_id)
) strict, without rowid;
create index tool_call_of_turn on tool_call (session, ordinal);
create index tool_call_running on tool_call (epoch) where state = 'running';
create index tool_call_closed on tool_call (closed_at) where closed_at is not null;

-- Which tools the thread was started with; null if no version recorded it. Whether it was said what the thread lacks.
alter table session add column contract integer;
alter table session add column contract_said integer not null default 0;
