//! From an entry of Talaria's configuration to one of Codex's.
//!
//! Owns the mapping of keys, and the treatment of secrets in the file: kept, or replaced by references to variables that
//! the report names. Codex can refer to variables in two places only, the environment of a program and the headers of an
//! address: a secret elsewhere is kept or refused, never silently left out.

use super::names::{is_server_name, variable_for};
use super::secret::{holds_secret, looks_secret};
use super::{CodexServer, Offered, Server, Skipped, Transport, ValueSource};

/// Fate of literals that look like secrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Literals {
    /// They stay.
    Keep,
    /// References to variables of the environment take their place.
    Refer,
}

/// A server in Codex's words, with everything that was not taken over as it was.
#[derive(Clone, PartialEq)]
pub struct Translated {
    /// Its name.
    pub name: String,
    /// The entry, or why there is none.
    pub server: Result<CodexServer, String>,
    /// Keys without effect.
    pub skipped: Vec<Skipped>,
    /// Secrets that were replaced by a reference.
    pub referred: Vec<Referred>,
    /// Literals that look like secrets and were kept: the code that shows the entry masks them.
    pub secrets: Vec<String>,
}

// `secrets` are what no one should see.
impl std::fmt::Debug for Translated {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Translated")
            .field("name", &self.name)
            .field("server", &self.server)
            .field("skipped", &self.skipped)
            .field("referred", &self.referred)
            .field("secrets", &self.secrets.len())
            .finish()
    }
}

/// A secret that must be moved to a variable.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Referred {
    /// The key of the secret, as written below the server's name.
    pub place: String,
    /// The variable in which Codex looks for it.
    pub variable: String,
}

/// Says `server` in Codex's words.
pub fn translate(server: &Server, literals: Literals) -> Translated {
    let mut work = Work { literals, name: &server.name, referred: Vec::new(), secrets: Vec::new() };
    let made = work.server(server);
    Translated {
        name: server.name.clone(),
        server: made,
        skipped: server.unused.clone(),
        referred: work.referred,
        secrets: work.secrets,
    }
}

struct Work<'a> {
    literals: Literals,
    name: &'a str,
    referred: Vec<Referred>,
    secrets: Vec<String>,
}

impl Work<'_> {
    fn server(&mut self, server: &Server) -> Result<CodexServer, String> {
        if !is_server_name(&server.name) {
            return Err("Codex takes letters, digits, - and _ in the name of a server".to_owned());
        }
        let transport = match &server.transport {
            Some(transport) if server.wrong.is_empty() => transport,
            _ if server.wrong.is_empty() => return Err("has neither command nor url".to_owned()),
            _ => return Err(server.wrong.join("; ")),
        };
        let (only, without) = match &server.tools {
            Offered::All => (None, None),
            Offered::Only(names) => (Some(names.clone()), None),
            Offered::Without(names) => (None, Some(names.clone())),
        };
        let mut made = CodexServer {
            enabled: (!server.enabled).then_some(false),
            startup_timeout_sec: server.connect_timeout,
            tool_timeout_sec: server.timeout,
            supports_parallel_tool_calls: server.parallel,
            enabled_tools: only,
            disabled_tools: without,
            ..CodexServer::default()
        };
        match transport {
            Transport::Stdio { command, args, env, cwd } => {
                self.in_place("command", None, command)?;
                for (index, arg) in args.iter().enumerate() {
                    let before = index.checked_sub(1).map(|index| args[index].as_str());
                    self.in_place("args", before, arg)?;
                }
                made.command = Some(command.clone());
                made.args.clone_from(args);
                made.cwd.clone_from(cwd);
                for (name, value) in env {
                    self.variable(&mut made, name, value);
                }
            }
            Transport::Http { url, headers } => {
                self.in_place("url", None, url)?;
                made.url = Some(url.clone());
                for (name, value) in headers {
                    self.header(&mut made, name, value);
                }
            }
        }
        Ok(made)
    }

    /// Looks at a value for which Codex has no references.
    fn in_place(&mut self, key: &str, before: Option<&str>, text: &str) -> Result<(), String> {
        if !holds_secret(before, text) {
            return Ok(());
        }
        if self.literals == Literals::Refer {
            return Err(format!(
                "{key} holds what looks like a secret, and Codex has no reference for it there"
            ));
        }
        self.secrets.push(text.to_owned());
        Ok(())
    }

    fn variable(&mut self, made: &mut CodexServer, name: &str, value: &ValueSource) {
        match value {
            ValueSource::Literal(text) if !self.replaces(name, text) => {
                made.env.insert(name.to_owned(), text.clone());
            }
            ValueSource::Literal(_) => {
                self.refer(format!("env.{name}"), name.to_owned());
                made.env_vars.push(name.to_owned());
            }
            ValueSource::Variable(_) | ValueSource::Bearer(_) => made.env_vars.push(name.to_owned()),
        }
    }

    fn header(&mut self, made: &mut CodexServer, name: &str, value: &ValueSource) {
        match value {
            ValueSource::Literal(text) if !self.replaces(name, text) => {
                made.http_headers.insert(name.to_owned(), text.clone());
            }
            ValueSource::Literal(text) => {
                let bearer = name.eq_ignore_ascii_case("authorization") && is_bearer(text);
                let variable = variable_for(self.name, if bearer { "TOKEN" } else { name });
                let part = if bearer { " (what follows Bearer)" } else { "" };
                self.refer(format!("headers.{name}{part}"), variable.clone());
                if bearer {
                    made.bearer_token_env_var = Some(variable);
                } else {
                    made.env_http_headers.insert(name.to_owned(), variable);
                }
            }
            ValueSource::Variable(variable) => {
                made.env_http_headers.insert(name.to_owned(), variable.clone());
            }
            ValueSource::Bearer(variable) => made.bearer_token_env_var = Some(variable.clone()),
        }
    }

    /// Whether a reference replaces a literal; records the literals that stay.
    fn replaces(&mut self, name: &str, text: &str) -> bool {
        let secret = looks_secret(name, text);
        if secret && self.literals == Literals::Keep {
            self.secrets.push(text.to_owned());
        }
        secret && self.literals == Literals::Refer
    }

    fn refer(&mut self, place: String, variable: String) {
        self.referred.push(Referred { place, variable });
    }
}

fn is_bearer(text: &str) -> bool {
    text.split_once(' ')
        .is_some_and(|(scheme, rest)| scheme.eq_ignore_ascii_case("bearer") && !rest.trim().is_empty())
}
