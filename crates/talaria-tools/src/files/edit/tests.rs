//! Edits against a model: bytes outside of the replaced text never change, and what is ambiguous is never guessed.

use proptest::prelude::*;

use super::*;

fn edit(before: &str, old: &str, new: &str) -> Result<String, EditRefusal> {
    apply_edit(before, &EditWish { old: old.into(), new: new.into(), occurrences: Occurrences::One })
}

fn edit_all(before: &str, old: &str, new: &str) -> Result<String, EditRefusal> {
    apply_edit(before, &EditWish { old: old.into(), new: new.into(), occurrences: Occurrences::All })
}

#[test]
fn a_text_that_differs_is_never_replaced() {
    // What approximate strategies replaced: BUG-101.
    let file = "fn a() {\n    beta(2)\n}\nfn c() {\n    y = 2\n}\n";
    for old in [
        "beta(9)",
        "fn a() {\n    beta(9)\n}",
        "fn a() {\n  beta(2)\n}",
        "y = 7",
        "Beta(2)",
        "fn a() {\n\tbeta(2)",
    ] {
        assert!(matches!(edit(file, old, "x"), Err(EditRefusal::NotFound(_))), "{old}");
        assert!(matches!(edit_all(file, old, "x"), Err(EditRefusal::NotFound(_))), "{old}");
    }
    let message = edit(file, "fn a() {\n  beta(2)\n}", "x").unwrap_err().to_string();
    assert!(message.ends_with("line 1"), "{message}");
}

#[test]
fn an_ambiguous_text_is_refused_with_its_lines() {
    let refusal = edit("a = 1\nb = 1\na = 1\n", "a = 1", "c").unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "old occurs 2 times, at lines 1, 3; add lines around it until it is unique, or set all to replace every one\n\
         1\ta = 1\n3\ta = 1"
    );
    assert_eq!(edit_all("a = 1\nb = 1\na = 1\n", "a = 1", "c").unwrap(), "c\nb = 1\nc\n");
    // Two readings of one place.
    assert!(matches!(edit("aaa", "aa", "b"), Err(EditRefusal::Ambiguous { count: 2, .. })));
    assert_eq!(edit_all("aaa", "aa", "b").unwrap(), "ba");
}

#[test]
fn line_ends_and_byte_order_marks_stay() {
    let file = "\u{feff}one\r\ntwo\r\nthree";
    assert_eq!(edit(file, "one\ntwo", "1\n2").unwrap(), "\u{feff}1\r\n2\r\nthree");
    assert_eq!(edit(file, "three", "3\n4").unwrap(), "\u{feff}one\r\ntwo\r\n3\r\n4");
    assert_eq!(edit("a\nb\r\nc\n", "a", "x\ny").unwrap(), "x\ny\nb\r\nc\n");
    assert_eq!(fit_whole_text(Some(file), "x\ny\n"), "\u{feff}x\r\ny\r\n");
    assert_eq!(fit_whole_text(Some("a\r\nb\n"), "x\ny\n"), "x\ny\n", "mixed lines are left to the model");
    assert_eq!(fit_whole_text(None, "x\n"), "x\n");
}

#[test]
fn what_would_change_nothing_is_refused() {
    assert_eq!(edit("a", "", "b"), Err(EditRefusal::EmptyOld));
    assert_eq!(edit("a", "a", "a"), Err(EditRefusal::NoChange));
}

/// Texts over a small alphabet, so that parts occur more than once.
fn small_text(longest: usize) -> impl Strategy<Value = String> {
    let piece = prop_oneof![Just("a"), Just("b"), Just("ä"), Just("\n"), Just("\r\n"), Just(" ")];
    proptest::collection::vec(piece, 0..longest).prop_map(|pieces| pieces.concat())
}

/// The model: cuts the text at every place where the old one begins.
fn count(text: &str, old: &str) -> usize {
    text.char_indices().filter(|(at, _)| text[*at..].starts_with(old)).count()
}

proptest! {
    #[test]
    fn random_edits_agree_with_the_model(
        before in small_text(24),
        old in small_text(5),
        new in small_text(5),
    ) {
        let literal = count(&before, &old);
        match edit(&before, &old, &new) {
            Ok(after) => {
                prop_assert!(literal <= 1, "an ambiguous text was replaced");
                // The replaced part, in one of its two spellings, and nothing else, is gone.
                let fits = [old.clone(), to_crlf(&old)].iter().any(|old| {
                    [new.clone(), to_crlf(&new)].iter().any(|new| before.replacen(old.as_str(), new, 1) == after)
                });
                prop_assert!(fits, "{before:?} -> {after:?}");
                prop_assert_ne!(after, before);
            }
            Err(EditRefusal::EmptyOld) => prop_assert!(old.is_empty()),
            Err(EditRefusal::NotFound(_)) => prop_assert_eq!(literal, 0),
            Err(EditRefusal::Ambiguous { count: found, .. }) => {
                prop_assert!(found > 1 && (literal == found || (literal == 0 && count(&before, &to_crlf(&old)) == found)));
            }
            Err(EditRefusal::NoChange) => prop_assert!(old == new || to_crlf(&old) == to_crlf(&new)),
        }
    }

    #[test]
    fn replacing_all_is_what_the_standard_library_does(
        before in "[ab \n]{0,24}",
        old in "[ab\n]{1,4}",
        new in "[abc\n]{0,4}",
    ) {
        if let Ok(after) = edit_all(&before, &old, &new) {
            prop_assert_eq!(after, before.replace(&old, &new));
        }
    }
}
