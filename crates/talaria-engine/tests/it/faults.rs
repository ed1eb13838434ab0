//! Faults that the real Codex does not produce: garbage, unknown messages, frames out of order, a sudden end.
//! Over both transports.

use std::sync::Arc;

use serde_json::{Value, json};
use talaria_codex::conversation::{CodexConversation, Command, Options, ToolRunner};
use talaria_codex_proto::wire::call::ThreadStart;
use talaria_core::event::Event;
use talaria_core::ids::{ItemId, ThreadId};
use talaria_core::item::{ItemBody, Status};
use talaria_core::outcome::Outcome;
use talaria_core::request::{Ask, Decision, Who};
use talaria_testkit::app_server::directive::{
    close, exit, expect, expect_answer, huge, notify, on, raw, raw_bytes, repeat, reply, reply_error, send,
    stderr,
};
use talaria_testkit::app_server::{THREAD, TURN, agent_delta, complete_turn, start_turn};
use talaria_testkit::{AppServer, eventually};

use crate::stage::{Ended, Scripted, begin, both_transports};

both_transports!(
    garbage_is_shown_and_the_turn_completes,
    text_that_is_not_utf8_is_shown,
    a_line_of_64_megabytes_is_shown,
    a_line_just_under_the_limit_is_read,
    an_unknown_notification_is_shown_and_passed_over,
    a_known_method_in_a_new_shape_is_shown_and_passed_over,
    an_unknown_request_is_refused_with_its_id_unchanged,
    an_answer_echoes_the_id_with_its_type,
    an_overloaded_server_is_asked_again,
    an_overloaded_server_is_given_up_in_the_end,
    a_codex_that_ends_in_a_turn_loses_it_with_its_last_words,
    a_connection_that_closes_in_a_turn_loses_it,
    frames_of_another_turn_or_thread_do_not_end_ours,
    the_end_of_a_turn_before_its_answer_is_not_missed,
    an_item_that_completes_after_its_turn_is_still_shown,
    an_item_that_never_completes_is_abandoned,
    a_second_end_of_a_turn_changes_nothing,
    a_late_item_of_the_last_turn_does_not_show_in_the_next,
    a_request_that_somebody_else_resolved_is_void,
    a_question_that_cannot_be_put_is_declined_visibly,
    a_patch_whose_changes_were_never_told_says_so,
    a_sub_agents_request_reaches_its_parent_and_is_answered,
    a_sub_agents_request_that_comes_with_the_end_of_the_turn_is_put,
    a_flood_of_text_arrives_whole,
    an_interrupt_waits_until_the_turn_has_begun,
    a_refused_interrupt_is_shown_and_the_real_end_of_the_turn_counts,
    an_end_without_a_reason_is_not_a_success,
    a_call_of_a_tool_that_outlives_its_turn_is_answered,
);

const CHILD: &str = "01a1e0f0-a886-7d91-b57d-a9c3c51bc592";

async fn play(version: &str, directives: impl IntoIterator<Item = Value>) -> Scripted {
    Scripted::start(AppServer::ready(directives), version).await
}

/// Plays one turn to its end.
async fn one_turn(version: &str, middle: impl IntoIterator<Item = Value>) -> (Scripted, Ended) {
    let middle = middle.into_iter().collect();
    let scripted = play(version, [start_turn(), middle, complete_turn("the end")].concat()).await;
    let ended = begin(scripted.session().await, "go").end().await;
    (scripted, ended)
}

fn is_stdio(version: &str) -> bool {
    version == "0.126.0"
}

fn corrupt(ended: &Ended) -> Vec<(&str, usize)> {
    let mut found = Vec::new();
    for event in &ended.events {
        if let Event::Corrupt { reason, bytes } = event {
            found.push((reason.as_str(), *bytes));
        }
    }
    found
}

fn unknown(ended: &Ended) -> Vec<&str> {
    let mut methods = Vec::new();
    for event in &ended.events {
        if let Event::Unknown { method, .. } = event {
            methods.push(method.as_str());
        }
    }
    methods
}

fn completed(ended: &Ended) {
    assert_eq!(
        (&ended.report.outcome, ended.text()),
        (&Outcome::Completed, "the end"),
        "{:#?}",
        ended.events
    );
}

fn lost(ended: &Ended) -> &str {
    assert!(matches!(ended.report.outcome, Outcome::Lost { .. }), "{:?}", ended.report);
    assert_eq!(ended.report.exit_code(), 7);
    ended.report.message.as_deref().unwrap()
}

fn item(kind: &str, status: &str, id: &str) -> Value {
    json!({ "type": kind, "id": id, "command": "ls", "cwd": "/w", "status": status, "changes": [] })
}

fn item_frame(method: &str, thread: &str, turn: &str, item: Value) -> Value {
    notify(method, json!({ "threadId": thread, "turnId": turn, "item": item }))
}

fn ended_frame(thread: &str, turn: &str, status: &str) -> Value {
    notify(
        "turn/completed",
        json!({ "threadId": thread, "turn": { "id": turn, "items": [], "status": status } }),
    )
}

fn message(turn: &str, text: &str) -> Value {
    item_frame("item/completed", THREAD, turn, json!({ "type": "agentMessage", "id": "m", "text": text }))
}

fn approval(id: Value, thread: &str) -> Value {
    let params = json!({ "threadId": thread, "turnId": TURN, "itemId": "c", "command": "ls", "cwd": "/w" });
    send(json!({ "id": id, "method": "item/commandExecution/requestApproval", "params": params }))
}

/// The client's answers to requests with this id, in order.
fn answers(scripted: &Scripted, id: &Value) -> Vec<Value> {
    let received = scripted.program.received().into_iter();
    received.filter(|message| message.get("method").is_none() && message["id"] == *id).collect()
}

async fn garbage_is_shown_and_the_turn_completes(version: &str) {
    let garbage = ["thread 'main' panicked", "[1,2", "[]", "42", "{\"id\":7}", "{\"method\":7}"];
    let (scripted, ended) = one_turn(version, garbage.map(raw)).await;
    completed(&ended);
    let lengths: Vec<usize> = corrupt(&ended).iter().map(|(_, bytes)| *bytes).collect();
    assert_eq!(lengths, garbage.map(str::len), "{:#?}", ended.events);
    assert_eq!(scripted.host.unknown_messages(), (0, garbage.len() as u64));
    scripted.close().await;
}

async fn text_that_is_not_utf8_is_shown(version: &str) {
    let (scripted, ended) = one_turn(version, [raw_bytes(b"{\"method\":\"\xff\xfe\"}")]).await;
    if is_stdio(version) {
        completed(&ended);
        assert_eq!(corrupt(&ended), [("not valid UTF-8", 15)]);
    } else {
        // A websocket is not to be read on after this.
        assert!(lost(&ended).contains("not valid UTF-8"), "{:?}", ended.report.message);
    }
    ended.leave().await;
    scripted.close().await;
}

async fn a_line_of_64_megabytes_is_shown(version: &str) {
    const SIZE: usize = 64 * 1024 * 1024;
    let (scripted, ended) = one_turn(version, [huge(SIZE)]).await;
    if is_stdio(version) {
        completed(&ended);
        let [(reason, SIZE)] = corrupt(&ended)[..] else { panic!("{:?}", corrupt(&ended)) };
        assert!(reason.contains("67108864") && reason.contains("33554432"), "{reason}");
    } else {
        let why = lost(&ended);
        assert!(why.contains("67108864") && why.contains("33554432"), "{why}");
        assert!(scripted.host.account().await.unwrap_err().to_string().contains("67108864"));
    }
    ended.leave().await;
    scripted.close().await;
}

async fn a_line_just_under_the_limit_is_read(version: &str) {
    let (scripted, ended) = one_turn(version, [huge(32 * 1024 * 1024)]).await;
    completed(&ended);
    assert_eq!(unknown(&ended), ["scripted/huge"]);
    scripted.close().await;
}

async fn an_unknown_notification_is_shown_and_passed_over(version: &str) {
    let (scripted, ended) = one_turn(
        version,
        [
            notify("brand/new", json!({ "x": 1 })),
            notify("brand/new/ours", json!({ "threadId": THREAD, "turnId": TURN })),
            notify("brand/new/theirs", json!({ "threadId": CHILD })),
        ],
    )
    .await;
    completed(&ended);
    assert_eq!(unknown(&ended), ["brand/new", "brand/new/ours"], "and nothing of another thread");
    let raw = ended.events.iter().find_map(|event| match event {
        Event::Unknown { raw, .. } => Some(raw.get()),
        _ => None,
    });
    assert_eq!(raw, Some(r#"{"method":"brand/new","params":{"x":1}}"#), "as it came");
    assert_eq!(scripted.host.unknown_messages(), (3, 0));
    scripted.close().await;
}

async fn a_known_method_in_a_new_shape_is_shown_and_passed_over(version: &str) {
    let frame =
        notify("item/agentMessage/delta", json!({ "threadId": THREAD, "turnId": TURN, "delta": ["x"] }));
    let (scripted, ended) = one_turn(version, [frame]).await;
    completed(&ended);
    assert_eq!(unknown(&ended), ["item/agentMessage/delta"]);
    scripted.close().await;
}

async fn an_unknown_request_is_refused_with_its_id_unchanged(version: &str) {
    let ids = [json!(0), json!("0"), json!("seven")];
    let ask = |id: &Value| {
        let params = json!({ "threadId": THREAD, "turnId": TURN });
        [send(json!({ "id": id, "method": "brand/new/ask", "params": params })), expect_answer(id.clone())]
    };
    let (scripted, ended) = one_turn(version, ids.iter().flat_map(ask)).await;
    completed(&ended);
    assert_eq!(unknown(&ended), ["brand/new/ask"; 3]);
    for id in &ids {
        let [answer] = &answers(&scripted, id)[..] else { panic!("{:?}", scripted.program.received()) };
        assert_eq!(answer["error"]["code"], -32601, "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains("brand/new/ask"), "{answer}");
    }
    scripted.close().await;
}

async fn an_answer_echoes_the_id_with_its_type(version: &str) {
    for id in [json!(0), json!("0"), json!("a-b")] {
        let middle = vec![approval(id.clone(), THREAD), expect_answer(id.clone())];
        let scripted = play(version, [start_turn(), middle, complete_turn("the end")].concat()).await;
        let mut turn = begin(scripted.session().await, "go");
        turn.answer(Decision::Accept, Who::User).await;
        completed(&turn.end().await);
        assert_eq!(answers(&scripted, &id), [json!({ "id": id, "result": { "decision": "accept" } })]);
        scripted.close().await;
    }
}

fn overloaded() -> Vec<Value> {
    vec![
        expect("turn/start"),
        reply_error(json!({ "code": -32001, "message": "Server overloaded; retry later." })),
    ]
}

async fn an_overloaded_server_is_asked_again(version: &str) {
    let directives = [overloaded(), overloaded(), start_turn(), complete_turn("the end")].concat();
    let scripted = play(version, directives).await;
    let ended = begin(scripted.session().await, "go").end().await;
    completed(&ended);
    let received = scripted.program.received();
    let tries: Vec<_> = received.iter().filter(|message| message["method"] == "turn/start").collect();
    assert_eq!(tries.len(), 3);
    assert!(tries.iter().all(|again| again["params"] == tries[0]["params"]), "the same request");
    scripted.close().await;
}

async fn an_overloaded_server_is_given_up_in_the_end(version: &str) {
    let refusal = json!({ "code": -32001, "message": "Server overloaded; retry later." });
    let scripted = play(version, [on("turn/start", [reply_error(refusal)])]).await;
    let ended = begin(scripted.session().await, "go").end().await;
    assert_eq!(ended.report.outcome.word(), "failed");
    assert!(ended.report.message.unwrap().contains("Server overloaded"));
    scripted.close().await;
}

async fn a_codex_that_ends_in_a_turn_loses_it_with_its_last_words(version: &str) {
    let end = vec![send(agent_delta("half")), stderr("thread 'main' panicked: boom"), exit(101)];
    let scripted = play(version, [start_turn(), end].concat()).await;
    let ended = begin(scripted.session().await, "go").end().await;
    let why = lost(&ended);
    assert!(why.contains("exit status: 101") && why.contains("boom"), "{why}");
    assert_eq!(ended.streamed_text(), "half");
    ended.leave().await;
    scripted.close().await;
}

async fn a_connection_that_closes_in_a_turn_loses_it(version: &str) {
    let scripted = play(version, [start_turn(), vec![send(agent_delta("half")), close()]].concat()).await;
    let ended = begin(scripted.session().await, "go").end().await;
    let why = lost(&ended);
    assert!(why.contains("Codex"), "{why}");
    assert_eq!(ended.streamed_text(), "half");
    ended.leave().await;
    scripted.close().await;
}

async fn frames_of_another_turn_or_thread_do_not_end_ours(version: &str) {
    let delta = json!({ "threadId": THREAD, "turnId": "other", "itemId": "x", "delta": "not ours" });
    let (scripted, ended) = one_turn(
        version,
        [
            ended_frame(THREAD, "other", "interrupted"),
            ended_frame(CHILD, TURN, "failed"),
            notify("item/agentMessage/delta", delta),
            item_frame(
                "item/completed",
                CHILD,
                TURN,
                json!({ "type": "agentMessage", "id": "x", "text": "not ours" }),
            ),
            send(agent_delta("ours")),
        ],
    )
    .await;
    completed(&ended);
    assert_eq!(ended.streamed_text(), "ours");
    scripted.close().await;
}

/// Notifications may come before the answer to the request that caused them.
async fn the_end_of_a_turn_before_its_answer_is_not_missed(version: &str) {
    let turn = json!({ "id": TURN, "items": [], "status": "inProgress" });
    let early = vec![
        expect("turn/start"),
        notify("turn/started", json!({ "threadId": THREAD, "turn": turn })),
        message(TURN, "the end"),
        ended_frame(THREAD, TURN, "completed"),
        reply(json!({ "turn": turn })),
    ];
    let scripted = play(version, early).await;
    completed(&begin(scripted.session().await, "go").end().await);
    scripted.close().await;
}

async fn an_item_that_completes_after_its_turn_is_still_shown(version: &str) {
    let late = vec![
        item_frame("item/started", THREAD, TURN, item("commandExecution", "inProgress", "c")),
        message(TURN, "the end"),
        ended_frame(THREAD, TURN, "completed"),
        item_frame("item/completed", THREAD, TURN, item("commandExecution", "completed", "c")),
    ];
    let scripted = play(version, [start_turn(), late].concat()).await;
    let ended = begin(scripted.session().await, "go").end().await;
    completed(&ended);
    let [command] = &ended.commands()[..] else { panic!("{:#?}", ended.events) };
    assert!(matches!(command.body, ItemBody::Command { status: Status::Completed, .. }));
    assert!(!ended.events.iter().any(|event| matches!(event, Event::ItemAbandoned { .. })));
    scripted.close().await;
}

async fn an_item_that_never_completes_is_abandoned(version: &str) {
    let started = item_frame("item/started", THREAD, TURN, item("commandExecution", "inProgress", "c"));
    let (scripted, ended) = one_turn(version, [started]).await;
    completed(&ended);
    let abandoned =
        |event: &&Event| matches!(event, Event::ItemAbandoned { item, .. } if *item == ItemId::new("c"));
    assert_eq!(ended.events.iter().filter(abandoned).count(), 1, "{:#?}", ended.events);
    scripted.close().await;
}

/// The ordinary part of a turn with another id than the stage's.
pub(crate) fn accept_turn(turn: &str) -> Vec<Value> {
    let turn = json!({ "id": turn, "items": [], "status": "inProgress" });
    vec![
        expect("turn/start"),
        reply(json!({ "turn": turn })),
        notify("turn/started", json!({ "threadId": THREAD, "turn": turn })),
    ]
}

async fn a_second_end_of_a_turn_changes_nothing(version: &str) {
    let twice =
        [message("a", "one"), ended_frame(THREAD, "a", "completed"), ended_frame(THREAD, "a", "failed")];
    let stale =
        [ended_frame(THREAD, "a", "interrupted"), message("b", "two"), ended_frame(THREAD, "b", "completed")];
    let directives = [accept_turn("a"), twice.to_vec(), accept_turn("b"), stale.to_vec()].concat();
    let scripted = play(version, directives).await;
    let first = begin(scripted.session().await, "go").end().await;
    assert_eq!((&first.report.outcome, first.text()), (&Outcome::Completed, "one"));
    let second = begin(first.session, "go on").end().await;
    assert_eq!((&second.report.outcome, second.text()), (&Outcome::Completed, "two"), "{:#?}", second.events);
    scripted.close().await;
}

async fn a_late_item_of_the_last_turn_does_not_show_in_the_next(version: &str) {
    let first = vec![message("a", "one"), ended_frame(THREAD, "a", "completed")];
    let second = vec![
        item_frame("item/completed", THREAD, "a", item("commandExecution", "completed", "old")),
        message("a", "too late"),
        message("b", "two"),
        ended_frame(THREAD, "b", "completed"),
    ];
    let scripted = play(version, [accept_turn("a"), first, accept_turn("b"), second].concat()).await;
    let first = begin(scripted.session().await, "go").end().await;
    let second = begin(first.session, "go on").end().await;
    assert_eq!((second.text(), second.completed().len()), ("two", 1), "{:#?}", second.events);
    scripted.close().await;
}

async fn a_request_that_somebody_else_resolved_is_void(version: &str) {
    let resolved = notify("serverRequest/resolved", json!({ "threadId": THREAD, "requestId": 5 }));
    let (scripted, ended) = one_turn(version, [approval(json!(5), THREAD), resolved]).await;
    completed(&ended);
    let void = |event: &&Event| {
        matches!(event, Event::RequestClosed { decision: Decision::Void, by: Who::OtherClient, .. })
    };
    assert_eq!(ended.events.iter().filter(void).count(), 1, "{:#?}", ended.events);
    assert_eq!(answers(&scripted, &json!(5)), [] as [Value; 0], "nothing is sent for it");
    assert_eq!((ended.report.exit_code(), ended.report.declined), (0, 0));
    scripted.close().await;
}

async fn a_question_that_cannot_be_put_is_declined_visibly(version: &str) {
    let scope = json!({ "threadId": THREAD, "turnId": TURN, "itemId": "i" });
    let with = |mut params: Value, more: Value| {
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        params
    };
    let asks = [
        (
            "item/permissions/requestApproval",
            with(scope.clone(), json!({ "reason": "r", "permissions": {} })),
        ),
        ("item/tool/requestUserInput", with(scope.clone(), json!({ "questions": [] }))),
        ("mcpServer/elicitation/request", with(scope, json!({ "serverName": "s", "message": "Name?" }))),
    ];
    let directives = asks.iter().enumerate().flat_map(|(id, (method, params))| {
        [send(json!({ "id": id, "method": method, "params": params })), expect_answer(id)]
    });
    let (scripted, ended) = one_turn(version, directives.collect::<Vec<_>>()).await;
    completed(&ended);
    let closed = |event: &&Event| {
        matches!(event, Event::RequestClosed { decision: Decision::Decline, by: Who::Talaria, .. })
    };
    assert_eq!(ended.events.iter().filter(closed).count(), 3, "{:#?}", ended.events);
    assert_eq!((ended.requests(), ended.report.declined, ended.report.exit_code()), (3, 3, 3));
    scripted.close().await;
}

async fn a_patch_whose_changes_were_never_told_says_so(version: &str) {
    let params = json!({ "threadId": THREAD, "turnId": TURN, "itemId": "unheard-of" });
    let request = send(json!({ "id": 3, "method": "item/fileChange/requestApproval", "params": params }));
    let middle = vec![request, expect_answer(3)];
    let scripted = play(version, [start_turn(), middle, complete_turn("the end")].concat()).await;
    let mut turn = begin(scripted.session().await, "go");
    let ask = turn.answer(Decision::Decline, Who::User).await;
    assert!(matches!(ask, Ask::Patch { changes: None, .. }), "{ask:?}");
    completed(&turn.end().await);
    scripted.close().await;
}

async fn a_sub_agents_request_reaches_its_parent_and_is_answered(version: &str) {
    let spawned = json!({
        "type": "collabAgentToolCall", "id": "spawn", "tool": "spawnAgent", "status": "completed",
        "senderThreadId": THREAD, "receiverThreadIds": [CHILD], "agentsStates": {},
    });
    let middle = vec![
        // One arrives before the parent names its owner, one after.
        approval(json!(8), CHILD),
        item_frame("item/completed", THREAD, TURN, spawned),
        expect_answer(8),
        approval(json!(9), CHILD),
        expect_answer(9),
        notify("serverRequest/resolved", json!({ "threadId": CHILD, "requestId": 9 })),
        item_frame(
            "item/completed",
            CHILD,
            TURN,
            json!({ "type": "agentMessage", "id": "x", "text": "child's" }),
        ),
        ended_frame(CHILD, TURN, "completed"),
    ];
    let scripted = play(version, [start_turn(), middle, complete_turn("the end")].concat()).await;
    let mut turn = begin(scripted.session().await, "go");
    for _ in 0..2 {
        let ask = turn.answer(Decision::Accept, Who::User).await;
        let Ask::Command { thread, .. } = ask else { panic!("{ask:?}") };
        assert_eq!(thread.as_str(), CHILD, "it says who asks");
    }
    let ended = turn.end().await;
    completed(&ended);
    for id in [8, 9] {
        assert_eq!(answers(&scripted, &json!(id)), [json!({ "id": id, "result": { "decision": "accept" } })]);
    }
    scripted.close().await;
}

async fn a_sub_agents_request_that_comes_with_the_end_of_the_turn_is_put(version: &str) {
    let spawned = json!({
        "type": "collabAgentToolCall", "id": "spawn", "tool": "spawnAgent", "status": "completed",
        "senderThreadId": THREAD, "receiverThreadIds": [CHILD], "agentsStates": {},
    });
    // After a piece of text the session pauses for a moment, so that the end and what follows it are taken together.
    let play_of = vec![
        item_frame("item/completed", THREAD, "a", spawned),
        expect("account/read"),
        reply(json!({ "account": null, "requiresOpenaiAuth": false })),
        send(agent_delta("a piece")),
        ended_frame(THREAD, "a", "completed"),
        approval(json!(8), CHILD),
        expect_answer(8),
        ended_frame(CHILD, TURN, "completed"),
    ];
    let scripted = play(version, [accept_turn("a"), play_of].concat()).await;
    let mut turn = begin(scripted.session().await, "go");
    turn.until(|event| matches!(event, Event::ItemCompleted { .. }).then_some(())).await;
    // The sub-agent is known by now; lets the script continue.
    scripted.host.account().await.unwrap();
    let (ticket, _) = turn.request().await;
    turn.command(Command::Answer { ticket, answer: Decision::Accept.into(), by: Who::User }).await;
    let ended = turn.end().await;
    assert_eq!((&ended.report.outcome, ended.report.children_running), (&Outcome::Completed, 0));
    assert_eq!(answers(&scripted, &json!(8)), [json!({ "id": 8, "result": { "decision": "accept" } })]);
    scripted.close().await;
}

async fn a_flood_of_text_arrives_whole(version: &str) {
    const PIECES: u64 = 50_000;
    let (scripted, ended) = one_turn(version, [repeat(PIECES, agent_delta("$n "))]).await;
    completed(&ended);
    let whole: String = (0..PIECES).map(|n| format!("{n} ")).collect();
    assert!(ended.streamed_text() == whole, "{} bytes of {}", ended.streamed_text().len(), whole.len());
    scripted.close().await;
}

/// Between its answer to `turn/start` and `turn/started` the real Codex refuses an interrupt ("no active turn").
async fn an_interrupt_waits_until_the_turn_has_begun(version: &str) {
    let turn = json!({ "id": TURN, "items": [], "status": "inProgress" });
    let play_out = [
        expect("turn/start"),
        reply(json!({ "turn": turn })),
        expect("account/read"),
        reply(json!({ "account": null, "requiresOpenaiAuth": false })),
        notify("turn/started", json!({ "threadId": THREAD, "turn": turn })),
        expect("turn/interrupt"),
        reply(json!({})),
        ended_frame(THREAD, TURN, "interrupted"),
    ];
    let scripted = play(version, play_out).await;
    let mut turn = begin(scripted.session().await, "go");
    turn.until(|event| matches!(event, Event::TurnStarted { .. }).then_some(())).await;
    turn.command(Command::Interrupt { by: Who::User }).await;
    turn.until(|event| matches!(event, Event::Interrupting { .. }).then_some(())).await;
    // Lets the script continue.
    scripted.host.account().await.unwrap();
    assert_eq!(turn.end().await.report.outcome, Outcome::Interrupted { by: Who::User });
    let received = scripted.program.received();
    let methods: Vec<_> = received.iter().filter_map(|message| message["method"].as_str()).collect();
    assert_eq!(
        methods[methods.len() - 3..],
        ["turn/start", "account/read", "turn/interrupt"],
        "once, and then"
    );
    scripted.close().await;
}

/// The refusal is shown with Codex's reason, and does not end the turn: its later events count.
async fn a_refused_interrupt_is_shown_and_the_real_end_of_the_turn_counts(version: &str) {
    let refusal = reply_error(json!({ "code": -32600, "message": "no active turn to interrupt" }));
    let by = Who::User;
    for (end, outcome, text) in
        [("completed", Outcome::Completed, "the end"), ("interrupted", Outcome::Interrupted { by }, "")]
    {
        // The turn ends only once the test has seen the refusal.
        let gate = [expect("account/read"), reply(json!({ "account": null, "requiresOpenaiAuth": false }))];
        let stop = [expect("turn/interrupt"), refusal.clone()];
        let last = [message(TURN, "the end"), ended_frame(THREAD, TURN, end)];
        let scripted = play(version, [start_turn(), stop.into(), gate.into(), last.into()].concat()).await;
        let mut turn = begin(scripted.session().await, "go");
        turn.until(|event| matches!(event, Event::TurnStarted { .. }).then_some(())).await;
        turn.command(Command::Interrupt { by: Who::User }).await;
        let warning = turn.until(|event| match event {
            Event::Warning { message } => Some(message.clone()),
            _ => None,
        });
        assert_eq!(
            warning.await,
            "Codex refused to interrupt the turn (no active turn to interrupt); \
             Talaria waits up to 10 s for it to end by itself"
        );
        scripted.host.account().await.unwrap();
        let ended = turn.end().await;
        assert_eq!((&ended.report.outcome, ended.text()), (&outcome, text), "{:#?}", ended.events);
        assert!(!ended.events.iter().any(|event| matches!(event, Event::Escalated { .. })));
        assert!(scripted.host.is_alive());
        scripted.close().await;
    }
}

async fn an_end_without_a_reason_is_not_a_success(version: &str) {
    for status in ["failed", "inProgress", "brandNew"] {
        let end = vec![ended_frame(THREAD, TURN, status)];
        let scripted = play(version, [start_turn(), end].concat()).await;
        let ended = begin(scripted.session().await, "go").end().await;
        assert_ne!(ended.report.exit_code(), 0, "{status}");
        assert!(ended.report.message.is_some_and(|message| !message.is_empty()), "{status}");
        scripted.close().await;
    }
}

/// The clock is paused once the interrupt has arrived: the test does not wait for the limit.
#[tokio::test]
async fn a_codex_that_ignores_an_interrupt_is_ended_unless_others_need_it() {
    for others in [false, true] {
        let deaf = on("turn/interrupt", [reply(json!({}))]);
        let scripted = play("0.166.0", [vec![deaf], start_turn()].concat()).await;
        let _other = others.then(|| scripted.host.enter_turn(&ThreadId::new("another thread")));
        let mut turn = begin(scripted.session().await, "go");
        turn.until(|event| matches!(event, Event::TurnStarted { .. }).then_some(())).await;
        turn.command(Command::Interrupt { by: Who::User }).await;
        scripted.program.wait_received("turn/interrupt").await;
        tokio::time::pause();
        // The limit, and then what is done about it, which takes real time.
        turn.until(|event| matches!(event, Event::Escalated { .. }).then_some(())).await;
        tokio::time::resume();
        let ended = turn.end().await;
        if others {
            assert!(lost(&ended).contains("did not end the turn within 10 s"), "{:?}", ended.report);
        } else {
            assert_eq!(ended.report.outcome, Outcome::Interrupted { by: Who::User });
        }
        assert_eq!(scripted.host.is_alive(), others, "only a Codex that nobody else uses is ended");
        scripted.close().await;
    }
}

async fn a_call_of_a_tool_that_outlives_its_turn_is_answered(version: &str) {
    let call = json!({ "threadId": THREAD, "turnId": TURN, "callId": "c", "tool": "slow", "arguments": {} });
    let call = send(json!({ "id": 7, "method": "item/tool/call", "params": call }));
    let scripted =
        play(version, [start_turn(), vec![call], complete_turn("the end"), vec![expect_answer(7)]].concat())
            .await;
    let tools = ToolRunner::new(|_| Box::pin(std::future::pending()));
    let options = Options { tools, ..Options::default() };
    let start = ThreadStart { cwd: "/w".to_owned(), ..ThreadStart::default() };
    let session = CodexConversation::start(Arc::clone(&scripted.host), start, options).await.unwrap();
    completed(&begin(session, "go").end().await);
    let answer = eventually("the call is answered", async || {
        scripted.program.received().into_iter().find(|message| message["id"] == 7)
    })
    .await;
    let text = "Outcome unknown: the turn ended before the tool returned";
    let result = json!({ "contentItems": [{ "type": "inputText", "text": text }], "success": false });
    assert_eq!(answer["result"], result);
    scripted.close().await;
}
