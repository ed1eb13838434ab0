//! The last row: what runs on what, with which permissions, how full, how much, and what waits.
//!
//! The most important parts get space first; the others are shortened, or left out.

use std::time::Duration;

use jiff::Timestamp;
use talaria_core::event::{RateLimits, RateWindow};
use talaria_guard::plain::one_line;
use unicode_width::UnicodeWidthStr;

use super::known::{Engine, Known, KnownRuntime, Setting};
use super::turn::Turn;
use talaria_render::{Color, Paint, Style, StyledLine, cut, short};

/// From how many percent on a limit is worth a look.
const NEARLY_FULL: f64 = 80.0;

/// Status of a turn that waits for a person.
const WAITING: &str = "waiting for you";

/// Status of a turn that ran when the engine last responded.
const UNKNOWN: &str = "turn state unknown";

/// Status of a turn that waits for a slot.
const QUEUED: &str = "queued";

/// Between two parts.
const GAP: usize = 3;

/// Inputs of the row, besides the known facts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub(super) turn: Turn,
    /// Was the turn not seen to end?
    pub(super) is_lost: bool,
    /// Does the turn wait for a place?
    pub(super) is_queued: bool,
    /// Does a shell command of the person run?
    pub(super) has_shell: bool,
    /// Requests that wait and are not shown.
    pub(super) waiting: usize,
    /// Is one shown?
    pub(super) has_panel: bool,
    /// Since when this conversation has been waiting for an answer of the person, if it is.
    pub(super) waiting_since: Option<Timestamp>,
    pub(super) now: Duration,
    /// The time of day, if it is known.
    pub(super) wall: Option<Timestamp>,
}

/// A part of the row; of two that do not fit together the one with the higher rank is dropped. No two have the
/// same.
struct Part {
    rank: u8,
    style: Style,
    text: String,
    /// Shorter forms, the longest first.
    shorter: Vec<String>,
}

impl Part {
    fn new(rank: u8, style: Style, text: String) -> Self {
        Self { rank, style, text, shorter: Vec::new() }
    }
}

pub(super) fn row(known: &Known, moment: Moment, width: usize, paint: Paint) -> StyledLine {
    let parts = fitting(parts(known, moment, paint), width);
    let gap = paint.sign(" · ", " | ");
    let mut line = StyledLine::default();
    for (at, part) in parts.iter().enumerate() {
        if at > 0 {
            line.push(Style::DIM, gap);
        }
        line.push(part.style, &cut(&part.text, width, paint));
    }
    line
}

/// The parts that there is room for: the most important one at any rate, and each further one that fits, perhaps shortened.
fn fitting(mut parts: Vec<Part>, width: usize) -> Vec<Part> {
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_unstable_by_key(|at| parts[*at].rank);
    let (mut used, mut fits) = (0, vec![false; parts.len()]);
    for at in order {
        let Part { text, shorter, .. } = &mut parts[at];
        let gap = if used == 0 { 0 } else { GAP };
        let has_room = |text: &String| used == 0 || used + gap + text.width() <= width;
        let mut wordings = std::iter::once(std::mem::take(text)).chain(std::mem::take(shorter));
        if let Some(wording) = wordings.find(has_room) {
            used += gap + wording.width();
            (*text, fits[at]) = (wording, true);
        }
    }
    let mut fits = fits.into_iter();
    parts.retain(|_| fits.next() == Some(true));
    parts
}

fn parts(known: &Known, moment: Moment, paint: Paint) -> Vec<Part> {
    let mut parts = Vec::new();
    let engine = match known.engine {
        Engine::There => None,
        Engine::Away => Some("engine away"),
        Engine::Stopped => Some("engine stopped"),
    };
    if let Some(words) = engine {
        parts.push(Part::new(0, Style::BOLD.color(Color::Red), words.to_owned()));
    }
    let is_lost = moment.is_lost && moment.turn.is_idle() && !moment.has_shell;
    let is_unknown = is_lost || (engine.is_some() && moment.turn.is_running());
    let work = if is_unknown { Some(UNKNOWN.to_owned()) } else { work(moment, paint) };
    if let Some(work) = work {
        parts.push(Part::new(2, Style::PLAIN.color(Color::Cyan), work));
    }
    if moment.waiting > 0 {
        let words = match (moment.has_panel, moment.waiting) {
            (false, 1) => "request waits",
            (false, _) => "requests wait",
            (true, 1) => "more waits",
            (true, _) => "more wait",
        };
        parts.push(Part::new(1, Style::BOLD.color(Color::Yellow), format!("{} {words}: F2", moment.waiting)));
    }
    parts.extend(background(known.background, paint));
    if let Some(model) = model(known, paint) {
        parts.push(Part::new(4, Style::PLAIN, model));
    }
    parts.extend(rules(known));
    if let Some(percent) = known.context_percent() {
        let style = if percent >= 80 { Style::PLAIN.color(Color::Yellow) } else { Style::DIM };
        parts.push(Part::new(6, style, format!("context {percent}%")));
    }
    if let Some((style, limit)) = limit(known.limits.as_ref(), moment.wall) {
        parts.push(Part::new(8, style, limit));
    }
    let tasks = known.tasks;
    if tasks.working + tasks.waiting + tasks.queued > 0 {
        let count = tasks.working + tasks.waiting + tasks.queued;
        let noun = if count == 1 { "task" } else { "tasks" };
        parts.push(Part::new(7, Style::DIM, format!("{count} {noun}")));
    }
    if known.usage.total > 0 {
        let is_over = moment.turn.is_idle() && !moment.is_lost;
        let whose = if is_over { "last turn" } else { "turn" };
        let at_least = if known.usage.partial { "at least " } else { "" };
        let spent = format!("{whose} {at_least}{} tokens", short(known.usage.total));
        parts.push(Part::new(9, Style::DIM, spent));
    }
    parts
}

/// Commands that outlived their turns.
fn background(count: usize, paint: Paint) -> Option<Part> {
    let gap = paint.sign(" · ", " | ");
    let words = match count {
        0 => return None,
        1 => "1 background command running".to_owned(),
        count => format!("{count} background commands running"),
    };
    let shorter = vec![format!("{count} in background: /ps"), "/ps".to_owned()];
    let style = Style::PLAIN.color(Color::Cyan);
    Some(Part { shorter, ..Part::new(3, style, format!("{words}{gap}/ps")) })
}

/// The running step, with a spinner.
fn work(moment: Moment, paint: Paint) -> Option<String> {
    const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
    const ASCII: [&str; 4] = ["|", "/", "-", "\\"];
    let word = match moment.turn {
        Turn::Idle if moment.has_shell => "shell",
        Turn::Idle => return None,
        Turn::Asked { is_stopping: true, .. } | Turn::Running { is_stopping: true, .. } => "stopping",
        Turn::Asked { .. } => "sending",
        Turn::Running { .. } if moment.is_queued => QUEUED,
        Turn::Running { .. } if moment.waiting_since.is_some() => WAITING,
        Turn::Running { .. } => "working",
    };
    let beat = usize::try_from(moment.now.as_millis() / 100).unwrap_or(0);
    let turning = paint.sign(FRAMES[beat % FRAMES.len()], ASCII[beat % ASCII.len()]);
    // Nothing is running that would turn.
    let sign = match word {
        WAITING => "?",
        QUEUED => return Some(word.to_owned()),
        _ => turning,
    };
    // For a waiting request the waiting time is shown, not the turn's age.
    let elapsed = match moment.waiting_since.filter(|_| word == WAITING) {
        Some(since) => {
            let waited = moment.wall.map(|wall| Duration::try_from(wall.duration_since(since)));
            waited.map(Result::unwrap_or_default)
        }
        None => moment.turn.elapsed(moment.now),
    };
    let time = elapsed.map(|time| match time.as_secs() {
        seconds @ 0..60 => format!(" {seconds}s"),
        seconds @ 60..3600 => format!(" {}m {:02}s", seconds / 60, seconds % 60),
        seconds => format!(" {}h {:02}m", seconds / 3600, seconds / 60 % 60),
    });
    Some(format!("{sign} {word}{}", time.unwrap_or_default()))
}

fn model(known: &Known, paint: Paint) -> Option<String> {
    let model = known.model();
    let is_asked = |setting| matches!(setting, Setting::Asked(_));
    let is_next = known.started.is_some() && (is_asked(model) || is_asked(known.effort()));
    let next = if is_next { " (next turn)" } else { "" };
    let joint = paint.sign("·", "/");
    if let Some((_, instead)) = &known.rerouted {
        return Some(one_line(&format!("{instead} (fallback){next}")).into_owned());
    }
    let runtime = match known.runtime() {
        KnownRuntime::Codex(_) => format!("codex{joint}"),
        KnownRuntime::OwnLoop => known.provider().map(|name| format!("{name}{joint}")).unwrap_or_default(),
        KnownRuntime::Unknown => String::new(),
    };
    let effort = known.effort().value().map(|effort| format!("{joint}{effort}")).unwrap_or_default();
    Some(one_line(&format!("{runtime}{}{effort}{next}", model.value()?)).into_owned())
}

/// Permissions; a missing sandbox is highlighted.
fn rules(known: &Known) -> Option<Part> {
    let sandbox = known.sandbox().value()?;
    let approval = known.approval().value().map(|approval| format!("/{approval}")).unwrap_or_default();
    let is_open = sandbox == "danger-full-access";
    let style = if is_open { Style::BOLD.color(Color::Red) } else { Style::DIM };
    let next = if known.has_new_permissions { " (next turn)" } else { "" };
    let text = one_line(&format!("{sandbox}{approval}{next}")).into_owned();
    let shorter = if is_open { "no sandbox".to_owned() } else { one_line(sandbox).into_owned() } + next;
    Some(Part { shorter: vec![shorter], ..Part::new(5, style, text) })
}

/// The most used rate limit window. One that was reset since is ignored.
fn limit(limits: Option<&RateLimits>, wall: Option<Timestamp>) -> Option<(Style, String)> {
    let limits = limits?;
    let alarm = Style::BOLD.color(Color::Red);
    let is_over = |resets_at: Option<i64>| {
        resets_at.zip(wall).is_some_and(|(resets_at, wall)| resets_at <= wall.as_second())
    };
    if limits.reached.is_some() && !is_over(limits.resets_at()) {
        return Some((alarm, "limit reached".to_owned()));
    }
    let windows = [limits.primary.as_ref(), limits.secondary.as_ref()];
    let windows = windows.into_iter().flatten().filter(|window| !is_over(window.resets_at));
    let fuller = |a: &&RateWindow, b: &&RateWindow| a.used_percent.total_cmp(&b.used_percent);
    let window = windows.max_by(fuller)?;
    let style = if window.used_percent >= NEARLY_FULL { alarm } else { Style::DIM };
    Some((style, format!("limit {:.0}%", window.used_percent)))
}
