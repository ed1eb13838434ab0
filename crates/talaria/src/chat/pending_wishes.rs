//! Unsettled wishes, by number: a number is settled once, however often that is reported. Pure.

use std::collections::BTreeMap;

/// The running errands.
#[derive(Debug, Default)]
pub(super) struct PendingWishes {
    last: u64,
    open: BTreeMap<u64, Option<String>>,
}

impl PendingWishes {
    /// Something begins. It has a name if a person should know that it was not confirmed.
    pub(super) fn begin(&mut self, name: Option<String>) -> u64 {
        self.last += 1;
        self.open.insert(self.last, name);
        self.last
    }

    /// It is settled.
    pub(super) fn end(&mut self, number: u64) {
        self.open.remove(&number);
    }

    /// Is everything settled?
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Unsettled actions to report, each once, in order.
    pub(super) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for name in self.open.values().flatten() {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_settled_once_and_what_matters_has_a_name() {
        let mut pending_wishes = PendingWishes::default();
        let files = pending_wishes.begin(None);
        let said = pending_wishes.begin(Some("your message".to_owned()));
        pending_wishes.begin(Some("your message".to_owned()));
        pending_wishes.end(said);
        pending_wishes.end(said);
        assert!(!pending_wishes.is_empty());
        assert_eq!(pending_wishes.names(), ["your message"]);
        pending_wishes.end(files + 2);
        assert!(pending_wishes.names().is_empty() && !pending_wishes.is_empty());
        pending_wishes.end(files);
        assert!(pending_wishes.is_empty());
    }
}
