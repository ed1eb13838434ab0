//! The table of configuration keys: which exist, which this version reads, and how each value is read.
//!
//! To add a key: a field in `Config`, a line in `KEYS`. A name that later versions will use is here too, so that
//! it is not called unknown, and is reported as without effect. Called by the reader in `config` alone.

use toml_edit::Item;

use super::{
    Config, Enter, LearnMemory, LearnSkills, OnLoss, RecallScope, Theme, WebNetwork, approvals, bridge,
    compression, notify, skills, tools, web,
};
use super::{article, providers};
use crate::duration::{from_seconds, parse_duration};
use crate::nearest::nearest;
use crate::policy::{ApprovalPolicy, HideHome, Mode, Sandbox, UnknownName};
use crate::runtime::RuntimeChoice;

/// What this version does with a key.
#[derive(Clone, Copy)]
pub(super) enum Meaning {
    /// Reads it into the configuration.
    Read(fn(&Item, &mut Config) -> Result<(), Wrong>),
    /// Reads a list, whose elements can each be wrong.
    ReadList(fn(&Item, &mut Config) -> Vec<Wrong>),
    /// Nothing yet.
    Later,
}

/// What this version does with a section.
#[derive(Clone, Copy)]
pub(super) enum Section {
    /// Looks at its keys.
    Read,
    /// Looks at its servers, which people name.
    Servers,
    /// Reads model providers, which people name.
    Providers,
    /// Nothing yet.
    Later,
}

/// Why a value cannot be used.
pub(super) struct Wrong {
    pub(super) message: String,
    pub(super) hint: Option<String>,
    /// Where it is, if not at the key.
    pub(super) start: Option<usize>,
}

const KEYS: &[(&str, Meaning)] = &[
    ("codex.bin", Meaning::Read(|item, config| set(&mut config.codex.bin, text(item)))),
    ("codex.home", Meaning::Read(|item, config| set(&mut config.codex.home, text(item)))),
    (
        "codex.sandbox",
        Meaning::Read(|item, config| set(&mut config.codex.sandbox, one_of(item, &sandboxes()))),
    ),
    (
        "codex.approval_policy",
        Meaning::Read(|item, config| set(&mut config.codex.approval_policy, one_of(item, &policies()))),
    ),
    (
        "codex.hide_home",
        Meaning::Read(|item, config| set(&mut config.codex.hide_home, one_of(item, &HideHome::NAMES))),
    ),
    ("codex.turn_timeout", Meaning::Read(|item, config| set(&mut config.codex.turn_timeout, duration(item)))),
    ("codex.idle_warning", Meaning::Read(|item, config| set(&mut config.codex.idle_warning, duration(item)))),
    ("codex.max_hosts", Meaning::Read(|item, config| set(&mut config.codex.max_hosts, count(item)))),
    (
        "codex.threads_per_host",
        Meaning::Read(|item, config| set(&mut config.codex.threads_per_host, count(item))),
    ),
    ("codex.host_idle", Meaning::Read(|item, config| set(&mut config.codex.host_idle, duration(item)))),
    (
        "codex.host_memory_mib",
        Meaning::Read(|item, config| set(&mut config.codex.host_memory_mib, count(item))),
    ),
    (
        "codex.on_loss",
        Meaning::Read(|item, config| set(&mut config.codex.on_loss, one_of(item, &OnLoss::NAMES))),
    ),
    (
        "engine.idle_timeout",
        Meaning::Read(|item, config| set(&mut config.engine.idle_timeout, duration(item))),
    ),
    (
        "sessions.keep_events",
        Meaning::Read(|item, config| set(&mut config.sessions.keep_events, duration(item))),
    ),
    ("sessions.max_events", Meaning::Read(|item, config| set(&mut config.sessions.max_events, count(item)))),
    (
        "sessions.write_json_snapshots",
        Meaning::Read(|item, config| set(&mut config.sessions.write_json_snapshots, flag(item))),
    ),
    (
        "approvals.mode",
        Meaning::Read(|item, config| set(&mut config.approvals.mode, one_of(item, &Mode::NAMES))),
    ),
    ("approvals.allow", Meaning::ReadList(approvals::allow)),
    ("approvals.deny", Meaning::ReadList(approvals::deny)),
    (
        "notify.webhook_secret_file",
        Meaning::Read(|item, config| set(&mut config.notify.webhook_secret.file, text(item))),
    ),
    (
        "notify.webhook_secret_env",
        Meaning::Read(|item, config| set(&mut config.notify.webhook_secret.env, notify::variable(item))),
    ),
    ("notify.allow_private", Meaning::ReadList(notify::allow_private)),
    (
        "notify.ntfy_server",
        Meaning::Read(|item, config| set(&mut config.notify.ntfy_server, notify::ntfy_server(item))),
    ),
    (
        "notify.ntfy_token_file",
        Meaning::Read(|item, config| set(&mut config.notify.ntfy_token.file, text(item))),
    ),
    (
        "notify.ntfy_token_env",
        Meaning::Read(|item, config| set(&mut config.notify.ntfy_token.env, notify::variable(item))),
    ),
    (
        "notify.email_server",
        Meaning::Read(|item, config| set(&mut config.notify.email_server, notify::mail_server(item))),
    ),
    (
        "notify.email_from",
        Meaning::Read(|item, config| set(&mut config.notify.email_from, notify::mailbox(item))),
    ),
    ("notify.email_user", Meaning::Read(|item, config| set(&mut config.notify.email_user, text(item)))),
    (
        "notify.email_password_file",
        Meaning::Read(|item, config| set(&mut config.notify.email_password.file, text(item))),
    ),
    (
        "notify.email_password_env",
        Meaning::Read(|item, config| set(&mut config.notify.email_password.env, notify::variable(item))),
    ),
    ("notify.attempts", Meaning::Read(|item, config| set(&mut config.notify.attempts, attempts(item)))),
    ("bridge.max_tasks", Meaning::Read(|item, config| set(&mut config.bridge.max_tasks, count(item)))),
    ("bridge.roots", Meaning::ReadList(bridge::roots)),
    ("bridge.codex_homes", Meaning::ReadList(bridge::codex_homes)),
    ("bridge.answers", Meaning::ReadList(bridge::answers)),
    ("bridge.notify_targets", Meaning::ReadList(bridge::notify_targets)),
    ("bridge.network", Meaning::ReadList(bridge::network)),
    ("bridge.writable_roots", Meaning::ReadList(bridge::writable_roots)),
    ("bridge.memory", Meaning::ReadList(bridge::memory)),
    ("bridge.callers", Meaning::ReadList(bridge::callers)),
    (
        "access.environments",
        Meaning::ReadList(|item, config| bridge::texts(item, &mut config.access.environments)),
    ),
    ("chat.enter", Meaning::Read(|item, config| set(&mut config.chat.enter, one_of(item, &Enter::NAMES)))),
    ("chat.theme", Meaning::Read(|item, config| set(&mut config.chat.theme, one_of(item, &Theme::NAMES)))),
    (
        "recall.scope",
        Meaning::Read(|item, config| set(&mut config.recall.scope, one_of(item, &RecallScope::NAMES))),
    ),
    (
        "memory.write_approval",
        Meaning::Read(|item, config| set(&mut config.memory.write_approval, flag(item))),
    ),
    (
        "memory.snapshot_chars",
        Meaning::Read(|item, config| set(&mut config.memory.snapshot_chars, count(item))),
    ),
    ("memory.tasks", Meaning::Read(|item, config| set(&mut config.memory.tasks, flag(item)))),
    (
        "delegation.max_children",
        Meaning::Read(|item, config| set(&mut config.delegation.max_children, count(item))),
    ),
    (
        "delegation.max_depth",
        Meaning::Read(|item, config| set(&mut config.delegation.max_depth, count(item))),
    ),
    ("tools.delegate", Meaning::Read(|item, config| set(&mut config.tools.delegate, flag(item)))),
    ("tools.environment", Meaning::ReadList(tools::environment)),
    ("tools.memory", Meaning::Read(|item, config| set(&mut config.tools.memory, flag(item)))),
    ("tools.recall", Meaning::Read(|item, config| set(&mut config.tools.recall, flag(item)))),
    ("tools.skill", Meaning::Read(|item, config| set(&mut config.tools.skill, flag(item)))),
    ("tools.web", Meaning::Read(|item, config| set(&mut config.tools.web, flag(item)))),
    (
        "learning.memory",
        Meaning::Read(|item, config| set(&mut config.learning.memory, one_of(item, &LearnMemory::NAMES))),
    ),
    (
        "learning.skills",
        Meaning::Read(|item, config| set(&mut config.learning.skills, one_of(item, &LearnSkills::NAMES))),
    ),
    ("learning.turns", Meaning::Read(|item, config| set(&mut config.learning.turns, count(item)))),
    ("learning.calls", Meaning::Read(|item, config| set(&mut config.learning.calls, count(item)))),
    (
        "auxiliary.background_review",
        Meaning::Read(|item, config| set(&mut config.auxiliary.background_review, text(item))),
    ),
    (
        "auxiliary.compression",
        Meaning::Read(|item, config| set(&mut config.auxiliary.compression, compression::model(item))),
    ),
    ("compression.enabled", Meaning::Read(|item, config| set(&mut config.compression.enabled, flag(item)))),
    (
        "compression.threshold",
        Meaning::Read(|item, config| set(&mut config.compression.threshold, compression::threshold(item))),
    ),
    (
        "compression.protect_first_n",
        Meaning::Read(|item, config| {
            set(&mut config.compression.protect_first_n, compression::messages(item))
        }),
    ),
    (
        "compression.protect_last_n",
        Meaning::Read(|item, config| {
            set(&mut config.compression.protect_last_n, compression::messages(item))
        }),
    ),
    ("hooks.turn_start", Meaning::Read(|item, config| set(&mut config.hooks.turn_start, text(item)))),
    ("hooks.turn_end", Meaning::Read(|item, config| set(&mut config.hooks.turn_end, text(item)))),
    ("skills.folders", Meaning::ReadList(skills::folders)),
    ("hooks.tool_call", Meaning::Read(|item, config| set(&mut config.hooks.tool_call, text(item)))),
    (
        "web.searxng_url",
        Meaning::Read(|item, config| set(&mut config.web.searxng_url, web::search_address(item))),
    ),
    ("web.allow", Meaning::ReadList(web::allow)),
    (
        "web.network",
        Meaning::Read(|item, config| set(&mut config.web.network, one_of(item, &WebNetwork::NAMES))),
    ),
    ("model.default", Meaning::Read(|item, config| set(&mut config.model.default, text(item)))),
    ("model.effort", Meaning::Read(|item, config| set(&mut config.model.effort, text(item)))),
    ("model.allow_unlisted", Meaning::Read(|item, config| set(&mut config.model.allow_unlisted, flag(item)))),
    ("model.provider", Meaning::Read(|item, config| set(&mut config.model.provider, text(item)))),
    (
        "model.openai_runtime",
        Meaning::Read(|item, config| {
            set(&mut config.model.openai_runtime, one_of(item, &RuntimeChoice::NAMES))
        }),
    ),
    (
        "model.context_file_max_chars",
        Meaning::Read(|item, config| set(&mut config.model.context_file_max_chars, count(item))),
    ),
    (
        "model.fallback",
        Meaning::Read(|item, config| set(&mut config.model.fallback, providers::fallback(item))),
    ),
    (
        "model.fallback_on_refusal",
        Meaning::Read(|item, config| set(&mut config.model.fallback_on_refusal, flag(item))),
    ),
];

const SECTIONS: &[(&str, Section)] = &[
    ("access", Section::Read),
    ("codex", Section::Read),
    ("model", Section::Read),
    ("approvals", Section::Read),
    ("engine", Section::Read),
    ("bridge", Section::Read),
    ("chat", Section::Read),
    ("auxiliary", Section::Read),
    ("compression", Section::Read),
    ("delegation", Section::Read),
    ("hooks", Section::Read),
    ("learning", Section::Read),
    ("mcp_servers", Section::Servers),
    ("memory", Section::Read),
    ("notify", Section::Read),
    ("providers", Section::Providers),
    ("recall", Section::Read),
    ("security", Section::Later),
    ("sessions", Section::Read),
    ("skills", Section::Read),
    ("store", Section::Later),
    ("tools", Section::Read),
    ("web", Section::Read),
];

/// Sections in which names that are not in the table belong to later versions.
const OPEN: &[&str] = &["auxiliary.", "model.", "sessions."];

pub(super) fn section(name: &str) -> Option<Section> {
    SECTIONS.iter().find(|(known, _)| *known == name).map(|(_, section)| *section)
}

pub(super) fn meaning(name: &str) -> Option<Meaning> {
    let listed = KEYS.iter().find(|(known, _)| *known == name).map(|(_, meaning)| *meaning);
    listed.or_else(|| OPEN.iter().any(|open| name.starts_with(open)).then_some(Meaning::Later))
}

pub(super) fn sections() -> impl Iterator<Item = &'static str> {
    SECTIONS.iter().map(|(name, _)| *name)
}

pub(super) fn all() -> impl Iterator<Item = &'static str> {
    KEYS.iter().map(|(name, _)| *name)
}

pub(super) fn read() -> impl Iterator<Item = &'static str> {
    KEYS.iter()
        .filter(|(_, meaning)| matches!(meaning, Meaning::Read(_) | Meaning::ReadList(_)))
        .map(|(name, _)| *name)
}

/// Whether an unknown key or section looks like rules, by its name or by a list in it.
pub(super) fn holds_rules(name: &str, item: &Item) -> bool {
    const SECTIONS: [&str; 5] = ["approvals", "approval", "rules", "permissions", "policy"];
    const LISTS: [&str; 8] =
        ["allow", "deny", "rules", "allowed", "denied", "forbid", "allowlist", "denylist"];
    let is_list = |item: &Item| item.as_array().is_some() || item.as_array_of_tables().is_some();
    match item.as_table_like() {
        Some(table) => {
            nearest(name, SECTIONS).is_some()
                || table.iter().any(|(key, item)| is_list(item) && nearest(key, LISTS).is_some())
        }
        None => is_list(item) && nearest(name, SECTIONS.into_iter().chain(LISTS)).is_some(),
    }
}

/// Finds the key that someone wrote without its section, or in the wrong one.
pub(super) fn with_last_part(part: &str) -> Option<&'static str> {
    let last = |name: &'static str| name.rsplit('.').next().unwrap_or(name);
    let found = nearest(part, all().map(last))?;
    all().find(|name| last(name) == found)
}

fn set<T>(field: &mut Option<T>, value: Result<T, Wrong>) -> Result<(), Wrong> {
    *field = Some(value?);
    Ok(())
}

pub(super) fn text(item: &Item) -> Result<String, Wrong> {
    match item.as_str() {
        Some(text) if text.trim().is_empty() => {
            let hint = Some("remove the key to leave it unset".to_owned());
            Err(Wrong { message: "must not be empty".to_owned(), hint, start: None })
        }
        Some(text) => Ok(text.to_owned()),
        None => Err(wrong_type(item, "a string")),
    }
}

pub(super) fn flag(item: &Item) -> Result<bool, Wrong> {
    item.as_bool().ok_or_else(|| wrong_type(item, "true or false"))
}

fn one_of<T: std::str::FromStr<Err = UnknownName>>(
    item: &Item,
    allowed: &[&'static str],
) -> Result<T, Wrong> {
    let Some(text) = item.as_str() else {
        return Err(wrong_type(item, &format!("one of {}", allowed.join(", "))));
    };
    text.parse().map_err(|unknown: UnknownName| Wrong {
        message: unknown.to_string(),
        hint: nearest(text, allowed.iter().copied()).map(super::did_you_mean),
        start: None,
    })
}

pub(super) fn duration(item: &Item) -> Result<std::time::Duration, Wrong> {
    let read = match (item.as_integer(), item.as_str()) {
        (Some(seconds), _) => from_seconds(seconds),
        (None, Some(text)) => parse_duration(text),
        (None, None) => {
            return Err(wrong_type(
                item,
                "a duration such as \"90s\", \"15m\", \"1h30m\" or a number of seconds",
            ));
        }
    };
    read.map_err(|error| Wrong { message: error.to_string(), hint: None, start: None })
}

pub(super) fn count(item: &Item) -> Result<u64, Wrong> {
    let wrong = || wrong_type(item, "a whole number above 0");
    match item.as_integer() {
        Some(number) if number > 0 => u64::try_from(number).map_err(|_| wrong()),
        Some(number) => {
            let message = format!("must be a whole number above 0, not {number}");
            Err(Wrong { message, hint: None, start: None })
        }
        None => Err(wrong()),
    }
}

fn attempts(item: &Item) -> Result<u32, Wrong> {
    let most = 100;
    let number = count(item)?;
    u32::try_from(number).ok().filter(|number| *number <= most).ok_or_else(|| Wrong {
        message: format!("must be at most {most}, not {number}"),
        hint: None,
        start: None,
    })
}

pub(super) fn wrong_type(item: &Item, wanted: &str) -> Wrong {
    Wrong { message: format!("must be {wanted}, not {}", article(item.type_name())), hint: None, start: None }
}

fn sandboxes() -> [&'static str; 3] {
    Sandbox::ALL.map(Sandbox::as_str)
}

fn policies() -> [&'static str; 4] {
    ApprovalPolicy::ALL.map(ApprovalPolicy::as_str)
}
