//! The MCP servers of the configuration, as conversations get them when they are opened.
//!
//! The file is read again for every opening. One that cannot be read leaves the servers of the last good reading; one
//! server that is wrong is left out, because Codex would refuse the whole conversation for it. Both are reported in the
//! conversation. The values sent to Codex may contain secrets: they are never written nor shown, and a Codex that logs
//! its requests does not get them. Called by `opening`.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use serde_json::{Map, Value};
use talaria_core::servers::{Literals, Server, translate};
use talaria_guard::plain::one_line;
use talaria_guard::redact::redact;

use talaria_codex::HostTransport;
use talaria_codex::host::HostSpec;
use talaria_home::home::TalariaHome;

/// Keeps the last good reading.
#[derive(Default)]
pub(crate) struct Servers(Mutex<Option<Vec<Server>>>);

/// Whether Codex logs its requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HostLogging {
    /// It keeps it to itself.
    Private,
    /// It writes every message into its log. Observed on 0.130.0 over its socket: `logs_2.sqlite` in its home.
    Logging,
}

impl HostLogging {
    pub(crate) fn of(spec: &HostSpec) -> Self {
        let logs = spec.transport == HostTransport::UnixSocket && spec.version.logs_messages();
        if logs { Self::Logging } else { Self::Private }
    }
}

/// The servers of a conversation.
#[derive(Default)]
pub(crate) struct Brought {
    /// The servers by their names, in Codex's words.
    pub(crate) config: Map<String, Value>,
    /// The variables that they refer to.
    pub(crate) variables: BTreeSet<String>,
    /// Notes for the user.
    pub(crate) warnings: Vec<String>,
}

impl Servers {
    /// Reads the servers as the file has them now.
    pub(crate) fn read(&self, home: &TalariaHome, logging: HostLogging) -> Brought {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut brought = Brought::default();
        let servers = match home.load_config() {
            Ok((config, _)) => last.insert(config.servers).clone(),
            Err(error) => {
                let (which, servers) = match last.clone() {
                    Some(servers) => ("the MCP servers are those from before", servers),
                    None => ("there are no MCP servers from it", Vec::new()),
                };
                brought.warn(&format!("{error}; {which}"));
                servers
            }
        };
        for server in servers.iter().filter(|server| server.enabled) {
            brought.add(server, logging);
        }
        brought
    }
}

impl Brought {
    fn add(&mut self, server: &Server, logging: HostLogging) {
        let translated = translate(server, Literals::Keep);
        if logging == HostLogging::Logging && !translated.secrets.is_empty() {
            return self.warn(&format!("MCP server {} is left out: {}", server.name, too_open(server)));
        }
        let entry = translated
            .server
            .and_then(|server| serde_json::to_value(server).map_err(|error| error.to_string()));
        match entry {
            Ok(entry) => {
                self.config.insert(server.name.clone(), entry);
                self.variables.extend(server.variables().into_iter().map(str::to_owned));
            }
            Err(why) => self.warn(&format!("MCP server {} is left out: {why}", server.name)),
        }
    }

    /// The file is written by a person, and quoted here.
    fn warn(&mut self, message: &str) {
        self.warnings.push(redact(&one_line(message)).into_owned());
    }
}

/// Why a server with secrets does not reach a Codex that writes them down, and what to do.
fn too_open(server: &Server) -> String {
    let referred = translate(server, Literals::Refer).referred;
    let places: Vec<&str> = referred.iter().map(|referred| referred.place.as_str()).collect();
    let place = if places.is_empty() { "it".to_owned() } else { places.join(", ") };
    format!(
        "this version of Codex writes its input into its log, and {place} looks like a secret; refer to a \
         variable (\"${{NAME}}\") there, or run `talaria setup` for a newer Codex"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home(text: &str) -> (tempfile::TempDir, TalariaHome) {
        let place = tempfile::tempdir().unwrap();
        let home = TalariaHome::resolve(Some(place.path().into()), None).unwrap();
        std::fs::write(home.config_file(), text).unwrap();
        (place, home)
    }

    #[test]
    fn a_file_that_cannot_be_read_leaves_the_servers_of_before_and_says_so() {
        let (_place, home) = home("[mcp_servers.a]\ncommand = \"x\"\nenv = { T = \"${T}\" }\n");
        let servers = Servers::default();
        let first = servers.read(&home, HostLogging::Private);
        assert_eq!((first.config.len(), first.warnings.len()), (1, 0));
        std::fs::write(home.config_file(), "[mcp_servers.a\n").unwrap();
        let broken = servers.read(&home, HostLogging::Private);
        assert_eq!((broken.config, broken.variables), (first.config, first.variables));
        assert!(broken.warnings[0].contains("line 1") && broken.warnings[0].contains("from before"));
        let fresh = Servers::default().read(&home, HostLogging::Private);
        assert!(fresh.config.is_empty() && fresh.warnings[0].contains("no MCP servers"));
        std::fs::write(home.config_file(), "").unwrap();
        assert!(
            servers.read(&home, HostLogging::Private).config.is_empty(),
            "a server that was taken out is gone"
        );
    }

    #[test]
    fn a_wrong_server_is_left_out_and_told_and_a_disabled_one_is_left_out() {
        let text = "[mcp_servers.good]\nurl = \"https://x/\"\n[mcp_servers.off]\ncommand = \"x\"\nenabled = false\n\
                    [mcp_servers.old]\nurl = \"https://x/\"\ntransport = \"sse\"\n";
        let (_place, home) = home(text);
        let brought = Servers::default().read(&home, HostLogging::Private);
        assert_eq!(brought.config.keys().collect::<Vec<_>>(), ["good"]);
        assert_eq!(brought.warnings.len(), 1);
        assert!(brought.warnings[0].starts_with("MCP server old is left out"), "{:?}", brought.warnings);
    }

    #[test]
    fn a_codex_that_writes_down_what_it_is_sent_gets_no_secrets() {
        let text = "[mcp_servers.a]\ncommand = \"x\"\nenv = { MY_TOKEN = \"hunter2\" }\n\
                    [mcp_servers.b]\nurl = \"https://x/\"\nheaders = { X-Key = \"${K}\" }\n";
        let (_place, home) = home(text);
        let brought = Servers::default().read(&home, HostLogging::Logging);
        assert_eq!(brought.config.keys().collect::<Vec<_>>(), ["b"]);
        assert!(brought.warnings[0].contains("env.MY_TOKEN"), "{:?}", brought.warnings);
        assert!(!brought.warnings[0].contains("hunter2"));
        assert_eq!(Servers::default().read(&home, HostLogging::Private).config.len(), 2);
    }
}
