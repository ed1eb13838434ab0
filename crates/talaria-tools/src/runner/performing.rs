//! The effect of a prepared call. Called once for each record, after that was stored.
//!
//! Cancelling a call that waits for a command leaves the command running; `stop` ends it with its output so far. A change
//! of a file is not cancelled half-way: it runs in a thread of its own to its end.

use std::time::Duration;

use talaria_core::tool::ToolOutcome;

use super::output::{keep_whole, show};
use super::plan::PlannedAction;
use super::{EffectRecord, LoopToolRunner, PreparedCall, ToolReport};
use crate::call::{CommandWait, InputEnd};
use crate::files::{FileChangeError, SearchLimits, read_file, search_files, view_image};
use crate::keeper::{CommandId, CommandState, InputDelivery, KeptCommand};

/// How long a command may take to accept input.
const INPUT: Duration = Duration::from_secs(5);
/// How long a background command is watched, so that one that fails at once is seen to.
const FIRST_LOOK: Duration = Duration::from_millis(300);

impl LoopToolRunner {
    /// Performs a prepared call.
    pub async fn perform(&self, call: PreparedCall) -> ToolReport {
        let PreparedCall { plan, record } = call;
        match (plan.action, record) {
            (PlannedAction::Run { wait, environment, .. }, EffectRecord::Command { process }) => {
                match self.commands().start(&process, &environment) {
                    Ok(_) => self.collect(&process, wait).await,
                    Err(error) => failed(&format!("the command cannot be started: {error}")),
                }
            }
            (PlannedAction::Poll { process, from, wait }, _) => self.poll(&process, from, wait).await,
            (PlannedAction::Input { process, text, end }, EffectRecord::Input { ticket, .. }) => {
                self.send(&process, &ticket, &text, end).await
            }
            (PlannedAction::Kill { process }, _) => self.stop(&process).await,
            (PlannedAction::Read { path, range }, _) => {
                blocking(move || match read_file(&path, range) {
                    Ok((text, digest)) => ToolReport {
                        seen: digest.map(|digest| (path.real, digest)),
                        ..ToolOutcome::done(&text).into()
                    },
                    Err(refusal) => failed(&refusal.to_string()),
                })
                .await
            }
            (PlannedAction::Search { wish, bounds }, _) => {
                blocking(move || match search_files(&wish, &bounds, SearchLimits::default()) {
                    Ok(text) => ToolOutcome::done(&text).into(),
                    Err(refusal) => failed(&refusal.to_string()),
                })
                .await
            }
            (PlannedAction::View { path }, _) => {
                blocking(move || match view_image(&path) {
                    Ok(image) => {
                        let (shown, kind) = (path.named.display(), image.media_type);
                        let text = format!("{shown}: {kind}, {} x {} pixels, complete.", image.width, image.height);
                        ToolReport { image: Some(image), ..ToolOutcome::done(&text).into() }
                    }
                    Err(refusal) => failed(&refusal.to_string()),
                })
                .await
            }
            (PlannedAction::Change { planned, after, shown }, _) => {
                blocking(move || match planned.apply(&after) {
                    Ok(()) => {
                        let text = format!(
                            "{}: changed, complete. Digest {}.\n{}",
                            shown.path,
                            planned.after.shown(),
                            shown.diff
                        );
                        let seen = Some((planned.path, planned.after));
                        ToolReport { change: Some(shown), seen, ..ToolOutcome::of("change", Ok(text)).into() }
                    }
                    Err(FileChangeError::Changed(why)) => failed(&format!(
                        "{why} was changed by another program since it was read; read it again. Nothing was done."
                    )),
                    Err(error) => failed(&format!("{error}. The file is as it was.")),
                })
                .await
            }
            // A record that belongs to another plan: nothing is done that was not recorded.
            (PlannedAction::Run { .. } | PlannedAction::Input { .. }, _) => failed("the call was not recorded"),
        }
    }

    /// Waits for a command that runs, also one that an earlier engine started, and returns its output from the beginning.
    pub async fn collect(&self, process: &CommandId, wait: CommandWait) -> ToolReport {
        let (limit, waited) = match wait {
            CommandWait::Background => (FIRST_LOOK, None),
            CommandWait::Foreground(limit) => (limit, Some(limit)),
        };
        self.look(process, 0, limit, waited).await
    }

    async fn poll(&self, process: &CommandId, from: Option<u64>, wait: Duration) -> ToolReport {
        let known = from.or_else(|| self.position(process)).unwrap_or(0);
        self.look(process, known, wait, Some(wait).filter(|wait| !wait.is_zero())).await
    }

    async fn look(
        &self,
        process: &CommandId,
        from: u64,
        limit: Duration,
        waited: Option<Duration>,
    ) -> ToolReport {
        let looked = async {
            let command = self.commands().find(process)?;
            let mut state = command.wait(limit).await?;
            if state == CommandState::Lost {
                // Without its keeper nothing collects what it prints, or would end it.
                state = command.stop().await?;
            }
            self.report(&command, &state, from, waited)
        };
        looked
            .await
            .unwrap_or_else(|error| failed(&format!("process {} cannot be read: {error}", process.as_str())))
    }

    fn report(
        &self,
        command: &KeptCommand,
        state: &CommandState,
        from: u64,
        waited: Option<Duration>,
    ) -> std::io::Result<ToolReport> {
        let shown = if *state == CommandState::Missing { None } else { Some(show(command, from)?) };
        let Some(mut shown) = shown else {
            return Ok(failed(&format!("there is no process {}", command.id().as_str())));
        };
        self.set_position(command.id(), shown.to);
        if let (CommandState::Ended(_), true, Some(directory)) = (state, shown.is_cut, &self.long_texts) {
            // Without the file the model can still poll each part.
            shown.whole = keep_whole(command, directory).ok();
        }
        let is_running = matches!(state, CommandState::Running | CommandState::Starting);
        let running = is_running.then(|| command.id().clone());
        Ok(ToolReport { running, ..shown.outcome(command, state, waited).into() })
    }

    async fn send(&self, process: &CommandId, ticket: &str, text: &str, end: InputEnd) -> ToolReport {
        let sent = async {
            let command = self.commands().find(process)?;
            let mut delivery = InputDelivery::Delivered;
            if !text.is_empty() {
                delivery = command.write(ticket, text, INPUT).await?;
            }
            if end == InputEnd::Ends && delivery == InputDelivery::Delivered {
                delivery = command.end_input(&format!("{ticket}-end"), INPUT).await?;
            }
            std::io::Result::Ok(delivery)
        };
        match sent.await {
            Ok(delivery) => delivered(process, delivery).into(),
            Err(error) => ToolOutcome::unknown(&format!("the input could not be sent: {error}")).into(),
        }
    }

    /// Ends a command with everything below it and returns its output so far.
    pub async fn stop(&self, process: &CommandId) -> ToolReport {
        let stopped = async {
            let command = self.commands().find(process)?;
            let state = command.stop().await?;
            self.report(&command, &state, self.position(process).unwrap_or(0), None)
        };
        stopped.await.unwrap_or_else(|error| {
            let id = process.as_str();
            ToolOutcome::unknown(&format!("process {id} could not be ended: {error}")).into()
        })
    }

    fn position(&self, process: &CommandId) -> Option<u64> {
        self.positions.lock().ok()?.get(process).copied()
    }

    fn set_position(&self, process: &CommandId, position: u64) {
        if let Ok(mut positions) = self.positions.lock() {
            positions.insert(process.clone(), position);
        }
    }
}

/// The result of input for a command.
pub(super) fn delivered(process: &CommandId, delivery: InputDelivery) -> ToolOutcome {
    let id = process.as_str();
    match delivery {
        InputDelivery::Delivered => ToolOutcome::done(&format!("Process {id} has the input, complete.")),
        InputDelivery::Waiting => ToolOutcome::done(&format!(
            "Process {id} has not read the input yet, incomplete: it gets it when it reads. Do not send it again."
        )),
        InputDelivery::Refused => ToolOutcome::failed(&format!(
            "process {id} accepts no input: it was not started in the background, or closed it"
        )),
        InputDelivery::Ended => ToolOutcome::failed(&format!("process {id} ended before it had the input")),
        InputDelivery::NotSent => ToolOutcome::failed(&format!("the input was not sent to process {id}")),
        InputDelivery::Unknown => {
            ToolOutcome::unknown(&format!("whether process {id} got the input is not known"))
        }
    }
}

async fn blocking(work: impl FnOnce() -> ToolReport + Send + 'static) -> ToolReport {
    match tokio::task::spawn_blocking(work).await {
        Ok(report) => report,
        Err(_) => ToolOutcome::unknown("the tool stopped in the middle").into(),
    }
}

pub(super) fn failed(why: &str) -> ToolReport {
    ToolOutcome::failed(why).into()
}
