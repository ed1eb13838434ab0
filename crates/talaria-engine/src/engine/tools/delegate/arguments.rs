//! The arguments of `talaria_delegate`, validated: no runtime checks them against the schema. Pure.

use serde_json::Value;

use crate::engine::delegation::DelegatedGoal;
use crate::engine::tools::arguments::ToolArguments;

/// The longest goal and the longest context, in characters.
const LONGEST_GOAL: usize = 8_000;
const LONGEST_CONTEXT: usize = 40_000;
/// How long a wait may take, and how long it takes if no time is named, in seconds.
const LONGEST_WAIT: u64 = 60;
const USUAL_WAIT: u64 = 30;
const NAMES: [&str; 4] = ["op", "goals", "id", "seconds"];
const FIELDS: [&str; 3] = ["goal", "context", "worktree"];

/// The requested operation.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum DelegateWish {
    Start(Vec<DelegatedGoal>),
    Wait { id: Option<String>, seconds: u64 },
    Result { id: String },
    Stop { id: String },
    List,
}

impl DelegateWish {
    /// Reads what the model wrote; `Err` says to it what is wrong.
    pub(super) fn parse(arguments: &Value) -> Result<Self, String> {
        let arguments = ToolArguments::read(arguments, &NAMES)?;
        let op = arguments.text("op")?.ok_or("op is missing: start, wait, result, stop or list")?;
        let id =
            || arguments.text("id")?.ok_or_else(|| format!("id is missing: op {op} needs the id of a task"));
        let unused: &[&str] = match op.as_str() {
            "start" => &["id", "seconds"],
            "wait" => &["goals"],
            "result" | "stop" => &["goals", "seconds"],
            "list" => &["goals", "id", "seconds"],
            other => {
                return Err(ToolArguments::not_one_of("op", "start, wait, result, stop or list", other));
            }
        };
        if let Some(name) = unused.iter().find(|name| arguments.get(name).is_some()) {
            return Err(format!("op {op} has no {name}"));
        }
        match op.as_str() {
            "start" => goals(arguments).map(Self::Start),
            "wait" => Ok(Self::Wait { id: arguments.text("id")?, seconds: seconds(arguments)? }),
            "result" => Ok(Self::Result { id: id()? }),
            "stop" => Ok(Self::Stop { id: id()? }),
            _ => Ok(Self::List),
        }
    }
}

fn goals(arguments: ToolArguments<'_>) -> Result<Vec<DelegatedGoal>, String> {
    let listed = arguments.get("goals").and_then(Value::as_array).filter(|goals| !goals.is_empty());
    let listed = listed.ok_or("goals must be a list with goals")?;
    let goal = |(number, value): (usize, &Value)| {
        goal(value).map_err(|why| format!("nothing was started: goal {}: {why}", number + 1))
    };
    listed.iter().enumerate().map(goal).collect()
}

fn goal(value: &Value) -> Result<DelegatedGoal, String> {
    let fields = ToolArguments::fields(value, &FIELDS)?;
    let has_worktree = match fields.get("worktree") {
        None => false,
        Some(value) => value.as_bool().ok_or("worktree must be true or false")?,
    };
    let goal = fields.text("goal")?.ok_or("goal is missing")?;
    let context = fields.text("context")?;
    let too_long = |text: &str, most: usize| text.chars().nth(most).is_some();
    if too_long(&goal, LONGEST_GOAL) {
        return Err(format!("goal has more than {LONGEST_GOAL} characters"));
    }
    if context.as_deref().is_some_and(|context| too_long(context, LONGEST_CONTEXT)) {
        return Err(format!(
            "context has more than {LONGEST_CONTEXT} characters: put it into a file and name the file"
        ));
    }
    Ok(DelegatedGoal { goal, context, has_worktree })
}

fn seconds(arguments: ToolArguments<'_>) -> Result<u64, String> {
    match arguments.get("seconds") {
        None => Ok(USUAL_WAIT),
        Some(value) => value
            .as_u64()
            .filter(|seconds| *seconds <= LONGEST_WAIT)
            .ok_or_else(|| format!("seconds must be a whole number from 0 to {LONGEST_WAIT}")),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    #[test]
    fn wrong_arguments_are_refused_in_words() {
        let start = |goal: Value| json!({ "op": "start", "goals": [goal] });
        let calls = [
            start(json!({ "goal": "look", "context": "in src", "worktree": true })),
            json!({ "op": "wait" }),
            json!({ "op": "wait", "id": "codex-1", "seconds": 0 }),
            json!({ "op": "result", "id": "codex-1" }),
            json!({ "op": "stop", "id": "codex-1" }),
            json!({ "op": "list", "id": null }),
            json!([]),
            json!({}),
            json!({ "op": "begin" }),
            json!({ "op": 7 }),
            json!({ "op": "start", "tasks": [] }),
            json!({ "op": "start", "goals": [] }),
            json!({ "op": "start", "goals": "look" }),
            json!({ "op": "start", "goals": [{ "goal": "a" }], "id": "codex-1" }),
            start(json!("look")),
            start(json!({ "goal": " " })),
            start(json!({ "goal": "a", "cwd": "/" })),
            start(json!({ "goal": "a", "worktree": "yes" })),
            start(json!({ "goal": "a".repeat(8001) })),
            start(json!({ "goal": "a", "context": "a".repeat(40_001) })),
            json!({ "op": "wait", "seconds": 61 }),
            json!({ "op": "wait", "seconds": -1 }),
            json!({ "op": "result" }),
            json!({ "op": "list", "seconds": 3 }),
        ];
        let lines = calls.map(|call| match DelegateWish::parse(&call) {
            Ok(wish) => format!("{wish:?}"),
            Err(why) => why,
        });
        expect![[r#"
            Start([DelegatedGoal { goal: "look", context: Some("in src"), has_worktree: true }])
            Wait { id: None, seconds: 30 }
            Wait { id: Some("codex-1"), seconds: 0 }
            Result { id: "codex-1" }
            Stop { id: "codex-1" }
            List
            the arguments must be an object
            op is missing: start, wait, result, stop or list
            op must be start, wait, result, stop or list, not begin
            op must be a string
            there is no argument tasks; the arguments are op, goals, id, seconds
            goals must be a list with goals
            goals must be a list with goals
            op start has no id
            nothing was started: goal 1: must be an object
            nothing was started: goal 1: goal is missing
            nothing was started: goal 1: there is no field cwd; the fields are goal, context, worktree
            nothing was started: goal 1: worktree must be true or false
            nothing was started: goal 1: goal has more than 8000 characters
            nothing was started: goal 1: context has more than 40000 characters: put it into a file and name the file
            seconds must be a whole number from 0 to 60
            seconds must be a whole number from 0 to 60
            id is missing: op result needs the id of a task
            op list has no seconds"#]].assert_eq(&lines.join("\n"));
    }
}
