//! Whether a call of a tool runs, when a runtime offers it: the pure decision of the call ledger.
//!
//! A call has one row, named by thread, turn and call id. A runtime may offer it again: after an engine restart, or to a second
//! connection. A call that changes something runs at most once; where it is not known whether it did, that is the answer. No
//! store, no clock, no runtime here. Called by the engine's ledger.

use super::ToolEffect;

/// How far a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolCallState {
    /// A runtime asked for it; nothing ran.
    Offered,
    /// It runs, or ran when an engine died.
    Running,
    /// It worked.
    Done,
    /// It did not work.
    Failed,
    /// Whether it took effect is not known.
    Unknown,
}

impl ToolCallState {
    /// Every state.
    pub const ALL: [Self; 5] = [Self::Offered, Self::Running, Self::Done, Self::Failed, Self::Unknown];

    /// The stored word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Offered => "offered",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
        }
    }
}

/// Recorded facts about an incoming call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfferedCall {
    /// How far it is, by its row.
    pub state: ToolCallState,
    /// Its effect.
    pub effect: ToolEffect,
    /// The tool and its arguments are those of the first offer.
    pub is_same: bool,
    /// This engine runs it at this moment.
    pub is_running_here: bool,
    /// Its result is stored.
    pub has_result: bool,
}

/// What happens with an offered call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallDecision {
    /// It runs, for the first time.
    Run,
    /// It runs again: it only reads.
    RunAgain,
    /// The answer is that of the run in progress.
    Wait,
    /// The stored result is sent again.
    Resend,
    /// The answer names its outcome; its result was delivered before and is not stored.
    AnswerEnded,
    /// The answer says that its effect is not known.
    AnswerUnknown,
    /// It is another call under the same id. Nothing runs.
    Refuse,
}

/// Decides what happens with an offered call.
pub fn decide(call: OfferedCall) -> CallDecision {
    let again = |otherwise| match call.effect {
        ToolEffect::Reads => CallDecision::RunAgain,
        ToolEffect::Changes => otherwise,
    };
    match call.state {
        _ if !call.is_same => CallDecision::Refuse,
        _ if call.is_running_here => CallDecision::Wait,
        ToolCallState::Offered => CallDecision::Run,
        ToolCallState::Running | ToolCallState::Unknown => again(CallDecision::AnswerUnknown),
        ToolCallState::Done | ToolCallState::Failed if call.has_result => CallDecision::Resend,
        ToolCallState::Done | ToolCallState::Failed => again(CallDecision::AnswerEnded),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every combination there is.
    fn all() -> Vec<OfferedCall> {
        let mut calls = Vec::new();
        for state in ToolCallState::ALL {
            for effect in [ToolEffect::Reads, ToolEffect::Changes] {
                for bits in 0..8 {
                    let [is_same, is_running_here, has_result] = [1, 2, 4].map(|bit| bits & bit != 0);
                    calls.push(OfferedCall { state, effect, is_same, is_running_here, has_result });
                }
            }
        }
        calls
    }

    #[test]
    fn other_arguments_under_the_same_id_never_run_nor_get_a_result() {
        for call in all().into_iter().filter(|call| !call.is_same) {
            assert_eq!(decide(call), CallDecision::Refuse, "{call:?}");
        }
    }

    #[test]
    fn a_call_that_changes_something_runs_once_from_offered_and_never_again() {
        let is_run = |call: &OfferedCall| matches!(decide(*call), CallDecision::Run | CallDecision::RunAgain);
        for call in all().into_iter().filter(|call| call.effect == ToolEffect::Changes) {
            let may_run = call.is_same && !call.is_running_here && call.state == ToolCallState::Offered;
            assert_eq!(is_run(&call), may_run, "{call:?}");
        }
    }

    #[test]
    fn only_what_is_known_to_have_ended_is_answered_as_ended() {
        for call in all() {
            let has_ended = matches!(call.state, ToolCallState::Done | ToolCallState::Failed);
            match decide(call) {
                CallDecision::Resend => assert!(has_ended && call.has_result, "{call:?}"),
                CallDecision::AnswerEnded => assert!(has_ended && !call.has_result, "{call:?}"),
                CallDecision::AnswerUnknown => {
                    assert!(!has_ended && call.state != ToolCallState::Offered, "{call:?}");
                }
                CallDecision::Wait => assert!(call.is_running_here, "{call:?}"),
                CallDecision::Run => assert_eq!(call.state, ToolCallState::Offered, "{call:?}"),
                CallDecision::RunAgain => assert_eq!(call.effect, ToolEffect::Reads, "{call:?}"),
                CallDecision::Refuse => assert!(!call.is_same, "{call:?}"),
            }
        }
    }

    #[test]
    fn a_call_that_only_reads_is_never_answered_as_unknown() {
        for call in all().into_iter().filter(|call| call.effect == ToolEffect::Reads && call.is_same) {
            assert_ne!(decide(call), CallDecision::AnswerUnknown, "{call:?}");
        }
    }
}
