//! Skills and proposals about them, as people read them. Pure.

use jiff::Timestamp;
use talaria_core::api::{SkillDone, SkillItem, SkillList, SkillProposal, SkillText};
use talaria_core::ids::short_id;
use talaria_core::skill::SKILL_FILE;
use talaria_core::skill::diff::size;
use talaria_core::skill::usage::STALE_DAYS;
use talaria_guard::shorten::shorten_line;
use talaria_render::sheet::Sheet;
use talaria_render::{Look, StyledText, plain, plain_line};

use crate::advice::Reader;
use crate::amounts::ago;
use crate::tasks::show_diff;

/// How a person types a command about skills.
fn command(reader: Reader) -> &'static str {
    match reader {
        Reader::Shell => "talaria skills",
        Reader::Chat => "/skills",
    }
}

/// Who proposed something, and where.
fn proposer(author: &str, session: Option<&str>, look: Look) -> String {
    let session = session.map(|id| if look.live { short_id(id) } else { id });
    match (author, session) {
        ("review", Some(id)) => format!("by a review of {id}"),
        ("review", None) => "by a review".to_owned(),
        (author, Some(id)) => format!("by the {author} in {id}"),
        (author, None) => format!("by the {author}"),
    }
}

/// The skills, those that were archived, and what waits.
pub(super) fn list(list: &SkillList, now: Timestamp, look: Look, reader: Reader) -> StyledText {
    let command = command(reader);
    let mut text: StyledText = match list.skills.is_empty() {
        true => "there are no skills here yet: ~/.agents/skills/NAME/SKILL.md, .agents/skills in a project\n"
            .into(),
        false => skill_rows(&list.skills, now).show(look),
    };
    text += match list.skills.iter().filter(|skill| skill.is_stale).count() {
        0 => String::new(),
        1 => format!("1 skill was not used for {STALE_DAYS} days: {command} list --stale\n"),
        count => format!("{count} skills were not used for {STALE_DAYS} days: {command} list --stale\n"),
    }
    .as_str();
    for archived in &list.archived {
        let (id, name) = (&archived.id, plain_line(&archived.name));
        text += format!("archived {}: {name} ({command} restore {id})\n", ago(archived.at, now)).as_str();
    }
    text += match list.pending {
        0 => String::new(),
        1 => format!("1 proposal waits for you: {command} proposals\n"),
        count => format!("{count} proposals wait for you: {command} proposals\n"),
    }
    .as_str();
    text
}

/// The skills that seem to be needed no more, and how to move one out of the way.
pub(super) fn stale(list: &SkillList, now: Timestamp, look: Look, reader: Reader) -> StyledText {
    let stale: Vec<SkillItem> = list.skills.iter().filter(|skill| skill.is_stale).cloned().collect();
    let Some(first) = stale.first() else {
        return format!(
            "every skill was read or changed in the last {STALE_DAYS} days, as far as is known\n"
        )
        .into();
    };
    let name = plain_line(&first.name);
    skill_rows(&stale, now).show(look)
        + format!(
            "no conversation of Talaria read them for {STALE_DAYS} days; archive one: {} archive {name}\n",
            command(reader)
        )
        .as_str()
}

fn skill_rows(skills: &[SkillItem], now: Timestamp) -> Sheet {
    let mut sheet = Sheet::new(&["name", "place", "by", "read", "description"], "description").to_be_read();
    for skill in skills {
        let read = match skill.used_at {
            Some(last) => format!("{}x, {}", skill.uses, ago(last, now)),
            None => "never".to_owned(),
        };
        let (place, author) = (skill.place.clone(), skill.author.clone());
        sheet.row([skill.name.clone(), place, author, read, skill.description.clone()]);
    }
    sheet
}

/// A file of a skill, and what is known about the skill.
pub(super) fn text(shown: &SkillText, now: Timestamp, look: Look) -> StyledText {
    let SkillText { skill, file, text, files, proposals } = shown;
    let by = match skill.author.as_str() {
        "other" => "by you or another program".to_owned(),
        author => format!("proposed {}, accepted by you", proposer(author, skill.session.as_deref(), look)),
    };
    let path = plain_line(&skill.path);
    let mut page: StyledText = format!("{}\n\n{path}/{file}, {by}\n", plain(text).trim_end()).into();
    if !files.is_empty() {
        let files: Vec<_> = files.iter().map(|file| plain_line(file)).collect();
        page += format!("other files: {}\n", files.join(", ")).as_str();
    }
    if !proposals.is_empty() {
        page += proposal_rows(proposals, now).show(look);
    }
    page
}

/// Proposals, and how to decide about them.
pub(super) fn proposals(
    proposals: &[SkillProposal],
    now: Timestamp,
    look: Look,
    reader: Reader,
) -> StyledText {
    let command = command(reader);
    if proposals.is_empty() {
        return "nothing waits for you\n".into();
    }
    let rows = proposal_rows(proposals, now).show(look);
    match proposals.iter().find(|proposal| proposal.state == "pending") {
        Some(SkillProposal { id, .. }) => {
            rows + format!(
                "look: {command} diff {id}; decide: {command} accept {id}, {command} reject {id}\n"
            )
            .as_str()
        }
        None => rows,
    }
}

fn proposal_rows(proposals: &[SkillProposal], now: Timestamp) -> Sheet {
    let mut sheet = Sheet::new(&["proposal", "state", "when", "by", "skill", "what"], "what").to_be_read();
    for proposal in proposals {
        let (added, removed) = size(&proposal.diff);
        let mut what = match proposal.op.as_str() {
            "archive" => "archive".to_owned(),
            op => format!("{op} {} +{added} -{removed}", proposal.file),
        };
        for note in proposal.warning.iter().chain(&proposal.stale) {
            what.push_str("; ");
            what.push_str(note);
        }
        sheet.row([
            proposal.id.clone(),
            proposal.state.clone(),
            ago(proposal.at, now),
            proposal.author.clone(),
            proposal.name.clone(),
            shorten_line(&what, 300),
        ]);
    }
    sheet
}

/// The change of a proposal.
pub(super) fn diff(proposal: &SkillProposal, look: Look, reader: Reader) -> StyledText {
    let SkillProposal { id, name, .. } = proposal;
    let command = command(reader);
    let mut text: StyledText = match proposal.op.as_str() {
        "archive" => format!("moves {} out of the way\n", plain_line(&proposal.path)).into(),
        _ => show_diff(&proposal.diff, look),
    };
    let by = proposer(&proposal.author, proposal.session.as_deref(), look);
    let what = match proposal.op.as_str() {
        "create" if proposal.file == SKILL_FILE => "the new skill",
        "archive" => "archival of",
        _ => "a change of",
    };
    text += format!("\n{id}: {what} {}, {by}\n", plain_line(name)).as_str();
    if let Some(reason) = &proposal.reason {
        text += format!("why: {}\n", plain_line(reason)).as_str();
    }
    if let Some(warning) = &proposal.warning {
        text += format!("read it with care: {}\n", plain_line(warning)).as_str();
    }
    text += match (&proposal.stale, proposal.state.as_str()) {
        (Some(stale), _) => format!("cannot be accepted: {}\n", plain_line(stale)),
        (None, "pending") => format!("decide: {command} accept {id}, {command} reject {id}\n"),
        (None, state) => format!("it was {state}\n"),
    }
    .as_str();
    text
}

/// The result.
pub(super) fn done(done: &SkillDone, word: &str, reader: Reader) -> String {
    let name = plain_line(&done.name);
    let path = done.path.as_deref().map(|path| format!(", {}", plain_line(path))).unwrap_or_default();
    let back =
        done.archived.as_ref().map(|id| format!(" ({} restore {id})", command(reader))).unwrap_or_default();
    format!("{word}: {name}{path}{back}\n")
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use talaria_core::api::SkillArchived;

    use super::*;

    const LOOK: Look = Look { color: false, width: Some(120), live: true, unicode: true };

    fn skill(now: Timestamp) -> SkillItem {
        SkillItem {
            name: "haiku".to_owned(),
            description: "Writes haiku".to_owned(),
            path: "/h/.agents/skills/haiku".to_owned(),
            place: "user".to_owned(),
            author: "model".to_owned(),
            session: Some("abcd".to_owned()),
            uses: 3,
            used_at: Some(now),
            is_stale: false,
        }
    }

    fn proposal(now: Timestamp, op: &str) -> SkillProposal {
        SkillProposal {
            id: "skp-01234567".to_owned(),
            state: "pending".to_owned(),
            op: op.to_owned(),
            name: "haiku".to_owned(),
            path: "/h/.agents/skills/haiku".to_owned(),
            file: "SKILL.md".to_owned(),
            diff: "--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new\u{1b}[2J\n".to_owned(),
            warning: None,
            reason: None,
            stale: None,
            author: "model".to_owned(),
            session: None,
            turn: None,
            at: now,
            decided_at: None,
        }
    }

    #[test]
    fn skills_and_proposals_read_plainly() {
        let now: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
        let other = SkillItem { author: "other".to_owned(), used_at: None, is_stale: true, ..skill(now) };
        let archived = SkillArchived {
            id: "arch-1".to_owned(),
            name: "old".to_owned(),
            path: "/s/old".to_owned(),
            kept: "/s/.archive/old".to_owned(),
            at: now,
        };
        let all = SkillList {
            skills: vec![skill(now), other],
            archived: vec![archived],
            pending: 1,
            notes: Vec::new(),
        };
        let empty = SkillList { skills: Vec::new(), archived: Vec::new(), pending: 0, notes: Vec::new() };
        let outdated = SkillProposal {
            stale: Some("x changed".to_owned()),
            warning: Some("it looks like planted instructions".to_owned()),
            reason: Some("You asked\nfor it".to_owned()),
            author: "review".to_owned(),
            session: Some("abcd".to_owned()),
            ..proposal(now, "change")
        };
        let shown = SkillText {
            skill: skill(now),
            file: "SKILL.md".to_owned(),
            text: "---\nbody\u{1b}[2J\n".to_owned(),
            files: vec!["references/a.md".to_owned()],
            proposals: vec![SkillProposal { state: "accepted".to_owned(), ..proposal(now, "create") }],
        };
        let finished = SkillDone {
            name: "haiku".to_owned(),
            path: Some("/s/.archive/haiku".to_owned()),
            archived: Some("arch-2".to_owned()),
        };
        let pages = [
            list(&all, now, LOOK, Reader::Shell),
            list(&empty, now, LOOK, Reader::Chat),
            stale(&all, now, LOOK, Reader::Shell),
            stale(&empty, now, LOOK, Reader::Chat),
            text(&shown, now, LOOK),
            proposals(&[outdated.clone(), proposal(now, "archive")], now, LOOK, Reader::Chat),
            proposals(&[], now, LOOK, Reader::Chat),
            diff(&outdated, LOOK, Reader::Shell),
            diff(&proposal(now, "archive"), LOOK, Reader::Chat),
            done(&finished, "archived", Reader::Shell).into(),
        ];
        expect![[r#"
            NAME   PLACE  BY     READ     DESCRIPTION
            haiku  user   model  3x, now  Writes haiku
            haiku  user   other  never    Writes haiku
            1 skill was not used for 30 days: talaria skills list --stale
            archived now: old (talaria skills restore arch-1)
            1 proposal waits for you: talaria skills proposals
            ==
            there are no skills here yet: ~/.agents/skills/NAME/SKILL.md, .agents/skills in a project
            ==
            NAME   PLACE  BY     READ   DESCRIPTION
            haiku  user   other  never  Writes haiku
            no conversation of Talaria read them for 30 days; archive one: talaria skills archive haiku
            ==
            every skill was read or changed in the last 30 days, as far as is known
            ==
            ---
            body␛[2J

            /h/.agents/skills/haiku/SKILL.md, proposed by the model in abcd, accepted by you
            other files: references/a.md
            PROPOSAL      STATE     WHEN  BY     SKILL  WHAT
            skp-01234567  accepted  now   model  haiku  create SKILL.md +1 -1
            ==
            PROPOSAL      STATE    WHEN  BY      SKILL  WHAT
            skp-01234567  pending  now   review  haiku  change SKILL.md +1 -1; it looks like planted instructions; x changed
            skp-01234567  pending  now   model   haiku  archive
            look: /skills diff skp-01234567; decide: /skills accept skp-01234567, /skills reject skp-01234567
            ==
            nothing waits for you
            ==
            --- a
            +++ b
            @@ -1 +1 @@
            -old
            +new␛[2J

            skp-01234567: a change of haiku, by a review of abcd
            why: You asked␊for it
            read it with care: it looks like planted instructions
            cannot be accepted: x changed
            ==
            moves /h/.agents/skills/haiku out of the way

            skp-01234567: archival of haiku, by the model
            decide: /skills accept skp-01234567, /skills reject skp-01234567
            ==
            archived: haiku, /s/.archive/haiku (talaria skills restore arch-2)
        "#]]
        .assert_eq(&pages.iter().map(StyledText::text).collect::<Vec<_>>().join("==\n"));
    }
}
