//! Reads the schema of a form: the flat objects of the MCP specification, which are all that Codex lets through.
//!
//! A form with one field that is not understood is not understood: it could not be filled in truthfully.

use serde_json::Value;

use talaria_core::request::{Field, FieldKind, Form, FormOption};

/// Converts a schema; `None` if it cannot be shown as a form.
pub(super) fn form(schema: &Value) -> Option<Form> {
    if schema.get("type")?.as_str()? != "object" {
        return None;
    }
    let required: Vec<&str> = array(schema, "required").iter().filter_map(Value::as_str).collect();
    let properties = schema.get("properties")?.as_object()?;
    let fields =
        properties.iter().map(|(name, schema)| field(name, schema, required.contains(&name.as_str())));
    Some(Form { fields: fields.collect::<Option<_>>()? })
}

fn field(name: &str, schema: &Value, required: bool) -> Option<Field> {
    let text = |key: &str| schema.get(key).and_then(Value::as_str).map(str::to_owned);
    let kind = kind(schema)?;
    let title = text("title");
    let sounds_secret = [Some(name), title.as_deref()].into_iter().flatten().any(Field::is_secret_name);
    let is_text = matches!(kind, FieldKind::Text { .. });
    let is_password =
        text("format").as_deref() == Some("password") || schema.get("writeOnly") == Some(&true.into());
    let field = Field {
        name: name.to_owned(),
        title,
        description: text("description"),
        required,
        secret: is_password || (is_text && sounds_secret),
        kind,
        default: None,
    };
    // A default that the field itself would refuse is none; one of a secret would be shown.
    let default = schema.get("default").filter(|value| !field.secret && field.check(value).is_ok()).cloned();
    Some(Field { default, ..field })
}

fn kind(schema: &Value) -> Option<FieldKind> {
    let number = |key: &str| schema.get(key).and_then(Value::as_f64);
    let count = |key: &str| schema.get(key).and_then(Value::as_u64);
    Some(match schema.get("type")?.as_str()? {
        "string" => match options(schema) {
            Some(options) => FieldKind::One { options: options? },
            None => FieldKind::Text {
                format: schema.get("format").and_then(Value::as_str).map(str::to_owned),
                min_length: count("minLength"),
                max_length: count("maxLength"),
            },
        },
        "number" => FieldKind::Number { minimum: number("minimum"), maximum: number("maximum") },
        "integer" => FieldKind::Integer { minimum: number("minimum"), maximum: number("maximum") },
        "boolean" => FieldKind::Boolean,
        "array" => FieldKind::Many {
            options: options(schema.get("items")?)??,
            min_items: count("minItems"),
            max_items: count("maxItems"),
        },
        _ => return None,
    })
}

/// The options, in any of their notations; the inner `None` if the notation is unknown.
fn options(schema: &Value) -> Option<Option<Vec<FormOption>>> {
    if let Some(values) = schema.get("enum") {
        let names = array(schema, "enumNames");
        let option = |(at, value): (usize, &Value)| {
            let title = names.get(at).and_then(Value::as_str).map(str::to_owned);
            Some(FormOption { value: value.as_str()?.to_owned(), title })
        };
        return Some(values.as_array().and_then(|values| values.iter().enumerate().map(option).collect()));
    }
    let titled = schema.get("oneOf").or_else(|| schema.get("anyOf"))?;
    let option = |one: &Value| {
        let title = one.get("title").and_then(Value::as_str).map(str::to_owned);
        Some(FormOption { value: one.get("const")?.as_str()?.to_owned(), title })
    };
    Some(titled.as_array().and_then(|titled| titled.iter().map(option).collect()))
}

fn array<'a>(schema: &'a Value, key: &str) -> &'a [Value] {
    schema.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    #[test]
    fn every_kind_of_field_is_read() {
        let schema = json!({ "type": "object", "required": ["name", "age"], "properties": {
            "name": { "type": "string", "title": "Name", "description": "who you are", "minLength": 2 },
            "age": { "type": "integer", "minimum": 0 },
            "ratio": { "type": "number", "default": 0.5, "maximum": 1 },
            "sure": { "type": "boolean", "default": true },
            "mail": { "type": "string", "format": "email", "default": "no mail" },
            "colour": { "type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"], "default": "g" },
            "size": { "type": "string", "oneOf": [{ "const": "s", "title": "Small" }] },
            "toppings": { "type": "array", "items": { "type": "string", "enum": ["x", "y"] }, "minItems": 1 },
            "extras": { "type": "array", "items": { "anyOf": [{ "const": "p", "title": "P" }] } },
            "api_key": { "type": "string", "default": "sk-1" },
            "code": { "type": "string", "format": "password" },
            "tokens": { "type": "integer" },
        } });
        let form = form(&schema).unwrap();
        let fields: Vec<String> =
            form.fields.iter().map(|field| serde_json::to_string(field).unwrap()).collect();
        expect![[r#"
            {"name":"age","title":null,"description":null,"required":true,"secret":false,"takes":"integer","minimum":0.0,"maximum":null}
            {"name":"api_key","title":null,"description":null,"required":false,"secret":true,"takes":"text","format":null,"min_length":null,"max_length":null}
            {"name":"code","title":null,"description":null,"required":false,"secret":true,"takes":"text","format":"password","min_length":null,"max_length":null}
            {"name":"colour","title":null,"description":null,"required":false,"secret":false,"takes":"one","options":[{"value":"r","title":"Red"},{"value":"g","title":"Green"}],"default":"g"}
            {"name":"extras","title":null,"description":null,"required":false,"secret":false,"takes":"many","options":[{"value":"p","title":"P"}],"min_items":null,"max_items":null}
            {"name":"mail","title":null,"description":null,"required":false,"secret":false,"takes":"text","format":"email","min_length":null,"max_length":null}
            {"name":"name","title":"Name","description":"who you are","required":true,"secret":false,"takes":"text","format":null,"min_length":2,"max_length":null}
            {"name":"ratio","title":null,"description":null,"required":false,"secret":false,"takes":"number","minimum":null,"maximum":1.0,"default":0.5}
            {"name":"size","title":null,"description":null,"required":false,"secret":false,"takes":"one","options":[{"value":"s","title":"Small"}]}
            {"name":"sure","title":null,"description":null,"required":false,"secret":false,"takes":"boolean","default":true}
            {"name":"tokens","title":null,"description":null,"required":false,"secret":false,"takes":"integer","minimum":null,"maximum":null}
            {"name":"toppings","title":null,"description":null,"required":false,"secret":false,"takes":"many","options":[{"value":"x","title":null},{"value":"y","title":null}],"min_items":1,"max_items":null}"#]].assert_eq(&fields.join("\n"));
    }

    #[test]
    fn a_form_that_is_not_understood_is_none() {
        let with = |field: Value| json!({ "type": "object", "properties": { "f": field } });
        let strange = [
            json!(null),
            json!({ "type": "object" }),
            json!({ "type": "array", "properties": {} }),
            with(json!({ "type": "object", "properties": {} })),
            with(json!({ "type": "array", "items": { "type": "string" } })),
            with(json!({ "type": "string", "enum": [1, 2] })),
            with(json!({ "type": ["string", "null"] })),
            with(json!({})),
        ];
        for schema in strange {
            assert!(form(&schema).is_none(), "{schema}");
        }
        let empty = form(&json!({ "type": "object", "properties": {} }));
        assert!(empty.is_some_and(|form| form.fields.is_empty()));
    }
}
