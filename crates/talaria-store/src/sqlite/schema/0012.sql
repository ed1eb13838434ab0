-- What a review asks about: earlier ones asked what to remember. Why a change of a skill is proposed, in the words of its model.
-- Since when it is known that a skill was not used.
alter table review add column asks_memory integer not null default 1;
alter table review add column asks_skills integer not null default 0;
alter table skill_proposal add column reason text;
create index skill_proposal_by_call on skill_proposal (call) where call is not null;
create index skill_use_by_session on skill_use (session);
insert into meta (key, value) values ('skill_uses_since', cast(unixepoch() * 1000 as text));
