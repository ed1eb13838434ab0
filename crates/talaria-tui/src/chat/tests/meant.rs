//! Input answers only the question that it was begun for.

use talaria_core::request::{Decision, Question, Who};

use super::*;

fn closed(id: &str, decision: Decision) -> Event {
    Event::RequestClosed { id: TicketId::new(id), decision, by: Who::User, why: None }
}

#[test]
fn approving_by_command_needs_the_same_reading() {
    let mut play = play();
    play.running().asked("r-1", sample::ask_command(&"step\n".repeat(99))).settle();
    play.press("Ctrl-G").write("/approve").press("Enter");
    assert!(!play.wishes().contains("answer"));
    let mut play = super::play();
    play.running().asked("r-1", sample::ask_command("ls")).settle();
    play.press("Ctrl-G").write("/approve").press("Enter");
    assert!(play.wishes().contains("answer r-1"));
    let mut play = super::play();
    play.running().asked("r-1", sample::ask_command("ls")).press("Ctrl-G");
    play.write("/approve r-1").press("Enter");
    assert!(!play.wishes().contains("answer"), "it was not on the screen yet");
}

#[test]
fn a_command_answers_the_request_that_was_shown_when_it_was_begun_or_none() {
    for command in ["/approve", "/deny"] {
        let mut play = play();
        play.running()
            .asked("r-1", sample::ask_command("ls"))
            .asked("r-2", sample::ask_command("pwd"))
            .settle();
        play.press("Ctrl-G").write(command).event(closed("r-1", Decision::Accept)).settle().press("Enter");
        assert!(!play.wishes().contains("answer"), "{command}");
        assert!(play.screen().contains("not answered: another request appeared"), "{}", play.screen());
        play.press("Ctrl-G").write(command).press("Enter");
        assert!(play.wishes().contains("answer r-2"), "{command}");

        let mut play = super::play();
        play.running().write(command).asked("r-1", sample::ask_command("ls")).settle().press("Enter");
        assert!(!play.wishes().contains("answer"), "{command} was typed before there was a request");
    }
}

#[test]
fn the_rest_of_a_line_goes_nowhere_when_its_question_has_gone() {
    let mut play = play();
    play.running().asked("r-1", sample::ask_command("ls")).asked("r-2", sample::ask_command("pwd")).settle();
    play.press("r").settle().write("because of m");
    play.event(closed("r-1", Decision::Accept)).settle();
    play.write("y password").paste("hunter2").press("Enter");
    assert_eq!(play.wishes(), "");
    let screen = play.screen();
    assert!(!screen.contains("password") && !screen.contains("hunter2"), "{screen}");
    assert!(screen.contains("your draft answer was discarded"), "{screen}");
    play.settle().press("y");
    assert!(play.wishes().contains("answer r-2"), "the next line is heard again");
}

#[test]
fn a_secret_whose_question_has_gone_is_not_typed_into_the_input_line() {
    let mut play = play();
    let secret = Question { secret: true, ..sample::question("q", "Which token?", &[]) };
    play.running().asked("r-1", sample::ask_input(vec![secret])).settle();
    play.event(closed("r-1", Decision::Decline)).write("hunter2").press("Enter");
    assert_eq!(play.wishes(), "");
    assert!(!play.screen().contains("hunter2"));
}

#[test]
fn a_list_does_not_come_between_the_keys_of_a_line() {
    let mut play = play();
    let list = || News::Pick { title: "model".into(), rows: vec![("mini".into(), SlashCommand::Compact)] };
    play.write("fix ").news(list()).write("it").press("Enter");
    let wishes = play.wishes();
    assert!(wishes.contains("fix it") && !wishes.contains("Compact"), "{wishes}");
    play.news(list());
    assert!(play.screen().contains("model (1/1"), "{}", play.screen());
}

#[test]
fn what_is_meant_for_a_turn_begins_none_and_is_kept() {
    let mut play = play();
    play.write("/steer faster").press("Enter");
    assert_eq!(play.wishes(), "Remember(\"/steer faster\")\n", "no turn begins by itself");
    assert_eq!(play.rows_with("faster"), "› faster\n");
    assert!(play.screen().contains("no turn is running"), "{}", play.screen());
    play.press("Enter");
    assert!(play.wishes().starts_with("Send(PromptDraft { text: \"faster\""), "it stood in the input line");
}

#[test]
fn a_key_that_is_no_choice_does_nothing_and_a_word_is_for_the_input_line() {
    for key in ["q", "6", "0", "Ctrl-Y", "Alt-Y", "Ctrl-N", "Alt-A", "Tab", "Enter", "Backspace", "Up"] {
        let mut play = play();
        play.running().asked("r-1", sample::ask_command("ls")).settle();
        play.press(key);
        assert_eq!(play.wishes(), "", "{key}");
        play.wait(5000).wait(5000).draw();
        let screen = play.screen();
        assert!(screen.contains("The model asks to run a command"), "{key}: it is still asked");
        assert!(screen.contains("keys answer") && screen.contains("› say what to do"), "{key}: {screen}");
    }
    // A person who begins to write continues writing: a letter that would be a choice is one of the line.
    let mut play = play();
    play.running().asked("r-1", sample::ask_command("ls")).settle();
    play.write("quickly");
    assert_eq!((play.wishes(), play.rows_with("› quickly")), (String::new(), "› quickly\n".to_owned()));
}

#[test]
fn a_line_for_a_request_is_there_again_when_the_request_is_shown_again() {
    let mut play = play();
    play.running().asked("r-1", sample::ask_command("ls")).asked("r-2", sample::ask_command("pwd")).settle();
    play.press("r").settle().write("because of m").press("F2 Enter").settle();
    assert!(play.screen().contains("│ pwd"), "{}", play.screen());
    play.press("n");
    assert!(play.wishes().contains("answer r-2"));
    play.event(closed("r-2", Decision::Decline));
    assert!(play.rows_with("because of m").starts_with("tell the model why"), "{}", play.screen());
    play.settle().write("e").press("Enter");
    assert!(play.wishes().contains("\"reason\":\"because of me\""));
}

#[test]
fn a_line_for_a_request_that_gave_way_and_went_is_said_to_be_dropped() {
    let mut play = play();
    play.running().asked("r-1", sample::ask_command("ls")).asked("r-2", sample::ask_command("pwd")).settle();
    play.press("r").settle().write("because").press("F2 Enter").settle();
    play.event(closed("r-1", Decision::Accept));
    assert!(play.screen().contains("your draft answer was discarded"), "{}", play.screen());
    play.press("n");
    assert!(play.wishes().contains("answer r-2"), "the one that is shown has the keys");
}

#[test]
fn a_request_that_was_answered_and_gave_way_is_not_asked_again_before_the_answer_counts() {
    let mut play = play();
    play.running().asked("r-1", sample::ask_command("ls")).asked("r-2", sample::ask_command("pwd")).settle();
    play.press("y F2 Enter").settle().press("y");
    play.event(closed("r-2", Decision::Accept)).settle();
    assert!(play.screen().contains("your answer is on its way"), "{}", play.screen());
    play.news(News::Refused { what: "no".into(), prompt: None, ticket: Some(TicketId::new("r-1")) }).settle();
    play.wishes();
    play.press("n");
    assert!(play.wishes().contains("answer r-1"), "{}", play.screen());
}
