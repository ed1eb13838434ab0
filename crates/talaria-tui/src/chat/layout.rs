//! The parts on the screen, from top to bottom: the conversation, with what is open over its lower rows; the request;
//! the shell command; input that waits; what Enter does; the input line; the status line.
//!
//! Input and decisions take precedence over reading: in a small window the conversation shrinks.

use std::time::Duration;

use talaria_core::config::Enter;
use unicode_width::UnicodeWidthStr;

use super::contract::ChatEffect;
use super::known::Engine;
use super::line::fitting;
use super::panel::{Held, Panel};
use super::turn::{Sight, Turn};
use super::{Chat, ChatFrame, Popup, status, welcome};
use talaria_render::{Style, StyledLine, cut};

/// In a smaller window nothing can be shown that would make sense.
const SMALLEST: (u16, u16) = (20, 5);
/// Text in such a window.
const TOO_SMALL: &[&str] = &["the window is too small", "too small", "small"];
/// The input line grows to this many rows.
const COMPOSER: u16 = 8;
/// From this height on there is a row that says what Enter does.
const ROOMY: usize = 8;

impl Chat {
    /// The screen as it is now.
    pub fn frame(&mut self, columns: u16, rows: u16, now: Duration) -> ChatFrame {
        self.columns = Some(columns);
        if columns < SMALLEST.0 || rows < SMALLEST.1 {
            self.hide_panel();
            let text = cut(fitting(TOO_SMALL, usize::from(columns)), usize::from(columns), self.paint());
            return ChatFrame::fitted(vec![StyledLine::of(Style::PLAIN, text)], None, columns, rows);
        }
        let (width, height, paint) = (usize::from(columns), usize::from(rows), self.paint());
        let has_list = matches!(self.popup, Some(Popup::List(_)));
        let is_asked = self.is_asked();

        let status = self.status_row(width, now);
        let input_rows = if is_asked && height < ROOMY { 0 } else { (rows / 3).clamp(1, COMPOSER) };
        let input = (input_rows > 0).then(|| self.composer.rows(columns, input_rows));
        let input_lines = input.as_ref().map_or(0, |input| input.lines.len());
        let has_rule = height >= ROOMY;
        let rest = height.saturating_sub(1 + input_lines + usize::from(has_rule));

        let pending = self.pending.rows(width, (rest / 4).min(3), paint);
        let shell = self.shell.as_ref().map(|shell| shell.rows(width, (rest / 3).min(6), now, paint));
        let shell = shell.unwrap_or_default();
        let rest = rest.saturating_sub(pending.len() + shell.len());

        let mut popup = self.popup_rows(width, rest);
        let mut panel = panel_rows(self, width, rest, popup.len());
        let area = rest.saturating_sub(panel.lines.len());
        // The selection is among the visible rows.
        if popup.len() > area {
            popup = self.popup_rows(width, area);
        }

        let mut lines = self.conversation(columns, area, now);
        lines.resize_with(area, StyledLine::default);
        let kept = area.saturating_sub(popup.len());
        lines.splice(kept.., popup.into_iter().take(area));

        let mut cursor = panel.cursor.map(|(column, row)| (column, lines.len() + row));
        lines.append(&mut panel.lines);
        lines.extend(shell);
        lines.extend(pending);
        let is_unseen = self.panel.as_ref().is_some_and(|panel| !panel.is_seen(now));
        self.is_moving |= is_asked && is_unseen;
        // After the conversation, which knows only now where its end is.
        lines.extend(has_rule.then(|| self.rule(width, now)));
        if let Some(input) = input {
            let (column, row) = input.cursor;
            if !is_asked && !has_list {
                cursor = Some((usize::from(column), lines.len() + usize::from(row)));
            }
            lines.extend(input.lines);
        }
        lines.resize_with(height - 1, StyledLine::default);
        lines.push(status);
        ChatFrame::fitted(lines, cursor, columns, rows)
    }

    /// The last frame is on the terminal: the rows of a request in it count as seen from now on.
    pub fn drawn(&mut self, now: Duration) {
        if let Some(panel) = &mut self.panel {
            panel.was_drawn(now);
        }
    }

    /// The transcript; above it the first screen, as long as there is room and nothing was sent to the model.
    fn conversation(&mut self, columns: u16, area: usize, now: Duration) -> Vec<StyledLine> {
        self.transcript.hear(self.is_heard());
        let view = self.transcript.view(columns, u16::try_from(area).unwrap_or(u16::MAX), now);
        self.is_moving = view.again;
        if let Some(before) = view.needs_older.filter(|before| self.asked_older != Some(*before)) {
            self.asked_older = Some(before);
            self.wishes.push(ChatEffect::Older { before });
        }
        if self.has_talk {
            return view.lines;
        }
        let gap = usize::from(!view.lines.is_empty());
        let room = area.saturating_sub(view.lines.len() + gap);
        let mut lines = welcome::rows(&self.known, usize::from(columns), room);
        lines.extend((!lines.is_empty()).then(StyledLine::default).filter(|_| gap > 0));
        lines.extend(view.lines);
        lines
    }

    /// Do events of the conversation arrive? Steps that were running when they stopped are not known to have ended.
    fn is_heard(&self) -> bool {
        self.known.engine == Engine::There && (self.turn.is_running() || !self.is_caught_up)
    }

    fn popup_rows(&mut self, width: usize, rest: usize) -> Vec<StyledLine> {
        let paint = self.paint();
        match &mut self.popup {
            Some(Popup::List(list)) => list.rows(width, rest, paint),
            Some(Popup::Keys(keys)) => keys.rows(width, rest, paint),
            None => {
                let size = |size: usize| u16::try_from(size).unwrap_or(u16::MAX);
                self.composer.popup(size(width), size(rest.min(10)))
            }
        }
    }

    /// Does the turn wait for a place? It has no events before it has one.
    pub(super) fn is_turn_queued(&self) -> bool {
        self.turn.is_unheard() && self.known.session.as_ref().is_some_and(|session| session.queued)
    }

    fn status_row(&self, width: usize, now: Duration) -> StyledLine {
        let moment = status::Moment {
            turn: self.turn,
            is_lost: self.sight == Sight::LostTurn,
            is_queued: self.is_turn_queued(),
            has_shell: self.shell.is_some(),
            waiting: self.requests.count(self.panel.as_ref().map(Panel::ticket)),
            has_panel: self.panel.is_some(),
            waiting_since: self.requests.waiting_since(),
            now,
            wall: self.wall(now),
        };
        status::row(&self.known, moment, width, self.paint())
    }

    /// A row across that says what Enter does now, or what a key just did.
    fn rule(&self, width: usize, now: Duration) -> StyledLine {
        let paint = self.paint();
        let flash = self.flash.as_ref().filter(|(until, _)| now < *until);
        let held = self.held().map(|held| match held {
            Held::Answer(letter) => format!("answering [{letter}]"),
            Held::Unknown(_) => "keep typing to write a message; this key alone does nothing".to_owned(),
        });
        let said = held.as_deref().or(flash.map(|(_, text)| text.as_str()));
        let words: &[&str] = match (said, self.turn, self.enter) {
            (Some(said), ..) => &[said],
            _ if self.is_dropping => {
                &["the question was closed: keys are ignored until Enter", "Enter ends the line"]
            }
            _ if self.is_asked() && self.panel.as_ref().is_some_and(Panel::takes_line) => {
                &["Enter sends the answer; Esc goes back", "Enter answers"]
            }
            _ if self.is_asked() => &[
                "keys answer, or arrows and Enter; Ctrl-G: input line",
                "keys answer; Ctrl-G: input line",
                "keys answer",
            ],
            _ if matches!(self.popup, Some(Popup::List(_))) => {
                &["Enter chooses; Esc closes", "Enter chooses"]
            }
            _ if matches!(self.popup, Some(Popup::Keys(_))) => {
                &["Esc closes the list of keys", "Esc closes it"]
            }
            _ if self.composer.is_searching() => {
                &["Enter uses the line; Esc ends the search", "Enter uses it"]
            }
            _ if self.composer.has_choice() => &["Enter inserts it; Esc closes the list", "Enter inserts it"],
            (_, Turn::Idle, _) => &["Enter sends"],
            (_, _, Enter::Steer) => &["Enter steers; F3: queue; Esc stops", "Enter steers"],
            (_, _, Enter::Queue) => &["Enter queues; F3: steer; Esc stops", "Enter queues"],
        };
        // Two signs and two spaces surround it.
        let text = fitting(words, width.saturating_sub(4));
        let below = match self.transcript.is_at_bottom() {
            true => "",
            false => paint.sign(" ↓ Ctrl-End: to the end ", " Ctrl-End: to the end "),
        };
        let sign = paint.sign("─", "-");
        let left = cut(&format!("{sign}{sign} {text} "), width, paint);
        let used = left.width();
        let room = width - used.min(width);
        let below = if below.width() <= room { below } else { "" };
        let fill = room - below.width();
        // Bold are keys that answer; until they have been seen for a moment they do not.
        let answers = self.is_asked() && self.panel.as_ref().is_some_and(|panel| panel.is_seen(now));
        let mut line = StyledLine::of(if answers { Style::BOLD } else { Style::DIM }, left);
        line.push(Style::DIM, &sign.repeat(fill));
        line.push(Style::BOLD, below);
        line
    }

    /// Do keys answer a request?
    fn is_asked(&self) -> bool {
        self.panel.as_ref().is_some_and(Panel::has_keyboard) && self.popup.is_none()
    }

    fn hide_panel(&mut self) {
        if let Some(panel) = &mut self.panel {
            panel.was_hidden();
        }
    }
}

/// The request, unless a list replaces it. Some of the conversation stays visible if there is room.
fn panel_rows(chat: &mut Chat, width: usize, rest: usize, popup: usize) -> super::panel::Rows {
    let paint = chat.paint();
    if matches!(chat.popup, Some(Popup::List(_) | Popup::Keys(_))) {
        chat.hide_panel();
        return super::panel::Rows::default();
    }
    let Some(panel) = &mut chat.panel else { return super::panel::Rows::default() };
    let kept = if rest >= 14 { 3 } else { 0 };
    let room = rest.saturating_sub(kept.max(popup.min(rest / 2)));
    panel.rows(width, room, paint)
}
