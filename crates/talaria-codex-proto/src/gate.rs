//! What is decided before a person is asked: where something would happen (`place`), what floor and rules say about it
//! (`rules`), and whether everything that passes them is accepted.
//!
//! Only commands, tools, patches, permissions and addresses can be decided here. What a person is asked to write, nobody
//! else can. An acceptance never rests on anything but a rule that says so, or the wish to accept everything that stays
//! inside. Called by the turn machine for every request.

use crate::place::{Bounds, Subject, Wishes};
use crate::wire::raw_call::RawItem;
use crate::wire::server_request::{Elicitation, ServerRequest};
use talaria_core::item::FileChange;
use talaria_core::policy::Answers;
use talaria_core::request::{Ask, Who};
use talaria_guard::place::Place;
use talaria_guard::rules::{self, Ban, Doubt, Ground, Permit, Rules, Unseen, Verdict};

/// Decides the requests of one thread, as far as no person is needed.
#[derive(Clone, Debug)]
pub struct Gate {
    bounds: Bounds,
    rules: Rules,
    answers: Answers,
    /// The person's home directory; the floor protects it.
    home: Option<String>,
    /// Talaria's own directory; the floor protects the secrets in it.
    talaria: Option<String>,
    wishes: Wishes,
}

/// What became of a request at the gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ruling {
    /// It is accepted.
    Accept {
        /// In whose name.
        by: Who,
        /// By what.
        why: String,
    },
    /// It is declined.
    Decline {
        /// In whose name.
        by: Who,
        /// By what, and why.
        why: String,
    },
    /// A person decides.
    Ask {
        /// Why nothing else may, where the rules are the reason.
        why: Option<String>,
    },
}

impl Ruling {
    /// Why a person decides, where the rules are the reason.
    pub fn because(&self) -> Option<&str> {
        match self {
            Self::Ask { why } => why.as_deref(),
            Self::Accept { .. } | Self::Decline { .. } => None,
        }
    }
}

impl Gate {
    /// A gate for a thread with these bounds.
    pub fn new(bounds: Bounds, rules: Rules, answers: Answers, home: Option<String>) -> Self {
        Self { bounds, rules, answers, home, talaria: None, wishes: Wishes::default() }
    }

    /// Protects the secrets in Talaria's own directory, wherever that is.
    #[must_use]
    pub fn protecting(mut self, talaria: Option<String>) -> Self {
        self.talaria = talaria;
        self
    }

    /// Notes what the model itself said, which comes before Codex's request about it.
    pub fn note(&mut self, item: &RawItem) {
        self.wishes.note(item);
    }

    /// Other bounds hold from now on.
    pub fn rebind(&mut self, bounds: Bounds) {
        self.bounds = bounds;
    }

    /// What holds now.
    pub fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    /// Where it would happen; `None` for what happens nowhere, such as an answer in words.
    pub fn place(&self, request: &ServerRequest, changes: Option<&[FileChange]>) -> Option<Place> {
        Some(match request {
            ServerRequest::Command(p) => self.bounds.command(Subject::from(&**p), self.wishes.of(&p.item_id)),
            ServerRequest::Patch(p) => {
                let changes = changes.unwrap_or_default();
                let moved = changes.iter().filter_map(|change| change.move_to.as_deref());
                let paths = changes.iter().map(|change| change.path.as_str()).chain(moved);
                self.bounds.patch(paths, p.grant_root.as_deref())
            }
            // A wider sandbox is a way out of this one.
            ServerRequest::Permissions(_) => Place::Outside,
            // The sandbox holds commands of Codex, not the servers that it talks to.
            ServerRequest::Elicitation(p) if p.is_tool_approval() => Place::Outside,
            _ => return None,
        })
    }

    /// Decides.
    pub fn rule(&self, request: &ServerRequest, ask: &Ask, place: Option<Place>) -> Ruling {
        let Some(place) = place else { return Ruling::Ask { why: None } };
        let verdict = match (request, ask) {
            (_, Ask::Command { command, cwd, .. }) => {
                let ground = Ground {
                    cwd: cwd.as_deref(),
                    home: self.home.as_deref(),
                    talaria: self.talaria.as_deref(),
                };
                self.rules.judge(&rules::RuleSubject::Command { line: command, ground }, place)
            }
            (ServerRequest::Elicitation(p), Ask::Tool { server, .. }) => {
                self.rules.judge(&rules::RuleSubject::Tool { server, tool: tool_name(p) }, place)
            }
            (_, Ask::Patch { changes: Some(_), .. } | Ask::Network { .. } | Ask::Permissions { .. }) => {
                self.rules.unless_unread(Verdict::Ask { doubt: None })
            }
            _ => return Ruling::Ask { why: None },
        };
        ruling(match self.answers {
            Answers::Person => verdict,
            // Where there is no sandbox, every place is inside; nothing has to be said about it here.
            Answers::Everything => verdict.accept_all(place),
        })
    }
}

fn ruling(verdict: Verdict) -> Ruling {
    match verdict {
        Verdict::Forbidden { by, why } => {
            let who = if matches!(by, Ban::Floor(_)) { Who::Floor } else { Who::Rule };
            Ruling::Decline { by: who, why: format!("{by}: {why}") }
        }
        Verdict::Allowed { by } => {
            let who = if matches!(by, Permit::Everything) { Who::Mode } else { Who::Rule };
            Ruling::Accept { by: who, why: by.to_string() }
        }
        Verdict::Ask { doubt } => Ruling::Ask { why: doubt.as_ref().and_then(because) },
    }
}

/// A doubt as a reason on the card of a request; `None` where the card says it anyway, or no rule is concerned.
fn because(doubt: &Doubt) -> Option<String> {
    Some(match doubt {
        Doubt::Unseen(Unseen::Commands) => {
            "your deny rules cannot see what this line starts: that is known only when it runs \
             (such as `bash -c \"$x\"` or `… | sh`)"
                .to_owned()
        }
        Doubt::Unseen(Unseen::Code) => {
            "your deny rules cannot see inside inline code (such as `python3 -c …`)".to_owned()
        }
        Doubt::Unseen(Unseen::Written) => {
            "your deny rules cannot see inside a file that this line writes and then runs".to_owned()
        }
        Doubt::RulesUnread => "your rules cannot be read; correct config.toml".to_owned(),
        Doubt::NotUnderstood(_) | Doubt::Leaves(_) => return None,
    })
}

/// The tool that Codex asks about. Only its own sentence names it; a sentence that is not exactly that names nothing.
fn tool_name(request: &Elicitation) -> Option<&str> {
    let rest = request.message.strip_prefix("Allow the ")?.strip_prefix(request.server_name.as_str())?;
    let tool = rest.strip_prefix(" MCP server to run tool \"")?.strip_suffix("\"?")?;
    (!tool.is_empty() && !tool.contains('"')).then_some(tool)
}

#[cfg(test)]
mod tests;
