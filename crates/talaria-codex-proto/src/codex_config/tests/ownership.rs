//! Whose an entry is, after users and programs have been at the file.

use expect_test::expect;

use super::*;

const USERS: &str = "a = 1\n\n[tui]\nb = 2\n";

fn markers_of(text: &str) -> Vec<&str> {
    text.lines()
        .filter(|line| line.starts_with("# >>> talaria") || line.starts_with("# <<< talaria"))
        .collect()
}

#[test]
fn a_users_own_of_the_same_name_wins_in_every_form() {
    for form in [
        "mcp_servers.s.command = 'mine'",
        "[mcp_servers.s]",
        "['mcp_servers' . \"\\u0073\"]",
        "[mcp_servers]\ns = {}",
        "[mcp_servers]\n's'.command = 'mine'",
        "[mcp_servers.s.env]\nA = '1'",
        "[[mcp_servers.s]]",
    ] {
        let planned = planned(form, &servers(&[("s", "x")]), None);
        assert_eq!(
            (planned.text.as_str(), planned.kept),
            (form, vec![own(EntryPlace::Server("s".to_owned()))])
        );
        assert!(planned.added.is_empty());
    }
    let text = "'default_permissions' = ':read-only'\n[plugins.'mail@curated']\nenabled = false\n";
    let planned = planned(text, &additions(), None);
    assert_eq!(
        planned.kept,
        [own(EntryPlace::DefaultPermissions), own(EntryPlace::Plugin("mail@curated".to_owned()))]
    );
    assert_eq!(planned.added.places().count(), 2);
}

#[test]
fn an_earlier_block_is_replaced_with_and_without_a_record() {
    let first = planned(USERS, &servers(&[("s", "old"), ("t", "x")]), None);
    let second = planned(&first.text, &servers(&[("s", "new")]), Some(&first.added));
    assert_eq!(second.text, planned(USERS, &servers(&[("s", "new")]), None).text);

    let without = planned(&first.text, &servers(&[("s", "new")]), None);
    assert_eq!(without.others, [EntryPlace::Server("t".to_owned())], "it may be another Talaria's");
    assert!(without.text.contains("\"new\"") && !without.text.contains("\"old\""));
    assert_eq!(written_in(&first.text).unwrap(), first.added);
}

#[test]
fn two_talarias_share_the_block() {
    let first = planned(USERS, &servers(&[("s", "x")]), None);
    let second = planned(&first.text, &servers(&[("t", "y")]), None);
    assert_eq!(markers_of(&second.text).len(), 2);
    assert!(second.text.contains("mcp_servers.s") && second.text.contains("mcp_servers.t"));
    assert_eq!(planned(&second.text, &servers(&[("s", "x")]), Some(&first.added)).text, second.text);
    let only_second = remove(&second.text, &first.added).unwrap().text;
    assert_eq!(only_second, planned(USERS, &servers(&[("t", "y")]), None).text);
    assert_eq!(remove(&only_second, &second.added).unwrap().text, USERS);
}

#[test]
fn damaged_markers_do_not_hide_what_was_added() {
    let first = planned(USERS, &additions(), None);
    let markers = markers_of(&first.text);
    let without = |marker: &str| first.text.replace(&format!("{marker}\n"), "");
    let doubled = |marker: &str| first.text.replace(marker, &format!("{marker}\n{marker}"));
    let mangled = |marker: &str| first.text.replace(marker, "# talaria");
    for marker in &markers {
        for text in [without(marker), doubled(marker)] {
            assert_eq!(planned(&text, &additions(), Some(&first.added)).text, first.text);
            assert_eq!(remove(&text, &first.added).unwrap().text, USERS);
        }
        let text = planned(&mangled(marker), &additions(), Some(&first.added)).text;
        assert_eq!(text.replace("# talaria\n", ""), first.text, "a comment that is not ours stays");
    }
    let bare = without(markers[0]).replace(&format!("{}\n", markers[1]), "");
    assert_eq!(planned(&bare, &additions(), Some(&first.added)).text, first.text);
    assert_eq!(remove(&bare, &first.added).unwrap().text, USERS);
}

#[test]
fn a_block_that_was_moved_is_found() {
    let first = planned(USERS, &additions(), None);
    let start = first.text.find("# >>>").unwrap();
    let block = &first.text[start..first.text.find("\n[tui]").unwrap()];
    // At the end the permission default is a key of the user's table: it is ours all the same.
    let moved = format!("{USERS}{block}");
    assert_eq!(planned(&moved, &additions(), Some(&first.added)).text, first.text);
    assert_eq!(planned(&moved, &additions(), None).text, first.text);
    assert_eq!(remove(&moved, &first.added).unwrap().text, USERS);
}

#[test]
fn what_others_put_into_the_block_stays_and_is_outside_afterwards() {
    let first = planned(USERS, &servers(&[("s", "x"), ("t", "y")]), None);
    let text = first
        .text
        .replace(
            "command = \"x\"\n",
            "command = \"x\" # needs a VPN\n\n[projects.'/p']\ntrust_level = \"trusted\"\n",
        )
        .replace("[mcp_servers.t]", "# t is fast\n[mcp_servers.t]")
        .replace("# <<<", "\n[mcp_servers.mine]\ncommand = \"z\"\n\n[[array]]\n# <<<");
    assert_eq!(planned(&text, &servers(&[("s", "x"), ("t", "y")]), Some(&first.added)).text, text);
    let second = planned(&text, &servers(&[("s", "new")]), Some(&first.added));
    expect![[r#"
        a = 1
        # needs a VPN
        # >>> talaria: written by `talaria migrate`; `talaria migrate --undo` takes it out again
        [mcp_servers.s]
        command = "new"
        # <<< talaria f0e884c1

        [projects.'/p']
        trust_level = "trusted"

        # t is fast

        [mcp_servers.mine]
        command = "z"

        [[array]]

        [tui]
        b = 2
    "#]]
    .assert_eq(&second.text);
    expect![[r#"
        a = 1
        # needs a VPN

        [projects.'/p']
        trust_level = "trusted"

        # t is fast

        [mcp_servers.mine]
        command = "z"

        [[array]]

        [tui]
        b = 2
    "#]]
    .assert_eq(&remove(&text, &first.added).unwrap().text);
}

#[test]
fn an_entry_that_was_changed_since_is_the_users() {
    let first = planned(USERS, &additions(), None);
    for (from, to, place) in [
        ("tool_timeout_sec = 30", "tool_timeout_sec = 31", EntryPlace::Server("search".to_owned())),
        (
            "tool_timeout_sec = 30",
            "tool_timeout_sec = 30\ncwd = '/'",
            EntryPlace::Server("search".to_owned()),
        ),
        ("\":workspace\"", "\":read-only\"", EntryPlace::DefaultPermissions),
        ("enabled = true", "enabled = false", EntryPlace::Plugin("mail@curated".to_owned())),
        ("[tui]", "[mcp_servers.\"a b\".env]\nA = '1'\n[tui]", EntryPlace::Server("a b".to_owned())),
    ] {
        let text = first.text.replace(from, to);
        let removed = remove(&text, &first.added).unwrap();
        assert_eq!(removed.left, [changed(place.clone())]);
        assert!(removed.text.contains(to), "{}", removed.text);
        assert!(markers_of(&removed.text).is_empty());
        let again = planned(&text, &additions(), Some(&first.added));
        assert_eq!((again.kept, again.text.as_str()), (vec![changed(place.clone())], text.as_str()));
        let without = planned(&text, &Additions::default(), Some(&again.added));
        assert_eq!(without.kept, [changed(place)]);
        assert_eq!(without.text, removed.text);
    }
}

#[test]
fn a_value_in_another_form_is_the_same_value() {
    let first = planned(USERS, &additions(), None);
    let text = first
        .text
        .replace("tool_timeout_sec = 30", "tool_timeout_sec = 30.0\nenabled = true")
        .replace("env = { A = \"1\", \"B C\" = \"2\\n\" }\n", "")
        .replace("\n[plugins", "[mcp_servers.search.env]\n\"B C\" = '''\n2\n'''\nA = '1'\n\n[plugins");
    assert_ne!(text, first.text);
    assert_eq!(planned(&text, &additions(), Some(&first.added)).kept, []);
    assert_eq!(remove(&text, &first.added).unwrap().text, USERS);
}

/// The effect of `codex mcp add mine` of 0.130.0 and 0.166.0 on a planned file: it rewrites every server, loses the
/// comment above the first one, and inserts its own among ours.
#[test]
fn what_codex_itself_wrote_anew_is_still_ours() {
    let search = CodexServer {
        startup_timeout_sec: Some(Duration::from_millis(500)),
        enabled: Some(true),
        enabled_tools: Some(Vec::new()),
        ..additions().servers.remove(0).1
    };
    let servers = vec![("search".to_owned(), search)];
    let additions = Additions { servers, ..Additions::default() };
    let first = planned(USERS, &additions, None);
    let by_codex = r#"a = 1
[mcp_servers.search]
command = "search"
args = ["--fast", 'C:\docs']
startup_timeout_sec = 0.5
tool_timeout_sec = 30.0

[mcp_servers.search.env]
A = "1"
"B C" = """
2
"""

[mcp_servers.mine]
command = "foo"
# <<< talaria 0a3edc32

[tui]
b = 2
"#;
    let removed = remove(by_codex, &first.added).unwrap();
    assert_eq!(removed.left, []);
    expect![[r#"
        a = 1

        [mcp_servers.mine]
        command = "foo"

        [tui]
        b = 2
    "#]]
    .assert_eq(&removed.text);
    expect![[r#"
        a = 1
        # >>> talaria: written by `talaria migrate`; `talaria migrate --undo` takes it out again
        [mcp_servers.search]
        command = "search"
        args = ["--fast", 'C:\docs']
        enabled = true
        startup_timeout_sec = 0.5
        tool_timeout_sec = 30
        enabled_tools = []
        env = { A = "1", "B C" = "2\n" }
        # <<< talaria 7597c97f

        [mcp_servers.mine]
        command = "foo"

        [tui]
        b = 2
    "#]]
    .assert_eq(&planned(by_codex, &additions, Some(&first.added)).text);
}

#[test]
fn without_additions_nothing_is_left_of_a_block() {
    let first = planned(USERS, &additions(), None);
    assert_eq!(planned(&first.text, &Additions::default(), Some(&first.added)).text, USERS);
    let emptied: String = markers_of(&first.text).into_iter().flat_map(|line| [line, "\n"]).collect();
    assert_eq!(planned(&emptied, &Additions::default(), None).text, "");
}

#[test]
fn comments_of_the_user_that_look_like_markers_stay() {
    let text = "# >>> talaria\n# <<< talaria\na = '''\n# <<< talaria 01234567\n'''\n";
    let planned = planned(text, &additions(), None);
    assert_eq!(remove(&planned.text, &planned.added).unwrap().text, text);
}

#[test]
fn a_record_has_no_values_and_stays_readable() {
    let added = planned("", &servers(&[("s", "hunter2")]), None).added;
    let record = serde_json::to_string(&added).unwrap();
    expect![[r#"{"entries":[{"place":["mcp_servers","s"],"digest":"eae8131c44aa5d11a6915248849797c5"}]}"#]]
        .assert_eq(&record);
    assert_eq!(serde_json::from_str::<Added>(&record).unwrap(), added);
}
