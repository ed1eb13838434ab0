//! An answer that came as one JSON body although a stream was asked for: some servers and relays never stream.

use std::cell::Cell;

use serde_json::Value;

use super::{AnswerEnd, AnswerFold, AnswerStep};
use crate::failure::classify_response;
use crate::family::ModelFamily;
use crate::profile::ProviderProfile;
use crate::sse::SseSignal;

/// Folds a whole body as if its parts had been streamed. A body that is no answer of the family is a failure.
pub fn fold_whole(
    profile: &ProviderProfile,
    status: u16,
    headers: &[(String, String)],
    body: &[u8],
    sink: &mut dyn FnMut(AnswerStep<'_>),
) {
    let frames = serde_json::from_slice(body).ok().and_then(|answer| frames(profile.family, &answer));
    let Some(frames) = frames else {
        return sink(AnswerStep::End(AnswerEnd::Failed(classify_response(status, headers, body))));
    };
    let mut fold = AnswerFold::new(profile);
    let has_ended = Cell::new(false);
    let mut sink = |step: AnswerStep<'_>| {
        has_ended.set(has_ended.get() || matches!(step, AnswerStep::End(_)));
        sink(step);
    };
    for frame in frames {
        fold.fold(&SseSignal::Event { name: None, data: frame.to_string().into() }, &mut sink);
    }
    if !has_ended.get() {
        fold.finish("the answer does not say how it ended", &mut sink);
    }
}

fn frames(family: ModelFamily, answer: &Value) -> Option<Vec<Value>> {
    if answer.get("error").is_some_and(|error| !error.is_null()) {
        return None;
    }
    match family {
        ModelFamily::Responses if answer["object"] == "response" || answer["output"].is_array() => {
            let kind = match answer["status"].as_str() {
                Some("incomplete") => "response.incomplete",
                Some("failed") => "response.failed",
                _ => "response.completed",
            };
            Some(vec![
                serde_json::json!({"type": "response.created", "response": answer}),
                serde_json::json!({"type": kind, "response": answer}),
            ])
        }
        ModelFamily::Chat if answer["choices"].is_array() => Some(vec![answer.clone()]),
        ModelFamily::Messages if answer["content"].is_array() => {
            let mut frames = vec![serde_json::json!({"type": "message_start", "message": answer})];
            for (index, block) in answer["content"].as_array().into_iter().flatten().enumerate() {
                frames.push(serde_json::json!({"type": "content_block_start", "index": index, "content_block": block}));
                frames.push(serde_json::json!({"type": "content_block_stop", "index": index}));
            }
            frames.push(
                serde_json::json!({"type": "message_delta", "delta": {"stop_reason": answer["stop_reason"]}}),
            );
            frames.push(serde_json::json!({"type": "message_stop"}));
            Some(frames)
        }
        ModelFamily::Responses | ModelFamily::Chat | ModelFamily::Messages => None,
    }
}
