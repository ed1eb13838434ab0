//! The arguments of `talaria_memory`, validated: no runtime checks them against the schema. Pure.

use serde_json::Value;
use talaria_core::memory::MemoryScope;
use talaria_core::memory::draft::MemoryOperation;

use crate::engine::tools::arguments::ToolArguments;

/// The most operations of one call.
const MOST: usize = 20;
const NAMES: [&str; 4] = ["op", "scope", "text", "find"];

/// One call: its changes, and the entries to return after them.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MemoryArguments {
    pub(super) operations: Vec<MemoryOperation>,
    pub(super) looks: Vec<MemoryLook>,
}

/// The entries that a call reads.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MemoryLook {
    /// None means all scopes.
    pub(super) scope: Option<MemoryScope>,
    pub(super) find: Option<String>,
}

impl MemoryArguments {
    /// Reads what the model wrote; `Err` says to it what is wrong. `project` is the directory of the scope `project`.
    pub(super) fn parse(arguments: &Value, project: &str) -> Result<Self, String> {
        let arguments = ToolArguments::read(arguments, &["operations"])?;
        let listed = arguments.get("operations").and_then(Value::as_array);
        let listed =
            listed.filter(|listed| !listed.is_empty()).ok_or("operations must be a list with operations")?;
        if listed.len() > MOST {
            return Err(format!("{} operations are too many; at most {MOST} in one call", listed.len()));
        }
        let mut parsed = Self { operations: Vec::new(), looks: Vec::new() };
        for (number, operation) in (1..).zip(listed) {
            parsed
                .add(operation, project)
                .map_err(|why| format!("nothing was changed: operation {number}: {why}"))?;
        }
        Ok(parsed)
    }

    fn add(&mut self, operation: &Value, project: &str) -> Result<(), String> {
        let operation = ToolArguments::fields(operation, &NAMES)?;
        let op = operation.text("op")?.ok_or("op is missing")?;
        let scope = match operation.text("scope")? {
            None => None,
            Some(word) => Some(
                MemoryScope::named(&word, project)
                    .ok_or_else(|| format!("scope must be user, project or notes, not {word}"))?,
            ),
        };
        let scoped = || scope.clone().ok_or_else(|| "scope is missing: user, project or notes".to_owned());
        let new = || operation.text("text")?.ok_or_else(|| "text is missing".to_owned());
        let find =
            || operation.text("find")?.ok_or_else(|| "find is missing: a part of the entry".to_owned());
        match op.as_str() {
            "add" => self.operations.push(MemoryOperation::Add { scope: scoped()?, text: new()? }),
            "replace" => {
                let (scope, find, text) = (scoped()?, find()?, new()?);
                self.operations.push(MemoryOperation::Replace { scope, find, text });
            }
            "remove" => self.operations.push(MemoryOperation::Remove { scope: scoped()?, find: find()? }),
            "read" => {
                let find = operation.text("find")?;
                self.looks.push(MemoryLook { scope, find });
            }
            other => return Err(ToolArguments::not_one_of("op", "add, replace, remove or read", other)),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    #[test]
    fn every_mistake_of_a_model_is_said_to_it() {
        let one = |operation: Value| json!({ "operations": [operation] });
        let calls = [
            one(json!({ "op": "add", "scope": "user", "text": "x" })),
            one(json!({ "op": "replace", "scope": "project", "find": "x", "text": "y" })),
            one(json!({ "op": "remove", "scope": "notes", "find": "x" })),
            one(json!({ "op": "read" })),
            one(json!({ "op": "read", "scope": "notes", "find": "x", "text": "" })),
            json!([]),
            json!({}),
            json!({ "operations": [] }),
            json!({ "operations": "add" }),
            json!({ "target": "user" }),
            one(json!("add")),
            one(json!({ "op": "forget" })),
            one(json!({ "op": "add", "scope": "user" })),
            one(json!({ "op": "add", "text": "x" })),
            one(json!({ "op": "add", "scope": "world", "text": "x" })),
            one(json!({ "op": "add", "scope": "user", "text": 7 })),
            one(json!({ "op": "remove", "scope": "user" })),
            one(json!({ "op": "remove", "scope": "user", "id": "x" })),
            json!({ "operations": vec![json!({ "op": "read" }); 21] }),
        ];
        let lines = calls.map(|call| match MemoryArguments::parse(&call, "/p") {
            Ok(arguments) => format!("{:?} {:?}", arguments.operations, arguments.looks),
            Err(why) => why,
        });
        expect![[r#"
            [Add { scope: User, text: "x" }] []
            [Replace { scope: Project("/p"), find: "x", text: "y" }] []
            [Remove { scope: Notes, find: "x" }] []
            [] [MemoryLook { scope: None, find: None }]
            [] [MemoryLook { scope: Some(Notes), find: Some("x") }]
            the arguments must be an object
            operations must be a list with operations
            operations must be a list with operations
            operations must be a list with operations
            there is no argument target; the argument is operations
            nothing was changed: operation 1: must be an object
            nothing was changed: operation 1: op must be add, replace, remove or read, not forget
            nothing was changed: operation 1: text is missing
            nothing was changed: operation 1: scope is missing: user, project or notes
            nothing was changed: operation 1: scope must be user, project or notes, not world
            nothing was changed: operation 1: text must be a string
            nothing was changed: operation 1: find is missing: a part of the entry
            nothing was changed: operation 1: there is no field id; the fields are op, scope, text, find
            21 operations are too many; at most 20 in one call"#]]
        .assert_eq(&lines.join("\n"));
    }
}
