//! Requests as bytes, and what holds for every conversation and every provider.

use std::collections::BTreeSet;

use proptest::prelude::*;
use talaria_core::tool::ToolEffect;

use super::*;
use crate::history::{NativeItem, WEB_SEARCH};
use crate::profile::{ThinkingParam, builtin_profile, builtin_profiles};

fn issuer(profile: &ProviderProfile) -> ModelIssuer {
    ModelIssuer {
        provider: profile.name.clone(),
        base_url: profile.base_url.clone(),
        account: Some("a1".to_owned()),
    }
}

fn head(model: &str) -> RequestHead {
    let tool = |name: &str| LoopToolSpec {
        name: name.to_owned(),
        description: format!("does {name}"),
        schema: serde_json::json!({"type": "object"}),
        effect: ToolEffect::Reads,
    };
    RequestHead::new(model, vec!["Be brief.".to_owned()], vec![tool("run"), tool("list")], "conversation-1")
}

fn renderer(profile: &ProviderProfile, model: &str) -> RequestRenderer {
    RequestRenderer::new(profile, issuer(profile), head(model), RequestOmissions::default())
}

fn render(profile: &ProviderProfile, log: &[LogEntry]) -> RenderedRequest {
    render_for(profile, "m", log)
}

fn render_for(profile: &ProviderProfile, model: &str, log: &[LogEntry]) -> RenderedRequest {
    let mut renderer = renderer(profile, model);
    log.iter().for_each(|entry| renderer.push(entry));
    renderer.render()
}

fn body(request: &RenderedRequest) -> Value {
    serde_json::from_slice(&request.body).unwrap_or_else(|error| {
        panic!("{error}: {}", String::from_utf8_lossy(&request.body));
    })
}

fn user(seq: u64, text: &str) -> LogEntry {
    LogEntry::own(seq, LogItem::User { parts: vec![LogPart::text(text)] })
}

fn answer(
    profile: &ProviderProfile,
    prefix: PrefixDigest,
    seq: u64,
    item: LogItem,
    native: Option<NativeItem>,
) -> LogEntry {
    let binding =
        ReplayBinding { family: profile.family, issuer: issuer(profile), model: "m".to_owned(), prefix };
    LogEntry { seq, attempt: Some(1), item, native, binding: Some(Box::new(binding)) }
}

fn call(id: &str, input: &str) -> LogItem {
    LogItem::Call { call: CallId::new(id), name: "run".to_owned(), input: CallInput::Json(input.to_owned()) }
}

fn result(seq: u64, id: &str, text: &str) -> LogEntry {
    let item = LogItem::Result {
        call: CallId::new(id),
        disposition: CallDisposition::Done,
        parts: vec![LogPart::text(text)],
    };
    LogEntry::own(seq, item)
}

#[test]
fn a_turn_with_a_call_has_the_shape_of_each_family() {
    let arguments = "{ \"b\":1,  \"a\":2}";
    let conversation = |name: &str| {
        let profile = builtin_profile(name).unwrap();
        let first = [user(1, "do it")];
        let prefix = render(&profile, &first).prefix;
        let sealed = |raw: &str| Some(NativeItem { raw: raw.to_owned(), sealed: true });
        let reasoning = LogItem::Reasoning { summary: vec!["s".to_owned()], text: Vec::new() };
        let raw = match profile.family {
            ModelFamily::Responses => r#"{"type":"reasoning","id":"rs_1","encrypted_content":"E"}"#,
            _ => r#"{"type":"thinking","thinking":"t","signature":"S"}"#,
        };
        let log = vec![
            user(1, "do it"),
            answer(&profile, prefix, 2, reasoning, sealed(raw)),
            answer(
                &profile,
                prefix,
                3,
                LogItem::Assistant { parts: vec![LogPart::text("ok")], phase: None },
                None,
            ),
            answer(&profile, prefix, 4, call("call_1", arguments), None),
            result(5, "call_1", "done"),
            user(6, "more"),
        ];
        render(&profile, &log)
    };
    let responses = body(&conversation("openai"));
    assert_eq!(
        responses["input"],
        serde_json::json!([
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "do it"}]},
            {"type": "reasoning", "id": "rs_1", "encrypted_content": "E"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "ok"}]},
            {"type": "function_call", "call_id": "call_1", "name": "run", "arguments": arguments},
            {"type": "function_call_output", "call_id": "call_1", "output": "done"},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "more"}]},
        ])
    );
    assert_eq!(
        (&responses["store"], &responses["prompt_cache_key"]),
        (&Value::Bool(false), &Value::from("conversation-1"))
    );
    let messages = conversation("anthropic");
    let text = String::from_utf8(messages.body.clone()).unwrap();
    assert!(text.contains(arguments), "arguments are replayed byte for byte");
    let messages = body(&messages);
    assert_eq!(
        messages["messages"],
        serde_json::json!([
            {"role": "user", "content": [{"type": "text", "text": "do it", "cache_control": {"type": "ephemeral"}}]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "t", "signature": "S"},
                {"type": "text", "text": "ok"},
                {"type": "tool_use", "id": "call_1", "name": "run", "input": {"b": 1, "a": 2}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "call_1", "content": [{"type": "text", "text": "done"}]},
                {"type": "text", "text": "more", "cache_control": {"type": "ephemeral"}},
            ]},
        ])
    );
    assert!(
        messages["tools"][1]["cache_control"].is_object()
            && messages["system"][0]["cache_control"].is_object()
    );
    let chat = body(&conversation("groq"));
    assert_eq!(
        chat["messages"],
        serde_json::json!([
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "do it"},
            {"role": "assistant", "content": "ok", "tool_calls": [
                {"id": "call_1", "type": "function", "function": {"name": "run", "arguments": arguments}}]},
            {"role": "tool", "tool_call_id": "call_1", "content": "done"},
            {"role": "user", "content": "more"},
        ])
    );
}

#[test]
fn reasoning_of_a_changed_conversation_is_left_out_with_everything_after_it() {
    let profile = builtin_profile("anthropic").unwrap();
    let prefix = render(&profile, &[user(1, "original")]).prefix;
    let native = Some(NativeItem {
        raw: r#"{"type":"thinking","thinking":"t","signature":"S"}"#.to_owned(),
        sealed: true,
    });
    let thought = LogItem::Reasoning { summary: Vec::new(), text: vec!["t".to_owned()] };
    let said = LogItem::Assistant { parts: vec![LogPart::text("ok")], phase: None };
    let log = |first: &str| {
        vec![
            user(1, first),
            answer(&profile, prefix, 2, thought.clone(), native.clone()),
            answer(&profile, prefix, 3, said.clone(), None),
            user(4, "next"),
        ]
    };
    let has_signature =
        |request: &RenderedRequest| String::from_utf8_lossy(&request.body).contains("signature");
    assert!(has_signature(&render(&profile, &log("original"))));
    let edited = render(&profile, &log("edited"));
    assert!(!has_signature(&edited));
    assert_eq!(edited.left_out, [LeftOut { seq: 2, why: LeftOutReason::VoidReasoning }]);
    let omissions = RequestOmissions { reasoning_until: Some(2), ..RequestOmissions::default() };
    let mut dropped = RequestRenderer::new(&profile, issuer(&profile), head("m"), omissions);
    log("original").iter().for_each(|entry| dropped.push(entry));
    assert!(!has_signature(&dropped.render()), "a refused one is not sent again");
}

#[test]
fn thinking_alone_is_no_message() {
    for profile in builtin_profiles() {
        let prefix = render(&profile, &[user(1, "a")]).prefix;
        let native = Some(NativeItem { raw: "\"t\"".to_owned(), sealed: false });
        let thought = LogItem::Reasoning { summary: Vec::new(), text: vec!["t".to_owned()] };
        let log = [user(1, "a"), answer(&profile, prefix, 2, thought, native), user(3, "b")];
        let request = render(&profile, &log);
        check_legal(&profile, &body(&request));
        assert_eq!(request.left_out.len(), 1, "{}: {:?}", profile.name, request.left_out);
    }
}

#[test]
fn providers_that_want_reasoning_back_get_it_and_a_placeholder_where_there_is_none() {
    let with = |name: &str, is_own: bool| {
        let profile = builtin_profile(name).unwrap();
        let author = if is_own { profile.clone() } else { builtin_profile("groq").unwrap() };
        let prefix = render(&profile, &[user(1, "a")]).prefix;
        let native = Some(NativeItem { raw: "\"t\"".to_owned(), sealed: false });
        let thought = LogItem::Reasoning { summary: Vec::new(), text: vec!["t".to_owned()] };
        let log = [
            user(1, "a"),
            answer(&author, prefix, 2, thought, native),
            answer(
                &author,
                prefix,
                3,
                LogItem::Assistant { parts: vec![LogPart::text("ok")], phase: None },
                None,
            ),
            user(4, "b"),
        ];
        body(&render(&profile, &log))["messages"][2]["reasoning_content"].clone()
    };
    assert_eq!((with("deepseek", true), with("deepseek", false)), (Value::from("t"), Value::from("")));
    assert_eq!((with("kimi", true), with("kimi", false)), (Value::from("t"), Value::from(" ")));
    assert_eq!((with("qwen", true), with("glm", true)), (Value::Null, Value::Null));
}

#[test]
fn images_are_sent_where_they_are_read_and_said_to_be_missing_elsewhere() {
    let image = || LogPart::Image { mime: "image/png".to_owned(), data: "QUJD".to_owned() };
    let parts = vec![LogPart::text("look"), image()];
    let log = |profile: &ProviderProfile| {
        let prefix = render(profile, &[]).prefix;
        let shown = LogItem::Result {
            call: CallId::new("c"),
            disposition: CallDisposition::Done,
            parts: parts.clone(),
        };
        [
            LogEntry::own(1, LogItem::User { parts: parts.clone() }),
            answer(profile, prefix, 2, call("c", "{}"), None),
            LogEntry::own(3, shown),
        ]
    };
    for profile in builtin_profiles() {
        let mut renderer = renderer(&profile, "m");
        log(&profile).iter().for_each(|entry| renderer.push(entry));
        let request = renderer.render();
        check_legal(&profile, &body(&request));
        let text = String::from_utf8(request.body).unwrap();
        assert_eq!(text.matches("QUJD").count(), 2, "{}: {text}", profile.name);
        let omissions = RequestOmissions { images: true, ..RequestOmissions::default() };
        let mut without = RequestRenderer::new(&profile, issuer(&profile), head("m"), omissions);
        log(&profile).iter().for_each(|entry| without.push(entry));
        let request = without.render();
        assert!(!String::from_utf8_lossy(&request.body).contains("QUJD"), "{}", profile.name);
        let images = request.left_out.iter().filter(|left| left.why == LeftOutReason::Image).count();
        assert_eq!(images, 2, "{}", profile.name);
    }
}

#[test]
fn a_refused_member_is_left_out_and_extra_members_replace_ours() {
    let mut profile = builtin_profile("openai").unwrap();
    profile.extra_body = vec![("store".to_owned(), Value::Bool(true)), ("x".to_owned(), Value::from(1))];
    let omissions =
        RequestOmissions { parameters: vec!["include".to_owned()], ..RequestOmissions::default() };
    let request = body(&RequestRenderer::new(&profile, issuer(&profile), head("m"), omissions).render());
    assert_eq!(
        (&request["store"], &request["x"], &request["include"]),
        (&Value::Bool(true), &Value::from(1), &Value::Null)
    );
}

#[test]
fn a_call_without_arguments_that_parse_is_still_legal() {
    for profile in builtin_profiles() {
        for input in ["", "{\"a\":", "[1]"] {
            let prefix = render(&profile, &[user(1, "a")]).prefix;
            let log =
                [user(1, "a"), answer(&profile, prefix, 2, call("c", input), None), result(3, "c", "no")];
            let request = body(&render(&profile, &log));
            check_legal(&profile, &request);
        }
    }
}

/// Pairs are complete, the order of roles is legal, and no id is used twice.
fn check_legal(profile: &ProviderProfile, body: &Value) {
    match profile.family {
        ModelFamily::Responses => {
            let mut open = BTreeSet::new();
            let mut seen = BTreeSet::new();
            let items = body["input"].as_array().unwrap();
            for (at, item) in items.iter().enumerate() {
                let id = item["call_id"].as_str().unwrap_or_default().to_owned();
                match item["type"].as_str().unwrap() {
                    "function_call" => {
                        assert!(seen.insert(id.clone()) && id.len() <= 64, "{id} twice or too long");
                        open.insert(id);
                    }
                    "function_call_output" => assert!(open.remove(&id), "{id} has no call: {body:#}"),
                    "reasoning" => {
                        assert!(items.get(at + 1).is_some_and(|next| next["role"] != "user"), "{body:#}");
                    }
                    _ if item["role"] == "user" => assert!(open.is_empty(), "unanswered {open:?}: {body:#}"),
                    _ => {}
                }
            }
            assert!(open.is_empty(), "unanswered at the end: {open:?}");
        }
        ModelFamily::Chat => {
            let mut open: Vec<String> = Vec::new();
            let mut last = "";
            for message in body["messages"].as_array().unwrap() {
                let role = message["role"].as_str().unwrap();
                if role == "tool" {
                    let id = message["tool_call_id"].as_str().unwrap();
                    let at = open.iter().position(|open| open == id);
                    open.remove(at.unwrap_or_else(|| panic!("{id} has no call: {body:#}")));
                    assert!(message["content"].is_string());
                } else {
                    assert!(open.is_empty(), "unanswered {open:?} before {role}: {body:#}");
                }
                if role == "assistant" {
                    let calls = message["tool_calls"].as_array().map(Vec::as_slice).unwrap_or_default();
                    assert!(
                        !calls.is_empty() || message["content"].as_str().is_some_and(|text| !text.is_empty())
                    );
                    for call in calls {
                        let arguments = call["function"]["arguments"].as_str().unwrap();
                        assert!(serde_json::from_str::<Value>(arguments).unwrap().is_object(), "{arguments}");
                        let id = call["id"].as_str().unwrap();
                        if profile.quirks.call_ids == CallIdRule::NineAlphanumeric {
                            assert!(
                                id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()),
                                "{id}"
                            );
                        }
                        open.push(id.to_owned());
                    }
                }
                if profile.quirks.assistant_between {
                    assert!(!(last == "tool" && role == "user"), "{body:#}");
                }
                last = role;
            }
            assert!(open.is_empty(), "unanswered at the end: {open:?}");
        }
        ModelFamily::Messages => {
            let messages = body["messages"].as_array().unwrap();
            let mut open: BTreeSet<String> = BTreeSet::new();
            for (at, message) in messages.iter().enumerate() {
                let role = message["role"].as_str().unwrap();
                assert_eq!(role, if at % 2 == 0 { "user" } else { "assistant" }, "roles alternate: {body:#}");
                let blocks = message["content"].as_array().unwrap();
                assert!(!blocks.is_empty());
                let mut has_call = false;
                for (place, block) in blocks.iter().enumerate() {
                    match block["type"].as_str().unwrap() {
                        "tool_use" => {
                            has_call = true;
                            let id = block["id"].as_str().unwrap();
                            let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
                            assert!(
                                id.len() <= 64 && id.bytes().all(is_word) && open.insert(id.to_owned()),
                                "{id}"
                            );
                            assert!(block["input"].is_object());
                        }
                        "tool_result" => {
                            assert!(open.remove(block["tool_use_id"].as_str().unwrap()), "{body:#}");
                            assert!(
                                blocks[..place].iter().all(|block| block["type"] == "tool_result"),
                                "results first"
                            );
                        }
                        "server_tool_use" => {
                            let found =
                                blocks[place..].iter().any(|later| later["tool_use_id"] == block["id"]);
                            assert!(found, "a search without what it found: {body:#}");
                        }
                        "text" => {
                            assert!(
                                !block["text"].as_str().unwrap().trim().is_empty() && !has_call,
                                "{body:#}"
                            );
                        }
                        _ => {}
                    }
                }
                if role == "user" {
                    assert!(open.is_empty(), "unanswered {open:?}: {body:#}");
                }
            }
        }
    }
}

/// What happens in a random conversation.
#[derive(Clone, Debug)]
enum Move {
    Say(String, bool),
    Note,
    /// A model of this profile answers: thinks, searches with the provider's own tool, says, calls; which of the calls get a
    /// result.
    Answer {
        by: usize,
        model: &'static str,
        thinks: bool,
        searches: bool,
        says: bool,
        calls: Vec<(String, bool)>,
    },
}

/// The models of each provider.
const MODELS: [&str; 2] = ["m", "n"];

/// The mark in everything that a model sealed.
fn seal(profile: &ProviderProfile, model: &str) -> String {
    format!("SEAL-{}-{model}", profile.name)
}

/// The items of a search that the provider made, in families that have one.
fn own_search(family: ModelFamily, attempt: usize, seal: &str) -> Vec<(&'static str, String, bool)> {
    match family {
        ModelFamily::Responses => {
            let raw = serde_json::json!({"type": "web_search_call", "id": seal, "status": "completed"});
            vec![("web_search", raw.to_string(), false)]
        }
        ModelFamily::Messages => {
            let id = format!("srvtoolu_{attempt}");
            let asked = serde_json::json!({"type": "server_tool_use", "id": id, "name": "web_search", "input": {"query": "x"}});
            let page = serde_json::json!({"type": "web_search_result", "encrypted_content": seal});
            let found =
                serde_json::json!({"type": "web_search_tool_result", "tool_use_id": id, "content": [page]});
            vec![("web_search", asked.to_string(), true), ("web_search_tool_result", found.to_string(), true)]
        }
        ModelFamily::Chat => Vec::new(),
    }
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let input = prop::sample::select(vec!["{}", "{\"a\": 1}", "", "{broken", "{ \"z\":1,\"a\":[] }"]);
    let answer = (
        0..builtin_profiles().len(),
        prop::sample::select(MODELS.to_vec()),
        any::<bool>(),
        prop::bool::weighted(0.2),
        any::<bool>(),
        prop::collection::vec((input.prop_map(str::to_owned), prop::bool::weighted(0.9)), 0..4),
    )
        .prop_map(|(by, model, thinks, searches, says, calls)| Move::Answer {
            by,
            model,
            thinks,
            searches,
            says,
            calls,
        });
    let say = ("[a-zä\" ]{0,8}", prop::bool::weighted(0.2)).prop_map(|(text, image)| Move::Say(text, image));
    prop::collection::vec(prop_oneof![3 => say, 1 => Just(Move::Note), 4 => answer], 1..14)
}

/// The log of a conversation, and the places before which a request was made.
fn play(moves: &[Move]) -> (Vec<LogEntry>, Vec<usize>) {
    let profiles = builtin_profiles();
    let mut log = vec![user(0, "start")];
    let mut requests = Vec::new();
    for (attempt, step) in moves.iter().enumerate() {
        match step {
            Move::Say(text, has_image) => {
                let mut parts = vec![LogPart::text(text.clone())];
                parts.extend(
                    has_image
                        .then(|| LogPart::Image { mime: "image/png".to_owned(), data: "QUJD".to_owned() }),
                );
                log.push(LogEntry::own(log.len() as u64, LogItem::User { parts }));
            }
            Move::Note => {
                log.push(LogEntry::own(log.len() as u64, LogItem::Operator { text: "note".to_owned() }));
            }
            Move::Answer { by, model, thinks, searches, says, calls } => {
                let profile = &profiles[*by];
                requests.push(log.len());
                let prefix = render_for(profile, model, &log).prefix;
                let mut add = |item: LogItem, native: Option<NativeItem>| {
                    let mut entry = answer(profile, prefix, log.len() as u64, item, native);
                    entry.attempt = Some(attempt as u64);
                    if let Some(binding) = &mut entry.binding {
                        binding.model = (*model).to_owned();
                    }
                    log.push(entry);
                };
                let mark = seal(profile, model);
                if *thinks {
                    let raw = match profile.family {
                        ModelFamily::Responses => {
                            format!(r#"{{"type":"reasoning","encrypted_content":"{mark}"}}"#)
                        }
                        ModelFamily::Messages => {
                            format!(r#"{{"type":"thinking","thinking":"t","signature":"{mark}"}}"#)
                        }
                        ModelFamily::Chat => format!(r#"[{{"type":"reasoning.encrypted","data":"{mark}"}}]"#),
                    };
                    add(
                        LogItem::Reasoning { summary: vec!["s".to_owned()], text: Vec::new() },
                        Some(NativeItem { raw, sealed: true }),
                    );
                }
                if *searches {
                    for (name, raw, sealed) in own_search(profile.family, attempt, &mark) {
                        let item = LogItem::ServerTool { name: name.to_owned(), query: None };
                        add(item, Some(NativeItem { raw, sealed }));
                    }
                }
                let mut ids = Vec::new();
                for (at, (input, is_answered)) in calls.iter().enumerate() {
                    let id = format!("functions.run:{attempt}:{at}");
                    add(call(&id, input), None);
                    ids.push((id, *is_answered));
                }
                // After the calls: legal at one provider, refused by another.
                if *says {
                    add(LogItem::Assistant { parts: vec![LogPart::text("said")], phase: None }, None);
                }
                for (id, _) in ids.into_iter().filter(|(_, is_answered)| *is_answered) {
                    let seq = log.len() as u64;
                    log.push(result(seq, &id, "done"));
                }
            }
        }
    }
    (log, requests)
}

fn without_marks(request: &RenderedRequest) -> String {
    String::from_utf8(request.body.clone()).unwrap().replace(json::CACHE_MARK, "")
}

proptest! {
    #[test]
    fn every_conversation_is_legal_at_every_provider(moves in moves()) {
        let (log, _) = play(&moves);
        let profiles = builtin_profiles();
        let authors: Vec<String> =
            profiles.iter().flat_map(|profile| MODELS.map(|model| seal(profile, model))).collect();
        for (profile, model) in profiles.iter().flat_map(|profile| MODELS.map(|model| (profile, model))) {
            let request = render_for(profile, model, &log);
            check_legal(profile, &body(&request));
            prop_assert_eq!(&render_for(profile, model, &log).body, &request.body, "the same history is the same bytes");
            let text = without_marks(&request);
            let own = seal(profile, model);
            for foreign in authors.iter().filter(|author| **author != own) {
                prop_assert!(!text.contains(&format!("\"{foreign}\"")), "{foreign} at {own}");
            }
            for span in &request.spans {
                prop_assert!(span.range.end <= request.body.len() && span.range.start < span.range.end);
            }
        }
    }

    #[test]
    fn a_request_is_the_beginning_of_the_next_one(moves in moves()) {
        let (log, requests) = play(&moves);
        for profile in builtin_profiles() {
            let mut kept = renderer(&profile, "m");
            let mut done = 0;
            let mut before: Option<String> = None;
            for &at in requests.iter().chain([&log.len()]) {
                log[done..at].iter().for_each(|entry| kept.push(entry));
                done = at;
                let request = kept.render();
                prop_assert_eq!(&request.body, &render(&profile, &log[..at]).body, "appending is rendering anew");
                let text = without_marks(&request);
                if let Some(before) = &before {
                    let stem = before.trim_end_matches("]}").trim_end_matches("]}");
                    prop_assert!(text.starts_with(stem), "{}\n{}\n{}", profile.name, stem, text);
                }
                before = Some(text);
            }
        }
    }
}

#[test]
fn tools_of_the_responses_family_are_not_made_strict() {
    // Without the word the provider makes every parameter mandatory.
    for profile in builtin_profiles() {
        let written = body(&render(&profile, &[user(1, "do it")]));
        let is_responses = profile.family == ModelFamily::Responses;
        for tool in written["tools"].as_array().unwrap() {
            let expected = if is_responses { Value::Bool(false) } else { Value::Null };
            assert_eq!(tool["strict"], expected, "{}: {tool}", profile.name);
        }
    }
    let mut profile = builtin_profile("openai").unwrap();
    profile.quirks.strict_tools = false;
    let written = body(&render(&profile, &[user(1, "do it")]));
    assert!(written["tools"][0].get("strict").is_none(), "{written}");
}

#[test]
fn encrypted_reasoning_is_asked_of_models_that_reason_alone() {
    let profile = builtin_profile("openai").unwrap();
    let asks = |model: &str| {
        let renderer = renderer(&profile, model);
        body(&renderer.render()).get("include").is_some()
    };
    for model in ["gpt-5.5", "o4-mini", "codex-mini-latest", "another"] {
        assert!(asks(model), "{model}");
    }
    for model in [
        "gpt-4o",
        "gpt-4o-mini-2024-07-18",
        "gpt-4.1",
        "gpt-4.1-nano",
        "gpt-4-turbo",
        "gpt-3.5-turbo",
        "chatgpt-4o-latest",
    ] {
        assert!(!asks(model), "{model}");
    }
}

#[test]
fn the_configured_output_limit_of_a_model_is_sent_in_every_family() {
    for name in ["openai", "lmstudio", "groq", "anthropic"] {
        let mut profile = builtin_profile(name).unwrap();
        let member = profile.quirks.output_limit.as_str();
        let facts = crate::profile::ModelFacts { max_output: Some(64_000), ..Default::default() };
        profile.models.push(("m".to_owned(), facts));
        let limit = |profile: &ProviderProfile| body(&render(profile, &[user(1, "x")]))[member].as_u64();
        assert_eq!(limit(&profile), Some(64_000), "{name}");
        profile.models.clear();
        assert_ne!(limit(&profile), Some(64_000), "{name}");
    }
}

/// One line for each server: what a request to it looks like after an answer that thought and called a tool.
#[test]
fn the_request_to_every_built_in_server_is_the_committed_one() {
    let mut page = String::new();
    for profile in builtin_profiles() {
        let mut head = head("m");
        head.effort = Some("high".to_owned());
        let mut renderer =
            RequestRenderer::new(&profile, issuer(&profile), head, RequestOmissions::default());
        renderer.push(&user(1, "a"));
        let prefix = renderer.render().prefix;
        // Servers of Chat Completions get their own text back; the items of the other families are in other tests.
        let has_text = profile.family == ModelFamily::Chat && profile.quirks.cache == CacheMarking::Automatic;
        let native = has_text.then(|| NativeItem { raw: "\"t\"".to_owned(), sealed: false });
        let thought = LogItem::Reasoning { summary: Vec::new(), text: vec!["t".to_owned()] };
        renderer.push(&answer(&profile, prefix, 2, thought, native));
        renderer.push(&answer(&profile, prefix, 3, call("toolu_1", "{\"path\": \"a\"}"), None));
        renderer.push(&result(4, "toolu_1", "text of a"));
        let body = body(&renderer.render());
        page.push_str(&format!("{}\n", serde_json::json!({ "server": profile.name, "body": body })));
    }
    expect_test::expect_file!["../../fixtures/requests.jsonl"].assert_eq(&page);
}

#[test]
fn every_chat_server_gets_text_without_pictures_as_one_string() {
    for profile in builtin_profiles().into_iter().filter(|one| one.family == ModelFamily::Chat) {
        if profile.quirks.cache != CacheMarking::Automatic {
            // Where text has to carry marks it is a list of parts.
            continue;
        }
        let log = [user(1, "a"), user(2, "b")];
        let body = body(&render(&profile, &log));
        for message in body["messages"].as_array().unwrap() {
            assert!(message["content"].is_string(), "{}: {message}", profile.name);
        }
    }
}

#[test]
fn the_effort_is_sent_where_the_profile_has_a_parameter_for_it_whatever_the_model_is_called() {
    for profile in builtin_profiles() {
        for model in ["gemma-4", "m"] {
            let with = |effort: Option<&str>| {
                let mut head = head(model);
                head.effort = effort.map(str::to_owned);
                let mut renderer =
                    RequestRenderer::new(&profile, issuer(&profile), head, RequestOmissions::default());
                renderer.push(&user(1, "a"));
                body(&renderer.render())
            };
            let has_none = matches!(profile.quirks.thinking, ThinkingParam::None | ThinkingParam::Adaptive);
            let has_parameter = profile.family != ModelFamily::Chat || !has_none;
            assert_eq!(with(Some("high")) != with(None), has_parameter, "{} {model}", profile.name);
        }
    }
}

/// A head with our own search, and a provider that is to search itself.
fn searching(name: &str) -> (RequestHead, ProviderProfile) {
    let mut profile = builtin_profile(name).unwrap();
    profile.wants_search = true;
    let search = LoopToolSpec { name: WEB_SEARCH.to_owned(), ..head("m").tools[0].clone() };
    let tools = [head("m").tools, vec![search]].concat();
    (RequestHead::new("m", vec!["Be brief.".to_owned()], tools, "c"), profile)
}

fn searching_body(head: &RequestHead, profile: &ProviderProfile) -> Value {
    body(&RequestRenderer::new(profile, issuer(profile), head.clone(), RequestOmissions::default()).render())
}

#[test]
fn a_provider_that_searches_itself_is_asked_to_in_its_own_way_and_has_no_second_search() {
    for (name, way) in [
        ("openai", serde_json::json!({"type": "web_search"})),
        ("xai", serde_json::json!({"type": "web_search"})),
        (
            "anthropic",
            serde_json::json!({"type": "web_search_20250305", "name": "web_search", "max_uses": 8}),
        ),
    ] {
        let (head, mut profile) = searching(name);
        let tools = searching_body(&head, &profile)["tools"].as_array().unwrap().clone();
        assert_eq!(tools.iter().filter(|tool| **tool == way).count(), 1, "{name}: {tools:?}");
        let searches = tools.iter().filter(|tool| tool.to_string().contains("search")).count();
        assert_eq!((searches, tools.len()), (1, 3), "{name}: {tools:?}");
        let without_ours = RequestHead { tools: head.tools[..2].to_vec(), ..head.clone() };
        let digest = without_ours.digest(&profile);
        profile.wants_search = false;
        assert_ne!(without_ours.digest(&profile), digest, "{name}: sealed reasoning is bound to the tools");
        let nothing = RequestHead { tools: Vec::new(), ..head };
        profile.wants_search = true;
        assert!(
            searching_body(&nothing, &profile).get("tools").is_none(),
            "{name}: a summary searches nothing"
        );
    }
    let (head, profile) = searching("openrouter");
    assert_eq!(searching_body(&head, &profile)["plugins"], serde_json::json!([{"id": "web"}]));
    let (head, profile) = searching("groq");
    let written = searching_body(&head, &profile);
    assert!(
        written.get("plugins").is_none() && written["tools"].to_string().contains("web_search"),
        "{written}"
    );
}

#[test]
fn our_search_has_another_name_where_the_provider_reserves_that() {
    let (head, mut profile) = searching("xai");
    profile.wants_search = false;
    let asked = LogItem::Call {
        call: CallId::new("c"),
        name: WEB_SEARCH.to_owned(),
        input: CallInput::Json("{}".to_owned()),
    };
    let log = [user(1, "a"), LogEntry { attempt: Some(1), ..LogEntry::own(2, asked) }, result(3, "c", "b")];
    let names = |profile: &ProviderProfile| {
        let mut renderer =
            RequestRenderer::new(profile, issuer(profile), head.clone(), RequestOmissions::default());
        log.iter().for_each(|entry| renderer.push(entry));
        let body = body(&renderer.render());
        let tools = body["tools"].as_array().unwrap().iter();
        (
            tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>(),
            body["input"][1]["name"].as_str().unwrap().to_owned(),
        )
    };
    assert_eq!(
        names(&profile),
        (["list", "run", "search_web"].map(str::to_owned).to_vec(), "search_web".to_owned())
    );
    assert_eq!(names(&builtin_profile("openai").unwrap()).1, "web_search");
    assert_eq!(own_name(&profile, "search_web".to_owned()), "web_search");
    assert_eq!(own_name(&builtin_profile("openai").unwrap(), "search_web".to_owned()), "search_web");
}
