//! An item of any kind is read, whatever this build knows of it.

use serde_json::value::RawValue;

use super::{WireBody, WireItem};

fn read(text: &str) -> Option<WireItem> {
    WireItem::read(&RawValue::from_string(text.to_owned()).unwrap())
}

#[test]
fn frequent_rare_and_unknown_kinds_are_all_items() {
    let plan = read(r#"{"id":"a","type":"plan","text":"p"}"#).unwrap();
    assert!(matches!(plan.body, WireBody::Plan { .. }), "{plan:?}");
    let view = read(r#"{"id":"a","type":"imageView","path":"/x"}"#).unwrap();
    assert!(matches!(view.body, WireBody::ImageView { .. }), "{view:?}");
    let new = read(r#"{"id":"a","type":"newKind","n":1}"#).unwrap();
    assert!(matches!(new.body, WireBody::Other { .. }), "{new:?}");
}

#[test]
fn a_known_kind_in_a_new_shape_is_kept_whole() {
    for text in [r#"{"id":"a","type":"imageView","path":["x"]}"#, r#"{"id":"a","type":"plan"}"#] {
        let item = read(text).unwrap();
        assert!(matches!(&item.body, WireBody::Other { raw, .. } if raw.get() == text), "{item:?}");
    }
}

#[test]
fn without_an_id_or_a_kind_it_is_no_item() {
    for text in [r#"{"type":"plan","text":"p"}"#, r#"{"id":"a"}"#, "[]", "7"] {
        assert!(read(text).is_none(), "{text}");
    }
}
