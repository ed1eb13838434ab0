-- Budgets. Whose money a request spent: its provider, and the conversations that delegated the task which sent it, as a JSON array
-- (none: null). Both stay when sessions are removed.
alter table model_usage add column provider text;
alter table model_usage add column owners text;
-- The most that a request can have cost where that is not known: tokens, and billionths of a dollar.
alter table model_usage add column bound_tokens integer;
alter table model_usage add column bound_amount integer;
update model_usage set provider = (
    select model_attempt.provider from model_attempt
    where model_attempt.session = model_usage.session
        and model_usage.name = 'attempt/' || model_attempt.ordinal || '/' || model_attempt.number
) where name like 'attempt/%';
update model_usage set provider = 'codex' where runtime = 'codex_app_server';
update model_usage set owners = (
    with recursive owner (id) as (
        select parent from delegation where child = model_usage.session
        union select delegation.parent from delegation join owner on delegation.child = owner.id
    )
    select json_group_array(id) from owner
) where session in (select child from delegation);
create index model_usage_owned on model_usage (id) where owners is not null;

-- What a request of the loop can cost at most, from before it is sent until its end is counted in model_usage. No reference: the
-- row of the attempt may come after it.
create table budget_reservation (
    session  text not null,
    ordinal  integer not null,
    number   integer not null,
    provider text not null,
    owners   text,
    tokens   integer not null,
    -- In billionths of a dollar; null if the price is not known.
    amount   integer,
    -- The engine that holds it.
    epoch    integer not null,
    at       integer not null,
    primary key (session, ordinal, number)
) strict, without rowid;

-- What a person allowed beyond a configured limit. The request that they answered names it, so that it counts once.
create table budget_allowance (
    ticket text primary key,
    scope  text not null,
    unit   text not null,
    amount integer not null,
    at     integer not null
) strict, without rowid;
create index budget_allowance_scope on budget_allowance (scope);
