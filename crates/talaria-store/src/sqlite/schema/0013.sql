-- What models cost: a row for each turn on Codex and for each question beside one. Rows stay when their session is removed.
create table model_usage (
    id          integer primary key autoincrement,
    session     text not null,
    -- Names what it was for within the session; the same name is never counted twice.
    name        text not null,
    purpose     text not null,
    runtime     text not null,
    -- Null if it is not known which model answered.
    model       text,
    input       integer not null,
    cached      integer not null,
    output      integer not null,
    reasoning   integer not null,
    total       integer not null,
    -- More was spent than is known.
    is_partial  integer not null,
    at          integer not null,
    unique (session, name)
) strict;
create index model_usage_time on model_usage (at);

-- Turns from before this table. Their model was not stored with them, and a conversation may have changed it.
insert into model_usage (session, name, purpose, runtime, model, input, cached, output, reasoning, total, is_partial, at)
select turn.session, 'turn/' || turn.ordinal, 'turn', session.runtime, null,
       coalesce(json_extract(turn.usage, '$.input'), 0), coalesce(json_extract(turn.usage, '$.cached'), 0),
       coalesce(json_extract(turn.usage, '$.output'), 0), coalesce(json_extract(turn.usage, '$.reasoning'), 0),
       coalesce(json_extract(turn.usage, '$.total'), 0), coalesce(json_extract(turn.usage, '$.partial'), 0),
       coalesce(turn.settled_at, turn.created_at)
from turn join session on session.id = turn.session
where turn.codex_turn is not null and json_valid(turn.usage);
insert into model_usage (session, name, purpose, runtime, model, input, cached, output, reasoning, total, is_partial, at)
select review.session, 'review/' || review.id || '/' || review.attempts, 'review', session.runtime, null,
       coalesce(json_extract(review.usage, '$.input'), 0), coalesce(json_extract(review.usage, '$.cached'), 0),
       coalesce(json_extract(review.usage, '$.output'), 0), coalesce(json_extract(review.usage, '$.reasoning'), 0),
       coalesce(json_extract(review.usage, '$.total'), 0), coalesce(json_extract(review.usage, '$.partial'), 0),
       coalesce(review.ended_at, review.due_at)
from review join session on session.id = review.session
where json_valid(review.usage);
