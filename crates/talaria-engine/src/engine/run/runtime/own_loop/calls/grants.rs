//! What a person accepted for the rest of the conversation: the same command line in the same directory and place, further
//! changes of the same files, reading of the same paths. On Codex its process remembers this; here the request rows do, so
//! that the next engine knows it too.
//!
//! A row has its question redacted. A question that contains a secret is therefore never found again, and is asked each time.

use talaria_core::ids::ItemId;
use talaria_core::item::{FileAction, FileChange};
use talaria_core::request::{Ask, Decision};
use talaria_guard::place::Place;
use talaria_store::{RequestFilter, RequestRow, RequestState};

use super::CallScene;
use crate::engine::journal::asker::Asker;
use crate::engine::journal::{covered, rows};

/// The beginning of the text that replaces a secret.
const REDACTED: &str = "[redacted:";

impl CallScene {
    /// Returns whether a person accepted the same thing for the rest of the conversation. Rows that cannot be read accept
    /// nothing.
    pub(super) async fn is_granted(&self, item: &ItemId, ask: &Ask, place: Option<Place>) -> bool {
        let filter = RequestFilter { session: Some(self.session.clone()), states: None };
        let Ok(requests) = self.services.store.requests(&filter).await else { return false };
        let asker = |row: &RequestRow| match Asker::of(&row.origin) {
            Some(Asker::LoopCall { item }) => Some(item),
            _ => None,
        };
        // A question about this very call is open since an earlier engine: its own answer counts.
        let is_asked = |row: &RequestRow| {
            matches!(row.state, RequestState::Open | RequestState::Answered)
                && asker(row).as_ref() == Some(item)
        };
        if requests.iter().any(is_asked) {
            return false;
        }
        let place = place.map(|place| rows::word(&place));
        requests.iter().any(|row| {
            let decision: Option<Decision> = row.decision.as_deref().and_then(rows::value);
            row.state == RequestState::Delivered
                && decision == Some(Decision::AcceptForSession)
                && asker(row).is_some()
                && row.place == place
                && serde_json::from_str(&row.ask).is_ok_and(|granted| covers(&granted, ask))
        })
    }
}

/// Whether the consent to one thing is the consent to another.
fn covers(granted: &Ask, asked: &Ask) -> bool {
    is_same(granted, asked) && is_same(&covered(asked), asked)
}

fn is_same(granted: &Ask, asked: &Ask) -> bool {
    let is_plain = |text: &str| !text.contains(REDACTED);
    match (granted, asked) {
        (
            Ask::Command { command, cwd, permissions: None, .. },
            Ask::Command { command: asked, cwd: asked_cwd, permissions: None, .. },
        ) => command == asked && cwd == asked_cwd && !asked.is_empty() && is_plain(asked),
        (Ask::Patch { changes: Some(granted), .. }, Ask::Patch { changes: Some(asked), .. }) => {
            let is_granted = |change: &FileChange| granted.iter().any(|before| changes_same(before, change));
            !asked.is_empty() && asked.iter().all(|change| is_plain(&change.path) && is_granted(change))
        }
        (
            Ask::Permissions { cwd, permissions: granted, .. },
            Ask::Permissions { cwd: asked_cwd, permissions: asked, .. },
        ) => {
            cwd == asked_cwd
                && (granted.network || !asked.network)
                && asked.unknown.is_empty()
                && !asked.files.is_empty()
                && asked.files.iter().all(|file| granted.files.contains(file))
        }
        _ => false,
    }
}

/// Whether two changes have the same file. Consent to change a file is none to delete it.
fn changes_same(granted: &FileChange, asked: &FileChange) -> bool {
    let deletes = |change: &FileChange| change.action == FileAction::Delete;
    granted.path == asked.path && granted.move_to == asked.move_to && deletes(granted) == deletes(asked)
}

#[cfg(test)]
mod tests {
    use talaria_core::ids::ThreadId;

    use super::*;

    fn command(line: &str, cwd: &str) -> Ask {
        Ask::Command {
            thread: ThreadId::new("t"),
            item: ItemId::new(line.len().to_string()),
            approval: None,
            command: line.to_owned(),
            actions: Vec::new(),
            cwd: Some(cwd.to_owned()),
            reason: Some(format!("a reason for {line}")),
            permissions: None,
            always: None,
            asked_because: None,
        }
    }

    fn patch(changes: &[(&str, FileAction)]) -> Ask {
        let changes = changes.iter().map(|(path, action)| FileChange {
            path: (*path).to_owned(),
            action: *action,
            move_to: None,
            diff: format!("a change of {path}"),
        });
        let changes = Some(changes.collect());
        Ask::Patch {
            thread: ThreadId::new("t"),
            item: ItemId::new("i"),
            changes,
            reason: None,
            grant_root: None,
        }
    }

    #[test]
    fn a_command_is_the_same_only_with_the_same_line_in_the_same_directory() {
        let granted = command("cargo test", "/w");
        assert!(covers(&granted, &command("cargo test", "/w")));
        for other in
            [command("cargo test -- --ignored", "/w"), command("cargo test", "/w/sub"), command("", "/w")]
        {
            assert!(!covers(&granted, &other), "{other:?}");
        }
        assert!(!covers(&patch(&[("/w/a", FileAction::Add)]), &granted));
    }

    #[test]
    fn two_commands_that_look_the_same_without_their_secrets_are_not_the_same() {
        let line = |key: &str| command(&format!("curl -H 'Authorization: Bearer {key}' x"), "/w");
        let secret = line("sk-proj-0123456789abcdefghijABCDEFGHIJ0123456789");
        let stored = covered(&secret);
        assert!(!serde_json::to_string(&stored).unwrap().contains("0123456789abcdef"), "{stored:?}");
        assert!(!covers(&stored, &secret) && !covers(&stored, &stored));
    }

    #[test]
    fn consent_to_changes_is_for_their_files_and_none_to_delete_one() {
        use FileAction::{Add, Delete, Update};
        let granted = patch(&[("/w/a", Add), ("/w/b", Update)]);
        assert!(covers(&granted, &patch(&[("/w/a", Update)])));
        for other in [patch(&[("/w/a", Delete)]), patch(&[("/w/a", Update), ("/w/c", Update)]), patch(&[])] {
            assert!(!covers(&granted, &other), "{other:?}");
        }
    }
}
