//! Unsettled wishes, by number: a number is settled once, however often that is reported. Pure.

use std::collections::BTreeMap;

/// The running errands.
#[derive(Debug, Default)]
pub(super) struct UnderWay {
    last: u64,
    open: BTreeMap<u64, Option<String>>,
}

impl UnderWay {
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
        let mut under_way = UnderWay::default();
        let files = under_way.begin(None);
        let said = under_way.begin(Some("your message".to_owned()));
        under_way.begin(Some("your message".to_owned()));
        under_way.end(said);
        under_way.end(said);
        assert!(!under_way.is_empty());
        assert_eq!(under_way.names(), ["your message"]);
        under_way.end(files + 2);
        assert!(under_way.names().is_empty() && !under_way.is_empty());
        under_way.end(files);
        assert!(under_way.is_empty());
    }
}
