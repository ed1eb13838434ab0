//! The edit of a skill in a proposal, and whether its result is a valid skill.
//!
//! An edit is stored until a person decides, so it contains only the model's text: the file is read again when it is
//! applied.

use serde::{Deserialize, Serialize};

use super::manifest::{self, ManifestError};
use super::{LONGEST_SKILL_FILE, SKILL_FILE};

/// One change of one file, or of the whole skill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum SkillEdit {
    /// The file has this text.
    Write {
        /// All of it.
        text: String,
    },
    /// Replaces a part of the file that occurs once.
    Replace {
        /// The part.
        find: String,
        /// What replaces it.
        replace: String,
    },
    /// The skill is moved out of the way; nothing of it is deleted.
    Archive,
}

/// Why an edit is refused, for the model and for a person.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SkillRefusal {
    /// The file would be too long.
    #[error("{size} characters are too many; a file of a skill has at most {LONGEST_SKILL_FILE}")]
    TooLong {
        /// How many it would have.
        size: usize,
    },
    /// There is no file to replace a part of.
    #[error("the file does not exist, so nothing can be replaced; write it whole with text")]
    NoFile,
    /// The part does not occur.
    #[error("find is not in the file; read the file and copy the part exactly")]
    NotFound,
    /// The part occurs more than once.
    #[error("find is in the file {count} times; use a longer part that is there once")]
    Ambiguous {
        /// Number of occurrences.
        count: usize,
    },
    /// Nothing would change.
    #[error("the file has this text already")]
    Unchanged,
    /// The front matter would not be right.
    #[error("the result would not be a skill: {0}")]
    NoSkill(#[from] ManifestError),
    /// The front matter would name another skill.
    #[error("the front matter must have the name of the skill: name: {0}")]
    OtherName(String),
}

impl SkillEdit {
    /// Returns the file after the edit; none after an archival.
    pub fn apply(&self, before: Option<&str>) -> Result<Option<String>, SkillRefusal> {
        let after = match (self, before) {
            (Self::Archive, _) => return Ok(None),
            (Self::Write { text }, _) => text.clone(),
            (Self::Replace { .. }, None) => return Err(SkillRefusal::NoFile),
            (Self::Replace { find, replace }, Some(before)) => match before.matches(find.as_str()).count() {
                _ if find.is_empty() => return Err(SkillRefusal::NotFound),
                0 => return Err(SkillRefusal::NotFound),
                1 => before.replacen(find.as_str(), replace, 1),
                count => return Err(SkillRefusal::Ambiguous { count }),
            },
        };
        if before == Some(after.as_str()) {
            return Err(SkillRefusal::Unchanged);
        }
        match after.chars().count() {
            size if size > LONGEST_SKILL_FILE => Err(SkillRefusal::TooLong { size }),
            _ => Ok(Some(after)),
        }
    }
}

/// Validates a file of a skill before it is proposed and before it is written.
pub fn check_result(name: &str, file: &str, after: &str) -> Result<(), SkillRefusal> {
    if file != SKILL_FILE {
        return Ok(());
    }
    let manifest = manifest::parse(after)?;
    match manifest.name.as_deref() {
        None => Ok(()),
        Some(own) if own == name => Ok(()),
        Some(_) => Err(SkillRefusal::OtherName(name.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replace(find: &str) -> SkillEdit {
        SkillEdit::Replace { find: find.to_owned(), replace: "new".to_owned() }
    }

    #[test]
    fn an_edit_fits_once_or_is_refused() {
        assert_eq!(replace("b").apply(Some("abc")), Ok(Some("anewc".to_owned())));
        assert_eq!(replace("x").apply(Some("abc")), Err(SkillRefusal::NotFound));
        assert_eq!(replace("").apply(Some("abc")), Err(SkillRefusal::NotFound));
        assert_eq!(replace("b").apply(Some("bb")), Err(SkillRefusal::Ambiguous { count: 2 }));
        assert_eq!(replace("b").apply(None), Err(SkillRefusal::NoFile));
        assert_eq!(replace("new").apply(Some("new")), Err(SkillRefusal::Unchanged));
        let long = SkillEdit::Write { text: "ä".repeat(1_000_000) };
        assert_eq!(long.apply(None), Err(SkillRefusal::TooLong { size: 1_000_000 }));
        assert_eq!(SkillEdit::Archive.apply(Some("x")), Ok(None));
    }

    #[test]
    fn a_result_is_a_skill_of_its_name() {
        let text = |name: &str| format!("---\nname: {name}\ndescription: d\n---\n");
        assert_eq!(check_result("a", SKILL_FILE, &text("a")), Ok(()));
        assert_eq!(check_result("a", SKILL_FILE, "---\ndescription: d\n---\n"), Ok(()));
        assert_eq!(check_result("a", SKILL_FILE, &text("b")), Err(SkillRefusal::OtherName("a".to_owned())));
        assert!(matches!(check_result("a", SKILL_FILE, "x"), Err(SkillRefusal::NoSkill(_))));
        assert_eq!(check_result("a", "references/x.md", "anything"), Ok(()));
    }
}
