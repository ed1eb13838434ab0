//! Recorded shapes of the three families, and what they mean.

use super::*;
use crate::failure::FailureClass;
use crate::history::{CallInput, plain_text};
use crate::profile::{builtin_profile, builtin_profiles};

/// One line per step.
fn run(provider: &str, frames: &[&str]) -> Vec<String> {
    let profile = builtin_profile(provider).unwrap();
    let mut fold = AnswerFold::new(&profile);
    let mut lines = Vec::new();
    let mut sink = |step: AnswerStep<'_>| lines.push(line(&step));
    for frame in frames {
        let (name, data) = frame.split_once("> ").unwrap_or(("", frame));
        let name = Some(name).filter(|name| !name.is_empty());
        fold.fold(&SseSignal::Event { name, data: Cow::Borrowed(data) }, &mut sink);
    }
    lines
}

/// The same, with the end of the stream after the frames.
fn run_to_eof(provider: &str, frames: &[&str]) -> Vec<String> {
    let profile = builtin_profile(provider).unwrap();
    let mut fold = AnswerFold::new(&profile);
    let mut lines = Vec::new();
    let mut sink = |step: AnswerStep<'_>| lines.push(line(&step));
    for frame in frames {
        fold.fold(&SseSignal::Event { name: None, data: Cow::Borrowed(frame) }, &mut sink);
    }
    fold.finish("eof", &mut sink);
    lines
}

fn line(step: &AnswerStep<'_>) -> String {
    match step {
        AnswerStep::Began { id, model } => format!("began {id:?} {model:?}"),
        AnswerStep::Opened { index, kind } => format!("opened {index} {kind:?}"),
        AnswerStep::Text { index, piece } => format!("text {index} {piece}"),
        AnswerStep::Thought { index, piece } => format!("thought {index} {piece:?}"),
        AnswerStep::Done { index, item } => {
            let words = match &item.item {
                LogItem::Assistant { parts, .. } => format!("said {}", plain_text(parts)),
                LogItem::Reasoning { summary, text } => format!("thought {summary:?} {text:?}"),
                LogItem::Call { call, name, input } => {
                    format!("call {} {name} {}", call.as_str(), input.as_str())
                }
                other => format!("{other:?}"),
            };
            let native = item.native.as_ref().map_or_else(String::new, |native| {
                format!(" [{}{}]", if native.sealed { "sealed " } else { "" }, native.raw)
            });
            format!("done {index} {words}{native}")
        }
        AnswerStep::Usage(count) => format!(
            "usage in {:?} cached {:?} written {:?} out {:?} cost {:?}",
            count.input, count.cached, count.cache_write_short, count.output, count.cost
        ),
        AnswerStep::Unknown { kind, .. } => format!("unknown {kind}"),
        AnswerStep::Corrupt { bytes, .. } => format!("corrupt {bytes}"),
        AnswerStep::End(AnswerEnd::Failed(failure)) => {
            format!("end failed {} {}", failure.class, failure.text)
        }
        AnswerStep::End(end) => format!("end {end:?}"),
    }
}

#[test]
fn a_response_streams_reasoning_text_and_calls() {
    let reasoning = r#"{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"plan"}],"encrypted_content":"ENC2"}"#;
    let call = r#"{"type":"function_call","id":"fc_1","call_id":"call_1","name":"run","arguments":"{ \"b\":1,\"a\" : 2}"}"#;
    let message = r#"{"type":"message","id":"msg_1","role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"Hällo"}]}"#;
    let frames = [
        r#"{"type":"response.created","response":{"id":"resp_1","model":"gpt-5.5","output":[]}}"#.to_owned(),
        r#"{"type":"response.in_progress","response":{"id":"resp_1"}}"#.to_owned(),
        r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"rs_1","encrypted_content":"ENC1"}}"#.to_owned(),
        r#"{"type":"response.reasoning_summary_part.added","item_id":"rs_1","output_index":0,"summary_index":0}"#.to_owned(),
        r#"{"type":"response.reasoning_summary_text.delta","item_id":"rs_1","output_index":0,"delta":"plan","obfuscation":"x"}"#.to_owned(),
        r#"{"type":"response.reasoning_summary_part.added","item_id":"rs_1","output_index":0,"summary_index":1}"#.to_owned(),
        format!(r#"{{"type":"response.output_item.done","output_index":0,"item":{reasoning}}}"#),
        r#"{"type":"response.output_item.added","output_index":1,"item":{"type":"message","id":"msg_1"}}"#.to_owned(),
        r#"{"type":"response.content_part.added","output_index":1}"#.to_owned(),
        r#"{"type":"response.output_text.delta","item_id":"msg_1","output_index":1,"delta":"H\u00e4llo","logprobs":[]}"#.to_owned(),
        format!(r#"{{"type":"response.output_item.done","output_index":1,"item":{message}}}"#),
        r#"{"type":"response.output_item.added","output_index":2,"item":{"type":"function_call","id":"fc_1","name":"run"}}"#.to_owned(),
        r#"{"type":"response.function_call_arguments.delta","output_index":2,"delta":"{"}"#.to_owned(),
        format!(r#"{{"type":"response.output_item.done","output_index":2,"item":{call}}}"#),
        r#"{"type":"response.brand_new","x":1}"#.to_owned(),
        r#"{"type":"response.completed","response":{"id":"resp_1","status":"completed","output":[],
            "usage":{"input_tokens":10,"input_tokens_details":{"cached_tokens":4},"output_tokens":3,"output_tokens_details":{"reasoning_tokens":2}}}}"#.to_owned(),
    ];
    let frames: Vec<&str> = frames.iter().map(String::as_str).collect();
    assert_eq!(
        run("openai", &frames),
        [
            r#"began Some("resp_1") Some("gpt-5.5")"#.to_owned(),
            "opened 0 Reasoning".to_owned(),
            "thought 0 \"plan\"".to_owned(),
            "thought 0 \"\\n\\n\"".to_owned(),
            format!("done 0 thought [\"plan\"] [] [sealed {reasoning}]"),
            "opened 1 Text".to_owned(),
            "text 1 Hällo".to_owned(),
            format!("done 1 said Hällo [{message}]"),
            "opened 2 Call { name: \"run\" }".to_owned(),
            format!("done 2 call call_1 run {{ \"b\":1,\"a\" : 2}} [{call}]"),
            "unknown response.brand_new".to_owned(),
            "usage in Some(10) cached Some(4) written None out Some(3) cost None".to_owned(),
            "end Completed(Finished)".to_owned(),
        ]
    );
}

#[test]
fn servers_without_indexes_and_names_are_understood() {
    let frames = [
        r#"response.output_item.added> {"item":{"type":"message","id":"m"}}"#,
        r#"response.output_text.delta> {"item_id":"m","delta":"a"}"#,
        r#"response.output_text.delta> {"delta":"b"}"#,
        r#"response.output_item.done> {"item":{"type":"message","id":"m","content":[{"type":"output_text","text":"ab"}]}}"#,
        r#"response.completed> {"response":{"status":"completed","usage":null}}"#,
    ];
    let lines = run("openai", &frames);
    assert_eq!(lines[1..3], ["text 0 a", "text 0 b"]);
    assert!(lines[3].starts_with("done 0 said ab") && lines[4] == "end Completed(Finished)", "{lines:#?}");
}

#[test]
fn text_without_a_finished_item_is_cut_and_never_completed() {
    let lines = run(
        "openai",
        &[
            r#"{"type":"response.output_text.delta","item_id":"m","output_index":0,"delta":"half"}"#,
            r#"{"type":"response.completed","response":{"status":"completed","output":[{"type":"message","id":"m","content":[{"type":"output_text","text":"half"}]}]}}"#,
        ],
    );
    assert_eq!(lines[..2], ["opened 0 Text", "text 0 half"]);
    assert!(lines[2].starts_with("end Cut(") && lines.len() == 3, "{lines:#?}");
    let unstreamed = run(
        "openai",
        &[
            r#"{"type":"response.completed","response":{"status":"completed","output":[{"type":"message","id":"m","content":[{"type":"output_text","text":"all"}]}]}}"#,
        ],
    );
    assert!(unstreamed[0].starts_with("done 0 said all"), "{unstreamed:#?}");
}

#[test]
fn every_family_ends_by_its_own_evidence_and_eof_is_never_success() {
    for profile in builtin_profiles() {
        assert_eq!(run_to_eof(&profile.name, &[]), [r#"end Cut("eof")"#], "{}", profile.name);
    }
    let text = r#"{"choices":[{"index":0,"delta":{"content":"hi"}}]}"#;
    let lines = run("deepseek", &[text, "[DONE]"]);
    assert!(lines[3].starts_with("end Cut("), "[DONE] alone is no evidence: {lines:?}");
    let started = r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
    assert!(run("anthropic", &[started, r#"{"type":"message_stop"}"#])[0].starts_with("end Cut("));
}

#[test]
fn ends_that_are_no_success_say_so() {
    let end = |provider: &str, frames: &[&str]| {
        run_to_eof(provider, frames).into_iter().find(|line| line.starts_with("end")).unwrap()
    };
    assert_eq!(
        end(
            "openai",
            &[
                r#"{"type":"response.incomplete","response":{"incomplete_details":{"reason":"max_output_tokens"}}}"#
            ]
        ),
        "end Incomplete(MaxOutput)"
    );
    assert_eq!(
        end(
            "openai",
            &[
                r#"{"type":"response.failed","response":{"error":{"code":"insufficient_quota","message":"no credit"}}}"#
            ]
        ),
        "end failed quota no credit"
    );
    assert_eq!(
        end("openai", &[r#"{"type":"error","error":{"code":"slow_down","message":"busy"}}"#]),
        "end failed overloaded busy"
    );
    assert_eq!(
        end("glm", &[r#"{"choices":[{"delta":{},"finish_reason":"sensitive"}]}"#, "[DONE]"]),
        "end Incomplete(ContentFilter)"
    );
    assert_eq!(
        end("glm", &[r#"{"choices":[{"delta":{},"finish_reason":"length"}]}"#]),
        "end Incomplete(MaxOutput)"
    );
    assert_eq!(
        end(
            "openrouter",
            &[
                r#"{"error":{"code":502,"message":"Provider disconnected"},"choices":[{"delta":{"content":""},"finish_reason":"error"}]}"#
            ]
        ),
        "end failed server Provider disconnected"
    );
    assert_eq!(
        end(
            "anthropic",
            &[
                r#"{"type":"message_delta","delta":{"stop_reason":"refusal","stop_details":{"category":"cyber","explanation":"no"}}}"#
            ]
        ),
        r#"end Refused { category: Some("cyber"), text: "no" }"#
    );
    assert_eq!(
        end("anthropic", &[r#"error> {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#.split_once("> ").unwrap().1]),
        "end failed overloaded Overloaded"
    );
    assert_eq!(
        end("anthropic", &[r#"{"type":"message_delta","delta":{"stop_reason":"pause_turn"}}"#]),
        "end Completed(Paused)"
    );
}

#[test]
fn a_message_of_anthropic_keeps_signatures_and_arguments() {
    let lines = run(
        "anthropic",
        &[
            r#"message_start> {"type":"message_start","message":{"id":"msg_1","model":"claude-opus-5","usage":{"input_tokens":5,"cache_read_input_tokens":100,"cache_creation_input_tokens":20,"output_tokens":1}}}"#,
            r#"{"type":"ping"}"#,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"SIG"}}"#,
            r#"{"type":"content_block_stop","index":0}"#,
            r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"run","input":{}}}"#,
            r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":""}}"#,
            r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"b\": 1,"}}"#,
            r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":" \"a\":2}"}}"#,
            r#"{"type":"content_block_stop","index":1}"#,
            r#"{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_2","name":"list","input":{}}}"#,
            r#"{"type":"content_block_stop","index":2}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":42}}"#,
            r#"{"type":"message_stop"}"#,
            r#"{"type":"message_stop"}"#,
        ],
    );
    assert_eq!(
        lines,
        [
            r#"began Some("msg_1") Some("claude-opus-5")"#,
            "usage in Some(125) cached Some(100) written Some(20) out Some(1) cost None",
            "opened 0 Reasoning",
            "thought 0 \"hm\"",
            r#"done 0 thought [] ["hm"] [sealed {"signature":"SIG","thinking":"hm","type":"thinking"}]"#,
            "opened 1 Call { name: \"run\" }",
            r#"done 1 call toolu_1 run {"b": 1, "a":2}"#,
            "opened 2 Call { name: \"list\" }",
            "done 2 call toolu_2 list ",
            "usage in Some(125) cached Some(100) written Some(20) out Some(42) cost None",
            "end Completed(Finished)",
        ]
    );
}

#[test]
fn calls_of_chat_servers_are_assembled_as_they_were_meant() {
    let calls = |frames: &[&str]| -> Vec<String> {
        let finish = r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#;
        let frames: Vec<&str> = frames.iter().copied().chain([finish, "[DONE]"]).collect();
        run("ollama", &frames).into_iter().filter(|line| line.starts_with("done")).collect()
    };
    let delta =
        |calls: &str| format!(r#"{{"choices":[{{"delta":{{"content":null,"tool_calls":[{calls}]}}}}]}}"#);
    let (a, b) = (
        delta(r#"{"index":0,"id":"x","function":{"name":"run","arguments":"{\"a\""}}"#),
        delta(r#"{"index":0,"id":"x","function":{"name":"run","arguments":":1}"}}"#),
    );
    assert_eq!(calls(&[&a, &b]), [r#"done 2 call x run {"a":1}"#], "the name is set once");
    let c = delta(r#"{"index":0,"id":"y","function":{"name":"list","arguments":""}}"#);
    assert_eq!(
        calls(&[&a, &b, &c]),
        [r#"done 2 call x run {"a":1}"#, "done 3 call y list "],
        "another id is another call"
    );
    let (d, e) = (
        delta(r#"{"id":"z","function":{"name":"n","arguments":"{"}}"#),
        delta(r#"{"function":{"arguments":"}"}}"#),
    );
    assert_eq!(calls(&[&d, &e]), ["done 2 call z n {}"], "without an index the last call is meant");
    let whole = r#"{"choices":[{"message":{"tool_calls":[{"id":"w","function":{"name":"n","arguments":{"k":1}}}]}}]}"#;
    assert_eq!(calls(&[whole]), [r#"done 2 call w n {"k":1}"#]);
}

#[test]
fn the_usage_of_every_chat_server_is_found_and_the_last_one_wins() {
    let usage = |frames: &[&str]| {
        run_to_eof("openrouter", frames).into_iter().rfind(|line| line.starts_with("usage"))
    };
    let finish = r#""choices":[{"delta":{},"finish_reason":"stop","usage":{"prompt_tokens":9,"cached_tokens":3,"completion_tokens":1}}]"#;
    assert_eq!(
        usage(&[&format!("{{{finish}}}")]).unwrap(),
        "usage in Some(9) cached Some(3) written None out Some(1) cost None"
    );
    let own = r#"{"choices":[],"usage":{"prompt_tokens":7,"prompt_cache_hit_tokens":2,"completion_tokens":5,"cost":0.00125}}"#;
    assert_eq!(
        usage(&[&format!("{{{finish},\"usage\":null}}"), own]).unwrap(),
        "usage in Some(7) cached Some(2) written None out Some(5) cost Some(1250000)"
    );
    let groq = r#"{"choices":[],"x_groq":{"usage":{"prompt_tokens":4,"completion_tokens":2}}}"#;
    assert_eq!(usage(&[groq]).unwrap(), "usage in Some(4) cached None written None out Some(2) cost None");
}

#[test]
fn thinking_in_the_text_is_split_where_the_profile_says_so() {
    let frames = [
        r#"{"choices":[{"delta":{"content":"<thi"}}]}"#,
        r#"{"choices":[{"delta":{"content":"nk>a</think>\n\nb"}}]}"#,
        r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#,
        "[DONE]",
    ];
    let lines = run("lmstudio", &frames);
    assert_eq!(
        lines[1..],
        [
            "opened 0 Reasoning",
            "thought 0 \"a\"",
            "opened 1 Text",
            "text 1 b",
            "done 0 thought [] [\"a\"] [\"a\"]",
            "done 1 said b",
            "end Completed(Finished)"
        ]
    );
    let lines = run("openrouter", &frames);
    assert!(lines.contains(&"done 1 said <think>a</think>\n\nb".to_owned()), "{lines:#?}");
}

#[test]
fn a_relays_reasoning_details_are_kept_in_order_and_unmodified() {
    let lines = run(
        "openrouter",
        &[
            r#"{"choices":[{"delta":{"role":"assistant","content":"","reasoning":"t","reasoning_details":[{"type":"reasoning.text","text":"t","index":0}]}}]}"#,
            r#"{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.encrypted","data":"E", "index":1}]},"finish_reason":"stop"}]}"#,
            r#"{"choices":[{"delta":{"content":""},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}"#,
            "[DONE]",
        ],
    );
    assert!(
        lines.contains(&r#"done 0 thought [] ["t"] [sealed [{"type":"reasoning.text","text":"t","index":0},{"type":"reasoning.encrypted","data":"E", "index":1}]]"#.to_owned()),
        "{lines:#?}"
    );
    assert_eq!(lines.iter().filter(|line| line.starts_with("end")).count(), 1, "the finish came twice");
}

#[test]
fn data_that_is_no_frame_is_corrupt_and_ends_nothing() {
    for provider in ["openai", "anthropic", "kimi"] {
        let lines = run(provider, &["{half", "42", r#"{"type":"response.output_text.delta","delta":{}}"#]);
        assert_eq!(lines[0], "corrupt 5", "{provider}: {lines:?}");
        assert!(!lines.iter().any(|line| line.starts_with("end")), "{provider}: {lines:?}");
    }
}

#[test]
fn a_body_that_is_not_streamed_is_an_answer_or_a_failure() {
    let whole = |provider: &str, body: &str| {
        let mut lines = Vec::new();
        fold_whole(&builtin_profile(provider).unwrap(), 200, &[], body.as_bytes(), &mut |step| {
            lines.push(line(&step));
        });
        lines
            .into_iter()
            .filter(|line| line.starts_with("done") || line.starts_with("end"))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        whole(
            "anthropic",
            r#"{"type":"message","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn","usage":{}}"#
        ),
        ["done 0 said hi", "end Completed(Finished)"]
    );
    assert_eq!(
        whole(
            "kimi",
            r#"{"choices":[{"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}"#
        ),
        ["done 1 said hi", "end Completed(Finished)"]
    );
    let response = r#"{"object":"response","status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"hi"}]}]}"#;
    assert!(whole("openai", response)[0].starts_with("done 0 said hi"));
    assert_eq!(
        whole("kimi", r#"{"error":{"message":"no","code":"model_not_found"}}"#),
        ["end failed model_gone no"]
    );
    for body in ["<html><title>Login</title>", "{}", ""] {
        assert!(whole("openai", body)[0].starts_with("end failed"), "{body}");
    }
    let html = classify(body_failure("<html><title>Login</title>"));
    assert_eq!(html, FailureClass::Server);
}

fn body_failure(body: &str) -> AnswerEnd {
    let mut end = None;
    fold_whole(&builtin_profile("openai").unwrap(), 200, &[], body.as_bytes(), &mut |step| {
        if let AnswerStep::End(found) = step {
            end = Some(found);
        }
    });
    end.unwrap()
}

fn classify(end: AnswerEnd) -> FailureClass {
    match end {
        AnswerEnd::Failed(failure) => failure.class,
        other => panic!("{other:?}"),
    }
}

#[test]
fn arguments_are_kept_byte_for_byte() {
    let arguments = "{ \"z\" :\t1.0e2, \"a\":\"\\u00e4\" }";
    let frame = serde_json::json!({"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "n", "arguments": arguments}}]}, "finish_reason": "tool_calls"}]});
    let mut found = None;
    let mut fold = AnswerFold::new(&builtin_profile("groq").unwrap());
    let mut sink = |step: AnswerStep<'_>| {
        if let AnswerStep::Done { item, .. } = step {
            found = Some(item.item);
        }
    };
    fold.fold(&SseSignal::Event { name: None, data: frame.to_string().into() }, &mut sink);
    fold.finish("eof", &mut sink);
    match found {
        Some(LogItem::Call { input: CallInput::Json(text), .. }) => assert_eq!(text, arguments),
        other => panic!("{other:?}"),
    }
}

#[test]
fn fragments_of_a_relays_reasoning_details_become_the_blocks_that_they_are_parts_of() {
    let frame = |details: &str| format!(r#"{{"choices":[{{"delta":{{"reasoning_details":[{details}]}}}}]}}"#);
    let frames = [
        frame(r#"{"type":"reasoning.text","text":"He","index":0,"format":"anthropic-claude-v1"}"#),
        frame(r#"{"type":"reasoning.text","text":"llo","index":0,"signature":null,"id":null}"#),
        frame(
            r#"{"type":"reasoning.text","text":"","signature":"SIG","index":0},{"type":"reasoning.summary","summary":"a","index":1}"#,
        ),
        frame(r#"{"type":"reasoning.summary","summary":"b","index":1}"#),
        // Blocks of other kinds or with other ids are blocks of their own, whatever their index.
        frame(r#"{"type":"reasoning.encrypted","data":"E","index":0,"id":"one"}"#),
        frame(r#"{"type":"reasoning.encrypted","data":"F","index":0,"id":"two"}"#),
        frame(r#"{"type":"reasoning.encrypted","data":"G","index":0,"id":"two"}"#),
        frame(r#"{"type":"reasoning.text","text":"x"}, {"type":"reasoning.text", "text":"y"}"#),
        r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#.to_owned(),
        "[DONE]".to_owned(),
    ];
    let frames: Vec<&str> = frames.iter().map(String::as_str).collect();
    let lines = run("openrouter", &frames);
    let done = lines.iter().find(|line| line.starts_with("done 0")).unwrap();
    let raw = done.split_once("[sealed ").unwrap().1.strip_suffix(']').unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(raw).unwrap(),
        serde_json::json!([
            {"type": "reasoning.text", "text": "Hello", "index": 0, "format": "anthropic-claude-v1", "signature": "SIG", "id": null},
            {"type": "reasoning.summary", "summary": "ab", "index": 1},
            {"type": "reasoning.encrypted", "data": "E", "index": 0, "id": "one"},
            {"type": "reasoning.encrypted", "data": "FG", "index": 0, "id": "two"},
            {"type": "reasoning.text", "text": "x"},
            {"type": "reasoning.text", "text": "y"},
        ])
    );
    assert!(
        raw.ends_with(r#"{"type":"reasoning.text","text":"x"},{"type":"reasoning.text", "text":"y"}]"#),
        "{raw}"
    );
}

#[test]
fn a_call_that_was_cut_before_its_arguments_has_none() {
    let lines = run(
        "anthropic",
        &[
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"run","input":{}}}"#,
            r#"{"type":"content_block_stop","index":0}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"max_tokens"}}"#,
            r#"{"type":"message_stop"}"#,
        ],
    );
    assert!(lines.contains(&"done 0 call toolu_1 run ".to_owned()), "{lines:#?}");
}

#[test]
fn an_item_that_a_server_ends_twice_is_one_item() {
    let call = |id: &str, index: u64| {
        format!(
            r#"{{"type":"response.output_item.done","output_index":{index},"item":{{"type":"function_call","id":"fc_{id}","call_id":"call_{id}","name":"run","arguments":"{{}}"}}}}"#
        )
    };
    let completed = r#"{"type":"response.completed","response":{"status":"completed"}}"#;
    let frames = [call("a", 0), call("a", 0), call("b", 1), call("a", 0), completed.to_owned()];
    let frames: Vec<&str> = frames.iter().map(String::as_str).collect();
    let lines = run("openai", &frames);
    let done: Vec<&String> = lines.iter().filter(|line| line.starts_with("done")).collect();
    assert_eq!(done.len(), 2, "{lines:#?}");
    assert!(
        done[0].starts_with("done 0 call call_a") && done[1].starts_with("done 1 call call_b"),
        "{lines:#?}"
    );
    // A server that numbers every item 0 sends two items.
    let frames = [call("a", 0), call("b", 0), completed.to_owned()];
    let frames: Vec<&str> = frames.iter().map(String::as_str).collect();
    let lines = run("openai", &frames);
    assert_eq!(lines.iter().filter(|line| line.starts_with("done")).count(), 2, "{lines:#?}");
    assert_eq!(lines.last().unwrap(), "end Completed(Finished)");
}

/// Streams as the servers of Chat Completions were seen to write them, each with what is particular to it.
const STREAMS: [(&str, &[&str]); 13] = [
    (
        "deepseek",
        &[
            r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":null,"reasoning_content":"Hm."}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"Yes.","reasoning_content":null},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"prompt_cache_hit_tokens":4,"prompt_cache_miss_tokens":5,"completion_tokens":3}}"#,
        ],
    ),
    (
        "kimi",
        &[
            r#"{"choices":[{"index":0,"delta":{"reasoning_content":"Hm."}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"run:79","type":"function","function":{"name":"run","arguments":"{}"}}]}}]}"#,
            r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls","usage":{"prompt_tokens":9,"cached_tokens":3,"completion_tokens":1}}]}"#,
        ],
    ),
    (
        "mimo",
        &[
            r#"{"choices":[{"index":0,"delta":{"reasoning_content":"Hm."}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"run","arguments":"{\"a\":"}}]}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]},"finish_reason":"tool_calls"}]}"#,
            r#"{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":3}}"#,
        ],
    ),
    (
        "glm",
        &[
            r#"{"choices":[{"index":0,"delta":{"reasoning_content":"Hm."}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"Half"},"finish_reason":"model_context_window_exceeded"}],"usage":{"prompt_tokens":9,"completion_tokens":3}}"#,
        ],
    ),
    (
        "qwen",
        &[
            r#"{"choices":[{"index":0,"delta":{"content":null,"reasoning_content":"Hm."}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"Yes."},"finish_reason":"stop"}]}"#,
            r#"{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":2}}}"#,
        ],
    ),
    (
        "ollama",
        &[
            r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":"","reasoning":"Hm."}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"run","arguments":"{\"a\":1}"}}]}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c2","function":{"name":"run","arguments":"{\"a\":2}"}}]},"finish_reason":"stop"}]}"#,
        ],
    ),
    (
        "openrouter",
        &[
            r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":"","reasoning":"Hm.","reasoning_details":[{"type":"reasoning.text","text":"Hm.","signature":"s","index":0}]}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":"Yes."},"finish_reason":"stop"}]}"#,
            r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":3,"cost":0.002}}"#,
        ],
    ),
    (
        "groq",
        &[
            r#"{"choices":[{"index":0,"delta":{"reasoning":"Hm."}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"run","arguments":"{\"a\":1}"}}]}}]}"#,
            r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"x_groq":{"usage":{"prompt_tokens":4,"completion_tokens":2}}}"#,
        ],
    ),
    (
        "mistral",
        &[
            r#"{"choices":[{"index":0,"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm."}]}]}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"Yes."},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":3}}"#,
        ],
    ),
    (
        "gemini",
        &[
            r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"run","arguments":"{\"a\":1}"},"extra_content":{"google":{"thought_signature":"sig"}}}]}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c2","function":{"name":"run","arguments":"{\"a\":2}"}}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":3}}"#,
        ],
    ),
    (
        "vllm",
        &[
            r#"{"choices":[{"index":0,"delta":{"reasoning":"Hm."}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"Yes."},"finish_reason":"stop","stop_reason":null}]}"#,
            r#"{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":3}}"#,
        ],
    ),
    (
        "llamacpp",
        &[
            r#"{"choices":[{"index":0,"delta":{"reasoning_content":"Hm."}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"Yes."},"finish_reason":"length"}],"timings":{"prompt_n":9}}"#,
            r#"{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":8}}}"#,
        ],
    ),
    (
        "nvidia",
        &[
            r#"{"choices":[{"index":0,"delta":{"content":"","reasoning_content":"Hm."}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"Yes."},"finish_reason":"stop"}]}"#,
            r#"{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":3}}"#,
        ],
    ),
];

#[test]
fn the_stream_of_every_chat_server_means_what_the_committed_page_says() {
    let mut page = String::new();
    for (server, frames) in STREAMS {
        page.push_str(&format!(
            "# {server}\n{}\n\n",
            run_to_eof(server, &[frames, &["[DONE]"]].concat()).join("\n")
        ));
    }
    let named: Vec<&str> = STREAMS.iter().map(|(server, _)| *server).collect();
    for profile in builtin_profiles() {
        let is_like_others = profile.family != ModelFamily::Chat || profile.name == "lmstudio";
        assert!(is_like_others || named.contains(&profile.name.as_str()), "no stream of {}", profile.name);
    }
    expect_test::expect_file!["../../fixtures/streams.txt"].assert_eq(&page);
}
