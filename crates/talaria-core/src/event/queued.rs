//! Input that waits for a turn, as events carry it: the text, and the image files that go with it.
//!
//! Images are data. Before this they were lines of the text (`[image /path]`) in `Event::Queued`; [`flat`] reads such stored
//! events as what they mean.

use serde::{Deserialize, Serialize};

use crate::input::InputPart;
use talaria_guard::redact::redact;

/// Input that was queued for its own turn. Secrets are masked: the client that sent it has the original.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QueuedInput {
    /// The text.
    pub text: String,
    /// The image files that go with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<String>,
}

impl QueuedInput {
    /// The text, with secrets masked.
    pub fn of(input: &[InputPart]) -> Self {
        let (mut texts, mut images) = (Vec::new(), Vec::new());
        for part in input {
            match part {
                InputPart::Text { text } => texts.push(redact(text).into_owned()),
                InputPart::LocalImage { path } => images.push(path.clone()),
            }
        }
        Self { text: texts.join("\n"), images }
    }

    /// Text without images.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), images: Vec::new() }
    }
}

/// Input whose fields are flattened into its event. `images` is always written: events without it were written by an
/// older build, with the images in the text.
pub(super) mod flat {
    use serde::{Deserializer, Serializer};

    use super::{Deserialize, QueuedInput, Serialize};

    #[derive(Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub(in crate::event) struct Fields {
        /// The text.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        text: String,
        /// The image files that go with it.
        #[serde(default)]
        images: Option<Vec<String>>,
    }

    pub(in crate::event) fn serialize<S: Serializer>(
        input: &QueuedInput,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        Fields { text: input.text.clone(), images: Some(input.images.clone()) }.serialize(serializer)
    }

    pub(in crate::event) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<QueuedInput, D::Error> {
        let Fields { text, images } = Fields::deserialize(deserializer)?;
        Ok(match images {
            Some(images) => QueuedInput { text, images },
            None => super::with_image_lines(&text),
        })
    }
}

/// Reads what older builds wrote: a line for each image, after the text.
fn with_image_lines(text: &str) -> QueuedInput {
    let (mut said, mut images) = (text, Vec::new());
    loop {
        let (before, line) = said.rsplit_once('\n').unwrap_or(("", said));
        let path = line.strip_prefix("[image ").and_then(|rest| rest.strip_suffix(']'));
        let Some(path) = path.filter(|path| path.starts_with('/')) else { break };
        images.insert(0, path.to_owned());
        said = before;
    }
    QueuedInput { text: said.to_owned(), images }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::event::Event;

    use super::*;

    fn read(event: &Value) -> QueuedInput {
        match serde_json::from_value(event.clone()) {
            Ok(Event::Queued { input, .. }) => input,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_older_builds_stored_is_read_with_its_images() {
        for (stored, text, images) in [
            ("look\n[image /v/a.png]\n[image /w/b c.png]", "look", vec!["/v/a.png", "/w/b c.png"]),
            ("see [image a.png] now\n[image /w/a.png]", "see [image a.png] now", vec!["/w/a.png"]),
            ("[image /w/a.png]", "", vec!["/w/a.png"]),
            ("see\n[image a.png]", "see\n[image a.png]", vec![]),
            ("[image /w/a.png]\nlook", "[image /w/a.png]\nlook", vec![]),
            ("", "", vec![]),
        ] {
            let read = read(&json!({ "type": "queued", "waiting": 1, "text": stored }));
            assert_eq!(
                (read.text.as_str(), read.images),
                (text, images.into_iter().map(str::to_owned).collect())
            );
        }
    }

    #[test]
    fn what_is_written_now_is_read_as_it_was_also_if_the_text_looks_like_an_image() {
        let typed = "what does this mean?\n[image /etc/passwd]";
        for images in [vec![], vec!["/w/a.png".to_owned()]] {
            let input = QueuedInput { text: typed.to_owned(), images };
            let written = serde_json::to_value(Event::Queued { waiting: 2, input: input.clone() }).unwrap();
            let expected = json!({ "type": "queued", "waiting": 2, "text": typed, "images": input.images });
            assert_eq!(written, expected);
            assert_eq!(read(&written), input);
        }
    }
}
