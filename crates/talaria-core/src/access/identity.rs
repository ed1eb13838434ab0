//! Who is at the other end of a connection, and how the engine knows.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::evidence::{PeerClass, ProcessFacts};
use super::grant::TokenGrant;
use crate::principal::{Principal, PrincipalKind};

/// How a caller was established, for the audit log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PeerEvidence {
    /// Its process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<i32>,
    /// Its terminal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminal: Option<String>,
    /// Its program file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
}

impl fmt::Display for PeerEvidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let terminal = self.terminal.as_deref().unwrap_or("no terminal");
        match self.pid {
            Some(pid) => write!(f, "{terminal}, process {pid}"),
            None => f.write_str(terminal),
        }
    }
}

/// Who is at the other end of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    principal: Principal,
    class: PeerClass,
    evidence: PeerEvidence,
    /// The name under which it says that it is a model.
    model: Option<String>,
    /// The row of its token.
    grant: Option<Arc<TokenGrant>>,
}

impl Identity {
    /// The person whose home it is, inside the engine itself.
    pub fn owner(principal: Principal) -> Self {
        Self {
            principal,
            class: PeerClass::Person,
            evidence: PeerEvidence::default(),
            model: None,
            grant: None,
        }
    }

    /// The holder of a token, who connected from this address.
    pub fn of_token(grant: Arc<TokenGrant>, from: &str) -> Self {
        Self {
            principal: Principal::new(PrincipalKind::Token, &grant.name),
            class: PeerClass::Remote { from: from.to_owned() },
            evidence: PeerEvidence::default(),
            model: None,
            grant: Some(grant),
        }
    }

    /// Someone on the network who showed no valid token. It has no rights.
    pub fn stranger(from: &str) -> Self {
        Self {
            principal: Principal::new(PrincipalKind::Token, "unknown"),
            class: PeerClass::Remote { from: from.to_owned() },
            evidence: PeerEvidence::default(),
            model: None,
            grant: None,
        }
    }

    /// A peer on the socket. It is `owner` if nothing speaks against it.
    pub fn of_peer(owner: Principal, class: PeerClass, evidence: PeerEvidence) -> Self {
        let principal = match class {
            PeerClass::Person => owner,
            PeerClass::BelowCodex { .. } => Principal::model("command-of-codex"),
            PeerClass::BelowKeeper { .. } => Principal::model("command-of-loop"),
            PeerClass::Sandboxed { .. } => Principal::model("sandboxed-command"),
            PeerClass::Unknown { .. } => Principal::model("unidentified"),
            PeerClass::Remote { .. } => Principal::new(PrincipalKind::Token, "unknown"),
        };
        Self { principal, class, evidence, model: None, grant: None }
    }

    /// The same caller with the principal that it claims. This only lowers its rights: the owner can act as anyone, a
    /// model remains a model. Below Codex a model keeps a name apart from those that come from outside, so that it cannot
    /// take the tasks of another client by taking its name.
    #[must_use]
    pub fn claiming(mut self, claim: &Principal) -> Self {
        // The model of a conversation acts inside the engine: no client can be it.
        let claim = match claim.delegator() {
            Some(session) => &Principal::model(&format!("session-{session}")),
            None => claim,
        };
        let name = claim.name();
        match (&self.class, claim.kind()) {
            (PeerClass::Person, PrincipalKind::Model) => {
                self.principal = claim.clone();
                self.model = Some(name.to_owned());
            }
            (PeerClass::Person, PrincipalKind::Token | PrincipalKind::Chat) => self.principal = claim.clone(),
            // The engine knows the owner's name better than a client does.
            (PeerClass::Person, PrincipalKind::Person) => {}
            (PeerClass::BelowCodex { .. }, PrincipalKind::Model) => {
                self.principal = Principal::model(&format!("codex/{name}"));
                self.model = Some(name.to_owned());
            }
            (PeerClass::BelowKeeper { .. }, PrincipalKind::Model) => {
                self.principal = Principal::model(&format!("loop/{name}"));
                self.model = Some(name.to_owned());
            }
            _ => {}
        }
        self
    }

    /// Who it is.
    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    /// What its process is.
    pub fn class(&self) -> &PeerClass {
        &self.class
    }

    /// How that was established.
    pub fn evidence(&self) -> &PeerEvidence {
        &self.evidence
    }

    /// The row of the token that it showed.
    pub fn grant(&self) -> Option<&TokenGrant> {
        self.grant.as_deref()
    }

    /// Did it connect over the network?
    pub fn is_remote(&self) -> bool {
        matches!(self.class, PeerClass::Remote { .. })
    }

    /// Where it is, for the record of an answer.
    pub fn place(&self) -> String {
        if self.is_remote() { self.class.to_string() } else { self.evidence.to_string() }
    }

    /// Does it say that it is a model, as `talaria mcp` does?
    pub fn presents_as_model(&self) -> bool {
        self.model.is_some()
    }

    /// Its own name as a model; else that of its principal.
    pub fn claimed_name(&self) -> &str {
        self.model.as_deref().unwrap_or_else(|| self.principal.name())
    }

    /// Text about how it was established.
    pub fn established(&self) -> String {
        match self.class {
            PeerClass::Person => self.evidence.to_string(),
            PeerClass::Remote { .. } => self.class.to_string(),
            _ => format!("{}; {}", self.evidence, self.class),
        }
    }

    /// Why it has no rights, and the next step for a person who is mistaken for a model. `None` for a caller with rights.
    pub fn exclusion(&self) -> Option<(String, String)> {
        let process = self.evidence.pid.map_or("this process".to_owned(), |pid| format!("process {pid}"));
        match &self.class {
            PeerClass::BelowCodex { .. } | PeerClass::BelowKeeper { .. } if self.presents_as_model() => None,
            PeerClass::BelowCodex { .. } | PeerClass::BelowKeeper { .. } => Some((
                format!("{process} acts for a model: {}", self.class),
                "a model uses `talaria mcp`; a person runs the command in a terminal of their own".to_owned(),
            )),
            PeerClass::Sandboxed { cgroup, .. } => {
                let outside = "run the command outside, in a terminal of your own";
                let hint = match cgroup {
                    _ if self.class.codex().is_some() => outside.to_owned(),
                    Some(cgroup) => format!(
                        "if this is a container or service of yours, admit it with access.environments = [{cgroup:?}] in \
                         config.toml; or {outside}"
                    ),
                    None => format!("{outside}; or stop the engine outside and start it from here"),
                };
                Some((format!("{process} counts as a model's: {}", self.class), hint))
            }
            PeerClass::Unknown { .. } => Some((
                format!("{process} counts as a model's: {}", self.class),
                "run the command in a terminal of your own, where the engine can see its process".to_owned(),
            )),
            PeerClass::Remote { .. } => None,
            PeerClass::Person => match self.principal.kind() {
                PrincipalKind::Token | PrincipalKind::Chat => Some((
                    format!("{} has no rights here", self.principal),
                    "run the command as yourself".to_owned(),
                )),
                PrincipalKind::Person | PrincipalKind::Model => None,
            },
        }
    }
}

impl PeerEvidence {
    /// Description of a process.
    pub fn of(facts: &ProcessFacts, terminal: Option<String>, program: Option<String>) -> Self {
        Self { pid: Some(facts.pid), terminal, program }
    }
}
