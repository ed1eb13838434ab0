//! What Enter does, and what becomes of what was typed.

use expect_test::expect;
use talaria_core::event::QueuedInput;
use talaria_core::ids::TurnId;
use talaria_core::item::{Author, ItemBody, Status};

use super::super::contract::PromptDraft;
use super::truth::steering;
use super::*;

fn user_message(text: &str) -> Event {
    let body = ItemBody::UserMessage {
        text: text.into(),
        attachments: Vec::new(),
        client_id: None,
        author: Author::Person,
    };
    sample::ended(&format!("u-{text}"), body)
}

fn refused(what: &str, text: &str) -> News {
    let prompt = PromptDraft { text: text.into(), images: Vec::new() };
    News::Refused { what: what.into(), prompt: Some(prompt), ticket: None }
}

#[test]
fn enter_sends_and_the_screen_says_so_before() {
    let mut play = play();
    expect![[r#"
        ── Enter sends ─────────────────────────────────────────────────────────────────
    "#]]
    .assert_eq(&play.rows_with("Enter sends"));
    play.write("hello").press("Enter");
    expect![[r#"
        Send(PromptDraft { text: "hello", images: [] })
        Remember("hello")
    "#]]
    .assert_eq(&play.wishes());
    expect![[r#"
        ▌ hello
        ▌ not confirmed yet



















        ── Enter steers; F3: queue; Esc stops ──────────────────────────────────────────
        › say what to do   / commands   @ files   ! shell
        ⠋ sending 0s
    "#]]
    .assert_eq(&play.screen());
}

#[test]
fn while_a_turn_runs_enter_steers_or_queues_as_is_shown() {
    let mut play = play();
    play.running().write("faster").press("Enter");
    play.press("F3").write("then test").press("Enter");
    expect![[r#"
        Say(PromptDraft { text: "faster", images: [] }, Now)
        Remember("faster")
        Say(PromptDraft { text: "then test", images: [] }, Next)
        Remember("then test")
    "#]]
    .assert_eq(&play.wishes());
    expect![[r#"
        model     gpt-5.5 (high), provider openai, Codex 0.166.0
        cwd       ~/project
        sandbox   workspace-write, approval on-request

        ▌ go
        ▌ not confirmed yet













        ↳ steering: faster
        ↳ queueing: then test
        ── while a turn runs, Enter queues ─────────────────────────────────────────────
        › say what to do   / commands   @ files   ! shell
        ⠋ working 0s · codex·gpt-5.5·high · workspace-write/on-request
    "#]]
    .assert_eq(&play.screen());
    play.event(steering("faster")).event(Event::Steered { turn: TurnId::new("t-1") });
    expect![[r#"
        ↳ sent, not read yet: faster
    "#]]
    .assert_eq(&play.rows_with("faster"));
    play.event(user_message("faster"));
    play.event(Event::Queued { waiting: 1, input: QueuedInput::text("then test") });
    assert_eq!(play.rows_with("not read yet: faster"), "");
    expect![[r#"
        queued: then test
        ↳ queued: then test
    "#]]
    .assert_eq(&play.rows_with("queued: then test"));
    play.event(sample::completed("done")).event(user_message("then test"));
    assert_eq!(play.rows_with("queued: then test"), "");
}

#[test]
fn commands_steer_and_queue_whatever_the_setting_is() {
    let mut play = play();
    play.running().write("/queue later").press("Enter");
    play.press("F3").write("/steer now").press("Enter");
    expect![[r#"
        Say(PromptDraft { text: "later", images: [] }, Next)
        Remember("/queue later")
        Say(PromptDraft { text: "now", images: [] }, Now)
        Remember("/steer now")
    "#]]
    .assert_eq(&play.wishes());
}

#[test]
fn what_is_typed_before_the_engine_has_the_turn_is_handed_over_then() {
    let mut play = play();
    play.write("go").press("Enter").write("and test").press("Enter");
    let wishes = play.wishes();
    assert!(!wishes.contains("Say"), "{wishes}");
    assert!(play.screen().contains("not sent yet: and test"));
    play.news(News::Started { session: session(), turn: 1 });
    expect![[r#"
        Say(PromptDraft { text: "and test", images: [] }, Now)
    "#]]
    .assert_eq(&play.wishes());
}

#[test]
fn what_was_refused_goes_back_to_the_input_line() {
    let mut play = play();
    play.write("go").press("Enter").write("and test").press("Enter").write("more");
    play.news(refused("no Codex", "go"));
    let screen = play.screen();
    assert!(screen.contains("› go\n  and test\n  more") && screen.contains("no Codex"), "{screen}");
    assert!(screen.contains("Enter sends"), "nothing runs\n{screen}");
    assert!(screen.contains("Talaria 0.6.0"), "nothing was said\n{screen}");
}

#[test]
fn what_codex_never_began_with_goes_back_to_the_input_line() {
    let mut play = play();
    play.write("go").press("Enter").news(News::Started { session: session(), turn: 1 });
    play.event(sample::failed());
    let screen = play.screen();
    assert!(screen.contains("› go") && !screen.contains("▌ go"), "{screen}");
    let mut play = super::play();
    play.running().event(sample::failed());
    assert!(!play.screen().contains("› go"), "Codex had begun");
    let mut play = super::play();
    play.write("go").press("Enter").event(sample::lost());
    assert!(!play.screen().contains("› go"), "nobody knows");
}

#[test]
fn queued_input_that_an_interrupt_takes_back_goes_to_the_input_line_unmasked() {
    let mut play = play();
    let secret = "use ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    let masked = talaria_guard::redact::redact(secret).into_owned();
    assert_ne!(masked, secret);
    play.running().press("F3").write(secret).press("Enter");
    let inputs = vec![QueuedInput { text: masked, images: Vec::new() }];
    play.event(Event::Unqueued { inputs, was_sent: false }).event(sample::interrupted());
    assert!(play.screen().contains(&format!("› {secret}")));
    assert_eq!(play.rows_with("queued"), "");
}

#[test]
fn input_of_others_that_is_taken_back_is_shown() {
    let mut play = play();
    play.running().write("mine");
    let input = QueuedInput { text: "of another client".into(), images: Vec::new() };
    play.event(Event::Unqueued { inputs: vec![input], was_sent: false });
    assert_eq!(play.rows_with("not sent"), "not sent: of another client\n");
    assert!(play.screen().contains("› mine"), "the input line is not touched");
}

#[test]
fn every_line_that_was_sent_is_remembered_without_its_secrets() {
    let mut play = play();
    play.write("token=ghp_abcdefghijklmnopqrstuvwxyz0123456789").press("Enter");
    let wishes = play.wishes();
    let remembered = wishes.lines().find(|line| line.starts_with("Remember")).unwrap();
    assert!(remembered.contains("redacted") && !remembered.contains("abcdef"), "{remembered}");
}

#[test]
fn an_image_stays_in_its_sentence_wherever_that_is_shown() {
    let mut play = play();
    play.running().write("compare ").paste("/v/a.png");
    play.news(News::Image { pasted: "/v/a.png".into(), path: Some("/v/a.png".into()) });
    play.write(" with ").paste("/w/a.png");
    play.news(News::Image { pasted: "/w/a.png".into(), path: Some("/w/a.png".into()) });
    play.chat.wishes();
    play.press("F3 Enter");
    expect![[r#"
        Say(PromptDraft { text: "compare [image a.png] with [image a.png 2]", images: ["/v/a.png", "/w/a.png"] }, Next)
        Remember("compare [image a.png, not attached] with [image a.png 2, not attached]")
    "#]]
    .assert_eq(&play.wishes());
    let sentence = "compare [image a.png] with [image a.png 2]";
    assert_eq!(play.rows_with("queueing").trim_end(), format!("↳ queueing: {sentence}"));
    let images = vec!["/v/a.png".into(), "/w/a.png".into()];
    let input = QueuedInput { text: sentence.into(), images };
    play.event(Event::Queued { waiting: 1, input: input.clone() });
    assert!(!play.screen().contains("/v/a.png"), "named once\n{}", play.screen());
    let inputs = vec![input];
    play.event(Event::Unqueued { inputs, was_sent: false }).event(sample::interrupted());
    assert!(play.screen().contains(&format!("› {sentence}")), "{}", play.screen());
    play.chat.wishes();
    play.press("Enter");
    assert!(play.wishes().contains(r#"images: ["/v/a.png", "/w/a.png"]"#), "they are still attached");
}

#[test]
fn a_shell_command_runs_beside_and_its_output_stays() {
    let mut play = play();
    play.write("!make").press("Enter");
    assert!(play.wishes().contains("Shell(\"make\")"));
    play.news(News::ShellOutput("one\ntwo\u{1b}[2J\n".into()));
    expect![[r#"
          two␛[2J
    "#]]
    .assert_eq(&play.rows_with("two"));
    play.write("!ls").press("Enter");
    assert!(!play.wishes().contains("Shell(\"ls\")"), "one at a time");
    play.press("Ctrl-C");
    assert!(play.wishes().contains("StopShell"));
    play.news(News::ShellEnded { exit: Some(2), took_ms: Some(1500), note: Some("read-only".into()) });
    let screen = play.screen();
    for word in ["! make", "one", "two␛[2J", "exit 2, 1.5s", "read-only"] {
        assert!(screen.contains(word), "{word}\n{screen}");
    }
}

#[test]
fn a_conversation_reads_from_top_to_bottom_and_steps_unfold() {
    let mut play = play();
    let output: String = (1..=12).map(|line| format!("line {line}\n")).collect();
    let command = |status, exit, output| sample::command_body("make test", status, exit, output);
    play.running().event(user_message("go"));
    play.event(sample::reasoning("r", "**Looking around**\n\nfirst"));
    play.event(sample::began("c", command(Status::InProgress, None, None)));
    play.event(sample::ended("c", command(Status::Completed, Some(0), Some(&output))));
    play.event(sample::ended("m", sample::message_body("# Done\n\n- all **12** lines", None)));
    play.event(sample::completed("Done"));
    expect![[r#"
        model     gpt-5.5 (high), provider openai, Codex 0.166.0
        cwd       ~/project
        sandbox   workspace-write, approval on-request

        ▌ go

        ┆ Looking around (Ctrl-O)

        ✓ make test  (0.4s)
          … 7 more lines (Ctrl-O)
          line 8
          line 9
          line 10
          line 11
          line 12

        Done

        • all 12 lines

        tokens: 9.6k in (4.8k cached), 12 out, 0.0s
        ── Enter sends ─────────────────────────────────────────────────────────────────
        › say what to do   / commands   @ files   ! shell
        codex·gpt-5.5·high · workspace-write/on-request
    "#]]
    .assert_eq(&play.screen());
    play.press("Ctrl-O");
    let screen = play.screen();
    assert!((1..=12).all(|line| screen.contains(&format!("line {line}\n"))), "{screen}");
}

#[test]
fn a_question_mark_in_a_text_is_a_question_mark() {
    let mut play = play();
    play.write("why?");
    assert!(play.screen().contains("› why?"));
}

#[test]
fn what_no_event_told_of_does_not_wait_beyond_its_turn() {
    let mut play = play();
    play.running().write("lost").press("Enter F3");
    play.write("later").press("Enter");
    play.event(Event::Queued { waiting: 1, input: QueuedInput::text("later") });
    assert_eq!(play.rows_with("↳"), "↳ steering: lost\n↳ queued: later\n");
    play.event(sample::completed("done"));
    assert_eq!(play.rows_with("↳"), "↳ queued: later\n");
}

#[test]
fn a_wish_to_stop_that_was_refused_is_not_shown_as_stopping() {
    let mut play = play();
    play.running().press("Esc");
    assert!(!play.rows_with("stopping").is_empty());
    play.news(News::Refused { what: "the engine is away".into(), prompt: None, ticket: None });
    assert_eq!(play.rows_with("stopping"), "");
    assert!(play.screen().contains("working"));
}

#[test]
fn a_long_input_does_not_make_the_line_before_it_be_kept_again() {
    let mut play = play();
    play.write("short").press("Enter");
    assert!(play.wishes().contains("Remember(\"short\")"));
    play.paste(&"x".repeat(20_000)).press("Enter");
    assert!(!play.wishes().contains("Remember"));
}

#[test]
fn input_that_is_refused_late_leaves_the_turn_that_was_asked_for_since() {
    let mut play = play();
    play.running().write("first").press("Enter").event(sample::completed("done"));
    play.write("second").press("Enter").write("third").press("Enter Esc");
    play.wishes();
    play.news(refused("no turn is running", "first"));
    let screen = play.screen();
    assert!(screen.contains("› first") && screen.contains("stopping"), "{screen}");
    assert!(screen.contains("not sent yet: third"), "{screen}");
    play.news(News::Started { session: session(), turn: 2 });
    assert_eq!(play.wishes(), "Interrupt\n");
}
