//! The parsing of a review's answer, and its changes of the memory.
//!
//! The answer is text of a model that may have read anything: it is parsed strictly, bounded, and every change of the memory is
//! tried on a draft. Existing entries, refused ones and those beyond the limit are dropped; nothing is guessed.

use serde::{Deserialize, Serialize};
use talaria_guard::redact::redact;

use super::suggestion::{self, KnownSkills, SkillSuggestion, SuggestedChange};
use crate::memory::draft::{MemoryDraft, MemoryOperation, MemoryStep};
use crate::memory::{MemoryEntry, MemoryScope};

/// The most changes of the memory that one review proposes.
pub const MOST_PROPOSALS: usize = 8;
/// The longest answer that is read.
const LONGEST_ANSWER: usize = 64 * 1024;

/// Why an answer cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReviewAnswerError {
    /// The model called a tool, or said nothing.
    #[error("the model did not answer with text")]
    NoText,
    /// It is too long.
    #[error("the answer is longer than {LONGEST_ANSWER} bytes")]
    TooLong,
    /// It is no JSON, or of another shape.
    #[error("the answer does not have the expected form: {0}")]
    Form(String),
}

/// The stored form of the answer: the proposals, secrets masked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReviewAnswer {
    #[serde(default)]
    memory: Vec<ProposedOperation>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    skills: Vec<SuggestedChange>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProposedOperation {
    op: ProposedVerb,
    scope: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    find: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ProposedVerb {
    Add,
    Replace,
    Remove,
}

impl ReviewAnswer {
    /// Reads the answer of a model. A fence or words around the object are accepted.
    pub fn parse(text: Option<&str>) -> Result<Self, ReviewAnswerError> {
        let text = text.map(str::trim).filter(|text| !text.is_empty()).ok_or(ReviewAnswerError::NoText)?;
        if text.len() > LONGEST_ANSWER {
            return Err(ReviewAnswerError::TooLong);
        }
        let object = match (text.find('{'), text.rfind('}')) {
            (Some(start), Some(end)) if start < end => &text[start..=end],
            _ => return Err(ReviewAnswerError::Form("it holds no JSON object".to_owned())),
        };
        let mut answer: Self =
            serde_json::from_str(object).map_err(|error| ReviewAnswerError::Form(error.to_string()))?;
        for operation in &mut answer.memory {
            for text in [&mut operation.text, &mut operation.find].into_iter().flatten() {
                *text = redact(text).into_owned();
            }
        }
        answer.skills.iter_mut().for_each(SuggestedChange::mask);
        Ok(answer)
    }

    /// Returns the changes of the memory that would change something, in order: complete, in a scope of this conversation,
    /// accepted by the memory, and not there already. `entries` is what is remembered in those scopes.
    pub fn memory_changes(&self, entries: &[MemoryEntry], project: &str) -> Vec<MemoryOperation> {
        let mut draft = MemoryDraft::new(entries.to_vec());
        let mut known: Vec<String> = entries.iter().map(|entry| plain(&entry.text)).collect();
        let mut proposals = Vec::new();
        for (number, proposed) in self.memory.iter().enumerate() {
            if proposals.len() == MOST_PROPOSALS {
                break;
            }
            let Some(operation) = proposed.operation(project) else { continue };
            if let MemoryOperation::Add { text, .. } = &operation {
                if known.contains(&plain(text)) {
                    continue;
                }
                known.push(plain(text));
            }
            // A batch is all or nothing later, so one bad proposal must not take the others with it.
            if let Ok(MemoryStep::Changed { .. }) = draft.apply(&operation, format!("new-{number}")) {
                proposals.push(operation);
            }
        }
        proposals
    }

    /// Returns the changes of skills that may be proposed, in order.
    pub fn skill_changes(&self, known: &KnownSkills) -> Vec<SkillSuggestion> {
        suggestion::select(&self.skills, known)
    }
}

impl ProposedOperation {
    fn operation(&self, project: &str) -> Option<MemoryOperation> {
        let scope = MemoryScope::named(&self.scope, project)?;
        let filled = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
        let (text, find) = (filled(&self.text), filled(&self.find));
        match self.op {
            ProposedVerb::Add => Some(MemoryOperation::Add { scope, text: text? }),
            ProposedVerb::Replace => Some(MemoryOperation::Replace { scope, find: find?, text: text? }),
            ProposedVerb::Remove => Some(MemoryOperation::Remove { scope, find: find? }),
        }
    }
}

/// A text without what does not distinguish it: case, spacing, the last full stop.
pub(super) fn plain(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    words.trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn entry(id: &str, scope: MemoryScope, text: &str) -> MemoryEntry {
        MemoryEntry { id: id.to_owned(), scope, text: text.to_owned(), revision: 3 }
    }

    fn read(text: &str) -> String {
        match ReviewAnswer::parse(Some(text)) {
            Ok(answer) => {
                let entries = [
                    entry("mem-1", MemoryScope::User, "Prefers tabs."),
                    entry("mem-2", MemoryScope::Project("/p".to_owned()), "Builds with make"),
                ];
                format!("{:?}", answer.memory_changes(&entries, "/p"))
            }
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn an_answer_is_what_would_change_something_or_the_reason() {
        let answers = [
            r#"{"memory":[]}"#,
            r#"{"memory":[{"op":"add","scope":"notes","text":"The disk is slow"}]}"#,
            "Here it is:\n```json\n{\"memory\":[{\"op\":\"replace\",\"scope\":\"project\",\"find\":\"make\",\"text\":\"Builds with just\"}]}\n```",
            // There already, twice in one answer, another spelling.
            r#"{"memory":[{"op":"add","scope":"user","text":"prefers  TABS"},{"op":"add","scope":"notes","text":"x"},{"op":"add","scope":"notes","text":"X."}]}"#,
            // One bad proposal does not take the others with it.
            r#"{"memory":[{"op":"remove","scope":"user","find":"spaces"},{"op":"add","scope":"user"},{"op":"add","scope":"world","text":"y"},{"op":"remove","scope":"user","find":"tabs"}]}"#,
            r#"{"memory":[{"op":"run","scope":"user","text":"x"}]}"#,
            r#"{"memory":[],"command":"rm -rf /"}"#,
            "Nothing to keep.",
            "",
            "[1]",
        ];
        expect![[r#"
            []
            [Add { scope: Notes, text: "The disk is slow" }]
            [Replace { scope: Project("/p"), find: "make", text: "Builds with just" }]
            [Add { scope: Notes, text: "x" }]
            [Remove { scope: User, find: "tabs" }]
            the answer does not have the expected form: unknown variant `run`, expected one of `add`, `replace`, `remove` at line 1 column 22
            the answer does not have the expected form: unknown field `command`, expected `memory` or `skills` at line 1 column 22
            the answer does not have the expected form: it holds no JSON object
            the model did not answer with text
            the answer does not have the expected form: it holds no JSON object"#]]
        .assert_eq(&answers.map(read).join("\n"));
        assert_eq!(ReviewAnswer::parse(None), Err(ReviewAnswerError::NoText));
        assert_eq!(ReviewAnswer::parse(Some(&"x".repeat(100_000))), Err(ReviewAnswerError::TooLong));
    }

    #[test]
    fn many_proposals_are_bounded_and_secrets_are_masked() {
        let add = |n: usize| format!(r#"{{"op":"add","scope":"notes","text":"fact {n}"}}"#);
        let many = (0..50).map(add).collect::<Vec<_>>().join(",");
        let answer = ReviewAnswer::parse(Some(&format!(r#"{{"memory":[{many}]}}"#))).unwrap();
        assert_eq!(answer.memory_changes(&[], "/p").len(), MOST_PROPOSALS);
        let secret = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD";
        let text = format!(r#"{{"memory":[{{"op":"add","scope":"notes","text":"the key is {secret}"}}]}}"#);
        let stored = serde_json::to_string(&ReviewAnswer::parse(Some(&text)).unwrap()).unwrap();
        assert!(!stored.contains(secret), "{stored}");
        let text = format!(
            r#"{{"skills":[{{"op":"create","name":"{secret}","why":"{secret}","text":"{secret}","find":"{secret}"}}]}}"#
        );
        let stored = serde_json::to_string(&ReviewAnswer::parse(Some(&text)).unwrap()).unwrap();
        assert!(!stored.contains(secret) && stored.contains("create"), "{stored}");
    }
}
