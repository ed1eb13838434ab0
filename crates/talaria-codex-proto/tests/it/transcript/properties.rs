//! Invariants for every sequence of items, however odd.

use std::collections::HashSet;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::script::{command, drain, item, says, sent, thinks, user};
use talaria_core::outcome::{FailureCode, Outcome};
use talaria_core::request::Who;
use talaria_core::transcript::{Message, ProjectionLimits, Projector, Role};

/// What happens to a projector.
#[derive(Clone, Debug)]
enum Happening {
    Begin(Value),
    Complete(Value),
    /// The caller sends an input and records it.
    Sent(String),
    /// The caller drains the messages.
    Drain,
    Finish(usize),
}

fn any_item() -> impl Strategy<Value = Value> {
    // Few ids and texts, so that items repeat, share ids and echo.
    let id = prop::sample::select(vec!["a", "b", "c", "d", "e", "f", "g", "h"]);
    let text = prop::sample::select(vec!["", " ", "go", "stop", "All is well."]);
    let status = prop::sample::select(vec!["inProgress", "completed", "failed", "declined", "levitating"]);
    (id, text, status, 0..17_u8).prop_map(|(id, text, status, kind)| match kind {
        0 | 1 => user(id, text),
        2 | 3 => says(id, text),
        4 => thinks(id, text),
        5 | 6 => {
            let mut wire = command(id, text);
            wire["status"] = json!(status);
            wire
        }
        7 => json!({ "type": "fileChange", "id": id, "changes": [], "status": status }),
        8 => json!({ "type": "mcpToolCall", "id": id, "server": "s", "tool": text, "status": status,
                     "arguments": { "b": text, "a": 1 } }),
        9 => json!({ "type": "dynamicToolCall", "id": id, "tool": "t", "status": status }),
        10 => json!({ "type": "webSearch", "id": id, "query": text }),
        11 => json!({ "type": "enteredReviewMode", "id": id, "review": text }),
        12 => json!({ "type": "exitedReviewMode", "id": id, "review": text }),
        13 => json!({ "type": "plan", "id": id, "text": text }),
        14 => json!({ "type": "newKind", "id": id }),
        15 => json!({ "type": "reasoning", "id": id, "summary": [], "content": [text] }),
        _ => json!({ "type": "userMessage", "id": id, "clientId": id, "content": [{ "type": "hologram" }] }),
    })
}

fn any_happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        3 => any_item().prop_map(Happening::Begin),
        8 => any_item().prop_map(Happening::Complete),
        1 => prop::sample::select(vec!["go", "stop", ""]).prop_map(|text| Happening::Sent(text.to_owned())),
        2 => Just(Happening::Drain),
        1 => (0..4_usize).prop_map(Happening::Finish),
    ]
}

fn outcome(index: usize) -> Outcome {
    match index {
        0 => Outcome::Completed,
        1 => Outcome::Failed { code: FailureCode::Other, message: "x".to_owned() },
        2 => Outcome::Interrupted { by: Who::User },
        _ => Outcome::Lost { why: "gone".to_owned() },
    }
}

/// Plays events to a caller that records its own inputs; returns the whole transcript of the turn.
fn transcript(happenings: &[Happening], opening: Option<&str>) -> Vec<Message> {
    let mut projector = Projector::new(ProjectionLimits { output: 8 });
    let (mut messages, mut is_finished) = (Vec::new(), false);
    let record = |projector: &mut Projector, messages: &mut Vec<Message>, text: &str| {
        projector.sent(sent(text));
        messages.extend(drain(projector));
        messages.push(Message::user(text));
    };
    if let Some(text) = opening {
        record(&mut projector, &mut messages, text);
    }
    for happening in happenings {
        match happening {
            Happening::Begin(wire) => projector.begin(&item(wire)),
            Happening::Complete(wire) => projector.complete(&item(wire)),
            Happening::Sent(text) if !is_finished => record(&mut projector, &mut messages, text),
            Happening::Sent(_) => {}
            Happening::Drain => messages.extend(drain(&mut projector)),
            Happening::Finish(index) => {
                projector.finish(&outcome(*index));
                is_finished = true;
            }
        }
    }
    projector.finish(&Outcome::Completed);
    messages.extend(drain(&mut projector));
    messages
}

/// Says what is wrong with the order of roles.
fn disorder(messages: &[Message]) -> Option<String> {
    let roles: Vec<Role> = messages.iter().map(|message| message.role).collect();
    if roles.first() != Some(&Role::User) || roles.last() != Some(&Role::Assistant) {
        return Some(format!("begins or ends wrongly: {roles:?}"));
    }
    for pair in messages.windows(2) {
        let (before, after) = (&pair[0], &pair[1]);
        let calls = before.tool_calls.iter().any(|call| Some(&call.id) == after.tool_call_id.as_ref());
        let is_fine = match (before.role, after.role) {
            (Role::User, Role::Assistant) | (Role::Tool, Role::User | Role::Assistant) => true,
            (Role::Assistant, Role::Tool) => calls,
            (Role::Assistant, Role::User) => before.tool_calls.is_empty(),
            (Role::User, _) | (Role::Assistant, Role::Assistant) | (Role::Tool, Role::Tool) => false,
        };
        if !is_fine {
            return Some(format!("{before:?}\n{after:?}"));
        }
    }
    let is_empty = |message: &Message| message.content.is_none() && message.tool_calls.is_empty();
    messages.iter().find(|message| is_empty(message)).map(|message| format!("says nothing: {message:?}"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn roles_are_in_order_for_every_sequence(
        happenings in prop::collection::vec(any_happening(), 0..40),
        opening in prop::option::of(prop::sample::select(vec!["go", "stop"])),
    ) {
        let messages = transcript(&happenings, opening);
        prop_assert_eq!(disorder(&messages), None, "{:#?}", messages);
    }

    #[test]
    fn projecting_twice_gives_the_same_bytes(happenings in prop::collection::vec(any_happening(), 0..40)) {
        let bytes = || serde_json::to_string(&transcript(&happenings, Some("go"))).unwrap();
        prop_assert_eq!(bytes(), bytes());
    }

    #[test]
    fn when_messages_are_taken_does_not_change_them(happenings in prop::collection::vec(any_happening(), 0..40)) {
        let without: Vec<Happening> =
            happenings.iter().filter(|what| !matches!(what, Happening::Drain)).cloned().collect();
        prop_assert_eq!(transcript(&happenings, Some("go")), transcript(&without, Some("go")));
    }

    #[test]
    fn an_item_gives_at_most_one_message_of_each_role(happenings in prop::collection::vec(any_happening(), 0..40)) {
        let messages = transcript(&happenings, Some("go"));
        let mut seen = HashSet::new();
        for message in &messages {
            for source in &message.sources {
                prop_assert!(seen.insert((message.role, source.clone())), "{source:?} {messages:#?}");
            }
        }
    }

    #[test]
    fn items_that_end_twice_change_nothing(items in prop::collection::vec(any_item(), 0..20)) {
        let once: Vec<Happening> = items.iter().cloned().map(Happening::Complete).collect();
        let mut seen = HashSet::new();
        let first = |wire: &&Value| seen.insert((wire["id"].to_string(), item(wire).body.kind()));
        let distinct: Vec<Happening> = items.iter().filter(first).cloned().map(Happening::Complete).collect();
        let again: Vec<Happening> = once.iter().chain(&once).cloned().collect();
        prop_assert_eq!(transcript(&distinct, Some("go")), transcript(&again, Some("go")));
    }
}
