//! Resuming a thread in the middle of a turn, on a host that a dead engine had started: what Codex sends to a new
//! connection, and which requests it repeats.

use serde_json::{Value, json};
use talaria_codex::attach::AttachThreadError;
use talaria_codex::client::CallError;
use talaria_codex_proto::wire::call::ThreadStart;
use talaria_codex_proto::wire::history::{HistoryItem, ThreadStatus};
use talaria_codex_proto::wire::item::WireBody;
use talaria_codex_proto::wire::notification::TurnStatus;
use talaria_core::ids::ThreadId;
use talaria_core::policy::{ApprovalPolicy, Sandbox};
use talaria_scripted::{Gate, Reply};
use talaria_testkit::{Codex, eventually};

use crate::bare::Bare;
use crate::keeping::Kept;
use crate::stage::{PATIENCE, both_versions};
use crate::threads::{exchange, runs, say};

both_versions!(
    an_open_approval_is_offered_again_after_the_answer_and_the_turn_completes,
    a_half_spoken_answer_goes_on_and_comes_whole_when_it_is_complete,
    what_is_asked_for_while_a_thread_is_loaded_is_not_looked_at,
    a_running_turn_is_told_with_what_it_did_and_the_command_that_runs;
    newest:
    a_thread_that_is_not_loaded_is_not_taken_up_as_it_is,
    a_thread_that_never_had_a_turn_cannot_be_taken_up,
);

impl Kept {
    fn asked(&self) -> ThreadStart {
        ThreadStart {
            cwd: self.home.work().to_str().unwrap().to_owned(),
            sandbox: Some(Sandbox::DangerFullAccess),
            approval_policy: Some(ApprovalPolicy::Untrusted),
            ..ThreadStart::default()
        }
    }

    /// A thread on which a turn waits for an approval; its owner is gone then.
    async fn asking(&mut self, replies: impl IntoIterator<Item = Reply>) -> ThreadId {
        self.model.push(Reply::new().text("first words").command("touch made.txt"));
        self.model.play(replies);
        let thread = self.host().start_thread(&self.asked()).await.unwrap().started.thread;
        say(self.host(), &thread, "go").await;
        self.waits_for_approval(&thread).await;
        self.change_owner().await;
        thread
    }

    async fn waits_for_approval(&self, thread: &ThreadId) {
        let mut bare = Bare::connect(&self.ledger.record().intent.socket).await;
        let is_asking =
            |told: &Value| told["thread"]["status"]["activeFlags"] == json!(["waitingOnApproval"]);
        // Reading is refused for a moment while the first turn of a thread begins.
        eventually("an approval is waited for", async || {
            let told = bare.call("thread/read", json!({ "threadId": thread })).await;
            told.is_ok_and(|told| is_asking(&told)).then_some(())
        })
        .await;
    }

    async fn bare(&self) -> Bare {
        Bare::connect(&self.ledger.record().intent.socket).await
    }
}

fn is_asking(message: &Value) -> bool {
    message["method"] == "item/commandExecution/requestApproval"
}

async fn an_open_approval_is_offered_again_after_the_answer_and_the_turn_completes(codex: Codex) {
    let mut kept = Kept::start(&codex).await;
    let thread = kept.asking([Reply::say("done")]).await;
    let attached = kept.host().attach_thread(&thread).await.unwrap();
    assert_eq!(attached.history.status, ThreadStatus::Active);
    assert_eq!(attached.history.turns.last().unwrap().status, TurnStatus::InProgress);
    assert_eq!(attached.thread.started.approval, "untrusted");

    // Another connection sees the same: the request arrives after the response, with its original id.
    let mut bare = kept.bare().await;
    bare.call("thread/resume", json!({ "threadId": thread, "excludeTurns": true })).await.unwrap();
    let told = bare.seen.len();
    assert!(!bare.seen.iter().any(is_asking), "not before the answer");
    let request = bare.until(is_asking).await;
    assert_eq!(request["id"], json!(0), "the first request of this process, counted from nothing");
    assert!(bare.seen.len() > told);
    bare.send(&json!({ "id": request["id"], "result": { "decision": "accept" } })).await;
    bare.told("serverRequest/resolved").await;
    let end = bare.told("turn/completed").await;
    assert_eq!(end["params"]["turn"]["status"], "completed");
    assert!(kept.home.work().join("made.txt").exists());
    kept.close().await;
}

async fn a_half_spoken_answer_goes_on_and_comes_whole_when_it_is_complete(codex: Codex) {
    let mut kept = Kept::start(&codex).await;
    let gate = Gate::new();
    kept.model.push(Reply::new().text("half ").gate(&gate).text("whole"));
    let thread = kept.host().start_thread(&kept.asked()).await.unwrap().started.thread;
    say(kept.host(), &thread, "go").await;
    gate.reached().await;
    kept.change_owner().await;
    let attached = kept.host().attach_thread(&thread).await.unwrap();
    let items = &attached.history.turns.last().unwrap().items;
    assert!(
        items.iter().all(|item| matches!(item.0.body, WireBody::UserMessage { .. })),
        "what is half spoken is not told: {items:?}"
    );
    let mut bare = kept.bare().await;
    bare.call("thread/resume", json!({ "threadId": thread, "excludeTurns": true })).await.unwrap();
    gate.open();
    let delta = bare.told("item/agentMessage/delta").await;
    assert_eq!(delta["params"]["delta"], "whole", "the pieces go on where they are");
    assert_eq!(bare.position("item/started"), None, "the beginning is not repeated");
    let completed = bare.told("item/completed").await;
    assert_eq!(completed["params"]["item"]["text"], "half whole");
    bare.told("rawResponseItem/completed").await;
    bare.told("turn/completed").await;
    kept.close().await;
}

async fn what_is_asked_for_while_a_thread_is_loaded_is_not_looked_at(codex: Codex) {
    let mut kept = Kept::start(&codex).await;
    let thread = kept.asking([Reply::say("done")]).await;
    let mut bare = kept.bare().await;
    let other = json!({
        "threadId": thread, "excludeTurns": true, "cwd": "/", "approvalPolicy": "never", "sandbox": "read-only",
    });
    let told = bare.call("thread/resume", other.clone()).await.unwrap();
    let in_force =
        |told: &Value| [told["approvalPolicy"].clone(), told["sandbox"]["type"].clone(), told["cwd"].clone()];
    let expected = [json!("untrusted"), json!("dangerFullAccess"), json!(kept.home.work())];
    assert_eq!(in_force(&told), expected);
    let request = bare.until(is_asking).await;
    bare.send(&json!({ "id": request["id"], "result": { "decision": "accept" } })).await;
    bare.told("turn/completed").await;
    let told = bare.call("thread/resume", other).await.unwrap();
    assert_eq!(in_force(&told), expected, "nor between turns");
    kept.close().await;
}

fn shown(item: &HistoryItem) -> String {
    match &item.0.body {
        WireBody::UserMessage { .. } => "user".to_owned(),
        WireBody::AgentMessage { text, .. } => format!("agent: {text}"),
        WireBody::CommandExecution { status, .. } => format!("command {status:?}"),
        other => format!("{other:?}"),
    }
}

async fn a_running_turn_is_told_with_what_it_did_and_the_command_that_runs(codex: Codex) {
    let mut kept = Kept::start(&codex).await;
    let thread = kept.asking([Reply::new().text("and now").command("sleep 9105")]).await;
    let mut bare = kept.bare().await;
    bare.call("thread/resume", json!({ "threadId": thread, "excludeTurns": true })).await.unwrap();
    for _ in 0..2 {
        let request = bare.until(is_asking).await;
        bare.send(&json!({ "id": request["id"], "result": { "decision": "accept" } })).await;
    }
    runs(&kept.marker, "sleep 9105", true).await;
    kept.change_owner().await;
    // The process may be there before Codex says so.
    let told = async {
        loop {
            let attached = kept.host().attach_thread(&thread).await.unwrap();
            let told: Vec<String> = attached.history.turns.last().unwrap().items.iter().map(shown).collect();
            if told.len() > 4 {
                return told;
            }
        }
    };
    let told = tokio::time::timeout(PATIENCE, told).await.unwrap();
    assert_eq!(
        told,
        ["user", "agent: first words", "command Completed", "agent: and now", "command InProgress"]
    );
    // Ending an adopted host ends the command that runs there.
    kept.close().await;
}

async fn a_thread_that_is_not_loaded_is_not_taken_up_as_it_is(codex: Codex) {
    let mut kept = Kept::start(&codex).await;
    kept.model.push(Reply::say("The word is heron."));
    let thread = kept.host().start_thread(&kept.asked()).await.unwrap().started.thread;
    exchange(kept.host(), &thread, "tell me a word").await;
    kept.host().close().await;
    kept.start_another(&codex).await;
    let refused = kept.host().attach_thread(&thread).await.unwrap_err();
    assert!(matches!(refused, AttachThreadError::NotLoaded), "{refused:?}");
    assert!(kept.host().loaded_threads().await.unwrap().is_empty(), "and stays where it is");
    let resumed = kept.host().resume_thread(&thread, &kept.asked()).await.unwrap();
    assert_eq!(resumed.started.approval, "untrusted");
    kept.close().await;
}

async fn a_thread_that_never_had_a_turn_cannot_be_taken_up(codex: Codex) {
    let mut kept = Kept::start(&codex).await;
    let thread = kept.host().start_thread(&kept.asked()).await.unwrap().started.thread;
    kept.change_owner().await;
    let refused = kept.host().attach_thread(&thread).await.unwrap_err();
    let AttachThreadError::Call(CallError::Refused { error, .. }) = &refused else { panic!("{refused:?}") };
    assert!(error.message.contains("no rollout found"), "{error}");
    kept.close().await;
}
