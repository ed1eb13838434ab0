//! The arguments of `talaria_web`, validated: no runtime checks them against the schema. Pure.

use serde_json::Value;

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
        let arguments = arguments.as_object().ok_or("the arguments must be an object")?;
        if let Some(name) = arguments.keys().find(|name| !NAMES.contains(&name.as_str())) {
            return Err(format!("there is no argument {name}; the arguments are {}", NAMES.join(", ")));
        }
        let text = |name: &str| match arguments.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if text.trim().is_empty() => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.trim().to_owned())),
            Some(_) => Err(format!("{name} must be a string")),
        };
        let find = text("find")?;
        if find.as_ref().is_some_and(|find| find.chars().nth(LONGEST).is_some()) {
            return Err(format!("find is longer than {LONGEST} characters: a few words are enough"));
        }
        let page = match arguments.get("page") {
            None | Some(Value::Null) => 1,
            Some(value) => match value.as_i64() {
                None => return Err("page must be a whole number".to_owned()),
                Some(page) if page < 1 => return Err("page begins at 1".to_owned()),
                Some(page) => usize::try_from(page).unwrap_or(usize::MAX),
            },
        };
        Ok(Self { url: text("url")?.ok_or("url is missing")?, find, page })
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
