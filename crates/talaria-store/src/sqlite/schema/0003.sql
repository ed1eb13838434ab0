-- Sessions that another program kept before: whose they were, and under which name.
create table origin (
    session text primary key not null references session (id),
    program text not null,
    name    text not null,
    -- The conversation that it went on from, by its name there.
    parent  text,
    unique (program, name)
) strict, without rowid;

-- What each import brought of a session. Nothing is brought twice, and an import can be taken back.
create table origin_part (
    session text not null references session (id),
    run     text not null,
    -- The first of the turns that it brought.
    turn    integer not null,
    -- The last message that it brought, by its number there.
    last    integer not null,
    primary key (session, run)
) strict, without rowid;
create index origin_part_of_run on origin_part (run, session);
