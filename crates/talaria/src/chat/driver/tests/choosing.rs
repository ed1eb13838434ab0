//! Commands queued after a choice never run in another state.

use super::*;
use crate::chat::errand::Choice;

/// Whether the news returns this input.
fn gives_back(news: &News, text: &str) -> bool {
    matches!(news, News::Refused { prompt: Some(back), .. } if *back == prompt(text))
}

fn choose(driver: &mut Driver, command: SlashCommand) {
    driver.wish(ChatEffect::Run(command));
    assert!(driver.is_choosing);
    told(driver);
}

fn model() -> SlashCommand {
    SlashCommand::Model(vec!["m".to_owned()])
}

#[tokio::test]
async fn what_waits_behind_a_choice_is_not_done_when_the_person_stops_it() {
    let (mut driver, _home) = driver(None).await;
    choose(&mut driver, model());
    driver.wish(ChatEffect::Shell("make clean".to_owned()));
    assert!(driver.is_shell_running(), "Ctrl-C is for it");
    driver.wish(ChatEffect::StopShell);
    let news = told(&mut driver);
    assert!(
        matches!(&news[..], [News::ShellEnded { note: Some(note), .. }] if note.starts_with("not run")),
        "{news:?}"
    );
    for stop in [ChatEffect::Interrupt, ChatEffect::Run(SlashCommand::Stop)] {
        driver.wish(ChatEffect::Send(prompt("one")));
        driver.wish(ChatEffect::Run(SlashCommand::Queue("two".to_owned())));
        driver.wish(stop);
        let news = told(&mut driver);
        let is_back = |news: &[News]| gives_back(&news[0], "two") && gives_back(&news[1], "one");
        assert!(news.len() == 2 && is_back(&news), "{news:?}");
    }
    let pending_wishes = driver.pending_wishes.names();
    driver.done(Done::ChoiceMade(Choice::Made));
    assert!(told(&mut driver).is_empty() && driver.shell.is_none());
    assert_eq!(driver.pending_wishes.names(), pending_wishes, "nothing was begun");
}

#[tokio::test]
async fn leaving_reports_everything_that_waited_for_a_choice() {
    let (mut driver, _home) = driver(None).await;
    driver.is_choosing = true;
    let queue = ChatEffect::Run(SlashCommand::Queue("two".to_owned()));
    for wish in [
        ChatEffect::Send(prompt("one")),
        queue,
        ChatEffect::Run(SlashCommand::Compact),
        ChatEffect::Shell("ls".to_owned()),
    ] {
        driver.wish(wish);
    }
    let left = driver.leave_within(Duration::ZERO).await;
    assert!(left.refused.is_empty());
    assert_eq!(left.unconfirmed, ["your message", "/compact", "your shell command"]);
}

#[tokio::test]
async fn a_shell_command_behind_a_choice_that_is_refused_at_the_last_moment_is_named() {
    let (mut driver, _home) = driver(None).await;
    driver.is_choosing = true;
    let _open = driver.pending_wishes.begin(Some("your choice".to_owned()));
    driver.wish(ChatEffect::Shell("ls".to_owned()));
    driver.teller.send(Done::ChoiceMade(Choice::Refused)).await.unwrap();
    let left = driver.leave_within(Duration::from_millis(50)).await;
    assert_eq!(left.refused, ["the shell command was not run"]);
}

#[tokio::test]
async fn a_running_turn_is_stopped_while_a_choice_is_being_made() {
    let (mut driver, _home) = driver(Some(conversation())).await;
    choose(&mut driver, model());
    driver.wish(ChatEffect::Run(SlashCommand::Stop));
    assert!(driver.after_choice.is_empty());
    assert!(driver.pending_wishes.names().iter().any(|name| name == errand::STOP));
}

#[tokio::test]
async fn words_behind_a_refused_choice_go_to_no_conversation() {
    let task = SlashCommand::Task("watch codex-1".to_owned());
    for choice in [model(), SlashCommand::Resume(Some("typo".to_owned())), task] {
        let (mut driver, _home) = driver(Some(conversation())).await;
        choose(&mut driver, choice);
        driver.wish(ChatEffect::Send(prompt("one")));
        driver.wish(ChatEffect::Run(SlashCommand::Compact));
        driver.wish(ChatEffect::Say(prompt("two"), When::Now));
        let pending_wishes = driver.pending_wishes.names();
        driver.done(Done::ChoiceMade(Choice::Refused));
        let news = told(&mut driver);
        assert!(gives_back(&news[0], "two") && gives_back(&news[2], "one"), "{news:?}");
        assert!(matches!(&news[1], News::Refused { what, .. } if what.starts_with("/compact was not run")));
        assert_eq!(driver.pending_wishes.names(), pending_wishes, "nothing was begun");
        assert!(driver.is_choice_refused());
    }
}

#[tokio::test]
async fn words_behind_a_further_choice_are_meant_for_that_one() {
    let (mut driver, _home) = driver(Some(conversation())).await;
    choose(&mut driver, SlashCommand::Resume(Some("typo".to_owned())));
    driver.wish(ChatEffect::Send(prompt("old")));
    driver.wish(ChatEffect::Run(SlashCommand::New));
    driver.wish(ChatEffect::Send(prompt("new")));
    driver.done(Done::ChoiceMade(Choice::Refused));
    let news = told(&mut driver);
    assert!(gives_back(&news[0], "old") && matches!(news[1], News::Opened(None)), "{news:?}");
    assert!(!news.iter().any(|news| gives_back(news, "new")) && driver.is_beginning);
}
