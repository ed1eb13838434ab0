//! Moving, cutting, undoing; rows of any width.

use expect_test::{Expect, expect};

use super::*;

fn shows(script: &str, rows: Expect) {
    rows.assert_eq(&screen(&mut typed(script), 30, 6));
}

/// The text after each of these, with the cursor.
fn lines(scripts: &[&str], lines: Expect) {
    let line = |script: &&str| {
        format!("{script}\n  {}", screen(&mut typed(script), 60, 6).replace('\n', "\n  ").trim_end())
    };
    lines.assert_eq(&scripts.iter().map(line).collect::<Vec<_>>().join("\n"));
}

#[test]
fn words_are_moved_over_and_cut() {
    lines(
        &[
            "one two three<A-b><A-b><C-k>",
            "one two-three<C-w>",
            "one two-three<A-BS>",
            "one two-three<C-BS>",
            "one two<C-Left><A-d>",
            "one two<C-a><C-Right>!",
            "one two<C-a><A-f><A-f>!",
            "naïve 世界 snake_case<A-b><A-b>|",
        ],
        expect![[r#"
            one two three<A-b><A-b><C-k>
              › one ▏
            one two-three<C-w>
              › one ▏
            one two-three<A-BS>
              › one two-▏
            one two-three<C-BS>
              › one two-▏
            one two<C-Left><A-d>
              › one ▏
            one two<C-a><C-Right>!
              › one!▏ two
            one two<C-a><A-f><A-f>!
              › one two!▏
            naïve 世界 snake_case<A-b><A-b>|
              › naïve |▏世界 snake_case"#]],
    );
}

#[test]
fn what_was_cut_is_put_in_again() {
    lines(
        &[
            "one two<C-u>",
            "one two<C-u>x <C-y>",
            "one two three<C-w><C-w><C-y><C-y>",
            "one two<C-Home><C-k><C-y>!",
            "one<A-Enter>two<Up><C-k><C-k><C-End><C-y>",
            "one two<C-w><C-a><C-y>",
        ],
        expect![[r#"
            one two<C-u>
              › ▏say what to do   / commands   @ files   ! shell
            one two<C-u>x <C-y>
              › x one two▏
            one two three<C-w><C-w><C-y><C-y>
              › one two threetwo three▏
            one two<C-Home><C-k><C-y>!
              › one two!▏
            one<A-Enter>two<Up><C-k><C-k><C-End><C-y>
              › one
                two▏
            one two<C-w><C-a><C-y>
              › two▏one"#]],
    );
}

#[test]
fn changes_are_taken_back_by_word_and_made_again() {
    lines(
        &[
            "one two three<C-z>",
            "one two three<C-z><C-z>",
            "one two three<C-z><C-_><A-z>",
            "one two<C-u><C-z>",
            "one<C-z>x<A-z>",
            "<C-z><A-z>",
        ],
        expect![[r#"
            one two three<C-z>
              › one two ▏
            one two three<C-z><C-z>
              › one ▏
            one two three<C-z><C-_><A-z>
              › one two ▏
            one two<C-u><C-z>
              › one two▏
            one<C-z>x<A-z>
              › x▏
            <C-z><A-z>
              › ▏say what to do   / commands   @ files   ! shell"#]],
    );
}

#[test]
fn new_lines_are_made_in_three_ways_and_moved_between() {
    shows(
        "a<A-Enter>b<S-Enter>c<C-j>d\\<Enter>e",
        expect![[r#"
        › a
          b
          c
          d
          e▏
    "#]],
    );
    shows(
        "first line<A-Enter>2<A-Enter>third line<Up><Up>|",
        expect![[r#"
        › first line|▏
          2
          third line
    "#]],
    );
    shows(
        "first line<A-Enter><Up><Down>x<Up><Home>|",
        expect![[r#"
        › |▏first line
          x
    "#]],
    );
    shows(
        "a long line that is wrapped at its spaces<Up>|",
        expect![[r#"
            › a long line that is wrapped
              at its spaces|▏
        "#]],
    );
    shows(
        "\\x<A-Enter>end\\<A-Enter>",
        expect![[r#"
        › \x
          end\
          ▏
    "#]],
    );
}

#[test]
fn graphemes_are_one_step_and_wide_ones_stay_whole() {
    lines(
        &[
            "e\u{301}a<Left><Left>|",
            "👩\u{200d}🚀x<Left><BS>",
            "🇩🇪🇫🇷<Left>|",
            "世界<BS>",
            "a\u{301}<BS>b",
            "\u{301}<Home>e|",
        ],
        expect![[r#"
            éa<Left><Left>|
              › |▏éa
            👩‍🚀x<Left><BS>
              › ▏x
            🇩🇪🇫🇷<Left>|
              › 🇩🇪|▏🇫🇷
            世界<BS>
              › 世▏
            á<BS>b
              › b▏
            ́<Home>e|
              › é|▏"#]],
    );
    shows(
        "世界世界世界世界世界世界世界世界",
        expect![[r#"
        › 世界世界世界世界世界世界世
          界世界▏
    "#]],
    );
}

#[test]
fn text_from_right_to_left_keeps_its_columns() {
    shows(
        "שלום abc <C-Left>|",
        expect![[r#"
        › שלום |▏abc
    "#]],
    );
    assert_eq!(typed("שלום").rows(30, 3).cursor, (6, 0));
}

#[test]
fn what_could_harm_the_screen_is_shown_and_sent_as_it_came() {
    let mut composer = Composer::new(LOOK);
    composer.paste("a\u{1b}[2Jb\tc\u{202e}d\u{200b}\r\ne\rf");
    expect![[r#"
        › a␛[2Jb    c⟨U+202E⟩d⟨U+200B⟩
          e
          f▏
    "#]]
    .assert_eq(&screen(&mut composer, 40, 6));
    assert_eq!(composer.text(), "a\u{1b}[2Jb\tc\u{202e}d\u{200b}\ne\nf");
}

#[test]
fn a_window_of_any_size_shows_the_part_around_the_cursor() {
    let mut composer = typed("one<C-j>two<C-j>three<C-j>four<C-j>five");
    let mut shown = String::new();
    for script in ["", "<Up>", "<Up><Up>", "<Up>", "<Down><Down><Down>"] {
        type_in(&mut composer, script);
        shown += &format!("--{script}\n{}", screen(&mut composer, 20, 3));
    }
    for (width, rows) in [(9, 1), (6, 2), (2, 2), (1, 1)] {
        shown += &format!("--{width}x{rows}\n{}", screen(&mut composer, width, rows));
    }
    expect![[r#"
        --
        ↑ three
          four
          five▏
        --<Up>
        ↑ three
          four▏
          five
        --<Up><Up>
        ↑ two▏
          three
        ↓ four
        --<Up>
        › one▏
          two
        ↓ three
        --<Down><Down><Down>
        ↑ two
          three
        ↓ four▏
        --9x1
        ↑ four▏
        --6x2
        four▏
        five
        --2x2
        u
        r▏
        --1x1
        ▏r
    "#]]
    .assert_eq(&shown);
}

#[test]
fn without_unicode_and_when_empty_there_are_signs_and_a_hint() {
    let mut composer = Composer::new(Look { unicode: false, ..LOOK });
    expect![[r#"
        > ▏say what to do   / commands   @ files   ! shell
    "#]]
    .assert_eq(&screen(&mut composer, 60, 3));
    expect![[r#"
        > ▏say what to do
    "#]]
    .assert_eq(&screen(&mut composer, 20, 3));
    type_in(&mut composer, "!ls<C-j>a<C-j>b<C-j>c<Up>");
    expect![[r#"
        ^ a
        v b▏
    "#]]
    .assert_eq(&screen(&mut composer, 20, 2));
}

#[test]
fn keys_for_the_screen_are_not_taken() {
    for key in ["<PageUp>", "<Esc>", "<C-c>", "<C-d>", "<Tab>", "<Up>", "<Down>", "<C-l>", "<C-Up>"] {
        assert_eq!(type_in(&mut Composer::new(LOOK), key), Reaction::NotMine, "{key}");
    }
    assert_eq!(type_in(&mut Composer::new(LOOK), "<Enter>"), Reaction::Nothing);
    assert_eq!(type_in(&mut Composer::new(LOOK), "  <Enter>"), Reaction::Nothing);
}
