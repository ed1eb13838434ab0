//! Every route does what its name says, and refusals arrive as what the engine said.

use serde_json::json;
use talaria_core::api::{
    AnswerRequest, Compact, Fork, ForkOrigin, Interrupt, Kind, LookAt, MemoryHistoryQuery, MemoryItem,
    MemoryQuery, MemoryWish, NewTurn, Problem, ProblemCode, Prune, RequestState, SessionQuery,
    SkillProposalQuery, SkillQuery, SkillTextQuery, SkillWish, Stop, Stopped, TaskQuery, Undo,
};
use talaria_core::event::Event;
use talaria_core::next_step::NextStep;
use talaria_core::request::{Decision, Who};
use talaria_server::client::{Client, ClientError};
use talaria_server::route;

use crate::scene::{Scene, asked, next, running, say, until};

fn code<T: std::fmt::Debug>(result: Result<T, ClientError>) -> ProblemCode {
    match result {
        Err(ClientError::Problem(problem)) => problem.code,
        other => panic!("{other:?}"),
    }
}

/// Stops the turn that runs, and waits until it has.
async fn interrupt(client: &Client, id: &str) {
    let last = client.session(id).await.unwrap().info.last_seq;
    client.interrupt(id, Interrupt { by: Who::User }).await.unwrap();
    let mut follow = client.follow(id, last).await.unwrap();
    until(&mut follow, |event| matches!(event, Event::Outcome(_))).await;
}

#[tokio::test]
async fn a_conversation_is_started_continued_followed_found_and_thrown_away() {
    let scene = Scene::start().await;
    let client = scene.client().await;
    assert_eq!(client.info().await.unwrap(), scene.engine().info());
    let status = client.status().await.unwrap();
    assert_eq!(status.engine, scene.engine().info());
    assert!(status.turns.is_empty() && status.hosts.is_empty() && status.requests.is_empty());

    let first = scene.started(&client, "first words").await.0;
    let id = first.id.as_str();
    assert_eq!((first.turn, first.after, &first.task), (1, 0, &None));
    assert_eq!(client.status().await.unwrap().turns[0].session, first.id);
    assert_eq!(code(client.start_turn(id, &scene.turn("more")).await), ProblemCode::Busy);
    interrupt(&client, id).await;
    let second = client.start_turn(id, &scene.turn("more")).await.unwrap();
    assert_eq!(second.turn, 2);
    running(&client, &second.id, second.after).await;
    assert!(client.say(id, &say("and this")).await.unwrap().to_running_turn);

    let mut follow = client.follow(id, 0).await.unwrap();
    assert!(matches!(next(&mut follow).await, (1, Event::SessionStarted(_))));
    let steered = until(&mut follow, |event| matches!(event, Event::Steered { .. })).await;
    assert_eq!(follow.last_seq(), steered);

    let events = client.events(id, 1, 3).await.unwrap();
    assert_eq!(events.iter().map(|event| event.seq).collect::<Vec<_>>(), [2, 3, 4]);
    let messages = client.messages(id, 0, 10).await.unwrap();
    assert_eq!((messages[0].seq, messages[0].message.content.as_deref()), (1, Some("first words")));
    let detail = client.session(id).await.unwrap();
    assert_eq!((detail.info.title.as_str(), detail.info.last_seq), ("first words", steered));
    assert_eq!(
        detail.turns.iter().map(|turn| turn.prompt.as_str()).collect::<Vec<_>>(),
        ["first words", "more"]
    );

    let hits = client.search("first words & 100% [é]?", 5).await.unwrap();
    assert!(hits.is_empty());
    assert_eq!(client.search("first words", 5).await.unwrap()[0].snippet, "[first] [words]");
    let all = Prune { keep: Some(0), dry_run: true, ..Prune::default() };
    assert_eq!(client.prune(&all).await.unwrap().sessions, [], "it runs");
    interrupt(&client, id).await;
    let pruned = client.prune(&all).await.unwrap();
    assert_eq!((pruned.sessions.len(), pruned.dry_run), (1, true));
    let pruned = client.prune(&Prune { dry_run: false, ..all }).await.unwrap();
    assert_eq!((pruned.sessions.len(), pruned.dry_run), (1, false));
    assert_eq!(code(client.session(id).await), ProblemCode::Unknown);
}

#[tokio::test]
async fn conversations_are_listed_by_kind_state_and_page() {
    let mut scene = Scene::start().await;
    let client = scene.client().await;
    let mut ids = Vec::new();
    for kind in [Kind::Exec, Kind::Task, Kind::Exec] {
        scene.another_codex();
        let id = match kind {
            Kind::Task => client.start_task(&scene.new_task("x")).await.unwrap().session,
            _ => client.start_session(&scene.new_session(kind, "x")).await.unwrap().id,
        };
        running(&client, &id, 0).await;
        ids.push(id);
    }
    interrupt(&client, ids[0].as_str()).await;
    let list = async |query: SessionQuery| -> Vec<_> {
        client.sessions(&query).await.unwrap().into_iter().map(|info| info.id).collect()
    };
    let all = SessionQuery::default();
    // The one that ended is the one in which something happened last.
    assert_eq!(list(all.clone()).await, [ids[0].clone(), ids[2].clone(), ids[1].clone()]);
    assert_eq!(list(SessionQuery { limit: 1, ..all.clone() }).await, [ids[0].clone()]);
    assert_eq!(list(SessionQuery { kind: Some(Kind::Task), ..all.clone() }).await, [ids[1].clone()]);
    assert_eq!(list(SessionQuery { running: true, ..all.clone() }).await, [ids[2].clone(), ids[1].clone()]);
    let before = Some(ids[2].to_string());
    assert_eq!(list(SessionQuery { before, ..all }).await, [ids[1].clone()]);
}

#[tokio::test]
async fn a_request_is_answered_once_and_the_second_is_told() {
    let scene = Scene::asking().await;
    let client = scene.client().await;
    let started = client.start_task(&scene.new_task("ask")).await.unwrap();
    let ticket = asked(&client, &started.session, started.after).await;
    let task = started.id;
    assert_eq!(client.tasks(&TaskQuery::default()).await.unwrap()[0].id, task);
    let shown = client.task(&task).await.unwrap();
    assert_eq!(shown.requests[0].state, RequestState::Open);
    let id = client.requests().await.unwrap()[0].id.clone();
    assert_eq!(id, ticket);
    assert_eq!(client.request("req-").await.unwrap().id, id);
    let answer =
        |word: &str| AnswerRequest { answer: json!({ "decision": word }), by: Who::User, digest: None };
    assert_eq!(code(client.answer(id.as_str(), &answer("maybe")).await), ProblemCode::BadRequest);
    assert_eq!(code(client.answer(id.as_str(), &answer("void")).await), ProblemCode::BadRequest);
    let mut misfit = answer("accept");
    misfit.answer["content"] = json!({ "kind": "answers", "given": { "q": ["x"] } });
    assert_eq!(code(client.answer(id.as_str(), &misfit).await), ProblemCode::Misfit);
    let answered = client.answer(id.as_str(), &answer("accept")).await.unwrap();
    assert_eq!(answered.decision, Decision::Accept);
    assert_eq!(code(client.answer(id.as_str(), &answer("accept")).await), ProblemCode::Conflict);
}

#[tokio::test]
async fn a_refusal_arrives_as_the_engine_said_it() {
    let mut scene = Scene::start().await;
    let client = scene.client().await;
    let expected = Problem::new(ProblemCode::Unknown, "there is no session or task \"no/such?id#é\"")
        .next(NextStep::FindSession);
    match client.session("no/such?id#é").await {
        Err(ClientError::Problem(problem)) => assert_eq!(problem, expected),
        other => panic!("{other:?}"),
    }
    assert_eq!(code(client.follow("none", 0).await), ProblemCode::Unknown);
    assert_eq!(code(client.session("").await), ProblemCode::Unknown);
    assert_eq!(code(client.follow("", 0).await), ProblemCode::Unknown);
    for text in ["a", "b"] {
        scene.another_codex();
        scene.started(&client, text).await;
    }
    assert_eq!(code(client.session("0").await), ProblemCode::Ambiguous);
}

#[tokio::test]
async fn every_route_of_the_table_is_served_and_no_other_verb() {
    let scene = Scene::start().await;
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
    let mut scene = Scene::start().await;
    let client = scene.client().await;
    let id = scene.started(&client, "x").await.0.id;
    let mut follow = client.follow(id.as_str(), 0).await.unwrap();
    next(&mut follow).await;
    let stopped = client.stop(Stop::default()).await.unwrap();
    assert_eq!(stopped, Stopped { interrupted: 1, unsettled: 0, kept: 0 });
    scene.server().await.unwrap();
    assert!(!scene.socket.exists());
    assert!(matches!(client.status().await, Err(ClientError::NotRunning)));
    assert!(matches!(client.stop(Stop::default()).await, Err(ClientError::NotRunning)));
}

#[tokio::test]
async fn a_conversation_is_shortened_when_nothing_runs_and_offers_start_none() {
    let scene = Scene::start().await;
    let client = scene.client().await;
    let caller = scene.turn("").caller;
    let offers = client.offers(&LookAt { caller: caller.clone(), cwd: "/".to_owned() }).await.unwrap();
    assert_eq!((offers.codex.as_str(), offers.models[0].id.as_str()), ("0.166.0", "gpt-7"));
    assert!(client.sessions(&SessionQuery::default()).await.unwrap().is_empty());
    assert!(scene.received("thread/start").is_empty());

    let compact = Compact { caller };
    assert_eq!(code(client.compact("nobody", &compact).await), ProblemCode::Unknown);
    let first = scene.started(&client, "first words").await.0;
    let id = first.id.as_str();
    assert_eq!(code(client.compact(id, &compact).await), ProblemCode::Busy);
    interrupt(&client, id).await;
    let second = client.compact(id, &compact).await.unwrap();
    assert_eq!((second.id.as_str(), second.turn), (id, 2));
    let mut follow = client.follow(id, second.after).await.unwrap();
    until(&mut follow, |event| matches!(event, Event::Outcome(report) if report.exit_code() == 0)).await;
    assert_eq!(client.session(id).await.unwrap().turns[1].prompt, "/compact");
    assert_eq!(scene.received("thread/compact/start").len(), 1);
    let model = client.on_behalf_of("model:m".parse().unwrap());
    assert_eq!(code(model.compact(id, &compact).await), ProblemCode::Forbidden);
}

#[tokio::test]
async fn a_conversation_is_forked_and_its_last_turn_undone_by_a_person_alone() {
    let scene = Scene::start().await;
    let client = scene.client().await;
    let first = scene.started(&client, "first words").await.0;
    let id = first.id.as_str();
    assert_eq!(code(client.undo(id, Undo::default()).await), ProblemCode::Busy);
    assert_eq!(code(client.fork(id, Fork::default()).await), ProblemCode::Conflict, "no turn has ended");
    interrupt(&client, id).await;
    let again = NewTurn { input: Vec::new(), ..scene.turn("") };
    let model = client.clone().on_behalf_of("model:m".parse().unwrap());
    assert_eq!(code(model.fork(id, Fork::default()).await), ProblemCode::Forbidden);
    assert_eq!(code(model.undo(id, Undo::default()).await), ProblemCode::Forbidden);
    assert_eq!(code(model.retry(id, &again).await), ProblemCode::Forbidden);
    let other = NewTurn { input: scene.turn("other words").input, ..again };
    assert_eq!(code(client.retry(id, &other).await), ProblemCode::BadRequest);

    let fork = client.fork(id, Fork::default()).await.unwrap();
    let detail = client.session(fork.id.as_str()).await.unwrap();
    assert_eq!(detail.forked_from, Some(ForkOrigin { session: first.id.clone(), turn: 1 }));
    assert_eq!(
        (detail.turns.len(), detail.turns[0].prompt.as_str(), detail.thread),
        (1, "first words", None)
    );
    assert_eq!(code(client.undo(id, Undo { turn: Some(2) }).await), ProblemCode::Conflict);
    let undone = client.undo(id, Undo { turn: Some(1) }).await.unwrap();
    assert_eq!((undone.id, undone.turn, undone.prompt.as_str()), (first.id.clone(), 1, "first words"));
    let detail = client.session(id).await.unwrap();
    assert!(detail.turns[0].undone_at.is_some() && detail.undone_messages == [0, 1], "{detail:?}");
    assert_eq!(code(client.undo(id, Undo::default()).await), ProblemCode::Conflict, "nothing is left");
    assert!(client.search("first words", 9).await.unwrap().iter().all(|hit| hit.session == fork.id));
}

#[tokio::test]
async fn a_conversation_is_renamed_by_a_person_and_keeps_its_place() {
    let scene = Scene::start().await;
    let client = scene.client().await;
    let first = scene.started(&client, "first words").await.0;
    let before = client.session(first.id.as_str()).await.unwrap().info;
    assert_eq!(before.title, "first words");
    let secret = format!("ghp_{}", "a1B2".repeat(9));
    let renamed = client.rename(first.id.as_str(), &format!("  the parser {secret}\nmore")).await.unwrap();
    assert!(renamed.title.starts_with("the parser ") && !renamed.title.contains("ghp_"), "{renamed:?}");
    let listed = client.sessions(&SessionQuery::default()).await.unwrap();
    assert_eq!((&listed[0].title, listed[0].updated_at), (&renamed.title, before.updated_at));
    assert_eq!(code(client.rename(first.id.as_str(), " \n").await), ProblemCode::BadRequest);
    assert_eq!(code(client.rename("nobody", "x").await), ProblemCode::Unknown);
    let model = client.clone().on_behalf_of("model:m".parse().unwrap());
    assert_eq!(code(model.rename(first.id.as_str(), "mine").await), ProblemCode::Forbidden);
    assert_eq!(client.session(first.id.as_str()).await.unwrap().info.title, renamed.title);
}

#[tokio::test]
async fn the_memory_is_changed_listed_and_taken_back_by_a_person_alone() {
    let scene = Scene::start().await;
    let client = scene.client().await;
    let cwd = scene.home.path().to_str().unwrap().to_owned();
    let add = |scope: &str| MemoryWish::Add {
        scope: scope.to_owned(),
        text: format!("about the {scope}"),
        cwd: cwd.clone(),
    };
    for scope in ["user", "notes", "project"] {
        assert_eq!(client.change_memory(&add(scope)).await.unwrap().changed.len(), 1);
    }
    let edit = MemoryWish::Replace { entry: "the user".to_owned(), text: "likes herons".to_owned() };
    let edited = client.change_memory(&edit).await.unwrap().changed.remove(0);
    let query = MemoryQuery { cwd: Some(cwd.clone()), session: None };
    let stranger = MemoryQuery { session: Some("no-such-session".to_owned()), ..query.clone() };
    assert_eq!(code(client.memory(&stranger).await), ProblemCode::Unknown);
    let list = client.memory(&query).await.unwrap();
    let line = |item: &MemoryItem| format!("{} {} {}", item.scope.len() > 5, item.text, item.is_shown);
    let lines: Vec<String> = list.entries.iter().map(line).collect();
    assert_eq!(
        lines,
        ["false likes herons true", "false about the notes true", "true about the project true"]
    );
    let undo = MemoryWish::Undo { revision: edited.revision.unwrap() };
    client.change_memory(&undo).await.unwrap();
    assert_eq!(code(client.change_memory(&undo).await), ProblemCode::Conflict);
    let history = MemoryHistoryQuery { entry: Some(edited.entry), ..MemoryHistoryQuery::default() };
    let history = client.memory_history(&history).await.unwrap();
    let afters: Vec<_> = history.iter().filter_map(|row| row.after.as_deref()).collect();
    assert_eq!(afters, ["about the user", "likes herons", "about the user"]);
    assert_eq!(client.memory_pending().await.unwrap(), []);

    let model = client.on_behalf_of("model:m".parse().unwrap());
    assert_eq!(code(model.memory(&query).await), ProblemCode::Forbidden);
    assert_eq!(code(model.change_memory(&add("user")).await), ProblemCode::Forbidden);
    assert_eq!(code(model.memory_history(&MemoryHistoryQuery::default()).await), ProblemCode::Forbidden);
    assert_eq!(code(model.memory_pending().await), ProblemCode::Forbidden);
}

#[tokio::test]
async fn skills_are_listed_shown_archived_and_restored_by_a_person_alone() {
    let scene = Scene::start().await;
    let client = scene.client().await;
    scene.add_skill("haiku");
    let query = SkillQuery { cwd: Some("/".to_owned()) };
    let list = client.skills(&query).await.unwrap();
    let [skill] = &list.skills[..] else { panic!("{list:?}") };
    assert_eq!(
        (skill.name.as_str(), skill.place.as_str(), skill.author.as_str()),
        ("haiku", "user", "other")
    );
    let text = SkillTextQuery { name: "haiku".to_owned(), cwd: None, file: None };
    assert!(client.skill(&text).await.unwrap().text.contains("About haiku"));
    let outside = SkillTextQuery { file: Some("references/../../x".to_owned()), ..text.clone() };
    assert_eq!(code(client.skill(&outside).await), ProblemCode::BadRequest);
    let archive = SkillWish::Archive { name: "haiku".to_owned(), cwd: "/".to_owned() };
    let archived = client.change_skills(&archive).await.unwrap().archived.unwrap();
    assert_eq!(code(client.change_skills(&archive).await), ProblemCode::Unknown);
    let list = client.skills(&query).await.unwrap();
    assert_eq!((list.skills.len(), list.archived.len()), (0, 1));
    client.change_skills(&SkillWish::Restore { archived }).await.unwrap();
    assert_eq!(client.skills(&query).await.unwrap().skills.len(), 1);
    assert_eq!(client.skill_proposals(&SkillProposalQuery { all: true }).await.unwrap(), []);

    let model = client.on_behalf_of("model:m".parse().unwrap());
    assert_eq!(code(model.skills(&query).await), ProblemCode::Forbidden);
    assert_eq!(code(model.skill(&text).await), ProblemCode::Forbidden);
    assert_eq!(code(model.change_skills(&archive).await), ProblemCode::Forbidden);
    assert_eq!(code(model.skill_proposals(&SkillProposalQuery::default()).await), ProblemCode::Forbidden);
}
