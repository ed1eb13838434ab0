-- Tokens of the API. Of the token itself only a digest is here.
create table api_token (
    id         text primary key,
    name       text not null,
    -- SHA-256 of the secret part.
    hash       blob not null,
    -- Scopes and directories, as JSON lists.
    scopes     text not null,
    roots      text not null,
    created_at integer not null,
    created_by text not null,
    expires_at integer,
    used_at    integer,
    used_from  text,
    revoked_at integer
) strict, without rowid;
-- A name is that of one token at a time.
create unique index api_token_name on api_token (name) where revoked_at is null;
