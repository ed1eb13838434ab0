//! Position of the block, and that everything else stays where it was.

use expect_test::{Expect, expect};

use super::*;

fn check(current: &str, expected: Expect) {
    let planned = planned(current, &servers(&[("s", "x")]), None);
    expected.assert_eq(&planned.text.replace('\r', "␍").replace('\u{feff}', "<BOM>"));
    assert_eq!(remove(&planned.text, &planned.added).unwrap().text, current);
}

#[test]
fn a_first_plan_puts_the_block_between_keys_and_tables() {
    let planned = planned("model = \"x\" # mine\n\n# about me\n[tui]\na = 1\n", &additions(), None);
    expect![[r#"
        model = "x" # mine
        # >>> talaria: written by `talaria migrate`; `talaria migrate --undo` takes it out again
        default_permissions = ":workspace"

        [mcp_servers.search]
        command = "search"
        args = ["--fast", 'C:\docs']
        tool_timeout_sec = 30
        env = { A = "1", "B C" = "2\n" }

        [mcp_servers."a b"]
        command = "x"

        [plugins."mail@curated"]
        enabled = true
        # <<< talaria 0a3edc32

        # about me
        [tui]
        a = 1
    "#]]
    .assert_eq(&planned.text);
}

#[test]
fn an_empty_text_gets_only_the_block() {
    check(
        "",
        expect![[r##"
        # >>> talaria: written by `talaria migrate`; `talaria migrate --undo` takes it out again
        [mcp_servers.s]
        command = "x"
        # <<< talaria 802554c1
    "##]],
    );
}

#[test]
fn a_text_without_a_last_line_break_gets_none() {
    check(
        "a = 1",
        expect![[r#"
        a = 1
        # >>> talaria: written by `talaria migrate`; `talaria migrate --undo` takes it out again
        [mcp_servers.s]
        command = "x"
        # <<< talaria 802554c1"#]],
    );
    check(
        "# only a comment",
        expect![[r##"
        # only a comment
        # >>> talaria: written by `talaria migrate`; `talaria migrate --undo` takes it out again
        [mcp_servers.s]
        command = "x"
        # <<< talaria 802554c1"##]],
    );
}

#[test]
fn line_endings_and_the_mark_at_the_beginning_stay() {
    check(
        "\u{feff}[a]\r\nb = 1\r\n",
        expect![[r#"
        <BOM># >>> talaria: written by `talaria migrate`; `talaria migrate --undo` takes it out again␍
        [mcp_servers.s]␍
        command = "x"␍
        # <<< talaria 802554c1␍
        [a]␍
        b = 1␍
    "#]],
    );
    check(
        "a = 1\r\nb = 2\nc = 3\r\n",
        expect![[r#"
        a = 1␍
        b = 2
        c = 3␍
        # >>> talaria: written by `talaria migrate`; `talaria migrate --undo` takes it out again␍
        [mcp_servers.s]␍
        command = "x"␍
        # <<< talaria 802554c1␍
    "#]],
    );
}

#[test]
fn a_comment_stays_with_its_header_and_a_commented_key_stays_above() {
    check(
        "a = 1\n# b = 2\n\n# about t\n# more\n[t]\n",
        expect![[r#"
        a = 1
        # b = 2
        # >>> talaria: written by `talaria migrate`; `talaria migrate --undo` takes it out again
        [mcp_servers.s]
        command = "x"
        # <<< talaria 802554c1

        # about t
        # more
        [t]
    "#]],
    );
}

#[test]
fn headers_in_strings_and_arrays_are_none() {
    check(
        "a = '''\n[no]\n'''\nb = [\n  1, # [no]\n]\n\n[[yes]]\n",
        expect![[r#"
        a = '''
        [no]
        '''
        b = [
          1, # [no]
        ]
        # >>> talaria: written by `talaria migrate`; `talaria migrate --undo` takes it out again
        [mcp_servers.s]
        command = "x"
        # <<< talaria 802554c1

        [[yes]]
    "#]],
    );
}

#[test]
fn tables_of_the_user_for_the_same_things_are_extended() {
    check(
        "[mcp_servers]\nb = { command = 'c' }\n",
        expect![[r##"
        # >>> talaria: written by `talaria migrate`; `talaria migrate --undo` takes it out again
        [mcp_servers.s]
        command = "x"
        # <<< talaria 802554c1
        [mcp_servers]
        b = { command = 'c' }
    "##]],
    );
    check(
        "mcp_servers.own.command = 'a'\n[plugins]\n",
        expect![[r#"
        mcp_servers.own.command = 'a'
        # >>> talaria: written by `talaria migrate`; `talaria migrate --undo` takes it out again
        [mcp_servers.s]
        command = "x"
        # <<< talaria 802554c1
        [plugins]
    "#]],
    );
}

#[test]
fn text_that_is_not_toml_is_a_problem_with_its_place() {
    let problem = plan("\u{feff}a = 1\nb = = 2\n", &additions(), None).unwrap_err();
    assert_eq!((problem.line, problem.column), (Some(2), Some(5)));
    assert!(remove("[a]\n[a]\n", &Added::default()).is_err());
}

#[test]
fn a_table_that_cannot_be_extended_is_a_problem() {
    let refused = |text: &str| plan(text, &additions(), None).unwrap_err().to_string();
    expect!["line 1: mcp_servers: this form cannot be extended, nothing was changed; write its entries as tables, each under a header [mcp_servers.NAME]"].assert_eq(&refused("mcp_servers = { x = { command = 'a' } }\n"));
    expect!["line 2: plugins: this form cannot be extended, nothing was changed; write its entries as tables, each under a header [plugins.NAME]"].assert_eq(&refused("a = 1\n\"plugins\" = {}\n"));
    expect!["line 1: plugins: this form cannot be extended, nothing was changed; write its entries as tables, each under a header [plugins.NAME]"].assert_eq(&refused("[[plugins]]\n"));
    let has_all = "mcp_servers = { s = { command = 'a' } }\n";
    let planned = planned(has_all, &servers(&[("s", "x")]), None);
    assert_eq!(
        (planned.text.as_str(), planned.kept),
        (has_all, vec![own(EntryPlace::Server("s".to_owned()))])
    );
}

#[test]
fn what_toml_does_not_take_is_told_with_the_line_of_the_users_file() {
    let users = "model = 'x'\n\n[limits]\nall = 99999999999999999999\n";
    let text = plan(users, &additions(), None).unwrap().text;
    assert_eq!(crate::codex_config::check(users, &text).unwrap_err().line, Some(4));
    assert_eq!(plan("model = 'x'\nmodel = 'y'\n", &additions(), None).unwrap_err().line, Some(2));
}
