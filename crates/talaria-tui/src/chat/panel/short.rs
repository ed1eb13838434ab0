//! The prompt in one row of a small window. Words are shortened, never cut at their front.

use unicode_width::UnicodeWidthStr;

use talaria_render::Paint;
use talaria_render::dialog::{Dialog, Step};
use talaria_render::prompt::PromptChoice;

/// The keys alone, where one key is wanted.
pub(super) fn keys(choices: &[PromptChoice]) -> Option<String> {
    let options = choices.iter().filter(|choice| choice.key.is_ascii_digit()).count();
    let numbers = (options > 0).then(|| format!("1-{options}"));
    let letters =
        choices.iter().filter(|choice| !choice.key.is_ascii_digit()).map(|choice| choice.key.to_string());
    let keys: Vec<String> = numbers.into_iter().chain(letters).collect();
    (!keys.is_empty()).then(|| format!("[{}]", keys.join("/")))
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
