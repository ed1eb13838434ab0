-- The tools that a session's thread was started with and their size in bytes, as JSON; null if that was not recorded. A
-- thread keeps them, whatever later versions offer.
alter table session add column tools text;
