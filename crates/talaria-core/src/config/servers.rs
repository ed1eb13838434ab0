//! Reads `[mcp_servers.NAME]`: the reference's keys into a [`Server`], and every mistake with its place.
//!
//! Owns which keys there are and which have no effect. A wrong key makes the whole server unusable (it is in
//! `Server::wrong`), because Codex refuses a conversation for one wrong server, and a server without its directory or
//! its header is another one. Called by the reader in `config` for the whole section.

mod values;

use std::collections::BTreeMap;

use toml_edit::{Item, TableLike};

use super::article;
use super::keys::Wrong;
use super::{Severity, did_you_mean, start_of};
use crate::nearest::nearest;
use crate::servers::{Offered, Server, Skipped, Transport, ValueSource, is_server_name};
use values::Kind;

pub(super) const KEYS: &[&str] = &[
    "command",
    "args",
    "env",
    "cwd",
    "url",
    "headers",
    "transport",
    "timeout",
    "connect_timeout",
    "enabled",
    "supports_parallel_tool_calls",
    "tools",
    "description",
];

/// Keys of the reference that nothing in Codex corresponds to.
const REFERENCE_ONLY: &[(&str, &str)] = &[
    ("sampling", "no server may ask the model"),
    ("elicitation", "questions of a server always reach you"),
    ("auth", "Codex logs in itself: run codex mcp login"),
    ("oauth", "Codex logs in itself: run codex mcp login"),
    ("ssl_verify", "Codex always checks certificates"),
    ("client_cert", "Codex has no client certificates for servers"),
    ("client_key", "Codex has no client certificates for servers"),
    ("keepalive_interval", "Codex keeps the connection itself"),
    ("idle_timeout_seconds", "Codex keeps a server as long as the conversation"),
    ("max_lifetime_seconds", "Codex keeps a server as long as the conversation"),
    ("lifecycle", "Codex keeps a server as long as the conversation"),
    ("skip_preflight", "Codex does not try the address beforehand"),
];

/// The name of the same key in Codex's own file.
const CODEX_NAMES: &[(&str, &str)] = &[
    ("http_headers", "headers"),
    ("env_http_headers", "headers"),
    ("bearer_token_env_var", "headers.Authorization = \"Bearer ${VARIABLE}\""),
    ("env_vars", "env, with the value \"${VARIABLE}\""),
    ("startup_timeout_sec", "connect_timeout"),
    ("startup_timeout_ms", "connect_timeout"),
    ("tool_timeout_sec", "timeout"),
    ("enabled_tools", "tools.include"),
    ("disabled_tools", "tools.exclude"),
];

/// A problem in the section.
pub(super) struct Found {
    pub(super) start: Option<usize>,
    pub(super) key: String,
    pub(super) severity: Severity,
    pub(super) message: String,
    pub(super) hint: Option<String>,
}

/// Reads the whole section.
pub(super) fn read(section: &dyn TableLike) -> (Vec<Server>, Vec<Found>) {
    let mut servers = Vec::new();
    let mut found = Vec::new();
    for (name, item) in section.iter() {
        let start = start_of(section, name, item);
        let reading = Reading::new(name, start);
        let (server, problems) = reading.server(item);
        servers.push(server);
        found.extend(problems);
    }
    (servers, found)
}

struct Reading {
    start: Option<usize>,
    server: Server,
    found: Vec<Found>,
}

impl Reading {
    fn new(name: &str, start: Option<usize>) -> Self {
        let server = Server {
            name: name.to_owned(),
            transport: None,
            timeout: None,
            connect_timeout: None,
            enabled: true,
            tools: Offered::All,
            parallel: None,
            unused: Vec::new(),
            wrong: Vec::new(),
        };
        Self { start, server, found: Vec::new() }
    }

    fn server(mut self, item: &Item) -> (Server, Vec<Found>) {
        let Some(table) = item.as_table_like() else {
            let message = format!("must be a table, not {}", article(item.type_name()));
            self.fail("", self.start, message, Some("write [mcp_servers.NAME]".to_owned()));
            return (self.server, self.found);
        };
        if !is_server_name(&self.server.name) {
            let message = "Codex takes letters, digits, - and _ in the name of a server".to_owned();
            self.fail("", self.start, message, None);
        }
        self.server.timeout = self.take(table, "timeout", values::time);
        self.server.connect_timeout = self.take(table, "connect_timeout", values::time);
        self.server.enabled = self.take(table, "enabled", values::boolean).unwrap_or(true);
        self.server.parallel = self.take(table, "supports_parallel_tool_calls", values::boolean);
        self.tools(table);
        self.transport(table);
        self.rest(table);
        (self.server, self.found)
    }

    fn transport(&mut self, table: &dyn TableLike) {
        let command = self.take(table, "command", values::program);
        let url = self.take(table, "url", values::address);
        let kind = self.take(table, "transport", values::kind);
        if table.contains_key("command") {
            for key in ["url", "headers", "transport"].into_iter().filter(|key| table.contains_key(key)) {
                let harmless = key == "transport" && kind == Some(Kind::Stdio);
                if !harmless {
                    self.skip(table, key, "the server has a command, which comes first");
                }
            }
            let args = self.take(table, "args", values::arguments).unwrap_or_default();
            let env = self.given(table, "env", values::variable);
            let cwd = self.take(table, "cwd", values::directory);
            self.server.transport = command.map(|command| Transport::Stdio { command, args, env, cwd });
        } else if table.contains_key("url") {
            for key in ["args", "env", "cwd"].into_iter().filter(|key| table.contains_key(key)) {
                self.skip(table, key, "it belongs to servers with a command");
            }
            match kind {
                Some(Kind::Sse) => {
                    let hint = "use its address for streamable HTTP, and remove transport".to_owned();
                    let message = "Codex speaks streamable HTTP only, not SSE".to_owned();
                    self.fail("transport", place(table, "transport"), message, Some(hint));
                }
                Some(Kind::Stdio) => {
                    let message = "a server with a url is not reached over stdio".to_owned();
                    self.fail("transport", place(table, "transport"), message, None);
                }
                Some(Kind::Http) | None => {}
            }
            let headers = self.given(table, "headers", values::header);
            self.server.transport = url.map(|url| Transport::Http { url, headers });
        } else {
            let hint = "give it the program (command) or the address (url) of the server".to_owned();
            self.fail("", self.start, "has neither command nor url".to_owned(), Some(hint));
        }
    }

    /// Reads a table of variables or headers.
    fn given(
        &mut self,
        table: &dyn TableLike,
        key: &str,
        read: fn(&str, &Item) -> Result<ValueSource, Wrong>,
    ) -> BTreeMap<String, ValueSource> {
        let mut all = BTreeMap::new();
        let Some(item) = table.get(key) else { return all };
        let Some(entries) = item.as_table_like() else {
            let message = format!("must be a table of strings, not {}", article(item.type_name()));
            self.fail(key, place(table, key), message, Some(format!("write {key} = {{ NAME = \"…\" }}")));
            return all;
        };
        for (name, value) in entries.iter() {
            let at = start_of(entries, name, value);
            let twice = key == "headers" && all.keys().any(|known: &String| known.eq_ignore_ascii_case(name));
            match read(name, value) {
                Ok(_) if twice => {
                    self.fail(&format!("{key}.{name}"), at, "is set twice".to_owned(), None);
                }
                Ok(given) => {
                    all.insert(name.to_owned(), given);
                }
                Err(wrong) => self.fail(&format!("{key}.{name}"), at, wrong.message, wrong.hint),
            }
        }
        all
    }

    fn tools(&mut self, table: &dyn TableLike) {
        let Some(item) = table.get("tools") else { return };
        let Some(entries) = item.as_table_like() else {
            let message = format!("must be a table, not {}", article(item.type_name()));
            let hint = "write tools = { include = [\"…\"] }".to_owned();
            return self.fail("tools", place(table, "tools"), message, Some(hint));
        };
        let mut lists = BTreeMap::new();
        for (key, value) in entries.iter() {
            let at = start_of(entries, key, value);
            let name = format!("tools.{key}");
            match key {
                "include" | "exclude" => match values::names(value) {
                    Ok(names) if names.is_empty() => {}
                    Ok(names) => {
                        lists.insert(key, (names, at));
                    }
                    Err(wrong) => self.fail(&name, at, wrong.message, wrong.hint),
                },
                "resources" | "prompts" => self.skip_at(&name, at, "Codex decides that itself", None),
                _ => {
                    let hint = nearest(key, ["include", "exclude"]).map(did_you_mean);
                    self.skip_at(&name, at, "unknown key", hint);
                }
            }
        }
        self.server.tools = match (lists.remove("include"), lists.remove("exclude")) {
            (Some((names, _)), exclude) => {
                if let Some((_, at)) = exclude {
                    self.skip_at("tools.exclude", at, "tools.include comes first", None);
                }
                Offered::Only(names)
            }
            (None, Some((names, _))) => Offered::Without(names),
            (None, None) => Offered::All,
        };
    }

    /// Reports the keys that nothing here reads.
    fn rest(&mut self, table: &dyn TableLike) {
        for (key, item) in table.iter() {
            let at = start_of(table, key, item);
            if key == "description" {
                let why = "Codex has no place for it".to_owned();
                self.server.unused.push(Skipped { key: key.to_owned(), why });
            } else if let Some((_, why)) = REFERENCE_ONLY.iter().find(|(known, _)| *known == key) {
                self.skip_at(key, at, why, None);
            } else if !KEYS.contains(&key) {
                let ours = CODEX_NAMES.iter().find(|(codex, _)| *codex == key).map(|(_, ours)| *ours);
                let hint = ours.or_else(|| nearest(key, KEYS.iter().copied())).map(did_you_mean);
                self.skip_at(key, at, "unknown key", hint);
            }
        }
    }

    fn take<T>(
        &mut self,
        table: &dyn TableLike,
        key: &str,
        read: fn(&Item) -> Result<T, Wrong>,
    ) -> Option<T> {
        match read(table.get(key)?) {
            Ok(value) => Some(value),
            Err(wrong) => {
                self.fail(key, place(table, key), wrong.message, wrong.hint);
                None
            }
        }
    }

    fn skip(&mut self, table: &dyn TableLike, key: &str, why: &str) {
        self.skip_at(key, place(table, key), why, None);
    }

    fn skip_at(&mut self, key: &str, start: Option<usize>, why: &str, hint: Option<String>) {
        self.server.unused.push(Skipped { key: key.to_owned(), why: why.to_owned() });
        // The reader of the whole file says the same two words of every key that it does not know.
        let message = if why == "unknown key" { why.to_owned() } else { format!("has no effect: {why}") };
        self.report(key, start, Severity::Warning, message, hint);
    }

    fn fail(&mut self, key: &str, start: Option<usize>, message: String, hint: Option<String>) {
        let colon = if key.is_empty() { "" } else { ": " };
        self.server.wrong.push(format!("{key}{colon}{message}"));
        self.report(key, start, Severity::Error, message, hint);
    }

    fn report(
        &mut self,
        key: &str,
        start: Option<usize>,
        severity: Severity,
        message: String,
        hint: Option<String>,
    ) {
        let dot = if key.is_empty() { "" } else { "." };
        let key = format!("mcp_servers.{}{dot}{key}", self.server.name);
        self.found.push(Found { start, key, severity, message, hint });
    }
}

fn place(table: &dyn TableLike, key: &str) -> Option<usize> {
    table.get(key).and_then(|item| start_of(table, key, item))
}
