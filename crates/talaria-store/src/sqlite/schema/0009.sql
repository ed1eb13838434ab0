-- Tasks that a conversation delegated: which call started each, and whether the conversation has its result. The result is
-- owed from the end of the task's first turn on, until `delivered_at`. Whether a task has ended is not kept here: its turn
-- says so.
create table delegation (
    child        text primary key not null references session (id),
    parent       text not null references session (id),
    -- The call that started it, by the runtime's names, and which goal of the call it is.
    thread       text not null,
    turn         text not null,
    call_id      text not null,
    goal         integer not null,
    -- 1 for a task that an ordinary conversation delegated.
    depth        integer not null,
    created_at   integer not null,
    -- When its end was reported in the parent's conversation.
    announced_at integer,
    -- The parent's turn that carries the result; the call in it, or null if the result is part of the turn's input.
    carried_turn integer,
    carried_call text,
    -- When the runtime had it.
    delivered_at integer,
    unique (thread, turn, call_id, goal)
) strict, without rowid;
-- Who works for a thread is asked by its id.
create index session_by_thread on session (thread) where thread is not null;
create index delegation_of_parent on delegation (parent, created_at);
create index delegation_unannounced on delegation (child) where announced_at is null;
