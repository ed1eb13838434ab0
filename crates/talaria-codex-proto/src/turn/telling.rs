//! Reports of Codex: only those of this thread and this turn count, and all of them are used.

use super::{Moment, Turn};
use crate::project;
use crate::wire::notification::{Delta, Notification};
use talaria_core::event::{Event, RateLimits};
use talaria_core::ids::ItemId;

impl Turn {
    fn is_ours(&self, notification: &Notification<'_>) -> bool {
        let scope = notification.scope();
        let thread_fits = scope.thread.is_none_or(|thread| thread == self.order.thread.as_str());
        let turn_fits = match (scope.turn, &self.id) {
            (Some(theirs), Some(ours)) => theirs == ours.as_str(),
            // Before the id is known only `turn/started` of this thread may set it, and never that of an older turn.
            (Some(theirs), None) => {
                let is_old = self.order.after.as_ref().is_some_and(|old| old.as_str() == theirs);
                matches!(notification, Notification::TurnStarted(_)) && !is_old
            }
            (None, _) => true,
        };
        thread_fits && turn_fits
    }

    pub(super) fn notice(&mut self, now: Moment, notification: Notification<'static>) {
        if let Notification::RequestResolved(resolved) = &notification {
            // A sub-agent's request is closed under the sub-agent's thread id.
            return self.close_request(now, &resolved.request_id);
        }
        let scope = notification.scope();
        let is_of_a_turn = scope.turn.is_some() && !matches!(notification, Notification::TurnCompleted(_));
        if scope.thread == Some(self.order.thread.as_str()) {
            self.quiet.sign(now);
        }
        if !self.is_ours(&notification) {
            return self.overhear(now, notification);
        }
        // Anything of this turn proves that it has begun, also where its beginning was not reported.
        if is_of_a_turn
            && !self.begun
            && let Some(id) = self.id.clone()
        {
            self.begin(now, id);
        }
        match notification {
            Notification::AgentMessageDelta(d) => {
                self.piece(d, |item, delta| Event::TextDelta { item, delta });
            }
            Notification::ReasoningSummaryDelta(d) => {
                self.piece(d, |item, delta| Event::ReasoningDelta { item, delta });
            }
            Notification::CommandOutputDelta(d) | Notification::PatchOutputDelta(d) => {
                self.calls.note_streamed(&d.item_id);
                self.piece(d, |item, delta| Event::OutputDelta { item, delta });
            }
            Notification::PlanDelta(d) => self.piece(d, |item, delta| Event::PlanDelta { item, delta }),
            Notification::ItemStarted(params) => self.start_item(*params),
            Notification::ItemCompleted(params) => self.complete_item(now, *params),
            Notification::PatchUpdated(params) => self.update_patch(*params),
            Notification::TurnStarted(params) => self.begin(now, params.turn.id),
            Notification::TurnCompleted(params) => self.end(now, &params),
            Notification::PlanUpdated(p) => {
                let steps = project::plan(p.plan);
                self.emit(Event::PlanUpdated { explanation: p.explanation, steps });
            }
            Notification::DiffUpdated(p) => self.emit(Event::DiffUpdated { diff: p.diff }),
            Notification::TokenUsageUpdated(p) => {
                let (total, last) = (project::usage(p.token_usage.total), project::usage(p.token_usage.last));
                self.context.note(self.total, total, last);
                self.count(total, last);
                self.emit(Event::UsageUpdated {
                    turn: self.spent(),
                    context: p.token_usage.last.total_tokens,
                    window: p.token_usage.model_context_window,
                    input: Some(last.input).filter(|input| *input > 0),
                });
            }
            // Frames before the beginning of the turn may belong to the previous one.
            Notification::RateLimitsUpdated(p) if self.begun && !p.rate_limits.is_empty() => {
                self.tell_limits(project::rate_limits(p.rate_limits));
            }
            Notification::ModelRerouted(p) => {
                let reason =
                    p.reason.map(|word| word.as_str().map_or_else(|| word.to_string(), str::to_owned));
                self.emit(Event::ModelRerouted { from: p.from_model, to: p.to_model, reason, until: None });
            }
            Notification::RawItemCompleted(p) => self.hear_raw(&p.item),
            Notification::ThreadCompacted(_) => self.emit(Event::Compacted),
            Notification::ToolProgress(p) => {
                self.emit(Event::ToolProgress { item: p.item_id, message: p.message });
            }
            Notification::Error(p) if p.will_retry => {
                self.emit(Event::Retrying { message: p.error.to_string() });
            }
            // It is repeated in `turn/completed`, or should be.
            Notification::Error(p) => self.last_error = Some(p.error),
            other => self.warn_about(other),
        }
    }

    /// Notifications for the user without effect on the turn, and ignored ones.
    fn warn_about(&mut self, notification: Notification<'static>) {
        let message = match notification {
            Notification::Warning(p) | Notification::GuardianWarning(p) => p.message,
            Notification::ConfigWarning(p) => p.summary,
            Notification::McpServerStatus(p) => match p.error {
                Some(error) => format!("MCP server {}: {error}", p.name),
                None => return,
            },
            Notification::SettingsUpdated(p) => {
                let settings = &p.thread_settings;
                self.confirm_settings(settings);
                let gate = &mut self.order.gate;
                let renewed =
                    gate.bounds().renewed(&settings.sandbox_policy, &settings.approval_policy, &settings.cwd);
                // Codex reports all of it also where only the model changed.
                if *gate.bounds() == renewed {
                    return;
                }
                gate.rebind(renewed);
                let (sandbox, approval) = project::in_force(settings);
                format!("in force from now on: sandbox {sandbox}, approval {approval}")
            }
            Notification::ReviewCompleted(p) if p.review.status != "approved" => {
                let why = p.review.rationale.unwrap_or_else(|| "no reason given".to_owned());
                format!("Codex's own reviewer: {} ({why})", p.review.status)
            }
            Notification::AuthRecoveryStarted(p) | Notification::AuthRecoveryCompleted(p) => p.message,
            Notification::HookCompleted(p) if p.run.status != "completed" => {
                let why = p.run.status_message.unwrap_or_else(|| "no reason given".to_owned());
                format!("hook {} {}: {why}", p.run.event_name, p.run.status)
            }
            Notification::EnvironmentDisconnected(_) => {
                "Codex lost the environment that the commands run in".to_owned()
            }
            // No one needs these, or `notice` has seen to them.
            Notification::AgentMessageDelta(_)
            | Notification::ReasoningSummaryDelta(_)
            | Notification::ReasoningTextDelta(_)
            | Notification::ReasoningPartAdded(_)
            | Notification::CommandOutputDelta(_)
            | Notification::CommandPrinted(_)
            | Notification::PatchOutputDelta(_)
            | Notification::PlanDelta(_)
            | Notification::ItemStarted(_)
            | Notification::ItemCompleted(_)
            | Notification::PatchUpdated(_)
            | Notification::TerminalInteraction(_)
            | Notification::TurnStarted(_)
            | Notification::TurnCompleted(_)
            | Notification::PlanUpdated(_)
            | Notification::DiffUpdated(_)
            | Notification::TokenUsageUpdated(_)
            | Notification::RateLimitsUpdated(_)
            | Notification::ModelRerouted(_)
            | Notification::ThreadCompacted(_)
            | Notification::ToolProgress(_)
            | Notification::Error(_)
            | Notification::ReviewStarted(_)
            | Notification::ReviewCompleted(_)
            | Notification::HookStarted(_)
            | Notification::HookCompleted(_)
            | Notification::EnvironmentConnected(_)
            | Notification::ThreadStatusChanged(_)
            | Notification::ThreadStarted(_)
            | Notification::ThreadClosed(_)
            | Notification::ThreadArchived(_)
            | Notification::ThreadUnarchived(_)
            | Notification::NameUpdated(_)
            | Notification::GoalUpdated(_)
            | Notification::GoalCleared(_)
            | Notification::QueueChanged(_)
            | Notification::ReadStateChanged(_)
            | Notification::RequestResolved(_)
            | Notification::DeprecationNotice(_)
            | Notification::SkillsChanged(_)
            | Notification::AccountUpdated(_)
            | Notification::LoginCompleted(_)
            | Notification::RawItemCompleted(_)
            | Notification::RawResponseCompleted(_)
            | Notification::RemoteControlChanged(_) => return,
        };
        self.emit(Event::Warning { message });
    }

    /// A piece of text. Pieces after the complete text are stale.
    fn piece(&mut self, d: Delta<'static>, event: fn(ItemId, String) -> Event) {
        let item = ItemId::new(d.item_id);
        if !self.ended_items.contains_key(&item) {
            self.emit(event(item, d.delta.into_owned()));
        }
    }

    /// Codex reports them at every answer of the model; only what is new is passed on.
    fn tell_limits(&mut self, limits: RateLimits) {
        if self.limits.as_ref() != Some(&limits) {
            self.emit(Event::RateLimits(Box::new(limits.clone())));
            self.limits = Some(limits);
        }
    }
}
