//! Text of an answer that does not count, as people see it line by line. For tests only.

use expect_test::expect;

use super::sample;
use super::tests::{rendered, seen};

fn cut_and_repeated() -> Vec<talaria_core::event::Event> {
    vec![
        sample::turn_started(),
        sample::reasoning("r-1", "Where to begin?"),
        sample::text("m-1", "A **wrong beginning"),
        sample::void(1, &["r-1", "m-1"]),
        sample::text("m-2", "The whole answer."),
        sample::ended("m-2", sample::message_body("The whole answer.", None)),
        sample::completed("The whole answer."),
    ]
}

#[test]
fn the_reason_follows_the_text_and_the_next_answer_begins_anew() {
    expect![[r#"
        ┆ Where to begin?

        A **wrong beginning

        ✗ the text above does not count: the connection was cut

        The whole answer.

        tokens: 9.6k in (4.8k cached), 12 out, 3.0s
    "#]]
    .assert_eq(&rendered(sample::PIPE, &cut_and_repeated()));
    expect![[r#"
        ┆ Where to begin?

        A **wrong beginning

        ✗ the text above does not count: the connection was cut

        The whole answer.

        tokens: 9.6k in (4.8k cached), 12 out, 3.0s
    "#]]
    .assert_eq(&seen(&cut_and_repeated()));
}

#[test]
fn an_answer_of_which_nothing_was_seen_is_not_looked_for_above() {
    let events = [sample::turn_started(), sample::void(1, &["m-1"]), sample::completed("The answer.")];
    expect![[r#"
        an answer that was not shown here does not count: the connection was cut

        The answer.

        tokens: 9.6k in (4.8k cached), 12 out, 1.0s
    "#]]
    .assert_eq(&rendered(sample::PIPE, &events));
}

#[test]
fn an_answer_that_only_the_end_reports_is_shown_after_void_text() {
    let events = [
        sample::turn_started(),
        sample::text("m-1", "A wrong beginning"),
        sample::void(1, &["m-1"]),
        sample::completed("The whole answer."),
    ];
    expect![[r#"
        A wrong beginning

        ✗ the text above does not count: the connection was cut

        The whole answer.

        tokens: 9.6k in (4.8k cached), 12 out, 1.5s
    "#]]
    .assert_eq(&rendered(sample::PIPE, &events));
}
