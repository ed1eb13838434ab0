//! `/status`: the state of this conversation, and below it what the engine does. The same words in both faces.

use jiff::Timestamp;
use talaria_core::api::{EngineStatus, SessionInfo};
use talaria_core::event::Stage;
use talaria_core::runtime::Runtime;
use talaria_render::{StyledText, plain_line};
use talaria_tui::chat::contract::News;
use talaria_tui::chat::{RequestedSettings, beginning, loop_beginning};

use super::super::chat_context::{Chosen, shown_path};
use super::super::errand::Place;
use super::super::loop_offers;
use super::super::reported_state::ReportedState;
use crate::advice::Reader;
use crate::amounts::since;
use crate::engine::refused;
use crate::status;
use crate::trouble::Trouble;

/// The whole page.
pub(super) async fn page(place: &Place) -> Result<StyledText, Trouble> {
    let client = &place.context.client;
    let refused = |error| refused("cannot ask the engine", &error);
    let (status, now) = (client.status().await.map_err(refused)?, Timestamp::now());
    let pairs = match &place.session {
        Some(id) => {
            let detail = client.session(id.as_str()).await.map_err(refused)?;
            let mut pairs = conversation(&detail.info, &place.reported, &place.chosen, &status, now);
            // Those of the day are below, with the engine.
            let own = detail.budgets.iter().filter(|budget| !status.budgets.contains(budget));
            pairs.extend(own.map(|budget| ("budget", budget.line())));
            pairs
        }
        None => none_yet(place).await,
    };
    let page = status::page(&status, now, place.context.look(), Reader::Chat);
    Ok(StyledText::from(format!("{}\n", lines(&pairs))) + page)
}

type Pairs = Vec<(&'static str, String)>;

fn lines(pairs: &Pairs) -> String {
    pairs.iter().map(|(name, value)| format!("{name:<13} {}\n", plain_line(value))).collect()
}

/// Settings of a new conversation.
async fn none_yet(place: &Place) -> Pairs {
    let mut pairs = vec![
        ("conversation", "none yet; your next message starts one".to_owned()),
        ("folder", shown_path(&place.cwd)),
    ];
    let context = &place.context;
    let Chosen { provider, model, effort, .. } = place.chosen.clone();
    let asked = context.asked();
    let model = model.or_else(|| context.wanted.model.clone()).or_else(|| context.usual_model(&place.chosen));
    let effort = effort.or(asked.effort.clone());
    let asked = RequestedSettings { provider, model, effort, ..asked };
    if context.new_runtime(&place.chosen).await == Runtime::OwnLoop {
        for news in loop_offers::look(context, context.new_provider(&place.chosen), &place.chosen) {
            match news {
                News::LoopOffers(offers) => pairs.extend(loop_beginning(asked.clone(), &offers)),
                News::Missing { what, remedy } => pairs.extend([("missing", what), ("", remedy)]),
                _ => {}
            }
        }
        return pairs;
    }
    match context.offers(&place.cwd).await {
        Ok(offers) => pairs.extend(beginning(asked, &offers)),
        Err(trouble) => pairs.extend([("missing", trouble.summary()), ("", trouble.hint_in_chat())]),
    }
    pairs
}

fn conversation(
    info: &SessionInfo,
    reported: &ReportedState,
    chosen: &Chosen,
    status: &EngineStatus,
    now: Timestamp,
) -> Pairs {
    let started = reported.started.as_deref();
    let is_loop = Runtime::named(&info.runtime) == Some(Runtime::OwnLoop);
    let untold = || "not known here; it is reported when a turn starts".to_owned();
    let runtime = match started.and_then(|started| started.codex_version()) {
        Some(version) => format!("Codex {version}"),
        None if is_loop => {
            let provider = started.map(|started| started.provider.clone()).or_else(|| info.provider.clone());
            format!("Talaria's built-in loop{}", provider.map(|name| format!(", {name}")).unwrap_or_default())
        }
        None => untold(),
    };
    let model = started.map(|started| started.model.clone()).or_else(|| info.model.clone());
    let effort = started.and_then(|started| started.effort.as_deref());
    let new_model = chosen.model.clone().filter(|asked| Some(asked) != model.as_ref());
    let new_model = match &chosen.provider {
        Some(provider) if is_loop => chosen.model.clone().map(|asked| format!("{asked} of {provider}")),
        _ => new_model,
    };
    let new_effort = chosen.effort.as_deref().filter(|asked| Some(*asked) != effort);
    let next = [new_model, new_effort.map(|asked| format!("effort {asked}"))];
    let effort = effort.map(|effort| format!(", effort {effort}")).unwrap_or_default();
    let next: Vec<String> = next.into_iter().flatten().collect();
    let next = if next.is_empty() {
        String::new()
    } else {
        format!("; {} requested from the next turn on", next.join(", "))
    };
    let permissions =
        started.map(|started| format!("sandbox {}, approvals {}", started.sandbox, started.approval));
    let context = reported.context.map(|(used, window)| {
        let percent = (used.saturating_mul(100) / window).min(100);
        format!("{percent}% full, {used} of {window} tokens")
    });
    vec![
        ("conversation", info.title.trim().to_owned()),
        (
            "id",
            info.task
                .as_ref()
                .map_or_else(|| info.id.short().to_owned(), |task| format!("{} ({task})", info.id.short())),
        ),
        ("folder", shown_path(&info.cwd)),
        ("runtime", runtime),
        ("model", model.map_or_else(untold, |model| model + &effort) + &next),
        ("permissions", permissions.unwrap_or_else(untold)),
        ("context", context.unwrap_or_else(|| "not known yet".to_owned())),
        ("turn", turn(info, status, now)),
    ]
}

/// State of the turn, as the engine says.
fn turn(info: &SessionInfo, status: &EngineStatus, now: Timestamp) -> String {
    let running = status.turns.iter().find(|turn| turn.session == info.id);
    let asked = status.requests.iter().filter(|request| request.session == info.id);
    let asked = asked.map(|request| request.since).min();
    match (running, asked) {
        (None, _) => "idle".to_owned(),
        (Some(turn), _) if info.queued => format!("queued for {}", since(turn.since, now)),
        (Some(turn), _) if turn.stage == Stage::Prepared => {
            format!("not sent yet; requested {} ago", since(turn.since, now))
        }
        (Some(turn), Some(asked)) => {
            format!("waiting for your answer for {}; sent {} ago", since(asked, now), since(turn.since, now))
        }
        (Some(turn), None) => format!("running for {}", since(turn.since, now)),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_conversation_says_how_it_stands() {
        let at = "2026-01-01T00:00:00Z";
        let info: SessionInfo = serde_json::from_value(json!({ "id": "s-1", "title": "mend\u{1b} it",
            "runtime": "codex", "updated_at": at, "running": true, "kind": "chat", "task": null, "cwd": "/work",
            "model": "gpt-5.5", "created_at": at, "last_seq": 9 }))
        .unwrap();
        let mut status: EngineStatus = serde_json::from_value(json!({ "engine": { "pid": 1, "version": "0", "build": 0,
            "api": 1, "home": "/", "since": at }, "hosts": [], "turns": [{ "session": "s-1", "task": null, "turn": 1,
            "stage": "accepted", "title": "", "since": at, "host": null }], "requests": [], "tasks": { "working": 0, "waiting": 0, "queued": 0 }, "limits":
            { "tasks": 0, "hosts": 0, "threads_per_host": 0, "host_memory_kib": null }, "notes": [] }))
        .unwrap();
        let now: Timestamp = "2026-01-01T00:00:12Z".parse().unwrap();
        let untold = conversation(&info, &ReportedState::default(), &Chosen::default(), &status, now);
        expect![[r#"
            conversation  mend␛ it
            id            s-1
            folder        /work
            runtime       not known here; it is reported when a turn starts
            model         gpt-5.5
            permissions   not known here; it is reported when a turn starts
            context       not known yet
            turn          running for 12 seconds
        "#]]
        .assert_eq(&lines(&untold));
        let started = serde_json::from_value(json!({ "thread": "t", "cwd": "/work", "model": "gpt-5.5",
            "provider": "p", "effort": "low", "sandbox": "read-only", "approval": "never", "codex": "0.166.0", "path": null }))
        .unwrap();
        let told = ReportedState {
            started: Some(Box::new(started)),
            context: Some((50_000, 200_000)),
            limits: None,
        };
        let chosen =
            Chosen { model: Some("gpt-5.4".to_owned()), effort: Some("low".to_owned()), ..Chosen::default() };
        let mut info = info;
        let stands = |info: &SessionInfo, status: &EngineStatus| turn(info, status, now);
        let mut asking = status.clone();
        let request = json!({ "id": "req-1", "session": "s-1", "task": null, "kind": "command", "summary": "make",
            "since": "2026-01-01T00:00:09Z", "state": "open" });
        asking.requests.push(serde_json::from_value(request).unwrap());
        assert_eq!(stands(&info, &asking), "waiting for your answer for 3 seconds; sent 12 seconds ago");
        asking.turns[0].stage = Stage::Prepared;
        asking.requests.clear();
        assert_eq!(stands(&info, &asking), "not sent yet; requested 12 seconds ago");
        info.queued = true;
        assert_eq!(stands(&info, &asking), "queued for 12 seconds", "it does not run");
        status.turns.clear();
        expect![[r#"
            conversation  mend␛ it
            id            s-1
            folder        /work
            runtime       Codex 0.166.0
            model         gpt-5.5, effort low; gpt-5.4 requested from the next turn on
            permissions   sandbox read-only, approvals never
            context       25% full, 50000 of 200000 tokens
            turn          idle
        "#]]
        .assert_eq(&lines(&conversation(&info, &told, &chosen, &status, now)));
    }
}
