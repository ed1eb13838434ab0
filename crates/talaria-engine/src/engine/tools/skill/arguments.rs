//! The arguments of `talaria_skill`, validated: no runtime checks them against the schema. Pure.

use serde_json::Value;
use talaria_core::skill::SKILL_FILE;
use talaria_core::skill::edit::SkillEdit;

use crate::engine::tools::arguments::ToolArguments;

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
        let arguments = ToolArguments::read(arguments, &NAMES)?;
        let op = arguments.text("op")?.ok_or("op is missing: list, read, propose or archive")?;
        let (part, file) = (arguments.text("name")?, arguments.text("file")?);
        let name = || part.clone().ok_or_else(|| "name is missing: the name of the skill".to_owned());
        match op.as_str() {
            "list" => Ok(Self::List { part }),
            "read" => Ok(Self::Read {
                name: name()?,
                file: file.unwrap_or_else(|| SKILL_FILE.to_owned()),
                page: arguments.page()?,
            }),
            "propose" => Ok(Self::Change(SkillCall { name: name()?, file, edit: edit(arguments)? })),
            "archive" => Ok(Self::Change(SkillCall { name: name()?, file: None, edit: SkillEdit::Archive })),
            other => Err(ToolArguments::not_one_of("op", "list, read, propose or archive", other)),
        }
    }
}

fn edit(arguments: ToolArguments<'_>) -> Result<SkillEdit, String> {
    // An empty replacement removes the part.
    let replace = arguments.raw_text("replace")?;
    match (arguments.text("text")?, arguments.text("find")?, replace) {
        (Some(text), None, None) => Ok(SkillEdit::Write { text }),
        (None, Some(find), Some(replace)) => Ok(SkillEdit::Replace { find, replace }),
        (Some(_), _, _) => Err("use text, or find and replace, not both".to_owned()),
        (None, Some(_), None) => Err("replace is missing: what replaces find".to_owned()),
        (None, None, _) => Err("text is missing, or find and replace".to_owned()),
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
            page begins at 1
            page must be a whole number
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
