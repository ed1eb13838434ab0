//! Which calls of one answer may run together (TEX-03). Pure.
//!
//! Calls that only read run together; calls that write run together if their files are apart; a command may touch
//! anything, so it runs alone. The order that the model wrote decides between calls that touch the same thing.

use std::path::{Path, PathBuf};

use crate::keeper::CommandId;

/// What a call touches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallTouches {
    /// Nothing that another call could change.
    Nothing,
    /// It reads this file, or everything below this directory.
    Reads(PathBuf),
    /// It changes this file.
    Writes(PathBuf),
    /// It reads what this command printed.
    ReadsProcess(CommandId),
    /// It sends something to this command, or ends it.
    ChangesProcess(CommandId),
    /// Anything.
    Everything,
}

/// Divides calls into rounds: the calls of a round may run together, and a round begins when the one before has ended.
///
/// Every call is in one round, and a call that touches what an earlier one does is in a later round than that.
pub fn plan_rounds(calls: &[CallTouches]) -> Vec<Vec<usize>> {
    let mut rounds: Vec<Vec<usize>> = Vec::new();
    let mut round_of: Vec<usize> = Vec::new();
    for (index, call) in calls.iter().enumerate() {
        let after = calls[..index].iter().zip(&round_of).filter(|(earlier, _)| conflicts(earlier, call));
        let round = after.map(|(_, round)| round + 1).max().unwrap_or(0);
        if round == rounds.len() {
            rounds.push(Vec::new());
        }
        rounds[round].push(index);
        round_of.push(round);
    }
    rounds
}

fn conflicts(one: &CallTouches, other: &CallTouches) -> bool {
    use CallTouches::{ChangesProcess, Everything, Nothing, Reads, ReadsProcess, Writes};
    match (one, other) {
        (Nothing, _) | (_, Nothing) => false,
        (Everything, _) | (_, Everything) => true,
        (Writes(a), Writes(b)) | (Writes(a), Reads(b)) | (Reads(b), Writes(a)) => overlaps(a, b),
        (ChangesProcess(a), ChangesProcess(b) | ReadsProcess(b)) | (ReadsProcess(b), ChangesProcess(a)) => {
            a == b
        }
        _ => false,
    }
}

/// Two paths overlap if one is the other or lies below it. They are real paths.
fn overlaps(one: &Path, other: &Path) -> bool {
    one.starts_with(other) || other.starts_with(one)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn reads(path: &str) -> CallTouches {
        CallTouches::Reads(path.into())
    }

    fn writes(path: &str) -> CallTouches {
        CallTouches::Writes(path.into())
    }

    #[test]
    fn readers_run_together_writers_apart_and_commands_alone() {
        assert_eq!(plan_rounds(&[reads("/a"), reads("/a"), reads("/b")]), [vec![0, 1, 2]]);
        assert_eq!(plan_rounds(&[writes("/a"), writes("/b"), writes("/a")]), [vec![0, 1], vec![2]]);
        assert_eq!(plan_rounds(&[reads("/src"), writes("/src/x"), reads("/other")]), [vec![0, 2], vec![1]]);
        let all = CallTouches::Everything;
        assert_eq!(
            plan_rounds(&[reads("/a"), all.clone(), reads("/a"), all]),
            [vec![0], vec![1], vec![2], vec![3]]
        );
        assert_eq!(plan_rounds(&[writes("/ab"), writes("/a")]), [vec![0, 1]], "a name is not a directory");
    }

    #[test]
    fn calls_for_different_processes_run_together() {
        let id = |digit: char| digit.to_string().repeat(16).parse::<CommandId>().unwrap();
        let calls = [
            CallTouches::ChangesProcess(id('1')),
            CallTouches::ReadsProcess(id('2')),
            CallTouches::ReadsProcess(id('1')),
            CallTouches::Nothing,
        ];
        assert_eq!(plan_rounds(&calls), [vec![0, 1, 3], vec![2]]);
    }

    fn touches() -> impl Strategy<Value = CallTouches> {
        let path = prop_oneof![Just("/a"), Just("/a/b"), Just("/a/b/c"), Just("/d")];
        prop_oneof![
            Just(CallTouches::Nothing),
            Just(CallTouches::Everything),
            path.clone().prop_map(reads),
            path.prop_map(writes),
        ]
    }

    proptest! {
        #[test]
        fn every_call_runs_once_and_never_beside_or_before_what_it_depends_on(
            calls in proptest::collection::vec(touches(), 0..12),
        ) {
            let rounds = plan_rounds(&calls);
            let order: Vec<(usize, usize)> =
                rounds.iter().enumerate().flat_map(|(at, round)| round.iter().map(move |call| (*call, at))).collect();
            prop_assert_eq!(order.len(), calls.len());
            let round_of = |call: usize| order.iter().find(|(index, _)| *index == call).unwrap().1;
            for later in 0..calls.len() {
                for earlier in 0..later {
                    if conflicts(&calls[earlier], &calls[later]) {
                        prop_assert!(round_of(earlier) < round_of(later), "{} and {}", earlier, later);
                    }
                }
            }
            prop_assert!(rounds.iter().all(|round| !round.is_empty()));
        }
    }
}
