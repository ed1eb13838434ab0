//! The response of `talaria_skill`, and the notice to the person. Pure; at most 10,000 characters.

use std::fmt::Write as _;

use talaria_core::quantity::quantity;
use talaria_core::skill::index::{IndexedSkill, SkillIndex};

use crate::engine::skills::{FoundSkill, SkillLibrary, SkillProposed};

/// How much of the skills one answer lists, in characters.
const LISTED: usize = 8_500;
/// How much of a file one answer has, in characters.
const PAGE: usize = 8_500;
/// How many other files are named.
const NAMED: usize = 20;

/// The skills whose name has a part.
pub(super) fn list(library: &SkillLibrary, part: Option<&str>) -> String {
    let wanted = part.map(str::to_lowercase);
    let is_wanted =
        |skill: &&FoundSkill| wanted.as_ref().is_none_or(|part| skill.name.to_lowercase().contains(part));
    let found = library.skills.iter().filter(is_wanted);
    let listed = found.map(|skill| IndexedSkill { name: &skill.name, description: &skill.description });
    let index = SkillIndex::of(listed, LISTED);
    let all = index.shown + index.left_out.len();
    let mut text = match index.rest() {
        None => format!("Skills (complete): {all} found.\n{}", index.lines),
        Some(rest) => {
            format!("Skills (incomplete): {all} found; use a part of the name.\n{}{rest}\n", index.lines)
        }
    };
    if !library.notes.is_empty() {
        let _ = writeln!(
            text,
            "{} folders or files are left out, because they are no skills.",
            library.notes.len()
        );
    }
    text
}

/// A page of a file.
pub(super) fn file(
    skill: &FoundSkill,
    file: &str,
    text: &str,
    files: &[String],
    page: usize,
) -> Result<String, String> {
    let pages = pages_of(text, PAGE);
    let count = pages.len();
    let shown = page.checked_sub(1).and_then(|at| pages.get(at));
    let shown = shown.ok_or_else(|| {
        format!("{file} has {}, so there is no page {page}", quantity(count, "page", "pages"))
    })?;
    let whole = match count {
        1 => "complete".to_owned(),
        _ => format!("incomplete, page {page} of {count}"),
    };
    let mut answer = format!("Skill {} ({whole}): {file} in {}.\n", skill.name, skill.folder.display());
    if !files.is_empty() && page == 1 {
        let _ = writeln!(answer, "Other files (op read, with file): {}.", names(files));
    }
    answer.push('\n');
    answer.push_str(shown);
    Ok(answer)
}

/// The names of files, as far as they are few.
pub(super) fn names(files: &[String]) -> String {
    let named = files.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    match files.len().saturating_sub(NAMED) {
        0 if files.is_empty() => "SKILL.md alone".to_owned(),
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

/// Response to the model about a proposal.
pub(super) fn proposed(name: &str, proposed: &SkillProposed) -> String {
    let SkillProposed { id, size: (added, removed), .. } = proposed;
    let mut text = match proposed.is_repeat {
        true => format!("Proposal {id} (complete): this change of {name} waits already. Do not repeat it.\n"),
        false => format!(
            "Proposal {id} (complete): {} {name} waits for the user; nothing changed yet. Continue without it.\n",
            what(proposed)
        ),
    };
    if added + removed > 0 {
        let _ = writeln!(
            text,
            "{}: {} added, {removed} removed.",
            proposed.file,
            quantity(*added, "line", "lines")
        );
    }
    if proposed.is_masked {
        text.push_str("What looks like a secret was masked: skills keep no secrets.\n");
    }
    text
}

/// Notice to the person about a proposal.
pub(super) fn news(name: &str, proposed: &SkillProposed) -> String {
    let id = &proposed.id;
    let care = proposed.warning.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
    format!("{} {name} waits for you{care}: talaria skills diff {id}", what(proposed))
}

fn what(proposed: &SkillProposed) -> &'static str {
    match proposed {
        SkillProposed { is_new: true, .. } => "the new skill",
        SkillProposed { size: (0, 0), .. } => "the archival of the skill",
        _ => "a change of the skill",
    }
}

/// Splits a text into pieces of at most this many characters, at line ends where possible.
fn pages_of(text: &str, size: usize) -> Vec<&str> {
    let mut pages = Vec::new();
    let mut rest = text;
    while let Some((limit, _)) = rest.char_indices().nth(size) {
        let cut = rest[..limit].rfind('\n').map_or(limit, |line| line + 1);
        pages.push(&rest[..cut]);
        rest = &rest[cut..];
    }
    if !rest.is_empty() || pages.is_empty() {
        pages.push(rest);
    }
    pages
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use proptest::prelude::*;

    use super::*;
    use crate::engine::skills::SkillPlace;

    fn skill(name: &str, description: &str) -> FoundSkill {
        FoundSkill {
            name: name.to_owned(),
            description: description.to_owned(),
            folder: format!("/s/{name}").into(),
            place: SkillPlace::User,
            changed_at: None,
        }
    }

    #[test]
    fn an_answer_says_what_it_is_and_whether_it_is_complete() {
        let library = SkillLibrary {
            skills: vec![skill("commit", "Writes commits"), skill("haiku", "Writes haiku")],
            notes: vec!["x is left out".to_owned()],
        };
        let files = ["references/a.md".to_owned()];
        let proposal = SkillProposed {
            id: "skp-1".to_owned(),
            is_repeat: false,
            is_new: true,
            file: "SKILL.md".to_owned(),
            size: (3, 0),
            is_masked: true,
            warning: Some("why".to_owned()),
        };
        let archival = SkillProposed { is_new: false, size: (0, 0), warning: None, ..proposal.clone() };
        let repeat = SkillProposed { is_repeat: true, is_masked: false, ..proposal.clone() };
        let shown = file(&library.skills[1], "SKILL.md", "5 7 5\n", &files, 1).unwrap();
        expect![[r#"
            Skills (complete): 2 found.
            - commit: Writes commits
            - haiku: Writes haiku
            1 folders or files are left out, because they are no skills.
            Skills (complete): 1 found.
            - haiku: Writes haiku
            1 folders or files are left out, because they are no skills.
            Skill haiku (complete): SKILL.md in /s/haiku.
            Other files (op read, with file): references/a.md.

            5 7 5
            Proposal skp-1 (complete): the new skill haiku waits for the user; nothing changed yet. Continue without it.
            SKILL.md: 3 lines added, 0 removed.
            What looks like a secret was masked: skills keep no secrets.
            Proposal skp-1 (complete): this change of haiku waits already. Do not repeat it.
            SKILL.md: 3 lines added, 0 removed.
            the new skill haiku waits for you (why): talaria skills diff skp-1
            the archival of the skill haiku waits for you: talaria skills diff skp-1
            SKILL.md has 1 page, so there is no page 2
        "#]]
        .assert_eq(&format!(
            "{}{}{shown}{}{}{}\n{}\n{}\n",
            list(&library, None),
            list(&library, Some("HAI")),
            proposed("haiku", &proposal),
            proposed("haiku", &repeat),
            news("haiku", &proposal),
            news("haiku", &archival),
            file(&library.skills[1], "SKILL.md", "x", &files, 2).unwrap_err(),
        ));
    }

    #[test]
    fn many_skills_are_listed_in_part_and_the_rest_is_said() {
        let skills = (0..200).map(|n| skill(&format!("skill-{n:03}"), &"d".repeat(300))).collect();
        let text = list(&SkillLibrary { skills, notes: Vec::new() }, None);
        assert!(text.starts_with("Skills (incomplete): 200 found;"), "{text}");
        assert!(text.contains("of 200 skills are not listed: skill-02") && text.chars().count() < 10_000);
    }

    proptest! {
        #[test]
        fn the_pages_of_a_file_are_the_file(text in "([a-zä]{0,20}\n){0,20}[a-z]{0,200}") {
            let pages = pages_of(&text, 30);
            prop_assert_eq!(pages.concat(), text.as_str());
            prop_assert!(pages.iter().all(|page| page.chars().count() <= 30));
        }
    }
}
