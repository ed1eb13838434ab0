//! The contract of a thread: it keeps the tools that it was started with, and a conversation that lacks some says so once.

use serde_json::json;
use talaria_core::api::SessionStarted;
use talaria_core::event::Event;
use talaria_core::outcome::Outcome;
use talaria_scripted::Reply;
use talaria_testkit::Codex;

use crate::home::Home;
use crate::stage::both_versions;

both_versions!(
    a_conversation_without_tools_says_so_once_and_continues,
    a_plan_is_offered_unless_the_user_switched_it_off
);

const TOOL: &str = "talaria_recall";

/// Notices of the conversation about missing tools.
async fn notices(home: &Home, started: &SessionStarted) -> Vec<String> {
    let notice = |event: Event| match event {
        Event::Warning { message } if message.contains(TOOL) => Some(message),
        _ => None,
    };
    home.all(started).await.into_iter().filter_map(|numbered| notice(numbered.event)).collect()
}

/// Runs another turn of a conversation.
async fn another(home: &Home, started: &SessionStarted) {
    home.model.push(Reply::say("And so on."));
    let (id, turn) = (started.id.clone(), home.turn("go on"));
    let next = home.on(|engine| async move { engine.start_turn(id.as_str(), turn).await }).await.unwrap();
    assert_eq!(home.events(&next, next.after).await.outcome().await.outcome, Outcome::Completed);
}

async fn a_conversation_without_tools_says_so_once_and_continues(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.configure("[tools]\nrecall = false\nmemory = false\nskill = false\nweb = false\ndelegate = false\n");
    home.open().await;
    home.model.push(Reply::say("Begun."));
    let (first, _) = home.run("begin").await;
    assert_eq!(notices(&home, &first).await, [""; 0], "no tool is switched on, so it lacks none");

    home.configure("");
    another(&home, &first).await;
    let said = notices(&home, &first).await;
    let [said] = &said[..] else { panic!("{said:?}") };
    assert!(
        said.starts_with("This conversation was started without tools that new conversations have"),
        "{said}"
    );
    another(&home, &first).await;
    home.stop(false).await;
    home.open().await;
    another(&home, &first).await;
    assert_eq!(notices(&home, &first).await.len(), 1, "it is said once");
    let asked = home.model.requests().pop().unwrap();
    assert!(!asked.tool_names().contains(&TOOL), "the thread keeps what it was started with");

    home.model.play([Reply::new().function(TOOL, json!({ "query": "begin" })), Reply::say("Found.")]);
    let (second, _) = home.run("a new one").await;
    assert!(home.model.requests().pop().unwrap().tool_names().contains(&TOOL));
    assert_eq!(notices(&home, &second).await, [""; 0]);
    home.close().await;
}

/// 0.166 offers no plan by itself; 0.130 always does and cannot be asked not to.
async fn a_plan_is_offered_unless_the_user_switched_it_off(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.open().await;
    let offered = async |home: &Home| {
        home.model.push(Reply::say("ok"));
        let (started, report) = home.run("begin").await;
        assert_eq!(report.outcome, Outcome::Completed);
        (started, home.model.requests().pop().unwrap().tool_names().contains(&"update_plan"))
    };
    let (first, is_offered) = offered(&home).await;
    assert!(is_offered);
    home.stop(false).await;
    home.open().await;
    another(&home, &first).await;
    assert!(
        home.model.requests().pop().unwrap().tool_names().contains(&"update_plan"),
        "also after a resume"
    );
    home.stop(true).await;
    home.codex_home.append_config("[tools.update_plan]\nenabled = false");
    home.open().await;
    let is_always_offered = codex.version == "0.130.0";
    assert_eq!(offered(&home).await.1, is_always_offered);
    home.close().await;
}
