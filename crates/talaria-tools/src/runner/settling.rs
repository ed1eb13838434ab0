//! Outcome of a call whose engine died: decided from its record, the files and the processes. Nothing is repeated.

use talaria_core::tool::ToolOutcome;

use super::performing::{delivered, failed};
use super::{EffectRecord, LoopToolRunner, ToolReport};
use crate::call::CommandWait;
use crate::files::ChangeFate;
use crate::keeper::{CommandId, CommandState, InputDelivery};

/// Outcome of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum SettledCall {
    /// It only reads: it may be performed again.
    MayRepeat,
    /// Its command still runs: `collect` waits for it.
    Running(CommandId),
    /// It ended, did not begin, or it is not known: the result says which.
    Answered(Box<ToolReport>),
}

impl LoopToolRunner {
    /// Says what became of a recorded call that has no result. Called by the engine that finds it, before anything else is
    /// done with the same files or commands.
    pub async fn settle(&self, record: &EffectRecord) -> SettledCall {
        match record {
            EffectRecord::Reads => SettledCall::MayRepeat,
            EffectRecord::Command { process } => self.settle_command(process).await,
            EffectRecord::Input { process, ticket } => answered(self.settle_input(process, ticket)),
            // Ending a command again changes nothing more.
            EffectRecord::Kill { process } => answered(self.stop(process).await),
            EffectRecord::Change(planned) => {
                let path = planned.path.display();
                answered(match planned.fate() {
                    ChangeFate::Landed => {
                        let text = format!("{path}: changed, complete. Digest {}.", planned.after.shown());
                        let seen = Some((planned.path.clone(), planned.after.clone()));
                        ToolReport { seen, ..ToolOutcome::done(&text).into() }
                    }
                    ChangeFate::NotLanded => failed(&format!(
                        "{path} was not changed: Talaria was stopped before. Nothing was done."
                    )),
                    ChangeFate::Unknown => ToolOutcome::unknown(&format!(
                        "{path} has neither the old nor the new content: another program changed it. Read it."
                    ))
                    .into(),
                })
            }
        }
    }

    async fn settle_command(&self, process: &CommandId) -> SettledCall {
        let state = self.commands().find(process).and_then(|command| {
            let state = command.state()?;
            // A keeper that comes late must not run what is answered as not started.
            Ok(if state == CommandState::NotStarted && !command.abandon()? {
                command.state()?
            } else {
                state
            })
        });
        match state {
            Ok(CommandState::Running | CommandState::Starting) => SettledCall::Running(process.clone()),
            Ok(CommandState::NotStarted) => {
                answered(failed("the command was not started: Talaria was stopped before. Nothing was done."))
            }
            Ok(CommandState::Missing | CommandState::Copied) => answered(
                ToolOutcome::unknown("the files of the command are gone, so what it did is not known").into(),
            ),
            Ok(CommandState::Ended(_)) => answered(self.collect(process, CommandWait::Background).await),
            Ok(CommandState::Lost) => answered(self.stop(process).await),
            Err(error) => {
                answered(ToolOutcome::unknown(&format!("the command cannot be looked at: {error}")).into())
            }
        }
    }

    fn settle_input(&self, process: &CommandId, ticket: &str) -> ToolReport {
        let found = self.commands().find(process).and_then(|command| {
            let [text, end] =
                [ticket.to_owned(), format!("{ticket}-end")].map(|ticket| command.delivery(&ticket));
            // Input without a text has only its end.
            Ok(match (text?, end?) {
                (InputDelivery::NotSent, end) => end,
                (text, _) => text,
            })
        });
        match found {
            Ok(delivery) => delivered(process, delivery).into(),
            Err(error) => ToolOutcome::unknown(&format!("the input cannot be looked at: {error}")).into(),
        }
    }
}

fn answered(report: ToolReport) -> SettledCall {
    SettledCall::Answered(Box::new(report))
}
