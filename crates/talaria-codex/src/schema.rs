//! The schema that an installed Codex reports of itself.

use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use serde_json::Value;
use talaria_codex_proto::drift::{Drift, Schema, compare};
use tokio::io::AsyncReadExt;
use tokio::process::Command;

use super::locate::child_guard::ChildGuard;

/// How long Codex may take to write its schema (measured: 0.2 to 0.7 s).
const LIMIT: Duration = Duration::from_secs(30);

/// Has `binary` write its schema, and compares it with what Talaria says and reads. The words of an error are for
/// people.
pub async fn drift(binary: &Path) -> Result<Drift, String> {
    let directory =
        tempfile::tempdir().map_err(|error| format!("cannot make a temporary directory: {error}"))?;
    let mut command = Command::new(binary);
    command.args(["app-server", "generate-json-schema", "--experimental", "--out"]).arg(directory.path());
    // It makes a directory in its home; the user's is left alone.
    command.env("CODEX_HOME", directory.path());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let run = tokio::time::timeout(LIMIT, run_guarded(&mut command));
    let (status, words) = match run.await {
        Ok(Ok(output)) => output,
        Ok(Err(error)) => return Err(format!("cannot run {}: {error}", binary.display())),
        Err(_) => return Err(format!("Codex wrote no schema within {} s", LIMIT.as_secs())),
    };
    if !status.success() {
        return Err(format!("Codex wrote no schema ({status}): {}", words.trim()));
    }
    let part = |name: &str| read(&directory.path().join(name));
    let (calls, notifications) = (part("ClientRequest.json")?, part("ServerNotification.json")?);
    let requests = part("ServerRequest.json")?;
    Ok(compare(&Schema { calls: &calls, notifications: &notifications, requests: &requests }))
}

/// Runs the command to its end. Returns its exit status and standard error.
async fn run_guarded(command: &mut Command) -> io::Result<(ExitStatus, String)> {
    let mut guard = ChildGuard::spawn(command)?;
    let mut words = Vec::new();
    if let Some(mut stderr) = guard.child().stderr.take() {
        stderr.read_to_end(&mut words).await?;
    }
    let status = guard.child().wait().await?;
    Ok((status, String::from_utf8_lossy(&words).into_owned()))
}

fn read(path: &Path) -> Result<Value, String> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let text = std::fs::read_to_string(path).map_err(|error| format!("cannot read {name}: {error}"))?;
    serde_json::from_str(&text).map_err(|error| format!("{name} is not JSON: {error}"))
}
