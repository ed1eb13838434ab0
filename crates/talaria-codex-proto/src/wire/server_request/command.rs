//! The request about a command, which is also the one about a network address and about input for a running command.
//!
//! What "always" would mean is Codex's own proposal; nothing here makes one up.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use talaria_core::ids::{ItemId, ThreadId, TurnId};

/// May a command run?
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommandApproval {
    pub thread_id: ThreadId,
    pub turn_id: TurnId,
    pub item_id: ItemId,
    /// Distinguishes several questions about one item.
    #[serde(default)]
    pub approval_id: Option<String>,
    /// The command line; missing where only a network address is asked about.
    #[serde(default)]
    pub command: Option<String>,
    /// Codex's analysis of the command line.
    #[serde(default)]
    pub command_actions: Option<Vec<CommandAction>>,
    #[serde(default)]
    pub cwd: Option<String>,
    #[serde(default)]
    pub reason: Option<String>,
    /// The operation: `command` (0.130 omits it), `writeStdin`, or something newer.
    #[serde(default)]
    pub kind: Option<String>,
    /// A wider sandbox that accepting would grant to this command.
    #[serde(default)]
    pub additional_permissions: Option<Value>,
    /// A network address that accepting would open.
    #[serde(default)]
    pub network_approval_context: Option<NetworkContext>,
    /// The beginning of commands that would no longer be asked about.
    #[serde(default)]
    pub proposed_execpolicy_amendment: Option<Vec<String>>,
    /// Rules for the address.
    #[serde(default)]
    pub proposed_network_policy_amendments: Option<Vec<NetworkAmendment>>,
    /// The answers that Codex would list; `decline` and `acceptForSession` work although it does not list them.
    #[serde(default)]
    pub available_decisions: Option<Vec<Value>>,
}

impl CommandApproval {
    /// Is it input for a command that runs already?
    pub fn is_stdin(&self) -> bool {
        self.kind.as_deref() == Some("writeStdin")
    }

    /// Is an acceptance remembered until the conversation ends? For input it is not (0.166 takes the word and asks again).
    pub fn can_last(&self) -> bool {
        !self.is_stdin() || self.listed().any(|decision| decision == "acceptForSession")
    }

    /// The rule that "always" means, if Codex proposes one. For a command with wider permissions it names a rule and does
    /// not list it: then it is no proposal. A rule without a word would allow everything.
    pub fn exec_amendment(&self) -> Option<Vec<String>> {
        let proposed = match &self.available_decisions {
            Some(_) => self.listed_rule("acceptWithExecpolicyAmendment", "execpolicy_amendment", |_| true),
            None => self.proposed_execpolicy_amendment.clone(),
        };
        proposed.filter(|words| !words.is_empty())
    }

    /// The rule that "always" means for a network address.
    pub fn network_amendment(&self) -> Option<NetworkAmendment> {
        let allows = |rule: &NetworkAmendment| rule.action == "allow" && !rule.host.is_empty();
        match &self.available_decisions {
            Some(_) => self.listed_rule("applyNetworkPolicyAmendment", "network_policy_amendment", allows),
            None => {
                self.proposed_network_policy_amendments.iter().flatten().find(|rule| allows(rule)).cloned()
            }
        }
    }

    fn listed(&self) -> impl Iterator<Item = &Value> {
        self.available_decisions.iter().flatten()
    }

    fn listed_rule<T: DeserializeOwned>(
        &self,
        decision: &str,
        field: &str,
        fits: impl Fn(&T) -> bool,
    ) -> Option<T> {
        let rules = self.listed().filter_map(|listed| listed.get(decision)?.get(field));
        rules.filter_map(|rule| serde_json::from_value(rule.clone()).ok()).find(fits)
    }
}

/// An address that a command connects to.
#[derive(Clone, Debug, Deserialize)]
pub struct NetworkContext {
    pub host: String,
    /// How: `http`, `https`, `socks5Tcp`, `socks5Udp`, or something newer.
    #[serde(default)]
    pub protocol: String,
}

/// A rule about a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkAmendment {
    pub host: String,
    /// `allow` or `deny`.
    pub action: String,
}

/// Codex's best-effort analysis of a command line.
#[derive(Clone, Debug, Deserialize)]
pub struct CommandAction {
    /// `read`, `listFiles`, `search`, `unknown`, or something newer.
    #[serde(rename = "type")]
    pub kind: String,
    /// A file or directory.
    #[serde(default)]
    pub path: Option<String>,
    /// The search pattern.
    #[serde(default)]
    pub query: Option<String>,
}
