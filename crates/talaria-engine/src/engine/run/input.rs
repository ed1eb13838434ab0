//! Input of a person: sealed until Codex has it, and the form that is shown.

use std::fs::File;
use std::path::Path;

use serde::{Deserialize, Serialize};
use talaria_core::api::{Problem, ProblemCode};
use talaria_core::input::{InputPart, input_text};
use talaria_guard::redact::redact;
use talaria_guard::shorten::shorten;

/// How long a title may be.
const TITLE: usize = 80;

/// Input as it is sealed.
pub(crate) fn to_json(input: &[InputPart]) -> String {
    // Plain data; it always has a JSON form.
    serde_json::to_string(input).unwrap_or_default()
}

/// Sealed form of a compaction turn. No input has this form: input is always a list.
pub(crate) const COMPACTION: &str = r#""compaction""#;

/// The content that a turn sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Input of a person.
    Words(WordsContent),
    /// Compaction.
    Compaction,
}

/// Input of a person, with text from other sources.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WordsContent {
    pub(crate) input: Vec<InputPart>,
    pub(crate) context: Option<String>,
}

impl WordsContent {
    /// The form in which it is sealed.
    pub(crate) fn to_json(&self) -> String {
        match self.context {
            Some(_) => serde_json::to_string(self).unwrap_or_default(),
            None => to_json(&self.input),
        }
    }
}

/// Decodes the sealed form.
pub(crate) fn from_json(json: &str) -> Option<Content> {
    if json == COMPACTION {
        return Some(Content::Compaction);
    }
    // Without context it is a list, as earlier versions wrote it.
    let plain = serde_json::from_str(json).ok().map(|input| WordsContent { input, context: None });
    plain.or_else(|| serde_json::from_str(json).ok()).map(Content::Words)
}

pub(crate) fn text(text: impl Into<String>) -> Vec<InputPart> {
    vec![InputPart::Text { text: text.into() }]
}

/// Further text with its images. A missing image is refused here: Codex would accept the text and report to the
/// model that an image could not be read.
pub(crate) fn of(said: String, images: &[String]) -> Result<Vec<InputPart>, Problem> {
    let mut input = text(said);
    for path in images {
        let refused = |why: &str| {
            let problem =
                Problem::new(ProblemCode::BadRequest, format!("cannot use the image {path:?}: {why}"));
            problem.try_this("use the absolute path of an image file that this user can read")
        };
        if !Path::new(path).is_absolute() {
            return Err(refused("it is not an absolute path"));
        }
        match File::open(path).and_then(|file| file.metadata()) {
            Ok(found) if found.is_file() => input.push(InputPart::LocalImage { path: path.clone() }),
            Ok(_) => return Err(refused("it is not a file")),
            Err(error) => return Err(refused(&error.to_string())),
        }
    }
    Ok(input)
}

/// The input as text, with secrets masked; images are named.
pub(crate) fn shown(input: &[InputPart]) -> String {
    redact(&input_text(input)).to_string()
}

/// Is the shown form all of the input, so that it can be sent again?
pub(crate) fn is_plain(input: &[InputPart]) -> bool {
    matches!(input, [InputPart::Text { text }] if shown(input) == *text)
}

/// The first line of what was said, in one short line.
pub(crate) fn title(shown: &str) -> String {
    let line = shown.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("(no text)");
    let line: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    shorten(&line, TITLE).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_one_short_line_and_secrets_are_masked() {
        assert_eq!(title("\n\n  fix the test \nand more"), "fix the test");
        assert_eq!(title(""), "(no text)");
        assert_eq!(title(&"ä".repeat(200)).chars().count(), TITLE);
        let shown = shown(&[
            InputPart::Text { text: "use sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD".to_owned() },
            InputPart::LocalImage { path: "/a.png".to_owned() },
        ]);
        assert!(
            is_plain(&text("fix the\ntest"))
                && !is_plain(&text("use sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"))
        );
        assert!(!is_plain(&[InputPart::LocalImage { path: "/a.png".to_owned() }]) && !is_plain(&[]));
        assert!(!shown.contains("abcdefghijkl") && shown.ends_with("\n[image /a.png]"), "{shown}");
    }

    #[test]
    fn what_was_said_comes_back_as_it_was() {
        let said = vec![
            InputPart::Text { text: "a\n\"b\"".to_owned() },
            InputPart::LocalImage { path: "/x".to_owned() },
        ];
        for context in [None, Some("from a program".to_owned())] {
            let words = WordsContent { input: said.clone(), context };
            assert_eq!(from_json(&words.to_json()), Some(Content::Words(words)));
        }
        let words = |input: Vec<InputPart>| Some(Content::Words(WordsContent { input, context: None }));
        assert_eq!(from_json(&to_json(&said)), words(said));
        let word = text("compaction");
        assert_eq!(from_json(&to_json(&word)), words(word));
        assert_eq!(from_json(COMPACTION), Some(Content::Compaction));
        assert_eq!(from_json("x"), None);
    }
}
