//! Decisions before a person is asked: floor and rules (`talaria_guard::rules`), depending on where the operation would
//! happen, and whether everything that passes them is accepted.
//!
//! Only commands, tools, patches, permissions and addresses can be decided here. Text that a person is asked for cannot
//! be decided here. An acceptance requires a rule, or the mode that accepts everything inside the sandbox. Called by a
//! turn for every request.

use talaria_guard::place::Place;
use talaria_guard::rules::{self, Ban, Doubt, Ground, Permit, Rules, Unseen, Verdict};

use crate::policy::Answers;
use crate::request::Who;
use crate::subject::{CommandUse, Subject};

/// Decides requests, as far as no person is needed.
#[derive(Clone, Debug)]
pub struct RequestGate {
    rules: Rules,
    answers: Answers,
    /// The person's home directory; the floor protects it.
    home: Option<String>,
    /// Talaria's own directory; the floor protects the secrets in it.
    talaria: Option<String>,
}

/// Result of a request at the gate.
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
        /// Neither floor nor rules can see all of it: nothing but a person may accept it.
        is_only_for_people: bool,
    },
}

impl Ruling {
    /// Nothing but a person decides it.
    pub const fn for_people() -> Self {
        Self::Ask { why: None, is_only_for_people: true }
    }

    /// Why a person decides, where the rules are the reason.
    pub fn because(&self) -> Option<&str> {
        match self {
            Self::Ask { why, .. } => why.as_deref(),
            Self::Accept { .. } | Self::Decline { .. } => None,
        }
    }
}

impl RequestGate {
    /// A gate with these rules.
    pub fn new(rules: Rules, answers: Answers, home: Option<String>) -> Self {
        Self { rules, answers, home, talaria: None }
    }

    /// Protects the secrets in Talaria's own directory, wherever that is.
    #[must_use]
    pub fn protecting(mut self, talaria: Option<String>) -> Self {
        self.talaria = talaria;
        self
    }

    /// Decides about what would happen at `place`; what happens nowhere has none, and is for a person.
    pub fn rule(&self, subject: &Subject<'_>, place: Option<Place>) -> Ruling {
        let Some(place) = place else { return Ruling::for_people() };
        let verdict = match subject {
            Subject::Command(command) => match (command.action, &command.line) {
                (CommandUse::Run, Some(line)) => {
                    let (home, talaria) = (self.home.as_deref(), self.talaria.as_deref());
                    let ground = Ground { cwd: command.cwd, home, talaria };
                    self.rules.judge(&rules::RuleSubject::Command { line, ground }, place)
                }
                _ => return Ruling::for_people(),
            },
            Subject::Tool { tool, form } => {
                self.rules.judge(&rules::RuleSubject::Tool { server: form.server, tool: *tool }, place)
            }
            Subject::Patch { changes: Some(_), .. }
            | Subject::Network { .. }
            | Subject::Permissions { .. } => self.rules.unless_unread(Verdict::Ask { doubt: None }),
            Subject::Patch { changes: None, .. } | Subject::Words(_) => return Ruling::for_people(),
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
        Verdict::Ask { doubt } => Ruling::Ask {
            why: doubt.as_ref().and_then(because),
            is_only_for_people: doubt.is_some_and(|doubt| !matches!(doubt, Doubt::Leaves(_))),
        },
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
