//! Plans which of Hermes's settings are written to Talaria's file: its new text and a report. Talaria's own reader
//! decides: a setting that it would reject is not written, with its message as the reason. An existing value wins.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::{Deserialize, Serialize};
use serde_json::Value as Yaml;
use toml_edit::Value;

use super::secrets::{Variable, secret_names};
use super::servers::{HermesServer, read_servers};
use super::settings::{Wish, wishes};
use super::yaml::Tree;
use talaria_core::config::{self, ConfigProblem};
use talaria_core::edit::{self, KeyPath, literal};
use talaria_guard::redact::redact;

/// Sections that a later version reads.
const LATER: [&str; 5] = ["auxiliary", "memory", "security", "sessions", "skills"];
/// Settings that have another name here, and do something else than they did.
const NEAR: [(&str, &str); 8] = [
    ("agent.gateway_timeout", "codex.turn_timeout"),
    ("agent.gateway_timeout_warning", "codex.idle_warning"),
    ("terminal.backend", "codex.sandbox"),
    ("agent.disabled_toolsets", "approvals.deny"),
    ("terminal.env_passthrough", "mcp_servers.NAME.env"),
    ("fallback_providers", "model.fallback"),
    ("credential_pool_strategies", "providers.NAME.key_strategy"),
    ("custom_providers", "providers.NAME"),
];
/// Maximum number of settings in a report.
const MOST: usize = 1000;
/// Maximum number of servers that are imported.
const MOST_SERVERS: usize = 200;

/// The new text, and the report.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SettingsPlan {
    /// Talaria's file as it will be.
    pub text: String,
    /// New settings.
    pub taken: Vec<ImportedSetting>,
    /// Settings that are equal already.
    pub same: usize,
    /// Settings that keep the person's value here.
    pub kept: Vec<KeptSetting>,
    /// Settings that are not imported.
    pub left: Vec<SkippedSetting>,
    /// How many more are not taken over than are named.
    pub more_left: usize,
    /// The variables that taken servers refer to.
    pub variables: Vec<Variable>,
    /// Settings whose values look secret.
    pub secrets: Vec<String>,
}

/// A setting that is imported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportedSetting {
    /// Its name in Hermes.
    pub from: String,
    /// The key here, as it is written.
    pub key: String,
    /// The value here, as it is written. Never a secret.
    pub value: String,
}

/// A setting that exists here already.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptSetting {
    /// Its name in Hermes.
    pub from: String,
    /// The key here, which is unchanged.
    pub key: String,
}

/// A setting that is not imported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedSetting {
    /// Its name there.
    pub key: String,
    /// Why.
    pub why: String,
    /// The nearest name here, where that helps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub near: Option<String>,
}

/// Plans what becomes of Talaria's file `own`. An own file that is not TOML is a problem, and nothing is planned.
pub fn plan(tree: &Tree, own: &str) -> Result<SettingsPlan, ConfigProblem> {
    config::parse(own)?;
    let mut work = Work {
        plan: SettingsPlan { text: own.to_owned(), ..SettingsPlan::default() },
        done: HashSet::new(),
        standing: HashMap::new(),
    };
    let wishes = wishes(tree);
    work.done = wishes.done.into_iter().collect();
    for (key, why, near) in wishes.refused {
        work.leave(&key, why, near.map(str::to_owned));
    }
    for wish in wishes.wishes {
        work.setting(wish)?;
    }
    match tree.get("mcp_servers") {
        Some(Yaml::Object(section)) => {
            let mut servers: Vec<_> = read_servers(section).into_iter().take(MOST_SERVERS).collect();
            // Existing servers have their variables already, whatever their order in Hermes's file.
            servers.sort_by_key(|server| !server.as_ref().is_ok_and(|server| work.has(server)));
            for server in servers {
                match server {
                    Ok(server) => work.server(server)?,
                    Err((name, why)) => work.leave(&format!("mcp_servers.{name}"), why, None),
                }
            }
            if section.len() > MOST_SERVERS {
                let why = format!("more than {MOST_SERVERS} are not read");
                work.leave("mcp_servers", why, None);
            }
            work.done.insert("mcp_servers".to_owned());
        }
        Some(Yaml::Null) | None => {}
        Some(_) => work.leave("mcp_servers", "it is not a list of servers".to_owned(), None),
    }
    work.plan.secrets = secret_names(tree);
    for (name, value) in tree {
        work.rest(&redact(name), value);
    }
    Ok(work.plan)
}

struct Work {
    plan: SettingsPlan,
    /// Names of which something was said.
    done: HashSet<String>,
    /// The variables of existing and imported servers: where each is used, and its value.
    standing: HashMap<String, (String, Option<String>)>,
}

impl Work {
    fn setting(&mut self, wish: Wish) -> Result<(), ConfigProblem> {
        let Wish { from, path, value } = wish;
        match self.find_existing(&path, &value)? {
            Found::Same => self.plan.same += 1,
            Found::Other => self.plan.kept.push(KeptSetting { from, key: path.to_string() }),
            Found::Nothing => match self.trial(&self.plan.text, &path, &value) {
                Err(problem) => self.leave(&from, words(&problem), None),
                Ok(text) => match complaint(&text, &path) {
                    Some(problem) => self.leave(&from, words(&problem), None),
                    None => {
                        self.plan.text = text;
                        self.take(from, &path, &value);
                    }
                },
            },
        }
        Ok(())
    }

    fn server(&mut self, server: HermesServer) -> Result<(), ConfigProblem> {
        let from = format!("mcp_servers.{}", server.name);
        let Some(path) = KeyPath::new(["mcp_servers", &server.name]) else { return Ok(()) };
        if edit::get(&self.plan.text, &path)?.is_some() {
            let (mut is_same, mut same) = (true, 0);
            for (key, value) in &server.keys {
                match self.find_existing(&path.join(key), value)? {
                    Found::Same => same += 1,
                    // A key that has no effect here was not taken over the first time either.
                    Found::Nothing => {}
                    Found::Other => is_same = false,
                }
            }
            match is_same {
                // Counted as it is taken over and undone: each key.
                true => self.plan.same += same,
                false => self.plan.kept.push(KeptSetting { from, key: path.to_string() }),
            }
            self.record_variables(&server);
            return Ok(());
        }
        if server.keys.is_empty() {
            self.leave(&from, "it has neither command nor url".to_owned(), None);
            return Ok(());
        }
        if let Some(why) = self.clash(&server) {
            self.leave(&from, why, None);
            return Ok(());
        }
        let mut text = self.plan.text.clone();
        let mut taken = Vec::new();
        let mut left = Vec::new();
        for (key, value) in &server.keys {
            let path = path.join(key);
            let name = format!("{from}.{key}");
            let tried = match self.trial(&text, &path, value) {
                Ok(tried) => tried,
                Err(problem) => {
                    self.leave(&from, words(&problem), None);
                    return Ok(());
                }
            };
            // Problems of the server as a whole are visible only when it is complete.
            match complaint(&tried, &path).filter(|problem| !problem.is_error()) {
                Some(problem) => left.push((name, words(&problem))),
                None => {
                    text = tried;
                    taken.push((name, path, value));
                }
            }
        }
        if let Some(problem) = complaint(&text, &path).filter(ConfigProblem::is_error) {
            self.leave(&from, words(&problem), None);
            return Ok(());
        }
        self.plan.text = text;
        self.record_variables(&server);
        for (name, path, value) in taken {
            self.take(name, &path, value);
        }
        for (name, why) in left {
            self.leave(&name, why, None);
        }
        for variable in server.variables {
            let known = self.plan.variables.iter_mut().find(|known| known.name == variable.name);
            match known {
                Some(known) => {
                    known.used_by.extend(variable.used_by);
                    known.found_in = known.found_in.take().or(variable.found_in);
                }
                None => self.plan.variables.push(variable),
            }
        }
        Ok(())
    }

    /// Returns whether a server of this name exists here.
    fn has(&self, server: &HermesServer) -> bool {
        KeyPath::new(["mcp_servers", &server.name])
            .is_some_and(|path| edit::get(&self.plan.text, &path).is_ok_and(|there| there.is_some()))
    }

    /// Why a server cannot come: the value of one of its variables would be that of another place.
    fn clash(&self, server: &HermesServer) -> Option<String> {
        let mut own: HashMap<&str, (&str, &Option<String>)> = HashMap::new();
        for (variable, value) in server.variables.iter().zip(&server.values) {
            let name = variable.name.as_str();
            let known = self.standing.get(name).map(|(place, value)| (place.as_str(), value));
            let known = known.or_else(|| own.get(name).copied());
            if let Some((place, _)) = known.filter(|(_, known)| *known != value) {
                return Some(format!(
                    "the variable {name} already holds the value of {place}, and Codex passes a variable on only \
                     under its own name"
                ));
            }
            own.insert(name, (place_of(variable), value));
        }
        None
    }

    /// Records the values of a server's variables.
    fn record_variables(&mut self, server: &HermesServer) {
        for (variable, value) in server.variables.iter().zip(&server.values) {
            let place = place_of(variable).to_owned();
            self.standing.entry(variable.name.clone()).or_insert_with(|| (place, value.clone()));
        }
    }

    fn find_existing(&self, path: &KeyPath, value: &Value) -> Result<Found, ConfigProblem> {
        let Some(there) = edit::get(&self.plan.text, path)? else { return Ok(Found::Nothing) };
        Ok(match there.into_value() {
            Ok(there) if literal(&there) == literal(value) => Found::Same,
            _ => Found::Other,
        })
    }

    fn trial(&self, text: &str, path: &KeyPath, value: &Value) -> Result<String, ConfigProblem> {
        edit::set(text, path, value.clone())
    }

    fn take(&mut self, from: String, path: &KeyPath, value: &Value) {
        self.plan.taken.push(ImportedSetting { from, key: path.to_string(), value: literal(value) });
    }

    fn leave(&mut self, key: &str, why: String, near: Option<String>) {
        self.done.insert(key.to_owned());
        match self.plan.left.len() {
            0..MOST => self.plan.left.push(SkippedSetting {
                key: redact(key).into_owned(),
                why: redact(&why).into_owned(),
                near,
            }),
            _ => self.plan.more_left += 1,
        }
    }

    /// Says of every setting that is left that it is.
    fn rest(&mut self, path: &str, value: &Yaml) {
        if self.done.contains(path) {
            return;
        }
        match value {
            Yaml::Null => {}
            Yaml::String(text) if text.is_empty() => {}
            Yaml::Array(list) if list.is_empty() => {}
            Yaml::Object(entries) => {
                for (name, value) in entries {
                    self.rest(&format!("{path}.{}", redact(name)), value);
                }
            }
            _ => {
                let section = path.split('.').next().unwrap_or_default();
                let near = NEAR.iter().find(|(name, _)| *name == path).map(|(_, near)| (*near).to_owned());
                let why = match () {
                    () if self.plan.secrets.iter().any(|name| name == path) => "it is a secret",
                    () if LATER.contains(&section) => "a later version will read it",
                    () => "Talaria has no such setting",
                };
                self.leave(path, why.to_owned(), near);
            }
        }
    }
}

enum Found {
    Nothing,
    Same,
    Other,
}

fn place_of(variable: &Variable) -> &str {
    variable.used_by.first().map_or("", String::as_str)
}

/// The problems that Talaria's reader reports about a key or anything below it.
fn complaint(text: &str, path: &KeyPath) -> Option<ConfigProblem> {
    let parts = path.parts().join(".");
    let is_below = |key: &str| {
        key.strip_prefix(parts.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let mut problems: Vec<ConfigProblem> = match config::parse(text) {
        Ok(parsed) => parsed.problems,
        Err(problem) => return Some(problem),
    };
    problems.retain(|problem| problem.key.as_deref().is_some_and(is_below));
    problems.sort_by_key(|problem| !problem.is_error());
    problems.into_iter().next()
}

/// The reader's message without a position: it would refer to a file that the user has not seen.
fn words(problem: &ConfigProblem) -> String {
    match &problem.hint {
        Some(hint) => format!("{}; {hint}", problem.message),
        None => problem.message.clone(),
    }
}

/// Counts names by their first part, for a short report.
pub fn by_section<'a>(names: impl Iterator<Item = &'a str>) -> BTreeMap<&'a str, usize> {
    let mut counts = BTreeMap::new();
    for name in names {
        *counts.entry(name.split('.').next().unwrap_or(name)).or_default() += 1;
    }
    counts
}
