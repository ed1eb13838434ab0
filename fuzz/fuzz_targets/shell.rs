//! Parses and judges arbitrary command lines: nothing panics, and a line that is not understood is never allowed.
#![no_main]

use libfuzzer_sys::fuzz_target;
use talaria_guard::place::Place;
use talaria_guard::rules::{Ground, Rules, RuleSubject, Verdict};
use talaria_guard::shell;

fuzz_target!(|line: &str| {
    let rules = Rules::default();
    let verdict = rules.judge(&RuleSubject::Command { line, ground: Ground::default() }, Place::Inside);
    if shell::parse(line).is_err() {
        let verdict = verdict.accept_all(Place::Inside);
        assert!(!matches!(verdict, Verdict::Allowed { .. }), "not understood, but allowed: {line:?}");
    }
});
