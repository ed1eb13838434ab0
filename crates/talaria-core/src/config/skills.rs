//! The section `[skills]`: further folders with skills. Read by the engine whenever it lists skills.

use std::path::{Path, PathBuf};

use toml_edit::Item;

use super::Config;
use super::bridge::texts;
use super::keys::Wrong;

/// The section `[skills]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillsConfig {
    /// Folders with skills besides those that agents share; absolute, or below the user's home with `~/`.
    pub folders: Vec<String>,
}

impl SkillsConfig {
    /// Returns the paths of the folders. Without a home those below it are left out.
    pub fn paths(&self, user_home: Option<&Path>) -> Vec<PathBuf> {
        let path = |folder: &String| match folder.strip_prefix("~/") {
            Some(rest) => user_home.map(|home| home.join(rest)),
            None => Some(PathBuf::from(folder)),
        };
        self.folders.iter().filter_map(path).collect()
    }
}

/// Reads `skills.folders`.
pub(super) fn folders(item: &Item, config: &mut Config) -> Vec<Wrong> {
    let mut typed = Vec::new();
    let mut wrong = texts(item, &mut typed);
    for folder in typed {
        match folder.starts_with('/') || folder.starts_with("~/") {
            true => config.skills.folders.push(folder),
            false => wrong.push(Wrong {
                message: format!("must hold folders that begin with / or ~/, not {folder:?}"),
                hint: None,
                start: item.span().map(|span| span.start),
            }),
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::parse;

    #[test]
    fn folders_are_absolute_or_below_the_home_of_the_user() {
        let parsed = parse("[skills]\nfolders = [\"/team/skills\", \"~/more\", \"relative\"]\n").unwrap();
        let [problem] = &parsed.problems[..] else { panic!("{:?}", parsed.problems) };
        assert!(problem.message.contains("begin with / or ~/, not \"relative\""), "{problem:?}");
        let skills = parsed.config.skills;
        let paths = |home: Option<&str>| skills.paths(home.map(Path::new));
        assert_eq!(paths(Some("/h")), [PathBuf::from("/team/skills"), PathBuf::from("/h/more")]);
        assert_eq!(paths(None), [PathBuf::from("/team/skills")]);
    }
}
