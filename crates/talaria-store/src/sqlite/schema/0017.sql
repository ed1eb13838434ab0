-- Conversations that were forked, and turns that were undone. An original may be removed before its forks, so that nothing
-- refers to it.
alter table session add column forked_from text;
-- The last turn that the fork has of it.
alter table session add column forked_turn integer;
-- What the next thread of the conversation begins with, as JSON; null if it begins with nothing.
alter table session add column basis text;

alter table turn add column undone_at integer;
-- The stored text is all of the input: no image, and nothing was masked in it.
alter table turn add column is_plain integer not null default 0;
create index turn_undone on turn (session, ordinal) where undone_at is not null;
