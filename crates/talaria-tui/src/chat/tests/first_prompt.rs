//! The prompt of the command line is sent once, to the conversation that it is for, or stays in the input line.

use super::super::{Opens, PromptDraft};
use super::*;

fn opened(id: &str) -> News {
    let info = serde_json::from_value(serde_json::json!({ "id": id, "title": "t", "runtime": "codex",
        "updated_at": "2026-01-01T00:00:00Z", "running": false, "kind": "chat", "task": null, "cwd": "/home/me/project",
        "model": "gpt-5.5", "created_at": "2026-01-01T00:00:00Z", "last_seq": 0 }));
    News::Opened(Some(info.unwrap()))
}

fn prompt(text: &str) -> PromptDraft {
    PromptDraft { text: text.to_owned(), images: Vec::new() }
}

#[test]
fn images_of_the_command_line_go_with_its_prompt_or_wait_for_one() {
    let draft = |text: &str| PromptDraft { text: text.to_owned(), images: vec!["/w/a.png".to_owned()] };
    let mut play = play();
    play.chat.begin_with(play.now, draft("look"), Opens::Nothing);
    let sent = play.chat.wishes().into_iter().find_map(|wish| match wish {
        ChatEffect::Send(prompt) => Some(prompt),
        _ => None,
    });
    assert_eq!(sent, Some(PromptDraft { text: "look [image a.png]".to_owned(), ..draft("") }));
    let mut play = super::play();
    play.chat.begin_with(play.now, draft(""), Opens::Nothing);
    assert!(!play.wishes().contains("Send"), "there is nothing to say yet");
    assert!(play.screen().contains("› [image a.png]"), "{}", play.screen());
}

#[test]
fn it_begins_a_conversation_and_is_part_of_the_history() {
    for text in ["fix the test", "/status of the build", "!important: fix it", "two\nlines"] {
        let mut play = play();
        play.chat.begin_with(play.now, prompt(text), Opens::Nothing);
        let wishes = play.wishes();
        assert!(wishes.contains(&format!("Send(PromptDraft {{ text: {text:?}")), "{wishes}");
        assert!(wishes.contains("Remember("), "{wishes}");
        assert!(play.screen().contains("› say what to do"), "{}", play.screen());
    }
}

#[test]
fn it_waits_until_the_conversation_has_been_reported() {
    let mut play = play();
    play.chat.begin_with(play.now, prompt("go on"), Opens::Conversation);
    play.news(opened("s-1"));
    assert_eq!(play.wishes(), "");
    play.news(News::CaughtUp);
    assert!(play.wishes().contains("Send(PromptDraft { text: \"go on\""));
    play.news(News::CaughtUp);
    assert_eq!(play.wishes(), "", "once");
}

#[test]
fn it_is_never_sent_to_another_conversation() {
    for then in [opened("s-2"), News::Opened(None), News::Lost("gone".into())] {
        let mut play = play();
        play.chat.begin_with(play.now, prompt("go on"), Opens::Conversation);
        play.news(opened("s-1")).news(then).news(News::CaughtUp);
        assert_eq!((play.wishes(), play.rows_with("› go on")), (String::new(), "› go on\n".to_owned()));
    }
}

#[test]
fn what_is_being_typed_is_not_sent_with_it() {
    let mut play = play();
    play.chat.begin_with(play.now, prompt("go on"), Opens::Conversation);
    play.news(opened("s-1")).write("wait");
    play.wishes();
    play.news(News::CaughtUp);
    assert_eq!(play.wishes(), "");
    let screen = play.screen();
    assert!(screen.contains("› go on\n  wait"), "{screen}");
}
