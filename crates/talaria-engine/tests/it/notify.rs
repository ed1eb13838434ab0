//! Notices on their way out, against real servers and programs on this machine.

mod delivering;
mod desktop;
mod mail;
mod mail_sink;
mod memory;
mod posting;
mod programs;
mod push;
pub(crate) mod receiver;

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use talaria_core::ids::SessionId;
use talaria_core::notice::{Notice, NoticeKind, QueuedNotice, Target};
use talaria_engine::notify::{NotifyError, Parcel, Receipt, Roots, SendTimeouts, Senders};

/// A token that redaction knows by its shape.
const TOKEN: &str = "ghp_0123456789abcdefABCDEF0123456789abcd";
/// What webhooks are signed with.
const KEY: &str = "a key for webhooks";

fn notice() -> Notice {
    Notice {
        kind: NoticeKind::Outcome,
        task: "codex-ab12".to_owned(),
        session: SessionId::new("s-1"),
        title: "fix the flaky test".to_owned(),
        status: "completed".to_owned(),
        answer: Some("Done: it waited for the wrong port.".to_owned()),
        error: None,
        files: vec!["src/port.rs".to_owned()],
        diff_stat: Some("1 file changed, +3 -1".to_owned()),
        branch: Some("talaria/codex-ab12".to_owned()),
        request: None,
        look: "talaria task show codex-ab12".to_owned(),
        respond: None,
        created_at: Timestamp::UNIX_EPOCH,
        completed_at: Some(Timestamp::UNIX_EPOCH),
        repeat: false,
        attempt: 1,
    }
}

fn parcel(notice: Notice) -> Parcel {
    Parcel { id: "codex-ab12/1/0".to_owned(), notice: notice.covered(), tty: None }
}

fn payload(notice: Notice) -> String {
    serde_json::to_string(&QueuedNotice { notice, tty: None }).unwrap()
}

/// Long enough for a busy machine.
const AMPLE: Duration = Duration::from_secs(60);

fn ample() -> SendTimeouts {
    SendTimeouts { connect: AMPLE, http: AMPLE, email: AMPLE, program: AMPLE, desktop: AMPLE, stop: AMPLE }
}

fn impatient() -> SendTimeouts {
    let moment = Duration::from_millis(300);
    SendTimeouts { http: moment, email: moment, program: moment, ..ample() }
}

/// Senders with the text of a section `[notify]`, the key of webhooks, and a small environment.
fn senders(config: &str) -> Senders {
    let text = format!("[notify]\nwebhook_secret_env = \"HOOK_KEY\"\n{config}");
    let parsed = talaria_core::config::parse(&text).unwrap();
    assert!(parsed.problems.is_empty(), "{:?}", parsed.problems);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let environment: Vec<(OsString, OsString)> = vec![
        ("PATH".into(), path),
        ("HOOK_KEY".into(), KEY.into()),
        ("MAIL_PASSWORD".into(), "open sesame".into()),
    ];
    Senders::new(parsed.config.notify, environment).with_limits(ample()).with_roots(Roots::Only(Vec::new()))
}

async fn send(senders: &Senders, target: &str, parcel: &Parcel) -> Result<Receipt, NotifyError> {
    let target: Target = target.parse().unwrap();
    senders.sender(&target)?.deliver(parcel).await
}

fn write_private(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
}
