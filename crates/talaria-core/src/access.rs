//! Rights of a caller of the engine.
//!
//! The engine establishes who is at the other end of a connection ([`Identity`]) and derives one [`Access`] from it. A
//! caller's own claim can only lower its rights: a person who says "model" is treated as one, a model that says "person" is
//! not believed. The rights of a token are those of its row ([`TokenGrant`]). Pure: the facts about the process are read by
//! the server, the configuration and the row by the engine.

mod evidence;
mod grant;
mod identity;
#[cfg(test)]
mod tests;

pub use evidence::{Namespaces, PeerClass, ProcessFacts, SandboxSign, classify};
pub use grant::{BadGrant, TokenGrant, TokenScope, UnknownScope, is_below};
pub use identity::{Identity, PeerEvidence};

use crate::config::{BridgeConfig, REQUEST_KINDS, Rights};
use crate::principal::PrincipalKind;
use crate::request::Decision;
use talaria_guard::place::Place;

/// Which conversations a caller may see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeeRight {
    /// Every conversation.
    All,
    /// The tasks that it started.
    Own,
    /// The tasks of every caller, but no conversation of a person.
    AllTasks,
    /// None.
    Nothing,
}

/// Turns that a caller may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartRight {
    /// Conversations, turns and tasks, with any sandbox.
    Anything,
    /// Tasks, within the limits of `[bridge]`.
    Tasks,
    /// Nothing.
    Nothing,
}

/// Which requests a caller may answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswerRight {
    /// Every kind.
    Every,
    /// These kinds, as `[bridge] answers` names them.
    Kinds(Vec<String>),
}

/// Where a caller may let Codex work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RootRight {
    /// Anywhere.
    Anywhere,
    /// Below these directories, as they are written in the configuration; if there are none, below the directory in which
    /// the caller was started.
    Below(Vec<String>),
    /// Nowhere.
    Nowhere,
}

/// What a route of the API needs, as its table says. Checked before the route does anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteNeed {
    /// Any right at all.
    Any,
    /// To see conversations.
    View,
    /// To answer some kind of request.
    Answer,
    /// To start or continue work.
    Start,
    /// To run a command outside of a turn.
    Shell,
    /// To administer the engine.
    Admin,
    /// To be a program on this machine: what is asked names files or variables of it.
    Local,
}

impl RouteNeed {
    /// The scope that a token needs; `None` if every token may ask, or none.
    pub fn scope(self) -> Option<TokenScope> {
        match self {
            Self::Any | Self::Local => None,
            Self::View => Some(TokenScope::View),
            Self::Answer => Some(TokenScope::Answer),
            Self::Start => Some(TokenScope::Start),
            Self::Shell => Some(TokenScope::Shell),
            Self::Admin => Some(TokenScope::Admin),
        }
    }
}

/// The rights of a caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// Which conversations it may see.
    pub sees: SeeRight,
    /// Turns that it may start.
    pub starts: StartRight,
    /// Which requests it may answer.
    pub answers: AnswerRight,
    /// Where it may let Codex work.
    pub roots: RootRight,
    /// May it answer for later requests, too?
    pub answers_always: bool,
    /// May it say yes to what happens outside of the sandbox, or may?
    pub answers_outside: bool,
    /// May it apply or discard the work of a task?
    pub lands: bool,
    /// May it run a command outside of a turn?
    pub shell: bool,
    /// May it stop the engine, remove conversations, import, and read the audit log?
    pub admin: bool,
}

impl Access {
    /// The rights of the person whose home it is.
    pub const OWNER: Self = Self {
        sees: SeeRight::All,
        starts: StartRight::Anything,
        answers: AnswerRight::Every,
        roots: RootRight::Anywhere,
        answers_always: true,
        answers_outside: true,
        lands: true,
        shell: true,
        admin: true,
    };

    /// No rights at all.
    pub const NONE: Self = Self {
        sees: SeeRight::Nothing,
        starts: StartRight::Nothing,
        answers: AnswerRight::Kinds(Vec::new()),
        roots: RootRight::Nowhere,
        answers_always: false,
        answers_outside: false,
        lands: false,
        shell: false,
        admin: false,
    };

    /// Derives what `identity` may do while the configuration is `bridge`.
    pub fn of(identity: &Identity, bridge: &BridgeConfig) -> Self {
        if let Some(owner) = Self::of_owner(identity) {
            return owner;
        }
        if let Some(grant) = identity.grant() {
            return Self::of_grant(grant);
        }
        match (identity.class(), identity.principal().kind()) {
            (
                PeerClass::Person | PeerClass::BelowCodex { .. } | PeerClass::BelowKeeper { .. },
                PrincipalKind::Model,
            ) if identity.presents_as_model() => Self::model(&grants(identity, bridge)),
            // A claim to be a token or a chat, without a row that says so.
            _ => Self::NONE,
        }
    }

    /// The rights of the person whose home it is; `None` for every other caller. No configuration counts for the owner, so
    /// none has to be read.
    pub fn of_owner(identity: &Identity) -> Option<Self> {
        let is_owner = matches!(identity.class(), PeerClass::Person)
            && identity.principal().kind() == PrincipalKind::Person;
        is_owner.then_some(Self::OWNER)
    }

    fn model(rights: &Rights) -> Self {
        Self {
            sees: if rights.all { SeeRight::AllTasks } else { SeeRight::Own },
            starts: StartRight::Tasks,
            answers: AnswerRight::Kinds(rights.answers.clone()),
            roots: RootRight::Below(rights.roots.clone()),
            // Where the user's policy lets a model answer, it names the kinds alone.
            answers_always: true,
            answers_outside: true,
            lands: false,
            shell: false,
            admin: false,
        }
    }

    /// The rights of a token. Without `view` it sees only the tasks that it started.
    fn of_grant(grant: &TokenGrant) -> Self {
        let has = |scope| grant.scopes.contains(&scope);
        let kinds = REQUEST_KINDS.iter().enumerate();
        let answers = kinds
            .filter(|(at, _)| has(TokenScope::Answer) || has(TokenScope::AnswerKind(*at)))
            .map(|(_, kind)| (*kind).to_owned())
            .collect::<Vec<_>>();
        Self {
            sees: if has(TokenScope::View) { SeeRight::All } else { SeeRight::Own },
            starts: if has(TokenScope::Start) { StartRight::Tasks } else { StartRight::Nothing },
            answers_always: has(TokenScope::AnswerAlways),
            answers_outside: has(TokenScope::AnswerOutside),
            answers: AnswerRight::Kinds(answers),
            roots: if grant.roots.is_empty() {
                RootRight::Anywhere
            } else {
                RootRight::Below(grant.roots.clone())
            },
            lands: has(TokenScope::Start),
            shell: has(TokenScope::Shell),
            admin: has(TokenScope::Admin),
        }
    }

    /// Has it no rights at all?
    pub fn is_none(&self) -> bool {
        *self == Self::NONE
    }

    /// Does it see every conversation, wherever that works?
    pub fn sees_everything(&self) -> bool {
        self.sees == SeeRight::All && self.roots == RootRight::Anywhere
    }

    /// May it find something by a part of its id? The attempt can name conversations and requests of others.
    pub fn may_search_ids(&self) -> bool {
        self.sees_everything()
    }

    /// Has it what a route needs? What the route then does is checked again, with what it is asked.
    pub fn has(&self, need: RouteNeed) -> bool {
        match need {
            RouteNeed::Any => true,
            RouteNeed::View => self.sees == SeeRight::All,
            RouteNeed::Answer => self.answers != AnswerRight::Kinds(Vec::new()),
            RouteNeed::Start => self.starts != StartRight::Nothing,
            RouteNeed::Shell => self.shell,
            RouteNeed::Admin => self.admin,
            RouteNeed::Local => false,
        }
    }

    /// The scope that a decision about a request of this kind needs, besides that of the kind, and that is missing.
    pub fn missing_for(&self, decision: Decision, kind: &str, place: Option<Place>) -> Option<TokenScope> {
        let lasts = matches!(decision, Decision::AcceptForSession | Decision::AcceptAlways);
        let is_inside = match place {
            Some(place) => place == Place::Inside,
            // Words for a model happen nowhere; of anything else it is not known that it stays inside.
            None => matches!(kind, "input" | "elicitation"),
        };
        if decision.is_yes() && !is_inside && !self.answers_outside {
            return Some(TokenScope::AnswerOutside);
        }
        (lasts && !self.answers_always).then_some(TokenScope::AnswerAlways)
    }

    /// May it have a notification that failed sent before its next attempt is due? Each attempt uses up one of a few.
    pub fn may_retry_notices(&self) -> bool {
        self.admin
    }

    /// May it answer a request of this kind?
    pub fn may_answer(&self, kind: &str) -> bool {
        match &self.answers {
            AnswerRight::Every => true,
            AnswerRight::Kinds(kinds) => kinds.iter().any(|granted| granted == kind),
        }
    }
}

/// What `[bridge]` grants to a model, or its row to a token. `[bridge.callers.NAME]` counts only for a caller that no model started:
/// the name is what the caller says of itself, and any command of a model could say it.
pub fn grants(identity: &Identity, bridge: &BridgeConfig) -> Rights {
    if let Some(grant) = identity.grant() {
        return Rights { roots: grant.roots.clone(), ..Rights::default() };
    }
    match identity.class() {
        PeerClass::Person => bridge.rights(identity.claimed_name()),
        _ => bridge.everybody.clone(),
    }
}
