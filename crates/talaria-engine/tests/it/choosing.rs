//! Changing the model of a conversation, and the list of choices, with the real Codex.

use serde_json::json;
use talaria_core::api::{
    AccountInfo, Kind, LookAt, NewSession, NewTurn, ProblemCode, Say, SessionQuery, SessionStarted, When,
};
use talaria_core::event::{Event, Started};
use talaria_core::input::InputPart;
use talaria_core::outcome::Outcome;
use talaria_core::policy::ApprovalPolicy;
use talaria_core::principal::Principal;
use talaria_scripted::{Gate, Reply};
use talaria_testkit::app_server::directive::{expect, on, reply, reply_error};
use talaria_testkit::app_server::{complete_turn, start_turn};
use talaria_testkit::{AppServer, Codex};

use crate::home::{Home, calling};
use crate::stage::both_versions;

both_versions!(
    a_chosen_model_is_confirmed_by_codex_and_the_rows_follow,
    where_codex_names_no_effort_the_model_is_asked_for_its_usual_one,
    what_there_is_to_choose_is_asked_of_the_host_that_would_run_it;
    newest:
    a_chosen_model_stays_on_another_host,
    an_engine_that_comes_later_finds_out_which_model_is_in_force,
    where_nothing_is_said_codex_does_what_was_told_before,
    a_missing_login_and_a_broken_configuration_are_told,
);

/// Not the configured model. One of a newer family would make 0.166 shorten the conversation first.
const OTHER: &str = "gpt-5.4";

async fn turn(home: &Home, started: &SessionStarted, turn: NewTurn) -> SessionStarted {
    let id = started.id.clone();
    home.on(|engine| async move { engine.start_turn(id.as_str(), turn).await }).await.unwrap()
}

/// Runs a further turn to its end; returns its events.
async fn run(home: &Home, started: &SessionStarted, new: NewTurn) -> Vec<Event> {
    home.model.push(Reply::say("ok"));
    let next = turn(home, started, new).await;
    let mut events = home.events(&next, next.after).await;
    assert_eq!(events.outcome().await.outcome, Outcome::Completed, "{:#?}", events.seen);
    events.seen
}

fn choosing(home: &Home, model: &str, effort: Option<&str>) -> NewTurn {
    let (model, effort) = (Some(model.to_owned()), effort.map(str::to_owned));
    NewTurn { model, effort, ..home.turn("go on") }
}

fn confirmed(events: &[Event]) -> Vec<(&str, Option<&str>)> {
    let told = events.iter().filter_map(|event| match event {
        Event::SettingsConfirmed { model, effort } => Some((model.as_str(), effort.as_deref())),
        _ => None,
    });
    told.collect()
}

fn started(events: &[Event]) -> &Started {
    let mut begun = events.iter().filter_map(|event| match event {
        Event::SessionStarted(started) => Some(&**started),
        _ => None,
    });
    begun.next().unwrap()
}

/// The model and the effort that the last request to the model named.
fn asked(home: &Home) -> (String, String) {
    let body = home.model.requests().pop().unwrap().body;
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    (text(&body["model"]), text(&body["reasoning"]["effort"]))
}

async fn a_chosen_model_is_confirmed_by_codex_and_the_rows_follow(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.open().await;
    home.model.push(Reply::say("first"));
    let (first, _) = home.run("hello").await;
    assert_eq!(confirmed(&home.all(&first).await.into_iter().map(|n| n.event).collect::<Vec<_>>()), []);
    assert_eq!(home.detail(&first).await.info.model.as_deref(), Some("gpt-5.5"));

    let model = OTHER;
    let told = run(&home, &first, choosing(&home, model, Some("high"))).await;
    assert_eq!(started(&told).model, "gpt-5.5", "before the turn it was another one");
    assert_eq!(confirmed(&told), [(model, Some("high"))], "{told:#?}");
    assert_eq!(asked(&home), (model.to_owned(), "high".to_owned()));
    assert_eq!(home.detail(&first).await.info.model.as_deref(), Some(model));

    let told = run(&home, &first, home.turn("and on")).await;
    assert_eq!((started(&told).model.as_str(), started(&told).effort.as_deref()), (model, Some("high")));
    assert_eq!(confirmed(&told), [], "nothing changed");
    assert_eq!(asked(&home), (model.to_owned(), "high".to_owned()));

    let told = run(&home, &first, choosing(&home, model, Some("low"))).await;
    assert_eq!(confirmed(&told), [(model, Some("low"))]);
    let is_about_settings = |event: &Event| match event {
        Event::Warning { message } => message.contains("in force"),
        _ => false,
    };
    assert!(!told.iter().any(is_about_settings), "{told:#?}");
    home.close().await;
}

/// Faces show the usual effort of a model where Codex names none.
async fn where_codex_names_no_effort_the_model_is_asked_for_its_usual_one(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.open().await;
    let offers = look(&home).await.unwrap();
    home.model.push(Reply::say("first"));
    let (first, _) = home.run("hello").await;
    let mut effort = home.all(&first).await.into_iter().filter_map(|numbered| match numbered.event {
        Event::SessionStarted(started) => Some(started.effort),
        _ => None,
    });
    assert_eq!(effort.next(), Some(None));
    let usual = offers.models.iter().find(|offer| offer.id == "gpt-5.5").unwrap().default_effort.clone();
    assert_eq!(asked(&home), ("gpt-5.5".to_owned(), usual.unwrap()));
    home.close().await;
}

async fn a_chosen_model_stays_on_another_host(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.open().await;
    home.model.push(Reply::say("first"));
    let (first, _) = home.run("hello").await;
    let model = OTHER;
    run(&home, &first, choosing(&home, model, Some("high"))).await;

    let gate = Gate::new();
    home.model.push(Reply::new().gate(&gate).text("never"));
    let lost = turn(&home, &first, home.turn("die")).await;
    gate.reached().await;
    home.kill_codex(&home.hosts().await).await;
    let mut events = home.events(&lost, lost.after).await;
    assert!(matches!(events.outcome().await.outcome, Outcome::Lost { .. }));
    assert!(
        events.seen.iter().any(|event| matches!(event, Event::HostReplaced { .. })),
        "{:#?}",
        events.seen
    );
    run(&home, &first, home.turn("on another host")).await;
    assert_eq!(asked(&home), (model.to_owned(), "high".to_owned()));

    home.stop(false).await;
    home.open().await;
    let told = run(&home, &first, home.turn("with another engine")).await;
    assert_eq!((started(&told).model.as_str(), started(&told).effort.as_deref()), (model, Some("high")));
    assert_eq!(asked(&home), (model.to_owned(), "high".to_owned()));
    assert_eq!(home.detail(&first).await.info.model.as_deref(), Some(model));
    home.close().await;
}

async fn an_engine_that_comes_later_finds_out_which_model_is_in_force(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.open().await;
    home.model.push(Reply::say("first"));
    let (first, _) = home.run("hello").await;
    let (gate, model) = (Gate::new(), OTHER);
    home.model.push(Reply::new().text("half ").gate(&gate).text("whole"));
    let next = turn(&home, &first, choosing(&home, model, None)).await;
    gate.reached().await;
    home.crash().await;
    home.open().await;
    gate.open();
    let mut events = home.events(&next, next.after).await;
    assert_eq!(events.outcome().await.outcome, Outcome::Completed);
    assert_eq!(
        confirmed(&events.seen),
        [(model, None)],
        "told once, by whichever engine: {:#?}",
        events.seen
    );
    assert_eq!(home.detail(&first).await.info.model.as_deref(), Some(model));
    home.close().await;
}

async fn look(home: &Home) -> Result<talaria_core::api::Offers, talaria_core::api::Problem> {
    let cwd = home.codex_home.work().to_str().unwrap().to_owned();
    let look = LookAt { caller: home.caller.clone(), cwd };
    home.on(|engine| async move { engine.offers(look).await }).await
}

async fn what_there_is_to_choose_is_asked_of_the_host_that_would_run_it(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.codex_home.append_config("[profiles.x]\nmodel = \"unused\"");
    home.open().await;
    let offers = look(&home).await.unwrap();
    assert_eq!(offers.codex, codex.version);
    assert_eq!((offers.model.as_deref(), offers.provider.as_deref()), (Some("gpt-5.5"), Some("mock")));
    assert_eq!(offers.effort, None);
    assert_eq!((offers.account.needed, &offers.account.kind, &offers.limits), (false, &None, &None));
    assert_eq!(offers.notes, [""; 0]);
    let model = offers.models.iter().find(|offer| offer.id == "gpt-5.5").unwrap();
    assert!(model.efforts.iter().any(|offer| offer.effort == "high" && !offer.description.is_empty()));
    assert!(model.default_effort.is_some() && !model.name.is_empty() && !model.description.is_empty());
    assert_eq!(offers.models.iter().filter(|offer| offer.is_default).count(), 1);
    assert!(offers.models.len() >= 5, "{:#?}", offers.models);

    let hosts = home.hosts().await;
    assert_eq!(hosts.len(), 1);
    assert_eq!(home.engine().status().await.unwrap().hosts[0].threads, 0, "no conversation was started");
    look(&home).await.unwrap();
    home.model.push(Reply::say("ok"));
    let conversation = home.start(ApprovalPolicy::Never, "hello").await;
    home.events(&conversation, 0).await.outcome().await;
    assert_eq!(home.hosts().await, hosts, "the same host serves all of it");
    home.close().await;
}

async fn where_nothing_is_said_codex_does_what_was_told_before(codex: Codex) {
    let mut home = Home::real(&codex).await;
    let config = home.codex_home.path().join("config.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    let cwd = home.codex_home.work().to_str().unwrap().to_owned();
    home.open().await;
    for level in [None, Some("trusted"), Some("untrusted")] {
        let recorded =
            level.map(|level| format!("\n[projects.{cwd:?}]\ntrust_level = {level:?}\n")).unwrap_or_default();
        std::fs::write(&config, format!("{text}{recorded}")).unwrap();
        let offers = look(&home).await.unwrap();
        home.model.push(Reply::say("ok"));
        let new = NewSession {
            kind: Kind::Chat,
            cwd: cwd.clone(),
            model: None,
            sandbox: None,
            approval: None,
            turn: home.turn("hello"),
        };
        let begun = home.on(|engine| async move { engine.start_session(new).await }).await.unwrap();
        let mut events = home.events(&begun, 0).await;
        events.outcome().await;
        let started = started(&events.seen);
        let told = (offers.sandbox.as_deref(), offers.approval.as_deref());
        assert_eq!(told, (Some(started.sandbox.as_str()), Some(started.approval.as_str())), "{level:?}");
    }
    home.close().await;
}

async fn a_missing_login_and_a_broken_configuration_are_told(codex: Codex) {
    let mut home = Home::real(&codex).await;
    let config = home.codex_home.path().join("config.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, text.replace("wire_api", "requires_openai_auth = true\nwire_api")).unwrap();
    home.open().await;
    let offers = look(&home).await.unwrap();
    assert!(offers.account.needed, "{offers:#?}");
    assert_eq!(offers.notes, [""; 0]);

    std::fs::write(&config, format!("{text}\nmodel = [broken")).unwrap();
    let offers = look(&home).await.unwrap();
    let [note] = &offers.notes[..] else { panic!("{offers:#?}") };
    assert!(note.starts_with("Codex does not say its configuration: "), "{note}");
    assert_eq!(offers.model, None);
    assert!(!offers.models.is_empty(), "the rest is told");

    home.caller.codex = Some("/nowhere/codex".to_owned());
    let problem = look(&home).await.unwrap_err();
    assert_eq!(problem.code, ProblemCode::Codex, "{problem:?}");
    home.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_of_models_and_the_allowance_of_the_account_are_told() {
    let model =
        |id: &str, is_hidden: bool| json!({ "id": id, "model": id, "displayName": "", "hidden": is_hidden });
    let account = json!({ "type": "chatgpt", "email": "me@example.org", "planType": "pro" });
    let primary = json!({ "usedPercent": 12.5, "windowDurationMins": 300, "resetsAt": 7 });
    let config = json!({
        "model": "one", "model_reasoning_effort": "high", "sandbox_mode": "read-only",
        "approval_policy": { "granular": {} },
    });
    let (mut home, program) = Home::scripted(AppServer::ready([
        on("account/read", [reply(json!({ "account": account, "requiresOpenaiAuth": true }))]),
        on("account/rateLimits/read", [reply(json!({ "rateLimits": { "primary": primary } }))]),
        on("config/read", [reply(json!({ "config": config, "origins": {} }))]),
        expect("model/list"),
        reply(json!({ "data": [model("one", false), model("unseen", true)], "nextCursor": "two" })),
        expect("model/list"),
        reply(json!({ "data": [model("two", false)], "nextCursor": null })),
        expect("model/list"),
        reply_error(json!({ "code": -32603, "message": "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD" })),
    ]))
    .await;
    home.open().await;
    let offers = look(&home).await.unwrap();
    let ids: Vec<_> = offers.models.iter().map(|offer| (offer.id.as_str(), offer.name.as_str())).collect();
    assert_eq!(ids, [("one", "one"), ("two", "two")]);
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let AccountInfo { needed, kind, name, plan } = &offers.account;
    assert_eq!(
        (*needed, text(kind), text(name), text(plan)),
        (false, "chatgpt".into(), "me@example.org".into(), "pro".into())
    );
    assert_eq!(offers.limits.and_then(|limits| limits.primary).map(|window| window.used_percent), Some(12.5));
    let told = [&offers.model, &offers.effort, &offers.sandbox, &offers.approval].map(text);
    assert_eq!(told, ["one", "high", "read-only", "granular"]);

    let offers = look(&home).await.unwrap();
    let [note] = &offers.notes[..] else { panic!("{offers:#?}") };
    assert!(note.starts_with("Codex does not say its models: ") && !note.contains("abcdefghijkl"), "{note}");
    assert_eq!((offers.models.len(), offers.model.as_deref()), (0, Some("one")));
    let cursors: Vec<_> = program
        .received()
        .into_iter()
        .filter(|message| message["method"] == "model/list")
        .map(|message| message["params"]["cursor"].clone())
        .collect();
    assert_eq!(cursors, [json!(null), json!("two"), json!(null)]);

    let bad = LookAt { caller: home.caller.clone(), cwd: "here".to_owned() };
    let problem = home.on(|engine| async move { engine.offers(bad).await }).await.unwrap_err();
    assert_eq!(problem.code, ProblemCode::BadRequest);
    let (asked, model) = (LookAt { caller: home.caller.clone(), cwd: "/".to_owned() }, Principal::model("x"));
    let problem = home.on(|engine| async move { calling(&engine, &model).offers(asked).await });
    assert_eq!(problem.await.unwrap_err().code, ProblemCode::Forbidden, "a model asks nothing of the kind");
    home.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_has_no_allowance_to_ask_for_and_a_permission_profile_is_what_is_in_force() {
    let refused = reply_error(json!({ "code": -32600, "message": "no account" }));
    let (mut home, program) = Home::scripted(AppServer::ready([
        on("account/read", [reply(json!({ "account": { "type": "apiKey" }, "requiresOpenaiAuth": true }))]),
        on("account/rateLimits/read", [refused]),
        on(
            "config/read",
            [reply(json!({ "config": { "default_permissions": ":workspace" }, "origins": {} }))],
        ),
        on("model/list", [reply(json!({ "data": [], "nextCursor": null }))]),
    ]))
    .await;
    home.open().await;
    let offers = look(&home).await.unwrap();
    assert_eq!((offers.notes.len(), offers.account.needed, &offers.limits), (0, false, &None), "{offers:#?}");
    assert!(!program.received().iter().any(|message| message["method"] == "account/rateLimits/read"));
    assert_eq!(offers.sandbox.as_deref(), Some(":workspace"));
    home.close().await;
}

/// No model of the tested versions is without images.
#[tokio::test(flavor = "multi_thread")]
async fn images_for_a_model_that_cannot_see_them_are_refused_before_anything_is_written() {
    let model = |id: &str, modalities: &[&str]| json!({ "id": id, "model": id, "inputModalities": modalities, "isDefault": id == "sees" });
    let list = json!({
        "data": [model("gpt-5.5", &["text"]), model("sees", &["text", "image"])], "nextCursor": null,
    });
    let directives =
        [start_turn(), vec![expect("turn/steer"), reply(json!({}))], complete_turn("done")].concat();
    let handlers = [on("model/list", [reply(list)])];
    let (mut home, program) = Home::scripted(AppServer::ready(handlers.into_iter().chain(directives))).await;
    home.open().await;
    let path = home.codex_home.work().join("picture.png").to_str().unwrap().to_owned();
    std::fs::write(&path, "a picture").unwrap();
    let seen = |text: &str| {
        let image = InputPart::LocalImage { path: path.clone() };
        NewTurn { input: vec![InputPart::Text { text: text.to_owned() }, image], ..home.turn("") }
    };
    let begin = |model: Option<&str>, turn: NewTurn| {
        let cwd = home.codex_home.work().to_str().unwrap().to_owned();
        let model = model.map(str::to_owned);
        let new = NewSession { kind: Kind::Chat, cwd, model, sandbox: None, approval: None, turn };
        home.on(|engine| async move { engine.start_session(new).await })
    };
    let refused = |problem: talaria_core::api::Problem| {
        assert_eq!(
            (problem.code, problem.message.as_str()),
            (ProblemCode::BadRequest, "gpt-5.5 cannot see images")
        );
        assert!(problem.hint.unwrap().contains("such as sees:"));
    };
    refused(begin(Some("gpt-5.5"), seen("look")).await.unwrap_err());
    let sessions = home.engine().sessions(SessionQuery::default()).await.unwrap();
    assert_eq!(sessions.len(), 0, "{sessions:#?}");

    // The scripted Codex opens every thread with this model.
    let started = begin(Some("gpt-5.5"), home.turn("only words")).await.unwrap();
    home.events(&started, 0).await.is(|event| matches!(event, Event::TurnStarted { .. })).await;
    let say = |when, images| Say { text: "more".to_owned(), when, images };
    for when in [When::Now, When::Next] {
        let said = home.engine().say(started.id.as_str(), say(when, vec![path.clone()])).await;
        refused(said.map(drop).unwrap_err());
    }
    home.engine().say(started.id.as_str(), say(When::Now, Vec::new())).await.unwrap();
    assert_eq!(home.events(&started, 0).await.outcome().await.outcome, Outcome::Completed);
    let (id, further) = (started.id.clone(), seen("and now"));
    refused(
        home.on(|engine| async move { engine.start_turn(id.as_str(), further).await }).await.unwrap_err(),
    );
    assert_eq!(home.detail(&started).await.turns.len(), 1);
    assert!(!program.received().iter().any(|message| message.to_string().contains("picture.png")));
    home.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn images_are_sent_to_a_model_of_which_nothing_is_known() {
    let list = json!({ "data": [{ "id": "gpt-5.5", "model": "gpt-5.5" }], "nextCursor": null });
    for list in [reply(list), reply_error(json!({ "code": -32603, "message": "no list" }))] {
        let directives = [start_turn(), complete_turn("done")].concat();
        let handlers = [on("model/list", [list])];
        let (mut home, program) =
            Home::scripted(AppServer::ready(handlers.into_iter().chain(directives))).await;
        home.open().await;
        let image = InputPart::LocalImage { path: "/picture.png".to_owned() };
        let new = NewSession {
            kind: Kind::Chat,
            cwd: home.codex_home.work().to_str().unwrap().to_owned(),
            model: Some("gpt-5.5".to_owned()),
            sandbox: None,
            approval: None,
            turn: NewTurn { input: vec![image], ..home.turn("") },
        };
        let started = home.on(|engine| async move { engine.start_session(new).await }).await.unwrap();
        assert_eq!(home.events(&started, 0).await.outcome().await.outcome, Outcome::Completed);
        assert!(program.received().iter().any(|message| message.to_string().contains("picture.png")));
        home.close().await;
    }
}
