//! Resumes a conversation after its host died or was abandoned: another host, and the same thread on it.
//!
//! The previous settings are requested and checked again, because a resumed thread loses some of them. Only if Codex
//! refuses to resume the thread is a new one started with a digest of the transcript. An older Codex never opens a
//! thread of a newer one: it would corrupt the thread's file. Decides nothing about turns:
//! `talaria_codex_proto::settle` decides the fate of a running turn. Called by the session, which has ended the old
//! host.

use std::fmt;
use std::sync::Arc;

use talaria_codex_proto::wire::call::ThreadStart;
use talaria_core::event::Started;
use talaria_core::ids::ThreadId;
use talaria_core::next_step::NextStep;
use talaria_core::version::Version;

use crate::client::{CallError, pause};
use crate::host::{Host, HostError};
use crate::source::HostSource;
use crate::threads::{OpenThread, ThreadError};

/// Maximum number of attempts.
const ATTEMPTS: u32 = 3;
/// How often one host is asked for the thread before a new one is started in its place: the lock of a Codex that was
/// just killed may take a moment to go.
const REQUESTS: u32 = 3;
/// Maximum size of a digest; the end of a conversation matters most.
pub const DIGEST_BYTES: usize = 32 * 1024;

/// A resumed conversation.
#[derive(Debug)]
pub struct Revived {
    /// The new host.
    pub host: Arc<Host>,
    /// The thread on it.
    pub thread: OpenThread,
    /// How it was resumed.
    pub how: Revival,
}

/// How a conversation was resumed. Its text is the one line that people see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Revival {
    /// Codex resumed the thread.
    Resumed,
    /// Codex could not; this is a new thread that starts with a digest.
    Seeded {
        /// Why not.
        why: String,
        /// Bytes of the digest; 0 if there was none.
        bytes: usize,
    },
}

impl fmt::Display for Revival {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Seeded { why, bytes } = self else {
            return f.write_str("Codex was restarted and resumed the conversation");
        };
        write!(f, "Codex was restarted but cannot resume the conversation ({why}); ")?;
        match bytes {
            0 => f.write_str("a new one was started without its history"),
            _ => f.write_str("a new one was started with a digest of it"),
        }
    }
}

/// Why a conversation could not be resumed.
#[derive(Debug, thiserror::Error)]
pub enum RevivalError {
    /// No Codex could be started.
    #[error("cannot start Codex again: {0}")]
    Host(#[from] HostError),
    /// The installed Codex is older than the one that wrote the conversation.
    #[error("the conversation was kept by Codex {kept}, and the one that is installed now is {found}")]
    Older {
        /// The version that wrote it.
        kept: Version,
        /// The installed version.
        found: Version,
    },
    /// Codex started, but not the conversation.
    #[error("Codex was restarted, but the conversation was not resumed: {0}")]
    Thread(#[from] ThreadError),
}

impl RevivalError {
    /// Next step for the user.
    pub fn next_step(&self) -> NextStep {
        match self {
            Self::Host(error) => error.next_step(),
            Self::Older { kept, .. } => {
                format!("install Codex {kept} or newer; an older one would ruin the conversation").into()
            }
            Self::Thread(error) => error.next_step(),
        }
    }

    /// Returns whether a retry may succeed.
    fn may_pass(&self) -> bool {
        match self {
            Self::Host(error) => error.may_pass(),
            Self::Thread(ThreadError::Call(error)) => !matches!(error, CallError::Refused { .. }),
            Self::Thread(ThreadError::Power(_)) | Self::Older { .. } => false,
        }
    }
}

/// Resumes a conversation on another host from `source`. `asked` has the options at its start, `before` the settings
/// in force then, `digest` the text for a new thread if the old one cannot be resumed. If dropped, it leaves no
/// process.
pub async fn revive(
    source: &dyn HostSource,
    asked: &ThreadStart,
    before: &Started,
    digest: &str,
) -> Result<Revived, RevivalError> {
    refuse_older(&source.spec().version, before)?;
    let asked = keep_in_force(asked, before);
    let mut attempt = 1;
    loop {
        match try_once(source, &asked, before, digest).await {
            Err(error) if error.may_pass() && attempt < ATTEMPTS => {
                tokio::time::sleep(pause(attempt)).await;
                attempt += 1;
            }
            result => return result,
        }
    }
}

async fn try_once(
    source: &dyn HostSource,
    asked: &ThreadStart,
    before: &Started,
    digest: &str,
) -> Result<Revived, RevivalError> {
    let host = source.host().await?;
    let revived = match refuse_older(host.version(), before) {
        Ok(()) => resume_or_seed(&host, asked, before, digest).await,
        Err(error) => Err(error),
    };
    match revived {
        Ok((thread, how)) => Ok(Revived { host, thread, how }),
        Err(error) => {
            source.give_back(host).await;
            Err(error)
        }
    }
}

fn refuse_older(found: &Version, before: &Started) -> Result<(), RevivalError> {
    match before.codex.parse::<Version>() {
        Ok(kept) if *found < kept => Err(RevivalError::Older { kept, found: found.clone() }),
        _ => Ok(()),
    }
}

/// Asks for what was in force also where nothing had been asked: the user's configuration may have decided then, and a
/// conversation must not change its permissions because a process died.
fn keep_in_force(asked: &ThreadStart, before: &Started) -> ThreadStart {
    let mut asked = asked.clone();
    asked.sandbox = asked.sandbox.or_else(|| before.sandbox.parse().ok());
    asked.approval_policy = asked.approval_policy.or_else(|| before.approval.parse().ok());
    asked.model = asked.model.or_else(|| Some(before.model.clone()).filter(|model| !model.is_empty()));
    if let (None, Some(effort)) = (asked.effort(), &before.effort) {
        asked.set_effort(effort.clone());
    }
    asked
}

async fn resume_or_seed(
    host: &Host,
    asked: &ThreadStart,
    before: &Started,
    digest: &str,
) -> Result<(OpenThread, Revival), RevivalError> {
    let mut requests = 1;
    let why = loop {
        match host.resume_thread(&before.thread, asked).await {
            Ok(thread) => return Ok((thread, Revival::Resumed)),
            Err(ThreadError::Call(CallError::Refused { error, .. })) if requests == REQUESTS => {
                break error.message;
            }
            Err(ThreadError::Call(CallError::Refused { .. })) => {
                // It may have been archived: by the person in Codex, or by an engine that ended while it unloaded it.
                host.restore_thread(&before.thread).await.map_err(ThreadError::from)?;
                tokio::time::sleep(pause(requests)).await;
                requests += 1;
            }
            Err(error) => return Err(error.into()),
        }
    };
    let thread = host.start_thread(asked).await?;
    let bytes = seed(host, &thread.started.thread, digest).await.map_err(ThreadError::from)?;
    Ok((thread, Revival::Seeded { why, bytes }))
}

/// Sends a new thread a digest of what was said before, and returns how many bytes of it.
pub async fn seed(host: &Host, thread: &ThreadId, digest: &str) -> Result<usize, CallError> {
    let digest = truncate(digest.trim());
    if !digest.is_empty() {
        host.seed_thread(thread, &framed(&digest)).await?;
    }
    Ok(digest.len())
}

/// A digest as a model reads it; none if nothing was said. For a runtime that adds it to its own history.
pub fn framed_digest(digest: &str) -> Option<String> {
    let digest = truncate(digest.trim());
    (!digest.is_empty()).then(|| framed(&digest))
}

/// The end of a digest that is too long, with a word about what was left out.
fn truncate(digest: &str) -> String {
    let left_out = digest.len().saturating_sub(DIGEST_BYTES);
    match digest.split_at_checked(digest.ceil_char_boundary(left_out)) {
        Some((head, tail)) if !head.is_empty() => format!("[{} bytes left out]\n{tail}", head.len()),
        _ => digest.to_owned(),
    }
}

fn framed(digest: &str) -> String {
    format!(
        "The earlier part of this conversation could not be loaded. This is a digest of it, for your information; \
         nothing in it is a new request.\n\n<earlier_conversation>\n{digest}\n</earlier_conversation>"
    )
}

#[cfg(test)]
mod tests {
    use talaria_core::policy::{ApprovalPolicy, Sandbox};

    use super::*;

    fn before() -> Started {
        Started {
            thread: ThreadId::new("t"),
            cwd: "/w".to_owned(),
            model: "m".to_owned(),
            provider: "p".to_owned(),
            effort: Some("low".to_owned()),
            sandbox: "read-only".to_owned(),
            approval: "untrusted".to_owned(),
            codex: "0.166.0".to_owned(),
            path: None,
            network: None,
            writable_roots: None,
        }
    }

    #[test]
    fn what_was_in_force_is_asked_for_again_unless_something_else_had_been_asked() {
        let kept = keep_in_force(&ThreadStart::default(), &before());
        assert_eq!(
            (kept.sandbox, kept.approval_policy),
            (Some(Sandbox::ReadOnly), Some(ApprovalPolicy::Untrusted))
        );
        assert_eq!((kept.model.as_deref(), kept.effort()), (Some("m"), Some("low")));
        let asked = ThreadStart { sandbox: Some(Sandbox::WorkspaceWrite), ..ThreadStart::default() };
        assert_eq!(keep_in_force(&asked, &before()).sandbox, Some(Sandbox::WorkspaceWrite));
        let strange = Started { approval: "granular".to_owned(), ..before() };
        assert_eq!(keep_in_force(&ThreadStart::default(), &strange).approval_policy, None);
    }

    #[test]
    fn an_older_codex_is_not_let_near_a_thread_of_a_newer_one() {
        let try_with = |found: &str| refuse_older(&found.parse().unwrap(), &before());
        let error = try_with("0.165.9").unwrap_err();
        assert!(
            matches!(&error, RevivalError::Older { .. }) && error.next_step().in_shell().contains("0.166.0"),
            "{error}"
        );
        assert!(try_with("0.166.0").is_ok() && try_with("0.170.0").is_ok());
    }

    #[test]
    fn a_long_digest_keeps_its_end_and_says_how_much_is_missing() {
        let long = "ä".repeat(DIGEST_BYTES);
        let kept = truncate(&long);
        assert!(
            kept.starts_with("[32768 bytes left out]\nä") && kept.len() < DIGEST_BYTES + 40,
            "{}",
            kept.len()
        );
        let odd = format!("x{}", "ä".repeat(DIGEST_BYTES / 2));
        assert!(truncate(&odd).starts_with("[1 bytes left out]\nä"));
        assert_eq!(truncate("short"), "short");
    }
}
