//! The kinds that come now and then. They are read from the raw item in a second look, so that their many fields do not
//! slow down the reading of all others.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{HookFragment, WireBody, WireContent, WireSearch};

/// Reads an item of a rare kind; `None` for a kind that is not known, or when what is known of it does not fit.
pub(super) fn read(kind: &str, raw: &RawValue) -> Option<WireBody> {
    let body = match kind {
        "hookPrompt" => WireBody::HookPrompt { fragments: fields::<HookPrompt>(raw)?.fragments },
        "functionCallOutput" => fields::<FunctionCallOutput<'_>>(raw)?.into_body()?,
        "collabAgentToolCall" => WireBody::CollabAgentToolCall(fields(raw)?),
        "subAgentActivity" => WireBody::SubAgentActivity(fields(raw)?),
        "webSearch" => {
            let WebSearch { query, action } = fields(raw)?;
            WireBody::WebSearch { query, action }
        }
        "imageView" => WireBody::ImageView { path: fields::<ImageView>(raw)?.path },
        "imageGeneration" => WireBody::ImageGeneration(fields(raw)?),
        "enteredReviewMode" => WireBody::EnteredReviewMode { review: fields::<Review>(raw)?.review },
        "exitedReviewMode" => WireBody::ExitedReviewMode { review: fields::<Review>(raw)?.review },
        "sleep" => WireBody::Sleep { duration_ms: fields::<Sleep>(raw)?.duration_ms },
        _ => return None,
    };
    Some(body)
}

fn fields<'a, T: Deserialize<'a>>(raw: &'a RawValue) -> Option<T> {
    serde_json::from_str(raw.get()).ok()
}

#[derive(Deserialize)]
struct HookPrompt {
    fragments: Vec<HookFragment>,
}

#[derive(Deserialize)]
struct WebSearch {
    query: String,
    #[serde(default)]
    action: Option<WireSearch>,
}

#[derive(Deserialize)]
struct ImageView {
    path: String,
}

#[derive(Deserialize)]
struct Review {
    review: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Sleep {
    duration_ms: u64,
}

#[derive(Deserialize)]
struct FunctionCallOutput<'a> {
    name: String,
    #[serde(default)]
    namespace: Option<String>,
    #[serde(borrow)]
    output: &'a RawValue,
}

impl FunctionCallOutput<'_> {
    /// The output is a text or a list of parts.
    fn into_body(self) -> Option<WireBody> {
        let output = match fields::<String>(self.output) {
            Some(text) => vec![WireContent::Text(text)],
            None => fields(self.output)?,
        };
        Some(WireBody::FunctionCallOutput { name: self.name, namespace: self.namespace, output })
    }
}
