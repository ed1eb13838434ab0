//! Every frame that was captured from the real Codex is understood, and what is not known is known not to be.

use std::collections::BTreeSet;
use std::fmt::Write;

use expect_test::expect;
use talaria_core::frame::{Decoded, decode, decode_text};
use talaria_core::wire::notification::Notification;
use talaria_core::wire::server_request::ServerRequest;
use talaria_testkit::wire::{Direction, Frame, frames};

fn captured(direction: Direction) -> impl Iterator<Item = Frame> {
    frames().filter(move |frame| frame.direction == direction)
}

fn place(frame: &Frame) -> String {
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
                    talaria_core::frame::Frame::Notification(notification) => {
                        methods.insert(notification.method())
                    }
                    talaria_core::frame::Frame::Request { request, .. } => methods.insert(request.method()),
                    talaria_core::frame::Frame::Response { .. } => false,
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
    expect![[r#"["turn/plan/updated"]"#]].assert_eq(&format!("{unseen:?}"));
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
    expect![[r#"
        0.130.0 notification rawResponseItem/completed
        0.130.0 notification thread/archived
        0.130.0 notification thread/goal/cleared
        0.130.0 request item/tool/call
        0.166.0 notification rawResponse/completed
        0.166.0 notification rawResponseItem/completed
        0.166.0 notification thread/archived
        0.166.0 notification thread/goal/cleared
        0.166.0 notification thread/settings/updated
        0.166.0 request item/tool/call
    "#]]
    .assert_eq(&list);
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
