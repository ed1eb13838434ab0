//! The policy before people: hard floor, then deny rules, then allow rules, then a person.
//!
//! Owns that order and what each verdict means. Decides from values alone: the command line, where it would run, and
//! the rules of the user. Must never allow a line that it does not understand. Called by the turn when Codex asks,
//! in every mode; operations that Codex does not ask about never reach this code.

mod allow;
mod expand;
mod floor;
mod glob;
mod hazards;
mod pattern;
mod propose;
mod scene;
mod spelling;
mod synonyms;
mod written;

use std::fmt;

pub use crate::place::Place;
use crate::shell::{CommandRole, CommandText, ShellLine, SimpleCommand, Unparsable};
use crate::shorten::shorten;
pub use floor::Floor;
use glob::{Glob, Symbol};
pub use pattern::BadPattern;
use pattern::Pattern;
pub use propose::propose;
use scene::Scene;

/// Does this absolute path name keys or passwords that the hard floor protects?
pub fn is_secret_path(path: &str) -> bool {
    floor::is_secret_path(path)
}

/// How far an allow rule reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleReach {
    /// Only operations inside the sandbox.
    Inside,
    /// Also what leaves it, and what may: `outside = true`.
    Anywhere,
}

/// Something that Codex asks about.
#[derive(Debug, Clone, Copy)]
pub enum RuleSubject<'a> {
    /// A command line.
    Command {
        /// The line, as Codex sends it.
        line: &'a CommandText<'a>,
        /// Where it would start.
        ground: Ground<'a>,
    },
    /// A tool of an MCP server.
    Tool {
        /// The server.
        server: &'a str,
        /// The tool, if it is known.
        tool: Option<&'a str>,
    },
}

/// The surroundings of a command, as far as they are known; absolute paths.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ground<'a> {
    /// Its working directory.
    pub cwd: Option<&'a str>,
    /// The home directory of who runs it.
    pub home: Option<&'a str>,
    /// Talaria's own directory, if it is not the usual one.
    pub talaria: Option<&'a str>,
}

/// One rule of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    text: String,
    what: What,
    reach: RuleReach,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum What {
    Command(Pattern),
    Tool { server: Glob, tool: Glob },
}

/// The rules of the user.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules {
    /// What needs no person.
    pub allow: Vec<Rule>,
    /// Deny rules; they take precedence over `allow`.
    pub deny: Vec<Rule>,
    /// Could the user's rules not be read, now or in part? Then nothing is accepted without a person.
    pub are_incomplete: bool,
}

/// Verdict about a request of Codex.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is refused, and no one may accept it.
    Forbidden {
        /// What forbids it.
        by: Ban,
        /// Why, for people.
        why: String,
    },
    /// It is accepted without a person.
    Allowed {
        /// What allows it.
        by: Permit,
    },
    /// A person decides.
    Ask {
        /// Why nothing but a person may accept it, whatever the mode says.
        doubt: Option<Doubt>,
    },
}

/// What forbids something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ban {
    /// The hard floor.
    Floor(Floor),
    /// This deny rule, as it is written.
    Rule(String),
}

/// What allows something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Permit {
    /// These allow rules, as they are written.
    Rules(Vec<String>),
    /// The wish to accept everything that may be accepted.
    Everything,
}

/// Why nothing but a person may accept something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    /// The command line is not understood, so neither floor nor rules can be decided.
    NotUnderstood(Unparsable),
    /// The user's rules cannot be read.
    RulesUnread,
    /// It runs something that deny rules cannot see.
    Unseen(Unseen),
    /// It would leave the sandbox, or may.
    Leaves(Place),
}

/// What deny rules cannot see in a command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unseen {
    /// Commands that only the running shell will know: `curl … | sh`, `bash -c "$x"`.
    Commands,
    /// Code of another language: `python3 -c`, `perl -e`, `make --eval`.
    Code,
    /// A file that the line itself writes.
    Written,
}

impl Rule {
    /// Reads an allow rule for commands.
    pub fn allow(text: &str, reach: RuleReach) -> Result<Self, BadPattern> {
        let what = What::Command(Pattern::parse(text)?.for_allow()?);
        Ok(Self { text: text.trim().to_owned(), what, reach })
    }

    /// Parses a deny rule for commands; it applies everywhere.
    pub fn deny(text: &str) -> Result<Self, BadPattern> {
        let what = What::Command(Pattern::parse(text)?.for_deny()?);
        Ok(Self { text: text.trim().to_owned(), what, reach: RuleReach::Anywhere })
    }

    /// Reads a rule for tools, `server/tool` with `*` for any characters. Tools run in their server, in no sandbox.
    pub fn tool(text: &str) -> Result<Self, BadPattern> {
        let text = text.trim();
        match text.split_once('/') {
            _ if text.is_empty() => Err(BadPattern::Empty),
            Some((server, tool)) if !server.is_empty() && !tool.is_empty() => {
                let what = What::Tool { server: Glob::plain(server), tool: Glob::plain(tool) };
                Ok(Self { text: text.to_owned(), what, reach: RuleReach::Anywhere })
            }
            _ => Err(BadPattern::Tool),
        }
    }

    /// The rule as it is written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// How far it reaches.
    pub fn reach(&self) -> RuleReach {
        self.reach
    }

    fn pattern(&self) -> Option<&Pattern> {
        match &self.what {
            What::Command(pattern) => Some(pattern),
            What::Tool { .. } => None,
        }
    }

    fn could_fit(&self, command: &SimpleCommand, home: Option<&str>) -> bool {
        self.pattern().is_some_and(|pattern| pattern.could_fit(command, home))
    }

    fn must_fit(&self, command: &SimpleCommand, home: Option<&str>) -> bool {
        self.pattern().is_some_and(|pattern| pattern.must_fit(command, home))
    }

    fn is_certain(&self, command: &SimpleCommand, home: Option<&str>) -> bool {
        self.pattern().is_some_and(|pattern| pattern.is_certain(command, home))
    }

    fn is_exact(&self) -> bool {
        self.pattern().is_some_and(Pattern::is_exact)
    }

    fn is_for_commands(&self) -> bool {
        self.pattern().is_some()
    }
}

impl Rules {
    /// Decides: floor, deny, allow, ask. An allow rule that does not reach `place` does not count.
    pub fn judge(&self, subject: &RuleSubject<'_>, place: Place) -> Verdict {
        let verdict = match subject {
            RuleSubject::Command { line, ground } => match line.parsed() {
                Ok(line) => self.judge_line(line, *ground, place),
                Err(why) => Verdict::Ask { doubt: Some(Doubt::NotUnderstood(why)) },
            },
            RuleSubject::Tool { server, tool } => self.judge_tool(server, *tool),
        };
        self.unless_unread(verdict)
    }

    /// Leaves to a person what would be accepted, or could be, while the user's rules cannot be read.
    #[must_use]
    pub fn unless_unread(&self, verdict: Verdict) -> Verdict {
        match verdict {
            Verdict::Allowed { .. } | Verdict::Ask { doubt: None } if self.are_incomplete => {
                Verdict::Ask { doubt: Some(Doubt::RulesUnread) }
            }
            decided => decided,
        }
    }

    fn judge_line(&self, line: &ShellLine, ground: Ground<'_>, place: Place) -> Verdict {
        let scene = Scene::new(line, ground);
        if let Some(floor) = floor::hit(&scene) {
            return Verdict::Forbidden { by: Ban::Floor(floor), why: floor.sentence().to_owned() };
        }
        // Rules do not match the shell that Codex wraps around every line; hidden parts become a question below.
        let is_meant = |command: &&SimpleCommand| {
            !matches!(
                command.role,
                CommandRole::Runner | CommandRole::Frame | CommandRole::Unknown | CommandRole::Code
            )
        };
        for command in line.commands.iter().filter(is_meant) {
            if let Some(rule) = self.deny.iter().find(|rule| rule.could_fit(command, ground.home)) {
                let why = match rule.is_certain(command, ground.home) {
                    true => format!("`{}` is denied", shortened(command)),
                    false => format!("`{}` is denied, or could be when it runs", shortened(command)),
                };
                return Verdict::Forbidden { by: Ban::Rule(rule.text.clone()), why };
            }
        }
        let permit = allow::permits(&self.allow, line, place, ground.home);
        // Deny rules win over allow rules, so they also win where they cannot be decided. Only a rule that spells out
        // the whole line was written by a person who has seen the code in it.
        let is_spelled_out = permit.as_ref().is_some_and(|rules| rules.iter().all(|rule| rule.is_exact()));
        if self.deny.iter().any(Rule::is_for_commands)
            && !is_spelled_out
            && let Some(unseen) = written::unseen(&scene)
        {
            return Verdict::Ask { doubt: Some(Doubt::Unseen(unseen)) };
        }
        match permit {
            Some(rules) => allowed(&rules),
            None => Verdict::Ask { doubt: None },
        }
    }

    fn judge_tool(&self, server: &str, tool: Option<&str>) -> Verdict {
        let known = |text: &str| text.chars().map(Symbol::Char).collect::<Vec<_>>();
        let server = known(server);
        let tool = tool.map_or_else(|| vec![Symbol::Any], known);
        let parts = |rule: &'_ Rule| match &rule.what {
            What::Tool { server, tool } => Some((server.clone(), tool.clone())),
            What::Command(_) => None,
        };
        let denies = |rule: &&Rule| {
            parts(rule).is_some_and(|(s, t)| s.could_match(&server, None) && t.could_match(&tool, None))
        };
        let allows = |rule: &&Rule| {
            parts(rule).is_some_and(|(s, t)| s.must_match(&server, None) && t.must_match(&tool, None))
        };
        if let Some(rule) = self.deny.iter().find(denies) {
            let why = "this tool is denied".to_owned();
            return Verdict::Forbidden { by: Ban::Rule(rule.text.clone()), why };
        }
        match self.allow.iter().find(allows) {
            Some(rule) => allowed(&[rule]),
            None => Verdict::Ask { doubt: None },
        }
    }
}

impl Verdict {
    /// The verdict when everything permitted is accepted: `--approve all`, and the mode `unrestricted`.
    ///
    /// Operations that the floor or a deny rule forbids stay forbidden. Those that would leave the sandbox stay a
    /// question, and so do lines that are not understood; a caller that cannot ask anyone declines these.
    #[must_use]
    pub fn accept_all(self, place: Place) -> Self {
        match self {
            Self::Ask { doubt: None } if place == Place::Inside => Self::Allowed { by: Permit::Everything },
            Self::Ask { doubt: None } => Self::Ask { doubt: Some(Doubt::Leaves(place)) },
            decided => decided,
        }
    }
}

fn allowed(rules: &[&Rule]) -> Verdict {
    Verdict::Allowed { by: Permit::Rules(rules.iter().map(|rule| rule.text.clone()).collect()) }
}

/// Enough of a command to recognise it.
fn shortened(command: &SimpleCommand) -> String {
    shorten(&command.to_string(), 81).into_owned()
}

impl fmt::Display for Ban {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Floor(floor) => write!(f, "the hard floor ({floor})"),
            Self::Rule(text) => write!(f, "the deny rule {text:?}"),
        }
    }
}

impl fmt::Display for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rules(texts) => {
                let texts: Vec<String> = texts.iter().map(|text| format!("{text:?}")).collect();
                let noun = if texts.len() == 1 { "rule" } else { "rules" };
                write!(f, "the allow {noun} {}", texts.join(", "))
            }
            Self::Everything => f.write_str("the choice to accept everything"),
        }
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotUnderstood(why) => write!(f, "the command line cannot be parsed: {why}"),
            Self::RulesUnread => f.write_str("your rules cannot be read; correct config.toml"),
            Self::Unseen(Unseen::Commands) => {
                f.write_str("deny rules cannot see what it starts: that is only known when it runs")
            }
            Self::Unseen(Unseen::Code) => f.write_str("deny rules cannot see into the code that it runs"),
            Self::Unseen(Unseen::Written) => {
                f.write_str("deny rules cannot see into the file that it writes and then runs")
            }
            Self::Leaves(Place::Undecidable) => {
                f.write_str("it may leave the sandbox; this cannot be decided")
            }
            Self::Leaves(_) => f.write_str("it would leave the sandbox"),
        }
    }
}

#[cfg(test)]
mod tests;
