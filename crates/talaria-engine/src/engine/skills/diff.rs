//! A proposed change as a unified diff, with secrets masked and nothing in it hidden.
//!
//! Secrets are masked before the comparison, so that none remains in a context line. Called when a change is proposed;
//! not pure, because a comparison that takes too long is cut short by the clock.

use std::time::Duration;

use similar::TextDiff;
use talaria_guard::plain::reveal;
use talaria_guard::redact::redact;

/// How long two texts are compared: beyond it the diff is right, but not the shortest.
const PATIENCE: Duration = Duration::from_millis(300);

/// Returns the change of a file; `before` is missing if the file is new.
pub(super) fn unified(path: &str, before: Option<&str>, after: &str) -> String {
    let (old, new) = (redact(before.unwrap_or_default()), redact(after));
    let old_path = if before.is_some() { path } else { "/dev/null" };
    let diff = TextDiff::configure().timeout(PATIENCE).diff_lines(old.as_ref(), new.as_ref());
    let text = diff.unified_diff().context_radius(3).header(old_path, path).to_string();
    match text.is_empty() {
        true => format!("--- {old_path}\n+++ {path}\n(only values that are not shown differ)\n"),
        false => reveal(&text).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use talaria_core::skill::diff;

    use super::*;

    #[test]
    fn a_change_is_shown_without_its_secrets() {
        let key = "sk-proj-Uniq4diff7NotReal2KbTq9ZsLmXvN2cRwPhYd7GjEaU";
        let before = format!("one\ntwo {key}\nthree\n");
        let change = unified("a/SKILL.md", Some(&before), &before.replace("three", "3\u{1b}[2J"));
        assert!(!change.contains("7NotReal2KbTq9") && !change.contains('\u{1b}'), "{change}");
        assert_eq!(diff::size(&change), (1, 1));
        expect![[r#"
            --- /dev/null
            +++ a/SKILL.md
            @@ -0,0 +1,2 @@
            +one
            +two
        "#]]
        .assert_eq(&unified("a/SKILL.md", None, "one\ntwo\n"));
        let hidden = unified("f", Some(key), &key.replace("Uniq4", "Uniq5"));
        assert!(hidden.contains("only values that are not shown differ"), "{hidden}");
    }

    #[test]
    fn large_texts_that_share_nothing_are_compared_in_time() {
        let text = |sign: &str| (0..50_000).map(|n| format!("{sign}{n}\n")).collect::<String>();
        let change = unified("f", Some(&text("a")), &text("b"));
        assert_eq!(diff::size(&change), (50_000, 50_000));
    }
}
