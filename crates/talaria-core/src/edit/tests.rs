//! Text in, text out: one key of a file.

use expect_test::{Expect, expect};
use toml_edit::Value;

use super::*;

fn path(text: &str) -> KeyPath {
    text.parse().unwrap()
}

fn check_set(text: &str, key: &str, value: impl Into<Value>, expected: &Expect) {
    let shown = match set(text, &path(key), value) {
        Ok(text) => text,
        Err(problem) => format!("{problem}\n"),
    };
    expected.assert_eq(&shown.replace('\r', "␍").replace('\u{feff}', "⟨BOM⟩"));
}

fn check_unset(text: &str, key: &str, expected: &Expect) {
    expected.assert_eq(&unset(text, &path(key)).unwrap().replace('\r', "␍"));
}

#[test]
fn a_replaced_value_keeps_its_comment_its_spacing_and_its_line_ending() {
    check_set(
        "\u{feff}# mine\r\n[codex]\r\n  bin   =  '/a'   # the nightly one\r\n\r\nhome = \"x\"\n",
        "codex.bin",
        "/b",
        &expect![[r#"
            ⟨BOM⟩# mine␍
            [codex]␍
              bin   =  "/b"   # the nightly one␍
            ␍
            home = "x"
        "#]],
    );
    check_set(
        "a = [ # first\n  1,\n] # last\n",
        "a",
        true,
        &expect![[r#"
            a = true # last
        "#]],
    );
}

#[test]
fn the_same_value_is_left_as_it_is_written() {
    let text = "a = '''x'''\nb = [ 1,\n 2 ]\n";
    assert_eq!(set(text, &path("a"), "x").unwrap(), text);
    assert_eq!(set(text, &path("b"), toml_edit::Array::from_iter([1, 2])).unwrap(), text);
}

#[test]
fn a_new_key_joins_its_section_behind_the_last_entry() {
    check_set(
        "[codex]\n\tbin = \"/a\" # x\n\tlist = [\n1\n]\n\n# about the model\n[model]\n",
        "codex.sandbox",
        "read-only",
        &expect![[r#"
            [codex]
            	bin = "/a" # x
            	list = [
            1
            ]
            	sandbox = "read-only"

            # about the model
            [model]
        "#]],
    );
    check_set(
        "[a]",
        "a.x",
        1,
        &expect![[r#"
        [a]
        x = 1"#]],
    );
}

#[test]
fn a_new_section_comes_last_without_headers_for_its_parents() {
    check_set(
        "[a]\nx = 1",
        "mcp_servers.\"my server\".env.T",
        "v",
        &expect![[r#"
            [a]
            x = 1

            [mcp_servers."my server".env]
            T = "v""#]],
    );
    check_set(
        "",
        "a.b",
        1,
        &expect![[r#"
        [a]
        b = 1
    "#]],
    );
    check_set(
        "[a.b]\r\nx = 1\r\n",
        "a.y",
        1,
        &expect![[r#"
            [a.b]␍
            x = 1␍
            ␍
            [a]␍
            y = 1␍
        "#]],
    );
}

#[test]
fn a_top_level_key_comes_before_the_first_section_and_its_comment() {
    check_set(
        "# the file\n\n# about a\n[a]\nx = 1\n",
        "top",
        1,
        &expect![[r#"
            # the file

            top = 1
            # about a
            [a]
            x = 1
        "#]],
    );
    check_set(
        "# only words",
        "top",
        1,
        &expect![[r#"
        # only words
        top = 1"#]],
    );
}

#[test]
fn dotted_keys_and_inline_tables_are_joined_in_their_own_notation() {
    check_set(
        "a.b = 1\nz = 2\n[t]\n",
        "a.c.d",
        3,
        &expect![[r#"
        a.b = 1
        a.c.d = 3
        z = 2
        [t]
    "#]],
    );
    check_set(
        "a = { b = 1 , c.d = 2 } # x\n",
        "a.c.e",
        "f",
        &expect![[r#"
        a = { b = 1 , c.d = 2, c.e = "f" } # x
    "#]],
    );
    check_set(
        "a = {}\n",
        "a.b",
        1,
        &expect![[r#"
        a = {b = 1}
    "#]],
    );
    check_set(
        "a = { b = {} }\n",
        "a.b",
        1,
        &expect![[r#"
        a = { b = 1 }
    "#]],
    );
}

#[test]
fn what_cannot_hold_a_key_is_named_with_its_line() {
    check_set(
        "\n[[a]]\nx = 1\n",
        "a.x",
        2,
        &expect![[r#"
        line 2: a.x: a is an array of tables, not a section
    "#]],
    );
    check_set(
        "a = \"s\"\n",
        "a.b.c",
        2,
        &expect![[r#"
        line 1: a.b.c: a is a string, not a section
    "#]],
    );
    check_set(
        "[a]\nx = 1\n",
        "a",
        2,
        &expect![[r#"
        line 1: a: is a section, not a value; name one of its keys
    "#]],
    );
    check_set(
        "a.b = 1\n",
        "a",
        2,
        &expect![[r#"
        line 1: a: is a section, not a value; name one of its keys
    "#]],
    );
    check_set(
        "\u{feff}a = = 1\n",
        "a",
        2,
        &expect![[r#"
        line 1, column 5: extra `=`, expected nothing
    "#]],
    );
}

#[test]
fn unset_takes_the_line_and_leaves_the_comments_around_it() {
    check_unset(
        "[a]\n# about x\nx = 1 # of x\n# end\ny = 2\n",
        "a.x",
        &expect![[r#"
        [a]
        # about x
        # end
        y = 2
    "#]],
    );
    check_unset(
        "[a]\n# about x\nx = 1\n",
        "a.x",
        &expect![[r#"
        [a]
        # about x
    "#]],
    );
    check_unset(
        "a = { b = 1, c = 2, d = 3 }\n",
        "a.c",
        &expect![[r#"
        a = { b = 1, d = 3 }
    "#]],
    );
    check_unset(
        "a = { b = 1, c.x = 2, d = 3, c.y = 4, }\n",
        "a.c",
        &expect![[r#"
        a = { b = 1, d = 3, }
    "#]],
    );
    check_unset(
        "a = { b = 1, c = 2 }\n",
        "a.b",
        &expect![[r#"
        a = { c = 2 }
    "#]],
    );
}

#[test]
fn unset_of_a_section_takes_all_of_it_and_nothing_of_the_next() {
    check_unset(
        "[a]\nx = 1\n\n[m.one]\ny = 1\n# inside\nz = 2\n# about env\n[m.one.env]\nT = 1\n\n# about two\n[m.two]\n[[m.one.l]]\nk = 1\n",
        "m.one",
        &expect![[r#"
            [a]
            x = 1
            # about env

            # about two
            [m.two]
        "#]],
    );
    check_unset(
        "a.b = 1\nc = 1\na.d.e = 1\n",
        "a",
        &expect![[r#"
        c = 1
    "#]],
    );
    assert_eq!(unset("a = 1\n", &path("b.c")).unwrap(), "a = 1\n");
}
