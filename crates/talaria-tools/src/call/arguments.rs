//! Reads the arguments of a call and remembers which were read, so that an unknown one is reported and never ignored.

use serde_json::{Map, Value};
use talaria_core::nearest::nearest;

/// The arguments of one call, or one entry of a list in them.
pub(super) struct CallArguments<'a> {
    tool: String,
    values: &'a Map<String, Value>,
    read: Vec<&'static str>,
}

impl<'a> CallArguments<'a> {
    pub(super) fn new(tool: &str, arguments: &'a Value) -> Result<Self, String> {
        let values =
            arguments.as_object().ok_or_else(|| format!("{tool}: the arguments must be a JSON object"))?;
        Ok(Self { tool: tool.to_owned(), values, read: Vec::new() })
    }

    fn get(&mut self, name: &'static str) -> Option<&'a Value> {
        self.read.push(name);
        // Some models write null for what they leave out.
        self.values.get(name).filter(|value| !value.is_null())
    }

    pub(super) fn text(&mut self, name: &'static str) -> Result<String, String> {
        let found = self.optional_text(name)?;
        found.ok_or_else(|| format!("{}: {name} is missing", self.tool))
    }

    pub(super) fn optional_text(&mut self, name: &'static str) -> Result<Option<String>, String> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(format!("{}: {name} must be a string", self.tool)),
        }
    }

    pub(super) fn flag(&mut self, name: &'static str) -> Result<bool, String> {
        match self.get(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => Err(format!("{}: {name} must be true or false", self.tool)),
        }
    }

    pub(super) fn number(
        &mut self,
        name: &'static str,
        least: u64,
        most: u64,
    ) -> Result<Option<u64>, String> {
        let Some(value) = self.get(name) else { return Ok(None) };
        match value.as_u64().filter(|number| (least..=most).contains(number)) {
            Some(number) => Ok(Some(number)),
            None if most == u64::MAX => {
                Err(format!("{}: {name} must be a whole number from {least} on", self.tool))
            }
            None => Err(format!("{}: {name} must be a whole number from {least} to {most}", self.tool)),
        }
    }

    pub(super) fn entries(
        &mut self,
        name: &'static str,
        least: usize,
        most: usize,
    ) -> Result<Vec<CallArguments<'a>>, String> {
        let list = match self.get(name) {
            None if least == 0 => return Ok(Vec::new()),
            None => return Err(format!("{}: {name} is missing", self.tool)),
            Some(value) => value.as_array().ok_or_else(|| format!("{}: {name} must be a list", self.tool))?,
        };
        if !(least..=most).contains(&list.len()) {
            return Err(format!(
                "{}: {name} must have {least} to {most} entries, not {}",
                self.tool,
                list.len()
            ));
        }
        list.iter().map(|entry| CallArguments::new(&format!("{}: {name}", self.tool), entry)).collect()
    }

    /// Refuses arguments that were not read: the model meant something by them. Null is what some models write for nothing.
    pub(super) fn finish(self) -> Result<(), String> {
        let is_unread =
            |(name, value): &(&String, &Value)| !value.is_null() && !self.read.contains(&name.as_str());
        let unknown = self.values.iter().find(is_unread);
        let Some((unknown, _)) = unknown else { return Ok(()) };
        let hint = match nearest(unknown, self.read.iter().copied()) {
            Some(name) => format!("; do you mean {name}?"),
            None => format!("; known: {}", self.read.join(", ")),
        };
        Err(format!("{}: there is no parameter {unknown:?} here{hint}", self.tool))
    }
}
