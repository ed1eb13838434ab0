//! Notifies people who are not looking: sends notices to the desktop, a program, a webhook, ntfy or a mailbox.
//!
//! Owns the senders and the loop that claims due entries from an outbox. The text of a notice, its permitted targets
//! and the retry schedule belong to `talaria_core::notice`. Everything that is sent is redacted here once more; an
//! error contains neither a secret nor the address of a receiver. Every attempt has a time limit. The engine runs one
//! [`Deliverer`]; a new channel is one more [`Deliver`] and one more arm in [`Senders::sender`].

mod attempt;
mod command;
mod deliverer;
mod email;
mod http;
mod local;
mod ntfy;
mod outbox;
mod secret;
mod webhook;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use futures_util::future::BoxFuture;
use talaria_core::config::{NotReady, NotifyConfig};
use talaria_core::notice::{Fault, Notice, RetryPolicy, Target, one_line};

pub use deliverer::{Deliverer, DeliveryLeftovers};
pub use outbox::{Outbox, OutboxError, Owed};
pub use talaria_web::Roots;

use http::Poster;
use secret::Secrets;

/// The longest text of an error, in characters.
const LONGEST_ERROR: usize = 300;

/// One way out.
pub trait Deliver: Send + Sync {
    /// Makes one attempt; dropping the future ends it, and what it started.
    fn deliver<'a>(&'a self, parcel: &'a Parcel) -> BoxFuture<'a, Result<Receipt, NotifyError>>;
}

/// Content of one attempt.
#[derive(Clone, Debug)]
pub struct Parcel {
    /// The name of what is owed, the same in every attempt.
    pub id: String,
    /// The notice, with every secret masked.
    pub notice: Notice,
    /// The terminal of the person who started the task.
    pub tty: Option<PathBuf>,
}

/// Report about a sent notice: a line for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Result, for example `HTTP 200`.
    pub note: String,
}

/// Why an attempt failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct NotifyError {
    /// Whether another attempt makes sense.
    pub fault: Fault,
    /// What happened, on one line, redacted and harmless.
    pub message: String,
}

impl NotifyError {
    /// Makes an error that another attempt would only repeat.
    pub fn permanent(message: impl AsRef<str>) -> Self {
        Self::new(Fault::Permanent, message)
    }

    /// Makes an error that may pass.
    pub fn passing(message: impl AsRef<str>) -> Self {
        Self::new(Fault::PASSING, message)
    }

    fn new(fault: Fault, message: impl AsRef<str>) -> Self {
        Self { fault, message: one_line(message.as_ref(), LONGEST_ERROR) }
    }
}

impl From<NotReady> for NotifyError {
    /// The user may mend the configuration before the attempts run out.
    fn from(missing: NotReady) -> Self {
        Self::passing(missing.to_string())
    }
}

/// How long things may take.
#[derive(Clone, Copy, Debug)]
pub struct SendTimeouts {
    /// Finding the address of a server and connecting to it.
    pub connect: Duration,
    /// One exchange with an HTTP server, connecting included.
    pub http: Duration,
    /// Handing over one mail.
    pub email: Duration,
    /// One run of a program.
    pub program: Duration,
    /// Showing something on the desktop.
    pub desktop: Duration,
    /// Attempts in progress when the deliverer stops.
    pub stop: Duration,
}

impl Default for SendTimeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            http: Duration::from_secs(15),
            email: Duration::from_secs(30),
            program: Duration::from_secs(30),
            desktop: Duration::from_secs(5),
            stop: Duration::from_secs(5),
        }
    }
}

/// The notice and target of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preview {
    /// The target, without what may be a key in it.
    pub target: String,
    /// The subject or title.
    pub subject: String,
    /// The text, or the JSON for targets that get JSON.
    pub content: String,
    /// Why it could not be sent with this configuration.
    pub missing: Option<NotReady>,
}

/// Everything that the ways out need: configuration, secrets, certificates, limits.
#[derive(Debug)]
pub struct Senders {
    config: NotifyConfig,
    limits: SendTimeouts,
    secrets: Secrets,
    poster: Poster,
    roots: Roots,
    environment: Vec<(OsString, OsString)>,
}

impl Senders {
    /// Takes the configuration and the environment that programs and secrets come from: the engine's own.
    pub fn new(config: NotifyConfig, environment: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let environment: Vec<_> = environment.into_iter().collect();
        let secrets = Secrets::new(&environment);
        let (limits, roots) = (SendTimeouts::default(), Roots::System);
        let poster = Poster::new(limits, roots.clone());
        Self { config, limits, secrets, poster, roots, environment }
    }

    /// Sets other limits.
    #[must_use]
    pub fn with_limits(mut self, limits: SendTimeouts) -> Self {
        self.limits = limits;
        self.poster = Poster::new(limits, self.roots.clone());
        self
    }

    /// Trusts other certificates than the system's.
    #[must_use]
    pub fn with_roots(mut self, roots: Roots) -> Self {
        self.poster = Poster::new(self.limits, roots.clone());
        self.roots = roots;
        self
    }

    /// Returns how often an attempt is made.
    fn retry_policy(&self) -> RetryPolicy {
        self.config.attempts.map_or_else(RetryPolicy::default, RetryPolicy::new)
    }

    /// Makes the way out to `target`; an error is something that is missing for it.
    pub fn sender<'a>(&'a self, target: &'a Target) -> Result<Box<dyn Deliver + 'a>, NotifyError> {
        self.config.ready(target)?;
        Ok(match target {
            Target::Local => Box::new(local::Local { environment: &self.environment, limits: self.limits }),
            Target::Command(words) => Box::new(command::Command {
                words,
                environment: &self.environment,
                limit: self.limits.program,
            }),
            Target::Webhook(url) => Box::new(webhook::Webhook {
                url,
                secret: self.secrets.read(&self.config.webhook_secret)?,
                config: &self.config,
                poster: &self.poster,
            }),
            Target::Ntfy(topic) => {
                Box::new(ntfy::Ntfy::new(topic, &self.config, &self.secrets, &self.poster)?)
            }
            Target::Email(to) => {
                Box::new(email::Email::new(to, &self.config, &self.secrets, &self.roots, self.limits.email)?)
            }
        })
    }

    /// Shows what would be sent to `target`, and sends nothing.
    pub fn preview(&self, target: &Target, notice: &Notice) -> Preview {
        let content = match target {
            Target::Command(_) | Target::Webhook(_) => json(&notice.clone().covered()),
            Target::Local => notice.subject(),
            Target::Ntfy(_) | Target::Email(_) => notice.text(),
        };
        let missing = self.config.ready(target).err();
        Preview { target: target.label(), subject: notice.subject(), content, missing }
    }
}

fn json(notice: &Notice) -> String {
    // Strings, numbers and times alone: writing them cannot fail.
    serde_json::to_string(notice).unwrap_or_default()
}
