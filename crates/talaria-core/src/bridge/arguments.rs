//! Parsing and validating the arguments of a model: every name, word and limit of the table is enforced here and
//! nowhere else.
//!
//! `null` and blank text count as not given, because some clients fill in every parameter. A known parameter that does
//! not belong to the action is still validated, left out, and reported.

use serde_json::{Map, Value};

use super::parameter::{ALL, Parameter, Takes, refused};
use super::{Action, Mistake};
use crate::admission::{LONGEST_PROMPT, MOST_ROOTS};
use crate::nearest::nearest;
use talaria_guard::plain;

/// The longest id.
const LONGEST_ID: usize = 64;
/// How much of a wrong word is repeated.
const REPEATED: usize = 60;

/// Validated arguments.
#[derive(Debug)]
pub(super) struct Arguments {
    pub(super) action: Action,
    values: Map<String, Value>,
    /// Parameters that do not go with the action.
    pub(super) ignored: Vec<&'static str>,
}

impl Arguments {
    /// Checks everything that was written.
    pub(super) fn read(written: &Map<String, Value>) -> Result<Self, Mistake> {
        let action = action(written.get("action"))?;
        let (mut values, mut ignored) = (Map::new(), Vec::new());
        for (name, value) in written.iter().filter(|(name, _)| *name != "action") {
            let parameter = ALL.iter().find(|parameter| parameter.name == name);
            let parameter = parameter.ok_or_else(|| unknown(name))?;
            let Some(value) = checked(parameter, value)? else { continue };
            if parameter.goes_with.contains(&action) {
                values.insert(name.clone(), value);
            } else {
                ignored.push(parameter.name);
            }
        }
        Ok(Self { action, values, ignored })
    }

    pub(super) fn text(&self, name: &str) -> Option<String> {
        self.values.get(name).and_then(Value::as_str).map(str::to_owned)
    }

    pub(super) fn flag(&self, name: &str) -> bool {
        self.values.get(name).and_then(Value::as_bool).unwrap_or_default()
    }

    pub(super) fn count(&self, name: &str) -> Option<u64> {
        self.values.get(name).and_then(Value::as_u64)
    }

    pub(super) fn texts(&self, name: &str) -> Vec<String> {
        let all = self.values.get(name).and_then(Value::as_array);
        all.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    }

    pub(super) fn object(&self, name: &str) -> Option<Map<String, Value>> {
        self.values.get(name).and_then(Value::as_object).cloned()
    }

    /// A text that the action cannot do without.
    pub(super) fn needed(&self, name: &str) -> Result<String, Mistake> {
        self.text(name).ok_or_else(|| missing(self.action, name))
    }
}

/// Says what an action cannot do without.
pub(super) fn missing(action: Action, name: &str) -> Mistake {
    let about = ALL.iter().find(|parameter| parameter.name == name).map(|parameter| parameter.about);
    let mistake = Mistake::new(format!("{} needs {name}", action.name()));
    match about {
        Some(about) => mistake.try_this(format!("{name}: {about}")),
        None => mistake,
    }
}

fn action(written: Option<&Value>) -> Result<Action, Mistake> {
    let allowed = || format!("one of {}", Action::NAMES.join(", "));
    let text = match written {
        None | Some(Value::Null) => return Err(Mistake::new("action is missing").try_this(allowed())),
        Some(Value::String(text)) => text,
        Some(other) => return Err(Mistake::new(format!("action is {}", kind(other))).try_this(allowed())),
    };
    Action::find(text).ok_or_else(|| {
        let mistake = Mistake::new(format!("action is {}, which is not known", quote(text)));
        match nearest(text.trim(), Action::NAMES) {
            Some(near) => mistake.try_this(format!("did you mean {near}? {}", allowed())),
            None => mistake.try_this(allowed()),
        }
    })
}

fn unknown(name: &str) -> Mistake {
    let names = || ALL.iter().map(|parameter| parameter.name).chain(["action"]);
    let mistake = Mistake::new(format!("there is no parameter {}", quote(name)));
    match nearest(name, names()) {
        Some(near) => mistake.try_this(format!("did you mean {near}?")),
        None => mistake.try_this(format!("there are {}", names().collect::<Vec<_>>().join(", "))),
    }
}

/// Checks one value; `None` if nothing was given.
fn checked(parameter: &Parameter, value: &Value) -> Result<Option<Value>, Mistake> {
    let name = parameter.name;
    let wrong = |wanted: &str| Mistake::new(format!("{name} is {}, and must be {wanted}", kind(value)));
    Ok(Some(match (parameter.takes, value) {
        (_, Value::Null) => return Ok(None),
        (Takes::Text(_) | Takes::Word { .. } | Takes::Id, Value::String(text)) if text.trim().is_empty() => {
            return Ok(None);
        }
        (Takes::Text(limit), Value::String(text)) => {
            fits(name, text, limit)?;
            value.clone()
        }
        (Takes::Word { allowed, .. }, Value::String(text)) => word(name, text.trim(), allowed)?.into(),
        (Takes::Id, Value::String(text)) => id(name, text.trim())?.into(),
        (Takes::Flag, Value::Bool(_)) | (Takes::Object, Value::Object(_)) => value.clone(),
        (Takes::Count { least, most, .. }, Value::Number(number)) => {
            // Some clients write every number with a fraction.
            let whole = number.as_u64().or_else(|| exact(number.as_f64()?));
            let whole = whole.filter(|whole| (least..=most).contains(whole)).ok_or_else(|| {
                Mistake::new(format!("{name} is {number}; allowed: {least} to {most}, without a fraction"))
            })?;
            whole.into()
        }
        (Takes::Texts(limit), Value::Array(all)) => {
            if all.len() > MOST_ROOTS {
                let message = format!("{name} has {} entries; allowed: at most {MOST_ROOTS}", all.len());
                return Err(Mistake::new(message));
            }
            for one in all {
                let Value::String(text) = one else {
                    let message = format!("{name} holds {}, and must be a list of texts", kind(one));
                    return Err(Mistake::new(message));
                };
                fits(name, text, limit)?;
            }
            value.clone()
        }
        (Takes::Text(_) | Takes::Id, _) => return Err(wrong("text")),
        (Takes::Word { allowed, .. }, _) => return Err(wrong(&format!("one of {}", allowed.join(", ")))),
        (Takes::Flag, _) => return Err(wrong("true or false")),
        (Takes::Count { least, most, .. }, _) => {
            return Err(wrong(&format!("a whole number from {least} to {most}")));
        }
        (Takes::Texts(_), _) => return Err(wrong("a list of texts")),
        (Takes::Object, _) => return Err(wrong("an object")),
    }))
}

fn word(name: &str, text: &str, allowed: &[&str]) -> Result<String, Mistake> {
    if allowed.contains(&text) {
        return Ok(text.to_owned());
    }
    let listed = format!("allowed: {}", allowed.join(", "));
    if let Some(why) = refused(name, text) {
        return Err(Mistake::new(format!("{name} {text} is refused: {why}")).try_this(listed));
    }
    let mistake = Mistake::new(format!("{name} is {}; {listed}", quote(text)));
    Err(match nearest(text, allowed.iter().copied()) {
        Some(near) => mistake.try_this(format!("did you mean {near}?")),
        None => mistake,
    })
}

fn id(name: &str, text: &str) -> Result<String, Mistake> {
    let is_well_formed =
        text.len() <= LONGEST_ID && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if is_well_formed {
        return Ok(text.to_owned());
    }
    let like = if name == "request_id" { "req-0a1b2c3d4e5f" } else { "codex-0a1b2c3d4e5f" };
    Err(Mistake::new(format!("{name} is {}, which is no id; one looks like {like}", quote(text))))
}

fn fits(name: &str, text: &str, limit: usize) -> Result<(), Mistake> {
    if text.len() > limit {
        let message = format!("{name} has {} bytes; allowed: at most {limit}", text.len());
        let mistake = Mistake::new(message);
        return Err(if limit == LONGEST_PROMPT {
            mistake.try_this("write the long part into a file in the working directory and name that file")
        } else {
            mistake
        });
    }
    if text.contains('\0') {
        return Err(Mistake::new(format!("{name} holds a NUL character")));
    }
    Ok(())
}

fn exact(number: f64) -> Option<u64> {
    // Up to here every integer is represented exactly.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    (number.fract() == 0.0 && (0.0..EXACT).contains(&number)).then_some(number as u64)
}

/// A wrong word, harmless and not too long.
fn quote(text: &str) -> String {
    let cut: String = text.chars().take(REPEATED).collect();
    let more = if cut.len() < text.len() { "…" } else { "" };
    format!("\"{}{more}\"", plain::reveal_line(&cut))
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
