//! Looks whether a sandbox hides what is Talaria's own: a command in it tries to read the key and to list the hosts.

use talaria_codex::host::Host;
use talaria_codex_proto::wire::call::SandboxPolicy;
use talaria_core::policy::HideHome;
use talaria_home::home::TalariaHome;

use super::Check;

const NAME: &str = "own files";
/// Prints how many bytes of the first file and how many entries of the second directory it can see.
const SCRIPT: &str = r#"echo $(cat "$1" 2>/dev/null | wc -c) $(ls -A "$2" 2>/dev/null | wc -l)"#;

/// Runs the check on a host of this home.
pub(super) async fn own_files(host: &Host, home: &TalariaHome, hide_home: HideHome) -> Check {
    if hide_home == HideHome::Never {
        let detail =
            "codex.hide_home is \"never\": commands in a sandbox can read Talaria's key and database";
        return Check::warning(NAME, detail, "run `talaria config unset codex.hide_home`");
    }
    let paths = [home.key_file(), home.hosts_dir()].map(|path| path.display().to_string());
    let command = ["/bin/sh", "-c", SCRIPT, "sh"].map(str::to_owned).into_iter().chain(paths).collect();
    let sandbox = SandboxPolicy::ReadOnly { network_access: false };
    let Some(exec) = host.hiding_exec(command, "/".to_owned(), 20_000, &sandbox) else {
        let detail =
            format!("Codex {} cannot hide Talaria's key and database from its sandbox", host.version());
        return Check::warning(NAME, detail, "run `talaria setup` for the tested version");
    };
    let seen = match host.call(&exec).await {
        Ok(reply) if reply.exit_code == 0 => reply.stdout.trim().to_owned(),
        Ok(reply) => return not_checked(reply.stderr.trim()),
        Err(error) => return not_checked(&error.to_string()),
    };
    match seen.split_once(' ').map(|(bytes, entries)| (bytes.parse::<u64>(), entries.parse::<u64>())) {
        Some((Ok(0), Ok(0))) => Check::ok(NAME, hidden(host, home, hide_home)),
        Some((Ok(_), Ok(_))) => {
            let detail = format!("a command in a sandbox can read {}", home.root().display());
            Check::problem(NAME, detail, "see the sandbox prerequisites in Codex's documentation")
        }
        _ => not_checked(&seen),
    }
}

fn hidden(host: &Host, home: &TalariaHome, hide_home: HideHome) -> String {
    let detail = format!("a command in a sandbox cannot read {}", home.root().display());
    if hide_home == HideHome::Auto && host.version().keeps_denials() {
        let version = host.version();
        return format!(
            "{detail}, except with Codex {version} in conversations that may ask you and have no network (codex.hide_home)"
        );
    }
    detail
}

fn not_checked(why: &str) -> Check {
    Check::warning(NAME, format!("not checked: {why}"), "solve the problem with the sandbox first")
}
