//! Screens, as text: every kind of cell, in short and unfolded, in windows of several sizes.

use expect_test::expect;
use serde_json::value::RawValue;
use talaria_core::event::{AgentPhase, PlanStatus, Usage};
use talaria_core::ids::{ItemId, ThreadId};
use talaria_core::item::{Attachment, Author, Item, ItemBody, Status, ToolResult};
use talaria_core::outcome::{Outcome, Report};
use talaria_core::request::{Decision, Who};

use super::*;
use talaria_render::{Style, sample};

const NO_COLOR: Look = Look { color: false, width: None, live: true, unicode: true };
const ASCII: Look = Look { unicode: false, ..NO_COLOR };
const ANSWER: &str = "## Done\n\nIt was `x`, **as you said**:\n\n- one\n- two\n\n```rust\nfn main() {\n    go(1);\n}\n```\n\
    | a | b |\n|---|---|\n| 1 | 2 |\n\n> quoted\n";

fn person(text: &str) -> Event {
    let attachments = vec![Attachment { kind: "image".into(), name: Some("/tmp/a.png".into()) }];
    sample::ended(
        "u",
        ItemBody::UserMessage { text: text.into(), attachments, client_id: None, author: Author::Person },
    )
}

fn tool(status: Status, result: Option<&str>) -> ItemBody {
    let text = result.map(str::to_owned);
    ItemBody::Tool {
        server: "docs".into(),
        tool: "search".into(),
        status,
        arguments: Some(RawValue::from_string(r#"{"words":"how to leap"}"#.into()).unwrap()),
        result: text.map(|text| ToolResult { text: Some(text), images: 1, other: 0 }),
        duration_ms: result.map(|_| 1500),
        error: None,
    }
}

fn agents(status: Status) -> ItemBody {
    ItemBody::Agents {
        action: "spawnAgent".into(),
        status,
        threads: vec![ThreadId::new("th-abcdef")],
        prompt: Some("look at the tests".into()),
        model: None,
        effort: None,
        agents: Vec::new(),
    }
}

/// A turn in which everything happens, up to the beginning of the answer.
fn work() -> Vec<Event> {
    let output: String = (1..=20).map(|n| format!("line {n}\n")).collect();
    let thread = ThreadId::new("th-abcdef");
    vec![
        sample::session_started(),
        sample::turn_started(),
        person("Please leap.\nBut look first."),
        sample::reasoning("r", "**Looking around**\n\nThere is a lot to see."),
        sample::plan(PlanStatus::InProgress),
        sample::began("c", sample::command_body("/bin/bash -lc 'make test'", Status::InProgress, None, None)),
        sample::output("c", "line 1\nline 2\n"),
        sample::opened(sample::ask_command("make test")),
        sample::closed(Decision::AcceptForSession, Who::User),
        sample::ended("c", sample::command_body("make test", Status::Failed, Some(2), Some(&output))),
        sample::began("p", sample::patch_body(Status::InProgress)),
        sample::ended("p", sample::patch_body(Status::Completed)),
        sample::began("t", tool(Status::InProgress, None)),
        Event::ToolProgress { item: ItemId::new("t"), message: "half way".into() },
        sample::ended("t", tool(Status::Completed, Some("a\nb\nc\nd\ne"))),
        sample::began("a", agents(Status::InProgress)),
        Event::AgentUpdated { thread: thread.clone(), phase: AgentPhase::Running },
        Event::AgentItemCompleted {
            thread: thread.clone(),
            item: Box::new(Item {
                id: ItemId::new("x"),
                body: sample::command_body("ls", Status::Completed, Some(0), None),
            }),
        },
        Event::AgentUpdated { thread, phase: AgentPhase::Completed },
        sample::ended("a", agents(Status::Completed)),
        Event::Compacted,
        Event::Retrying { message: "1/5".into() },
        sample::unknown(r#"{"method":"item/new/thing"}"#),
        sample::unknown(r#"{"method":"item/new/thing"}"#),
        sample::plan(PlanStatus::Completed),
    ]
}

fn whole() -> Vec<Event> {
    let mut events = work();
    events.extend([
        sample::text("m", ANSWER),
        sample::ended("m", sample::message_body(ANSWER, None)),
        sample::completed(ANSWER),
    ]);
    events
}

#[test]
fn a_turn_in_short_and_unfolded() {
    let mut transcript = fed(NO_COLOR, &numbered(1, whole()));
    expect![[r#"
        model     gpt-5.5 (high), provider openai, Codex 0.166.0
        cwd       /home/me/project
        sandbox   workspace-write, approval on-request

        ▌ Please leap.
        ▌ But look first.
        ▌ [image a.png]

        ┆ Looking around (Ctrl-O)

        plan
        two things
        ☑ look
        ☐ leap

        ✗ make test  exit 2 (0.4s)
          … 15 more lines (Ctrl-O)
          line 16
          line 17
          line 18
          line 19
          line 20
        ? make test
          → accepted for this session by you

        ✓ src/a.rs (+2 −1)
          @@ -1,3 +1,4 @@
           fn a() {
          -    old();
          +    new();
          +    newer();
           }
        ✓ notes.md (new, +2)
          +# Notes
          +    tabbed
        ✓ gone.txt (deleted, −1)
          -bye

        ✓ docs.search  (1.5s)
          {"words":"how to leap"}
          a
          b
          c
          … 3 more lines (Ctrl-O)
        ✓ agents: spawnAgent (1)
          look at the tests
          └ agent abcdef is done: ls
        the conversation was shortened
        ↻ retrying: 1/5
        Codex sent a message that this version does not know: item/new/thing (×2)

        Done

        It was x, as you said:

        • one
        • two

          fn main() {
              go(1);
          }
        a │ b
        ──┼──
        1 │ 2

        │ quoted

        tokens: 9.6k in (4.8k cached), 12 out, 26.0s
    "#]]
    .assert_eq(&screen(&mut transcript, 80, 200));
    transcript.toggle_fold(Fold::All);
    expect![[r#"
        model     gpt-5.5 (high), provider openai, Codex 0.166.0
        cwd       /home/me/project
        sandbox   workspace-write, approval on-request

        ▌ Please leap.
        ▌ But look first.
        ▌ [image a.png]

        ┆ Looking around
        ┆
        ┆ There is a lot to see.

        plan
        two things
        ☑ look
        ☐ leap

        ✗ make test  exit 2 (0.4s)
          line 1
          line 2
          line 3
          line 4
          line 5
          line 6
          line 7
          line 8
          line 9
          line 10
          line 11
          line 12
          line 13
          line 14
          line 15
          line 16
          line 17
          line 18
          line 19
          line 20
        ? make test
          → accepted for this session by you

        ✓ src/a.rs (+2 −1)
          @@ -1,3 +1,4 @@
           fn a() {
          -    old();
          +    new();
          +    newer();
           }
        ✓ notes.md (new, +2)
          +# Notes
          +    tabbed
        ✓ gone.txt (deleted, −1)
          -bye

        ✓ docs.search  (1.5s)
          {"words":"how to leap"}
          a
          b
          c
          d
          e
          [images: 1]
        ✓ agents: spawnAgent (1)
          look at the tests
          └ agent abcdef is done
              ls
        the conversation was shortened
        ↻ retrying: 1/5
        Codex sent a message that this version does not know: item/new/thing (×2)

        Done

        It was x, as you said:

        • one
        • two

          fn main() {
              go(1);
          }
        a │ b
        ──┼──
        1 │ 2

        │ quoted

        tokens: 9.6k in (4.8k cached), 12 out, 26.0s
    "#]]
    .assert_eq(&screen(&mut transcript, 80, 200));
}

#[test]
fn windows_of_all_sizes() {
    let mut transcript = fed(NO_COLOR, &numbered(1, whole()));
    expect![[r#"
        ✓ agents: spawnAgent (1)
          look at the tests
          └ agent abcdef is done: ls
        the conversation was shortened
        ↻ retrying: 1/5
        Codex sent a message that this version does not know: item/new/thing (×2)

        Done

        It was x, as you said:

        • one
        • two

          fn main() {
              go(1);
          }
        a │ b
        ──┼──
        1 │ 2

        │ quoted

        tokens: 9.6k in (4.8k cached), 12 out, 26.0s
    "#]]
    .assert_eq(&screen(&mut transcript, 80, 24));
    expect![[r#"

        • one
        • two

          fn main() {
              go(1);
          }
        a │ b
        ──┼──
        1 │ 2

        │ quoted
    "#]]
    .assert_eq(&screen(&mut transcript, 40, 12));
    expect![[r#"
        a │ b
        ──┼──
        1 │ 2

        │ quoted
    "#]]
    .assert_eq(&screen(&mut transcript, 20, 5));
    transcript.scroll(Scroll::Up(9));
    expect![[r#"
        It was x, as you
        said:

        • one
        • two
    "#]]
    .assert_eq(&screen(&mut transcript, 20, 5));
    transcript.scroll(Scroll::Top);
    expect![[r#"
        model     gpt-5.5 (high), provider
                  openai, Codex 0.166.0
        cwd       /home/me/project
        sandbox   workspace-write, approval
                  on-request

        ▌ Please leap.
        ▌ But look first.
        ▌ [image a.png]

        ┆ Looking around (Ctrl-O)

    "#]]
    .assert_eq(&screen(&mut transcript, 40, 12));
}

#[test]
fn our_own_signs_can_be_ascii() {
    let mut transcript = fed(ASCII, &numbered(1, whole()));
    let text = screen(&mut transcript, 60, 200);
    assert!(text.is_ascii(), "{text}");
    expect![[r#"
        model     gpt-5.5 (high), provider openai, Codex 0.166.0
        cwd       /home/me/project
        sandbox   workspace-write, approval on-request

        > Please leap.
        > But look first.
        > [image a.png]

        : Looking around (Ctrl-O)

        plan
        two things
        [x] look
        [ ] leap

        x make test  exit 2 (0.4s)
          ... 15 more lines (Ctrl-O)
          line 16
          line 17
          line 18
          line 19
          line 20
        ? make test
          -> accepted for this session by you

        + src/a.rs (+2 -1)
          @@ -1,3 +1,4 @@
           fn a() {
          -    old();
          +    new();"#]]
    .assert_eq(&text.lines().take(30).collect::<Vec<_>>().join("\n"));
}

#[test]
fn what_runs_shows_its_time_and_its_last_lines() {
    let running = sample::command_body("make test", Status::InProgress, None, None);
    let mut events = vec![sample::turn_started(), sample::began("c", running)];
    let output: String = (1..=9).map(|n| format!("line {n}\n")).collect();
    events.extend([
        sample::output("c", &output),
        sample::output("c", "10%\r20%\r"),
        sample::began("t", tool(Status::InProgress, None)),
        Event::ToolProgress { item: ItemId::new("t"), message: "half\nway".into() },
        sample::began("p", sample::patch_body(Status::InProgress)),
        sample::opened(sample::ask_command("rm \u{202e}x")),
    ]);
    let mut transcript = fed(NO_COLOR, &numbered(1, events));
    let first = screen(&mut transcript, 60, 40);
    expect![[r#"
        ⠋ make test  8s
          … 5 more lines (Ctrl-O)
          line 6
          line 7
          line 8
          line 9
          20%
        ⠋ docs.search  5s
          {"words":"how to leap"}
          half␊way

        ⠋ changing src/a.rs (+2 −1), notes.md (new, +2), gone.t…  3s

        ? waiting for an answer: rm ⟨U+202E⟩x
    "#]]
    .assert_eq(&first);
    let later = transcript.view(60, 40, Duration::from_secs(70));
    assert!(later.again && text(&later).contains("make test  1m 08s"), "{}", text(&later));
    // The turn ends, and nothing says that these have.
    let mut end = numbered(9, vec![sample::interrupted()]);
    end[0].turn = Some(1);
    feed(&mut transcript, &end);
    expect![[r#"
        • make test  no end reported
          … 5 more lines (Ctrl-O)
          line 6
          line 7
          line 8
          line 9
          20%
        • docs.search  no end reported
          {"words":"how to leap"}
          half␊way

        • src/a.rs (+2 −1), notes.md (new, +2), g…  no end reported
          … 9 more lines (Ctrl-O)

        ? rm ⟨U+202E⟩x
          → no answer was seen before the turn ended

        interrupted by you
        tokens: 9.6k in (4.8k cached), 12 out, 8.0s
    "#]]
    .assert_eq(&screen(&mut transcript, 60, 40));
    assert!(!transcript.is_running());
}

#[test]
fn an_answer_half_way_is_formatted_already() {
    let half = &ANSWER[..ANSWER.find("(1)").unwrap()];
    let mut transcript = fed(NO_COLOR, &numbered(1, vec![sample::turn_started(), sample::text("m", half)]));
    expect![[r#"
        Done

        It was x, as you said:

        • one
        • two

          fn main() {
              go
    "#]]
    .assert_eq(&screen(&mut transcript, 40, 20));
}

#[test]
fn an_image_that_the_text_names_is_named_once() {
    let image = |path: &str| Attachment { kind: "image".into(), name: Some(path.into()) };
    let body = ItemBody::UserMessage {
        text: "compare [image a.png] with [image a.png 2]".into(),
        attachments: vec![image("/v/a.png"), image("/w/a.png"), image("/w/b.png")],
        client_id: None,
        author: Author::Person,
    };
    let events = numbered(1, vec![sample::turn_started(), sample::began("u", body)]);
    let mut transcript = fed(NO_COLOR, &events);
    transcript.said("and [image c.png]?", &["/w/c.png".to_owned()]);
    expect![[r#"
        ▌ compare [image a.png] with [image a.png 2]
        ▌ [image b.png]

        ▌ and [image c.png]?
        ▌ not confirmed yet
    "#]]
    .assert_eq(&screen(&mut transcript, 60, 12));
}

#[test]
fn what_was_typed_stays_below_until_it_is_confirmed() {
    let events = numbered(1, vec![sample::turn_started(), person("hello"), sample::text("m", "hi")]);
    let mut transcript = fed(NO_COLOR, &events[..1]);
    transcript.said("hello", &["/tmp/a.png".to_owned()]);
    transcript.said("and more", &[]);
    transcript.said("never taken", &[]);
    transcript.take_back("never taken");
    transcript.note(Note::new(Tone::Warn, "the engine is away"));
    expect![[r#"
        the engine is away

        ▌ hello
        ▌ [image a.png]
        ▌ not confirmed yet

        ▌ and more
        ▌ not confirmed yet
    "#]]
    .assert_eq(&screen(&mut transcript, 40, 12));
    feed(&mut transcript, &events[1..]);
    expect![[r#"
        the engine is away

        ▌ hello
        ▌ [image a.png]

        hi

        ▌ and more
        ▌ not confirmed yet
    "#]]
    .assert_eq(&screen(&mut transcript, 40, 14));
}

#[test]
fn code_gets_its_colours_when_they_are_there() {
    let text = "```rust\nfn main() {}\n```\n";
    let body = sample::message_body(text, None);
    let mut transcript = fed(sample::TERMINAL, &numbered(1, vec![sample::ended("m", body.clone())]));
    let styles = |view: &View| -> Vec<(String, Style)> {
        let spans = view.lines.iter().flat_map(|line| line.spans.clone());
        spans.map(|span| (span.text, span.style)).filter(|(text, _)| !text.trim().is_empty()).collect()
    };
    let cyan = Style::PLAIN.color(talaria_render::Color::Cyan);
    assert_eq!(styles(&view(&mut transcript, 40, 5)), [("fn main() {}".to_owned(), cyan)]);
    transcript.use_syntaxes(Arc::new(Highlighter::load()));
    let seen = styles(&view(&mut transcript, 40, 5));
    let magenta = Style::PLAIN.color(talaria_render::Color::Magenta);
    assert_eq!(seen[0], ("fn".to_owned(), magenta), "{seen:?}");
    // At another width it is the same text with the same colours.
    let narrow = styles(&view(&mut transcript, 8, 5));
    assert_eq!(narrow[0], ("fn".to_owned(), magenta), "{narrow:?}");
    let told: String = narrow.iter().map(|(text, _)| text.replace(' ', "")).collect();
    assert_eq!(told, "fnmain(){}", "{narrow:?}");
    // Without colours there are none.
    let mut transcript = fed(NO_COLOR, &numbered(1, vec![sample::ended("m", body)]));
    transcript.use_syntaxes(Arc::new(Highlighter::load()));
    assert!(styles(&view(&mut transcript, 40, 5)).iter().all(|(_, style)| *style == Style::PLAIN));
}

#[test]
fn one_thing_can_be_unfolded() {
    let output: String = (1..=9).map(|n| format!("line {n}\n")).collect();
    let body = |line: &str| sample::command_body(line, Status::Completed, Some(0), Some(&output));
    let events = vec![sample::ended("a", body("first")), sample::ended("b", body("second"))];
    let mut transcript = fed(NO_COLOR, &numbered(1, events));
    screen(&mut transcript, 40, 40);
    transcript.toggle_fold(Fold::Next);
    expect![[r#"
        ✓ first  (0.4s)
          … 4 more lines (Ctrl-O)
          line 5
          line 6
          line 7
          line 8
          line 9
        ✓ second  (0.4s)
          line 1
          line 2
          line 3
          line 4
          line 5
          line 6
          line 7
          line 8
          line 9
    "#]]
    .assert_eq(&screen(&mut transcript, 40, 40));
    transcript.toggle_fold(Fold::Next);
    assert!(screen(&mut transcript, 40, 40).starts_with("✓ first  (0.4s)\n  line 1\n"));
    transcript.toggle_fold(Fold::Next);
    assert_eq!(screen(&mut transcript, 40, 40).matches("line 1\n").count(), 0);
}

#[test]
fn another_model_is_told_once_when_codex_says_so() {
    let confirmed =
        |model: &str| Event::SettingsConfirmed { model: model.into(), effort: Some("high".into()) };
    let mut events = vec![whole().remove(0)];
    events.extend(["gpt-x", "gpt-x", "gpt-y"].map(confirmed));
    let screen = screen(&mut fed(sample::TERMINAL, &numbered(1, events)), 60, 10);
    assert_eq!(screen.matches("model gpt-x (high)").count(), 1, "{screen}");
    assert_eq!(screen.matches("model gpt-y (high)").count(), 1, "{screen}");
}

#[test]
fn in_a_narrow_window_what_was_said_is_not_pushed_out_by_what_it_cost() {
    let report = |outcome| Report::new(outcome, None, Usage::default(), 0);
    let events = |outcome| {
        let said = ItemBody::AgentMessage { text: "Hello.".into(), phase: None, questions: Vec::new() };
        let events = vec![sample::ended("a", said), Event::Outcome(Box::new(report(outcome)))];
        numbered(1, events)
    };
    let done = events(Outcome::Completed);
    assert_eq!(screen(&mut fed(NO_COLOR, &done), 20, 5).trim(), "Hello.");
    assert!(screen(&mut fed(NO_COLOR, &done), 80, 5).contains("tokens:"));
    let stopped = events(Outcome::Interrupted { by: Who::User });
    assert!(screen(&mut fed(NO_COLOR, &stopped), 20, 5).contains("interrupted"), "that is news");
}
