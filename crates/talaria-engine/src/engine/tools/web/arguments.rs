//! The arguments of `talaria_web`, validated: no runtime checks them against the schema. Pure.

use serde_json::Value;

use crate::engine::tools::arguments::ToolArguments;

const NAMES: [&str; 3] = ["url", "find", "page"];
/// The longest text to be found, in characters.
const LONGEST: usize = 200;

/// One call.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct WebArguments {
    pub(super) url: String,
    pub(super) find: Option<String>,
    /// The page of the result, from 1.
    pub(super) page: usize,
}

impl WebArguments {
    /// Reads what the model wrote; `Err` says to it what is wrong.
    pub(super) fn parse(arguments: &Value) -> Result<Self, String> {
        let arguments = ToolArguments::read(arguments, &NAMES)?;
        let text = |name: &str| Ok::<_, String>(arguments.text(name)?.map(|text| text.trim().to_owned()));
        let find = text("find")?;
        if find.as_ref().is_some_and(|find| find.chars().nth(LONGEST).is_some()) {
            return Err(format!("find is longer than {LONGEST} characters: a few words are enough"));
        }
        Ok(Self { url: text("url")?.ok_or("url is missing")?, find, page: arguments.page()? })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_are_read_or_refused_with_a_reason() {
        let read =
            WebArguments::parse(&json!({ "url": " https://a.example ", "find": "", "page": null })).unwrap();
        assert_eq!(read, WebArguments { url: "https://a.example".to_owned(), find: None, page: 1 });
        let read = WebArguments::parse(&json!({ "url": "u", "find": "words", "page": 3 })).unwrap();
        assert_eq!((read.find.as_deref(), read.page), (Some("words"), 3));
        let refused = |arguments: Value| WebArguments::parse(&arguments).unwrap_err();
        assert_eq!(refused(json!([])), "the arguments must be an object");
        assert_eq!(refused(json!({ "find": "x" })), "url is missing");
        assert_eq!(refused(json!({ "url": ["u"] })), "url must be a string");
        assert_eq!(refused(json!({ "url": "u", "page": 1.5 })), "page must be a whole number");
        assert_eq!(refused(json!({ "url": "u", "page": 0 })), "page begins at 1");
        assert_eq!(
            refused(json!({ "url": "u", "query": "q" })),
            "there is no argument query; the arguments are url, find, page"
        );
        assert!(
            refused(json!({ "url": "u", "find": "x".repeat(201) })).starts_with("find is longer than 200")
        );
    }
}
