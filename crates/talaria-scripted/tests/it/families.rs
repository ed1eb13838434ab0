//! The same script in each family, and the faults that are the same in all of them: order, pieces, cuts.

use std::time::Duration;

use serde_json::{Value, json};
use talaria_scripted::{
    Gate, ModelRequest, Reply, ReplyEnd, ScriptedFamily, ScriptedModel, SseFraming, SseLineEnding, StreamCut,
};
use tokio::io::AsyncReadExt;

use crate::{request, rest};

fn body_of(family: ScriptedFamily, prompt: &str) -> Value {
    match family {
        ScriptedFamily::Responses => {
            json!({ "stream": true, "input": [
                { "role": "user", "content": [{ "type": "input_text", "text": prompt }] },
                { "type": "function_call_output", "call_id": "c", "output": "result" },
            ]})
        }
        ScriptedFamily::Chat => json!({
            "stream": true, "messages": [{ "role": "user", "content": prompt }, { "role": "tool", "content": "result" }],
        }),
        ScriptedFamily::Messages => json!({ "stream": true, "messages": [
            { "role": "user", "content": prompt },
            { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "c", "content": "result" }] },
        ]}),
    }
}

/// The body of an answer, without its head and without the marks of the chunks, which may divide a character.
fn unchunked(answer: &[u8]) -> String {
    let line_end = |bytes: &[u8]| bytes.windows(2).position(|pair| pair == b"\r\n");
    let head = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    let mut rest = &answer[head + 4..];
    let mut body = Vec::new();
    while let Some(end) = line_end(rest) {
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..end]).unwrap(), 16).unwrap();
        rest = &rest[end + 2..];
        if size == 0 {
            break;
        }
        body.extend_from_slice(&rest[..size]);
        rest = &rest[size + 2..];
    }
    String::from_utf8(body).unwrap()
}

async fn answer(model: &ScriptedModel, family: ScriptedFamily) -> Vec<u8> {
    let target = format!("POST {}", family.path());
    let mut stream = request(model, &target, &body_of(family, "go").to_string()).await;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await.unwrap();
    bytes
}

async fn body(model: &ScriptedModel, family: ScriptedFamily) -> String {
    unchunked(&answer(model, family).await)
}

fn count(body: &str, what: &str) -> usize {
    body.matches(what).count()
}

#[tokio::test]
async fn a_request_is_understood_in_each_family() {
    for family in ScriptedFamily::ALL {
        let model = ScriptedModel::start().await.unwrap();
        model.push(Reply::say("hello"));
        assert!(body(&model, family).await.contains("hello"));
        let asked = &model.requests()[0];
        assert_eq!((asked.family, asked.prompt()), (family, "go"));
        assert_eq!(asked.tool_outputs(), ["result"]);
        assert!(asked.is_after_tool());
        assert_eq!(asked.text, body_of(family, "go").to_string());
    }
}

#[tokio::test]
async fn framing_changes_bytes_and_nothing_else() {
    let plain = |body: &str| -> Vec<Value> {
        let body = body.trim_start_matches('\u{feff}').replace("\r\n", "\n").replace('\r', "\n");
        let events = body.split("\n\n").map(|event| {
            event.lines().filter_map(|line| line.strip_prefix("data:")).collect::<Vec<_>>().join("\n")
        });
        events.filter_map(|data| serde_json::from_str(&data).ok()).collect()
    };
    for family in ScriptedFamily::ALL {
        let usual = SseFraming::default();
        let framings = [
            usual,
            SseFraming { ending: SseLineEnding::CrLf, bom: true, names: false, ..usual },
            SseFraming { ending: SseLineEnding::Cr, space: false, ..usual },
            SseFraming { several_lines: true, piece: Some(7), ..usual },
        ];
        // Ids count the requests, so each framing has a server of its own.
        let mut read = Vec::new();
        for framing in framings {
            let model = ScriptedModel::start().await.unwrap();
            model.push(Reply::say("grüße").function("t", json!({ "x": 1 })).framing(framing));
            read.push(plain(&body(&model, family).await));
        }
        assert!(read[0].len() >= 5, "{:?}", read[0]);
        assert!(read.iter().all(|events| *events == read[0]), "{family:?}: {read:#?}");
    }
}

#[tokio::test]
async fn a_body_is_cut_where_the_test_says() {
    for family in ScriptedFamily::ALL {
        let model = ScriptedModel::start().await.unwrap();
        for how in [StreamCut::Clean, StreamCut::Dropped] {
            model.push(Reply::say("hello").cut_after(33, how));
            let answer = answer(&model, family).await;
            assert_eq!(answer.ends_with(b"0\r\n\r\n"), how == StreamCut::Clean);
            assert_eq!(unchunked(&answer).len(), 33);
        }
    }
}

#[tokio::test]
async fn what_follows_the_end_is_sent_after_it() {
    let terminals = [
        (ScriptedFamily::Responses, "event: response.completed"),
        (ScriptedFamily::Chat, "\"finish_reason\":\"stop\""),
        (ScriptedFamily::Messages, "event: message_stop"),
    ];
    for (family, terminal) in terminals {
        let model = ScriptedModel::start().await.unwrap();
        let twice = Reply::say("a").finish(ReplyEnd::Natural).text("late").finish(ReplyEnd::Natural);
        model.play([twice, Reply::say("b"), Reply::say("c").end_stream()]);
        let late = body(&model, family).await;
        assert_eq!(count(&late, terminal), 2, "{late}");
        assert!(late.find(terminal).unwrap() < late.find("late").unwrap(), "{late}");
        assert_eq!(count(&body(&model, family).await, terminal), 1);
        assert_eq!(count(&body(&model, family).await, terminal), 0);
    }
}

#[tokio::test]
async fn refusals_and_error_frames_have_the_shape_of_their_family() {
    for family in ScriptedFamily::ALL {
        let model = ScriptedModel::start().await.unwrap();
        model.play([
            Reply::refuse(403, "permission_error", "not here").header("retry-after", "3"),
            Reply::say("half").error_frame("overloaded_error", "busy"),
            Reply::say("whole").as_json(),
            Reply::html(502, "<html>bad gateway</html>"),
        ]);
        let ask = async || String::from_utf8(answer(&model, family).await).unwrap();
        let refused = ask().await;
        assert!(refused.starts_with("HTTP/1.1 403 Forbidden\r\n") && refused.contains("retry-after: 3\r\n"));
        assert!(refused.contains(&format!("{}: req_1\r\n", family.request_id_header())), "{refused}");
        let error: Value = serde_json::from_str(refused.split_once("\r\n\r\n").unwrap().1).unwrap();
        assert_eq!(error["error"]["message"], "not here");
        let code = if family == ScriptedFamily::Messages { "type" } else { "code" };
        assert_eq!(error["error"][code], "permission_error");
        let frame = unchunked(ask().await.as_bytes());
        assert!(frame.contains("busy") && frame.contains("overloaded_error"), "{frame}");
        let whole: Value = serde_json::from_str(ask().await.split_once("\r\n\r\n").unwrap().1).unwrap();
        assert!(whole.to_string().contains("\"whole\"") && whole["usage"].is_object(), "{whole}");
        let page = ask().await;
        assert!(page.contains("content-type: text/html") && page.ends_with("</html>"), "{page}");
    }
}

#[tokio::test]
async fn a_stalled_stream_pings_and_the_server_sees_the_client_leave() {
    for family in ScriptedFamily::ALL {
        let model = ScriptedModel::start().await.unwrap();
        model.push(Reply::say("half").stall_with_pings(Duration::from_millis(1)));
        let target = format!("POST {}", family.path());
        let mut stream = request(&model, &target, &body_of(family, "go").to_string()).await;
        let mut seen = String::new();
        let sign = if family == ScriptedFamily::Messages { "event: ping" } else { ": keep-alive" };
        while count(&seen, sign) < 3 {
            let mut piece = [0; 4096];
            let length = stream.read(&mut piece).await.unwrap();
            seen.push_str(&String::from_utf8_lossy(&piece[..length]));
        }
        drop(stream);
        model.wait_for_closed_streams(1).await;
    }
}

#[tokio::test]
async fn an_answer_can_be_written_byte_by_byte() {
    let model = ScriptedModel::start().await.unwrap();
    let gate = Gate::new();
    model.push(
        Reply::raw_http().bytes("HTTP/1.1 2").gate(&gate).bytes("00 OK\r\ncontent-length: 2\r\n\r\nhi"),
    );
    let stream = request(&model, "POST /v1/messages", "{}").await;
    gate.reached().await;
    gate.open();
    assert_eq!(rest(stream).await, "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi");
    assert!(model.requests().iter().all(|asked: &ModelRequest| asked.prompt().is_empty()));
}
