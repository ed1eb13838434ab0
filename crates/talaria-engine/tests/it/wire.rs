//! Every frame that was captured from the real Codex is understood, and what is not known is known not to be.

use std::collections::BTreeSet;
use std::fmt::Write;

use expect_test::expect;
use talaria_codex_proto::frame::{Decoded, decode, decode_text};
use talaria_codex_proto::project;
use talaria_codex_proto::wire::notification::Notification;
use talaria_codex_proto::wire::server_request::ServerRequest;
use talaria_testkit::wire::{CapturedFrame, Direction, frames};

fn captured(direction: Direction) -> impl Iterator<Item = CapturedFrame> {
    frames().filter(move |frame| frame.direction == direction)
}

fn place(frame: &CapturedFrame) -> String {
    format!("{}/{}:{}", frame.version, frame.scenario, frame.line)
}

#[test]
fn no_frame_of_codex_is_corrupt_and_every_method_in_the_tables_fits() {
    let (mut known, mut methods) = (0, BTreeSet::new());
    for frame in captured(Direction::FromCodex) {
        match decode_text(&frame.text) {
            Decoded::Known(message) => {
                known += 1;
                match message {
                    talaria_codex_proto::frame::Frame::Notification(notification) => {
                        methods.insert(notification.method())
                    }
                    talaria_codex_proto::frame::Frame::Request { request, .. } => {
                        methods.insert(request.method())
                    }
                    talaria_codex_proto::frame::Frame::Response { .. } => false,
                };
            }
            Decoded::Unknown(unknown) => {
                let method = unknown.method.as_str();
                assert_eq!(unknown.misfit, None, "{}: {method}", place(&frame));
                let in_tables =
                    Notification::METHODS.contains(&method) || ServerRequest::METHODS.contains(&method);
                assert!(!in_tables, "{}: {method} is in the tables and not known", place(&frame));
            }
            Decoded::Corrupt(corrupt) => panic!("{}: {corrupt:?}\n{}", place(&frame), frame.text),
        }
    }
    assert!(known > 1000, "{known} frames");
    let tables = Notification::METHODS.iter().chain(ServerRequest::METHODS);
    let unseen: Vec<_> = tables.filter(|method| !methods.contains(*method)).collect();
    expect![[r#"["command/exec/outputDelta", "turn/plan/updated", "thread/compacted", "item/plan/delta", "item/fileChange/outputDelta", "item/fileChange/patchUpdated", "item/mcpToolCall/progress", "item/commandExecution/terminalInteraction", "item/autoApprovalReview/started", "item/autoApprovalReview/completed", "model/rerouted", "guardianWarning", "modelProvider/authRecoveryStarted", "modelProvider/authRecoveryCompleted", "hook/started", "hook/completed", "thread/environment/connected", "thread/environment/disconnected", "thread/name/updated", "thread/unarchived", "thread/goal/updated", "thread/queue/changed", "skills/changed", "account/updated", "account/login/completed", "account/chatgptAuthTokens/refresh", "attestation/generate", "currentTime/read"]"#]].assert_eq(&format!("{unseen:?}"));
}

#[test]
fn the_methods_that_this_build_does_not_know_are_these() {
    let mut unknown = BTreeSet::new();
    for frame in captured(Direction::FromCodex) {
        if let Decoded::Unknown(message) = decode_text(&frame.text) {
            let kind = if message.id.is_some() { "request" } else { "notification" };
            unknown.insert(format!("{} {kind} {}", frame.version, message.method));
        }
    }
    let list = unknown.into_iter().fold(String::new(), |mut list, line| {
        writeln!(list, "{line}").unwrap();
        list
    });
    expect![""].assert_eq(&list);
}

#[test]
fn every_question_that_was_captured_can_be_put_to_a_person() {
    let mut kinds = BTreeSet::new();
    for frame in captured(Direction::FromCodex) {
        if let Decoded::Known(talaria_codex_proto::frame::Frame::Request { request, .. }) =
            decode_text(&frame.text)
        {
            let ask = project::ask(&request, None);
            let is_call = matches!(request, ServerRequest::ToolCall(_));
            assert!(ask.is_answerable() != is_call, "{}: {ask:?}", place(&frame));
            kinds.insert(serde_json::to_value(&ask).unwrap()["kind"].to_string());
        }
    }
    let kinds = kinds.into_iter().collect::<Vec<_>>().join(" ");
    expect![[r#""command" "elicitation" "input" "patch" "permissions" "tool" "unsupported""#]]
        .assert_eq(&kinds);
}

#[test]
fn bytes_and_text_of_a_frame_are_decoded_alike() {
    for frame in frames() {
        let (text, bytes) = (decode_text(&frame.text), decode(frame.text.as_bytes()));
        assert_eq!(std::mem::discriminant(&text), std::mem::discriminant(&bytes), "{}", place(&frame));
    }
}

#[test]
fn no_frame_of_a_client_is_corrupt() {
    for frame in captured(Direction::ToCodex) {
        let decoded = decode_text(&frame.text);
        assert!(!matches!(decoded, Decoded::Corrupt(_)), "{}: {decoded:?}\n{}", place(&frame), frame.text);
    }
}
