//! The committed OpenAPI document (`docs/openapi.json`): whether a value fits one of its schemas, and which statuses a route
//! may answer with. A test of `talaria-server` keeps the document fresh.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use jsonschema::Validator;
use serde_json::{Value, json};

/// The document.
#[derive(Debug)]
pub struct ApiDocument(Value);

impl ApiDocument {
    /// Reads the committed document.
    pub fn committed() -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json");
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(cause) => panic!("cannot read {}: {cause}", path.display()),
        };
        match serde_json::from_str(&text) {
            Ok(document) => Self(document),
            Err(cause) => panic!("{} is not JSON: {cause}", path.display()),
        }
    }

    /// The schema of this name, ready to validate values.
    pub fn schema(&self, name: &str) -> ApiSchema {
        let schema = json!({
            "$ref": format!("#/components/schemas/{name}"), "components": self.0["components"].clone(),
        });
        match jsonschema::validator_for(&schema) {
            Ok(validator) => ApiSchema(validator),
            Err(cause) => panic!("{name} is not a schema: {cause}"),
        }
    }

    /// The values of a constant field in the alternatives of a schema: the kinds that it names.
    pub fn kinds(&self, name: &str, field: &str) -> BTreeSet<String> {
        let alternatives =
            self.0["components"]["schemas"][name]["oneOf"].as_array().cloned().unwrap_or_default();
        let kind = |one: &Value| one["properties"][field]["const"].as_str().map(str::to_owned);
        alternatives.iter().filter_map(kind).collect()
    }

    /// The statuses that the document names for a route; `verb` is `get` or `post`.
    pub fn statuses(&self, verb: &str, path: &str) -> BTreeSet<u16> {
        let responses = self.0["paths"][path][verb]["responses"].as_object().cloned().unwrap_or_default();
        responses.keys().filter_map(|code| code.parse().ok()).collect()
    }
}

/// One schema of the document.
#[derive(Debug)]
pub struct ApiSchema(Validator);

impl ApiSchema {
    /// Fails the test if the value does not fit.
    pub fn assert_fits(&self, value: &Value) {
        let errors: Vec<String> = self.0.iter_errors(value).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:#?} in {value:#}");
    }

    /// Does the value fit?
    pub fn fits(&self, value: &Value) -> bool {
        self.0.is_valid(value)
    }
}
