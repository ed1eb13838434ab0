//! Any text of the user's survives, and any value arrives: properties over generated TOML.
//!
//! The texts are made of whole statements with names that never collide, so that each is TOML whatever the order; the
//! ways to write them are those that tempt an editor to touch what it should not.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::select;
use talaria_core::toml_statements::{StatementKind, statements};
use toml_edit::{Document, DocumentMut, Item, Value, value};

use super::*;

/// Keys with values; `@` is replaced by a number, so that no name occurs twice.
const VALUES: &[&str] = &[
    "key@ = 1",
    "  key@ = \"# no comment\" # a comment",
    "'quoted @'.\"dotted\\u0041\" . x = {a = 1, b = [{c = 'd'}]}",
    "key@ = '''\n[mcp_servers.no]\n# >>> talaria\n'''",
    "key@ = \"\"\"\n\\\"\"\" [x]\n\"\"\"\"\" # c",
    "key@ = [ # [\n  [1, 2], # ]\n  \"]\",\n]",
    "key@ = { a.b = 1, 'c' = \"}\" }",
    "key@ = 1979-05-27T07:32:00Z",
    "mcp_servers.dotted@.command = 'x'",
    "\"plugins\".'p@'.enabled = false",
    "windows@ = 'C:\\Users\\me\\'",
    "emoji@ = \"\u{1f980} \\u00e9\"",
];

/// Tables, followed by keys.
const HEADERS: &[&str] = &[
    "[table@]",
    "[ table@ . 'sub.x' ] # header",
    "[[array@]]",
    "[[array@.deep]]\na = 1\n[[array@.deep]]",
    "[mcp_servers.own@]",
    "[mcp_servers.own@.env]",
    "[mcp_servers.\"quoted ]@\"]",
    "[plugins.\"own@x@y\"]",
    "[projects.\"/home/me/@\"]",
    "\t[permissions.p@]",
];

const BETWEEN: &[&str] = &[
    "",
    "",
    " \t",
    "# comment",
    "#",
    "  # [no.header] = \"\"\"",
    "# <<< talaria",
    "# default_permissions = 1",
];

prop_compose! {
    fn lines_of(values: &'static [&'static str])(lines in vec(prop_oneof![select(values), select(BETWEEN)], 0..5))
        -> Vec<&'static str> { lines }
}

/// A text of a user: line endings of either kind or both, with or without a mark and a last line break.
fn users_text() -> impl Strategy<Value = String> {
    let section = (vec(select(BETWEEN), 0..3), select(HEADERS), lines_of(VALUES));
    let endings = select(vec![vec!["\n"], vec!["\r\n"], vec!["\n", "\r\n"], vec!["\r\n", "\n", "\n"]]);
    (lines_of(VALUES), vec(section, 0..4), endings, any::<bool>(), any::<bool>()).prop_map(
        |(top, sections, endings, has_mark, is_finished)| {
            let sections = sections.into_iter().flat_map(|(above, header, lines)| {
                above.into_iter().chain([header]).chain(lines).collect::<Vec<_>>()
            });
            let mut text = if has_mark { "\u{feff}".to_owned() } else { String::new() };
            let statements: Vec<_> = top.into_iter().chain(sections).collect();
            for (number, statement) in statements.iter().enumerate() {
                let statement = statement.replace('@', &number.to_string());
                let lines: Vec<_> = statement.split('\n').collect();
                for (part, line) in lines.iter().enumerate() {
                    text.push_str(line);
                    let is_last = number + 1 == statements.len() && part + 1 == lines.len();
                    text.push_str(if is_last && !is_finished {
                        ""
                    } else {
                        endings[(number + part) % endings.len()]
                    });
                }
            }
            text
        },
    )
}

fn any_string() -> impl Strategy<Value = String> {
    let controls: Vec<char> = (0..0x20).chain([0x7f, 0x85]).filter_map(char::from_u32).collect();
    let hard =
        select(vec!['"', '\'', '\\', '#', '[', ']', '=', '.', ' ', '\u{feff}', '\u{2028}', '\u{1f980}']);
    let path = Just("C:\\Program Files\\x\\".to_owned());
    let text = vec(prop_oneof![hard, select(controls), any::<char>(), prop::char::range('a', 'f')], 0..12);
    prop_oneof![4 => text.prop_map(String::from_iter), 1 => path]
}

fn any_server() -> impl Strategy<Value = CodexServer> {
    use prop::option::of;
    let text = || of(any_string());
    let list = || vec(any_string(), 0..4);
    let named = || btree_map(any_string(), any_string(), 0..4);
    let time = || {
        let any =
            any::<(u64, u32)>().prop_map(|(seconds, nanos)| Duration::new(seconds, nanos % 1_000_000_000));
        of(prop_oneof![
            any,
            (0..100_u64).prop_map(Duration::from_secs),
            (0..100_000_u64).prop_map(Duration::from_millis)
        ])
    };
    (
        (text(), list(), text(), text(), text()),
        (of(any::<bool>()), time(), time(), of(any::<bool>())),
        (of(list()), of(list()), list()),
        (named(), named(), named()),
    )
        .prop_map(|(texts, few, lists, maps)| {
            let (command, args, cwd, url, bearer_token_env_var) = texts;
            let (enabled, startup_timeout_sec, tool_timeout_sec, supports_parallel_tool_calls) = few;
            let (enabled_tools, disabled_tools, env_vars) = lists;
            let (env, http_headers, env_http_headers) = maps;
            CodexServer {
                command,
                args,
                cwd,
                url,
                bearer_token_env_var,
                enabled,
                startup_timeout_sec,
                tool_timeout_sec,
                supports_parallel_tool_calls,
                enabled_tools,
                disabled_tools,
                env_vars,
                env,
                http_headers,
                env_http_headers,
            }
        })
}

fn any_additions() -> impl Strategy<Value = Additions> {
    let plugin = prop_oneof![any_string(), Just("p1".to_owned())];
    let permissions = prop::option::of(any_string());
    let name = prop_oneof![2 => any_string(), 1 => Just("own2".to_owned()), 1 => Just("dotted1".to_owned())];
    (vec((name, any_server()), 0..4), vec(plugin, 0..3), permissions).prop_map(
        |(servers, plugins, default_permissions)| Additions {
            servers,
            plugins,
            default_permissions,
            undecided: Vec::new(),
        },
    )
}

/// The values of a text, without how they are written.
fn values(text: &str) -> serde_json::Value {
    plain(Document::parse(text).unwrap().as_item())
}

fn plain(item: &Item) -> serde_json::Value {
    if let Some(table) = item.as_table_like() {
        return table.iter().map(|(name, item)| (name.to_owned(), plain(item))).collect();
    }
    match item {
        Item::ArrayOfTables(tables) => {
            tables.iter().map(|table| plain(&Item::Table(table.clone()))).collect()
        }
        Item::Value(Value::Array(values)) => {
            values.iter().map(|one| plain(&Item::Value(one.clone()))).collect()
        }
        Item::Value(Value::String(text)) => text.value().as_str().into(),
        Item::Value(Value::Integer(number)) => (*number.value()).into(),
        Item::Value(Value::Float(number)) => (*number.value()).into(),
        Item::Value(Value::Boolean(is)) => (*is.value()).into(),
        Item::Value(Value::Datetime(time)) => time.value().to_string().into(),
        item => panic!("{item:?}"),
    }
}

/// Adds to the values of the user's text what was written, the way a program would that knows nothing of text.
fn expected(users: &str, additions: &Additions, planned: &Planned) -> serde_json::Value {
    let mut all = values(users);
    let written = |place: &EntryPlace| planned.added.places().any(|one| one == place);
    for (name, server) in additions.servers.iter().rev() {
        if written(&EntryPlace::Server(name.clone())) {
            all["mcp_servers"][name] = serde_json::to_value(server).unwrap();
        }
    }
    for name in additions.plugins.iter().filter(|name| written(&EntryPlace::Plugin((*name).clone()))) {
        all["plugins"][name] = serde_json::json!({ "enabled": true });
    }
    if let Some(profile) =
        additions.default_permissions.as_ref().filter(|_| written(&EntryPlace::DefaultPermissions))
    {
        all["default_permissions"] = profile.as_str().into();
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_text_survives_planning_twice_and_removing(users in users_text(), additions in any_additions()) {
        let first = plan(&users, &additions, None).unwrap();
        check("", &first.text).unwrap();
        prop_assert_eq!(values(&first.text), expected(&users, &additions, &first));
        let second = plan(&first.text, &additions, Some(&first.added)).unwrap();
        prop_assert_eq!(&second.text, &first.text);
        prop_assert_eq!(&plan(&first.text, &additions, None).unwrap(), &second);
        let removed = remove(&second.text, &second.added).unwrap();
        prop_assert_eq!((removed.text, removed.left), (users, vec![]));
    }

    #[test]
    fn other_additions_replace_the_first(users in users_text(), old in any_additions(), new in any_additions()) {
        let first = plan(&users, &old, None).unwrap();
        let second = plan(&first.text, &new, Some(&first.added)).unwrap();
        let anew = plan(&users, &new, None).unwrap();
        // An equivalent form, such as an empty table for none, is not rewritten.
        let is_same = anew.added.record() == first.added.record();
        let text = if is_same { first.text.clone() } else { anew.text.clone() };
        prop_assert_eq!(second, Planned { text, ..anew });
    }

    #[test]
    fn what_stands_anywhere_is_found_without_markers(users in users_text(), additions in any_additions()) {
        let first = plan(&users, &additions, None).unwrap();
        let is_marker = |line: &&str| line.starts_with(markers::START) || line.starts_with("# <<< talaria ");
        let bare: String = first.text.split_inclusive('\n').filter(|line| !is_marker(line)).collect();
        let again = plan(&bare, &additions, Some(&first.added)).unwrap();
        prop_assert_eq!(values(&again.text), values(&first.text));
        prop_assert_eq!(&again.added, &first.added);
        prop_assert_eq!(values(&remove(&bare, &first.added).unwrap().text), values(&users));
    }

    #[test]
    fn what_a_program_adds_in_the_middle_survives(
        users in users_text(),
        additions in any_additions(),
        server in any_string(),
        at in any::<prop::sample::Index>(),
    ) {
        let first = plan(&users, &additions, None).unwrap();
        let theirs = |text: &str| -> String {
            let all = statements(text);
            let headers = all.iter().filter(|one| matches!(one.kind, StatementKind::Table(_)));
            let places: Vec<_> = headers.map(|one| one.bytes.start).collect();
            let place = if places.is_empty() { return text.to_owned() } else { *at.get(&places) };
            let (before, after) = text.split_at(place);
            format!("{before}[other.'x']\n# mine\n[foreign]\nkey = 'value'\n{after}")
        };
        let edited = theirs(first.text.strip_prefix('\u{feff}').unwrap_or(&first.text));
        prop_assume!(Document::parse(edited.as_str()).is_ok());
        let foreign = values(&edited).get("foreign").cloned();
        for text in [
            plan(&edited, &Additions { servers: vec![(server, CodexServer::default())], ..Additions::default() }, Some(&first.added))
                .unwrap().text,
            plan(&edited, &additions, None).unwrap().text,
            remove(&edited, &first.added).unwrap().text,
        ] {
            prop_assert_eq!(values(&text).get("foreign").cloned(), foreign.clone());
            prop_assert_eq!(text.matches("# mine").count(), edited.matches("# mine").count());
        }
    }

    #[test]
    fn a_rewrite_by_a_program_is_not_a_change(users in users_text(), additions in any_additions()) {
        let first = plan(&users, &additions, None).unwrap();
        // Codex's own edits of the file: read, change, write.
        let mut document: DocumentMut = first.text.parse().unwrap();
        document["projects"]["/p"]["trust_level"] = value("trusted");
        let removed = remove(&document.to_string(), &first.added).unwrap();
        prop_assert_eq!(removed.left, vec![]);
        let mut expected = values(&users);
        expected["projects"]["/p"]["trust_level"] = "trusted".into();
        prop_assert_eq!(values(&removed.text), expected);
    }

    #[test]
    fn bytes_that_are_not_toml_never_panic(text in "\\PC*", lines in vec(select(VALUES), 0..3)) {
        for text in [text.clone(), format!("{}\n{text}", lines.join("\n"))] {
            let _ = statements(&text);
            if let Ok(planned) = plan(&text, &additions(), None) {
                prop_assert_eq!(remove(&planned.text, &planned.added).unwrap().text, text);
            }
        }
    }
}
