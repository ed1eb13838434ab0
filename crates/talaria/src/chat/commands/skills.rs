//! `/skills`: the skills of this folder, and what models propose about them. The words are those of `talaria skills`.

use std::path::Path;

use talaria_render::StyledText;

use super::super::errand::Place;
use crate::advice::Reader;
use crate::args::SkillsAction;
use crate::skills;
use crate::trouble::{Trouble, exit};

/// Carries the command out.
pub(super) async fn run(words: &[String], place: &Place) -> Result<StyledText, Trouble> {
    let action = action(words)?;
    let (client, look) = (&place.desk.client, place.desk.look());
    skills::told(&action, client, Path::new(&place.cwd), look, Reader::Chat).await
}

fn action(words: &[String]) -> Result<SkillsAction, Trouble> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let json = false;
    Ok(match words[..] {
        [] | ["list"] => SkillsAction::List { stale: false, json },
        ["list", "--stale"] => SkillsAction::List { stale: true, json },
        ["show", name] => SkillsAction::Show { name: name.to_owned(), file: None, json },
        ["show", name, file] => {
            SkillsAction::Show { name: name.to_owned(), file: Some(file.to_owned()), json }
        }
        ["proposals"] => SkillsAction::Proposals { all: false, json },
        ["diff", proposal] => SkillsAction::Diff { proposal: proposal.to_owned(), json },
        ["accept", proposal] => SkillsAction::Accept { proposal: proposal.to_owned(), json },
        ["reject", proposal] => SkillsAction::Reject { proposal: proposal.to_owned(), json },
        ["archive", name] => SkillsAction::Archive { name: name.to_owned(), json },
        ["restore", archived] => SkillsAction::Restore { archived: archived.to_owned(), json },
        _ => {
            return Err(Trouble::new(exit::USAGE, "/skills does not take this").try_this(
                "usage: /skills [list --stale | show NAME [FILE] | proposals | diff, accept or reject PROPOSAL | archive or restore NAME]",
            ));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_are_no_action_are_refused() {
        let read = |text: &str| action(&text.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        assert!(matches!(read(""), Ok(SkillsAction::List { stale: false, .. })));
        assert!(matches!(read("list --stale"), Ok(SkillsAction::List { stale: true, .. })));
        assert!(matches!(read("accept skp-1"), Ok(SkillsAction::Accept { .. })));
        assert!(matches!(read("show a references/b.md"), Ok(SkillsAction::Show { file: Some(_), .. })));
        for typed in ["accept", "delete x", "show", "diff a b"] {
            assert!(read(typed).is_err(), "{typed}");
        }
    }
}
