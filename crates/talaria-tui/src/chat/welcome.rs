//! The first screen: model, folder, permissions, what to type next, and missing requirements.
//!
//! It says only what is known, and that Codex is being asked as long as that is so. It asks nothing.

use talaria_core::api::Offers;
use talaria_guard::plain::one_line;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::contract::LoopOffers;
use super::folder;
use super::known::{Engine, Known, KnownRuntime, RequestedSettings, Setting};
use talaria_render::{Color, Style, StyledLine};

/// Text about a stopped engine, and how to start it again.
pub(super) const STOPPED: &str = "Talaria's engine was stopped";
pub(super) const STARTS_AGAIN: &str = "your next message or command starts it again";

/// The column of the values.
const NAMES: usize = 13;
/// In windows up to this width a value that does not fit beside its name is below it.
const NARROW: usize = 40;

/// The rows, at most `height` of them: if there are too few, missing requirements take precedence.
pub(super) fn rows(known: &Known, width: usize, height: usize) -> Vec<StyledLine> {
    let mut page = Page { width, lines: Vec::new() };
    page.plain(Style::BOLD, &format!("Talaria {}", known.version));
    for missing in missing(known) {
        page.pair("missing", &missing.0, Style::BOLD.color(Color::Red));
        page.pair("", &missing.1, Style::PLAIN);
    }
    page.pair("folder", &folder::shown(known.folder(), known.home.as_deref()), Style::PLAIN);
    page.pair("runtime", &runtime(known), Style::PLAIN);
    page.pair("model", &model(known), Style::PLAIN);
    page.pair("permissions", &permissions(known), Style::PLAIN);
    if let Some(why) = why_read_only(known) {
        page.pair("", why, Style::PLAIN.color(Color::Yellow));
    }
    for note in known.offers.iter().flat_map(|offers| &offers.notes) {
        page.pair("note", note, Style::DIM);
    }
    let hints = [
        "Type what you want done and press Enter.",
        "/ lists commands, @ names a file, ! runs a shell command, ? shows the keys.",
        "Ctrl-D leaves; turns continue: `talaria --last` returns.",
    ];
    if page.lines.len() + hints.len() < height {
        page.lines.push(StyledLine::default());
    }
    for hint in hints {
        page.plain(Style::DIM, hint);
    }
    page.lines.truncate(height);
    page.lines
}

/// Settings of a new conversation, name and value, as on the first screen; for front ends without a screen. The values may
/// be foreign text.
pub fn beginning(asked: RequestedSettings, offers: &Offers) -> Vec<(&'static str, String)> {
    let offers = Some(Box::new(offers.clone()));
    let known = Known { asked, offers, ..Known::default() };
    let mut pairs = settings(&known);
    pairs.extend(why_read_only(&known).map(|why| ("", why.to_owned())));
    pairs.extend(known.offers.iter().flat_map(|offers| &offers.notes).map(|note| ("note", note.clone())));
    pairs
}

/// The same for a new conversation on the built-in loop.
pub fn loop_beginning(asked: RequestedSettings, offers: &LoopOffers) -> Vec<(&'static str, String)> {
    let loop_offers = Some(Box::new(offers.clone()));
    settings(&Known { asked, loop_offers, ..Known::default() })
}

fn settings(known: &Known) -> Vec<(&'static str, String)> {
    vec![("runtime", runtime(known)), ("model", model(known)), ("permissions", permissions(known))]
}

/// Missing requirements of a turn, and how to meet them.
fn missing(known: &Known) -> Vec<(String, String)> {
    let away = match known.engine {
        Engine::There => None,
        Engine::Away => Some((
            "Talaria's engine does not respond; reconnecting".to_owned(),
            "see what is wrong with `talaria doctor`".to_owned(),
        )),
        Engine::Stopped => Some((STOPPED.to_owned(), STARTS_AGAIN.to_owned())),
    };
    let told = known.missing.iter().map(|missing| (missing.what.clone(), missing.remedy.clone()));
    let login = known.offers.as_ref().filter(|offers| offers.account.needed && known.missing.is_empty());
    let login = login
        .map(|_| ("not logged in to Codex".to_owned(), "/login, or `talaria login` in a shell".to_owned()));
    away.into_iter().chain(told).chain(login).collect()
}

fn runtime(known: &Known) -> String {
    let codex = match known.runtime() {
        KnownRuntime::Codex(version) => version,
        KnownRuntime::OwnLoop => return "Talaria's built-in loop".to_owned(),
        KnownRuntime::Unknown => {
            return match (known.missing.is_empty(), known.engine) {
                (true, Engine::There) => "asking Codex".to_owned(),
                _ => "not known".to_owned(),
            };
        }
    };
    let who = known.offers.as_ref().map(|offers| &offers.account).and_then(|account| {
        let kind = account.kind.as_deref()?;
        let parts = [account.name.as_deref(), Some(kind), account.plan.as_deref()];
        Some(parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
    });
    let who = who.map(|who| format!(" ({who})")).unwrap_or_default();
    format!("Codex {codex}{who}")
}

fn model(known: &Known) -> String {
    let is_loop = known.runtime() == KnownRuntime::OwnLoop;
    let of_codex = || known.offers.as_ref().and_then(|offers| offers.provider.as_deref());
    let provider = if is_loop { known.provider() } else { of_codex() };
    let provider = provider.map(|name| format!(" at {name}")).unwrap_or_default();
    let effort = match known.effort().value() {
        Some(effort) => format!(", effort {effort}"),
        None => String::new(),
    };
    if is_loop && known.model() == Setting::Untold {
        return format!("none is named{provider}; choose one with /model");
    }
    format!("{}{effort}{provider}", words(known, known.model(), "chosen by Codex"))
}

fn permissions(known: &Known) -> String {
    let sandbox = words(known, known.sandbox(), "Codex's own");
    let approval = words(known, known.approval(), "Codex's own");
    match (known.sandbox(), known.approval()) {
        (Setting::Untold, Setting::Untold) if known.runtime() == KnownRuntime::OwnLoop => {
            "as on Codex, by the folder; shown when the first turn starts".to_owned()
        }
        (Setting::Unknown, Setting::Unknown) => sandbox,
        (Setting::Untold, Setting::Untold) => "Codex's defaults; shown when the first turn starts".to_owned(),
        _ => format!("sandbox {sandbox}, approvals {approval}"),
    }
}

/// Why a new conversation may write nothing although nothing was said about that, and how to change it.
fn why_read_only(known: &Known) -> Option<&'static str> {
    let is_untrusted = known.offers.as_ref().is_some_and(|offers| offers.untrusted);
    let is_default = known.session.is_none() && matches!(known.sandbox(), Setting::Configured("read-only"));
    (is_untrusted && is_default).then_some(
        "read-only because Codex does not trust this folder; to let it write here: talaria --sandbox workspace-write",
    )
}

/// A setting in words; `untold` is what happens if nothing is set.
fn words(known: &Known, setting: Setting<'_>, untold: &str) -> String {
    match setting {
        Setting::InForce(value) | Setting::Configured(value) => value.to_owned(),
        Setting::Asked(value) => format!("{value} (requested)"),
        Setting::Untold => format!("{untold} (not reported)"),
        Setting::Unknown if known.missing.is_empty() && known.engine == Engine::There => {
            "not known yet".to_owned()
        }
        Setting::Unknown => "not known".to_owned(),
    }
}

struct Page {
    width: usize,
    lines: Vec<StyledLine>,
}

impl Page {
    fn plain(&mut self, style: Style, text: &str) {
        for row in wrapped(text, self.width) {
            self.lines.push(StyledLine::of(style, row));
        }
    }

    /// A name and its value; the value may be someone else's words.
    fn pair(&mut self, name: &str, value: &str, style: Style) {
        let is_narrow = self.width <= NARROW;
        let indent = if is_narrow { 2 } else { NAMES + 2 };
        let value = one_line(value);
        let mut line = StyledLine::of(Style::DIM, format!("  {name:<NAMES$}"));
        if is_narrow {
            line = StyledLine::of(Style::DIM, format!("{name}  "));
            if !name.is_empty() && line.width() + value.width() > self.width {
                self.lines.push(StyledLine::of(Style::DIM, name.to_owned()));
                line = StyledLine::of(Style::PLAIN, "  ");
            }
        }
        let room = self.width.saturating_sub(line.width().max(indent)).max(1);
        for row in wrapped(&value, room) {
            line.push(style, &row);
            self.lines.push(std::mem::replace(&mut line, StyledLine::of(Style::PLAIN, " ".repeat(indent))));
        }
    }
}

/// Words in rows; a word that is longer than a row begins a new one and continues in the next.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut rows: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match rows.last_mut() {
            Some(row) if row.width() + 1 + word.width() <= width => {
                row.push(' ');
                row.push_str(word);
            }
            _ => rows.extend(broken(word, width)),
        }
    }
    rows
}

/// A word in as many rows as it needs.
fn broken(word: &str, width: usize) -> Vec<String> {
    let mut rows = vec![String::new()];
    for piece in word.graphemes(true) {
        match rows.last_mut() {
            Some(row) if row.is_empty() || row.width() + piece.width() <= width => row.push_str(piece),
            _ => rows.push(piece.to_owned()),
        }
    }
    rows
}
