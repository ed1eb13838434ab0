//! Logging in. The key in a request is a secret: nothing here can be printed.

use serde::{Deserialize, Serialize};

/// Begins a login.
#[derive(Clone, Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum LoginStart {
    /// With an API key of OpenAI.
    ApiKey {
        /// The key.
        api_key: String,
    },
    /// With ChatGPT in a browser on this machine.
    Chatgpt,
    /// With ChatGPT on any device, by a code.
    ChatgptDeviceCode,
}

/// What a login needs next.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum LoginStartReply {
    /// Nothing.
    ApiKey,
    /// An address to be opened on this machine.
    Chatgpt { login_id: String, auth_url: String },
    /// An address to be opened anywhere, and the code for it.
    ChatgptDeviceCode { login_id: String, verification_url: String, user_code: String },
    /// Something else.
    #[serde(other)]
    Other,
}

/// Cancels a login.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LoginCancel {
    pub login_id: String,
}
