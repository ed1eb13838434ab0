//! Requests: their display, and which keys answer.

use expect_test::expect;
use talaria_core::api::TaskCounts;
use talaria_core::request::{Decision, Who};

use super::*;

fn closed(id: &str, decision: Decision) -> Event {
    Event::RequestClosed { id: TicketId::new(id), decision, by: Who::User, why: None }
}

#[test]
fn a_request_is_shown_whole_and_answered_with_one_key_and_the_digest_of_what_is_shown() {
    let mut play = play();
    play.running().asked("r-1", sample::ask_command("rm -rf build \u{202e}; ls")).settle();
    expect![[r#"
        model     gpt-5.5 (high), provider openai, Codex 0.166.0
        cwd       ~/project
        sandbox   workspace-write, approval on-request

        ? waiting for an answer: rm -rf build ⟨U+202E⟩; ls

        ▌ go
        ▌ not confirmed yet

        ? The model asks to run a command
          │ rm -rf build ⟨U+202E⟩; ls
          in      /home/me/project
          reason  may I?
                  sure
          note    Codex asks when it wants to leave the sandbox (workspace-write): if
                  you accept, the command may run outside it, with all your rights
          1 [y] yes, once
          2 [s] yes, for this session
          3 [n] no, continue
          4 [r] no, and say why
          5 [x] no, stop the turn
        ── keys answer, or arrows and Enter; Ctrl-G: input line ────────────────────────
        › say what to do   / commands   @ files   ! shell
        ? waiting for you · codex·gpt-5.5·high · workspace-write/on-request
    "#]]
    .assert_eq(&play.screen());
    play.press("y");
    expect![[r#"
        answer r-1 {"decision":"accept","reason":null,"content":{"kind":"nothing"}} [digest of r-1]
    "#]]
    .assert_eq(&play.wishes());
    assert!(play.screen().contains("your answer is on its way"));
    play.press("y n");
    assert_eq!(play.wishes(), "", "an answer is given once");
    assert!(play.screen().contains("› yn"), "until it counts, keys are for the input line");
    play.event(closed("r-1", Decision::Accept));
    let screen = play.screen();
    assert!(!screen.contains("on its way") && !screen.contains("elsewhere"), "{screen}");
}

#[test]
fn every_choice_has_its_key() {
    let told = ["y", "s", "a", "n", "x"].map(|key| {
        let mut play = play();
        play.running().asked("r-1", sample::ask_wide_command("/etc/x")).settle();
        play.press("Down").settle().press(key);
        format!("{key}: {}", play.wishes())
    });
    expect![[r#"
        y: answer r-1 {"decision":"accept","reason":null,"content":{"kind":"nothing"}} [digest of r-1]
        s: answer r-1 {"decision":"accept_for_session","reason":null,"content":{"kind":"nothing"}} [digest of r-1]
        a: answer r-1 {"decision":"accept_always","reason":null,"content":{"kind":"nothing"}} [digest of r-1]
        n: answer r-1 {"decision":"decline","reason":null,"content":{"kind":"nothing"}} [digest of r-1]
        x: answer r-1 {"decision":"cancel","reason":null,"content":{"kind":"nothing"}} [digest of r-1]
    "#]].assert_eq(&told.concat());
}

#[test]
fn a_no_may_have_a_reason() {
    let mut play = play();
    play.running().asked("r-1", sample::ask_command("ls")).settle();
    play.press("r").write("not now, y");
    expect![[r#"
        tell the model why (empty line: back): not now, y
    "#]]
    .assert_eq(&play.rows_with("not now"));
    play.press("Enter");
    expect![[r#"
        answer r-1 {"decision":"decline","reason":"not now, y","content":{"kind":"nothing"}} [digest of r-1]
    "#]]
    .assert_eq(&play.wishes());
}

#[test]
fn what_is_being_typed_never_answers() {
    let mut play = play();
    play.running().write("you").asked("r-1", sample::ask_command("ls")).settle();
    expect![[r#"
        Ctrl-G answers it; keys go to the input line
    "#]]
    .assert_eq(&play.rows_with("Ctrl-G"));
    play.write("y").press("Enter").settle().write("y");
    assert!(!play.wishes().contains("answer"), "the line keeps the keyboard, also when it was sent");
    play.press("Ctrl-G y");
    expect![[r#"
        answer r-1 {"decision":"accept","reason":null,"content":{"kind":"nothing"}} [digest of r-1]
    "#]]
    .assert_eq(&play.wishes());
    assert!(play.screen().contains("› y"), "what was typed stays");
}

#[test]
fn a_letter_that_comes_with_the_request_goes_to_the_input_line() {
    let mut play = play();
    play.running().asked("r-1", sample::ask_command("ls"));
    play.write("y");
    assert_eq!(play.wishes(), "", "it was not on the screen yet");
    let mut play = super::play();
    play.running().asked("r-1", sample::ask_command("ls"));
    play.screen();
    play.wait(499).write("yes");
    assert_eq!(play.wishes(), "");
    assert!(play.screen().contains("› yes"));
    play.wait(5000).write("y");
    assert_eq!(play.wishes(), "");
    play.press("Ctrl-G y");
    assert!(play.wishes().contains("answer r-1"));
}

#[test]
fn a_request_whose_frame_was_not_written_was_not_seen() {
    let mut play = play();
    play.running().asked("r-1", sample::ask_command("ls"));
    play.chat.frame(80, 24, play.now);
    play.wait(1000).press("Ctrl-G Ctrl-G y");
    assert_eq!(play.wishes(), "");
    play.settle().press("y");
    assert!(play.wishes().contains("answer r-1"));
}

#[test]
fn after_one_answer_the_same_key_does_not_answer_the_next_request() {
    let mut play = play();
    play.running().asked("r-1", sample::ask_command("ls")).asked("r-2", sample::ask_command("pwd")).settle();
    play.press("y").event(closed("r-1", Decision::Accept));
    play.screen();
    play.press("y");
    let wishes = play.wishes();
    assert!(wishes.contains("answer r-1") && !wishes.contains("answer r-2"), "{wishes}");
    assert!(play.screen().contains("pwd"));
}

#[test]
fn a_paste_never_answers() {
    let mut play = play();
    play.running().asked("r-1", sample::ask_command("ls")).settle();
    play.paste("y");
    assert_eq!(play.wishes(), "");
    assert!(play.screen().contains("› y"));
}

#[test]
fn the_keys_work_while_the_conversation_is_scrolled() {
    let mut play = play();
    play.running();
    for line in 0..60 {
        play.event(sample::ended(&format!("m{line}"), sample::message_body(&format!("answer {line}"), None)));
    }
    play.asked("r-1", sample::ask_command("ls")).settle();
    play.press("PageUp PageUp").settle();
    assert!(!play.screen().contains("answer 59"));
    assert!(play.screen().contains("[y] yes, once"));
    play.press("y");
    assert!(play.wishes().contains("answer r-1"));
}

#[test]
fn a_patch_is_shown_as_a_diff() {
    let mut play = play();
    play.running().asked("r-1", sample::ask_patch(Some(sample::changes()))).settle();
    expect![[r#"

        ? waiting for an answer: apply_patch: 1 add, 1 delete, 1 update: src/a.rs, note…

        ▌ go
        ▌ not confirmed yet
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
        [y] yes, once  [s] yes, for this session  [n] no, continue
        [r] no, and say why  [x] no, stop the turn:
        ── keys answer, or arrows and Enter; Ctrl-G: input line ────────────────────────
        › say what to do   / commands   @ files   ! shell
        ? waiting for you · codex·gpt-5.5·high · workspace-write/on-request
    "#]]
    .assert_eq(&play.screen());
}

#[test]
fn files_are_named_as_seen_from_where_the_conversation_works() {
    let mut changes = sample::changes();
    changes[0].path = "/home/me/project/src/a.rs".into();
    changes[1].path = "/etc/notes.md".into();
    let mut play = play();
    play.running().asked("r-1", sample::ask_patch(Some(changes))).settle();
    let screen = play.screen();
    for row in ["✎ src/a.rs (+2 −1)", "✎ /etc/notes.md (new, +2)", "  in      /home/me/project"] {
        assert!(screen.contains(row), "{row}\n{screen}");
    }
}

#[test]
fn an_address_is_shown_and_only_the_person_says_that_it_was_visited() {
    let mut play = play();
    play.running().asked("r-1", sample::ask_url("")).settle();
    assert!(play.screen().contains("https://example.org/"));
    expect![[r#"
        1 [y] done
    "#]]
    .assert_eq(&play.rows_with("[y]"));
    play.press("y");
    assert!(play.wishes().contains("answer r-1"));
}

#[test]
fn questions_of_the_model_take_numbers_and_text() {
    let questions = vec![
        sample::question("colour", "Which colour?", &["Red", "Blue"]),
        sample::question("name", "Whose?", &[]),
    ];
    let mut play = play();
    play.running().asked("r-1", sample::ask_input(questions)).settle();
    expect![[r#"
        model     gpt-5.5 (high), provider openai, Codex 0.166.0
        cwd       ~/project
        sandbox   workspace-write, approval on-request

        ? waiting for an answer: Which colour? / Whose?

        ▌ go
        ▌ not confirmed yet


        ? The model asks you 2 things
          │ Head: Which colour?
          │ [1] Red: about Red
          │ [2] Blue: about Blue
          │ Head: Whose?
          note    without your answer the model continues
          │ Head: Which colour?
          │ [1] Red: about Red
          │ [2] Blue: about Blue
        [1-2] your answer  [o] something else  [n] no, continue  [r] no, and say why
        [x] no, stop the turn:
        ── keys answer, or arrows and Enter; Ctrl-G: input line ────────────────────────
        › say what to do   / commands   @ files   ! shell
        ? waiting for you · codex·gpt-5.5·high · workspace-write/on-request
    "#]]
    .assert_eq(&play.screen());
    play.press("2").write("Ada").press("Enter");
    expect![[r#"
        answer r-1 {"decision":"accept","reason":null,"content":{"kind":"answers","given":{"colour":["Blue"],"name":["Ada"]}}} [digest of r-1]
    "#]].assert_eq(&play.wishes());
}

#[test]
fn secrets_of_a_form_are_not_seen() {
    let mut play = play();
    play.running().asked("r-1", sample::ask_form("")).settle();
    play.press("y");
    let entries = ["Ada", "37", "", "", "", "1", "2"];
    for entry in entries {
        play.write(entry).press("Enter");
    }
    play.write("hunter2");
    let screen = play.screen();
    assert!(screen.contains("your entry") && !screen.contains("hunter2"), "{screen}");
    assert!(!format!("{:?}", play.chat).contains("hunter2"));
    play.press("Enter");
    assert!(play.wishes().contains("answer r-1"));
}

#[test]
fn what_is_written_while_the_panel_has_the_keys_goes_to_the_input_line_from_its_first_letter_on() {
    for text in ["/new", "/status", "@src", "wait a moment, yes"] {
        let mut play = play();
        play.running().asked("r-1", sample::ask_command("ls")).settle();
        play.wishes();
        play.write(text);
        assert!(!play.wishes().contains("answer"), "{text}");
        assert!(play.screen().contains(&format!("› {text}")), "{text}: {}", play.screen());
    }
}

#[test]
fn a_request_that_a_list_named_before_older_turns_were_told_is_shown() {
    let mut play = play();
    play.running();
    let request = RequestInfo { session: session(), task: None, ..of_task("r-1", "x") };
    play.news(News::Waiting { requests: vec![request], tasks: TaskCounts::default(), background: 0 });
    play.event(sample::completed("an older turn"));
    play.event(sample::turn_started());
    play.asked("r-1", sample::ask_command("ls -la")).settle();
    assert!(play.screen().contains("keys answer"), "{}", play.screen());
}

#[test]
fn a_request_of_a_sub_agent_says_whose_it_is() {
    let mut play = play();
    let mut ask = sample::ask_command("ls");
    if let Ask::Command { thread, .. } = &mut ask {
        *thread = talaria_core::ids::ThreadId::new("th-\u{1b}child");
    }
    play.running().asked("r-1", ask).settle();
    assert_eq!(play.rows_with("A request from"), "A request from the sub-agent ␛child\n");
    play.press("n").event(Event::RequestClosed {
        id: TicketId::new("r-1"),
        decision: Decision::Decline,
        by: Who::User,
        why: None,
    });
    play.asked("r-2", sample::ask_command("pwd")).settle();
    assert!(play.screen().contains("│ pwd"), "{}", play.screen());
    assert_eq!(play.rows_with("A request from"), "");
}
