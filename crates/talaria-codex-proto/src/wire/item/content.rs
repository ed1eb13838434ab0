//! Parts of what people say and of what tools return.
//!
//! Images and sound are named or counted and never copied: they may be megabytes. A part in a shape that is not known
//! is still a part, so that one strange part does not cost the whole item.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// A part of what a person said, as Codex echoes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WireInput {
    /// Text.
    Text(String),
    /// Anything else.
    Other {
        /// Codex's word: `image`, `localImage`, `audio`, `localAudio`, `skill`, `mention`, …
        kind: String,
        /// Its name, file or address; `None` for data that was sent along.
        name: Option<String>,
    },
}

impl<'de> Deserialize<'de> for WireInput {
    /// All fields at once: every turn echoes its input, and choosing by the type first would read it twice.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Fields<'a> {
            #[serde(rename = "type", borrow)]
            kind: Cow<'a, str>,
            #[serde(default)]
            text: Option<String>,
            #[serde(default)]
            name: Option<String>,
            #[serde(default)]
            path: Option<String>,
            #[serde(default, borrow)]
            url: Option<&'a RawValue>,
            #[serde(default)]
            file_id: Option<String>,
        }
        let Fields { kind, text, name, path, url, file_id } = Fields::deserialize(deserializer)?;
        if let ("text", Some(text)) = (kind.as_ref(), text) {
            return Ok(Self::Text(text));
        }
        let address = url.filter(|url| !url.get().starts_with("\"data:"));
        let address = address.and_then(|url| serde_json::from_str(url.get()).ok());
        Ok(Self::Other { kind: kind.into_owned(), name: name.or(path).or(address).or(file_id) })
    }
}

/// A part of what a tool returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WireContent {
    /// Text, also that of a text file.
    Text(String),
    /// An image.
    Image,
    /// Sound, a binary file, or something that this build does not know.
    Other,
}

impl<'de> Deserialize<'de> for WireContent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::read(<&RawValue>::deserialize(deserializer)?))
    }
}

impl WireContent {
    fn read(raw: &RawValue) -> Self {
        #[derive(Deserialize)]
        struct Fields<'a> {
            #[serde(rename = "type", borrow)]
            kind: Cow<'a, str>,
            #[serde(default)]
            text: Option<String>,
            #[serde(default)]
            uri: Option<String>,
            #[serde(default)]
            resource: Option<Resource>,
        }
        #[derive(Deserialize)]
        struct Resource {
            #[serde(default)]
            text: Option<String>,
        }
        let Ok(Fields { kind, text, uri, resource }) = serde_json::from_str(raw.get()) else {
            return Self::Other;
        };
        // MCP's own words, Codex's for its clients' tools, and those of the Responses API.
        match kind.as_ref() {
            "text" | "inputText" | "input_text" => text.map_or(Self::Other, Self::Text),
            "image" | "inputImage" | "input_image" => Self::Image,
            "resource" => resource.and_then(|resource| resource.text).map_or(Self::Other, Self::Text),
            "resource_link" => uri.map_or(Self::Other, Self::Text),
            _ => Self::Other,
        }
    }
}
