//! Executes the outputs of the turn machine: calls, answers, reads, the end. No output is executed before the events that
//! led to it are stored.

use talaria_codex_proto::settle::{Deed, Settlement};
use talaria_codex_proto::turn::{Input, Output};
use talaria_codex_proto::wire::call::{ContextEntry, TurnStart, UserInput};
use talaria_core::event::{Event, Usage};
use talaria_core::event_redactor;
use talaria_core::outcome::{Outcome, Report};
use tokio::time::Instant;

use super::{Running, STEER_GRACE};
use crate::conversation::{NotKept, Reading, Watcher, When, errands};

/// The source of the context of a turn, as the model reads it.
const HOOK: &str = "talaria_turn_start";

impl<W: Watcher> Running<'_, W> {
    /// Executes outputs until there are none or the turn is over.
    pub(super) async fn carry_out(&mut self) -> Option<Report> {
        while let Some(output) = self.turn.poll() {
            if let Output::CallTool { call, .. } = &output {
                let confinement = self.turn.bounds().tool_confinement();
                self.watcher.offered(&call.invocation(&self.session.started.thread, confinement));
            }
            // External effects follow the storage of the events that led to them.
            if !matches!(output, Output::Emit(_) | Output::Heard(_) | Output::Record(_))
                && let Err(not_kept) = self.keep().await
            {
                return Some(self.give_up(&not_kept));
            }
            let host = self.session.current.get();
            let thread = self.session.started.thread.clone();
            match output {
                Output::Emit(event) => {
                    if matches!(event, Event::Outcome(_)) {
                        self.settle_steering().await;
                        self.return_unread();
                    }
                    self.tell(at_provider(event, &self.session.started.provider));
                }
                Output::Start if self.prompt.deed == Deed::Compaction => {
                    self.errands.compact(host, thread, self.watcher.permit());
                }
                Output::Start => {
                    let context = self.prompt.context.take();
                    let entry = |text| (HOOK, ContextEntry::untrusted(HOOK, text));
                    let start = TurnStart {
                        thread_id: thread,
                        input: UserInput::of(std::mem::take(&mut self.prompt.input)),
                        model: self.wanted.model.clone(),
                        effort: self.session.options.effort.clone(),
                        client_user_message_id: self.recorded.client_id.clone(),
                        additional_context: context.map(entry).into_iter().collect(),
                    };
                    self.errands.start_turn(host, start, self.watcher.permit());
                }
                Output::Interrupt { thread, turn } => self.errands.interrupt(host, thread, turn),
                Output::Read => {
                    self.recorded.turn = self.turn.id().cloned();
                    let recorded = self.recorded.clone();
                    if let Some(Reading { history, vantage }) = self.reading.take() {
                        let settlement = match history {
                            Ok(history) => recorded.settle_with_file(history, vantage).await,
                            Err(why) => Settlement::Unknown { why },
                        };
                        self.handle(Input::Settled(settlement));
                    } else if host.is_alive() {
                        self.errands.read(host, recorded, self.vantage);
                    } else {
                        self.errands.revive_and_read(self.ground(), recorded);
                    }
                }
                Output::LookUpSettings => {
                    let turn = self.turn.id().cloned();
                    self.errands.look_up_settings(self.session.started.path.clone(), turn);
                }
                Output::LookUpUntold => {
                    let turn = self.turn.id().cloned();
                    self.errands.look_up_untold(self.session.started.path.clone(), turn);
                }
                Output::Escalate => self.errands.escalate(host, thread),
                Output::EndTerminals { thread, items } => self.errands.end_terminals(host, thread, items),
                Output::FindTerminals { thread, commands } => {
                    self.errands.find_terminals(host, thread, commands);
                }
                // Awaited, because the next output must follow it; but only briefly.
                Output::Steer { thread, turn, text } => {
                    let told =
                        tokio::time::timeout(STEER_GRACE, errands::tell_model(&host, thread, turn, text));
                    if let Some(message) = told.await.unwrap_or_else(|_| Some(errands::UNTOLD.to_owned())) {
                        self.tell(Event::Warning { message });
                    }
                }
                Output::Record(record) => self.watcher.record(record),
                Output::Reply { id, result } => host.respond(&id, &result),
                Output::Consult { ticket, call } => {
                    if let Some(hook) = &self.session.options.hook {
                        self.errands.consult(ticket, hook.ask(*call));
                    }
                }
                Output::CallTool { id, call } => {
                    let confinement = self.turn.bounds().tool_confinement();
                    let work = self.session.options.tools.run(call.invocation(&thread, confinement));
                    self.errands.run_tool(host, id, work);
                }
                Output::Heard(item) => self.tell(Event::ItemCompleted { item }),
                Output::Finish(report, total) => {
                    self.errands.end_calls();
                    let mut report = report.at_provider(&self.session.started.provider);
                    event_redactor::cover_report(&mut report);
                    self.session.total = total;
                    self.session.bounds = self.turn.bounds().clone();
                    if let Some(turn) = self.turn.id() {
                        self.session.last_turn = Some(turn.clone());
                    }
                    self.watcher.caught_up();
                    return Some(report);
                }
            }
        }
        None
    }

    /// Keeps what was reported so far, and says so to those who wait for it.
    pub(super) async fn keep(&mut self) -> Result<(), NotKept> {
        self.watcher.keep().await?;
        for waiting in self.waiting_for_keep.drain(..) {
            // They may have gone.
            let _ = waiting.send(When::Next);
        }
        Ok(())
    }

    /// Abandons a turn that can no longer be recorded. Another engine determines its outcome; nothing is reported.
    pub(super) fn give_up(&self, not_kept: &NotKept) -> Report {
        Report::new(Outcome::Lost { why: not_kept.to_string() }, None, Usage::default(), 0)
    }

    /// Reports what became of further input before the turn is reported as over, as far as that is known by then.
    pub(super) async fn settle_steering(&mut self) {
        let deadline = Instant::now() + STEER_GRACE;
        while let Some(done) = self.errands.steered(deadline).await {
            self.take(done);
        }
    }
}

/// Fits the hint of an outcome to the provider that answered.
fn at_provider(event: Event, provider: &str) -> Event {
    match event {
        Event::Outcome(report) => Event::Outcome(Box::new(report.at_provider(provider))),
        other => other,
    }
}
