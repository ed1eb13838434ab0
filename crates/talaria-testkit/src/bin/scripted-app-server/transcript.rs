//! The transcript: one directive a line, as JSON. Empty lines and lines that begin with `#` are left out.
//!
//! | directive | what happens |
//! |---|---|
//! | `{"expect":"method"}`, `{"expect_any":["a","b"]}` | waits for that request or notification and remembers it |
//! | `{"expect_answer":7}` | waits for the client's answer to our request 7 and remembers it |
//! | `{"reply":{…}}`, `{"reply_error":{…}}` | answers the remembered request |
//! | `{"send":{…}}`, `{"repeat":100000,"send":{…}}` | sends a message; `$n` in its strings is the counter |
//! | `{"raw":"text"}`, `{"raw_hex":"ff fe"}` | one line or text frame, valid or not |
//! | `{"huge":67108864}` | one valid notification of this many bytes |
//! | `{"stderr":"text"}` | a line on standard error |
//! | `{"exit":3}` | the process ends |
//! | `{"close":true}` | the connection ends; on a socket the play continues with the next client |
//! | `{"hang":true}` | from here on everything is read and logged, and nothing answered |
//! | `{"freeze":true}` | from here on nothing is even read |
//! | `{"on":"method","do":[…]}` | plays the list whenever that method arrives and is not expected |
//! | `{"loop":[…]}` | plays the list repeatedly |
//! | `{"ignore_signals":true}` | SIGTERM and SIGINT have no effect any more |
//! | `{"spawn":"sleep 99"}` | starts a detached shell command |
//!
//! A request that is neither expected nor handled is refused as 0.166 refuses an unknown method. At the end of the
//! transcript the handlers continue until the client leaves.

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

/// One step of the play.
#[derive(Clone, Debug)]
pub(crate) enum Directive {
    Expect(Vec<String>),
    ExpectAnswer(Value),
    Reply(Value),
    ReplyError(Value),
    Send { message: Value, times: Option<u64> },
    Raw(Vec<u8>),
    Huge(usize),
    Stderr(String),
    Exit(i32),
    Close,
    Hang,
    Freeze,
    On { method: String, directives: Vec<Self> },
    Loop(Vec<Self>),
    IgnoreSignals,
    Spawn(String),
}

/// Reads a whole transcript; an error names the line.
pub(crate) fn parse(text: &str) -> Result<Vec<Directive>> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let directive = |(index, line)| {
        let value = serde_json::from_str(line).map_err(anyhow::Error::from);
        value.and_then(|value: Value| one(&value)).with_context(|| format!("line {}", index + 1))
    };
    lines.map(directive).collect()
}

fn one(value: &Value) -> Result<Directive> {
    let object = value.as_object().context("a directive is an object")?;
    // `repeat` and `do` belong to a directive and are none themselves.
    let named = object.iter().find(|(key, _)| !matches!(key.as_str(), "repeat" | "do"));
    let (key, given) = named.context("an empty directive")?;
    Ok(match key.as_str() {
        "expect" => Directive::Expect(vec![text(given)?]),
        "expect_any" => Directive::Expect(list(given)?.iter().map(text).collect::<Result<_>>()?),
        "expect_answer" => Directive::ExpectAnswer(given.clone()),
        "reply" => Directive::Reply(given.clone()),
        "reply_error" => Directive::ReplyError(given.clone()),
        "send" => {
            let times = object.get("repeat").map(|times| times.as_u64().context("repeat is a number"));
            Directive::Send { message: given.clone(), times: times.transpose()? }
        }
        "raw" => Directive::Raw(text(given)?.into_bytes()),
        "raw_hex" => Directive::Raw(bytes(&text(given)?)?),
        "huge" => Directive::Huge(given.as_u64().and_then(|size| size.try_into().ok()).context("a size")?),
        "stderr" => Directive::Stderr(text(given)?),
        "exit" => Directive::Exit(given.as_i64().and_then(|code| code.try_into().ok()).context("a code")?),
        "close" => Directive::Close,
        "hang" => Directive::Hang,
        "freeze" => Directive::Freeze,
        "on" => {
            let directives = many(object.get("do").context("on needs do")?)?;
            Directive::On { method: text(given)?, directives }
        }
        "loop" => Directive::Loop(many(given)?),
        "ignore_signals" => Directive::IgnoreSignals,
        "spawn" => Directive::Spawn(text(given)?),
        unknown => bail!("unknown directive {unknown:?}"),
    })
}

fn many(value: &Value) -> Result<Vec<Directive>> {
    list(value)?.iter().map(one).collect()
}

fn list(value: &Value) -> Result<&Vec<Value>> {
    value.as_array().context("a list is needed here")
}

fn text(value: &Value) -> Result<String> {
    value.as_str().map(str::to_owned).context("a string is needed here")
}

fn bytes(hex: &str) -> Result<Vec<u8>> {
    hex.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).context("two hex digits")).collect()
}

/// Fills a template from the remembered message: `"$id"`, `"$.path"`, `"$.path|default"`, `"$sandbox"`,
/// `"$profile"`.
pub(crate) fn fill(template: &Value, remembered: &Value) -> Value {
    match template {
        Value::String(text) if text == "$id" => remembered["id"].clone(),
        Value::String(text) if text == "$sandbox" => sandbox(&remembered["params"]),
        Value::String(text) if text == "$profile" => profile(&remembered["params"]),
        Value::String(text) => match text.strip_prefix("$.") {
            Some(path) => look_up(path, remembered),
            None => template.clone(),
        },
        Value::Array(items) => items.iter().map(|item| fill(item, remembered)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| (key.clone(), fill(value, remembered))).collect()
        }
        other => other.clone(),
    }
}

/// The sandbox that was asked for, by a mode or by a permission profile, as Codex reports it; none where nothing was
/// asked.
fn sandbox(params: &Value) -> Value {
    let config = &params["config"];
    let profile = config["default_permissions"].as_str().map(|name| &config["permissions"][name]);
    let by_profile = profile.map(|profile| match profile["filesystem"][":project_roots"].as_str() {
        Some("write") => "workspace-write",
        _ => "read-only",
    });
    match params["sandbox"].as_str().or(by_profile) {
        Some("read-only") => json!({ "type": "readOnly", "networkAccess": false }),
        Some("workspace-write") => json!({
            "type": "workspaceWrite", "writableRoots": [], "networkAccess": false,
            "excludeTmpdirEnvVar": false, "excludeSlashTmp": false,
        }),
        _ => json!({ "type": "dangerFullAccess" }),
    }
}

/// The requested permission profile, as Codex reports it.
fn profile(params: &Value) -> Value {
    match params["config"]["default_permissions"].as_str() {
        Some(name) => json!({ "id": name, "extends": null }),
        None => Value::Null,
    }
}

fn look_up(path: &str, remembered: &Value) -> Value {
    let (path, default) = match path.split_once('|') {
        Some((path, default)) => (path, Value::from(default)),
        None => (path, Value::Null),
    };
    let found = path.split('.').fold(remembered, |value, key| &value[key]);
    if found.is_null() { default } else { found.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_takes_values_of_the_remembered_message_with_their_type() {
        let remembered = json!({ "id": 7, "params": { "cwd": "/w", "sandbox": "read-only" } });
        let template =
            json!({ "id": "$id", "a": ["$.params.cwd"], "b": "$.params.x|none", "c": "$5", "d": "$sandbox" });
        let read_only = json!({ "type": "readOnly", "networkAccess": false });
        let filled = json!({ "id": 7, "a": ["/w"], "b": "none", "c": "$5", "d": read_only });
        assert_eq!(fill(&template, &remembered), filled);
    }

    #[test]
    fn a_profile_is_told_back_with_the_sandbox_that_it_is() {
        let told = |filesystem: Value| {
            let config =
                json!({ "default_permissions": "p", "permissions": { "p": { "filesystem": filesystem } } });
            let filled = fill(&json!(["$profile", "$sandbox"]), &json!({ "params": { "config": config } }));
            (filled[0]["id"].clone(), filled[1]["type"].clone())
        };
        assert_eq!(told(json!({ ":root": "read" })), (json!("p"), json!("readOnly")));
        assert_eq!(told(json!({ ":project_roots": "write" })), (json!("p"), json!("workspaceWrite")));
        assert_eq!(fill(&json!("$profile"), &json!({ "params": {} })), Value::Null);
    }

    #[test]
    fn a_mistake_names_its_line() {
        let error = parse("{\"hang\":true}\n\n{\"sned\":{}}").unwrap_err();
        assert_eq!(format!("{error:#}"), "line 3: unknown directive \"sned\"");
    }
}
