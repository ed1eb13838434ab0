-- What a task is beyond a session. Its state is not kept: it follows from its turns and requests.
create table task (
    session  text primary key not null references session (id),
    -- Who wanted it.
    owner    text not null,
    -- The worktree it works in, as JSON.
    worktree text,
    -- Whom to tell, as a JSON array of targets.
    notify   text not null default '[]',
    -- Where it came from, if it was not made here.
    origin   text
) strict, without rowid;
-- Nobody wrote down who wanted the tasks that are there.
insert into task (session, owner) select id, 'person:unknown' from session where kind = 'task';

-- The list of tasks is answered out of these indexes alone: the rows are large, and what stands behind a long answer
-- in a row is expensive to reach.
create index session_tasks on session (updated_at, id, alias, title, cwd, created_at) where kind = 'task';
alter table turn add column interrupted_by text generated always as
    (case when outcome_kind = 'interrupted' and json_valid(outcome) then outcome ->> '$.by' end) virtual;
create index turn_in_short
    on turn (session, ordinal, stage, outcome_kind, code, interrupted_by, created_at, settled_at);
create index request_open on request (session, kind) where state = 'open';

alter table outbox add column target text;
alter table outbox add column state text not null default 'pending';
alter table outbox add column error text;
alter table outbox add column sent_at integer;
-- It may have been delivered before: somebody had claimed it and was not heard of again.
alter table outbox add column repeat integer not null default 0;
update outbox set state = 'sent', sent_at = done_at where done_at is not null;
drop index outbox_due;
create index outbox_due on outbox (due_at, id) where done_at is null and target is not null;
create index outbox_open on outbox (due_at, id) where state in ('pending', 'failed');
