use expect_test::expect;

use super::*;

fn shows(script: &str, rows: expect_test::Expect) {
    rows.assert_eq(&screen(&mut typed(script), 30, 6));
}

#[test]
fn words_are_moved_over_and_cut() {
    shows(
        "one two three<A-b><A-b><C-k>",
        expect![[r#"
        › one ▏
    "#]],
    );
    shows(
        "one two three<C-w><C-w>",
        expect![[r#"
        › one ▏
    "#]],
    );
    shows(
        "one two-three<A-BS>",
        expect![[r#"
        › one two-▏
    "#]],
    );
    shows(
        "one two<C-Left><A-d>",
        expect![[r#"
        › one ▏
    "#]],
    );
    shows(
        "one two<C-a><C-Right>!",
        expect![[r#"
        › one!▏ two
    "#]],
    );
}
