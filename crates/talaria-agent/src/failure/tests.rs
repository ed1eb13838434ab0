//! What providers really answer, and the class that follows.

use std::time::Duration;

use super::*;

fn headers(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[test]
#[rustfmt::skip]
fn bodies_of_providers_have_their_class() {
    use FailureClass::*;
    let table: &[(u16, &str, FailureClass)] = &[
        (401, r#"{"error":{"message":"Incorrect API key provided","type":"invalid_request_error","code":"invalid_api_key"}}"#, Auth),
        (401, r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}"#, Auth),
        (401, r#"{"error":"Your team does not have permission to use this model"}"#, Entitlement),
        (403, r#"{"error":{"message":"Country, region, or territory not supported","code":"unsupported_country_region_territory"}}"#, Entitlement),
        (403, r#"{"type":"error","error":{"type":"permission_error","message":"no access"}}"#, Entitlement),
        (403, r#"{"error":{"message":"bad key","code":"invalid_api_key"}}"#, Entitlement),
        (403, "<!DOCTYPE html><html><head><title>Just a moment...</title></head></html>", Entitlement),
        (403, r#"{"code":"personal-team-blocked:spending-limit","error":"Your team reached its limit"}"#, Quota),
        (403, "", Entitlement),
        (429, r#"{"error":{"message":"Rate limit reached for gpt-5.5","type":"tokens","code":"rate_limit_exceeded"}}"#, RateLimit),
        (429, r#"{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed"}}"#, RateLimit),
        (429, r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}"#, Quota),
        (429, r#"{"error":{"type":"usage_limit_reached","message":"The usage limit has been reached","resets_at":1790000000}}"#, Quota),
        (429, r#"{"error":{"type":"usage_not_included","message":"not in plan"}}"#, Entitlement),
        (429, r#"{"error":{"code":"1305","message":"The service may be temporarily overloaded"}}"#, Overloaded),
        (402, r#"{"error":{"code":402,"message":"Insufficient credits"}}"#, Quota),
        (400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the API"}}"#, Quota),
        (529, r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#, Overloaded),
        (503, r#"{"error":{"code":"server_is_overloaded","message":"busy"}}"#, Overloaded),
        (500, r#"{"type":"error","error":{"type":"api_error","message":"Internal server error"}}"#, Server),
        (502, "<html><body>Bad gateway</body></html>", Server),
        (408, "", Server),
        (400, r#"{"error":{"message":"Your input exceeds the context window of this model","code":"context_length_exceeded"}}"#, ContextTooLong),
        (400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#, ContextTooLong),
        (400, r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":4096}}"#, ContextTooLong),
        (400, r#"[{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]"#, ContextTooLong),
        (400, r#"{"object":"error","message":"This model's maximum context length is 8192 tokens. However, you requested 9000"}"#, ContextTooLong),
        (400, r#"{"error":{"message":"Invalid request: Your request exceeded model token limit: 262144"}}"#, ContextTooLong),
        (400, "", ContextTooLong),
        (413, r#"{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#, ContextTooLong),
        (400, r#"{"error":{"message":"max_tokens (300000) must be less than or equal to 128000"}}"#, OutputLimit),
        (400, r#"{"error":{"message":"The answer was empty; try raising max_tokens"}}"#, InvalidRequest),
        (400, r#"{"error":{"code":"image_too_large","message":"too large"}}"#, Image),
        (400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.0.image.source.base64: image exceeds 5 MB maximum"}}"#, Image),
        (400, r#"{"error":{"code":"invalid_image_format","message":"no"}}"#, Image),
        (400, r#"{"error":{"code":"invalid_encrypted_content","message":"The encrypted content could not be verified"}}"#, ReasoningRefused),
        (400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages.3.content.0: Invalid `signature` in `thinking` block"}}"#, ReasoningRefused),
        (400, r#"{"error":{"message":"The reasoning_content in the thinking mode must be passed back to the API."}}"#, ReasoningRefused),
        (400, r#"{"error":{"code":"content_policy_violation","message":"no"}}"#, ContentFilter),
        (400, r#"{"error":{"message":"Unsupported parameter: 'temperature'","code":"unsupported_parameter","param":"temperature"}}"#, InvalidRequest),
        (422, r#"{"detail":[{"type":"extra_forbidden","loc":["body","store"],"msg":"Extra inputs are not permitted"}]}"#, InvalidRequest),
        (502, r#"{"error":{"message":"Unknown parameter: 'store'"}}"#, InvalidRequest),
        (404, r#"{"error":{"message":"The model `x` does not exist","code":"model_not_found"}}"#, ModelGone),
        (404, r#"{"type":"error","error":{"type":"not_found_error","message":"model: claude-x"}}"#, ModelGone),
        (404, r#"{"error":{"code":404,"message":"No endpoints found matching your data policy"}}"#, Entitlement),
        (400, r#"{"message":"Input is too long for requested model."}"#, ContextTooLong),
        (400, r#"{"code":"invalid_argument","error":"This model's maximum prompt length is 131072 but the request contains 200000 tokens."}"#, ContextTooLong),
        (400, r#"{"error":{"message":"Please reduce the length of the messages or completion.","type":"invalid_request_error"}}"#, ContextTooLong),
        (400, r#"{"error":"The number of tokens to keep from the initial prompt is greater than the context length."}"#, ContextTooLong),
        (400, r#"{"type":"error","error":{"type":"bad_request_error","message":"invalid params, context window exceeds limit (2013)"}}"#, ContextTooLong),
        (400, r#"{"object":"error","message":"Prompt contains 65673 tokens and 0 draft tokens, too large for model with 32768 maximum context length","type":"invalid_request_prompt"}"#, ContextTooLong),
        (400, r#"{"error":{"code":"1210","message":"tokens in request more than max tokens allowed"}}"#, ContextTooLong),
        (400, r#"{"error":{"message":"prompt token count of 140000 exceeds the limit of 128000","code":"model_max_prompt_tokens_exceeded"}}"#, ContextTooLong),
        (400, r#"{"object":"error","message":"max_tokens must be at least 1, got -900 (max_model_len=4096)","type":"BadRequestError"}"#, ContextTooLong),
        (400, r#"{"error":{"code":"model_context_window_exceeded","message":"too many"}}"#, ContextTooLong),
        (413, "", ContextTooLong),
        (400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"You're out of extra usage. Add more to keep going."}}"#, Quota),
        (402, r#"{"type":"error","error":{"type":"billing_error","message":"billing"}}"#, Quota),
        (429, r#"{"type":"error","error":{"type":"enforced_spend_limit_reached","message":"limit"}}"#, Quota),
        (429, r#"{"type":"error","error":{"type":"ramp_limit_exceeded","message":"slower"}}"#, RateLimit),
        (429, r#"{"error":{"code":"billing_hard_limit_reached","message":"limit"}}"#, Quota),
        (503, r#"{"error":{"code":"slow_down","message":"slow down"}}"#, Overloaded),
        (504, r#"{"type":"error","error":{"type":"timeout_error","message":"timed out"}}"#, Server),
        (409, "", Server),
        (400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"image dimensions exceed max allowed size: 8000 pixels"}}"#, Image),
        (400, r#"{"error":{"message":"The image data you provided does not represent a valid image."}}"#, Image),
        (400, r#"{"error":{"code":"content_filter","message":"no"}}"#, ContentFilter),
        (400, r#"{"error":{"code":"cyber_policy","message":"no"}}"#, ContentFilter),
        (400, r#"{"error":{"code":"bio_policy","message":"no"}}"#, ContentFilter),
        (400, r#"{"error":{"code":"invalid_prompt","message":"no"}}"#, ContentFilter),
        (400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages.5: Expected `thinking` or `redacted_thinking`, but found `tool_use`"}}"#, ReasoningRefused),
        (400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.0.thinking.signature: Field required"}}"#, ReasoningRefused),
        (400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"This thinking block is bound to a different conversation"}}"#, ReasoningRefused),
        (403, r#"{"error":{"code":"model_not_available","message":"no"}}"#, Entitlement),
        (407, "proxy authentication required", Transport),
    ];
    for (status, body, class) in table {
        let failure = classify_response(*status, &[], body.as_bytes());
        assert_eq!(failure.class, *class, "{status} {body}: {failure:?}");
        assert!(!failure.text.is_empty(), "{status} {body}");
    }
}

#[test]
fn a_403_is_never_a_bad_key_whatever_the_body_says() {
    let typed = r#"{"error":{"type":"authentication_error","message":"invalid api key"}}"#;
    for body in ["invalid api key", typed, "<html>"] {
        assert_ne!(classify_response(403, &[], body.as_bytes()).class, FailureClass::Auth, "{body}");
    }
}

#[test]
fn the_error_inside_a_relays_error_counts() {
    let body = r#"{"error":{"code":400,"message":"Provider returned error","metadata":{"provider_name":"Anthropic",
        "raw":"{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too long: 5 > 4\"}}"}}}"#;
    let failure = classify_response(400, &[], body.as_bytes());
    assert_eq!(
        (failure.class, failure.upstream.as_deref()),
        (FailureClass::ContextTooLong, Some("Anthropic"))
    );
    assert!(failure.text.contains("Provider returned error: prompt is too long"), "{}", failure.text);
}

#[test]
fn errors_inside_a_stream_are_read_in_every_nesting() {
    for frame in [
        r#"{"type":"error","code":"rate_limit_exceeded","message":"Please try again in 1.2s"}"#,
        r#"{"type":"error","error":{"type":"error","code":"rate_limit_exceeded","message":"Please try again in 1.2s"}}"#,
        r#"{"error":{"error":{"code":"rate_limit_exceeded","message":"Please try again in 1.2s"}}}"#,
    ] {
        let failure = classify_frame(&serde_json::from_str(frame).unwrap(), &[]);
        assert_eq!(
            (failure.class, failure.evidence),
            (FailureClass::RateLimit, FailureEvidence::Code),
            "{frame}"
        );
        assert_eq!(failure.wait, Some(WaitHint::After(Duration::from_millis(1200))), "{frame}");
        assert_eq!(failure.status, None, "a status of success is no evidence");
    }
    let overloaded =
        serde_json::json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    assert_eq!(classify_frame(&overloaded, &[]).class, FailureClass::Overloaded);
}

#[test]
fn waits_are_read_from_headers_bodies_and_words() {
    let wait =
        |list: &[(&str, &str)], body: &str| classify_response(429, &headers(list), body.as_bytes()).wait;
    let after = |millis| Some(WaitHint::After(Duration::from_millis(millis)));
    assert_eq!(wait(&[("Retry-After-Ms", "250"), ("retry-after", "9")], ""), after(250));
    assert_eq!(wait(&[("retry-after", "2")], "try again in 9s"), after(2000));
    let until = Some(WaitHint::Until(1_794_996_000));
    assert_eq!(wait(&[("retry-after", "Wed, 18 Nov 2026 10:00:00 GMT")], ""), until);
    let body = r#"{"error":{"type":"usage_limit_reached","resets_at":1794996000}}"#;
    assert_eq!(wait(&[], body), until);
    let limits = [
        ("x-ratelimit-remaining-requests", "10"),
        ("x-ratelimit-reset-requests", "1s"),
        ("x-ratelimit-remaining-tokens", "0"),
        ("x-ratelimit-reset-tokens", "6m0s"),
    ];
    assert_eq!(wait(&limits, ""), after(360_000), "only the limit that is used up counts");
    let anthropic = [
        ("anthropic-ratelimit-tokens-remaining", "0"),
        ("anthropic-ratelimit-tokens-reset", "2026-11-18T10:00:00Z"),
    ];
    assert_eq!(wait(&anthropic, ""), until);
    assert_eq!(wait(&[], "Please try again in 350ms."), after(350));
    assert_eq!(wait(&[], "try again in 3 seconds"), after(3000));
    assert_eq!(wait(&[], "retry after 2 minutes"), after(120_000));
    assert_eq!(wait(&[("retry-after", "soon")], "later"), None);
}

#[test]
fn a_key_in_an_error_is_masked_and_a_long_text_is_bounded() {
    let key = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH";
    let body = format!(r#"{{"error":{{"message":"Incorrect API key provided: {key}"}}}}"#);
    let failure = classify_response(401, &[], body.as_bytes());
    assert!(!failure.text.contains("abcdefghijklmnop"), "{}", failure.text);
    assert!(classify_response(500, &[], &[b'x'; 50_000]).text.len() <= 2_000);
}

#[test]
fn a_refused_parameter_is_named_only_where_the_provider_names_one() {
    let named = |body: &str| refused_parameter(&classify_response(400, &[], body.as_bytes()));
    let unknown = r#"{"error":{"message":"Unknown parameter: 'reasoning.summary'","param":"reasoning.summary","code":"unknown_parameter"}}"#;
    assert_eq!(named(unknown).as_deref(), Some("reasoning"));
    let quoted = r#"{"error":{"message":"Unsupported parameter: 'parallel_tool_calls' is not supported"}}"#;
    assert_eq!(named(quoted).as_deref(), Some("parallel_tool_calls"));
    assert_eq!(named(r#"{"error":{"message":"messages must alternate"}}"#), None);
    assert_eq!(named(r#"{"error":{"message":"Unknown parameter: 'Model X'"}}"#), None, "no name of a member");
}

#[test]
fn every_class_has_a_word_of_its_own() {
    let words: std::collections::BTreeSet<_> = FailureClass::ALL.iter().map(|class| class.as_str()).collect();
    assert_eq!(words.len(), FailureClass::ALL.len());
    for class in FailureClass::ALL {
        assert_eq!(serde_json::to_value(class).unwrap(), class.as_str());
    }
}

#[test]
fn only_a_refused_credential_is_reported_as_one() {
    let is_auth = |class: &FailureClass| class.outcome_code() == FailureCode::Auth;
    assert_eq!(FailureClass::ALL.into_iter().filter(is_auth).collect::<Vec<_>>(), [FailureClass::Auth]);
}

#[test]
fn a_model_that_does_not_reason_is_asked_again_without_encrypted_content() {
    for body in [
        r#"{"error":{"message":"Encrypted content is not supported with this model.","type":"invalid_request_error","param":"include","code":null}}"#,
        r#"{"error":{"message":"Encrypted content is not supported with this model."}}"#,
    ] {
        let failure = classify_response(400, &[], body.as_bytes());
        assert_eq!(refused_parameter(&failure).as_deref(), Some("include"), "{failure:?}");
    }
}

#[test]
fn a_quota_that_is_free_again_soon_is_a_rate_limit() {
    let body = |wait: &str| {
        format!(
            r#"[{{"error":{{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.{wait}","status":"RESOURCE_EXHAUSTED"}}}}]"#
        )
    };
    let class = |body: &str| classify_response(429, &[], body.as_bytes()).class;
    let soon = classify_response(429, &[], body(" Please retry in 22.5s.").as_bytes());
    assert_eq!((soon.class, soon.code.as_deref()), (FailureClass::RateLimit, Some("RESOURCE_EXHAUSTED")));
    assert_eq!(soon.wait, Some(WaitHint::After(Duration::from_millis(22_500))));
    assert_eq!(class(&body(" Please retry in 13h2m.")), FailureClass::Quota);
    assert_eq!(class(&body("")), FailureClass::Quota);
    assert_eq!(
        class(
            r#"{"error":{"message":"You exceeded your current quota. Try again in 3s","code":"insufficient_quota"}}"#
        ),
        FailureClass::Quota,
        "a code that means an empty account is believed"
    );
    let busy =
        r#"[{"error":{"code":429,"message":"Resource has been exhausted","status":"RESOURCE_EXHAUSTED"}}]"#;
    assert_eq!(class(busy), FailureClass::RateLimit);
}

#[test]
fn the_parameter_that_a_server_refuses_is_read_where_it_is_named() {
    let refused = |body: &str| refused_parameter(&classify_response(422, &[], body.as_bytes()));
    for body in [
        r#"{"detail":[{"type":"extra_forbidden","loc":["body","store"],"msg":"Extra inputs are not permitted","input":false}]}"#,
        r#"{"object":"error","message":{"detail":[{"input":false,"loc":["body","store"],"msg":"Extra inputs are not permitted","type":"extra_forbidden"}]},"type":"invalid_request_error"}"#,
        r#"{"object":"error","message":"[{'type': 'extra_forbidden', 'loc': ('body', 'store'), 'msg': 'Extra inputs are not permitted', 'input': False}]","type":"BadRequestError"}"#,
        r#"{"detail":[{"type":"extra_forbidden","loc":["store"],"msg":"Extra inputs are not permitted"}]}"#,
        r#"{"error":{"message":"Unknown parameter: 'store'.","code":"unknown_parameter","param":"store"}}"#,
        r#"{"error":{"message":"Unknown parameter: 'store.x'."}}"#,
    ] {
        assert_eq!(refused(body).as_deref(), Some("store"), "{body}");
    }
    let nowhere =
        r#"{"detail":[{"type":"extra_forbidden","loc":["body",3],"msg":"Extra inputs are not permitted"}]}"#;
    assert_eq!(refused(nowhere), None);
}
