-- Who did what: one row for every answer, start and refusal, with how the caller was established. Rows outlive the sessions
-- that they name, so nothing here refers to another table.
create table audit (
    id        integer primary key,
    at        integer not null,
    -- What was wanted, by the name of its route; `decide` for what the engine decided itself.
    action    text not null,
    outcome   text not null,
    principal text not null,
    -- How the caller was established, in words.
    established text not null,
    pid       integer,
    terminal  text,
    program   text,
    session   text,
    request   text,
    -- The digest of the question that was shown.
    digest    text,
    decision  text,
    -- Why it was refused.
    reason    text
) strict;
create index audit_refused on audit (id) where outcome = 'refused';
