//! Known facts about the conversation and its environment, with their source: the status line, the first screen and
//! the approval panel show them.
//!
//! Nothing is guessed. Values reported by Codex take precedence over requested ones, and those over the
//! configuration.

use talaria_core::api::{Offers, SessionInfo, TaskCounts};
use talaria_core::event::{Event, RateLimits, Stage, Started, Usage};
use talaria_core::item::ItemBody;
use talaria_core::outcome::Outcome;
use talaria_core::runtime::Runtime;

use super::contract::LoopOffers;

/// Values requested with flags.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestedSettings {
    /// The model provider.
    pub provider: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// How much it thinks.
    pub effort: Option<String>,
    /// The sandbox, as Codex calls it.
    pub sandbox: Option<String>,
    /// When Codex asks, as Codex calls it.
    pub approval: Option<String>,
}

/// Something that has to be done before a turn can run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Missing {
    pub(super) what: String,
    pub(super) remedy: String,
}

/// A setting, and its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Setting<'a> {
    /// Codex reported it for this conversation.
    InForce(&'a str),
    /// Requested; the next turn applies it.
    Asked(&'a str),
    /// The configuration that Codex reads names it.
    Configured(&'a str),
    /// Codex has answered, and not reported it.
    Untold,
    /// Codex has not answered yet.
    Unknown,
}

impl<'a> Setting<'a> {
    /// The value, if there is one.
    pub(super) fn value(self) -> Option<&'a str> {
        match self {
            Self::InForce(value) | Self::Asked(value) | Self::Configured(value) => Some(value),
            Self::Untold | Self::Unknown => None,
        }
    }
}

/// Who runs the turns of the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KnownRuntime<'a> {
    /// Codex, in this version.
    Codex(&'a str),
    /// The built-in loop.
    OwnLoop,
    /// Not known yet.
    Unknown,
}

/// State of the engine, as far as it was reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Engine {
    #[default]
    There,
    Away,
    /// A person stopped it.
    Stopped,
}

/// All of it.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// The version of Talaria.
    pub(super) version: String,
    /// Where a new conversation works.
    pub(super) cwd: String,
    /// The home of the person.
    pub(super) home: Option<String>,
    /// What every new conversation begins with.
    pub(super) flags: RequestedSettings,
    /// What this one was asked for: flags, and what was chosen since.
    pub(super) asked: RequestedSettings,
    /// Whether a turn was requested with it that has not ended. Only such a turn applies it.
    pub(super) is_brought: bool,
    /// Whether the requested sandbox and approvals are those of the next turn, and not what the conversation began with.
    pub(super) has_new_permissions: bool,
    pub(super) session: Option<Box<SessionInfo>>,
    pub(super) started: Option<Box<Started>>,
    /// The model that was asked and the one that answers instead, in the running turn.
    pub(super) rerouted: Option<(String, String)>,
    pub(super) offers: Option<Box<Offers>>,
    /// What a new conversation begins with that Codex would not run.
    pub(super) loop_offers: Option<Box<LoopOffers>>,
    pub(super) missing: Vec<Missing>,
    pub(super) engine: Engine,
    pub(super) tasks: TaskCounts,
    /// Is it known what waits for a person?
    pub(super) has_waiting: bool,
    /// How many commands run in the background, in all conversations.
    pub(super) background: usize,
    pub(super) usage: Usage,
    /// Tokens in the context, and how many fit.
    pub(super) context: Option<(u64, u64)>,
    pub(super) limits: Option<RateLimits>,
}

impl Known {
    /// Another conversation: facts of the previous one do not apply.
    pub(super) fn open(&mut self, session: Option<Box<SessionInfo>>) {
        // One that was there before has its own settings.
        if session.is_some() {
            self.asked = RequestedSettings::default();
        } else {
            // The settings of a new one are requested again.
            self.missing.clear();
            let RequestedSettings { sandbox, approval, .. } = self.flags.clone();
            self.asked = RequestedSettings { sandbox, approval, ..std::mem::take(&mut self.asked) };
        }
        self.has_new_permissions = false;
        self.session = session;
        self.started = None;
        self.rerouted = None;
        self.usage = Usage::default();
        self.context = None;
    }

    /// Learns from an event.
    pub(super) fn event(&mut self, event: &Event) {
        match event {
            Event::SessionStarted(started) => {
                self.started = Some(started.clone());
            }
            Event::SettingsConfirmed { model, effort } => {
                if let Some(started) = &mut self.started {
                    started.model.clone_from(model);
                    started.effort.clone_from(effort);
                }
            }
            // A turn that begins has cost nothing yet.
            Event::Ledger { stage: Stage::Prepared, .. } | Event::TurnStarted { .. } => {
                self.usage = Usage::default();
                self.rerouted = None;
            }
            Event::ModelRerouted { from, to, .. } => {
                let (asked, _) = self.rerouted.take().unwrap_or_else(|| (from.clone(), to.clone()));
                self.rerouted = (asked != *to).then(|| (asked, to.clone()));
            }
            Event::UsageUpdated { turn, context, window, .. } => {
                self.usage = *turn;
                self.context = window.filter(|&window| window > 0).map(|window| (*context, window));
            }
            _ => {}
        }
    }

    /// Learns from an event of now: limits that were reported in the past are stale.
    pub(super) fn event_of_now(&mut self, event: &Event) {
        if let Event::RateLimits(limits) = event {
            self.limits = Some((**limits).clone());
        }
    }

    /// Something is chosen for the turns to come.
    pub(super) fn choose(&mut self, provider: Option<String>, model: Option<String>, effort: Option<String>) {
        self.asked = RequestedSettings { provider, model, effort, ..std::mem::take(&mut self.asked) };
        self.is_brought = false;
    }

    /// Other permissions are asked for, of this conversation or of the one that would begin.
    pub(super) fn ask_permissions(&mut self, sandbox: Option<String>, approval: Option<String>) {
        let is_in_force = |started: &Started| {
            sandbox.as_ref() == Some(&started.sandbox) && approval.as_ref() == Some(&started.approval)
        };
        self.has_new_permissions = match &self.started {
            Some(started) => !is_in_force(started),
            None => self.session.is_some(),
        };
        self.asked = RequestedSettings { sandbox, approval, ..std::mem::take(&mut self.asked) };
        self.is_brought = false;
    }

    /// A turn is asked for, with what was chosen.
    pub(super) fn bring_asked(&mut self) {
        self.is_brought = true;
    }

    /// Codex may have reported the settings in force for the turn requested here: then the choice is applied, or was
    /// refused with a separate warning. Other turns, such as compactions, do not apply it.
    pub(super) fn settle_asked(&mut self, event: &Event) {
        match event {
            Event::SessionStarted(_) | Event::SettingsConfirmed { .. } if self.is_brought => {
                self.asked.provider = None;
                self.asked.model = None;
                self.asked.effort = None;
                self.has_new_permissions &= !matches!(event, Event::SessionStarted(_));
            }
            // A turn of another client has them as well.
            Event::SessionStarted(started) => {
                let asked = (self.asked.sandbox.as_deref(), self.asked.approval.as_deref());
                let real = (Some(started.sandbox.as_str()), Some(started.approval.as_str()));
                self.has_new_permissions &= asked != real;
            }
            Event::Outcome(_) => self.is_brought = false,
            _ => {}
        }
    }

    /// The model has answered: nothing is missing any more.
    pub(super) fn has_worked(&mut self, event: &Event) {
        let is_work = match event {
            Event::ItemStarted { item } => !matches!(item.body, ItemBody::UserMessage { .. }),
            Event::Outcome(report) => report.outcome == Outcome::Completed,
            _ => false,
        };
        if is_work {
            self.missing.clear();
            if let Some(offers) = &mut self.offers {
                offers.account.needed = false;
            }
        }
    }

    /// Codex says what there is.
    pub(super) fn take_offers(&mut self, offers: Box<Offers>) {
        self.missing.clear();
        if offers.limits.is_some() {
            self.limits.clone_from(&offers.limits);
        }
        self.offers = Some(offers);
        self.loop_offers = None;
    }

    /// A new conversation would run on the built-in loop.
    pub(super) fn take_loop_offers(&mut self, offers: Box<LoopOffers>) {
        self.missing.clear();
        self.limits = None;
        self.offers = None;
        self.loop_offers = Some(offers);
    }

    /// Something has to be done first. It may be reported more than once.
    pub(super) fn lacks(&mut self, missing: Missing) {
        if !self.missing.contains(&missing) {
            self.missing.push(missing);
        }
    }

    /// Who runs the turns: as reported for this conversation, else as a new one would have it.
    pub(super) fn runtime(&self) -> KnownRuntime<'_> {
        if let Some(started) = &self.started {
            return started.codex_version().map_or(KnownRuntime::OwnLoop, KnownRuntime::Codex);
        }
        let offered = self.offers.as_ref().map(|offers| KnownRuntime::Codex(&offers.codex));
        let listed = self.session.as_ref().and_then(|session| Runtime::named(&session.runtime));
        match (listed, offered) {
            (Some(Runtime::OwnLoop), _) => KnownRuntime::OwnLoop,
            (None, None) if self.loop_offers.is_some() => KnownRuntime::OwnLoop,
            (_, Some(codex)) => codex,
            (_, None) => KnownRuntime::Unknown,
        }
    }

    /// Settings of a new conversation; an existing one has its own.
    fn new_session_offers(&self) -> Option<&Offers> {
        self.offers.as_deref().filter(|_| self.session.is_none())
    }

    /// The same on the built-in loop.
    fn new_loop_offers(&self) -> Option<&LoopOffers> {
        self.loop_offers.as_deref().filter(|_| self.session.is_none())
    }

    /// The model provider of a conversation on the built-in loop.
    pub(super) fn provider(&self) -> Option<&str> {
        if self.runtime() != KnownRuntime::OwnLoop {
            return None;
        }
        let running = self.started.as_ref().map(|started| started.provider.as_str());
        let listed = self.session.as_ref().and_then(|session| session.provider.as_deref());
        let offered = self.new_loop_offers().map(|offers| offers.provider.as_str());
        self.asked.provider.as_deref().or(running).or(listed).or(offered)
    }

    pub(super) fn model(&self) -> Setting<'_> {
        let running = self.started.as_ref().map(|started| started.model.as_str());
        let listed = self.session.as_ref().and_then(|session| session.model.as_deref());
        let offered = self.new_session_offers().and_then(|offers| {
            let default =
                || offers.models.iter().find(|model| model.is_default).map(|model| model.id.as_str());
            offers.model.as_deref().or_else(default)
        });
        let offered = offered.or_else(|| self.new_loop_offers().and_then(|offers| offers.model.as_deref()));
        self.setting(self.asked.model.as_deref(), running.or(listed), offered)
    }

    pub(super) fn effort(&self) -> Setting<'_> {
        let running = self.started.as_ref().and_then(|started| started.effort.as_deref());
        let offered = match self.started {
            // Where Codex names none for a conversation, the model is asked with its usual one.
            Some(_) => self.usual_effort(),
            None => self
                .new_session_offers()
                .and_then(|offers| offers.effort.as_deref().or_else(|| self.usual_effort())),
        };
        self.setting(self.asked.effort.as_deref(), running, offered)
    }

    /// The usual effort of the model, if Codex lists it.
    fn usual_effort(&self) -> Option<&str> {
        if self.runtime() == KnownRuntime::OwnLoop {
            return None;
        }
        let (offers, model) = (self.offers.as_ref()?, self.model().value()?);
        let listed = offers.models.iter().find(|offer| offer.id == model)?;
        listed.default_effort.as_deref()
    }

    pub(super) fn sandbox(&self) -> Setting<'_> {
        let running = self.started.as_ref().map(|started| started.sandbox.as_str());
        let offered = self.new_session_offers().and_then(|offers| offers.sandbox.as_deref());
        self.setting(self.permission(self.asked.sandbox.as_deref(), running), running, offered)
    }

    pub(super) fn approval(&self) -> Setting<'_> {
        let running = self.started.as_ref().map(|started| started.approval.as_str());
        let offered = self.new_session_offers().and_then(|offers| offers.approval.as_deref());
        self.setting(self.permission(self.asked.approval.as_deref(), running), running, offered)
    }

    /// A requested permission, if it is not yet in force.
    fn permission<'a>(&self, asked: Option<&'a str>, running: Option<&str>) -> Option<&'a str> {
        asked.filter(|_| running.is_none() || self.has_new_permissions)
    }

    /// Where the conversation works.
    pub(super) fn folder(&self) -> &str {
        let running = self.started.as_ref().map(|started| started.cwd.as_str());
        running.or(self.session.as_ref().map(|session| session.cwd.as_str())).unwrap_or(&self.cwd)
    }

    /// How full the model's context is, in percent.
    pub(super) fn context_percent(&self) -> Option<u64> {
        self.context.map(|(used, window)| (used.saturating_mul(100) / window).min(100))
    }

    fn setting<'a>(
        &self,
        asked: Option<&'a str>,
        running: Option<&'a str>,
        configured: Option<&'a str>,
    ) -> Setting<'a> {
        match (asked, running, configured) {
            (Some(asked), Some(running), _) if asked == running => Setting::InForce(running),
            (Some(asked), ..) => Setting::Asked(asked),
            (None, Some(running), _) => Setting::InForce(running),
            (None, None, Some(configured)) => Setting::Configured(configured),
            (None, None, None)
                if self.offers.is_some() || self.started.is_some() || self.loop_offers.is_some() =>
            {
                Setting::Untold
            }
            (None, None, None) => Setting::Unknown,
        }
    }
}
