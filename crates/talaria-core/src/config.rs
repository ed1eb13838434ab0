//! Talaria's own configuration, as data: text in, values and problems out.
//!
//! Owns what `config.toml` means in this version of the program and how every mistake in it is reported. An unset value
//! is `None`: there is no default here, because the user's Codex then decides. Reads no file and no environment;
//! `talaria-home` reads the file and passes its text, `doctor` shows the problems.

mod approvals;
mod bridge;
mod budget;
mod chat;
mod compression;
mod effect;
mod hooks;
mod keys;
mod learning;
mod listen;
mod notify;
mod providers;
mod recall;
mod servers;
mod setting;
mod skills;
mod tools;
mod web;

use std::time::Duration;

use toml_edit::{Item, TableLike};

use crate::nearest::nearest;
use crate::policy::{ApprovalPolicy, HideHome, Mode, Sandbox, UnknownName};
use crate::provider::{FallbackModel, ProviderConfig};
use crate::runtime::RuntimeChoice;
use crate::servers::Server;
pub(crate) use crate::toml_problem::article;
pub use crate::toml_problem::{ConfigProblem, Severity, position, read};
pub use bridge::{BridgeConfig, REQUEST_KINDS, Rights};
pub use budget::BudgetConfig;
pub use chat::{ChatConfig, Enter, Theme};
pub use compression::{AuxiliaryModel, CompressionConfig};
pub use effect::Effect;
pub use hooks::HooksConfig;
use keys::{Meaning, Section};
pub use learning::{AuxiliaryConfig, LearnMemory, LearnSkills, LearningConfig};
pub use listen::{ListenConfig, ListenPlan, ListenRefusal};
pub use notify::{MailSecurity, MailServer, NotReady, NotifyConfig, PrivateHost, SecretPlace};
pub use recall::{DelegationConfig, MemoryConfig, RecallConfig, RecallScope};
use servers::Found;
pub use setting::{assign, unread, withdraw};
pub use skills::SkillsConfig;
use talaria_guard::rules::Rules;
pub use tools::ToolsConfig;
pub use web::{WebConfig, WebNetwork};

/// Everything that this version reads from `config.toml`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Config {
    /// How Codex is found and bounded.
    pub codex: CodexConfig,
    /// Which model is asked for.
    pub model: ModelConfig,
    /// Rules that decide before a person is asked.
    pub approvals: ApprovalsConfig,
    /// How long the engine lives.
    pub engine: EngineConfig,
    /// Retention of conversations.
    pub sessions: SessionsConfig,
    /// Settings of notification targets.
    pub notify: NotifyConfig,
    /// What models that call Talaria's tools may do.
    pub bridge: BridgeConfig,
    /// Who counts as the person.
    pub access: AccessConfig,
    /// How the conversation in the terminal behaves.
    pub chat: ChatConfig,
    /// Search in earlier conversations.
    pub recall: RecallConfig,
    /// Memory across conversations.
    pub memory: MemoryConfig,
    /// Learning from finished turns.
    pub learning: LearningConfig,
    /// Programs that are called in a turn.
    pub hooks: HooksConfig,
    /// Which models are asked besides that of a conversation.
    pub auxiliary: AuxiliaryConfig,
    /// When conversations are shortened.
    pub compression: CompressionConfig,
    /// What may be spent.
    pub budget: BudgetConfig,
    /// How much work a model hands to background tasks.
    pub delegation: DelegationConfig,
    /// Talaria's own tools for models.
    pub tools: ToolsConfig,
    /// Where further skills are.
    pub skills: SkillsConfig,
    /// Where a model may read web pages.
    pub web: WebConfig,
    /// The MCP servers that Codex gets, in the order of the file.
    pub servers: Vec<Server>,
    /// The model providers, in the order of the file.
    pub providers: Vec<ProviderConfig>,
}

/// The section `[engine]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EngineConfig {
    /// After how long without anything to do the engine ends.
    pub idle_timeout: Option<Duration>,
}

/// The section `[access]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccessConfig {
    /// Control groups of containers and services whose commands count as the person's, although they run in a sandbox; `*`
    /// matches any characters.
    pub environments: Vec<String>,
}

/// The section `[sessions]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionsConfig {
    /// How long single events are kept; messages are kept longer.
    pub keep_events: Option<Duration>,
    /// How many events of one conversation are kept.
    pub max_events: Option<u64>,
    /// Each conversation is also a JSON file after each turn.
    pub write_json_snapshots: Option<bool>,
}

/// What happens when Codex was lost in the middle of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnLoss {
    /// Nothing: the person decides.
    Stop,
    /// Codex is asked once to continue.
    Continue,
}

impl OnLoss {
    /// Every word.
    pub const NAMES: [&'static str; 2] = ["stop", "continue"];
}

impl std::str::FromStr for OnLoss {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "stop" => Ok(Self::Stop),
            "continue" => Ok(Self::Continue),
            _ => Err(UnknownName { given: text.to_owned(), allowed: Self::NAMES.to_vec() }),
        }
    }
}

/// The section `[codex]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CodexConfig {
    /// The Codex program to use instead of the one on PATH; as written, a leading `~` included.
    pub bin: Option<String>,
    /// The `CODEX_HOME` for Codex; as written, a leading `~` included.
    pub home: Option<String>,
    /// The sandbox to ask for.
    pub sandbox: Option<Sandbox>,
    /// The approval policy to ask for.
    pub approval_policy: Option<ApprovalPolicy>,
    /// When Talaria's own files are hidden from the sandbox.
    pub hide_home: Option<HideHome>,
    /// How long a turn may take.
    pub turn_timeout: Option<Duration>,
    /// After how much silence of Codex a person is notified for the first time.
    pub idle_warning: Option<Duration>,
    /// How many Codex processes run at most.
    pub max_hosts: Option<u64>,
    /// How many conversations one of them takes.
    pub threads_per_host: Option<u64>,
    /// How long one may be without a conversation before it is ended.
    pub host_idle: Option<Duration>,
    /// How much memory one may take, in MiB, before it is replaced between turns.
    pub host_memory_mib: Option<u64>,
    /// What happens when Codex was lost in the middle of a turn.
    pub on_loss: Option<OnLoss>,
}

/// The section `[model]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelConfig {
    /// The model to ask for.
    pub default: Option<String>,
    /// The reasoning effort to ask for; the model decides which words it knows.
    pub effort: Option<String>,
    /// Is a model sent although Codex does not list it?
    pub allow_unlisted: Option<bool>,
    /// Whose models are asked; Codex has its own setting, and this one counts where Talaria's own loop runs.
    pub provider: Option<String>,
    /// Who runs the turns.
    pub openai_runtime: Option<RuntimeChoice>,
    /// How many characters of a project's instructions a conversation of the built-in loop starts with. Unset: 32,000.
    pub context_file_max_chars: Option<u64>,
    /// The models that are asked when the chosen one fails, for providers without a list of their own.
    pub fallback: Option<Vec<FallbackModel>>,
    /// Whether they are also asked what a model refused. Unset: no.
    pub fallback_on_refusal: Option<bool>,
}

impl ModelConfig {
    /// How many characters of a project's instructions a conversation of the built-in loop starts with.
    pub fn project_chars(&self) -> usize {
        let chars = self.context_file_max_chars.unwrap_or(32_000);
        usize::try_from(chars).unwrap_or(usize::MAX)
    }
}

/// The section `[approvals]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApprovalsConfig {
    /// How much is done without asking.
    pub mode: Option<Mode>,
    /// Deny and allow rules.
    pub rules: Rules,
}

/// A configuration file that is TOML, with what is wrong in it.
///
/// A key with an error is left unset in `config`: a caller that continues in spite of errors does so without those keys.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parsed {
    /// What could be read.
    pub config: Config,
    /// Errors and keys without effect, in file order.
    pub problems: Vec<ConfigProblem>,
}

/// Reads the text of a configuration file; a text that is not TOML is one problem with line and column.
pub fn parse(text: &str) -> Result<Parsed, ConfigProblem> {
    let document = read(text)?;
    let mut reader = Reader { text, parsed: Parsed::default() };
    for (name, item) in document.iter() {
        reader.section(document.as_table(), name, item);
    }
    // Tables come in the order of their first mention, dotted keys and late headers would mix the lines up.
    reader.parsed.problems.sort_by_key(|problem| (problem.line, problem.column));
    Ok(reader.parsed)
}

/// Rules that are silently absent would let pass what they deny.
const RULES_LOST: &str = "unknown key where rules belong, and nothing in it would hold";

struct Reader<'a> {
    text: &'a str,
    parsed: Parsed,
}

impl Reader<'_> {
    fn section(&mut self, root: &dyn TableLike, name: &str, item: &Item) {
        let start = start_of(root, name, item);
        match keys::section(name) {
            Some(Section::Read) => match item.as_table_like() {
                Some(table) => {
                    for (key, value) in table.iter() {
                        self.key(table, name, key, value);
                    }
                }
                None => {
                    let message = format!("must be a section, not {}", article(item.type_name()));
                    let hint = match name {
                        "model" => "write the name of the model as model.default".to_owned(),
                        _ => format!("write its keys under [{name}]"),
                    };
                    self.report(start, name, Severity::Error, message, Some(hint));
                }
            },
            Some(section @ (Section::Servers | Section::Providers)) => match item.as_table_like() {
                Some(table) => self.named_tables(section, table),
                None => {
                    let message = format!("must be a section, not {}", article(item.type_name()));
                    let hint = format!("write [{name}.NAME] for each of them");
                    self.report(start, name, Severity::Error, message, Some(hint));
                }
            },
            Some(Section::Later) => {
                self.report(start, name, Severity::Warning, "not used by this version".to_owned(), None);
            }
            None => {
                let hint = nearest(name, keys::sections()).or_else(|| keys::with_last_part(name));
                if keys::holds_rules(name, item) {
                    let hint = hint.filter(|hint| hint.starts_with("approvals")).unwrap_or("approvals");
                    self.report(
                        start,
                        name,
                        Severity::Error,
                        RULES_LOST.to_owned(),
                        Some(did_you_mean(hint)),
                    );
                } else {
                    let hint = hint.map(did_you_mean);
                    self.report(start, name, Severity::Warning, "unknown key".to_owned(), hint);
                }
            }
        }
    }

    /// Reads a section whose tables people name.
    fn named_tables(&mut self, section: Section, table: &dyn TableLike) {
        let found = match section {
            Section::Providers => {
                let (providers, found) = providers::read(table);
                self.parsed.config.providers = providers;
                found
            }
            _ => {
                let (servers, found) = servers::read(table);
                self.parsed.config.servers = servers;
                found
            }
        };
        for Found { start, key, severity, message, hint } in found {
            self.report(start, &key, severity, message, hint);
        }
    }

    fn key(&mut self, table: &dyn TableLike, section: &str, key: &str, item: &Item) {
        let name = format!("{section}.{key}");
        let start = start_of(table, key, item);
        match keys::meaning(&name) {
            Some(Meaning::Read(read)) => {
                if let Err(wrong) = read(item, &mut self.parsed.config) {
                    // The value may be lines below its key; the key is what a person looks for.
                    self.report(start, &name, Severity::Error, wrong.message, wrong.hint);
                }
            }
            Some(Meaning::ReadList(read)) => {
                for wrong in read(item, &mut self.parsed.config) {
                    let at = wrong.start.or(start);
                    self.report(at, &name, Severity::Error, wrong.message, wrong.hint);
                }
            }
            Some(Meaning::Later) => {
                // A section that is open for later keys would otherwise hide the typing error in a key of today.
                let hint = nearest(&name, keys::read()).map(did_you_mean);
                self.report(start, &name, Severity::Warning, "not used by this version".to_owned(), hint);
            }
            None => {
                let hint = nearest(&name, keys::all()).or_else(|| keys::with_last_part(key));
                let (severity, message) = match section == "approvals" || keys::holds_rules(key, item) {
                    true => (Severity::Error, RULES_LOST),
                    false => (Severity::Warning, "unknown key"),
                };
                self.report(start, &name, severity, message.to_owned(), hint.map(did_you_mean));
            }
        }
    }

    fn report(
        &mut self,
        start: Option<usize>,
        key: &str,
        severity: Severity,
        message: String,
        hint: Option<String>,
    ) {
        let (line, column) = position(self.text, start);
        let key = Some(key.to_owned());
        self.parsed.problems.push(ConfigProblem { line, column, key, message, hint, severity });
    }
}

fn start_of(table: &dyn TableLike, key: &str, item: &Item) -> Option<usize> {
    let span = table.key(key).and_then(toml_edit::Key::span).or_else(|| item.span());
    span.map(|span| span.start)
}

fn did_you_mean(name: &str) -> String {
    format!("did you mean {name}?")
}

#[cfg(test)]
mod tests;
