//! The background commands of a session: reports of Codex after their turn become Talaria's own events.
//!
//! While one runs, its host counts as used, so no one ends it for want of work. The turn machine never sees these frames:
//! they belong to a turn that is over. Called by the running turn for every frame, and by the actor between turns.

use std::sync::Arc;

use talaria_codex_proto::project;
use talaria_codex_proto::wire::notification::Notification;
use talaria_core::background::{BackgroundCommand, BackgroundEnd};
use talaria_core::event::Event;
use talaria_core::event_redactor::{EventRedactor, cover_item};
use talaria_core::ids::ItemId;
use talaria_core::item::{Item, ItemBody};
use talaria_core::transcript::{self, Message, ProjectionLimits};

use super::CodexConversation;
use crate::live_turns::BackgroundGuard;
use crate::queue::{Delivery, ThreadQueue};

/// How many bytes of output are kept of one command after its turn.
const MOST_OUTPUT: usize = 1024 * 1024;
/// Notice, shown once, that further output is dropped.
const NO_MORE: &str = "\n[more than 1 MiB was printed after the turn; the rest is not shown]\n";

/// The background commands of one session.
#[derive(Debug, Default)]
pub(super) struct BackgroundWatch {
    commands: Vec<Watched>,
    redactor: EventRedactor,
    /// No one ends the host for want of work while this lives.
    guard: Option<BackgroundGuard>,
}

#[derive(Debug)]
struct Watched {
    command: BackgroundCommand,
    printed: usize,
}

/// Something that happened to a background command.
#[derive(Debug)]
pub struct BackgroundNews {
    /// What happened, secrets masked.
    pub event: Event,
    /// The updated transcript entries, by the step that started the command.
    pub message: Option<(ItemId, Message)>,
}

impl BackgroundNews {
    /// The end of a command that Codex did not report.
    pub fn unreported(command: &BackgroundCommand, end: BackgroundEnd) -> Self {
        let message = transcript::late_end(&command.item, &end.words(None).to_string());
        Self { event: ended(command, end, None), message: Some((command.item.clone(), message)) }
    }

    /// A remark in the output of a command: something of it may be missing here.
    pub fn gap(command: &BackgroundCommand) -> Self {
        let delta = "[output is missing here: no engine was attached to Codex for a while]\n".to_owned();
        Event::BackgroundOutput { id: command.id.clone(), item: command.item.clone(), delta }.into()
    }
}

impl From<Event> for BackgroundNews {
    fn from(event: Event) -> Self {
        Self { event, message: None }
    }
}

impl CodexConversation {
    /// Follows a background command from now on.
    pub fn watch_background(&mut self, command: BackgroundCommand) {
        if self.background.guard.is_none() {
            self.background.guard = Some(self.current.get().hold_for_background(&self.started.thread));
        }
        self.background.commands.push(Watched { command, printed: 0 });
    }

    /// Where Codex's frames of this conversation arrive.
    pub fn queue(&self) -> Arc<ThreadQueue> {
        Arc::clone(&self.queue)
    }

    /// Does a background command run?
    pub fn has_background(&self) -> bool {
        !self.background.commands.is_empty()
    }

    /// Takes a frame that concerns background commands; `None` if it does not. When Codex is gone, so are they, but others
    /// need to know that too: then the frame is theirs as well.
    pub fn overhear(&mut self, delivery: &Delivery<'_>) -> Option<Vec<BackgroundNews>> {
        if self.background.commands.is_empty() {
            return None;
        }
        match delivery {
            Delivery::Notification(Notification::CommandOutputDelta(piece)) => {
                let watched = self.background.find(&piece.item_id)?;
                Some(self.background.print(watched, &piece.delta))
            }
            Delivery::Notification(Notification::ItemCompleted(params)) => {
                let watched = self.background.find(params.item.id.as_str())?;
                let item = project::item(params.item.clone());
                Some(self.end_background(watched, item))
            }
            _ => None,
        }
    }

    /// Every background command has ended, because Codex did.
    pub fn lose_background(&mut self, end: BackgroundEnd) -> Vec<BackgroundNews> {
        let mut news = Vec::new();
        for Watched { command, .. } in std::mem::take(&mut self.background.commands) {
            self.background.close_stream(&command, &mut news);
            news.push(BackgroundNews::unreported(&command, end));
        }
        self.background.guard = None;
        news
    }

    fn end_background(&mut self, watched: usize, mut item: Item) -> Vec<BackgroundNews> {
        let Watched { command, .. } = self.background.commands.remove(watched);
        if self.background.commands.is_empty() {
            self.background.guard = None;
        }
        let mut news = Vec::new();
        self.background.close_stream(&command, &mut news);
        let exit_code = match &item.body {
            ItemBody::Command { exit_code, .. } => *exit_code,
            _ => None,
        };
        // Codex reports a command that it killed without an exit code.
        let end = if exit_code.is_some() { BackgroundEnd::Exited } else { BackgroundEnd::Stopped };
        cover_item(&mut item);
        let message =
            transcript::late_result(&item, ProjectionLimits::default()).map(|message| (item.id, message));
        news.push(BackgroundNews { event: ended(&command, end, exit_code), message });
        news
    }
}

impl BackgroundWatch {
    fn find(&self, item: &str) -> Option<usize> {
        self.commands.iter().position(|watched| watched.command.item.as_str() == item)
    }

    /// Masks a piece of output and keeps it within its bounds.
    fn print(&mut self, watched: usize, delta: &str) -> Vec<BackgroundNews> {
        let Self { commands, redactor, .. } = self;
        let Some(Watched { command, printed }) = commands.get_mut(watched) else { return Vec::new() };
        let before = std::mem::replace(printed, printed.saturating_add(delta.len()));
        if before > MOST_OUTPUT {
            return Vec::new();
        }
        let text = if *printed > MOST_OUTPUT { NO_MORE } else { delta };
        let mut news = Vec::new();
        let raw = Event::OutputDelta { item: command.item.clone(), delta: text.to_owned() };
        redactor.cover(raw, &mut |event| news.extend(output(command, event)));
        news
    }

    /// Emits text that was held because it could have been the beginning of a secret.
    fn close_stream(&mut self, command: &BackgroundCommand, news: &mut Vec<BackgroundNews>) {
        let end = Event::BackgroundStarted(Box::new(command.clone()));
        self.redactor.cover(end, &mut |event| news.extend(output(command, event)));
    }
}

/// A covered piece of output as our own event; other events are none.
fn output(command: &BackgroundCommand, event: Event) -> Option<BackgroundNews> {
    let Event::OutputDelta { item, delta } = event else { return None };
    Some(Event::BackgroundOutput { id: command.id.clone(), item, delta }.into())
}

fn ended(command: &BackgroundCommand, end: BackgroundEnd, exit_code: Option<i32>) -> Event {
    Event::BackgroundEnded {
        id: command.id.clone(),
        item: command.item.clone(),
        command: command.command.clone(),
        end,
        exit_code,
    }
}
