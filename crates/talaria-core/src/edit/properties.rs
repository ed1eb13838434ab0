//! Any file, any key, any value: only that key's bytes change, and an added key is removed without a trace.

use std::collections::BTreeMap;

use proptest::prelude::*;
use toml_edit::{Array, Document, InlineTable, Item, TableLike, Value};

use super::*;

/// Every value by its path, every section as such, array elements by number.
fn meaning(text: &str) -> BTreeMap<Vec<String>, String> {
    fn walk(table: &dyn TableLike, path: &[String], out: &mut BTreeMap<Vec<String>, String>) {
        for (key, item) in table.iter() {
            let path = [path, &[key.to_owned()]].concat();
            match item {
                Item::ArrayOfTables(tables) => {
                    for (number, table) in tables.iter().enumerate() {
                        walk(table, &[path.as_slice(), &[format!("#{number}")]].concat(), out);
                    }
                }
                Item::Value(Value::InlineTable(table)) => walk(table, &path, out),
                Item::Value(value) => {
                    out.insert(path, literal(value));
                }
                Item::Table(table) => walk(table, &path, out),
                Item::None => {}
            }
        }
    }
    let mut out = BTreeMap::new();
    walk(Document::parse(text).unwrap().as_table(), &[], &mut out);
    out
}

fn key() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "c", "d", "x y", "ü\"\n"]).prop_map(str::to_owned)
}

fn path() -> impl Strategy<Value = KeyPath> {
    prop::collection::vec(key(), 1..4).prop_map(|parts| KeyPath::new(parts).unwrap())
}

fn written_value() -> impl Strategy<Value = String> {
    let values = vec![
        "1",
        "-0x0",
        "0xff",
        "'C:\\x'",
        "\"\\u0001\"",
        "\"\"\"a\nb\"\"\"",
        "[]",
        "[ 1, # c\n 2 ]",
        "{}",
        "{ }",
        "{ a = 1 , b.c = 2 }",
        "{ b.c = 1, a = { d = [] }, b.d = '#' }",
        "{ # c\n a = 1,\n }",
        "1979-05-27",
        "nan",
    ];
    prop::sample::select(values).prop_map(str::to_owned)
}

/// A line or two that may be in a file.
fn fragment() -> impl Strategy<Value = String> {
    let end = prop::sample::select(vec!["", "", " ", " # words", "\t# \"[x]\" = 1"]);
    let indent = prop::sample::select(vec!["", "", "  ", "\t"]);
    prop_oneof![
        6 => (indent, path(), written_value(), end.clone()).prop_map(|(i, p, v, e)| format!("{i}{p} = {v}{e}\n")),
        3 => (path(), end.clone()).prop_map(|(p, e)| format!("[{p}]{e}\n")),
        1 => (path(), end).prop_map(|(p, e)| format!("[[ {p} ]]{e}\n")),
        2 => prop::sample::select(vec!["\n", "# words\n", "  \n", "\n\n# more [a]\n"]).prop_map(str::to_owned),
    ]
}

/// A file that parses: pieces that would break it are left out.
fn file() -> impl Strategy<Value = String> {
    let pieces = prop::collection::vec((fragment(), any::<bool>()), 0..14);
    (pieces, any::<bool>(), any::<bool>(), 0..3_u8).prop_map(|(pieces, bom, unended, endings)| {
        let mut text = if bom { "\u{feff}".to_owned() } else { String::new() };
        for (piece, windows) in pieces {
            let windows = endings == 1 || (endings == 2 && windows);
            let piece = if windows { piece.replace('\n', "\r\n") } else { piece };
            let longer = format!("{text}{piece}");
            if Document::parse(longer.as_str()).is_ok() {
                text = longer;
            }
        }
        let shorter = text.strip_suffix("\r\n").or_else(|| text.strip_suffix('\n')).unwrap_or(&text);
        if unended { shorter.to_owned() } else { text }
    })
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        prop::collection::vec(any::<char>(), 0..8).prop_map(|chars| Value::from(String::from_iter(chars))),
        "[\\x00-\\x20\\x7f\"'\\\\]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(|all| Value::from(Array::from_iter(all))),
            prop::collection::btree_map(key(), inner, 0..3)
                .prop_map(|all| Value::from(InlineTable::from_iter(all))),
        ]
    })
}

/// How much of two texts is the same at the beginning and, of the rest, at the end.
fn same(left: &str, right: &str) -> (usize, usize) {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    let head = left.iter().zip(right).take_while(|(a, b)| a == b).count();
    let rest = left.len().min(right.len()) - head;
    let tail = left.iter().rev().zip(right.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    (head, tail)
}

fn has_empty_section(text: &str, path: &KeyPath) -> bool {
    let Some(parent) = KeyPath::new(path.parts()[..path.parts().len() - 1].to_vec()) else { return false };
    matches!(get(text, &parent), Ok(Some(Item::Table(table))) if !table.is_implicit() && !table.is_dotted()
        && place::Holder::Section(&table).values().is_empty())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn set_changes_one_key_and_unset_of_a_new_one_gives_the_old_bytes_back(
        text in file(), path in path(), value in value(),
    ) {
        let written = literal(&value);
        let before = get(&text, &path).unwrap();
        let Ok(changed) = set(&text, &path, value) else {
            // Only a section or a value in the way is a reason to refuse.
            let mut above = (1..=path.parts().len()).map(|n| KeyPath::new(path.parts()[..n].to_vec()).unwrap());
            prop_assert!(above.any(|p| get(&text, &p).unwrap().is_some()));
            return Ok(());
        };
        let (head, tail) = same(&text, &changed);
        match &before {
            // Nothing but the old value was removed.
            Some(old) => {
                let span = old.span().unwrap();
                prop_assert!(changed == text || (head >= span.start && text.len() - tail <= span.end));
            }
            None => prop_assert_eq!(head + tail, text.len(), "something went away: {:?}", changed),
        }
        let is_here = |key: &[String]| key.starts_with(path.parts());
        let others = |text: &str| { let mut all = meaning(text); all.retain(|key, _| !is_here(key)); all };
        prop_assert_eq!(others(&text), others(&changed));
        let now = get(&changed, &path).unwrap().unwrap();
        prop_assert_eq!(literal(now.as_value().unwrap()), written);
        if before.is_none() && !has_empty_section(&text, &path) {
            prop_assert_eq!(unset(&changed, &path).unwrap(), text, "through {:?}", changed);
        }
    }

    #[test]
    fn unset_takes_away_that_key_and_nothing_else(text in file(), path in path()) {
        let changed = unset(&text, &path).unwrap();
        let mut left = meaning(&text);
        left.retain(|key, _| !key.starts_with(path.parts()));
        prop_assert_eq!(left, meaning(&changed));
        // The rest is in the old order.
        let mut rest = text.as_bytes().iter();
        prop_assert!(changed.as_bytes().iter().all(|byte| rest.any(|old| old == byte)));
    }

    #[test]
    fn every_text_comes_back_as_it_was_set(words in prop::collection::vec(any::<char>(), 0..40), path in path()) {
        let words = String::from_iter(words);
        let text = set("", &path, words.as_str()).unwrap();
        let now = get(&text, &path).unwrap().unwrap();
        prop_assert_eq!(now.as_str(), Some(words.as_str()));
        prop_assert_eq!(text.lines().count(), if path.parts().len() > 1 { 2 } else { 1 });
    }
}

#[test]
fn every_control_character_quotes_emoji_and_windows_paths_come_back() {
    let path: KeyPath = "a.b".parse().unwrap();
    let controls = (0..=0x9f_u32).filter_map(char::from_u32);
    let texts = controls.map(String::from).chain(
        [
            "C:\\Users\\x\\new",
            "\"'\"\"\"'''",
            "👩\u{200d}🚀 ü",
            "a\r\nb\n",
            "\u{feff}",
            "\u{2028}",
            "\\u0041",
        ]
        .map(str::to_owned),
    );
    for text in texts {
        for file in ["", "[a]\r\n", "a = { c = 1 }", "a.c = 1\n"] {
            let changed = set(file, &path, text.as_str()).unwrap();
            assert_eq!(get(&changed, &path).unwrap().unwrap().as_str(), Some(text.as_str()), "{changed:?}");
        }
    }
}
