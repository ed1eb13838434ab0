//! The completion list: commands, their arguments, files.
//!
//! Nothing is inserted automatically. Enter sends, unless an entry was selected with an arrow or Tab.

mod context;
mod fuzzy;
mod popup;

pub(crate) use context::{Context, What, context};
pub use fuzzy::{Rank, rank};
pub(crate) use popup::Popup;

use crate::chat::commands::{CompletionSource, Definition, TABLE};

/// A completion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompletionChoice {
    /// The inserted text.
    pub value: String,
    /// A line about it.
    pub about: String,
}

impl CompletionChoice {
    /// A choice with a line about it.
    pub fn new(value: impl Into<String>, about: impl Into<String>) -> Self {
        Self { value: value.into(), about: about.into() }
    }
}

/// Candidates beyond the commands: ids, models, efforts, files.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    lists: Vec<(CompletionSource, Vec<CompletionChoice>)>,
}

impl Known {
    /// Takes a list in the place of the one before.
    pub(crate) fn set(&mut self, source: CompletionSource, choices: Vec<CompletionChoice>) {
        self.lists.retain(|(one, _)| *one != source);
        self.lists.push((source, choices));
    }

    /// What fits here, the best first.
    pub(crate) fn fitting(&self, context: &Context) -> Vec<CompletionChoice> {
        let all: Vec<CompletionChoice> = match context.what {
            What::Name => commands(&context.letters),
            What::File => self.of(CompletionSource::Files),
            What::Argument(sources) => sources.iter().flat_map(|source| self.of(*source)).collect(),
        };
        // No one knows ids by heart: they are also found by what they are about.
        let are_ids = context.wants_names() || context.wants(CompletionSource::Requests);
        let about = |one: &CompletionChoice| rank(&context.letters, &one.about).filter(|_| are_ids);
        let fits =
            |one: CompletionChoice| Some((rank(&context.letters, &one.value).or_else(|| about(&one))?, one));
        let mut ranked: Vec<_> = all.into_iter().filter_map(fits).collect();
        // Commands, ids and models have a meaningful order; it is kept between equal matches.
        match context.what {
            What::File => ranked.sort_by_key(|(rank, _)| *rank),
            _ if context.letters.is_empty() => {}
            _ => ranked.sort_by_key(|(rank, _)| rank.without_length()),
        }
        // A few letters are in nearly every name: of commands only those that begin so, if any does.
        if context.what == What::Name && ranked.first().is_some_and(|(rank, _)| rank.is_beginning()) {
            ranked.retain(|(rank, _)| rank.is_beginning());
        }
        ranked.into_iter().map(|(_, one)| one).collect()
    }

    fn of(&self, source: CompletionSource) -> Vec<CompletionChoice> {
        match source {
            CompletionSource::Words(words) => {
                words.iter().map(|(word, about)| CompletionChoice::new(*word, *about)).collect()
            }
            CompletionSource::TasksUnless(_) => self.of(CompletionSource::Tasks),
            CompletionSource::Commands => {
                TABLE.iter().map(|one| CompletionChoice::new(one.name, one.help)).collect()
            }
            _ => self
                .lists
                .iter()
                .find(|(one, _)| *one == source)
                .map(|(_, list)| list.clone())
                .unwrap_or_default(),
        }
    }
}

/// The commands, each by its name; by another name only if that is what is typed.
fn commands(letters: &str) -> Vec<CompletionChoice> {
    let choice = |one: &Definition| {
        let typed = one.aliases.iter().find(|alias| !letters.is_empty() && alias.starts_with(letters));
        let name = typed.filter(|_| rank(letters, one.name).is_none()).unwrap_or(&one.name);
        CompletionChoice::new(*name, one.help)
    };
    TABLE.iter().map(choice).collect()
}
