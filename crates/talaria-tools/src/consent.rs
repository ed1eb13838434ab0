//! Whether a call needs a person: by the approval policy and by where it happens. Pure.
//!
//! The same as on Codex: `untrusted` asks before every command and change, `on-request` before what leaves the sandbox,
//! `never` asks no one, so that what leaves is refused. The gate comes first in any case: its floor and its deny rules
//! also hold for calls that need no person, and an allow rule may answer for one.

use talaria_core::policy::ApprovalPolicy;
use talaria_guard::place::Place;

use crate::files::FilePermission;

/// Whether a call needs a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallConsent {
    /// No person is needed.
    Free,
    /// A person decides, for this reason.
    Ask(String),
    /// It does not happen, for this reason.
    Refuse(String),
}

/// Does running a command at this place need a person? `reason` says why it leaves the sandbox, where it does.
pub fn consent_to_command(policy: ApprovalPolicy, place: Place, reason: &str) -> CallConsent {
    match (policy, place) {
        (ApprovalPolicy::Never, Place::Outside | Place::Undecidable) => CallConsent::Refuse(format!(
            "{reason}, and no one is asked in this conversation (approval policy never)"
        )),
        (_, Place::Outside | Place::Undecidable) => CallConsent::Ask(reason.to_owned()),
        (ApprovalPolicy::Untrusted, Place::Inside) => {
            CallConsent::Ask("every command is asked about (approval policy untrusted)".to_owned())
        }
        (ApprovalPolicy::OnRequest | ApprovalPolicy::Never | ApprovalPolicy::OnFailure, Place::Inside) => {
            CallConsent::Free
        }
    }
}

/// Does reading a file need a person?
pub fn consent_to_read(policy: ApprovalPolicy, permission: FilePermission) -> CallConsent {
    match permission {
        FilePermission::Free => CallConsent::Free,
        FilePermission::Refuse(why) => CallConsent::Refuse(why),
        FilePermission::Ask(why) if policy == ApprovalPolicy::Never => CallConsent::Refuse(format!(
            "{why}, and no one is asked in this conversation (approval policy never)"
        )),
        FilePermission::Ask(why) => CallConsent::Ask(why),
    }
}

/// Does changing a file need a person?
pub fn consent_to_change(policy: ApprovalPolicy, permission: FilePermission) -> CallConsent {
    match permission {
        FilePermission::Free if policy == ApprovalPolicy::Untrusted => {
            CallConsent::Ask("every change is asked about (approval policy untrusted)".to_owned())
        }
        permission => consent_to_read(policy, permission),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leaves_the_sandbox_is_never_free() {
        for policy in ApprovalPolicy::ALL {
            for place in [Place::Outside, Place::Undecidable] {
                let consent = consent_to_command(policy, place, "it says so");
                assert_ne!(consent, CallConsent::Free, "{policy:?}");
                assert_eq!(matches!(consent, CallConsent::Refuse(_)), policy == ApprovalPolicy::Never);
            }
            let asked = consent_to_change(policy, FilePermission::Ask("outside".to_owned()));
            assert_eq!(matches!(asked, CallConsent::Refuse(_)), policy == ApprovalPolicy::Never);
            let refused = FilePermission::Refuse("no".to_owned());
            assert_eq!(consent_to_read(policy, refused), CallConsent::Refuse("no".to_owned()));
        }
    }

    #[test]
    fn inside_only_untrusted_asks() {
        for policy in ApprovalPolicy::ALL {
            let asks = policy == ApprovalPolicy::Untrusted;
            let command = consent_to_command(policy, Place::Inside, "");
            assert_eq!(matches!(command, CallConsent::Ask(_)), asks, "{policy:?}");
            assert_eq!(matches!(consent_to_change(policy, FilePermission::Free), CallConsent::Ask(_)), asks);
            assert_eq!(consent_to_read(policy, FilePermission::Free), CallConsent::Free);
        }
    }
}
