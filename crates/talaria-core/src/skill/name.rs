//! Which names skills may have, and which files a skill may consist of. No name that passes leads out of its folder.

use super::SKILL_FILE;

/// The longest name, in characters.
pub const LONGEST_NAME: usize = 64;
/// The longest path of a file inside a skill, in bytes.
const LONGEST_FILE: usize = 200;
/// Where the other files of a skill are.
pub const SUPPORT_FOLDERS: [&str; 4] = ["references", "templates", "scripts", "assets"];

/// Why a name or a file is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SkillNameError {
    /// The name of a new skill.
    #[error(
        "a skill name has 1 to 64 lower-case letters, digits and hyphens, with no hyphen first, last or doubled"
    )]
    Name,
    /// The path of a file inside a skill.
    #[error(
        "file must be SKILL.md or a file in references, templates, scripts or assets, with plain names between the slashes"
    )]
    File,
}

/// Validates the name of a new skill, by the common standard.
pub fn check_new_name(name: &str) -> Result<(), SkillNameError> {
    let is_plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
    let is_right = (1..=LONGEST_NAME).contains(&name.len())
        && name.chars().all(is_plain)
        && !name.starts_with('-')
        && !name.ends_with('-')
        && !name.contains("--");
    is_right.then_some(()).ok_or(SkillNameError::Name)
}

/// Returns whether a skill that was found may be listed under this name: one short line that is no path.
pub fn is_listable(name: &str) -> bool {
    (1..=LONGEST_NAME).contains(&name.chars().count())
        && !name.chars().any(|letter| letter.is_control() || letter == '/' || letter == '\\')
        && name.trim() == name
        && !name.starts_with('.')
}

/// Validates the path of a file inside a skill.
pub fn check_file(file: &str) -> Result<(), SkillNameError> {
    if file == SKILL_FILE {
        return Ok(());
    }
    let is_plain = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && part.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_.".contains(letter))
    };
    let mut parts = file.split('/');
    let is_in_folder = parts.next().is_some_and(|folder| SUPPORT_FOLDERS.contains(&folder));
    let mut rest = parts.peekable();
    let is_right = is_in_folder && rest.peek().is_some() && rest.all(is_plain) && file.len() <= LONGEST_FILE;
    is_right.then_some(()).ok_or(SkillNameError::File)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        for name in ["release-notes", "a", "x1-2"] {
            assert_eq!(check_new_name(name), Ok(()), "{name}");
        }
        let long = "a".repeat(65);
        for name in ["", "..", "../x", "a/b", "A", "-a", "a-", "a--b", ".hidden", "a b", "ä", "a\0", &long] {
            assert_eq!(check_new_name(name), Err(SkillNameError::Name), "{name:?}");
        }
        for file in ["SKILL.md", "references/api.md", "scripts/sub/run.sh"] {
            assert_eq!(check_file(file), Ok(()), "{file}");
        }
        for file in
            ["", "skill.md", "references", "references/", "references/../SKILL.md", "/etc/passwd", "x/y"]
        {
            assert_eq!(check_file(file), Err(SkillNameError::File), "{file:?}");
        }
        assert!(check_file("assets/.git").is_err() && check_file("assets//x").is_err());
        for name in ["..", ".x", "a/b", "a\nb", " a", ""] {
            assert!(!is_listable(name), "{name:?}");
        }
        assert!(is_listable("Write Haiku") && is_listable("俳句"));
    }

    proptest! {
        #[test]
        fn what_passes_stays_inside_its_folder(text in "[a-z./\\\\-]{0,20}") {
            let stays = |text: &str| {
                let path = std::path::Path::new(text);
                path.components().all(|part| matches!(part, std::path::Component::Normal(_)))
            };
            prop_assert!(check_new_name(&text).is_err() || stays(&text) && !text.contains('/'));
            let file = format!("scripts/{text}");
            prop_assert!(check_file(&file).is_err() || stays(&file));
        }
    }
}
