//! What the arguments of all tools have in common. No runtime checks them against the schema, so each tool reads its own with
//! this; every mistake is said to the model. Pure.

use serde_json::{Map, Value};
use talaria_guard::shorten::shorten_line;

/// How much of a name that a model made up is repeated to it.
const NAME: usize = 40;

/// The arguments of a call, or the fields of an object in them.
#[derive(Clone, Copy)]
pub(super) struct ToolArguments<'a> {
    values: &'a Map<String, Value>,
}

impl<'a> ToolArguments<'a> {
    /// Reads the arguments of a call, which have these names.
    pub(super) fn read(arguments: &'a Value, names: &[&str]) -> Result<Self, String> {
        let values = arguments.as_object().ok_or("the arguments must be an object")?;
        Self { values }.check_names("argument", names)
    }

    /// Reads an object in the arguments, whose fields have these names.
    pub(super) fn fields(value: &'a Value, names: &[&str]) -> Result<Self, String> {
        let values = value.as_object().ok_or("must be an object")?;
        Self { values }.check_names("field", names)
    }

    fn check_names(self, what: &str, names: &[&str]) -> Result<Self, String> {
        let Some(name) = self.values.keys().find(|name| !names.contains(&name.as_str())) else {
            return Ok(self);
        };
        let (name, are) = (shorten_line(name, NAME), if names.len() == 1 { " is" } else { "s are" });
        Err(format!("there is no {what} {name}; the {what}{are} {}", names.join(", ")))
    }

    /// The value of an argument; null is none.
    pub(super) fn get(self, name: &str) -> Option<&'a Value> {
        self.values.get(name).filter(|value| !value.is_null())
    }

    /// A text that may be missing; a blank one is none.
    pub(super) fn text(self, name: &str) -> Result<Option<String>, String> {
        Ok(self.raw_text(name)?.filter(|text| !text.trim().is_empty()))
    }

    /// A text that may be missing, as it is.
    pub(super) fn raw_text(self, name: &str) -> Result<Option<String>, String> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        self.get(name).map(|value| text(value).ok_or_else(|| format!("{name} must be a string"))).transpose()
    }

    /// A number that may be missing.
    pub(super) fn number(self, name: &str) -> Result<Option<i64>, String> {
        let number = |value: &Value| value.as_i64().ok_or_else(|| format!("{name} must be a whole number"));
        self.get(name).map(number).transpose()
    }

    /// The page of the result, from 1.
    pub(super) fn page(self) -> Result<usize, String> {
        match self.number("page")?.unwrap_or(1) {
            page if page < 1 => Err("page begins at 1".to_owned()),
            page => Ok(usize::try_from(page).unwrap_or(usize::MAX)),
        }
    }

    /// Says that an argument is none of the words that it can be.
    pub(super) fn not_one_of(name: &str, words: &str, other: &str) -> String {
        format!("{name} must be {words}, not {}", shorten_line(other, NAME))
    }
}
