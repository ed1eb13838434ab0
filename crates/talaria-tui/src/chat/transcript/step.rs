//! A step that takes time: a command, a call of a tool, a search, work for sub-agents. Its lines grow in place.
//!
//! Folded: name, duration, outcome, the last lines of output. Unfolded: all of it. It has ended only when an event reports
//! that.

use talaria_core::background::BackgroundEnd;
use talaria_core::item::{ItemBody, Status, ToolResult};
use unicode_width::UnicodeWidthStr;

use super::cell::{Folding, Page, time_since};
use super::crew::Crew;
use super::kept::{Kept, Limits};
use super::lifecycle::Lifecycle;
use super::printed::{self, Gist};
use super::request::with_note;
use super::wrap::{Break, wrap};
use talaria_render::{Paint, Style, StyledLine, cut, plain, plain_line, spinner, tool_line};

const OUTPUT: Limits = Limits { head: 32 * 1024, tail: 32 * 1024 };
const CALL: Limits = Limits { head: 8 * 1024, tail: 1024 };
/// Maximum length of a name; no window shows more.
const LONGEST_LABEL: usize = 2000;

/// Columns of a name that stay when the rest of its row is long.
const SHORTEST_LABEL: usize = 20;

/// Columns that the sign and the end of a step take at most.
const LONGEST_END: usize = 30;

/// Said of a command that outlived its turn.
const IN_BACKGROUND: &str = "still running in the background";

/// The name of a step that has none.
const HEADLESS: &str = "a step whose start is not loaded";

#[derive(Debug)]
pub(super) struct Step {
    /// Its kind; none if its beginning is not loaded.
    name: Option<Name>,
    /// The command or the arguments.
    call: Option<Kept>,
    /// Its error text.
    failure: Option<Kept>,
    output: Kept,
    /// Whether its end contained all of its output.
    is_whole: bool,
    progress: Option<String>,
    pub(super) life: Lifecycle,
    /// The sub-agents that it made.
    pub(super) crew: Crew,
}

#[derive(Debug)]
struct Name {
    kind: Kind,
    label: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The end of its output matters most.
    Command,
    /// The beginning of its result does.
    Call,
}

impl Step {
    /// It began.
    pub(super) fn begun(body: &ItemBody, since: i64, paint: Paint) -> Self {
        let mut step = Self::headless(since);
        step.describe(body, paint);
        step
    }

    /// Output of a step whose start is not loaded.
    pub(super) fn headless(since: i64) -> Self {
        let output = Kept::new(OUTPUT);
        let (progress, crew, life) = (None, Crew::default(), Lifecycle::Running(since));
        Self { name: None, call: None, failure: None, output, is_whole: false, progress, life, crew }
    }

    /// Sub-agents whose call is not here.
    pub(super) fn only_crew(since: i64) -> Self {
        Self { life: Lifecycle::Crew, ..Self::headless(since) }
    }

    /// Returns what it is.
    pub(super) fn describe(&mut self, body: &ItemBody, paint: Paint) {
        let kind = match body {
            ItemBody::Command { .. } => Kind::Command,
            _ => Kind::Call,
        };
        self.call = call(body).map(|call| Kept::of(&call, CALL));
        if let ItemBody::Agents { threads, agents, .. } = body {
            threads.iter().for_each(|thread| self.crew.meet(thread));
            agents.iter().for_each(|state| self.crew.report(state));
        }
        let mut label = tool_line::label(body, paint).unwrap_or_else(|| body.kind().to_owned());
        label.truncate(label.floor_char_boundary(LONGEST_LABEL));
        self.name = Some(Name { kind, label });
    }

    /// Is it known what it is?
    pub(super) fn is_described(&self) -> bool {
        self.name.is_some()
    }

    /// Takes a piece of output.
    pub(super) fn print(&mut self, delta: &str) {
        // What prints was accepted.
        if let Lifecycle::Elsewhere(since) = self.life {
            self.life = Lifecycle::Running(since);
        }
        self.output.push(delta);
    }

    /// The next piece may not be contiguous.
    pub(super) fn cut(&mut self) {
        self.output.push(self.output.cut());
    }

    /// Prepends earlier output.
    pub(super) fn print_front(&mut self, earlier: &str) {
        self.output.push_front(earlier);
    }

    /// How far it is.
    pub(super) fn advance(&mut self, message: &str) {
        self.progress = Some(plain_line(&message[..message.floor_char_boundary(1000)]).into_owned());
    }

    pub(super) fn end(&mut self, body: &ItemBody, paint: Paint) {
        self.describe(body, paint);
        let (status, [end, time]) = tool_line::ending(body).unwrap_or((Status::Unknown, [None, None]));
        self.failure = tool_line::failure(body).map(|failure| Kept::of(failure.trim(), OUTPUT));
        self.life = Lifecycle::Ended(status, [end.filter(|_| self.failure.is_none()), time]);
        self.progress = None;
        // Streamed output may lack its beginning; the complete output takes precedence.
        match output(body) {
            Some(output) => (self.output, self.is_whole) = (Kept::of(&output, OUTPUT), true),
            None => self.is_whole = self.output.total() == 0,
        }
    }

    /// Its turn ended, and it runs in the background.
    pub(super) fn stay(&mut self) {
        if self.life.is_open() || matches!(self.life, Lifecycle::Left(_)) {
            self.life = Lifecycle::Background;
        }
    }

    pub(super) fn end_in_background(&mut self, end: BackgroundEnd, exit_code: Option<i32>) {
        if self.life != Lifecycle::Background {
            return;
        }
        let (status, words) = match (end, exit_code) {
            (BackgroundEnd::Exited, Some(0)) => (Status::Completed, "in the background".to_owned()),
            (BackgroundEnd::Exited, Some(code)) => {
                (Status::Failed, format!("exit {code}, in the background"))
            }
            (BackgroundEnd::Exited, None) => (Status::Unknown, "in the background".to_owned()),
            (BackgroundEnd::Stopped, _) => (Status::Interrupted, "stopped in the background".to_owned()),
            (BackgroundEnd::WithCodex, _) => (Status::Interrupted, "ended with Codex".to_owned()),
            (BackgroundEnd::Unseen, _) => (Status::Unknown, "while no engine was attached".to_owned()),
        };
        self.life = Lifecycle::Ended(status, [Some(words), None]);
    }

    /// Whether its end contained all of its output, so that no piece can be missing.
    pub(super) fn is_whole(&self) -> bool {
        self.is_whole || self.is_only_crew()
    }

    /// Whether it contains only sub-agents.
    pub(super) fn is_only_crew(&self) -> bool {
        self.life == Lifecycle::Crew
    }

    /// Its memory use.
    pub(super) fn weight(&self) -> usize {
        size_of::<Self>()
            + self.output.weight()
            + [&self.call, &self.failure].into_iter().flatten().map(Kept::weight).sum::<usize>()
            + self.crew.weight()
    }

    pub(super) fn rows(&self, page: &Page<'_>) -> Vec<StyledLine> {
        let mut out = Vec::new();
        if self.life != Lifecycle::Crew {
            wrap(self.head(page), page.width, 2, Break::Anywhere, &mut out);
        }
        self.push_failure(page, &mut out);
        self.push_call(page, &mut out);
        self.crew.push_rows(page, &mut out);
        if let Some(progress) = &self.progress {
            let line = cut(&format!("  {progress}"), page.width, page.paint);
            push(page, &line, 2, &mut out);
        }
        self.push_output(page, &mut out);
        out
    }

    fn head(&self, page: &Page<'_>) -> StyledLine {
        let paint = page.paint;
        let label = self.name.as_ref().map_or(HEADLESS, |name| &name.label);
        if let Some(line) = self.life.head(label, page) {
            return line;
        }
        match &self.life {
            Lifecycle::Running(since) => {
                let passed = spinner::seconds(time_since(page.wall, *since));
                with_note(spinner::sign(page.now, paint), label, &passed, page)
            }
            Lifecycle::Ended(status, [end, time]) => {
                let end = end.clone().or_else(|| self.failure_in_head(page));
                tool_line::line(label, *status, [end, time.clone()], Some(page.paper()), paint)
            }
            Lifecycle::Background => with_note(paint.sign("●", "*"), label, IN_BACKGROUND, page),
            // It has no separate row.
            _ => StyledLine::default(),
        }
    }

    /// Why it failed, as far as the first row has room for it. Unfolded, the rest is below it.
    fn failure_in_head(&self, page: &Page<'_>) -> Option<String> {
        let failure = self.failure.as_ref()?.shown();
        let failure = plain_line(&failure);
        let room = self.failure_room(page);
        let is_short = failure.width() <= room;
        (is_short || page.fold == Folding::Folded).then(|| cut(&failure, room, page.paint))
    }

    /// The columns of the first row that the reason of a failure may take.
    fn failure_room(&self, page: &Page<'_>) -> usize {
        let Lifecycle::Ended(status, [_, time]) = &self.life else { return 0 };
        let label = self.name.as_ref().map_or(HEADLESS, |name| &name.label);
        let label = cut(label, SHORTEST_LABEL, page.paint);
        let rest = [Some(String::new()), time.clone()];
        let rest = tool_line::line(&label, *status, rest, None, page.paint).width();
        page.width.saturating_sub(rest + 2).max(8)
    }

    /// The reason of a failure, where the first row does not show it.
    fn push_failure(&self, page: &Page<'_>, out: &mut Vec<StyledLine>) {
        let Some(failure) = &self.failure else { return };
        if self.failure_in_head(page).is_none() {
            let failure = failure.shown();
            plain(&failure).split('\n').for_each(|line| push(page, &format!("  {line}"), 4, out));
        }
    }

    /// The command as it is, where its first line does not show it; the arguments of a tool.
    fn push_call(&self, page: &Page<'_>, out: &mut Vec<StyledLine>) {
        let Some(call) = &self.call else { return };
        let is_command = self.kind() == Kind::Command;
        let text = call.shown();
        match page.fold {
            Folding::Folded if is_command => {}
            Folding::Folded => {
                push(page, &cut(&format!("  {}", plain_line(&text)), page.width, page.paint), 2, out);
            }
            Folding::Unfolded if is_command && self.is_in_head(&text, page.width) => {}
            Folding::Unfolded if is_command => {
                for (at, line) in plain(text.trim_end()).split('\n').enumerate() {
                    push(page, &format!("  {} {line}", if at == 0 { "$" } else { ">" }), 4, out);
                }
            }
            Folding::Unfolded => {
                plain(&text).split('\n').for_each(|line| push(page, &format!("  {line}"), 4, out));
            }
        }
    }

    /// Does the first row show all of a command?
    fn is_in_head(&self, command: &str, width: usize) -> bool {
        let label = self.name.as_ref().map_or("", |name| &name.label);
        label == command.trim() && label.width() + LONGEST_END <= width
    }

    fn push_output(&self, page: &Page<'_>, out: &mut Vec<StyledLine>) {
        let gist = match self.kind() {
            Kind::Command => Gist::End,
            Kind::Call => Gist::Beginning,
        };
        printed::push(&self.output, gist, Style::DIM, page, out);
    }

    fn kind(&self) -> Kind {
        self.name.as_ref().map_or(Kind::Command, |name| name.kind)
    }
}

/// A dimmed line.
fn push(page: &Page<'_>, text: &str, hang: usize, out: &mut Vec<StyledLine>) {
    wrap(page.paint.line(Style::DIM, text), page.width, hang, Break::Anywhere, out);
}

/// Its arguments, next to its name.
fn call(body: &ItemBody) -> Option<String> {
    match body {
        ItemBody::Command { command, .. } => Some(talaria_render::unwrapped(command).into_owned()),
        ItemBody::Tool { arguments, .. } | ItemBody::ClientTool { arguments, .. } => {
            arguments.as_ref().map(|json| json.get().to_owned())
        }
        ItemBody::Agents { prompt, .. } => prompt.clone(),
        _ => None,
    }
}

/// Its output.
fn output(body: &ItemBody) -> Option<String> {
    match body {
        ItemBody::Command { output, .. } => output.clone(),
        ItemBody::Tool { result, .. } | ItemBody::ClientTool { result, .. } => {
            result.as_ref().map(result_text)
        }
        _ => None,
    }
}

fn result_text(result: &ToolResult) -> String {
    let count = |count: u32, what: &str| (count > 0).then(|| format!("[{what}: {count}]"));
    let parts = [result.text.clone(), count(result.images, "images"), count(result.other, "other parts")];
    parts.into_iter().flatten().collect::<Vec<_>>().join("\n")
}
