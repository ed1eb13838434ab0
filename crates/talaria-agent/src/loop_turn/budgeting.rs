//! A request that a budget does not allow: it waits for a person, is sent after all, or ends the turn.

use talaria_core::event::Event;
use talaria_core::next_step::NextStep;
use talaria_core::outcome::FailureCode;
use talaria_core::request::Who;

use super::attempt_run::RunEnd;
use super::{LoopMoment, LoopOutput, LoopPhase, LoopTurn};

impl LoopTurn {
    /// A person allowed more: the request is sent, and its time begins.
    pub(super) fn on_granted(&mut self, moment: LoopMoment) {
        self.is_withheld = false;
        if let LoopPhase::Compacting(compacting) = &mut self.phase {
            compacting.restart_time(moment.now);
        }
    }

    /// The planned request is never sent. Another model may be asked; a summary has no substitute, because the request that it
    /// is for costs more.
    pub(super) fn on_forgone(
        &mut self,
        moment: LoopMoment,
        message: String,
        next: NextStep,
        asks_another: bool,
    ) {
        self.is_withheld = false;
        let end = match &mut self.phase {
            LoopPhase::Asking(run) => run.cancel(Who::Talaria, &mut self.outputs),
            LoopPhase::Compacting(_) => {
                let LoopPhase::Compacting(compacting) = std::mem::replace(&mut self.phase, LoopPhase::Idle)
                else {
                    return;
                };
                let (end, item) = compacting.give_up(&mut self.outputs);
                self.outputs.push_back(LoopOutput::Emit(Event::ItemAbandoned { item, why: None }));
                end
            }
            _ => return,
        };
        if let Some(RunEnd { mut ended, .. }) = end {
            let prices = self.setup.profile.model(&self.setup.head.model).prices;
            self.book(&prices, &mut ended);
            self.outputs.push_back(LoopOutput::End(ended));
        }
        if asks_another && self.ladder.has_next() {
            return self.fall_back(moment, message, None);
        }
        self.fail(FailureCode::UsageLimit, message, next, None);
    }
}
