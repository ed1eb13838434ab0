//! `talaria requests`: what waits for a person, and the answer, from any terminal.

use std::io::Read;
use std::time::Duration;

use jiff::Timestamp;
use talaria_core::api::{AnswerRequest, Answered, ProblemCode, RequestInfo};
use talaria_core::event::Event;
use talaria_core::ids::short_id;
use talaria_core::request::{Answer, Ask, Typed, Who, Wish};
use talaria_server::client::{Client, ClientError};

use crate::advice::Reader;
use crate::amounts::ago;
use crate::args::{AnswerOptions, Requests, RequestsAction};
use crate::engine::{self, refused};
use crate::look;
use crate::output::print;
use crate::patience::patiently;
use crate::sessions::json_lines;
use crate::settings::Settings;
use crate::trouble::{Trouble, complain, exit};
use talaria_face::render::{Look, Renderer as _, Terminal, about};
use talaria_face::sheet::Sheet;

pub(crate) mod build;
mod person;

/// The longest answers that are read from standard input.
const ANSWERS_LIMIT: u64 = 1024 * 1024;

/// Runs the command.
pub(crate) async fn run(options: &Requests) -> Result<u8, Trouble> {
    let settings = Settings::load()?.accept()?;
    let client = engine::reach(&settings.home).await?;
    match &options.action {
        RequestsAction::List { json } => {
            let requests = patiently("asking the engine", client.requests()).await;
            let requests = requests.map_err(|error| refused("cannot list requests", &error))?;
            print(&match (*json, requests.is_empty()) {
                (true, _) => json_lines(&requests),
                (false, true) => "nothing waits for an answer\n".to_owned(),
                (false, false) => {
                    open_requests(&requests, Timestamp::now(), look::of_stdout(), Reader::Shell)
                }
            })?;
        }
        RequestsAction::Show { request, json } => {
            let request = find(&client, request).await?;
            print(&if *json { json_lines(&[request]) } else { shown(&request, look::of_stdout()) })?;
        }
        RequestsAction::Answer(options) => answer(&client, options).await?,
    }
    Ok(0)
}

/// What waits for a person, as a table, with the command that answers.
pub(crate) fn open_requests(requests: &[RequestInfo], now: Timestamp, look: Look, reader: Reader) -> String {
    let first = requests.first().map(|request| request.id.to_string()).unwrap_or_default();
    let how = format!(
        "read it whole with: talaria requests show {first}\nanswer with: talaria requests answer {first} accept (or decline, …)\n"
    );
    table(requests, now).show(look) + &reader.advice(&how)
}

/// What waits for a person.
pub(crate) fn table(requests: &[RequestInfo], now: Timestamp) -> Sheet {
    let mut sheet = Sheet::new(&["request", "kind", "asked", "for", "about"], "about").to_be_read();
    for request in requests {
        let whose = request.task.clone().unwrap_or_else(|| short_id(request.session.as_str()).to_owned());
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

/// A request as a person reads it before the answer: the whole question, whose it is, and how it stands.
fn shown(request: &RequestInfo, look: Look) -> String {
    let question = question(request, look);
    let question = question.unwrap_or_else(|| format!("this request cannot be shown: {}\n", request.summary));
    let whose = request.task.clone().unwrap_or_else(|| request.session.to_string());
    let asked = ago(request.since, Timestamp::now());
    let by = request.answered_by.as_deref().map(|by| format!(" by {by}")).unwrap_or_default();
    let state = format!("{:?}", request.state).to_lowercase();
    format!("{question}{}, asked {asked} in {whose}: {state}{by}\n", request.id)
}

/// The whole question, exactly as the chat shows it; `None` if what is asked is not known.
pub(crate) fn question(request: &RequestInfo, look: Look) -> Option<String> {
    let opened = Event::RequestOpened {
        id: request.id.clone(),
        ask: Box::new(request.ask.clone()?),
        place: request.place,
        digest: request.digest.clone(),
    };
    let mut out = Vec::new();
    let mut renderer = Terminal::new(&mut out, Look { live: false, ..look });
    renderer.event(Duration::ZERO, &opened).ok()?;
    renderer.close().ok()?;
    drop(renderer);
    String::from_utf8(out).ok()
}

async fn answer(client: &Client, options: &AnswerOptions) -> Result<(), Trouble> {
    let request = find(client, &options.request).await?;
    if !options.json {
        complain(&shown(&request, Look { color: false, live: false, ..look::of_stdout() }));
    }
    // The answer is bound to what was shown: the engine refuses it for a question that changed meanwhile.
    let answer = decide(&request, options).await?;
    let sent = AnswerRequest { answer: answer.revealed(), by: Who::User, digest: request.digest.clone() };
    let answered = patiently("answering", client.answer(request.id.as_str(), &sent)).await;
    let answered = answered.map_err(|error| not_answered(&error))?;
    print(&if options.json { json_lines(&[answered]) } else { words(&answered) })
}

/// Is this id meant by a beginning or an end of it?
fn is_named(id: &str, typed: &str) -> bool {
    !typed.is_empty() && (id.starts_with(typed) || id.ends_with(typed))
}

/// Finds a request by its id, or an open one by a unique beginning or end of it.
pub(crate) async fn find(client: &Client, id: &str) -> Result<RequestInfo, Trouble> {
    let error = match client.request(id).await {
        Ok(request) => return Ok(request),
        Err(error) => error,
    };
    let is_unknown = matches!(&error, ClientError::Problem(problem) if problem.code == ProblemCode::Unknown);
    let open = if is_unknown { client.requests().await.unwrap_or_default() } else { Vec::new() };
    let matching: Vec<RequestInfo> =
        open.into_iter().filter(|request| is_named(request.id.as_str(), id)).collect();
    match &matching[..] {
        [] => Err(not_answered(&error)),
        [one] => client.request(one.id.as_str()).await.map_err(|error| not_answered(&error)),
        several => {
            let names: Vec<&str> = several.iter().map(|request| request.id.as_str()).collect();
            Err(Trouble::new(exit::USAGE, format!("more than one request is meant by {id}"))
                .try_this(format!("one of {}", names.join(", "))))
        }
    }
}

pub(crate) fn not_answered(error: &ClientError) -> Trouble {
    let trouble = refused("the answer was not taken", error);
    match error.next_step() {
        Some(_) => trouble,
        None => trouble.try_this("`talaria requests list` shows what waits"),
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

/// Answers on the command line are seen by whoever lists processes: secrets come through standard input.
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
        // Only the place: the text may hold a secret.
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
        let text = table(requests, "2026-01-01T00:01:00Z".parse().unwrap()).show(look);
        assert!(text.lines().all(|line| line.width() <= width), "{width}:\n{text}");
        text
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
