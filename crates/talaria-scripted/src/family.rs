//! The three wire families that the server speaks: their paths, error bodies and header names.
//!
//! Pure data. What a reply looks like in each family is in `responses`, `chat` and `messages`.

use serde_json::{Value, json};

/// A wire protocol for talking to a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScriptedFamily {
    /// OpenAI Responses, `POST /v1/responses`.
    Responses,
    /// Chat Completions, `POST /v1/chat/completions`.
    Chat,
    /// Anthropic Messages, `POST /v1/messages`.
    Messages,
}

impl ScriptedFamily {
    /// Every family.
    pub const ALL: [Self; 3] = [Self::Responses, Self::Chat, Self::Messages];

    /// The path of a request for a reply.
    pub fn path(self) -> &'static str {
        match self {
            Self::Responses => "/v1/responses",
            Self::Chat => "/v1/chat/completions",
            Self::Messages => "/v1/messages",
        }
    }

    /// The header that carries the id of a request.
    pub fn request_id_header(self) -> &'static str {
        match self {
            Self::Responses | Self::Chat => "x-request-id",
            Self::Messages => "request-id",
        }
    }

    pub(crate) fn of_path(path: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|family| family.path() == path)
    }

    /// The body of an error, as the family writes it. `number` is that of the request.
    pub(crate) fn error_body(self, status: u16, code: &str, message: &str, number: usize) -> Value {
        match self {
            Self::Responses | Self::Chat => {
                let error =
                    json!({ "message": message, "type": openai_type(status), "param": null, "code": code });
                json!({ "error": error })
            }
            Self::Messages => json!({
                "type": "error",
                "error": { "type": code, "message": message },
                "request_id": format!("req_{number}"),
            }),
        }
    }
}

/// The `type` that OpenAI writes beside the `code`.
fn openai_type(status: u16) -> &'static str {
    match status {
        429 => "rate_limit_error",
        500.. => "server_error",
        _ => "invalid_request_error",
    }
}
