//! Up, Down and Ctrl-R.

use expect_test::expect;

use super::*;

fn with_history() -> Composer {
    let mut composer = Composer::new(LOOK);
    let lines = ["fix the build", "first line\nsecond line", "/model gpt-5", "why does it FIX that?"];
    composer.remember(PromptHistory::new(lines.map(str::to_owned).to_vec()));
    composer
}

/// The screen after each of these, one after the other.
fn story(composer: &mut Composer, scripts: &[&str]) -> String {
    let mut out = String::new();
    for script in scripts {
        type_in(composer, script);
        out += &format!("-- {script}\n{}", screen(composer, 40, 4));
    }
    out
}

#[test]
fn up_and_down_walk_and_the_draft_comes_back() {
    let mut composer = with_history();
    let scripts = ["a draft<Up>", "<Up>", "<Up>", "<Up>", "<Up>", "<Down><Down><Down>", "<Down>", "<Down>"];
    expect![[r#"
        -- a draft<Up>
        › why does it FIX that?▏
        -- <Up>
        › /model gpt-5▏
        -- <Up>
        › first line▏
          second line
        -- <Up>
        › fix the build▏
        -- <Up>
        › fix the build▏
        -- <Down><Down><Down>
        › why does it FIX that?▏
        -- <Down>
        › a draft▏
        -- <Down>
        › a draft▏
    "#]]
    .assert_eq(&story(&mut composer, &scripts));
}

#[test]
fn units_of_a_draft_come_back_as_units() {
    let mut composer = with_history();
    let long = "x\n".repeat(30);
    composer.paste(&long);
    type_in(&mut composer, "<Up><Down>");
    expect![[r#"
        › [pasted 30 lines]▏
    "#]]
    .assert_eq(&screen(&mut composer, 40, 4));
    assert_eq!(composer.text(), long);
}

#[test]
fn what_was_sent_can_be_recalled_and_changed() {
    let mut composer = typed("one<Enter>two<Enter>");
    assert_eq!(
        type_in(&mut composer, "<Up><Up>!<Enter>"),
        Reaction::Submit(PromptDraft { text: "one!".to_owned(), images: vec![] })
    );
    assert_eq!(composer.history().to_lines(), ["one", "two", "one!"]);
    assert_eq!(type_in(&mut composer, "<Down>"), Reaction::NotMine);
}

#[test]
fn what_was_sent_with_an_image_is_recalled_with_it() {
    let mut composer = typed("see ");
    composer.paste("/tmp/a.png");
    composer.image("/tmp/a.png", Some("/tmp/a.png"));
    let sent = type_in(&mut composer, " now<Enter>");
    for way in ["<Up>", "<C-r>see<Enter>", "<C-r>see<Enter><C-r>now<Enter>"] {
        type_in(&mut composer, way);
        assert_eq!(screen(&mut composer, 40, 4).replace('▏', ""), "› see [image a.png] now\n", "{way}");
        assert_eq!(type_in(&mut composer, "<Enter>"), sent, "{way}");
        assert!(composer.is_empty(), "{way}: it is no draft");
    }
    assert_eq!(composer.history().len(), 1);
}

#[test]
fn a_line_from_before_does_not_speak_of_an_image_that_is_not_attached() {
    let mut composer = typed("see ");
    composer.paste("/tmp/a.png");
    composer.image("/tmp/a.png", Some("/tmp/a.png"));
    type_in(&mut composer, " now<Enter>");
    let kept = composer.history().to_lines();
    let mut composer = Composer::new(LOOK);
    composer.remember(PromptHistory::new(kept));
    let text = "see [image a.png, not attached] now".to_owned();
    assert_eq!(type_in(&mut composer, "<Up><Enter>"), Reaction::Submit(PromptDraft { text, images: vec![] }));
}

#[test]
fn a_command_that_comes_back_opens_no_list() {
    let mut composer = with_history();
    let scripts = ["<Up><Up>", "<Up>"];
    expect![[r#"
        -- <Up><Up>
        › /model gpt-5▏
        -- <Up>
        › first line▏
          second line
    "#]]
    .assert_eq(&story(&mut composer, &scripts));
}

#[test]
fn search_finds_goes_on_and_is_taken_or_left() {
    let mut composer = with_history();
    let scripts = ["draft<C-r>", "fi", "x", "<C-r>", "<C-r>", "<C-s>", "zz", "<BS><BS>", "<C-r><Enter>"];
    expect![[r#"
        -- draft<C-r>
        find: ▏
        -- fi
        find: fi▏
          why does it FIX that?
        -- x
        find: fix▏
          why does it FIX that?
        -- <C-r>
        find: fix▏
          fix the build
        -- <C-r>
        find: fix▏
          fix the build
        -- <C-s>
        find: fix▏
          why does it FIX that?
        -- zz
        find: fixzz▏ (nothing)
        -- <BS><BS>
        find: fix▏
          why does it FIX that?
        -- <C-r><Enter>
        › fix the build▏
    "#]]
    .assert_eq(&story(&mut composer, &scripts));
    assert_eq!(type_in(&mut composer, "<C-r>line<Esc>"), Reaction::Changed);
    expect![[r#"
        › fix the build▏
    "#]]
    .assert_eq(&screen(&mut composer, 40, 4));
}

/// The input sent by Enter.
fn said(composer: &mut Composer, script: &str) -> String {
    match type_in(composer, &format!("{script}<Enter>")) {
        Reaction::Submit(prompt) => prompt.text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_draft_comes_back_when_what_took_its_place_was_sent() {
    for way in ["<Up>", "<Up>!", "<Up><BS>", "<C-r>why<Enter>", "<C-r>why<Enter>!", "<Up><C-r>why<Enter>"] {
        let mut composer = with_history();
        composer.paste(&"x\n".repeat(30));
        type_in(&mut composer, " a draft");
        let draft = composer.text();
        assert!(said(&mut composer, way).starts_with("why does it"), "{way}");
        assert_eq!(screen(&mut composer, 40, 4), "› [pasted 30 lines] a draft▏\n", "{way}");
        assert_eq!(said(&mut composer, ""), draft, "{way}");
        assert!(composer.is_empty(), "{way}: once");
    }
}

#[test]
fn every_draft_comes_back_and_none_that_was_sent_or_is_there_already() {
    let mut composer = with_history();
    assert_eq!(said(&mut composer, "one<Up> two<Up> three"), "why does it FIX that? three");
    assert_eq!(said(&mut composer, ""), "why does it FIX that? two");
    assert_eq!(said(&mut composer, "!"), "one!");
    assert!(composer.is_empty());
    for way in ["draft<Up><Down>", "draft<Up>!<C-z><C-z>", "draft<C-r>why<Esc>"] {
        assert_eq!(said(&mut composer, &format!("{way} changed")), "draft changed", "{way}");
        assert!(composer.is_empty(), "{way}");
    }
    // A recalled line is not a draft.
    assert_eq!(
        said(&mut composer, "<C-r>build<Enter><C-r>model<Enter><C-r>first<Enter>"),
        "first line\nsecond line"
    );
    assert!(composer.is_empty());
}

#[test]
fn a_mistake_in_a_line_that_was_brought_back_keeps_the_draft_where_it_was() {
    let mut composer = Composer::new(LOOK);
    composer.remember(PromptHistory::new(vec!["/modle".to_owned()]));
    assert!(matches!(type_in(&mut composer, "draft<Up><Enter>"), Reaction::Mistake(_)));
    type_in(&mut composer, "<Down>");
    assert_eq!(composer.text(), "draft");
}
