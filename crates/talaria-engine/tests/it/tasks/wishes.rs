//! Invalid requests: wrong ids, answers that do not match, very long and hostile texts.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use talaria_core::admission::LONGEST_PROMPT;
use talaria_core::api::{AnswerRequest, Interrupt, NewTask, ProblemCode, Say, TaskStatus, When};
use talaria_core::policy::{ApprovalPolicy, Sandbox};
use talaria_core::request::Who;
use talaria_scripted::Reply;
use talaria_testkit::Codex;

use super::yes;
use crate::home::Home;
use crate::stage::both_versions;

both_versions!(
    newest:
    a_megabyte_of_prompt_reaches_the_model,
);

async fn a_megabyte_of_prompt_reaches_the_model(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.open().await;
    home.model.push(Reply::say("read"));
    let prompt = format!("{}end", "word ".repeat((LONGEST_PROMPT - 3) / 5));
    let task = home.start_task(home.task(&prompt)).await;
    let ended = home.ends(&task).await;
    assert_eq!((ended.status, ended.answer.as_deref()), (TaskStatus::Completed, Some("read")));
    assert!(ended.title.len() < 1000, "{}", ended.title.len());
    let heard = home.model.requests()[0].prompt().len();
    assert!(heard >= prompt.len(), "{heard} bytes of {}", prompt.len());
    let longer = format!("{prompt}{}", "x".repeat(LONGEST_PROMPT + 1 - prompt.len()));
    assert_eq!(home.try_task(home.task(&longer)).await.unwrap_err().code, ProblemCode::BadRequest);
    assert_eq!(home.send(&task, &longer).await.unwrap_err().code, ProblemCode::BadRequest);
    home.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_has_is_unknown() {
    let mut home = Home::standing_in().await;
    home.open().await;
    let task = home.start_task(home.task("go")).await;
    home.ends(&task).await;
    let engine = home.engine();
    let long = "x".repeat(100_000);
    for id in ["", " ", "codex-000000000000", "%", "_", "\u{1b}[31m", "' or 1=1 --", "\0", long.as_str()] {
        let say = Say { text: "x".to_owned(), images: Vec::new(), when: When::Now };
        let codes = [
            engine.task(id).await.map(drop).unwrap_err().code,
            engine.say(id, say).await.map(drop).unwrap_err().code,
            engine.interrupt(id, Interrupt { by: Who::User }).await.unwrap_err().code,
            engine.events(id, 0, 1).await.map(drop).unwrap_err().code,
            engine.diff(id).await.map(drop).unwrap_err().code,
            engine.apply(id).await.map(drop).unwrap_err().code,
            engine.request(id).await.map(drop).unwrap_err().code,
            engine.answer(id, yes()).await.map(drop).unwrap_err().code,
        ];
        assert_eq!(codes, [ProblemCode::Unknown; 8], "{id:.40}");
    }
    let plain = home.start(ApprovalPolicy::Never, "a conversation").await;
    assert_eq!(engine.task(plain.id.as_str()).await.unwrap_err().code, ProblemCode::Unknown);
    home.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_does_not_fit_or_comes_too_late_changes_nothing() {
    let mut home = Home::standing_in().await;
    home.open().await;
    let task = home.start_task(home.task("ask-it")).await;
    let ticket = home.news(&task).await.request().await;
    let answer = async |answer: Value| {
        let given = AnswerRequest { answer, by: Who::User, digest: None };
        home.engine().answer(ticket.as_str(), given).await.map(drop).map_err(|problem| problem.code)
    };
    let grant = json!({ "kind": "answers", "given": { "a": ["b"] } });
    for (wrong, code) in [
        (json!(null), ProblemCode::BadRequest),
        (json!("accept"), ProblemCode::BadRequest),
        (json!({}), ProblemCode::BadRequest),
        (json!({ "decision": "yes" }), ProblemCode::BadRequest),
        (json!({ "decision": "void" }), ProblemCode::BadRequest),
        (json!({ "decision": "accept", "content": { "kind": "poem" } }), ProblemCode::BadRequest),
        (json!({ "decision": "accept", "content": grant }), ProblemCode::Misfit),
    ] {
        assert_eq!(answer(wrong.clone()).await, Err(code), "{wrong}");
        assert_eq!(home.status_of(&task).await, TaskStatus::WaitingForApproval);
    }
    answer(json!({ "decision": "accept" })).await.unwrap();
    assert_eq!(answer(json!({ "decision": "decline" })).await, Err(ProblemCode::Conflict));
    assert_eq!(home.ends(&task).await.status, TaskStatus::Completed);
    assert_eq!(answer(json!({ "decision": "accept" })).await, Err(ProblemCode::Conflict));
    // One that was never answered closes with its turn.
    let task = home.start_task(home.task("ask-again")).await;
    let ticket = home.news(&task).await.request().await;
    home.cancel(&task).await.unwrap();
    assert_eq!(home.ends(&task).await.status, TaskStatus::Cancelled);
    let late = home.engine().answer(ticket.as_str(), yes()).await.unwrap_err();
    assert_eq!(late.code, ProblemCode::Conflict, "{late:?}");
    home.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_would_not_be_bounded_is_not_written_down() {
    let mut home = Home::standing_in().await;
    home.open().await;
    let task = || home.task("go");
    let wrong = [
        NewTask { sandbox: Some(Sandbox::DangerFullAccess), ..task() },
        NewTask { approval: Some(ApprovalPolicy::Never), ..task() },
        NewTask { cwd: String::new(), ..task() },
        NewTask { cwd: "/nowhere/at/all".to_owned(), ..task() },
        NewTask { cwd: "/\0".to_owned(), ..task() },
        NewTask { notify: vec!["carrier pigeon".to_owned()], ..task() },
        NewTask { notify: vec!["webhook:ftp://example.org".to_owned()], ..task() },
        NewTask { turn: home.turn("  "), ..task() },
    ];
    for new in wrong {
        let what = format!("{:?} {:?} {:?}", new.sandbox, new.cwd, new.notify);
        assert_eq!(home.try_task(new).await.unwrap_err().code, ProblemCode::BadRequest, "{what}");
    }
    assert!(home.engine().tasks(Default::default()).await.unwrap().is_empty());
    home.close().await;
}

/// Terminal escapes are removed where a text is shown; here they must neither break anything nor leak.
#[tokio::test(flavor = "multi_thread")]
async fn hostile_words_and_directories_break_nothing() {
    let mut home = Home::standing_in().await;
    let listener = home.listener();
    home.open().await;
    let hostile = "\u{1b}]0;pwned\u{7}\u{1b}[2J\r\n<script>\u{202e}'; drop table task; --";
    let folder = home.codex_home.work().join("\u{1b}[31mred '$(touch x)' \n line");
    fs::create_dir(&folder).unwrap();
    let new = NewTask {
        cwd: folder.to_str().unwrap().to_owned(),
        notify: vec![listener.target.clone()],
        ..home.task(hostile)
    };
    let task = home.start_task(new).await;
    let ended = home.ends(&task).await;
    assert_eq!(ended.status, TaskStatus::Completed, "{:?}", ended.outcome);
    assert_eq!(Path::new(&ended.cwd), folder.canonicalize().unwrap());
    assert!(!ended.title.contains('\n') && !ended.title.is_empty(), "{:?}", ended.title);
    home.told(&task, "outcome").await;
    let heard = fs::read(home.codex_home.root().join("heard")).unwrap();
    assert!(
        !heard.contains(&0x1b) && listener.heard().len() == 1,
        "one line of JSON, nothing for a terminal"
    );
    assert_eq!(home.engine().tasks(Default::default()).await.unwrap().len(), 1);
    home.close().await;
}
