//! Commands to the chat itself: slash commands with their output, and shell commands.

use expect_test::expect;

use super::*;

#[test]
fn what_a_shell_command_printed_folds_as_a_step_does() {
    let mut play = play();
    play.write("!seq 1 9").press("Enter");
    play.news(News::ShellOutput((1..=9).map(|n| format!("{n}\n")).collect()));
    play.news(News::ShellEnded { exit: Some(0), took_ms: Some(20), note: None }).draw();
    let shown = |play: &mut Play| {
        let screen = play.screen();
        let from = screen.find("! seq").unwrap();
        screen[from..].split("\n\n").next().unwrap().to_owned() + "\n"
    };
    expect![[r#"
        ! seq 1 9
          … 4 more lines (Ctrl-O)
          5
          6
          7
          8
          9
          exit 0, 0.0s
    "#]]
    .assert_eq(&shown(&mut play));
    play.press("Ctrl-O");
    assert!(shown(&mut play).starts_with("! seq 1 9\n  1\n  2\n"), "{}", shown(&mut play));
    play.press("Ctrl-O");
    assert!(shown(&mut play).contains("4 more lines"));
}

#[test]
fn commands_are_shown_above_what_they_brought() {
    let mut play = play().at(80, 40);
    play.write("/status").press("Enter").news(News::Reply("one\ntwo".into()));
    play.news(News::Reply("by itself".into()));
    play.write("/stop").press("Enter");
    play.write("/usage").press("Enter").news(News::Reply("three".into()));
    play.write("!true").press("Enter").news(News::ShellEnded { exit: Some(0), took_ms: Some(0), note: None });
    let screen = play.screen();
    let from = screen.find("returns.").unwrap();
    expect![[r#"
        returns.

        › /status
        one
        two

        by itself

        › /stop
        no turn is running here

        › /usage
        three

        ! true
          exit 0, 0.0s"#]]
    .assert_eq(screen[from..screen.find("──").unwrap()].trim_end());
    play.running().write("/steer hurry").press("Enter");
    assert_eq!(play.rows_with("› /steer"), "", "it is shown as what was said");
    play.write("/search sk-abcdefghijklmnopqrstuvwxyz012345").press("Enter");
    assert!(!play.screen().contains("sk-abcdef"), "{}", play.screen());
}

#[test]
fn a_second_shell_command_is_refused_and_never_said_to_the_model() {
    let mut play = play();
    play.write("!sleep 9").press("Enter");
    play.wishes();
    play.write("!rm x").press("Enter");
    assert!(play.screen().contains("already running"), "{}", play.screen());
    play.press("Enter");
    assert_eq!(play.wishes(), "Remember(\"!rm x\")\n");
    play.press("Up");
    assert!(play.screen().contains("$ !rm x"), "{}", play.screen());
}

#[test]
fn the_row_above_the_input_says_what_enter_does() {
    let mut play = play();
    let rule = |play: &mut Play| play.rows_with("──").trim_matches(['─', ' ', '\n']).to_owned();
    play.write("/");
    assert_eq!(rule(&mut play), "Enter sends");
    play.press("Down");
    assert_eq!(rule(&mut play), "Enter inserts it; Esc closes the list");
    play.press("Esc").press("Ctrl-U").press("Ctrl-R");
    assert_eq!(rule(&mut play), "Enter uses the line; Esc ends the search");
    play.press("Esc");
    play.running().asked("r-1", sample::ask_command("ls")).settle();
    play.press("r").wait(300);
    assert_eq!(rule(&mut play), "Enter sends the answer; Esc goes back");
}

#[test]
fn a_mistake_is_not_hidden_by_the_list() {
    let mut play = play();
    play.write("/task").press("Enter");
    let screen = play.screen();
    assert!(screen.contains("/task needs one of: list") && !screen.contains("/tasks"), "{screen}");
    play.news(nothing_waits()).press("Ctrl-U").write("/requests").press("Enter");
    assert!(play.screen().contains("› /requests\nnothing is waiting for you"), "{}", play.screen());
}

#[test]
fn an_effort_that_is_only_asked_for_says_so() {
    let mut play = play();
    play.running().news(News::Chosen { provider: None, model: None, effort: Some("xhigh".into()) });
    assert!(play.screen().contains("codex·gpt-5.5·xhigh (next turn)"), "{}", play.screen());
}
