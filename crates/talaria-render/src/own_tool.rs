//! Names a call of one of Talaria's own tools by what it does: `remember (user): Prefers tabs.`, not `talaria_memory`.
//!
//! Arguments come from the model. If they are invalid, the call keeps the name of its tool; the step's own end then has the
//! error.

use serde::Deserialize;

use super::sanitize::one_line;

/// The longest text of the model in a name, in characters.
const TEXT: usize = 120;

/// Returns what a call of this tool with these arguments (JSON) does; `None` for another tool, or arguments that do not say.
pub(super) fn describe(tool: &str, arguments: &str) -> Option<String> {
    match tool {
        "talaria_memory" => describe_memory(&parse::<Memory>(arguments)?.operations),
        "talaria_recall" => describe_recall(&parse(arguments)?),
        "talaria_web" => {
            let web: Web = parse(arguments)?;
            let find = web.find.map(|find| format!(", find {}", shown(&find))).unwrap_or_default();
            Some(format!("read {}{find}", shown(&web.url)))
        }
        "talaria_skill" => {
            let skill: Skill = parse(arguments)?;
            let name = skill.name.map(|name| format!(" {}", shown(&name))).unwrap_or_default();
            Some(format!("{} skill{name}", shown(&skill.op)))
        }
        "talaria_delegate" => describe_delegation(&parse(arguments)?),
        _ => None,
    }
}

#[derive(Deserialize)]
struct Memory {
    operations: Vec<MemoryOperation>,
}

#[derive(Deserialize)]
struct MemoryOperation {
    op: String,
    scope: Option<String>,
    text: Option<String>,
    find: Option<String>,
}

fn describe_memory(operations: &[MemoryOperation]) -> Option<String> {
    let [only] = operations else {
        return (!operations.is_empty()).then(|| format!("memory: {} operations", operations.len()));
    };
    let scope = only.scope.as_deref().map(|scope| format!(" ({})", shown(scope))).unwrap_or_default();
    let text = |text: &Option<String>| text.as_deref().map(shown).unwrap_or_default();
    Some(match only.op.as_str() {
        "add" => format!("remember{scope}: {}", text(&only.text)),
        "replace" => format!("correct memory{scope}: {}", text(&only.text)),
        "remove" => format!("forget{scope}: {}", text(&only.find)),
        "read" => format!("read memory{scope}"),
        _ => return None,
    })
}

#[derive(Deserialize)]
struct Recall {
    query: Option<String>,
    session: Option<String>,
}

fn describe_recall(recall: &Recall) -> Option<String> {
    match recall {
        Recall { query: Some(query), .. } => Some(format!("search conversations: {}", shown(query))),
        Recall { session: Some(session), .. } => Some(format!("read conversation {}", shown(session))),
        Recall { query: None, session: None } => None,
    }
}

#[derive(Deserialize)]
struct Web {
    url: String,
    find: Option<String>,
}

#[derive(Deserialize)]
struct Skill {
    op: String,
    name: Option<String>,
}

#[derive(Deserialize)]
struct Delegation {
    op: String,
    #[serde(default)]
    goals: Vec<Goal>,
    id: Option<String>,
}

#[derive(Deserialize)]
struct Goal {
    goal: String,
}

fn describe_delegation(delegation: &Delegation) -> Option<String> {
    let id = delegation.id.as_deref().map(|id| format!(" {}", shown(id))).unwrap_or_default();
    Some(match (delegation.op.as_str(), delegation.goals.as_slice()) {
        ("start", [only]) => format!("delegate: {}", shown(&only.goal)),
        ("start", [first, rest @ ..]) => format!("delegate: {} (+{})", shown(&first.goal), rest.len()),
        ("wait", _) => format!("wait for task{id}"),
        ("result", _) => format!("read result of task{id}"),
        ("stop", _) => format!("stop task{id}"),
        _ => return None,
    })
}

fn parse<'a, T: Deserialize<'a>>(arguments: &'a str) -> Option<T> {
    serde_json::from_str(arguments).ok()
}

/// A text of the model on one line, cut where it is long.
fn shown(text: &str) -> String {
    let line = one_line(text.trim());
    match line.char_indices().nth(TEXT) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn calls_are_named_by_what_they_do() {
        let long = format!(r#"{{"operations":[{{"op":"add","text":"{}"}}]}}"#, "x".repeat(200));
        let calls = [
            ("talaria_memory", r#"{"operations":[{"op":"add","scope":"user","text":"Prefers\ntabs."}]}"#),
            ("talaria_memory", r#"{"operations":[{"op":"remove","scope":"notes","find":"port 80"}]}"#),
            ("talaria_memory", r#"{"operations":[{"op":"read"},{"op":"read"}]}"#),
            ("talaria_memory", r#"{"operations":[]}"#),
            ("talaria_memory", r#"{"operations":"no"}"#),
            ("talaria_memory", &long),
            ("talaria_recall", r#"{"query":"cache"}"#),
            ("talaria_recall", r#"{"session":"3f2a","around":12}"#),
            ("talaria_web", r#"{"url":"https://example.org/a","find":"price"}"#),
            ("talaria_skill", r#"{"op":"propose","name":"release"}"#),
            ("talaria_delegate", r#"{"op":"start","goals":[{"goal":"fix it"},{"goal":"test it"}]}"#),
            ("talaria_delegate", r#"{"op":"wait","id":"t-1","seconds":30}"#),
            ("another_tool", r#"{"query":"cache"}"#),
        ];
        let named: Vec<String> = calls
            .iter()
            .map(|(tool, arguments)| describe(tool, arguments).unwrap_or_else(|| format!("- {tool}")))
            .collect();
        expect![[r#"
            remember (user): Prefers␊tabs.
            forget (notes): port 80
            memory: 2 operations
            - talaria_memory
            - talaria_memory
            remember: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…
            search conversations: cache
            read conversation 3f2a
            read https://example.org/a, find price
            propose skill release
            delegate: fix it (+1)
            wait for task t-1
            - another_tool"#]].assert_eq(&named.join("\n"));
    }
}
