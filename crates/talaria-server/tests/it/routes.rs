//! Every route does what its name says, and refusals arrive as what the engine said.

use serde_json::json;
use talaria_core::api::{
    AnswerRequest, Interrupt, Kind, Problem, ProblemCode, Prune, RequestState, SessionQuery, Stop, Stopped,
};
use talaria_core::request::{Decision, Who};
use talaria_server::client::ClientError;
use talaria_server::route;

use crate::scene::{Scene, new, next, say, started, turn};

fn code<T: std::fmt::Debug>(result: Result<T, ClientError>) -> ProblemCode {
    match result {
        Err(ClientError::Problem(problem)) => problem.code,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_conversation_is_started_continued_followed_found_and_thrown_away() {
    let scene = Scene::start();
    let client = scene.client().await;
    assert_eq!(client.info().await.unwrap(), scene.engine.info());
    assert_eq!(client.status().await.unwrap().notes, ["in memory"]);

    let first = started(&client, "first words").await;
    let id = first.id.as_str();
    assert_eq!((first.turn, first.after, &first.task), (1, 0, &None));
    assert_eq!(code(client.start_turn(id, &turn("more")).await), ProblemCode::Busy);
    client.interrupt(id, Interrupt { by: Who::User }).await.unwrap();
    assert_eq!(client.start_turn(id, &turn("more")).await.unwrap().turn, 2);
    assert!(client.say(id, &say("and this")).await.unwrap().to_running_turn);

    let mut follow = client.follow(id, 0).await.unwrap();
    assert_eq!(next(&mut follow).await, (1, "started".to_owned()));
    assert_eq!(next(&mut follow).await, (2, "and this".to_owned()));
    assert_eq!(follow.last_seq(), 2);

    let events = client.events(id, 1, 10).await.unwrap();
    assert_eq!(events.iter().map(|event| event.seq).collect::<Vec<_>>(), [2]);
    let messages = client.messages(id, 0, 10).await.unwrap();
    assert_eq!(messages[0].message.content.as_deref(), Some("first words"));
    let detail = client.session(id).await.unwrap();
    assert_eq!((detail.info.title.as_str(), detail.info.last_seq), ("first words", 2));

    let hits = client.search("first words & 100% [é]?", 5).await.unwrap();
    assert!(hits.is_empty());
    assert_eq!(client.search("first words", 5).await.unwrap()[0].snippet, "[first words]");
    let pruned = client.prune(&Prune { dry_run: true, ..Prune::default() }).await.unwrap();
    assert_eq!((pruned.sessions.len(), pruned.dry_run), (1, true));
}

#[tokio::test]
async fn conversations_are_listed_by_kind_state_and_page() {
    let scene = Scene::start();
    let client = scene.client().await;
    let mut ids = Vec::new();
    for kind in [Kind::Exec, Kind::Task, Kind::Exec] {
        ids.push(client.start_session(&new(kind, "x")).await.unwrap().id);
    }
    client.interrupt(ids[0].as_str(), Interrupt { by: Who::User }).await.unwrap();
    let list = async |query: SessionQuery| -> Vec<_> {
        client.sessions(&query).await.unwrap().into_iter().map(|info| info.id).collect()
    };
    let all = SessionQuery::default();
    assert_eq!(list(all.clone()).await, [ids[2].clone(), ids[1].clone(), ids[0].clone()]);
    assert_eq!(list(SessionQuery { limit: 1, ..all.clone() }).await, [ids[2].clone()]);
    assert_eq!(list(SessionQuery { kind: Some(Kind::Task), ..all.clone() }).await, [ids[1].clone()]);
    assert_eq!(list(SessionQuery { running: true, ..all.clone() }).await, [ids[2].clone(), ids[1].clone()]);
    let before = Some(ids[1].to_string());
    assert_eq!(list(SessionQuery { before, ..all }).await, [ids[0].clone()]);
}

#[tokio::test]
async fn a_request_is_answered_once_and_the_second_is_told() {
    let scene = Scene::start();
    let client = scene.client().await;
    let task = client.start_session(&new(Kind::Task, "ask")).await.unwrap().task.unwrap();
    assert_eq!(client.tasks().await.unwrap()[0].id, task);
    let shown = client.task(&task).await.unwrap();
    assert_eq!(shown.requests[0].state, RequestState::Open);
    let id = client.requests().await.unwrap()[0].id.clone();
    assert_eq!(client.request("req-").await.unwrap().id, id);
    let answer = |word: &str| AnswerRequest { answer: json!(word), by: Who::User, via: None };
    assert_eq!(code(client.answer(id.as_str(), &answer("maybe")).await), ProblemCode::Misfit);
    let answered = client.answer(id.as_str(), &answer("accept")).await.unwrap();
    assert_eq!(answered.decision, Decision::Accept);
    assert_eq!(code(client.answer(id.as_str(), &answer("accept")).await), ProblemCode::Conflict);
}

#[tokio::test]
async fn a_refusal_arrives_as_the_engine_said_it() {
    let scene = Scene::start();
    let client = scene.client().await;
    let expected = Problem::new(ProblemCode::Unknown, "there is no session or task \"no/such?id#é\"")
        .try_this("see: talaria sessions list");
    match client.session("no/such?id#é").await {
        Err(ClientError::Problem(problem)) => assert_eq!(problem, expected),
        other => panic!("{other:?}"),
    }
    assert_eq!(code(client.follow("none", 0).await), ProblemCode::Unknown);
    assert_eq!(code(client.session("").await), ProblemCode::Unknown);
    assert_eq!(code(client.follow("", 0).await), ProblemCode::Unknown);
    started(&client, "a").await;
    started(&client, "b").await;
    assert_eq!(code(client.session("0").await), ProblemCode::Ambiguous);
}

#[tokio::test]
async fn every_route_of_the_table_is_served_and_no_other_verb() {
    let scene = Scene::start();
    for route in route::ALL.iter().filter(|route| route.path != route::STOP.path) {
        let verb = |verb| if verb == route::Verb::Get { "GET" } else { "POST" };
        let path = route.path.replace("{id}", "none");
        let call = |verb: &str| format!("{verb} {path} HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n");
        let answer = scene.raw(call(verb(route.verb)).as_bytes()).await;
        assert!(!answer.contains("there is nothing at"), "{}: {answer}", route.name);
        assert!(!answer.contains("is not called like this"), "{}: {answer}", route.name);
        let answer = scene.raw(call("DELETE").as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("is not called like this"), "{answer}");
    }
    let answer = scene.raw(b"GET /v1/nothing HTTP/1.1\r\nhost: x\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 404") && answer.contains("there is nothing at /v1/nothing"));
}

#[tokio::test]
async fn the_server_ends_with_the_engine_and_says_so_first() {
    let mut scene = Scene::start();
    let client = scene.client().await;
    let id = started(&client, "x").await.id;
    let mut follow = client.follow(id.as_str(), 0).await.unwrap();
    next(&mut follow).await;
    let stopped = client.stop(Stop::default()).await.unwrap();
    assert_eq!(stopped, Stopped { interrupted: 1, kept: 0 });
    scene.server().await.unwrap();
    assert!(!scene.socket.exists());
    assert!(matches!(client.status().await, Err(ClientError::NotRunning)));
    assert!(matches!(client.stop(Stop::default()).await, Err(ClientError::NotRunning)));
}
