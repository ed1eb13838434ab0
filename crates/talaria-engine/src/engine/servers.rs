//! The MCP servers of the configuration, as conversations get them when they are opened.
//!
//! The file is read anew for every opening. One that cannot be read leaves the servers of the last good reading; one
//! server that is wrong is left out, because Codex would refuse the whole conversation for it. Both is told in the
//! conversation. What goes to Codex here may hold secrets: it is never written nor shown. Called by `opening`.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use serde_json::{Map, Value};
use talaria_core::plain::one_line;
use talaria_core::redact::redact;
use talaria_core::servers::{Literals, Server, translate};

use crate::home::TalariaHome;

/// Keeps the last good reading.
#[derive(Default)]
pub(super) struct Servers(Mutex<Option<Vec<Server>>>);

/// What a conversation gets.
#[derive(Default)]
pub(super) struct Brought {
    /// The servers by their names, in Codex's words.
    pub(super) config: Map<String, Value>,
    /// The variables that they refer to.
    pub(super) variables: BTreeSet<String>,
    /// What a person should know about it.
    pub(super) warnings: Vec<String>,
}

impl Servers {
    /// Reads the servers as the file has them now.
    pub(super) fn read(&self, home: &TalariaHome) -> Brought {
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
            brought.add(server);
        }
        brought
    }
}

impl Brought {
    fn add(&mut self, server: &Server) {
        let translated = translate(server, Literals::Keep);
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
        let first = servers.read(&home);
        assert_eq!((first.config.len(), first.warnings.len()), (1, 0));
        std::fs::write(home.config_file(), "[mcp_servers.a\n").unwrap();
        let broken = servers.read(&home);
        assert_eq!((broken.config, broken.variables), (first.config, first.variables));
        assert!(broken.warnings[0].contains("line 1") && broken.warnings[0].contains("from before"));
        let fresh = Servers::default().read(&home);
        assert!(fresh.config.is_empty() && fresh.warnings[0].contains("no MCP servers"));
        std::fs::write(home.config_file(), "").unwrap();
        assert!(servers.read(&home).config.is_empty(), "a server that was taken out is gone");
    }

    #[test]
    fn a_wrong_server_is_left_out_and_told_and_a_disabled_one_is_left_out() {
        let text = "[mcp_servers.good]\nurl = \"https://x/\"\n[mcp_servers.off]\ncommand = \"x\"\nenabled = false\n\
                    [mcp_servers.old]\nurl = \"https://x/\"\ntransport = \"sse\"\n";
        let (_place, home) = home(text);
        let brought = Servers::default().read(&home);
        assert_eq!(brought.config.keys().collect::<Vec<_>>(), ["good"]);
        assert_eq!(brought.warnings.len(), 1);
        assert!(brought.warnings[0].starts_with("MCP server old is left out"), "{:?}", brought.warnings);
    }
}
