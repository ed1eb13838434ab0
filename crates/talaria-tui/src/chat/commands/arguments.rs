//! How the arguments of a command are read, by the shape that the table has for them.

use talaria_core::request::Decision;

use super::{
    CommandMistake, CompletionSource, Definition, Shape, SlashCommand, first_word, mistake, shortened, split,
};

impl Definition {
    /// The command as it is typed, with the names of its arguments.
    pub fn synopsis(&self) -> String {
        format!("/{} {}", self.name, self.usage).trim_end().to_owned()
    }

    /// Reads the arguments after the name.
    pub(super) fn read(&self, rest: &str) -> Result<SlashCommand, CommandMistake> {
        match &self.shape {
            Shape::Bare(command) if rest.is_empty() => Ok(command.clone()),
            Shape::Bare(_) => Err(self.usage_mistake(format!("/{} takes no argument", self.name))),
            Shape::Word(make) => Ok(make(self.one_word(rest)?)),
            Shape::Choice(make) => Ok(make(self.choice(rest)?)),
            Shape::Pair(make) => Ok(make(self.two_words(rest)?)),
            Shape::Words(make) => Ok(make(self.words(rest)?)),
            Shape::Text(_) if rest.is_empty() => {
                Err(self.usage_mistake(format!("/{} needs {}", self.name, self.expected_argument())))
            }
            Shape::Text(make) | Shape::Line(make) => Ok(make(rest.to_owned())),
            Shape::Approve => self.approve(rest),
            Shape::Deny => Ok(deny(rest)),
        }
    }

    /// The argument after the name: one of a few words where the table lists them, else a text.
    fn expected_argument(&self) -> String {
        let known = listed(self.arguments.first());
        if known.is_empty() { "a text".to_owned() } else { format!("one of: {}", known.join(", ")) }
    }

    fn words(&self, rest: &str) -> Result<Vec<String>, CommandMistake> {
        split(rest).ok_or_else(|| self.usage_mistake("a quote is not closed"))
    }

    fn one_word(&self, rest: &str) -> Result<Option<String>, CommandMistake> {
        let mut words = self.words(rest)?;
        if words.len() > 1 {
            return Err(self.usage_mistake(format!("/{} takes one word", self.name)));
        }
        Ok(words.pop())
    }

    fn two_words(&self, rest: &str) -> Result<Vec<String>, CommandMistake> {
        let words = self.words(rest)?;
        match words.len() {
            0..=2 => Ok(words),
            _ => Err(self.usage_mistake(format!("/{} takes two words at most", self.name))),
        }
    }

    fn choice(&self, rest: &str) -> Result<Option<String>, CommandMistake> {
        let Some(word) = self.one_word(rest)?.map(|word| word.to_ascii_lowercase()) else { return Ok(None) };
        if listed(self.arguments).contains(&word.as_str()) {
            return Ok(Some(word));
        }
        Err(self.usage_mistake(format!("/{} does not take {}", self.name, shortened(&word))))
    }

    fn approve(&self, rest: &str) -> Result<SlashCommand, CommandMistake> {
        let (mut request, mut decision) = (None, None);
        for word in rest.split_whitespace() {
            match word.to_ascii_lowercase().as_str() {
                "once" if decision.is_none() => decision = Some(Decision::Accept),
                "session" if decision.is_none() => decision = Some(Decision::AcceptForSession),
                "always" if decision.is_none() => decision = Some(Decision::AcceptAlways),
                _ if is_request(word) && request.is_none() => request = Some(word.to_owned()),
                _ => {
                    return Err(self.usage_mistake(format!("/{} cannot use {}", self.name, shortened(word))));
                }
            }
        }
        Ok(SlashCommand::Approve { request, decision: decision.unwrap_or(Decision::Accept) })
    }

    fn usage_mistake(&self, what: impl Into<String>) -> CommandMistake {
        mistake(what, format!("usage: {}", self.synopsis()))
    }
}

/// The words that the table names for these arguments.
fn listed<'a>(arguments: impl IntoIterator<Item = &'a &'static [CompletionSource]>) -> Vec<&'static str> {
    let sources = arguments.into_iter().flat_map(|place| place.iter());
    let words = sources.filter_map(|source| match source {
        CompletionSource::Words(words) => Some(words.iter().map(|(word, _)| *word)),
        _ => None,
    });
    words.flatten().collect()
}

fn deny(rest: &str) -> SlashCommand {
    let (word, behind) = first_word(rest);
    let (request, reason) =
        if is_request(word) { (Some(word.to_owned()), behind.trim()) } else { (None, rest) };
    SlashCommand::Deny { request, reason: (!reason.is_empty()).then(|| reason.to_owned()) }
}

fn is_request(word: &str) -> bool {
    word.starts_with("req-")
}
