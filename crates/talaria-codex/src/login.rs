//! Logs in to Codex by its own `account/login/*`: with the browser, with a code on another device, or with an API key.
//!
//! Codex does it and keeps the result; nothing of a login is read, stored or printed here except the address and the code that
//! a person needs. A Codex reads who is logged in when it starts, so an earlier one is replaced (`Host::missed_login`).

use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use talaria_codex_proto::wire::call::{LoginCancel, LoginStart, LoginStartReply};
use talaria_codex_proto::wire::notification::{LoginCompletedParams, Notification};
use talaria_core::ids::ThreadId;

use crate::client::CallError;
use crate::host::Host;
use crate::queue::{Delivery, ThreadQueue};

/// A name under which the messages of no thread arrive.
const FOLLOWER: &str = "login";
/// The file of a login, unless Codex is configured to keep it elsewhere.
const FILE: &str = "auth.json";

/// Why a Codex is replaced that was started before someone logged in.
pub const MISSED_LOGIN: &str = "someone logged in after it was started";

/// What a person has to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoginStep {
    /// Open this address in a browser on this machine.
    Browser {
        /// The address.
        url: String,
    },
    /// Open this address anywhere, and enter the code there.
    Device {
        /// The address.
        url: String,
        /// The code.
        code: String,
    },
    /// Nothing: Codex has the key.
    Nothing,
}

/// Why no one is logged in.
#[derive(Debug, thiserror::Error)]
pub enum LoginError {
    /// Codex did not begin.
    #[error(transparent)]
    Call(#[from] CallError),
    /// Codex reported that it failed.
    #[error("{0}")]
    Failed(String),
    /// Codex ended meanwhile.
    #[error("Codex ended before the login was complete: {0}")]
    Gone(String),
    /// This Codex asks for something that this build does not know.
    #[error("this Codex logs in in a way that Talaria does not know")]
    Unknown,
}

/// A login that was begun. Dropping it leaves it to Codex, which ends with its host.
pub struct Login {
    host: Arc<Host>,
    queue: Arc<ThreadQueue>,
    id: Option<String>,
    step: LoginStep,
}

impl Login {
    /// Begins a login.
    pub async fn begin(host: Arc<Host>, start: &LoginStart) -> Result<Self, LoginError> {
        // Its end may be reported before the response.
        let queue = host.router().follow(ThreadId::new(FOLLOWER));
        let (id, step) = match host.call(start).await? {
            LoginStartReply::ApiKey => (None, LoginStep::Nothing),
            LoginStartReply::Chatgpt { login_id, auth_url } => {
                (Some(login_id), LoginStep::Browser { url: auth_url })
            }
            LoginStartReply::ChatgptDeviceCode { login_id, verification_url, user_code } => {
                (Some(login_id), LoginStep::Device { url: verification_url, code: user_code })
            }
            LoginStartReply::Other => return Err(LoginError::Unknown),
        };
        Ok(Self { host, queue, id, step })
    }

    /// What a person has to do.
    pub fn step(&self) -> &LoginStep {
        &self.step
    }

    /// Waits for the end of the login. Cancel-safe.
    pub async fn completed(&self) -> Result<(), LoginError> {
        loop {
            for delivery in self.queue.take().await {
                match delivery {
                    Delivery::Notification(Notification::LoginCompleted(end)) if self.is_ours(&end) => {
                        return match end.success {
                            true => Ok(()),
                            false => {
                                Err(LoginError::Failed(end.error.unwrap_or_else(|| {
                                    "Codex reported a failure without a reason".to_owned()
                                })))
                            }
                        };
                    }
                    Delivery::Gone(why) => return Err(LoginError::Gone(why)),
                    _ => {}
                }
            }
        }
    }

    /// Cancels it.
    pub async fn cancel(&self) {
        if let Some(login_id) = self.id.clone() {
            // A Codex that does not answer is ended with its host.
            let _ = self.host.call(&LoginCancel { login_id }).await;
        }
    }

    fn is_ours(&self, end: &LoginCompletedParams) -> bool {
        self.id.is_none() || end.login_id.is_none() || end.login_id == self.id
    }
}

impl Drop for Login {
    fn drop(&mut self) {
        self.host.router().forget(&self.queue);
    }
}

impl Host {
    /// Whether someone logged in after this Codex was started, which it has not noticed. Known only where Codex keeps the login
    /// in a file.
    pub fn missed_login(&self) -> bool {
        let written = || {
            let file = Path::new(self.codex_home()?).join(FILE);
            std::fs::metadata(file).and_then(|data| data.modified()).ok()
        };
        let began = SystemTime::now().checked_sub(self.age());
        written().zip(began).is_some_and(|(written, began)| written > began)
    }
}
