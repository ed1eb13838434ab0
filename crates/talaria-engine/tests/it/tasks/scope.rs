//! Rights of a model: its own tasks, in the directories permitted to it, and no decisions of a person.

use std::fmt::Debug;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use talaria_core::api::{
    Discard, Interrupt, NewTask, Notify, Problem, ProblemCode, Prune, Say, SessionQuery, Stop, TaskQuery,
    TaskStarted, TaskStatus, When,
};
use talaria_core::ids::TicketId;
use talaria_core::principal::{Principal, PrincipalKind};
use talaria_core::request::Who;
use talaria_engine::engine::Engine;
use talaria_scripted::Reply;
use talaria_testkit::Codex;

use super::{eventually, yes};
use crate::home::{Home, calling};

/// A task of a model that was started in the work directory.
async fn start(home: &Home, model: &str, prompt: &str) -> TaskStarted {
    start_with(home, model, home.task(prompt)).await.unwrap()
}

async fn start_with(home: &Home, model: &str, mut new: NewTask) -> Result<TaskStarted, Problem> {
    new.started_in = Some(home.codex_home.work().to_str().unwrap().to_owned());
    let engine = home.as_model(model);
    home.on(|_| async move { engine.start_task(new).await }).await
}

fn code<T: Debug>(result: Result<T, Problem>) -> ProblemCode {
    result.unwrap_err().code
}

async fn listed(engine: &Engine) -> Vec<String> {
    let lines = engine.tasks(TaskQuery::default()).await.unwrap();
    lines.into_iter().map(|line| line.id).collect()
}

/// Everything that names a task, tried on one.
async fn tried(home: &Home, engine: &Engine, id: &str, ticket: &TicketId) -> Vec<Option<ProblemCode>> {
    let code = |problem: Problem| problem.code;
    let say = Say { text: "x".to_owned(), images: Vec::new(), when: When::Now };
    let query = TaskQuery { before: Some(id.to_owned()), ..TaskQuery::default() };
    let (other, turn, name) = (engine.clone(), home.turn("more"), id.to_owned());
    let sent = home.on(|_| async move { other.send(&name, turn).await });
    vec![
        engine.task(id).await.map(drop).map_err(code).err(),
        engine.tasks(query).await.map(drop).map_err(code).err(),
        engine.session(id).await.map(drop).map_err(code).err(),
        engine.events(id, 0, 10).await.map(drop).map_err(code).err(),
        engine.messages(id, 0, 10).await.map(drop).map_err(code).err(),
        engine.follow(id, 0).await.map(drop).map_err(code).err(),
        engine.say(id, say).await.map(drop).map_err(code).err(),
        sent.await.map(drop).map_err(code).err(),
        engine.request(ticket.as_str()).await.map(drop).map_err(code).err(),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_sees_and_touches_its_own_tasks_alone() {
    let mut home = Home::standing_in().await;
    home.open().await;
    let (own, others) = (start(&home, "a", "ask-own").await, start(&home, "b", "ask-other").await);
    let persons = home.start_task(home.task("go")).await;
    let ticket = home.news(&own).await.request().await;
    let foreign = home.news(&others).await.request().await;
    let model = home.as_model("a");
    assert_eq!(listed(&model).await, [own.id.as_str()]);
    let open = model.requests().await.unwrap();
    assert_eq!(open.iter().map(|open| &open.id).collect::<Vec<_>>(), [&ticket]);
    assert!(tried(&home, &model, &own.id, &ticket).await.iter().all(Option::is_none));
    for id in [
        others.id.as_str(),
        others.session.as_str(),
        &others.id[..others.id.len() - 1],
        &others.session.as_str()[..35],
        &persons.id,
        "codex-",
        "",
        "codex-000000000000",
    ] {
        let tried = tried(&home, &model, id, &foreign).await;
        assert!(tried.iter().all(|code| *code == Some(ProblemCode::Unknown)), "{id}: {tried:?}");
        assert_eq!(code(model.interrupt(id, Interrupt { by: Who::User }).await), ProblemCode::Unknown);
        assert_eq!(code(model.diff(id).await), ProblemCode::Unknown);
    }
    for id in [foreign.as_str(), &foreign.as_str()[..6], &ticket.as_str()[..6]] {
        assert_eq!(code(model.answer(id, yes()).await), ProblemCode::Unknown, "{id}");
    }
    // A foreign task and an unknown one have the same response.
    let told = async |id: &str| model.task(id).await.unwrap_err().message.replace(id, "ID");
    assert_eq!(told(&others.id).await, told("codex-000000000000").await);
    let notices = model.notify(Notify { dry_run: true, ..Notify::default() }).await.unwrap();
    assert!(notices.iter().all(|notice| notice.task == own.id), "{notices:?}");
    assert_eq!(home.status_of(&others).await, TaskStatus::WaitingForApproval, "nothing happened to it");
    assert_eq!(listed(home.engine()).await.len(), 3, "the owner sees everything");
    for (kind, name) in [(PrincipalKind::Token, "ci"), (PrincipalKind::Chat, "ada")] {
        let engine = calling(home.engine(), &Principal::new(kind, name));
        assert!(listed(&engine).await.is_empty(), "{name} has none of the owner's rights");
        assert_eq!(code(engine.status().await), ProblemCode::Forbidden);
        assert_eq!(code(engine.stop(Stop::default()).await), ProblemCode::Forbidden);
        assert_eq!(code(engine.answer(foreign.as_str(), yes()).await), ProblemCode::Unknown);
    }
    home.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_with_the_right_to_all_sees_the_tasks_of_others_but_no_conversation() {
    let mut home = Home::standing_in().await;
    home.configure("[bridge.callers.a]\nall = true\n");
    home.open().await;
    let others = start(&home, "b", "ask-other").await;
    home.news(&others).await.request().await;
    let chat = home.start(talaria_core::policy::ApprovalPolicy::Never, "private").await;
    let (all, other) = (home.as_model("a"), home.as_model("c"));
    assert_eq!(listed(&all).await, [others.id.as_str()]);
    assert!(listed(&other).await.is_empty());
    assert_eq!(code(all.session(chat.id.as_str()).await), ProblemCode::Unknown);
    assert_eq!(code(all.events(chat.id.as_str(), 0, 10).await), ProblemCode::Unknown);
    all.interrupt(&others.id, Interrupt { by: Who::Model }).await.unwrap();
    assert_eq!(home.ends(&others).await.status, TaskStatus::Cancelled);
    home.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_answers_only_what_the_users_policy_lets_it() {
    let mut home = Home::standing_in().await;
    home.open().await;
    let task = start(&home, "a", "ask-it").await;
    let ticket = home.news(&task).await.request().await;
    for policy in
        ["", "[bridge]\nanswers = [\"patch\", \"input\"]\n", "[bridge.callers.b]\nanswers = [\"command\"]\n"]
    {
        home.configure(policy);
        let refused = home.as_model("a").answer(ticket.as_str(), yes()).await.unwrap_err();
        assert_eq!(refused.code, ProblemCode::Forbidden, "{policy}");
        let hint = refused.hint.unwrap();
        assert!(hint.contains(&format!("talaria requests answer {ticket} accept")), "{hint}");
        assert_eq!(home.status_of(&task).await, TaskStatus::WaitingForApproval);
    }
    home.configure("[bridge.callers.a]\nanswers = [\"command\"]\n");
    home.as_model("a").answer(ticket.as_str(), yes()).await.unwrap();
    assert_eq!(home.ends(&task).await.status, TaskStatus::Completed);
    let by = home.engine().request(ticket.as_str()).await.unwrap().answered_by.unwrap();
    assert!(by.starts_with("model"), "not the person, whatever it says: {by}");
    assert!(by.contains("model:a"), "{by}");
    home.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_only_people_do_is_refused() {
    let mut home = Home::standing_in().await;
    home.configure("[bridge.callers.a]\nall = true\n");
    home.open().await;
    let task = start(&home, "a", "go").await;
    home.ends(&task).await;
    let model = home.as_model("a");
    let new = talaria_core::api::NewSession {
        kind: talaria_core::api::Kind::Exec,
        cwd: home.codex_home.work().to_str().unwrap().to_owned(),
        model: None,
        sandbox: None,
        approval: None,
        turn: home.turn("x"),
    };
    let codes = [
        code(model.status().await),
        code(model.sessions(SessionQuery::default()).await),
        code(model.search("go", 5).await),
        code(model.prune(Prune::default()).await),
        code(model.stop(Stop::default()).await),
        code(model.apply(&task.id).await),
        code(model.discard(&task.id, Discard::default()).await),
        code(model.start_session(new).await),
    ];
    assert_eq!(codes, [ProblemCode::Forbidden; 8]);
    home.engine().status().await.unwrap();
    home.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_widens_no_sandbox_without_the_users_word() {
    let mut home = Home::standing_in().await;
    home.open().await;
    let beside = home.codex_home.root().join("beside");
    fs::create_dir_all(beside.join("deep")).unwrap();
    let networked = || NewTask { network: true, ..home.writing_task("go") };
    let roots = vec![beside.join("deep").to_str().unwrap().to_owned()];
    let writing = || NewTask { writable_roots: roots.clone(), ..home.writing_task("go") };
    let asked = async |new: NewTask| {
        let task = start_with(&home, "a", new).await.unwrap();
        let info = home.show(&task).await;
        assert_eq!(
            (task.status, info.status),
            (TaskStatus::WaitingForApproval, TaskStatus::WaitingForApproval)
        );
        assert_eq!((info.network, info.writable_roots.len(), info.requests.len()), (false, 0, 1));
    };
    asked(networked()).await;
    asked(writing()).await;
    // The network for another model, another root and the root of a name that begins alike open nothing.
    let other =
        format!("[bridge]\nwritable_roots = [{:?}]\n[bridge.callers.b]\nnetwork = true\n", "/nowhere");
    home.configure(&other);
    asked(networked()).await;
    asked(writing()).await;
    let granted =
        format!("[bridge.callers.a]\nnetwork = true\nwritable_roots = [{:?}]\n", beside.to_str().unwrap());
    home.configure(&granted);
    let network = start_with(&home, "a", networked()).await.unwrap();
    assert!(home.show(&network).await.network);
    let root = start_with(&home, "a", writing()).await.unwrap();
    assert_eq!(home.show(&root).await.writable_roots, roots);
    assert_eq!(home.engine().requests().await.unwrap().len(), 4, "what is granted is not asked");
    home.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_start_and_refusal_is_in_the_audit_log() {
    let mut home = Home::standing_in().await;
    home.open().await;
    let task = start(&home, "a", "ask-it").await;
    let ticket = home.news(&task).await.request().await;
    let model = home.as_model("a");
    assert_eq!(code(model.answer(ticket.as_str(), yes()).await), ProblemCode::Forbidden);
    assert_eq!(code(home.as_model("b").task(&task.id).await), ProblemCode::Unknown);
    assert_eq!(code(model.audit(Default::default()).await), ProblemCode::Forbidden);
    home.engine().answer(ticket.as_str(), yes()).await.unwrap();
    home.ends(&task).await;
    let rows = home.engine().audit(Default::default()).await.unwrap();
    let told: Vec<_> = rows
        .iter()
        .rev()
        .map(|row| {
            (row.action.as_str(), row.refused, row.principal.starts_with("model:"), row.decision.as_deref())
        })
        .collect();
    assert_eq!(
        told,
        [
            ("start_task", false, true, None),
            ("answer", true, true, None),
            ("reach", true, true, None),
            ("audit", true, true, None),
            ("answer", false, false, Some("accept")),
        ]
    );
    let answer = &rows[0];
    assert_eq!(answer.request.as_deref(), Some(ticket.as_str()));
    assert_eq!(answer.session.as_deref(), Some(task.session.as_str()));
    assert!(answer.digest.is_some(), "what was answered is named");
    home.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_works_only_below_what_is_opened_for_it() {
    let mut home = Home::standing_in().await;
    home.open().await;
    let (root, work) = (home.codex_home.root().to_owned(), home.codex_home.work());
    for name in ["inside", "beside/deep", "work/deep"] {
        fs::create_dir_all(root.join(name)).unwrap();
    }
    fs::create_dir(root.join("worker")).unwrap();
    symlink(root.join("beside"), work.join("out")).unwrap();
    symlink(work.join("deep"), root.join("in")).unwrap();
    fs::write(work.join("file"), "").unwrap();
    let at = |path: &Path| NewTask { cwd: path.to_str().unwrap().to_owned(), ..home.task("go") };
    for open in [work.clone(), work.join("deep"), root.join("in")] {
        start_with(&home, "a", at(&open)).await.unwrap();
    }
    let refused = [
        root.clone(),
        root.join("beside"),
        root.join("worker"),
        work.join("out"),
        work.join("out/deep"),
        Path::new("/").to_owned(),
    ];
    for closed in &refused {
        let problem = start_with(&home, "a", at(closed)).await.unwrap_err();
        assert_eq!(problem.code, ProblemCode::Forbidden, "{closed:?}");
        assert!(problem.hint.unwrap().contains("bridge.roots"));
    }
    // In and above the directory with the rules no model works, regardless of permitted directories.
    home.configure(&format!("[bridge]\nroots = [{:?}]\n", root.to_str().unwrap()));
    for kept in [root.clone(), home.talaria().root().to_owned(), home.codex_home.path()] {
        let problem = start_with(&home, "a", at(&kept)).await.unwrap_err();
        assert_eq!(problem.code, ProblemCode::Forbidden, "{kept:?}");
        assert!(problem.message.contains("is there"), "{problem:?}");
    }
    // Rules that cannot be read open nothing.
    home.configure("[bridge]\nroots = \"~/safe\"\n");
    let problem = start_with(&home, "a", at(&work)).await.unwrap_err();
    assert!(problem.message.contains("bridge.roots"), "{problem:?}");
    home.configure("");
    for bad in [work.join("missing"), work.join("file"), work.join("../beside"), "relative".into()] {
        let problem = start_with(&home, "a", at(&bad)).await.unwrap_err();
        assert_eq!(problem.code, ProblemCode::BadRequest, "{bad:?}");
    }
    let writable = NewTask {
        writable_roots: vec![root.join("beside").to_str().unwrap().to_owned()],
        ..home.writing_task("go")
    };
    let asked = start_with(&home, "a", writable).await.unwrap();
    assert_eq!(asked.status, TaskStatus::WaitingForApproval, "a person decides");
    home.cancel(&asked).await.unwrap();
    // Without a word about where it was started, nothing is open.
    let (engine, new) = (home.as_model("a"), at(&work));
    assert_eq!(code(home.on(|_| async move { engine.start_task(new).await }).await), ProblemCode::Forbidden);

    // With roots, these count, and where it was started does not.
    home.configure(&format!("[bridge.callers.a]\nroots = [\"{}\"]\n", root.join("beside").display()));
    start_with(&home, "a", at(&root.join("beside/deep"))).await.unwrap();
    start_with(&home, "a", at(&work.join("out"))).await.unwrap();
    assert_eq!(code(start_with(&home, "a", at(&work)).await), ProblemCode::Forbidden);
    start_with(&home, "b", at(&work)).await.unwrap();
    let all = home.engine().tasks(TaskQuery::default()).await.unwrap();
    assert_eq!(all.len(), 7, "nothing was written down of what was refused");
    eventually("all have ended", async || {
        let active = TaskQuery { active: true, ..TaskQuery::default() };
        home.engine().tasks(active).await.unwrap().is_empty().then_some(())
    })
    .await;
    home.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_chooses_neither_codex_home_nor_receiver() {
    let mut home = Home::standing_in().await;
    let (other, listener) = (home.codex_home.root().join("other"), home.listener());
    fs::create_dir(&other).unwrap();
    home.open().await;
    let elsewhere = || NewTask { codex_home: Some(other.to_str().unwrap().to_owned()), ..home.task("go") };
    let telling = |target: &str| NewTask { notify: vec![target.to_owned()], ..home.task("go") };
    let refused = [
        elsewhere(),
        telling(&listener.target),
        telling("webhook:https://example.org/hook"),
        telling("ntfy:topic"),
        telling("email:ada@example.org"),
        NewTask { notify: vec!["local".to_owned(), listener.target.clone()], ..home.task("go") },
    ];
    for new in refused {
        assert_eq!(code(start_with(&home, "a", new).await), ProblemCode::Forbidden);
    }
    home.configure(&format!(
        "[bridge]\ncodex_homes = [\"{}\"]\nnotify_targets = [\"{}\"]\n",
        other.display(),
        listener.target
    ));
    let task = start_with(&home, "a", elsewhere()).await.unwrap();
    assert_eq!(home.ends(&task).await.status, TaskStatus::Completed);
    assert!(other.join("sessions").exists(), "Codex keeps its things there");
    let task = start_with(&home, "a", telling(&listener.target)).await.unwrap();
    assert_eq!(listener.hears(1).await[0]["task"], task.id);
    home.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_that_became_a_link_is_not_opened_by_the_next_turn() {
    let mut home = Home::real(&Codex::v0_166()).await;
    home.open().await;
    home.model.push(Reply::say("one"));
    let out = home.codex_home.work().join("out");
    fs::create_dir(&out).unwrap();
    let roots = vec![out.to_str().unwrap().to_owned()];
    let task = home.start_task(NewTask { writable_roots: roots, ..home.writing_task("first") }).await;
    home.ends(&task).await;
    fs::remove_dir(&out).unwrap();
    symlink(home.codex_home.root(), &out).unwrap();
    home.send(&task, "second").await.unwrap();
    let ended = home.reaches_turn(&task, 2).await;
    let why = ended.outcome.unwrap().message.unwrap();
    assert!(why.contains("no longer the directory"), "{why}");
    assert_eq!(home.model.requests().len(), 1, "nothing was sent");
    home.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_that_is_named_twice_is_told_once() {
    let mut home = Home::real(&Codex::v0_166()).await;
    home.open().await;
    home.model.push(Reply::say("one"));
    let notify = vec!["command:true".to_owned(), " command:true".to_owned(), "local".to_owned()];
    let task = home.start_task(NewTask { notify, ..home.task("first") }).await;
    assert_eq!(home.ends(&task).await.notices.len(), 2);
    home.close().await;
}
