//! Any bytes have one of three outcomes, and the right one.

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::wire::item::WireBody;

fn outcome(bytes: &[u8]) -> String {
    match decode(bytes) {
        Decoded::Known(Frame::Notification(n)) => format!("known {} {:?}", n.method(), n.scope()),
        Decoded::Known(Frame::Request { id, request }) => format!("known {} id={id}", request.method()),
        Decoded::Known(Frame::Response { id, result }) => {
            format!("known response id={id} ok={}", result.is_ok())
        }
        Decoded::Unknown(u) => {
            format!("unknown {} id={:?} thread={:?} misfit={}", u.method, u.id, u.thread, u.misfit.is_some())
        }
        Decoded::Corrupt(c) => format!("corrupt {} bytes: {}", c.bytes, c.reason),
    }
}

fn check(bytes: &[u8], expected: Expect) {
    expected.assert_eq(&outcome(bytes));
}

#[test]
fn the_order_of_keys_does_not_matter() {
    let usual = br#"{"method":"item/agentMessage/delta","params":{"threadId":"t","turnId":"u","itemId":"i","delta":"x"},"emittedAtMs":1}"#;
    let odd = br#"{"emittedAtMs":1,"params":{"delta":"x","itemId":"i","turnId":"u","threadId":"t"},"method":"item/agentMessage/delta"}"#;
    assert_eq!(outcome(usual), outcome(odd));
    check(usual, expect![[r#"known item/agentMessage/delta Scope { thread: Some("t"), turn: Some("u") }"#]]);
}

#[test]
fn the_first_request_of_codex_has_id_zero_and_is_a_request() {
    let text = br#"{"method":"item/fileChange/requestApproval","id":0,"params":{"threadId":"t","turnId":"u","itemId":"i"}}"#;
    check(text, expect!["known item/fileChange/requestApproval id=0"]);
}

#[test]
fn a_new_method_is_unknown_and_kept_whole() {
    let text = br#" {"method":"thread/levitated","id":"a","params":{"threadId":"t","height":7}} "#;
    let Decoded::Unknown(unknown) = decode(text) else { panic!("not unknown") };
    assert_eq!(unknown.method, "thread/levitated");
    assert_eq!(unknown.id, Some(RequestId::Text("a".to_owned())));
    assert_eq!(unknown.thread, Some(ThreadId::new("t")));
    assert_eq!(unknown.raw.get().as_bytes(), text.trim_ascii());
}

#[test]
fn a_known_method_in_a_new_shape_is_unknown_not_corrupt() {
    check(
        br#"{"method":"turn/completed","params":{"threadId":"t","turn":"now a string"}}"#,
        expect!["unknown turn/completed id=None thread=Some(ThreadId(\"t\")) misfit=true"],
    );
    check(
        br#"{"method":"turn/completed","params":[1,2]}"#,
        expect!["unknown turn/completed id=None thread=None misfit=true"],
    );
}

#[test]
fn a_notification_that_suddenly_wants_an_answer_is_unknown() {
    check(
        br#"{"id":3,"method":"warning","params":{"message":"m"}}"#,
        expect!["unknown warning id=Some(Number(3)) thread=None misfit=false"],
    );
}

#[test]
fn responses_keep_result_or_error() {
    check(br#"{"id":1,"result":null}"#, expect!["known response id=1 ok=true"]);
    check(
        br#"{"id":"x","error":{"code":-32001,"message":"busy"}}"#,
        expect![[r#"known response id="x" ok=false"#]],
    );
}

#[test]
fn an_error_keeps_its_code_its_message_and_its_data() {
    let refused = |text: &str| match decode_text(text) {
        Decoded::Known(Frame::Response { result: Err(error), .. }) => (error.code, error.message, error.data),
        other => panic!("{text}: {other:?}"),
    };
    let data = serde_json::json!({ "input_error_code": "busy", "retry": [1, null] });
    let words = |text: &str| text.to_owned();
    for (text, expected) in [
        (
            r#"{"id":1,"error":{"code":-32001,"message":"busy","data":{"input_error_code":"busy","retry":[1,null]}}}"#,
            (-32001, words("busy"), Some(data.clone())),
        ),
        (
            r#"{"error":{"data":{"input_error_code":"busy","retry":[1,null]},"message":"busy","code":7,"more":1},"id":1}"#,
            (7, words("busy"), Some(data)),
        ),
        (r#"{"id":1,"error":{"code":0,"message":"m","data":"text"}}"#, (0, words("m"), Some("text".into()))),
        (r#"{"id":1,"error":{"code":0,"message":"m","data":null}}"#, (0, words("m"), None)),
        (r#"{"id":1,"error":{"code":5}}"#, (5, String::new(), None)),
    ] {
        assert_eq!(refused(text), expected, "{text}");
    }
}

#[test]
fn a_result_is_kept_as_it_came() {
    let text = r#"{"id":1,"result":{"b": 1, "a":[ null ]}}"#;
    let Decoded::Known(Frame::Response { result: Ok(result), .. }) = decode_text(text) else {
        panic!("{text}")
    };
    assert_eq!(result.get(), r#"{"b": 1, "a":[ null ]}"#);
}

#[test]
fn garbage_is_corrupt() {
    check(
        b"",
        expect!["corrupt 0 bytes: not a JSON-RPC message: EOF while parsing a value at line 1 column 0"],
    );
    check(b"\xff\xfe{}", expect!["corrupt 4 bytes: not valid UTF-8"]);
    check(b"{}", expect!["corrupt 2 bytes: not a JSON-RPC message: neither a method nor a result"]);
    check(br#"{"id":1}"#, expect!["corrupt 8 bytes: not a JSON-RPC message: neither a method nor a result"]);
    for text in ["[]", "7", r#"{"method":7}"#, r#"{"method":"warning""#, "warning: something on stdout"] {
        assert!(outcome(text.as_bytes()).starts_with("corrupt"), "{text}");
    }
}

#[test]
fn deep_nesting_does_not_overflow_the_stack() {
    let text = format!(r#"{{"method":"x","params":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    assert!(matches!(decode(text.as_bytes()), Decoded::Corrupt(_) | Decoded::Unknown(_)));
}

#[test]
fn an_item_of_a_new_kind_is_kept_whole() {
    let text = br#"{"method":"item/started","params":{"threadId":"t","turnId":"u","item":{"type":"teleport","id":"i","to":"Mars"}}}"#;
    let Decoded::Known(Frame::Notification(Notification::ItemStarted(params))) = decode(text) else {
        panic!("not known")
    };
    let WireBody::Other { kind, raw } = &params.item.body else { panic!("not kept: {:?}", params.item) };
    assert_eq!(kind, "teleport");
    assert!(raw.get().contains("Mars"));
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = decode(&bytes);
    }

    #[test]
    fn no_damage_to_a_good_message_makes_it_panic(
        at in 0usize..120,
        byte in any::<u8>(),
        cut in 0usize..120,
    ) {
        let good = br#"{"method":"item/agentMessage/delta","params":{"threadId":"t","turnId":"u","itemId":"i","delta":"x\n"}}"#;
        let mut bad = good.to_vec();
        let last = bad.len() - 1;
        bad[at.min(last)] = byte;
        let _ = decode(&bad);
        let _ = decode(&good[..cut.min(good.len())]);
    }
}
