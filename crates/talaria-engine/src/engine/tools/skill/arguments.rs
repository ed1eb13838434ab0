//! The arguments of `talaria_skill`, validated: no runtime checks them against the schema. Pure.

use serde_json::{Map, Value};
use talaria_core::skill::SKILL_FILE;
use talaria_core::skill::edit::SkillEdit;
use talaria_guard::shorten::shorten_line;

const NAMES: [&str; 7] = ["op", "name", "file", "text", "find", "replace", "page"];

/// One call.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SkillArguments {
    List { part: Option<String> },
    Read { name: String, file: String, page: usize },
    Change(SkillCall),
}

/// The requested change.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SkillCall {
    pub(super) name: String,
    pub(super) file: Option<String>,
    pub(super) edit: SkillEdit,
}

impl SkillArguments {
    /// Reads what the model wrote; `Err` says to it what is wrong.
    pub(super) fn parse(arguments: &Value) -> Result<Self, String> {
        let arguments = arguments.as_object().ok_or("the arguments must be an object")?;
        if let Some(name) = arguments.keys().find(|name| !NAMES.contains(&name.as_str())) {
            let name = shorten_line(name, 40);
            return Err(format!("there is no argument {name}; the arguments are {}", NAMES.join(", ")));
        }
        let op = text(arguments, "op")?.ok_or("op is missing: list, read, propose or archive")?;
        let (part, file) = (text(arguments, "name")?, text(arguments, "file")?);
        let name = || part.clone().ok_or_else(|| "name is missing: the name of the skill".to_owned());
        match op.as_str() {
            "list" => Ok(Self::List { part }),
            "read" => Ok(Self::Read {
                name: name()?,
                file: file.unwrap_or_else(|| SKILL_FILE.to_owned()),
                page: page(arguments)?,
            }),
            "propose" => Ok(Self::Change(SkillCall { name: name()?, file, edit: edit(arguments)? })),
            "archive" => Ok(Self::Change(SkillCall { name: name()?, file: None, edit: SkillEdit::Archive })),
            other => {
                let other = shorten_line(other, 40);
                Err(format!("op must be list, read, propose or archive, not {other}"))
            }
        }
    }
}

fn edit(arguments: &Map<String, Value>) -> Result<SkillEdit, String> {
    // An empty replacement removes the part.
    let replace = match arguments.get("replace") {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text.clone()),
        Some(_) => return Err("replace must be a string".to_owned()),
    };
    match (text(arguments, "text")?, text(arguments, "find")?, replace) {
        (Some(text), None, None) => Ok(SkillEdit::Write { text }),
        (None, Some(find), Some(replace)) => Ok(SkillEdit::Replace { find, replace }),
        (Some(_), _, _) => Err("use text, or find and replace, not both".to_owned()),
        (None, Some(_), None) => Err("replace is missing: what replaces find".to_owned()),
        (None, None, _) => Err("text is missing, or find and replace".to_owned()),
    }
}

fn page(arguments: &Map<String, Value>) -> Result<usize, String> {
    match arguments.get("page") {
        None | Some(Value::Null) => Ok(1),
        Some(value) => match value.as_u64() {
            Some(page) if page > 0 => Ok(usize::try_from(page).unwrap_or(usize::MAX)),
            _ => Err("page must be a number from 1".to_owned()),
        },
    }
}

fn text(arguments: &Map<String, Value>, name: &str) -> Result<Option<String>, String> {
    match arguments.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.trim().is_empty() => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(format!("{name} must be a string")),
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
            json!({ "op": "list" }),
            json!({ "op": "list", "name": "git" }),
            json!({ "op": "read", "name": "haiku" }),
            json!({ "op": "read", "name": "haiku", "file": "references/x.md", "page": 2 }),
            json!({ "op": "propose", "name": "haiku", "text": "x" }),
            json!({ "op": "propose", "name": "haiku", "file": "scripts/x", "find": "a", "replace": "" }),
            json!({ "op": "archive", "name": "haiku", "text": "" }),
            json!([]),
            json!({}),
            json!({ "op": "delete", "name": "x" }),
            json!({ "op": "read" }),
            json!({ "op": "read", "name": 7 }),
            json!({ "op": "read", "name": "x", "page": 0 }),
            json!({ "op": "read", "name": "x", "page": "2" }),
            json!({ "op": "propose", "text": "x" }),
            json!({ "op": "propose", "name": "x" }),
            json!({ "op": "propose", "name": "x", "find": "a" }),
            json!({ "op": "propose", "name": "x", "text": "a", "find": "b", "replace": "c" }),
            json!({ "op": "propose", "name": "x", "find": "b", "replace": ["c"] }),
            json!({ "op": "list", "category": "x" }),
        ];
        let lines = calls.map(|call| match SkillArguments::parse(&call) {
            Ok(arguments) => format!("{arguments:?}"),
            Err(why) => why,
        });
        expect![[r#"
            List { part: None }
            List { part: Some("git") }
            Read { name: "haiku", file: "SKILL.md", page: 1 }
            Read { name: "haiku", file: "references/x.md", page: 2 }
            Change(SkillCall { name: "haiku", file: None, edit: Write { text: "x" } })
            Change(SkillCall { name: "haiku", file: Some("scripts/x"), edit: Replace { find: "a", replace: "" } })
            Change(SkillCall { name: "haiku", file: None, edit: Archive })
            the arguments must be an object
            op is missing: list, read, propose or archive
            op must be list, read, propose or archive, not delete
            name is missing: the name of the skill
            name must be a string
            page must be a number from 1
            page must be a number from 1
            name is missing: the name of the skill
            text is missing, or find and replace
            replace is missing: what replaces find
            use text, or find and replace, not both
            replace must be a string
            there is no argument category; the arguments are op, name, file, text, find, replace, page
        "#]]
        .assert_eq(&format!("{}\n", lines.join("\n")));
    }
}
