//! The arguments of `talaria_recall`, validated: no runtime checks them against the schema. Pure.

use serde_json::Value;
use talaria_store::SearchedKind;

use crate::engine::tools::arguments::ToolArguments;

/// The longest query, in characters.
const LONGEST: usize = 500;
const NAMES: [&str; 5] = ["query", "kind", "session", "around", "page"];

/// One call.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RecallArguments {
    pub(super) wish: RecallWish,
    /// The page of the result, from 1.
    pub(super) page: usize,
}

/// The requested operation.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RecallWish {
    Search { query: String, kind: SearchedKind, session: Option<String> },
    Read { session: String, around: Option<i64> },
}

impl RecallArguments {
    /// Reads what the model wrote; `Err` says to it what is wrong.
    pub(super) fn parse(arguments: &Value) -> Result<Self, String> {
        let arguments = ToolArguments::read(arguments, &NAMES)?;
        let page = arguments.page()?;
        let session = arguments.text("session")?;
        let around = arguments.number("around")?;
        let kind = kind(arguments.text("kind")?)?;
        let wish = match (arguments.text("query")?, session) {
            (Some(_), _) if around.is_some() => {
                return Err("around reads a session, query searches: use one of them".to_owned());
            }
            (Some(query), _) if query.chars().nth(LONGEST).is_some() => {
                return Err(format!(
                    "query is longer than {LONGEST} characters: one to three rare words are enough"
                ));
            }
            (Some(query), session) => {
                RecallWish::Search { query, kind: kind.unwrap_or(SearchedKind::SaidAndDone), session }
            }
            (None, Some(session)) => RecallWish::Read { session, around },
            (None, None) => return Err("query is missing (or session, to read one conversation)".to_owned()),
        };
        Ok(Self { wish, page })
    }
}

fn kind(word: Option<String>) -> Result<Option<SearchedKind>, String> {
    match word.as_deref() {
        None => Ok(None),
        Some("words") => Ok(Some(SearchedKind::Words)),
        Some("answers") => Ok(Some(SearchedKind::Answers)),
        Some("commands") => Ok(Some(SearchedKind::Commands)),
        Some("patches") => Ok(Some(SearchedKind::Patches)),
        Some("outputs") => Ok(Some(SearchedKind::Outputs)),
        Some(other) => {
            Err(ToolArguments::not_one_of("kind", "words, answers, commands, patches or outputs", other))
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    #[test]
    fn every_mistake_of_a_model_is_said_to_it() {
        let calls = [
            json!({ "query": "cache" }),
            json!({ "query": "cache", "kind": "commands", "session": "s", "page": 2 }),
            json!({ "session": "s", "around": 7, "query": "", "kind": null }),
            json!({ "session": "s" }),
            json!({}),
            json!([]),
            json!({ "query": 7 }),
            json!({ "query": "x", "page": 0 }),
            json!({ "query": "x", "page": "2" }),
            json!({ "query": "x", "around": 2 }),
            json!({ "query": "x", "kind": "dreams" }),
            json!({ "query": "x", "limit": 3 }),
            json!({ "query": "x".repeat(501) }),
        ];
        let lines = calls.map(|call| match RecallArguments::parse(&call) {
            Ok(arguments) => format!("{:?} page {}", arguments.wish, arguments.page),
            Err(why) => why,
        });
        expect![[r#"
            Search { query: "cache", kind: SaidAndDone, session: None } page 1
            Search { query: "cache", kind: Commands, session: Some("s") } page 2
            Read { session: "s", around: Some(7) } page 1
            Read { session: "s", around: None } page 1
            query is missing (or session, to read one conversation)
            the arguments must be an object
            query must be a string
            page begins at 1
            page must be a whole number
            around reads a session, query searches: use one of them
            kind must be words, answers, commands, patches or outputs, not dreams
            there is no argument limit; the arguments are query, kind, session, around, page
            query is longer than 500 characters: one to three rare words are enough"#]]
        .assert_eq(&lines.join("\n"));
    }
}
