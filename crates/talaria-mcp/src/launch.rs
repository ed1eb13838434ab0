//! From a server of the configuration to the program or address of it, with the values of its variables. Pure.
//!
//! A server gets the same as on Codex: a few variables of the user, and those that its entry names. The digest of a launch
//! names the process or address: conversations with the same launch share one connection.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use sha2::{Digest, Sha256};
use talaria_core::servers::{Server, Transport, ValueSource, looks_secret};

/// The variables that every server gets, as on Codex.
const USUAL_VARIABLES: [&str; 10] =
    ["HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"];
/// How long a server may take to start and to list its tools, and how long a call may take.
const USUAL_START: Duration = Duration::from_secs(10);
const USUAL_CALL: Duration = Duration::from_secs(120);
/// Shorter values are not masked in what a server prints: they would mask ordinary words.
const SHORTEST_SECRET: usize = 6;

/// How the process below which a server runs is started: the program and arguments before the server's own.
#[derive(Clone, Debug)]
pub struct ServerKeeper {
    /// The program.
    pub program: PathBuf,
    /// Its first arguments.
    pub arguments: Vec<OsString>,
}

/// A server that can be started or addressed.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerLaunch {
    /// Its name in the configuration.
    pub name: String,
    /// How long it may take to start.
    pub start_limit: Duration,
    /// How long a call may take.
    pub call_limit: Duration,
    pub(crate) way: LaunchWay,
}

#[derive(Clone, PartialEq, Eq)]
pub(crate) enum LaunchWay {
    Program { argv: Vec<String>, environment: BTreeMap<String, String>, cwd: String },
    Address { url: String, headers: BTreeMap<String, String>, proxies: BTreeMap<String, String> },
}

/// Why a server of the configuration cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServerLaunchError {
    /// Its entry is wrong.
    #[error("{0}")]
    Wrong(String),
    /// A header needs a variable that is not set.
    #[error("the header {header} needs the variable {variable}, which is not set")]
    MissingVariable {
        /// The header.
        header: String,
        /// The variable.
        variable: String,
    },
}

/// Prepares a server. `variable` is the environment of the caller, `cwd` the directory of the conversation.
pub fn server_launch(
    server: &Server,
    cwd: &str,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<ServerLaunch, ServerLaunchError> {
    if !server.wrong.is_empty() {
        return Err(ServerLaunchError::Wrong(server.wrong.join("; ")));
    }
    let mut server = server.clone();
    if let Some(home) = variable("HOME") {
        server.at_home(&home);
    }
    let way = match server.transport {
        None => return Err(ServerLaunchError::Wrong("has neither command nor url".to_owned())),
        Some(Transport::Stdio { command, args, env, cwd: own }) => {
            let mut environment: BTreeMap<String, String> = USUAL_VARIABLES
                .iter()
                .filter_map(|name| Some(((*name).to_owned(), variable(name)?)))
                .collect();
            for (name, value) in env {
                // A variable that is not set stays unset, as on Codex.
                if let Some(value) = value_of(&value, &variable) {
                    environment.insert(name, value);
                }
            }
            let argv = std::iter::once(command).chain(args).collect();
            LaunchWay::Program { argv, environment, cwd: own.unwrap_or_else(|| cwd.to_owned()) }
        }
        Some(Transport::Http { url, headers: wanted }) => {
            let mut headers = BTreeMap::new();
            for (header, value) in wanted {
                let value =
                    value_of(&value, &variable).ok_or_else(|| ServerLaunchError::MissingVariable {
                        header: header.clone(),
                        variable: value.variable().unwrap_or_default().to_owned(),
                    })?;
                headers.insert(header, value);
            }
            let names = ["ALL_PROXY", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"];
            let names = names.into_iter().flat_map(|name| [name.to_owned(), name.to_lowercase()]);
            let proxies =
                names.filter_map(|name| Some((variable(&name)?, name))).map(|(value, name)| (name, value));
            LaunchWay::Address { url, headers, proxies: proxies.collect() }
        }
    };
    Ok(ServerLaunch {
        name: server.name,
        start_limit: server.connect_timeout.unwrap_or(USUAL_START),
        call_limit: server.timeout.unwrap_or(USUAL_CALL),
        way,
    })
}

fn value_of(value: &ValueSource, variable: &impl Fn(&str) -> Option<String>) -> Option<String> {
    match value {
        ValueSource::Literal(text) => Some(text.clone()),
        ValueSource::Variable(name) => variable(name),
        ValueSource::Bearer(name) => variable(name).map(|token| format!("Bearer {token}")),
    }
}

impl ServerLaunch {
    /// Names what is started or addressed, values included; safe to show and to compare.
    pub fn digest(&self) -> String {
        let mut sum = Sha256::new();
        let mut part = |text: &str| {
            sum.update(text.len().to_le_bytes());
            sum.update(text);
        };
        part(&self.name);
        match &self.way {
            LaunchWay::Program { argv, environment, cwd } => {
                part("program");
                part(cwd);
                argv.iter().for_each(|text| part(text));
                part("environment");
                environment.iter().for_each(|(name, value)| {
                    part(name);
                    part(value);
                });
            }
            LaunchWay::Address { url, headers, proxies } => {
                part("address");
                part(url);
                headers.iter().chain(proxies).for_each(|(name, value)| {
                    part(name);
                    part(value);
                });
            }
        }
        hex::encode(sum.finalize())
    }

    /// Values that must not be in anything that the server prints and we show.
    pub(crate) fn secrets(&self) -> Vec<String> {
        let values = match &self.way {
            LaunchWay::Program { environment, .. } => environment,
            LaunchWay::Address { headers, .. } => headers,
        };
        let secret = |(name, value): (&String, &String)| {
            let is_usual = USUAL_VARIABLES.contains(&name.as_str());
            let is_secret = !is_usual && value.len() >= SHORTEST_SECRET && looks_secret(name, value);
            is_secret.then(|| value.strip_prefix("Bearer ").unwrap_or(value).to_owned())
        };
        values.iter().filter_map(secret).collect()
    }
}

// Arguments, addresses and values may be secrets.
impl fmt::Debug for ServerLaunch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.way {
            LaunchWay::Program { .. } => "stdio",
            LaunchWay::Address { .. } => "streamable HTTP",
        };
        write!(f, "ServerLaunch({}, {kind})", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn servers(text: &str) -> Vec<Server> {
        talaria_core::config::parse(text).unwrap().config.servers
    }

    fn launch(text: &str, variables: &[(&str, &str)]) -> Result<ServerLaunch, ServerLaunchError> {
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        server_launch(&servers(text)[0], "/work", variable)
    }

    #[test]
    fn a_program_gets_the_usual_variables_and_those_that_it_names() {
        let text = "[mcp_servers.a]\ncommand = \"~/bin/x\"\nargs = [\"-v\"]\nenv = { A = \"1\", FROM = \"${FROM}\", NO = \"${NO}\" }\n";
        let variables = [("HOME", "/home/me"), ("PATH", "/bin"), ("OTHER_TOKEN", "secret"), ("FROM", "2")];
        let LaunchWay::Program { argv, environment, cwd } = launch(text, &variables).unwrap().way else {
            panic!("no program")
        };
        assert_eq!((argv, cwd.as_str()), (vec!["/home/me/bin/x".to_owned(), "-v".to_owned()], "/work"));
        let environment: Vec<String> =
            environment.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(environment, ["A=1", "FROM=2", "HOME=/home/me", "PATH=/bin"]);
    }

    #[test]
    fn a_header_without_its_variable_is_a_reason_and_no_request_without_it() {
        let text = "[mcp_servers.a]\nurl = \"https://x.example/mcp\"\nheaders = { Authorization = \"Bearer ${T}\" }\n";
        let error = launch(text, &[]).unwrap_err().to_string();
        assert_eq!(error, "the header Authorization needs the variable T, which is not set");
        let launch = launch(text, &[("T", "abcdefgh")]).unwrap();
        assert_eq!(launch.secrets(), ["abcdefgh"]);
        assert!(!format!("{launch:?}").contains("abcdefgh"));
    }

    #[test]
    fn the_digest_changes_with_everything_that_is_started() {
        let one = |text: &str, value: &str| {
            launch(&format!("[mcp_servers.a]\n{text}\n"), &[("V", value)]).unwrap().digest()
        };
        let base = one("command = \"x\"\nenv = { V = \"${V}\" }", "1");
        assert_eq!(base, one("command = \"x\"\nenv = { V = \"${V}\" }\ntimeout = 5", "1"));
        assert_ne!(base, one("command = \"x\"\nenv = { V = \"${V}\" }", "2"));
        assert_ne!(base, one("command = \"x\"\nargs = [\"A\"]\nenv = { V = \"${V}\" }", "1"));
    }
}
