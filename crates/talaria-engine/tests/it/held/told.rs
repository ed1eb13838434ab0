//! Traffic between a person's program and the model: tools, the record of sent input, and no secret.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use talaria_codex::conversation::{CodexConversation, Options, ToolRunner, Watcher};
use talaria_codex_proto::wire::call::{DynamicTool, ThreadStart};
use talaria_core::event::{Event, Stage};
use talaria_core::input::InputPart;
use talaria_core::outcome::Outcome;
use talaria_core::policy::ApprovalPolicy;
use talaria_core::request::{Decision, Who};
use talaria_core::tool::{ToolOutcome, ToolSpec};
use talaria_scripted::{Gate, Reply, ScriptedModel};
use talaria_testkit::Codex;
use tokio::sync::mpsc;

use crate::stage::{Real, begin, both_versions};

both_versions!(
    each_step_of_sending_is_recorded_before_it_is_taken;
    newest:
    our_tools_answer_the_model_and_one_that_breaks_does_not_break_the_turn,
    a_secret_is_seen_by_the_model_and_by_nobody_else,
);

fn schema() -> Value {
    json!({ "type": "object", "properties": { "id": { "type": "string" } } })
}

async fn our_tools_answer_the_model_and_one_that_breaks_does_not_break_the_turn(codex: Codex) {
    let real = Real::start(&codex).await;
    let tools = ToolRunner::new(|call| match call.tool.as_str() {
        "lookup" => Box::pin(async move {
            ToolOutcome::done(&format!("found {}", call.arguments["id"].as_str().unwrap_or_default()))
        }),
        "breaks" => Box::pin(async { panic!("broken at work") }),
        "breaks_at_once" => panic!("broken before"),
        other => {
            let outcome = ToolOutcome::failed(&format!("no tool {other}"));
            Box::pin(async { outcome })
        }
    });
    let mut start = real.unconfined(ApprovalPolicy::Never);
    start.dynamic_tools.extend(["lookup", "breaks", "breaks_at_once", "forgotten"].map(|name| {
        let (description, schema) = ("For a test", schema());
        DynamicTool::of(&ToolSpec { name, description, schema, limit: Duration::from_secs(1) })
    }));
    for tool in ["lookup", "breaks", "breaks_at_once", "forgotten", "unheard_of"] {
        real.model.push(Reply::new().function(tool, json!({ "id": "7" })));
    }
    real.model.push(Reply::say("I have tried them."));
    let options = Options { tools, ..Options::default() };
    let ended = begin(real.session_as(start, options).await, "try them").end().await;
    assert_eq!((&ended.report.outcome, ended.text()), (&Outcome::Completed, "I have tried them."));
    let requests = real.model.requests();
    let offered = requests[0].tool_names();
    assert!(["lookup", "breaks", "forgotten"].iter().all(|tool| offered.contains(tool)), "{offered:?}");
    let told = requests.last().unwrap().tool_outputs();
    let broke = "Outcome unknown: the tool stopped with an internal error";
    let known = ["found 7", broke, broke, "no tool forgotten"];
    assert_eq!(told[..4], known);
    assert!(told[4].contains("unheard_of"), "Codex itself refuses it: {told:?}");
    assert_eq!(ended.requests(), 0, "no person is asked");
    real.close().await;
}

/// Notes the number of model requests when each stage was reported.
struct Clerk {
    model: Arc<ScriptedModel>,
    notes: Vec<(&'static str, usize)>,
    ids: Vec<Option<String>>,
    after: Vec<Option<String>>,
}

impl Watcher for Clerk {
    fn event(&mut self, event: Event) {
        let word = match event {
            Event::Ledger { stage, client_id, after } => {
                self.ids.push(client_id);
                self.after.push(after.map(|turn| turn.as_str().to_owned()));
                match stage {
                    Stage::Prepared => "prepared",
                    Stage::Sent => "sent",
                    Stage::Accepted => "accepted",
                    Stage::Settled => "settled",
                    Stage::Unknown => "unknown",
                }
            }
            Event::TurnStarted { .. } => "started",
            Event::TextDelta { .. } => "text",
            Event::Outcome(_) => "outcome",
            _ => return,
        };
        self.notes.push((word, self.model.requests().len()));
    }
}

async fn each_step_of_sending_is_recorded_before_it_is_taken(codex: Codex) {
    let Real { model, home, host, marker, .. } = Real::start(&codex).await;
    let model = Arc::new(model);
    let cwd = home.work().to_str().unwrap().to_owned();
    let start = ThreadStart { cwd, ..ThreadStart::default() };
    let mut session = CodexConversation::start(host.clone(), start, Options::default()).await.unwrap();
    let (_keep, mut commands) = mpsc::unbounded_channel();
    let keeps_ids = codex.version == "0.166.0";
    let mut last = None;
    for said in ["one", "two"] {
        model.push(Reply::say("ok"));
        let before = model.requests().len();
        let mut clerk = Clerk { model: model.clone(), notes: Vec::new(), ids: Vec::new(), after: Vec::new() };
        let input = vec![InputPart::Text { text: said.to_owned() }];
        session.run_turn(input, None, &mut commands, &mut clerk).await;
        let words: Vec<_> = clerk.notes.iter().map(|(word, _)| *word).collect();
        assert_eq!(words, ["prepared", "sent", "accepted", "started", "text", "settled", "outcome"]);
        assert_eq!([clerk.notes[0].1, clerk.notes[1].1], [before, before], "told before it is sent");
        assert!(clerk.after.iter().all(|after| *after == last), "the turn before: {:?}", clerk.after);
        assert!(
            clerk.ids.iter().all(|id| id.is_some() == keeps_ids && *id == clerk.ids[0]),
            "{:?}",
            clerk.ids
        );

        let history = host.read_thread(&session.started().thread).await.unwrap();
        let turn = history.turns.last().unwrap();
        let ours: Vec<_> = turn.said().map(|said| said.client_id.map(str::to_owned)).collect();
        assert_eq!(ours, [clerk.ids[0].clone()], "it came back with what the person said");
        last = Some(turn.id.as_str().to_owned());
    }
    drop(session);
    host.close().await;
    assert_eq!(marker.survivors(), []);
}

async fn a_secret_is_seen_by_the_model_and_by_nobody_else(codex: Codex) {
    let real = Real::start(&codex).await;
    let secret = ["gh", "p_", "x7Kp2mQ9", "vB4nR8tY", "1wZ6cL3h", "D5fJ0sGa", "Ue5i"].concat();
    let (begun, rest) = secret.split_at(9);
    let gate = Gate::new();
    real.model.push(Reply::new().command(format!("echo up; sleep 0.3; echo {secret}")));
    // Text that arrives together may be reported as one piece; the gate splits the secret into two.
    let answer = Reply::new().text(format!("The token is {begun}")).gate(&gate);
    real.model.push(answer.text(format!("{rest}, keep it.")));
    let mut turn = begin(real.session().await, &format!("use {secret} please"));
    turn.answer(Decision::Accept, Who::User).await;
    turn.until(|event| matches!(event, Event::TextDelta { .. }).then_some(())).await;
    gate.open();
    let ended = turn.end().await;
    assert_eq!(ended.report.outcome, Outcome::Completed);

    let heard = real.model.requests().pop().unwrap();
    assert!(heard.tool_outputs()[0].contains(&secret), "the model works with it: {:?}", heard.tool_outputs());
    assert!(heard.user_texts().iter().any(|text| text.contains(&secret)));
    let covered = |what: &str, text: &str| {
        // A part of it as long as this would be no cover either.
        assert!(
            !text.contains(&secret[..16]) && !text.contains(&secret[secret.len() - 12..]),
            "{what}: {text}"
        );
    };
    for event in &ended.events {
        covered("an event", &format!("{event:?}"));
        covered("an event, written", &serde_json::to_string(event).unwrap());
    }
    covered("the streamed text", &ended.streamed_text());
    covered("the report", &format!("{:?}", ended.report));
    let messages: Vec<_> = ended.session.messages().collect();
    covered("the messages", &format!("{messages:?}"));
    assert!(messages.len() >= 4, "what was said, called, answered and said: {messages:#?}");
    for text in [ended.streamed_text().as_str(), ended.text()] {
        assert!(text.starts_with("The token is ") && text.ends_with(", keep it."), "the rest stays: {text}");
    }
    assert_eq!(ended.streamed_text(), ended.text());
    real.close().await;
}
