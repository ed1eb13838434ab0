//! Properties of JSON: a document stays valid, and fields with secret names are hidden.

use expect_test::expect;
use proptest::prelude::*;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::*;

#[test]
fn redacting_the_text_of_a_document_leaves_a_document() {
    for example in examples() {
        let inner = serde_json::json!({ "first": example.text, "zq1": [1, "x"] }).to_string();
        let outer = serde_json::json!({ "first": inner, "zq2": { "a": null } }).to_string();
        for text in [inner, outer] {
            let found = redact(&text);
            assert!(serde_json::from_str::<Value>(&found).is_ok(), "{text}\n{found}");
            let parts = |text: &str| text.matches("zq").count();
            assert_eq!(parts(&found), parts(&text), "{text}\n{found}");
        }
    }
}

#[test]
fn fields_with_secret_names_are_hidden_whatever_they_hold() {
    let hide = |document: Value| {
        let text = document.to_string();
        redact_json(serde_json::from_str(&text).unwrap()).get().to_owned()
    };
    let found = hide(json!({
        "token": "x", "apiKey": "a b", "passwords": ["one", 2, "three"], "secret": { "name": "kept" }, "pin": 5,
        "password": "", "clientSecret": "${SECRET}", "authorization": "Bearer abc", "cookie": "a=b",
        "headers": [{ "name": "X-Api-Key", "value": "abc" }, { "name": "Accept", "value": "abc" }],
        "text": "say \"PASSWORD=hunter2\"\nand go", "phone": "+14155550123", "total_tokens": 7, "key": "value",
    }));
    expect![[r#"
        {
          "apiKey": "[redacted:key:3]",
          "authorization": "Bearer [redacted:authorization:3]",
          "clientSecret": "${SECRET}",
          "cookie": "[redacted:cookie:3]",
          "headers": [
            {
              "name": "X-Api-Key",
              "value": "[redacted:key:3]"
            },
            {
              "name": "Accept",
              "value": "abc"
            }
          ],
          "key": "value",
          "password": "",
          "passwords": [
            "[redacted:password:3]",
            2,
            "[redacted:password:5]"
          ],
          "phone": "[redacted:phone:12]",
          "pin": 5,
          "secret": {
            "name": "kept"
          },
          "text": "say \"PASSWORD=[redacted:password:7]\"\nand go",
          "token": "[redacted:token:1]",
          "total_tokens": 7
        }"#]]
    .assert_eq(&format!("{:#}", serde_json::from_str::<Value>(&found).unwrap()));
}

#[test]
fn strings_that_are_no_text_are_left_as_they_are() {
    for text in [
        r#""\ud800 half a pair""#,
        r#""\ud83d\ude00 \u00e9 \/ \b\f""#,
        r#"["\\"]"#,
        "1e400",
        "[]",
        r#"{"":""}"#,
    ] {
        let raw: &RawValue = serde_json::from_str(text).unwrap();
        assert_eq!(redact_json(raw).get(), text);
    }
    let raw: &RawValue = serde_json::from_str(r#"{"password":"\ud800"}"#).unwrap();
    assert_eq!(redact_json(raw).get(), r#"{"password":"[redacted:password:3]"}"#);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 4, ..Default::default() })]

    #[test]
    fn a_document_keeps_its_structure(
        texts in prop::collection::vec(any_text(), 5),
        names in prop::collection::vec("[a-z]{1,6}(_token|Password|)", 4),
        secret in prop::sample::select(by_shape()),
        number in any::<i64>(),
    ) {
        let secret = unique(&secret);
        let [a, b, c, d, e] = &texts[..] else { unreachable!() };
        let document = serde_json::json!({
            &names[0]: a, &names[1]: [b, number, { &names[2]: c, "n": null }], &names[3]: { "x": [d, [e, true]] },
            "last": secret,
        });
        for text in [document.to_string(), format!("{document:#}")] {
            let raw: &RawValue = serde_json::from_str(&text).unwrap();
            let found = redact_json(raw);
            let read: Value = serde_json::from_str(found.get()).unwrap();
            prop_assert_eq!(shape(&read), shape(&document));
            prop_assert!(!gets_out(found.get()), "{}", found.get());
            let again = redact_json(&found);
            prop_assert_eq!(again.get(), found.get());
        }
    }
}

/// A document with nothing in its strings.
fn shape(value: &Value) -> Value {
    match value {
        Value::String(_) => Value::String(String::new()),
        Value::Array(items) => items.iter().map(shape).collect(),
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), shape(value))).collect(),
        other => other.clone(),
    }
}
