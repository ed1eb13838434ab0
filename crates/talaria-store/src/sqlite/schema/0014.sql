-- The built-in model loop. A request to a model is a row before its first byte is sent; it ends once. Digests, words and figures
-- only: nothing that was said is here.
create table model_attempt (
    session        text not null references session (id),
    -- The turn that it is for, and its number within the turn.
    ordinal        integer not null,
    number         integer not null,
    purpose        text not null,
    provider       text not null,
    asked_model    text not null,
    -- The model that answered, as the provider named it.
    said_model     text,
    request_digest text not null,
    prefix_digest  text not null,
    state          text not null,
    ending         text,
    failure_class  text,
    failure_text   text,
    -- Tokens, as JSON, and where the figures come from.
    usage          text,
    usage_source   text not null default 'unknown',
    -- In billionths of a dollar; null if the price is not known.
    amount         integer,
    price_as_of    text,
    first_byte_ms  integer,
    request_id     text,
    bytes          integer not null default 0,
    events         integer not null default 0,
    shown_chars    integer not null default 0,
    -- The engine that sends it.
    epoch          integer not null,
    planned_at     integer not null,
    ended_at       integer,
    primary key (session, ordinal, number)
) strict, without rowid;
create index model_attempt_open on model_attempt (epoch) where state <> 'ended';

-- The conversations of the loop, as entries that are only ever appended. The content is sealed. No reference: the entries of
-- a removed session are deleted after it in small steps.
create table model_history (
    session      text not null,
    seq          integer not null,
    -- The turn, and the attempt that made the entry; null if no model made it.
    ordinal      integer not null,
    attempt      integer,
    -- Counts the prefixes of the conversation: within one, requests only grow.
    prefix_epoch integer not null,
    sealed       blob not null,
    at           integer not null,
    primary key (session, seq)
) strict;

-- What a call of a tool is about to do, sealed, for an engine that has to find out whether it was done.
alter table tool_call add column effect_record blob;

-- What a request of the loop was asked of, what is known of its tokens, and its price in billionths of a dollar (null if unknown).
alter table model_usage add column asked_model text;
alter table model_usage add column is_unreported integer not null default 0;
alter table model_usage add column is_estimated integer not null default 0;
alter table model_usage add column amount integer;
update model_usage set is_unreported = 1 where total = 0 and is_partial = 0;
