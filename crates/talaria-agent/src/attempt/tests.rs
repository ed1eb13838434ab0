//! Byte-level faults: the right end, with evidence, whatever the wire does.

use super::*;
use crate::profile::builtin_profile;

const SECOND: Duration = Duration::from_secs(1);

struct Play {
    attempt: ModelAttempt,
    seen: Vec<String>,
}

impl Play {
    fn new(provider: &str) -> Self {
        let attempt = ModelAttempt::new(Duration::ZERO, builtin_profile(provider).unwrap());
        Self { attempt, seen: Vec::new() }
    }

    fn accepted(provider: &str, status: u16) -> Self {
        let mut play = Self::new(provider);
        play.news(0, WireNews::Connecting);
        play.news(0, WireNews::Sent);
        let headers =
            vec![("x-request-id".to_owned(), "req_7".to_owned()), ("cf-ray".to_owned(), "abc".to_owned())];
        play.news(2, WireNews::Accepted { status, headers });
        play
    }

    fn news(&mut self, at: u32, news: WireNews) {
        let seen = &mut self.seen;
        self.attempt.handle(SECOND * at, &news, &mut |news| seen.push(line(&news)));
    }

    fn bytes(&mut self, at: u32, text: &str) {
        self.news(at, WireNews::Bytes(text.as_bytes().to_vec()));
    }

    fn tick(&mut self, at: u32) {
        let seen = &mut self.seen;
        self.attempt.tick(SECOND * at, &mut |news| seen.push(line(&news)));
    }

    fn end(&self) -> &str {
        self.seen.iter().find(|line| line.starts_with("ended")).map_or("", String::as_str)
    }
}

fn line(news: &AttemptNews<'_>) -> String {
    match news {
        AttemptNews::Step(AnswerStep::Text { piece, .. }) => format!("text {piece}"),
        AttemptNews::Step(AnswerStep::Done { item, .. }) => format!("done {:?}", item.item),
        AttemptNews::Step(AnswerStep::Corrupt { .. }) => "corrupt".to_owned(),
        AttemptNews::Step(step) => format!("step {step:?}"),
        AttemptNews::Ignored(what) => format!("ignored {what}"),
        AttemptNews::Close => "close".to_owned(),
        AttemptNews::Ended(AttemptEnd::Failed(failure)) => {
            format!("ended failed {} {}", failure.class, failure.text)
        }
        AttemptNews::Ended(end) => format!("ended {end:?}"),
    }
}

fn chat(content: &str) -> String {
    format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{content}\"}}}}]}}\n\n")
}

const FINISH: &str = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";

#[test]
fn stages_follow_the_wire_and_the_diary_has_the_causes() {
    let mut play = Play::new("kimi");
    assert_eq!(play.attempt.stage(), AttemptStage::Planned);
    play = Play::accepted("kimi", 200);
    assert_eq!(play.attempt.stage(), AttemptStage::Accepted);
    play.bytes(3, ": keep-alive\n\n");
    assert_eq!(play.attempt.stage(), AttemptStage::Accepted, "a comment is no word of the model");
    play.bytes(3, &chat("a"));
    assert_eq!(play.attempt.stage(), AttemptStage::Speaking);
    let diary = play.attempt.diary();
    assert_eq!(
        (diary.status, diary.request_id.as_deref(), diary.cf_ray.as_deref()),
        (Some(200), Some("req_7"), Some("abc"))
    );
    assert_eq!((diary.first_byte_ms, diary.events), (Some(2000), 1));
}

#[test]
fn the_end_of_the_connection_is_never_success() {
    for provider in ["kimi", "openai", "anthropic"] {
        let mut play = Play::accepted(provider, 200);
        play.news(3, WireNews::Eof);
        assert!(play.end().starts_with("ended Cut"), "{provider}: {:?}", play.seen);
    }
    let mut play = Play::accepted("kimi", 200);
    play.bytes(3, &chat("half"));
    play.news(4, WireNews::Broken(ModelFailure::transport(FailureClass::Transport, "connection reset")));
    assert_eq!(play.seen[2..], ["text half", "close", "ended Cut { why: \"connection reset\" }"]);
    let mut play = Play::accepted("kimi", 200);
    play.bytes(3, &(chat("a") + "data: [DONE]\n\n"));
    assert!(play.end().starts_with("ended Cut"), "[DONE] alone is no evidence");
}

#[test]
fn a_finished_chat_answer_waits_for_usage_and_not_for_ever() {
    let mut play = Play::accepted("kimi", 200);
    play.bytes(3, &(chat("a") + FINISH));
    assert_eq!(play.end(), "");
    assert_eq!(play.attempt.wake_at(), Some(SECOND * 8));
    play.tick(7);
    assert_eq!(play.end(), "");
    play.tick(8);
    assert_eq!(play.end(), "ended Completed(Finished)");
    let mut play = Play::accepted("kimi", 200);
    play.bytes(3, &(chat("a") + FINISH));
    play.news(4, WireNews::Broken(ModelFailure::transport(FailureClass::Transport, "reset")));
    assert_eq!(play.end(), "ended Completed(Finished)", "the provider had said how it ended");
}

#[test]
fn nothing_is_waited_for_after_a_terminal_event_and_what_follows_is_ignored_visibly() {
    let mut play = Play::accepted("openai", 200);
    let failed = "data: {\"type\":\"response.failed\",\"response\":{\"error\":{\"code\":\"slow_down\",\"message\":\"busy\"}}}\n\n";
    let completed = "data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\"}}\n\n";
    play.bytes(3, &[failed, completed, completed, "data: [DONE]\n\n"].concat());
    assert_eq!(
        play.seen,
        ["close", "ended failed overloaded busy", "ignored 2 events after the end of the answer"]
    );
    play.bytes(4, completed);
    play.news(5, WireNews::Eof);
    play.tick(10_000);
    assert_eq!(play.seen.len(), 3, "reported once: {:?}", play.seen);
    assert_eq!(play.attempt.wake_at(), None);
}

#[test]
fn pings_keep_the_connection_alive_and_not_the_model() {
    let mut play = Play::accepted("anthropic", 200);
    for at in (10..=290).step_by(10) {
        play.bytes(at, "event: ping\ndata: {\"type\":\"ping\"}\n\n: keep-alive\n\n");
        play.tick(at);
    }
    assert_eq!(play.end(), "");
    assert_eq!(play.attempt.wake_at(), Some(SECOND * 302));
    play.tick(302);
    assert!(play.end().contains("the model was silent for 300 s"), "{:?}", play.seen);
    let mut local = Play::accepted("ollama", 200);
    local.bytes(10, ": loading\n\n");
    local.tick(3000);
    assert_eq!(local.end(), "", "a server on this machine may take its time");
}

#[test]
fn a_silent_connection_is_cut_at_each_stage() {
    let mut sent = Play::new("kimi");
    sent.news(0, WireNews::Sent);
    sent.tick(299);
    assert_eq!(sent.end(), "");
    sent.tick(300);
    assert!(sent.end().contains("did not answer within 300 s"), "{:?}", sent.seen);
    let mut speaking = Play::accepted("kimi", 200);
    speaking.bytes(5, &chat("a"));
    speaking.tick(305);
    assert!(speaking.end().contains("silent for 300 s"), "{:?}", speaking.seen);
}

#[test]
fn a_refusal_is_classified_when_its_body_is_there_or_cut() {
    let body = r#"{"error":{"message":"no credit","code":"insufficient_quota"}}"#;
    for news in [WireNews::Eof, WireNews::Broken(ModelFailure::transport(FailureClass::Transport, "reset"))] {
        let mut play = Play::accepted("openai", 429);
        play.bytes(3, body);
        play.news(4, news);
        assert_eq!(play.end(), "ended failed quota no credit");
    }
    let mut empty = Play::accepted("openai", 503);
    empty.news(3, WireNews::Eof);
    assert_eq!(empty.end(), "ended failed overloaded status 503, without a reason");
    let mut endless = Play::accepted("openai", 500);
    for at in 3..10 {
        endless.bytes(at, &"x".repeat(100_000));
    }
    assert!(endless.end().starts_with("ended failed server"), "a refusal has a largest size");
}

#[test]
fn a_status_of_success_proves_nothing() {
    let mut page = Play::accepted("openai", 200);
    page.bytes(3, "<html><head><title>Sign in</title></head></html>");
    page.news(4, WireNews::Eof);
    assert_eq!(page.end(), "ended failed server an HTML page: Sign in");
    let mut error = Play::accepted("kimi", 200);
    error.bytes(3, "{\"error\":{\"message\":\"gone\",\"code\":\"model_not_found\"}}");
    error.news(4, WireNews::Eof);
    assert_eq!(error.end(), "ended failed model_gone gone");
    let mut whole = Play::accepted("kimi", 200);
    whole.bytes(3, "\n {\"choices\":[{\"message\":{\"content\":\"hi\"},");
    whole.bytes(4, "\"finish_reason\":\"stop\"}]}");
    whole.news(5, WireNews::Eof);
    assert_eq!(whole.end(), "ended Completed(Finished)");
    assert!(whole.seen.contains(&"text hi".to_owned()), "{:?}", whole.seen);
}

#[test]
fn a_cancel_closes_at_once_and_is_no_completion() {
    let mut play = Play::accepted("kimi", 200);
    play.bytes(3, &(chat("a") + FINISH));
    let seen = &mut play.seen;
    play.attempt.cancel(Who::User, &mut |news| seen.push(line(&news)));
    assert_eq!(play.seen[3..], ["close", "ended Cancelled { by: User }"]);
}

#[test]
fn a_half_event_at_the_end_is_corrupt_and_the_answer_is_cut() {
    let mut play = Play::accepted("kimi", 200);
    play.bytes(3, &(chat("a") + "data: {\"choices\":[{\"del"));
    play.news(4, WireNews::Eof);
    assert!(
        play.seen.contains(&"corrupt".to_owned()) && play.end().starts_with("ended Cut"),
        "{:?}",
        play.seen
    );
    let mut complete = Play::accepted("kimi", 200);
    complete.bytes(3, &(chat("a") + FINISH.trim_end()));
    complete.news(4, WireNews::Eof);
    assert_eq!(complete.end(), "ended Completed(Finished)", "the last event needs no empty line");
}
