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

create index request_open on request (session, kind) where state = 'open';

-- A task as a list shows it: one text that is read as it is. Ten thousand rows of the tables that it comes from cannot
-- be put together in the time that a list may take.
create table task_line (
    -- As in the session.
    updated_at integer not null,
    session    text not null,
    owner      text not null,
    -- Has it a turn that is not settled?
    active     integer not null,
    -- All of it, as a JSON array, see task_list.rs.
    line       text not null,
    primary key (updated_at, session)
) strict, without rowid;

-- What a line says. It is kept in step by the triggers below, in the transaction of what changed.
create view task_shown as
select session.updated_at, session.id as session, task.owner,
       exists (select 1 from turn where turn.session = session.id and stage <> 'settled') as active,
       json_array(session.updated_at, session.id, session.alias, session.title, session.cwd, session.created_at, task.owner, task.worktree,
                  turn.ordinal, turn.stage, turn.outcome_kind, turn.code,
                  case when turn.outcome_kind = 'interrupted' and json_valid(turn.outcome)
                       then turn.outcome ->> '$.by' end,
                  turn.created_at, turn.settled_at,
                  (select count(*) from request where request.session = session.id and state = 'open'),
                  (select count(*) from request where request.session = session.id and state = 'open'
                   and kind in ('input', 'elicitation'))) as line
from task join session on session.id = task.session
     left join turn on turn.session = session.id
          and turn.ordinal = coalesce(
              (select min(ordinal) from turn as waiting where waiting.session = session.id and waiting.stage <> 'settled'),
              (select max(ordinal) from turn as any_turn where any_turn.session = session.id));

create trigger task_added after insert on task begin
    insert into task_line (updated_at, session, owner, active, line)
    select updated_at, session, owner, active, line from task_shown where session = new.session;
end;
create trigger task_removed after delete on task begin
    delete from task_line where session = old.session
        and updated_at = (select updated_at from session where id = old.session);
end;
create trigger task_changed after update on task begin
    replace into task_line (updated_at, session, owner, active, line)
    select updated_at, session, owner, active, line from task_shown where session = new.session;
end;
create trigger task_moved after update of updated_at on session
when new.kind = 'task' and new.updated_at <> old.updated_at begin
    update task_line set updated_at = new.updated_at, line = '[' || new.updated_at || substr(line, instr(line, ','))
    where updated_at = old.updated_at and session = new.id;
end;
create trigger task_renamed after update of alias, title, cwd on session
when new.kind = 'task' and (new.alias is not old.alias or new.title is not old.title or new.cwd is not old.cwd) begin
    replace into task_line (updated_at, session, owner, active, line)
    select updated_at, session, owner, active, line from task_shown where session = new.id;
end;
create trigger task_turned after insert on turn begin
    replace into task_line (updated_at, session, owner, active, line)
    select updated_at, session, owner, active, line from task_shown where session = new.session;
end;
create trigger task_went_on after update of stage, outcome, outcome_kind, code, settled_at on turn
when new.stage is not old.stage or new.outcome_kind is not old.outcome_kind or new.code is not old.code
     or new.outcome is not old.outcome or new.settled_at is not old.settled_at begin
    replace into task_line (updated_at, session, owner, active, line)
    select updated_at, session, owner, active, line from task_shown where session = new.session;
end;
create trigger task_asked after insert on request when new.state = 'open' begin
    replace into task_line (updated_at, session, owner, active, line)
    select updated_at, session, owner, active, line from task_shown where session = new.session;
end;
create trigger task_answered after update of state on request when (new.state = 'open') <> (old.state = 'open') begin
    replace into task_line (updated_at, session, owner, active, line)
    select updated_at, session, owner, active, line from task_shown where session = new.session;
end;

-- Nobody wrote down who wanted the tasks that are there.
insert into task (session, owner) select id, 'person:unknown' from session where kind = 'task';

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
