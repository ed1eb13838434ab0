//! Folding: everything in view can be unfolded, one after the other, and says by which key.

use expect_test::expect;
use talaria_core::item::Status;

use super::*;
use talaria_render::sample;

const LOOK: Look = Look { color: false, width: None, live: true, unicode: true };

fn ran(id: &str, lines: usize) -> Event {
    let output: String = (1..=lines).map(|n| format!("{id} {n}\n")).collect();
    sample::ended(id, sample::command_body(id, Status::Completed, Some(0), Some(&output)))
}

/// Which of these are whole?
fn whole<'a>(transcript: &mut Transcript, names: &[&'a str]) -> Vec<&'a str> {
    let screen = screen(transcript, 60, 60);
    names.iter().copied().filter(|name| screen.contains(&format!("  {name} 1\n"))).collect()
}

#[test]
fn every_step_in_view_can_be_unfolded_from_the_last_one_upwards() {
    let names = ["one", "two", "three"];
    let events = vec![sample::turn_started(), ran("one", 9), ran("two", 9), ran("three", 30)];
    let mut transcript = fed(LOOK, &numbered(1, events));
    let mut told = String::new();
    for _ in 0..6 {
        told += &format!("{:?}\n", whole(&mut transcript, &names));
        transcript.toggle_fold(Fold::Next);
    }
    expect![[r#"
        []
        ["three"]
        ["two"]
        ["one"]
        []
        ["three"]
    "#]]
    .assert_eq(&told);
}

#[test]
fn also_when_the_one_below_has_pushed_it_out_of_view() {
    let events = vec![sample::turn_started(), ran("one", 9), ran("two", 90)];
    let mut transcript = fed(LOOK, &numbered(1, events));
    view(&mut transcript, 60, 14);
    transcript.toggle_fold(Fold::Next);
    assert!(!screen(&mut transcript, 60, 14).contains("one"));
    transcript.toggle_fold(Fold::Next);
    assert!(screen(&mut transcript, 60, 24).contains("  one 1\n"));
}

#[test]
fn what_was_unfolded_stays_so_when_the_window_moves() {
    let events = vec![sample::turn_started(), ran("one", 9), ran("two", 90)];
    let mut transcript = fed(LOOK, &numbered(1, events));
    view(&mut transcript, 60, 14);
    transcript.toggle_fold(Fold::Next);
    view(&mut transcript, 60, 14);
    transcript.scroll(Scroll::PageUp);
    let up = screen(&mut transcript, 60, 14);
    assert!(up.contains("  two 70\n"), "{up}");
    // The key affects the visible cells.
    transcript.toggle_fold(Fold::Next);
    assert_eq!(whole(&mut transcript, &["two"]), Vec::<&str>::new());
}

#[test]
fn what_has_nothing_more_to_show_is_passed_over() {
    let events = vec![sample::turn_started(), ran("one", 9), sample::text("m", "an answer")];
    let mut transcript = fed(LOOK, &numbered(1, events));
    transcript.note(Note::new(Tone::Info, "a word of ours"));
    view(&mut transcript, 60, 60);
    transcript.toggle_fold(Fold::Next);
    assert_eq!(whole(&mut transcript, &["one"]), ["one"]);
}

#[test]
fn a_change_that_was_declined_can_still_be_read() {
    let events = vec![sample::turn_started(), sample::ended("p", sample::patch_body(Status::Declined))];
    let mut transcript = fed(LOOK, &numbered(1, events));
    let short = screen(&mut transcript, 70, 30);
    transcript.toggle_fold(Fold::Next);
    expect![[r#"
        ⊘ src/a.rs (+2 −1), notes.md (new, +2), gone.txt (deleted,…  declined
          … 9 more lines (Ctrl-O)
        --
        ⊘ src/a.rs (+2 −1), notes.md (new, +2), gone.txt (deleted,…  declined
        ✎ src/a.rs (+2 −1)
          @@ -1,3 +1,4 @@
           fn a() {
          -    old();
          +    new();
          +    newer();
           }
        ✎ notes.md (new, +2)
          +# Notes
          +    tabbed
        ✎ gone.txt (deleted, −1)
          -bye
    "#]]
    .assert_eq(&format!("{short}--\n{}", screen(&mut transcript, 70, 30)));
}

#[test]
fn a_thought_and_a_long_change_name_the_key() {
    let mut long = sample::changes();
    long[1].diff = "+line\n".repeat(60);
    let body = talaria_core::item::ItemBody::Patch { status: Status::Completed, changes: long };
    let thought = sample::reasoning("r", &"**Looking** around everywhere. ".repeat(9));
    let events = vec![sample::turn_started(), thought, sample::ended("p", body)];
    let mut transcript = fed(LOOK, &numbered(1, events));
    let told = screen(&mut transcript, 60, 60);
    let rows: Vec<&str> = told.lines().filter(|row| row.contains("Ctrl-O")).collect();
    expect![[r#"
        ┆ Looking** around everywhere. **Looking** around … (Ctrl-O)
          … 43 more lines (Ctrl-O)"#]]
    .assert_eq(&rows.join("\n"));
}
