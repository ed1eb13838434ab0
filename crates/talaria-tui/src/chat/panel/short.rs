//! The prompt in one row of a small window. Words are shortened, never cut at their front.

use talaria_core::request::Decision;
use unicode_width::UnicodeWidthStr;

use talaria_render::Paint;
use talaria_render::dialog::{Dialog, Step};

/// The keys alone, where one key is wanted.
pub(super) fn keys(dialog: &Dialog) -> Option<String> {
    let keys: Vec<String> = match dialog.step() {
        Step::Choice => dialog.ask().choices().into_iter().flat_map(letters).map(str::to_owned).collect(),
        Step::Question(_) => {
            let question = dialog.question().filter(|question| (1..=9).contains(&question.options.len()))?;
            let other = question.other.then_some("o");
            let letters = other.into_iter().chain(["n", "r", "x"]).map(str::to_owned);
            std::iter::once(format!("1-{}", question.options.len())).chain(letters).collect()
        }
        _ => return None,
    };
    Some(format!("[{}]", keys.join("/")))
}

fn letters(decision: Decision) -> Vec<&'static str> {
    match decision {
        Decision::Accept => vec!["y"],
        Decision::AcceptForSession => vec!["s"],
        Decision::AcceptAlways => vec!["a"],
        Decision::Decline => vec!["n", "r"],
        Decision::Cancel => vec!["x"],
        Decision::Void => Vec::new(),
    }
}

/// Purpose of a line.
pub(super) fn label(dialog: &Dialog) -> &'static str {
    match dialog.step() {
        Step::Choice | Step::Question(_) | Step::Other(_) if dialog.is_secret() => "answer (unseen): ",
        Step::Field(_) if dialog.is_secret() => "entry (unseen): ",
        Step::Choice | Step::Question(_) | Step::Other(_) => "answer: ",
        Step::Reason => "why: ",
        Step::Field(_) => "entry: ",
    }
}

/// The end of what is typed, with a sign in front if it is not all.
pub(super) fn end_of(text: &str, width: usize, paint: Paint) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let sign = paint.sign("…", "~");
    let room = width.saturating_sub(sign.width());
    let from = text.char_indices().map(|(at, _)| at).find(|at| text[*at..].width() <= room);
    format!("{sign}{}", &text[from.unwrap_or(text.len())..])
}
