//! The completion context at the cursor: the name of a command, its argument, or a file after an `@`.

use std::ops::Range;

use crate::chat::commands::{CompletionSource, find, within_word};

/// The completion context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Context {
    pub(crate) what: What,
    /// The typed part.
    pub(crate) letters: String,
    /// The range that it replaces.
    pub(crate) range: Range<usize>,
}

/// The completion context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// The name of a command.
    Name,
    /// An argument of a command.
    Argument(&'static [CompletionSource]),
    /// A file after an `@`.
    File,
}

impl Context {
    /// Does this need files?
    pub(crate) fn wants_files(&self) -> bool {
        match self.what {
            What::File => true,
            What::Argument(sources) => sources.contains(&CompletionSource::Files),
            What::Name => false,
        }
    }

    /// Does this need the names of conversations or tasks?
    pub(crate) fn wants_names(&self) -> bool {
        self.wants(CompletionSource::Sessions) || self.wants(CompletionSource::Tasks)
    }

    /// Is something of this kind offered here?
    pub(crate) fn wants(&self, wanted: CompletionSource) -> bool {
        let is_wanted = |source: &CompletionSource| match source {
            CompletionSource::TasksUnless(_) => wanted == CompletionSource::Tasks,
            source => *source == wanted,
        };
        matches!(self.what, What::Argument(sources) if sources.iter().any(is_wanted))
    }

    /// Is it the same thing, perhaps with other letters?
    pub(crate) fn is_same_place(&self, other: &Self) -> bool {
        self.what == other.what && self.range.start == other.range.start
    }
}

/// Finds what is written at the cursor. Nothing is completed within a unit, so `text` ends where the next one begins,
/// and `from` is where the last one ended.
pub(crate) fn context(text: &str, from: usize, cursor: usize) -> Option<Context> {
    file(text, from, cursor).or_else(|| if from == 0 { command(text, cursor) } else { None })
}

fn command(text: &str, cursor: usize) -> Option<Context> {
    let rest = text.strip_prefix('/').filter(|rest| !rest.starts_with('/'))?;
    let end = 1 + rest.find(char::is_whitespace).unwrap_or(rest.len());
    if cursor <= end {
        let letters = text.get(1..cursor)?;
        let is_name = !text[1..end].contains('/');
        return is_name.then(|| Context { what: What::Name, letters: letters.to_owned(), range: 0..end });
    }
    let definition = find(&text[1..end])?;
    let typed = &text[end..cursor];
    let (words, start) = within_word(typed);
    let sources = *definition.arguments.get(words.len())?;
    let is_needless = |source: &CompletionSource| match source {
        CompletionSource::TasksUnless(actions) => words.iter().any(|word| actions.contains(&word.as_str())),
        _ => false,
    };
    if sources.iter().all(is_needless) {
        return None;
    }
    let mut letters = typed[start..].trim_start_matches(['\'', '"']);
    if sources.contains(&CompletionSource::Commands) {
        letters = letters.trim_start_matches('/');
    }
    let letters = letters.to_owned();
    Some(Context { what: What::Argument(sources), letters, range: end + start..word_end(text, cursor) })
}

fn file(text: &str, from: usize, cursor: usize) -> Option<Context> {
    let before = text.get(from..cursor)?;
    let start = from + before.rfind(char::is_whitespace).map_or(0, |at| at + width_at(before, at));
    let letters = text[start..cursor].strip_prefix('@')?;
    Some(Context { what: What::File, letters: letters.to_owned(), range: start..word_end(text, cursor) })
}

fn width_at(text: &str, at: usize) -> usize {
    text[at..].chars().next().map_or(1, char::len_utf8)
}

fn word_end(text: &str, from: usize) -> usize {
    text[from..].find(char::is_whitespace).map_or(text.len(), |at| from + at)
}
