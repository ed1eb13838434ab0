//! Events are written as JSON and read back by other processes: nothing may be lost on the way, and each fits the OpenAPI
//! document.

use serde_json::Value;
use talaria_codex_proto::frame::{Decoded, Frame as Message, decode_text};
use talaria_codex_proto::project;
use talaria_codex_proto::wire::notification::Notification;
use talaria_core::event::{Event, Usage};
use talaria_core::ids::TicketId;
use talaria_core::outcome::{FailureCode, Outcome, Report};
use talaria_core::request::Who;
use talaria_guard::place::Place;
use talaria_testkit::ApiDocument;
use talaria_testkit::api_document::ApiSchema;
use talaria_testkit::wire::{Direction, frames};

fn assert_read_back(event: &Event, schema: &ApiSchema) {
    let written = serde_json::to_string(event).unwrap();
    schema.assert_fits(&serde_json::to_value(event).unwrap());
    let read: Event = serde_json::from_str(&written).unwrap_or_else(|error| panic!("{error}: {written}"));
    let again = serde_json::to_string(&read).unwrap();
    let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    assert_eq!(value(&again), value(&written));
}

fn events_in(frame: &str) -> Vec<Event> {
    match decode_text(frame) {
        Decoded::Known(Message::Notification(notification)) => match notification.into_owned() {
            Notification::ItemStarted(params) => {
                vec![Event::ItemStarted { item: Box::new(project::item(params.item)) }]
            }
            Notification::ItemCompleted(params) => {
                let item = Box::new(project::item(params.item));
                vec![
                    Event::AgentItemCompleted { thread: params.thread_id, item: item.clone() },
                    Event::ItemCompleted { item },
                ]
            }
            _ => Vec::new(),
        },
        Decoded::Known(Message::Request { request, .. }) => vec![Event::RequestOpened {
            id: TicketId::new("req-0123456789ab"),
            ask: Box::new(project::ask(&request, None)),
            place: Some(Place::Outside),
            digest: Some("5f".repeat(32)),
        }],
        Decoded::Unknown(unknown) => {
            vec![Event::Unknown { method: unknown.method, raw: unknown.raw }]
        }
        _ => Vec::new(),
    }
}

#[test]
fn every_step_and_request_of_the_captures_is_read_back_as_it_was_written() {
    let schema = ApiDocument::committed().schema("Event");
    let mut kinds = std::collections::BTreeSet::new();
    for frame in frames().filter(|frame| frame.direction == Direction::FromCodex) {
        for event in events_in(&frame.text) {
            assert_read_back(&event, &schema);
            let value = serde_json::to_value(&event).unwrap();
            let kind = value["item"]["kind"].as_str().or(value["kind"].as_str()).unwrap_or("unknown");
            kinds.insert(kind.to_owned());
        }
    }
    for kind in ["command", "patch", "tool", "agents", "agent_message", "input", "permissions", "elicitation"]
    {
        assert!(kinds.contains(kind), "{kind} is not among {kinds:?}");
    }
}

#[test]
fn a_report_keeps_its_outcome() {
    let schema = ApiDocument::committed().schema("Event");
    let outcomes = [
        Outcome::Completed,
        Outcome::Failed { code: FailureCode::RateLimit, message: "429".to_owned() },
        Outcome::Interrupted { by: Who::Deadline },
        Outcome::Lost { why: "gone".to_owned() },
    ];
    for outcome in outcomes {
        let report = Report::new(outcome, Some("text".to_owned()), Usage::default(), 2).with_children(1);
        let event = Event::Outcome(Box::new(report.clone()));
        assert_read_back(&event, &schema);
        let read = serde_json::from_str(&serde_json::to_string(&event).unwrap()).unwrap();
        let Event::Outcome(read) = read else { panic!("not an outcome") };
        assert_eq!(*read, report);
    }
}
