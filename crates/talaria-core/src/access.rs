//! Rights of a caller of the engine.
//!
//! The engine establishes who is at the other end of a connection ([`Identity`]) and derives one [`Access`] from it. A
//! caller's own claim can only lower its rights: a person who says "model" is treated as one, a model that says "person" is
//! not believed. Pure: the facts about the process are read by the server, the configuration by the engine.

mod evidence;
mod identity;
#[cfg(test)]
mod tests;

pub use evidence::{Namespaces, PeerClass, ProcessFacts, SandboxSign, classify};
pub use identity::{Identity, PeerEvidence};

use crate::config::{BridgeConfig, Rights};
use crate::principal::PrincipalKind;

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
        shell: true,
        admin: true,
    };

    /// No rights at all.
    pub const NONE: Self = Self {
        sees: SeeRight::Nothing,
        starts: StartRight::Nothing,
        answers: AnswerRight::Kinds(Vec::new()),
        roots: RootRight::Nowhere,
        shell: false,
        admin: false,
    };

    /// Derives what `identity` may do while the configuration is `bridge`.
    pub fn of(identity: &Identity, bridge: &BridgeConfig) -> Self {
        if let Some(owner) = Self::of_owner(identity) {
            return owner;
        }
        match (identity.class(), identity.principal().kind()) {
            (
                PeerClass::Person | PeerClass::BelowCodex { .. } | PeerClass::BelowKeeper { .. },
                PrincipalKind::Model,
            ) if identity.presents_as_model() => Self::model(&grants(identity, bridge)),
            // Rights of tokens and chats come from rows that do not exist yet.
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
            shell: false,
            admin: false,
        }
    }

    /// Has it no rights at all?
    pub fn is_none(&self) -> bool {
        *self == Self::NONE
    }

    /// May it find something by a part of its id? The attempt can name conversations and requests of others.
    pub fn may_search_ids(&self) -> bool {
        self.sees == SeeRight::All
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

/// What `[bridge]` grants to a model. `[bridge.callers.NAME]` counts only for a caller that no model started:
/// the name is what the caller says of itself, and any command of a model could say it.
pub fn grants(identity: &Identity, bridge: &BridgeConfig) -> Rights {
    match identity.class() {
        PeerClass::Person => bridge.rights(identity.claimed_name()),
        _ => bridge.everybody.clone(),
    }
}
