//! `talaria requests`: what waits for a person, and the answer, from any terminal.

use std::io::Read;

use jiff::Timestamp;
use talaria_core::api::{AnswerRequest, Answered, ProblemCode, RequestInfo, RequestState};
use talaria_core::next_step::NextStep;
use talaria_core::request::{Answer, Ask, Typed, Who, Wish};
use talaria_server::client::{Client, ClientError};

use crate::advice::Reader;
use crate::amounts::ago;
use crate::args::{AnswerOptions, Requests, RequestsAction};
use crate::engine::{self, not_done, refused};
use crate::look;
use crate::output::{encoded, print};
use crate::progress::with_progress;
use crate::sessions::json_lines;
use crate::settings::Settings;
use crate::trouble::{Trouble, complain, exit};
use talaria_render::question::QuestionContext;
use talaria_render::sheet::Sheet;
use talaria_render::{Look, Paint, StyledText, about};

pub(crate) mod build;
mod person;

/// The longest answers that are read from standard input.
const ANSWERS_LIMIT: u64 = 1024 * 1024;

pub(crate) async fn run(options: &Requests) -> Result<u8, Trouble> {
    let settings = Settings::load()?.accept()?;
    let client = engine::reach(&settings.home).await?;
    match &options.action {
        RequestsAction::List { json } => {
            let requests = with_progress("asking the engine", client.requests()).await;
            let requests = requests.map_err(|error| refused("cannot list requests", &error))?;
            print(&match (*json, requests.is_empty()) {
                (true, _) => json_lines(&requests),
                (false, true) => "no open requests\n".to_owned(),
                (false, false) => {
                    encoded(&open_requests(&requests, Timestamp::now(), look::of_stdout(), Reader::Shell))
                }
            })?;
        }
        RequestsAction::Show { request, json } => {
            let request = find("cannot show this request", &client, request).await?;
            print(&if *json {
                json_lines(&[request])
            } else {
                encoded(&shown(&request, look::of_stdout()))
            })?;
        }
        RequestsAction::Answer(options) => answer(&client, options).await?,
    }
    Ok(0)
}

/// What waits for a person, as a table, with the command that answers.
pub(crate) fn open_requests(
    requests: &[RequestInfo],
    now: Timestamp,
    look: Look,
    reader: Reader,
) -> StyledText {
    let first = requests.first().map(|request| request.id.to_string()).unwrap_or_default();
    let read = reader.says(&NextStep::ReadRequest { request: first.clone() });
    let answer = reader.says(&NextStep::AnswerRequest { request: first });
    table(requests, now, look).show(look) + format!("read it whole with: {read}\nanswer with: {answer}\n")
}

/// What waits for a person.
pub(crate) fn table(requests: &[RequestInfo], now: Timestamp, look: Look) -> Sheet {
    let mut sheet = Sheet::new(&["request", "kind", "asked", "for", "about"], "about").to_be_read();
    for request in requests {
        let whose =
            request.task.as_deref().unwrap_or_else(|| look::session_id(&request.session, look)).to_owned();
        sheet.row([
            request.id.to_string(),
            request.kind.clone(),
            ago(request.since, now),
            whose,
            about(request.ask.as_ref(), &request.summary).into_owned(),
        ]);
    }
    sheet
}

/// A request as a person reads it before the answer: the whole question, whose it is, and its state.
fn shown(request: &RequestInfo, look: Look) -> StyledText {
    let question = question(request, look);
    let question =
        question.unwrap_or_else(|| format!("this request cannot be shown: {}\n", request.summary).into());
    let whose = request.task.as_deref().unwrap_or_else(|| request.session.short());
    let asked = ago(request.since, Timestamp::now());
    let standing = standing(request, Timestamp::now());
    question + format!("{}, asked {asked} in {whose}: {standing}\n", request.id)
}

/// State of a request: the decision, its author and time, and whether Codex has the answer.
pub(crate) fn standing(request: &RequestInfo, now: Timestamp) -> String {
    let decision = request.decision.map_or_else(|| "answered".to_owned(), |decision| decision.to_string());
    let by = request.answered_by.as_deref().map(|by| format!(" by {}", answerer(by))).unwrap_or_default();
    let at = request.answered_at.map(|at| format!(" {}", ago(at, now))).unwrap_or_default();
    let decided = format!("{decision}{by}{at}");
    match request.state {
        RequestState::Open => "open".to_owned(),
        RequestState::Void => "closed before it was answered here".to_owned(),
        RequestState::Delivered => decided,
        RequestState::Answered | RequestState::Delivering => {
            format!("{decided}; Codex has not confirmed the answer yet")
        }
        RequestState::Escrowed => {
            format!("{decided}; Codex ended before it received the answer, which is kept until it asks again")
        }
        RequestState::Undelivered => format!("{decided}; it is not known whether Codex received the answer"),
        RequestState::Expired => format!("{decided}; the answer expired before Codex asked again"),
    }
}

/// Who answered, from what the engine wrote down: a word for who, then from where.
fn answerer(by: &str) -> String {
    let word = by.split_once(" (").map_or(by, |(word, _)| word);
    let who: Result<Who, _> = serde_json::from_value(word.into());
    who.map_or_else(|_| word.to_owned(), |who| who.to_string())
}

/// The whole question, exactly as the chat shows it; `None` if what is asked is not known.
pub(crate) fn question(request: &RequestInfo, look: Look) -> Option<StyledText> {
    // The settings in force at the request are unknown here.
    let rules = QuestionContext { sandbox: "", approval: "", place: request.place, cwd: "" };
    Some(talaria_render::question::show(request.ask.as_ref()?, Paint::new(look), look.width, rules))
}

async fn answer(client: &Client, options: &AnswerOptions) -> Result<(), Trouble> {
    let request = find("the answer was not accepted", client, &options.request).await?;
    if !options.json {
        complain(&shown(&request, Look { color: false, live: false, ..look::of_stdout() }).text());
    }
    // The answer is bound to what was shown: the engine refuses it for a question that changed meanwhile.
    let answer = decide(&request, options).await?;
    let sent = AnswerRequest { answer: answer.revealed(), by: Who::User, digest: request.digest.clone() };
    let answered = with_progress("answering", client.answer(request.id.as_str(), &sent)).await;
    let answered = answered.map_err(|error| not_answered(&error))?;
    print(&if options.json { json_lines(&[answered]) } else { words(&answered) })
}

/// Whether this id matches a beginning or an end.
fn is_named(id: &str, typed: &str) -> bool {
    !typed.is_empty() && (id.starts_with(typed) || id.ends_with(typed))
}

/// Finds a request by its id, or an open one by a unique beginning or end of it. `what` is what cannot be done without it.
pub(crate) async fn find(what: &str, client: &Client, id: &str) -> Result<RequestInfo, Trouble> {
    let error = match client.request(id).await {
        Ok(request) => return Ok(request),
        Err(error) => error,
    };
    let is_unknown = matches!(&error, ClientError::Problem(problem) if problem.code == ProblemCode::Unknown);
    let open = if is_unknown { client.requests().await.unwrap_or_default() } else { Vec::new() };
    let matching: Vec<RequestInfo> =
        open.into_iter().filter(|request| is_named(request.id.as_str(), id)).collect();
    match &matching[..] {
        [] => Err(not_found(what, &error)),
        [one] => client.request(one.id.as_str()).await.map_err(|error| not_found(what, &error)),
        several => {
            let names: Vec<&str> = several.iter().map(|request| request.id.as_str()).collect();
            Err(Trouble::new(exit::USAGE, format!("{id} matches more than one request"))
                .try_this(format!("one of {}", names.join(", "))))
        }
    }
}

/// An answer did not reach the engine, or was refused. If the connection broke, the engine may have it.
pub(crate) fn not_answered(error: &ClientError) -> Trouble {
    let what = "the answer was not accepted";
    match error {
        ClientError::Broken(_) => not_done(what, error, NextStep::ListRequests),
        error => not_found(what, error),
    }
}

fn not_found(what: &str, error: &ClientError) -> Trouble {
    let trouble = refused(what, error);
    match error.next_step() {
        Some(_) => trouble,
        None => trouble.try_this(NextStep::ListRequests),
    }
}

fn words(answered: &Answered) -> String {
    format!("{}: {}\n", answered.id, answered.decision)
}

/// The answer from the command line, or from the person where it needs more than that says.
async fn decide(request: &RequestInfo, options: &AnswerOptions) -> Result<Answer, Trouble> {
    let typed = Typed {
        decision: options.verdict.into(),
        reason: options.reason.clone(),
        answers: options.answers.as_deref().map(read_answers).transpose()?,
    };
    let needs_more = typed.decision.is_yes()
        && typed.answers.is_none()
        && matches!(&request.ask, Some(Ask::Input { .. } | Ask::Elicitation { wish: Wish::Form(_), .. }));
    match &request.ask {
        Some(ask) if needs_more => match person::ask(request, ask).await? {
            Some(answer) => Ok(answer),
            // A form without a field that must be filled in can be sent as it is.
            None => build::answer(request.ask.as_ref(), typed),
        },
        ask => build::answer(ask.as_ref(), typed),
    }
}

/// Answers on the command line are visible in the list of processes: secrets come through standard input.
fn read_answers(text: &str) -> Result<serde_json::Value, Trouble> {
    let mut piped = String::new();
    let text = if text == "-" {
        let read = std::io::stdin().lock().take(ANSWERS_LIMIT).read_to_string(&mut piped);
        read.map_err(|error| Trouble::new(exit::USAGE, "cannot read the answers").because(error))?;
        &piped
    } else {
        text
    };
    serde_json::from_str(text).map_err(|error| {
        // Only the position: the text may contain a secret.
        Trouble::new(exit::USAGE, "the answers are not JSON")
            .because(format!("line {}, column {}", error.line(), error.column()))
            .try_this(build::EXAMPLE)
    })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;
    use unicode_width::UnicodeWidthStr;

    use super::*;

    const SESSION: &str = "01a1e82b-49c1-77ee-b68a-0a1fd979af82";

    fn request(id: &str, task: Option<&str>, command: &str) -> RequestInfo {
        let ask = json!({ "kind": "command", "thread": "t", "item": "i", "approval": null, "command": command,
            "cwd": null, "reason": null, "permissions": null, "always": null });
        serde_json::from_value(json!({ "id": id, "session": SESSION, "task": task, "kind": "command",
            "summary": command, "since": "2026-01-01T00:00:00Z", "state": "open", "ask": ask }))
        .unwrap()
    }

    fn shown(requests: &[RequestInfo], width: usize) -> String {
        let look = Look { color: false, width: Some(width), live: true, unicode: true };
        let text = table(requests, "2026-01-01T00:01:00Z".parse().unwrap(), look).show(look).text();
        assert!(text.lines().all(|line| line.width() <= width), "{width}:\n{text}");
        text
    }

    #[test]
    fn a_request_says_what_was_decided_by_whom_and_whether_codex_has_it() {
        let mut request = request("req-bb2db58a5365", None, "true");
        let now = "2026-01-01T00:01:00Z".parse().unwrap();
        assert_eq!(standing(&request, now), "open");
        request.answered_by = Some("user (person:unknown, a terminal (process 23))".to_owned());
        request.answered_at = Some("2026-01-01T00:00:30Z".parse().unwrap());
        request.decision = Some(talaria_core::request::Decision::Decline);
        let told = |state| standing(&RequestInfo { state, ..request.clone() }, now);
        assert_eq!(told(RequestState::Delivered), "declined by you 30 seconds ago");
        assert_eq!(
            told(RequestState::Answered),
            "declined by you 30 seconds ago; Codex has not confirmed the answer yet"
        );
        assert_eq!(
            told(RequestState::Undelivered),
            "declined by you 30 seconds ago; it is not known whether Codex received the answer"
        );
        assert_eq!(told(RequestState::Void), "closed before it was answered here");
    }

    #[test]
    fn an_answer_whose_connection_broke_is_not_said_to_be_refused() {
        let broken = not_answered(&ClientError::Broken("closed".to_owned()));
        assert!(
            broken
                .summary()
                .starts_with("the connection dropped; the request may or may not have been applied"),
            "{broken:?}"
        );
        let gone = not_found("cannot show this request", &ClientError::Stopped);
        assert!(gone.summary().starts_with("cannot show this request: "), "{gone:?}");
    }

    #[test]
    fn a_list_says_what_would_run_at_every_width() {
        let push = "/bin/bash -lc 'cargo test --locked && git push origin HEAD:main'";
        let requests = [
            request("req-bb2db58a5365", None, push),
            request("req-0a1b2c3d4e5f", Some("codex-1a2b3c4d5e6f"), "/bin/bash -lc 'cargo clean'"),
        ];
        expect![[r#"
            REQUEST           KIND     ASKED         FOR                 ABOUT
            req-bb2db58a5365  command  1 minute ago  d979af82            cargo test --locked && git push origin
                                                                         HEAD:main
            req-0a1b2c3d4e5f  command  1 minute ago  codex-1a2b3c4d5e6f  cargo clean
        "#]]
        .assert_eq(&shown(&requests, 100));
        expect![[r#"
            REQUEST           KIND     ASKED         FOR                 ABOUT
            req-bb2db58a5365  command  1 minute ago  d979af82            cargo test --locked
                                                                         && git push origin
                                                                         HEAD:main
            req-0a1b2c3d4e5f  command  1 minute ago  codex-1a2b3c4d5e6f  cargo clean
        "#]]
        .assert_eq(&shown(&requests, 80));
        expect![[r#"
            request: req-bb2db58a5365
            kind: command
            asked: 1 minute ago
            for: d979af82
            about: cargo test --locked && git push
              origin HEAD:main
            ────────────────────────
            request: req-0a1b2c3d4e5f
            kind: command
            asked: 1 minute ago
            for: codex-1a2b3c4d5e6f
            about: cargo clean
        "#]]
        .assert_eq(&shown(&requests, 40));
        expect![[r#"
            REQUEST           KIND     ASKED         FOR                 ABOUT
            req-0a1b2c3d4e5f  command  1 minute ago  codex-1a2b3c4d5e6f  cargo clean
        "#]]
        .assert_eq(&shown(&requests[1..], 80));
    }
}
