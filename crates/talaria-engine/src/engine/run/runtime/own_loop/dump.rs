//! Dumps of model requests and answers for diagnosis (`talaria serve --debug-requests DIR`): readable by their owner alone,
//! secrets masked.
//!
//! A request has no key before the transport adds it, and the transport masks the key in what comes back, so neither is in a
//! dump. Other secrets are masked by their pattern in the whole text; those that a provider splits over several events are
//! not recognised. A dump that cannot be written is a line in the log and changes nothing of the turn.

use std::fs::{DirBuilder, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use talaria_agent::rendered::RenderedRequest;
use talaria_core::ids::SessionId;
use talaria_guard::redact::redact;

/// The most that is kept of an answer.
const LONGEST_ANSWER: usize = 8 * 1024 * 1024;

/// Names an attempt.
#[derive(Clone, Copy)]
pub(super) struct AttemptName<'a> {
    pub(super) session: &'a SessionId,
    pub(super) ordinal: i64,
    pub(super) attempt: u64,
}

/// The dump of one attempt. The answer is written when it is dropped: a cut or cancelled one, too.
pub(super) struct AttemptDump {
    /// Without the ending.
    path: PathBuf,
    answer: Vec<u8>,
}

impl AttemptDump {
    /// Prepares a dump below a directory, which is made if it is missing.
    pub(super) fn new(directory: &Path, name: AttemptName<'_>) -> Self {
        let AttemptName { session, ordinal, attempt } = name;
        let name = format!("{}-turn-{ordinal}-attempt-{attempt}", session.short());
        let made = DirBuilder::new().recursive(true).mode(0o700).create(directory);
        if let Err(error) = made {
            tracing::warn!("cannot make {} for dumps of requests: {error}", directory.display());
        }
        Self { path: directory.join(name), answer: Vec::new() }
    }

    /// Writes the request.
    pub(super) fn request(&self, base_url: &str, request: &RenderedRequest) {
        let mut text = format!("{} {base_url}{}\n", request.method, request.path);
        for (name, value) in &request.headers {
            text.push_str(&format!("{name}: {value}\n"));
        }
        text.push('\n');
        text.push_str(&String::from_utf8_lossy(&request.body));
        text.push('\n');
        self.write("request.txt", &text);
    }

    /// Takes the head of the answer.
    pub(super) fn head(&mut self, status: u16, headers: &[(String, String)]) {
        let mut text = format!("status {status}\n");
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\n"));
        }
        text.push('\n');
        self.answer.extend_from_slice(text.as_bytes());
    }

    /// Takes a piece of the answer.
    pub(super) fn piece(&mut self, bytes: &[u8]) {
        let room = LONGEST_ANSWER.saturating_sub(self.answer.len());
        self.answer.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// Takes why there is no more of it.
    pub(super) fn end(&mut self, why: &str) {
        self.piece(format!("\n[{why}]\n").as_bytes());
    }

    fn write(&self, ending: &str, text: &str) {
        let path = self.path.with_extension(ending);
        let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path);
        let written = file.and_then(|mut file| file.write_all(redact(text).as_bytes()));
        if let Err(error) = written {
            tracing::warn!("cannot write {}: {error}", path.display());
        }
    }
}

impl Drop for AttemptDump {
    fn drop(&mut self) {
        if !self.answer.is_empty() {
            self.write("answer.txt", &String::from_utf8_lossy(&self.answer));
        }
    }
}
