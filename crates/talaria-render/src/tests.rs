//! Whole turns, as a person sees them.

use std::time::Duration;

use expect_test::expect;
use talaria_core::event::{Abandonment, Event, PlanStatus};
use talaria_core::ids::{ItemId, TicketId};
use talaria_core::item::{ItemBody, MessageQuestion, Status};
use talaria_core::request::{Decision, Who};

use super::screen::Screen;
use super::{Look, Renderer, TerminalRenderer, sample};
use crate::dialog::Dialog;

/// Renders events half a second apart; where it is live, everything is flushed and ticked in between.
pub(crate) fn rendered(look: Look, events: &[Event]) -> String {
    let mut bytes = Vec::new();
    let mut terminal = TerminalRenderer::new(&mut bytes, look);
    let mut now = Duration::ZERO;
    for event in events {
        terminal.event(now, event).unwrap();
        terminal.flush().unwrap();
        now += Duration::from_millis(500);
        terminal.tick(now).unwrap();
    }
    terminal.flush().unwrap();
    drop(terminal);
    String::from_utf8(bytes).unwrap()
}

/// The final screen on a terminal of 80 columns.
pub(crate) fn seen(events: &[Event]) -> String {
    let mut screen = Screen::new(80);
    screen.feed(&rendered(sample::TERMINAL, events));
    screen.text()
}

/// A turn with a bit of everything.
pub(crate) fn turn() -> Vec<Event> {
    vec![
        sample::session_started(),
        sample::turn_started(),
        sample::reasoning("r-1", "**Looking** at"),
        sample::reasoning("r-1", " the tests"),
        sample::began("m-1", sample::message_body("", Some("commentary"))),
        sample::text("m-1", "I will create"),
        sample::text("m-1", " a file."),
        sample::ended("m-1", sample::message_body("I will create a file.", Some("commentary"))),
        sample::plan(PlanStatus::InProgress),
        sample::plan(PlanStatus::InProgress),
        sample::began("c-1", sample::command_body("/bin/bash -lc 'touch x'", Status::InProgress, None, None)),
        sample::opened(sample::ask_command("/bin/bash -lc 'touch x'")),
        sample::closed(Decision::Accept, Who::Demo),
        sample::output("c-1", "made x\n"),
        sample::ended(
            "c-1",
            sample::command_body("/bin/bash -lc 'touch x'", Status::Completed, Some(0), Some("made x\n")),
        ),
        sample::began("p-1", sample::patch_body(Status::InProgress)),
        sample::opened(sample::ask_patch(Some(sample::changes()))),
        sample::closed(Decision::Accept, Who::User),
        sample::ended("p-1", sample::patch_body(Status::Completed)),
        sample::text("m-2", "All **do"),
        sample::text("m-2", "ne**:\n\n- `x` is the"),
        sample::text("m-2", "re\n"),
        sample::ended("m-2", sample::message_body("All **done**:\n\n- `x` is there\n", None)),
        sample::completed("All **done**:\n\n- `x` is there\n"),
    ]
}

#[test]
fn text_that_was_held_back_comes_before_the_notice_of_the_stop() {
    let mut bytes = Vec::new();
    let mut terminal = TerminalRenderer::new(&mut bytes, sample::PIPE);
    let stopping = Event::Interrupting { by: Who::User };
    let before = [sample::turn_started(), sample::text("m-1", "word1 "), stopping.clone()];
    let after = [sample::text("m-1", "wo"), sample::interrupted()];
    for event in before.iter().chain(&after) {
        terminal.event(Duration::ZERO, event).unwrap();
        terminal.flush().unwrap();
    }
    // No event arrives: silence is still reported, once.
    terminal.event(Duration::ZERO, &stopping).unwrap();
    for milliseconds in [100, 400, 500] {
        terminal.tick(Duration::from_millis(milliseconds)).unwrap();
    }
    drop(terminal);
    expect![[r#"
        word1 wo

        stopping …

        interrupted by you
        tokens: 9.6k in (4.8k cached), 12 out, 0.0s

        stopping …
    "#]]
    .assert_eq(&String::from_utf8(bytes).unwrap());
}

#[test]
fn a_turn_in_a_pipe_is_plain_text() {
    expect![[r#"
        model     gpt-5.5 (high), provider openai, Codex 0.166.0
        cwd       /home/me/project
        sandbox   workspace-write, approval on-request

        ┆ **Looking** at the tests

        · I will create a file.

        plan
        two things
        ◐ look
        ☐ leap

        • touch x

        ? The model asks to run a command
          │ touch x
          shell   /bin/bash -lc
          in      /home/me/project
          reason  may I?
                  sure
          note    Codex asks when it wants to leave the sandbox (workspace-write): if you accept, the command may run outside it, with all your rights
        → accepted automatically by the demo: this is not a terminal

        ✓ touch x  (0.4s)
          made x

        ? The model asks to change 3 files
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
          note    accepting also makes /etc writable for the rest of the session
        → accepted by you

        ✓ src/a.rs (+2 −1), notes.md (new, +2), gone.txt (deleted, −1)

        All **done**:

        - `x` is there

        tokens: 9.6k in (4.8k cached), 12 out, 11.0s
    "#]].assert_eq(&rendered(sample::PIPE, &turn()));
}

#[test]
fn a_turn_on_a_terminal_leaves_no_trace_of_drafts_and_spinners() {
    expect![[r#"
        model     gpt-5.5 (high), provider openai, Codex 0.166.0
        cwd       /home/me/project
        sandbox   workspace-write, approval on-request

        ┆ Looking at the tests

        I will create a file.

        plan
        two things
        ◐ look
        ☐ leap

        ? The model asks to run a command
          │ touch x
          shell   /bin/bash -lc
          in      /home/me/project
          reason  may I?
                  sure
          note    Codex asks when it wants to leave the sandbox (workspace-write): if
                  you accept, the command may run outside it, with all your rights
        → accepted automatically by the demo: this is not a terminal

        ✓ touch x  (0.4s)
          made x

        ? The model asks to change 3 files
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
          note    accepting also makes /etc writable for the rest of the session
        → accepted by you

        ✓ src/a.rs (+2 −1), notes.md (new, +2), gone.txt (deleted, −1)

        All done:

        • x is there

        tokens: 9.6k in (4.8k cached), 12 out, 11.0s
    "#]]
    .assert_eq(&seen(&turn()));
}

#[test]
fn looks_are_escape_sequences_of_the_plainest_kind() {
    let look = Look { live: false, ..sample::TERMINAL };
    let events = [
        sample::reasoning("r-1", "hm"),
        sample::text("m-1", "# Head\n**bold** `code`"),
        sample::ended("c-1", sample::command_body("false", Status::Failed, Some(1), Some("no"))),
        sample::ended("p-1", sample::patch_body(Status::Completed)),
        sample::failed(),
    ];
    expect![[r#"
        ␛[2;3m┆ ␛[0m␛[2;3mhm␛[0m

        ␛[1;4mHead␛[0m
        ␛[1mbold␛[0m ␛[36mcode␛[0m

        ␛[31m✗␛[0m false  ␛[2mexit 1 (0.4s)␛[0m
        ␛[2m  no␛[0m

        ␛[1m✎␛[0m ␛[1msrc/a.rs (+2 −1)␛[0m
          ␛[36m@@ -1,3 +1,4 @@␛[0m
          ␛[2m fn a() {␛[0m
          ␛[31m-    old();␛[0m
          ␛[32m+    new();␛[0m
          ␛[32m+    newer();␛[0m
          ␛[2m }␛[0m
        ␛[1m✎␛[0m ␛[1mnotes.md (new, +2)␛[0m
          ␛[32m+# Notes␛[0m
          ␛[32m+    tabbed␛[0m
        ␛[1m✎␛[0m ␛[1mgone.txt (deleted, −1)␛[0m
          ␛[31m-bye␛[0m

        ␛[1;31merror: ␛[0mthe turn failed (rate_limit)
        ␛[1mcause: ␛[0m429 Too Many Requests
        ␛[1mhint: ␛[0mwait a little, then send the prompt again
        ␛[2mtokens: 9.6k in (4.8k cached), 12 out␛[0m
    "#]]
    .assert_eq(&rendered(look, &events).replace('\x1b', "␛"));
}

#[test]
fn a_turn_that_is_left_leaves_no_draft() {
    let mut bytes = Vec::new();
    let mut terminal = TerminalRenderer::new(&mut bytes, sample::TERMINAL);
    terminal.event(Duration::ZERO, &sample::turn_started()).unwrap();
    terminal.event(Duration::ZERO, &sample::text("m", "half a **sent")).unwrap();
    terminal.tick(Duration::from_secs(9)).unwrap();
    terminal.close().unwrap();
    drop(terminal);
    let mut screen = Screen::new(80);
    screen.feed(&String::from_utf8(bytes).unwrap());
    assert_eq!(screen.text(), "half a **sent\n");
}

#[test]
fn our_own_signs_can_be_ascii() {
    let look = Look { unicode: false, ..sample::PIPE };
    let text =
        rendered(look, &[sample::plan(PlanStatus::Completed), sample::opened(sample::ask_command("ls"))]);
    assert!(text.is_ascii(), "{text}");
}

#[test]
fn what_the_model_asks_in_passing_stands_below_its_message() {
    let question = |title: &str, options: &[&str]| MessageQuestion {
        title: title.into(),
        options: options.iter().map(|&option| option.into()).collect(),
    };
    let questions = vec![question("Which one?", &["red", "blue"]), question("Why?\nReally?", &[])];
    let body = ItemBody::AgentMessage { text: "I go on.".into(), phase: None, questions };
    let text = rendered(sample::PIPE, &[sample::turn_started(), sample::ended("m-1", body)]);
    expect![[r#"
        I go on.

        ? Which one? (red / blue)
        ? Why?␊Really?
    "#]]
    .assert_eq(&text);
}

#[test]
fn everything_else_gets_a_line() {
    expect![[r#"
        ✓ docs.search  (1m 01s)
        step: newKind
        ↻ retrying: Reconnecting… 1/5
        warning: careful
        stopping …
        sent to the running turn
        Codex sent a request that this version does not know, and was refused: item/new/thing
        warning: Codex sent 7 bytes that are not a message: not UTF-8
        ✓ desk.close  (0.0s)
        ✗ close  failed (0.0s)
        • agents: spawnAgent (1)  stopped
        agent /root/two (gpt-5.5): started
        ✓ search the web: rust / serde
        ✓ search the web: rust
        ✓ open https://example.org
        ✓ find fn␊main in https://example.org
        ✓ view /w/a.png
        ✓ generate an image: a cat in /w/cat.png
        ✗ generate an image: a cat  usageLimitExceeded
        ✓ wait 1.5s
        a hook said: be␊kind
        output of f␛
        review begins: the changes
        review ended
        you shortened the conversation with /compact: 96.2k → about 6.9k tokens in context
        ✗ apply␛_patch  failed: no␊such ␛[31mline

        interrupted by you
        tokens: 9.6k in (4.8k cached), 12 out
    "#]]
    .assert_eq(&rendered(sample::PIPE, &sample::one_of_each()[15..]));
}

#[test]
fn messages_of_one_turn_are_separated_and_the_completed_text_wins() {
    let events = [
        sample::text("a", "first"),
        sample::text("b", "second, as stre"),
        sample::ended("b", sample::message_body("second, after a retry", None)),
        sample::ended("a", sample::message_body("first and its end", None)),
        sample::ended("c", sample::message_body("never streamed", None)),
    ];
    expect![[r#"
        first

        second, as stre

        Codex replaced the message above with this one:

        second, after a retry

        … and its end

        never streamed
    "#]]
    .assert_eq(&rendered(sample::PIPE, &events));
}

#[test]
fn a_spinner_shows_what_runs_and_is_gone_while_a_person_is_asked() {
    let mut bytes = Vec::new();
    let mut terminal = TerminalRenderer::new(&mut bytes, sample::TERMINAL);
    let second = Duration::from_secs(1);
    let command = || sample::command_body("make", Status::InProgress, None, None);
    terminal.event(second, &sample::turn_started()).unwrap();
    terminal.event(second, &sample::began("c-1", command())).unwrap();
    terminal.event(second, &sample::output("c-1", "[1/9] a.o\n")).unwrap();
    terminal.tick(4 * second).unwrap();
    terminal.event(5 * second, &sample::opened(sample::ask_command("make"))).unwrap();
    terminal.prompt(&sample::ticket(), &Dialog::new(sample::ask_command("make"))).unwrap();
    terminal.prompt_read();
    terminal.tick(6 * second).unwrap();
    drop(terminal);
    let text = String::from_utf8(bytes).unwrap();
    let (before, asked) = text.split_once("? The model asks").unwrap();
    assert!(before.contains("⠋ running  make  3s  [1/9] a.o"), "{before:?}");
    assert!(!asked.contains("running"), "{asked:?}");
    assert!(asked.ends_with("no, stop the turn: "), "{asked:?}");
}

/// The spinner a while after a request about `make` was closed; the answer took fifty seconds.
fn after_the_answer(decision: Decision, by: Who) -> String {
    let mut bytes = Vec::new();
    let mut terminal = TerminalRenderer::new(&mut bytes, sample::TERMINAL);
    let second = Duration::from_secs(1);
    let command = sample::command_body("make", Status::InProgress, None, None);
    terminal.event(second, &sample::turn_started()).unwrap();
    terminal.event(second, &sample::began("c-1", command)).unwrap();
    terminal.event(second, &sample::opened(sample::ask_command("make"))).unwrap();
    terminal.event(51 * second, &sample::closed(decision, by)).unwrap();
    terminal.tick(53 * second).unwrap();
    drop(terminal);
    String::from_utf8(bytes).unwrap()
}

#[test]
fn the_time_that_a_person_takes_to_approve_is_not_running_time() {
    for (decision, by) in [(Decision::Accept, Who::User), (Decision::AcceptAlways, Who::Rule)] {
        let text = after_the_answer(decision, by);
        assert!(text.contains("running  make  2s"), "{text:?}");
    }
}

#[test]
fn a_step_that_was_not_accepted_is_never_shown_as_running() {
    for decision in [Decision::Decline, Decision::Cancel, Decision::Void] {
        let text = after_the_answer(decision, Who::User);
        assert!(!text.contains("running") && text.contains("working  52s"), "{text:?}");
    }
}

#[test]
fn a_rule_that_decides_does_not_hide_that_another_question_is_open() {
    let mut bytes = Vec::new();
    let mut terminal = TerminalRenderer::new(&mut bytes, sample::TERMINAL);
    let second = Duration::from_secs(1);
    terminal.event(second, &sample::turn_started()).unwrap();
    terminal.event(second, &sample::opened(sample::ask_command("make"))).unwrap();
    let (id, why) = (TicketId::new("req-ffffffffffff"), Some("allow make".to_owned()));
    let closed = Event::RequestClosed { id, decision: Decision::Accept, by: Who::Rule, why };
    terminal.event(second, &closed).unwrap();
    terminal.tick(5 * second).unwrap();
    drop(terminal);
    let text = String::from_utf8(bytes).unwrap();
    assert!(!text.contains("working"), "{text:?}");
}

#[test]
fn a_step_without_an_end_is_named() {
    let events = [
        sample::began("c-2", sample::command_body("sleep 9", Status::InProgress, None, None)),
        Event::ItemAbandoned { item: ItemId::new("c-2"), why: None },
    ];
    assert_eq!(rendered(sample::PIPE, &events), "• sleep 9\nsleep 9  no end reported\n");
    let why = Some(Abandonment::NotRun);
    let [began, _] = events;
    let events = [began, Event::ItemAbandoned { item: ItemId::new("c-2"), why }];
    assert_eq!(rendered(sample::PIPE, &events), "• sleep 9\nsleep 9  did not run\n");
}

#[test]
fn a_turn_whose_beginning_was_not_seen_is_given_no_length_but_its_own() {
    let Event::Outcome(report) = sample::completed("done") else { panic!("no outcome") };
    let shown = |took| {
        let mut bytes = Vec::new();
        let mut terminal = TerminalRenderer::new(&mut bytes, sample::PIPE);
        terminal.ended(&report, took).and_then(|()| terminal.flush()).unwrap();
        drop(terminal);
        String::from_utf8(bytes).unwrap()
    };
    assert!(shown(Some(Duration::from_secs(19))).ends_with("out, 19.0s\n"));
    assert!(shown(None).ends_with("out\n"));
}

#[test]
fn a_question_is_shown_again_when_another_came_after_it() {
    let mut bytes = Vec::new();
    let mut terminal = TerminalRenderer::new(&mut bytes, Look { color: false, ..sample::TERMINAL });
    let (first, second) = (sample::ask_command("first"), sample::ask_command("second"));
    terminal.event(Duration::ZERO, &sample::opened(first.clone())).unwrap();
    let id = TicketId::new("req-2");
    terminal
        .event(Duration::ZERO, &Event::RequestOpened { id, ask: Box::new(second), place: None, digest: None })
        .unwrap();
    for _ in 0..2 {
        terminal.prompt(&sample::ticket(), &Dialog::new(first.clone())).unwrap();
        terminal.prompt_read();
    }
    drop(terminal);
    let text = String::from_utf8(bytes).unwrap();
    let titles: Vec<&str> = text.lines().filter_map(|line| line.trim().strip_prefix("│ ")).collect();
    assert_eq!(titles, ["first", "second", "first"], "{text}");
    assert_eq!(text.matches("[y]").count(), 2, "{text}");
}

#[test]
fn a_question_is_covered_when_another_one_closes_below_its_choices() {
    let mut bytes = Vec::new();
    let mut terminal = TerminalRenderer::new(&mut bytes, Look { color: false, ..sample::TERMINAL });
    let (first, second) = (sample::ask_command("first"), sample::ask_command("second"));
    let other = TicketId::new("req-2");
    terminal.event(Duration::ZERO, &sample::opened(first.clone())).unwrap();
    terminal.prompt(&sample::ticket(), &Dialog::new(first.clone())).unwrap();
    assert!(!terminal.is_prompt_covered());
    terminal
        .event(
            Duration::ZERO,
            &Event::RequestOpened { id: other.clone(), ask: Box::new(second), place: None, digest: None },
        )
        .unwrap();
    assert!(terminal.is_prompt_covered());
    terminal.prompt(&sample::ticket(), &Dialog::new(first.clone())).unwrap();
    let closed = Event::RequestClosed { id: other, decision: Decision::Void, by: Who::Codex, why: None };
    terminal.event(Duration::ZERO, &closed).unwrap();
    assert!(terminal.is_prompt_covered());
    terminal.prompt(&sample::ticket(), &Dialog::new(first.clone())).unwrap();
    // Once is enough, also when time passes and when a line was no answer.
    assert!(!terminal.is_prompt_covered());
    terminal.tick(Duration::from_secs(9)).unwrap();
    terminal.prompt_read();
    assert!(!terminal.is_prompt_covered());
    drop(terminal);
    let text = String::from_utf8(bytes).unwrap();
    let (_, below) = text.split_once("no longer open: it was closed before it was answered\n").unwrap();
    assert_eq!(below.matches("? The model asks").count(), 1, "{text}");
    assert!(below.contains("│ first\n") && below.ends_with("no, stop the turn: "), "{text}");
}

#[test]
fn another_model_gets_one_line_and_the_same_one_none() {
    let confirmed = |model: &str, effort: Option<&str>| Event::SettingsConfirmed {
        model: model.to_owned(),
        effort: effort.map(str::to_owned),
    };
    let events = [
        sample::session_started(),
        confirmed("gpt-5.5", Some("high")),
        confirmed("gpt-6-sol", Some("low")),
        confirmed("gpt-6-sol", Some("low")),
        confirmed("gpt-6-sol", None),
    ];
    expect![[r#"
        model     gpt-5.5 (high), provider openai, Codex 0.166.0
        cwd       /home/me/project
        sandbox   workspace-write, approval on-request

        model gpt-6-sol (low)
        model gpt-6-sol
    "#]]
    .assert_eq(&rendered(sample::PIPE, &events));
}
