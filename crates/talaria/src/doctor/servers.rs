//! A line for every configured MCP server that cannot work, as far as that is cheap to see: nothing is started or called.
//!
//! The check of the configuration reports problems of the keys themselves. A server that does not work ends no turn, so
//! these are warnings.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use talaria_core::servers::{Literals, Server, Transport, translate};
use talaria_core::version::Version;

use super::Check;

/// Looks at every server that is in use. `codex` is the version that would get them.
pub(super) fn servers(servers: &[Server], codex: Option<&Version>) -> Vec<Check> {
    let in_use = servers.iter().filter(|server| server.enabled && server.wrong.is_empty());
    in_use.flat_map(|server| troubles(server, codex)).collect()
}

fn troubles(server: &Server, codex: Option<&Version>) -> Vec<Check> {
    let name = &server.name;
    let tell = |what: String, remedy: String| Check::warning("mcp server", format!("{name}: {what}"), remedy);
    let mut found = Vec::new();
    if let Some(Transport::Stdio { command, cwd, env, .. }) = &server.transport {
        // With its own PATH it is searched elsewhere.
        if !env.contains_key("PATH") && !is_program(command, std::env::var_os("PATH").as_deref()) {
            let remedy = format!("install it, or correct mcp_servers.{name}.command");
            found.push(tell(format!("the program {command} is not found"), remedy));
        }
        if let Some(cwd) = cwd.as_ref().filter(|cwd| !Path::new(cwd).is_dir()) {
            let remedy = format!("create it, or correct mcp_servers.{name}.cwd");
            found.push(tell(format!("the directory {cwd} does not exist"), remedy));
        }
    }
    for variable in server.variables() {
        if variable.starts_with("TALARIA_") {
            let what = format!("the variable {variable} is Talaria's own and does not reach Codex");
            found.push(tell(what, "give it another name".to_owned()));
        } else if std::env::var_os(variable).is_none_or(|value| value.is_empty()) {
            let remedy = format!("set it where you start talaria: export {variable}=…");
            found.push(tell(format!("the variable {variable} is not set"), remedy));
        }
    }
    let logs = codex.is_some_and(|version| version.has_unix_socket() && version.logs_messages());
    if logs && !translate(server, Literals::Keep).secrets.is_empty() {
        let what = "it has a secret in the file, and this Codex would write it into its log: it is left out";
        found.push(tell(
            what.to_owned(),
            "refer to a variable (\"${NAME}\"), or run `talaria setup`".to_owned(),
        ));
    }
    found
}

/// Whether a program of this name can be started: a path as it is, another name in the directories of `path`.
fn is_program(command: &str, path: Option<&OsStr>) -> bool {
    let can_run = |file: &Path| {
        file.metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
    };
    if command.contains('/') {
        // A relative one is looked for in the directory of the conversation, which is not known here.
        return !command.starts_with('/') || can_run(Path::new(command));
    }
    path.is_some_and(|path| std::env::split_paths(path).any(|folder| can_run(&folder.join(command))))
}

#[cfg(test)]
mod tests {
    use talaria_core::config::parse;

    use super::*;

    fn details(text: &str, version: &Version) -> Vec<String> {
        let config = parse(text).unwrap().config;
        servers(&config.servers, Some(version)).into_iter().map(|check| check.detail).collect()
    }

    #[test]
    fn only_what_cannot_work_is_told() {
        let text = r#"
            [mcp_servers.good]
            command = "sh"
            cwd = "/"
            env = { PATH = "${PATH}" }
            [mcp_servers.absolute]
            command = "/bin/sh"
            [mcp_servers.off]
            command = "no-such-program-of-talaria"
            enabled = false
            [mcp_servers.gone]
            command = "no-such-program-of-talaria"
            cwd = "/no/such/directory"
            [mcp_servers.unset]
            url = "https://example.com/"
            headers = { A = "${NO_SUCH_VARIABLE_OF_TALARIA}", B = "${TALARIA_TOKEN}" }
            [mcp_servers.secret]
            command = "/bin/sh"
            env = { API_KEY = "hunter2" }
        "#;
        let newer = details(text, &Version::new(0, 166, 0));
        let expected = [
            "gone: the program no-such-program-of-talaria is not found",
            "gone: the directory /no/such/directory does not exist",
            "unset: the variable NO_SUCH_VARIABLE_OF_TALARIA is not set",
            "unset: the variable TALARIA_TOKEN is Talaria's own and does not reach Codex",
        ];
        assert_eq!(newer, expected);
        let older = details(text, &Version::new(0, 130, 0));
        assert_eq!(older.len(), 5);
        assert!(older[4].starts_with("secret: ") && !older[4].contains("hunter2"), "{older:?}");
    }

    #[test]
    fn a_file_that_cannot_be_run_is_no_program() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("tool");
        std::fs::write(&file, "").unwrap();
        assert!(!is_program("tool", Some(place.path().as_os_str())));
        assert!(!is_program(file.to_str().unwrap(), None));
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert!(is_program("tool", Some(place.path().as_os_str())) && !is_program("tool", None));
        assert!(is_program(file.to_str().unwrap(), None));
    }
}
