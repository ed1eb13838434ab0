//! Command lines: parses and judges arbitrary text.

use talaria_guard::place::Place;
use talaria_guard::rules::{Ground, RuleSubject, Rules, Verdict};
use talaria_guard::shell::{self, CommandText};

/// Nothing panics, and a line that is not understood is never allowed.
pub fn check(line: &str) {
    let text = CommandText::new(line);
    let subject = RuleSubject::Command { line: &text, ground: Ground::default() };
    let verdict = Rules::default().judge(&subject, Place::Inside);
    if shell::parse(line).is_err() {
        let verdict = verdict.accept_all(Place::Inside);
        assert!(!matches!(verdict, Verdict::Allowed { .. }), "not understood, but allowed: {line:?}");
    }
}
