//! Text of an answer that does not count: struck out with the reason, also when its page is loaded later.

use expect_test::expect;

use super::*;
use talaria_render::sample;

const NO_COLOR: Look = Look { color: false, width: None, live: true, unicode: true };

/// A turn whose first answer was cut.
fn cut_and_repeated() -> Vec<Event> {
    vec![
        sample::turn_started(),
        sample::reasoning("r-1", "Where to begin?"),
        sample::text("m-1", "A wrong beginning\n\nthat **goes on** for a while"),
        sample::void(1, &["r-1", "m-1"]),
        Event::Retrying { message: "the connection was cut; again in 1 s".into() },
        sample::text("m-2", "The whole answer."),
        sample::ended("m-2", sample::message_body("The whole answer.", None)),
        sample::completed("The whole answer."),
    ]
}

#[test]
fn a_void_answer_is_struck_out_with_the_reason_and_can_be_unfolded() {
    let mut transcript = fed(NO_COLOR, &numbered(1, cut_and_repeated()));
    expect![[r#"
        ✗ this thought does not count: the connection was cut
          Where to begin? … (Ctrl-O)

        ✗ this text does not count: the connection was cut
          A wrong beginning … (Ctrl-O)

        ↻ retrying: the connection was cut; again in 1 s

        The whole answer.

        tokens: 9.6k in (4.8k cached), 12 out, 7.0s
    "#]]
    .assert_eq(&screen(&mut transcript, 70, 30));
    transcript.toggle_fold(Fold::All);
    expect![[r#"
        ✗ this thought does not count: the connection was cut
          Where to begin?

        ✗ this text does not count: the connection was cut
          A wrong beginning

          that **goes on** for a while

        ↻ retrying: the connection was cut; again in 1 s

        The whole answer.

        tokens: 9.6k in (4.8k cached), 12 out, 7.0s
    "#]]
    .assert_eq(&screen(&mut transcript, 70, 30));
    expect![[r#"
        ✗ this thought does not
          count: the connection
          was cut
          Where to begin?

        ✗ this text does not
          count: the connection
          was cut
          A wrong beginning

          that **goes on** for a
          while

        ↻ retrying: the
          connection was cut;
          again in 1 s

        The whole answer.
    "#]]
    .assert_eq(&screen(&mut transcript, 24, 30));
}

#[test]
fn its_words_have_a_line_through_them() {
    let look = Look { color: true, ..NO_COLOR };
    let mut transcript = fed(look, &numbered(1, cut_and_repeated()));
    for _ in 0..2 {
        let view = view(&mut transcript, 70, 30);
        let words = view.lines.iter().flat_map(|line| &line.spans);
        let wrong = words.filter(|span| span.text.contains("wrong")).collect::<Vec<_>>();
        assert!(!wrong.is_empty() && wrong.iter().all(|span| span.style.is_struck()), "{wrong:?}");
        transcript.toggle_fold(Fold::All);
    }
}

#[test]
fn it_is_void_in_a_page_that_is_loaded_after_the_end_of_the_answer() {
    let events = numbered(1, cut_and_repeated());
    for split in 1..events.len() {
        let mut transcript = fed(NO_COLOR, &events[split..]);
        transcript.prepend(events[split].seq, events[..split].to_vec());
        let screen = screen(&mut transcript, 70, 30);
        let wrong = screen.matches("A wrong beginning").count();
        let notices = screen.matches("this text does not count").count();
        assert_eq!((wrong, notices), (1, 1), "split at {split}:\n{screen}");
    }
}

#[test]
fn the_answer_of_a_turn_is_shown_where_only_void_text_came_before_it() {
    let events = vec![
        sample::turn_started(),
        sample::text("m-1", "A wrong beginning"),
        sample::void(1, &["m-1"]),
        sample::completed("The whole answer."),
    ];
    let mut transcript = fed(NO_COLOR, &numbered(1, events));
    let screen = screen(&mut transcript, 70, 30);
    assert!(screen.contains("\nThe whole answer.\n"), "{screen}");
}
