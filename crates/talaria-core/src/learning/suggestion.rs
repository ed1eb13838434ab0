//! What a review suggests about skills, and what of it is worth a person's time.
//!
//! Judged here without files: the form, the names, and whether the skill or a proposal about it is there already. The engine
//! tries the edit on the file itself. Nothing here changes a skill: what is left becomes a proposal.

use serde::{Deserialize, Serialize};
use talaria_guard::redact::redact;
use talaria_guard::shorten::shorten_line;

use super::proposal::plain;
use crate::skill::edit::{SkillEdit, check_result};
use crate::skill::name::{check_file, check_new_name};
use crate::skill::{SKILL_FILE, manifest};

/// The most skills that one review proposes: a person reads every diff.
pub const MOST_SUGGESTIONS: usize = 3;
/// How much of the reason is kept, in bytes.
const LONGEST_REASON: usize = 300;

/// A skill that there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownSkill {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The conversation read it.
    pub is_read: bool,
}

/// A proposal about a skill that a person rejected or has not decided about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownProposal {
    /// The name of the skill.
    pub name: String,
    /// The file.
    pub file: String,
    /// It was rejected; otherwise it waits.
    pub is_rejected: bool,
}

/// What there is when a review asks about skills.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownSkills {
    /// The skills of the conversation's directory.
    pub skills: Vec<KnownSkill>,
    /// Earlier proposals, newest first.
    pub proposals: Vec<KnownProposal>,
}

/// A change of a skill that a review wants and that may be proposed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillSuggestion {
    /// The skill.
    pub name: String,
    /// The file in it.
    pub file: String,
    /// The change.
    pub edit: SkillEdit,
    /// Why, in the words of the model.
    pub reason: Option<String>,
}

/// A change as the model writes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SuggestedChange {
    op: SuggestedVerb,
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    find: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    replace: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SuggestedVerb {
    Create,
    Change,
    AddFile,
}

impl SuggestedChange {
    /// Masks secrets in every text.
    pub(super) fn mask(&mut self) {
        let optional = [&mut self.why, &mut self.file, &mut self.text, &mut self.find, &mut self.replace];
        for text in optional.into_iter().flatten().chain([&mut self.name]) {
            *text = redact(text).into_owned();
        }
    }

    fn suggestion(&self) -> Option<SkillSuggestion> {
        let filled = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
        let file = filled(&self.file).unwrap_or_else(|| SKILL_FILE.to_owned());
        let edit = match self.op {
            SuggestedVerb::Create if file == SKILL_FILE => SkillEdit::Write { text: filled(&self.text)? },
            SuggestedVerb::AddFile if file != SKILL_FILE => SkillEdit::Write { text: filled(&self.text)? },
            SuggestedVerb::Change => {
                SkillEdit::Replace { find: filled(&self.find)?, replace: self.replace.clone()? }
            }
            SuggestedVerb::Create | SuggestedVerb::AddFile => return None,
        };
        check_file(&file).ok()?;
        let reason = filled(&self.why).map(|why| shorten_line(&why, LONGEST_REASON));
        Some(SkillSuggestion { name: self.name.clone(), file, edit, reason })
    }
}

/// Returns what may be proposed, in order: complete, about a skill that there is or a new one that is no second one, and
/// neither proposed nor rejected before.
pub(super) fn select(suggested: &[SuggestedChange], known: &KnownSkills) -> Vec<SkillSuggestion> {
    let mut descriptions: Vec<String> = known.skills.iter().map(|skill| plain(&skill.description)).collect();
    let mut names: Vec<&str> = known.skills.iter().map(|skill| skill.name.as_str()).collect();
    let mut kept: Vec<SkillSuggestion> = Vec::new();
    for change in suggested {
        if kept.len() == MOST_SUGGESTIONS {
            break;
        }
        let Some(suggestion) = change.suggestion() else { continue };
        let SkillSuggestion { name, file, edit, .. } = &suggestion;
        let is_second = kept.iter().any(|other| other.name == *name && other.file == *file);
        if is_second || known.blocks(name, file, change.op) {
            continue;
        }
        match (change.op, edit) {
            (SuggestedVerb::Create, SkillEdit::Write { text }) => {
                let is_new = check_new_name(name).is_ok() && !names.contains(&name.as_str());
                let Some(description) = new_description(name, text).filter(|_| is_new) else { continue };
                if descriptions.contains(&description) {
                    continue;
                }
                descriptions.push(description);
                names.push(&change.name);
            }
            _ if !known.skills.iter().any(|skill| skill.name == *name) => continue,
            _ => {}
        }
        kept.push(suggestion);
    }
    kept
}

/// What a new skill is for, without what does not distinguish it; none if the text is no skill of this name.
fn new_description(name: &str, text: &str) -> Option<String> {
    check_result(name, SKILL_FILE, text).ok()?;
    manifest::parse(text).ok().map(|manifest| plain(&manifest.description))
}

impl KnownSkills {
    /// Is there a reason not to ask the person again? A change of a file waits for the one before it. A new skill is not
    /// proposed again after a no; another change of a file may be.
    fn blocks(&self, name: &str, file: &str, op: SuggestedVerb) -> bool {
        self.proposals.iter().any(|before| {
            let is_again = before.name == name && before.file == file;
            is_again && (!before.is_rejected || op != SuggestedVerb::Change)
        })
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::{Value, json};

    use super::*;

    fn known() -> KnownSkills {
        let skill = |name: &str, description: &str| KnownSkill {
            name: name.to_owned(),
            description: description.to_owned(),
            is_read: false,
        };
        let proposal = |name: &str, file: &str, is_rejected| KnownProposal {
            name: name.to_owned(),
            file: file.to_owned(),
            is_rejected,
        };
        KnownSkills {
            skills: vec![skill("haiku", "Writes haiku."), skill("release", "Makes releases")],
            proposals: vec![
                proposal("release", SKILL_FILE, false),
                proposal("haiku", SKILL_FILE, true),
                proposal("gardening", SKILL_FILE, true),
            ],
        }
    }

    fn selected(changes: Value) -> Vec<String> {
        let changes: Vec<SuggestedChange> = serde_json::from_value(changes).unwrap();
        let line = |kept: SkillSuggestion| {
            let op = match kept.edit {
                SkillEdit::Write { text } => format!("{} characters", text.chars().count()),
                SkillEdit::Replace { find, replace } => format!("{find} -> {replace}"),
                SkillEdit::Archive => unreachable!("no answer archives"),
            };
            format!("{}/{}: {op} ({:?})", kept.name, kept.file, kept.reason)
        };
        select(&changes, &known()).into_iter().map(line).collect()
    }

    fn create(name: &str, description: &str) -> Value {
        let text = format!("---\nname: {name}\ndescription: {description}\n---\nDo it.\n");
        json!({ "op": "create", "name": name, "text": text, "why": "It was\n  asked for" })
    }

    #[test]
    fn what_is_new_complete_and_not_decided_before_is_kept() {
        let kept = selected(json!([
            create("slow-tests", "Finds slow tests"),
            { "op": "change", "name": "haiku", "find": "5", "replace": "five" },
            { "op": "add_file", "name": "haiku", "file": "references/form.md", "text": "5 7 5" },
        ]));
        expect![[r#"
            [
                "slow-tests/SKILL.md: 62 characters (Some(\"It was asked for\"))",
                "haiku/SKILL.md: 5 -> five (None)",
                "haiku/references/form.md: 5 characters (None)",
            ]
        "#]]
        .assert_debug_eq(&kept);
    }

    #[test]
    fn what_is_there_was_decided_or_is_not_whole_is_dropped() {
        for change in [
            create("haiku", "Writes poems"),
            create("poems", "writes  HAIKU"),
            create("gardening", "Plants trees"),
            create("Bad_Name", "Has a bad name"),
            create("../out", "Leads out"),
            json!({ "op": "create", "name": "other", "text": create("another", "x")["text"] }),
            json!({ "op": "create", "name": "plain", "text": "no front matter" }),
            json!({ "op": "create", "name": "nothing" }),
            json!({ "op": "create", "name": "elsewhere", "file": "references/a.md", "text": "x" }),
            json!({ "op": "change", "name": "release", "find": "a", "replace": "b" }),
            json!({ "op": "change", "name": "unknown", "find": "a", "replace": "b" }),
            json!({ "op": "change", "name": "haiku", "find": " ", "replace": "b" }),
            json!({ "op": "add_file", "name": "haiku", "text": "x" }),
            json!({ "op": "add_file", "name": "haiku", "file": "references/../../x", "text": "x" }),
            json!({ "op": "add_file", "name": "unknown", "file": "references/a.md", "text": "x" }),
        ] {
            assert_eq!(selected(json!([change.clone()])), Vec::<String>::new(), "{change}");
        }
    }

    #[test]
    fn one_answer_repeats_nothing_and_is_bounded() {
        let twice = selected(json!([create("a", "One"), create("a", "Two"), create("b", "one.")]));
        assert_eq!(twice.len(), 1, "{twice:?}");
        let many: Vec<Value> = (0..9).map(|n| create(&format!("s{n}"), &format!("About {n}"))).collect();
        assert_eq!(selected(Value::Array(many)).len(), MOST_SUGGESTIONS);
    }
}
