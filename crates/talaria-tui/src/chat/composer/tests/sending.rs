//! What Enter does, and what pastes become.

use expect_test::expect;
use talaria_core::request::Decision;

use super::*;

fn say(text: &str) -> Reaction {
    Reaction::Submit(PromptDraft { text: text.to_owned(), images: vec![] })
}

fn sent(script: &str) -> Reaction {
    type_in(&mut Composer::new(LOOK), &format!("{script}<Enter>"))
}

#[test]
fn a_slash_is_a_command_and_an_exclamation_mark_the_shell() {
    assert_eq!(sent("hello"), say("hello"));
    assert_eq!(sent("/new"), Reaction::Command(SlashCommand::New));
    let session = SlashCommand::Approve { request: None, decision: Decision::AcceptForSession };
    assert_eq!(sent("/approve session"), Reaction::Command(session));
    assert_eq!(sent("!git status"), Reaction::Shell("git status".to_owned()));
    assert_eq!(sent("//new is a command"), say("/new is a command"));
    assert_eq!(sent(" /new"), say("/new"));
    assert_eq!(sent(" !x"), say("!x"));
    assert_eq!(sent("/usr/bin/env is missing"), say("/usr/bin/env is missing"));
    assert_eq!(sent("  two spaces stay "), say("  two spaces stay "));
}

#[test]
fn a_mistake_stays_to_be_mended() {
    let mut composer = typed("/modle x");
    let Reaction::Mistake(what) = type_in(&mut composer, "<Enter>") else { panic!("it is no command") };
    expect!["there is no command /modle; did you mean /model? // at the start sends the line as text"]
        .assert_eq(&what);
    assert_eq!(composer.text(), "/modle x");
    assert!(composer.history().is_empty());
}

#[test]
fn a_long_paste_is_one_unit_and_is_sent_whole() {
    let long: String = (1..=120).map(|line| format!("line {line}\n")).collect();
    let mut composer = typed("look: ");
    assert_eq!(composer.paste(&long), Reaction::Changed);
    type_in(&mut composer, " ok");
    expect![[r#"
        › look: [pasted 120 lines] ok▏
    "#]]
    .assert_eq(&screen(&mut composer, 60, 5));
    assert_eq!(composer.text(), format!("look: {long} ok"));
    type_in(&mut composer, "<Left><Left><Left><Left>|<Right>|");
    expect![[r#"
        › look: |[pasted 120 lines]|▏ ok
    "#]]
    .assert_eq(&screen(&mut composer, 60, 5));
    expect![[r#"
        › look:
          |
          [pasted …
          |▏ ok
    "#]]
    .assert_eq(&screen(&mut composer, 12, 5));
    type_in(&mut composer, "<Left><BS><C-z>");
    assert_eq!(sent_of(&mut composer), format!("look: |{long}| ok"));
}

fn sent_of(composer: &mut Composer) -> String {
    match type_in(composer, "<Enter>") {
        Reaction::Submit(prompt) => prompt.text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn lines_in_a_paste_never_send_and_are_never_a_command() {
    let mut composer = Composer::new(LOOK);
    assert_eq!(composer.paste("one\rtwo\r\nthree\n"), Reaction::Changed);
    expect![[r#"
        › one
          two
          three
          ▏
    "#]]
    .assert_eq(&screen(&mut composer, 60, 5));
    let long = format!("/quit\n{}", "x\n".repeat(20));
    composer.clear();
    composer.paste(&long);
    assert_eq!(sent_of(&mut composer), long);
}

#[test]
fn the_size_of_a_paste_decides_how_it_is_shown() {
    for (text, is_unit) in [
        ("x".repeat(1_000), false),
        ("x".repeat(1_001), true),
        (["x"; 10].join("\n"), false),
        (["x"; 11].join("\n"), true),
    ] {
        let mut composer = Composer::new(LOOK);
        composer.paste(&text);
        assert_eq!(screen(&mut composer, 80, 20).contains("[pasted"), is_unit, "{}", text.len());
    }
}

#[test]
fn a_pasted_image_is_attached_and_can_be_deleted() {
    let mut composer = typed("see ");
    let wanted = Reaction::WantImage("/tmp/my shot.png".to_owned());
    assert_eq!(composer.paste("/tmp/my\\ shot.png"), wanted);
    type_in(&mut composer, " please");
    composer.image("/tmp/my shot.png", Some("/tmp/my shot.png"));
    expect![[r#"
        › see [image my shot.png] please▏
    "#]]
    .assert_eq(&screen(&mut composer, 60, 5));
    let images = vec!["/tmp/my shot.png".to_owned()];
    assert_eq!(
        type_in(&mut composer.clone(), "<Enter>"),
        Reaction::Submit(PromptDraft { text: "see [image my shot.png] please".to_owned(), images })
    );
    type_in(&mut composer, "<Home><Right><Right><Right><Right><Del>");
    assert_eq!(type_in(&mut composer, "<Enter>"), say("see  please"));
}

#[test]
fn an_image_takes_the_place_of_what_was_pasted_however_it_was_spelled() {
    for pasted in ["/tmp/a b.png", "'/tmp/a b.png'", "/tmp/a\\ b.png", "file:///tmp/a%20b.png"] {
        let mut composer = typed("<A-Enter>x<Up>");
        assert_eq!(composer.paste(pasted), Reaction::WantImage("/tmp/a b.png".to_owned()));
        composer.image("/tmp/a b.png", Some("/tmp/a b.png"));
        composer.image("/tmp/a b.png", Some("/tmp/a b.png"));
        assert_eq!(screen(&mut composer, 40, 4), "› [image a b.png]▏\n  x\n", "{pasted}");
    }
}

#[test]
fn several_images_are_asked_for_one_after_the_other() {
    let mut composer = Composer::new(LOOK);
    let mut reaction = composer.paste("/tmp/a.png /tmp/b.png '/tmp/c d.png'");
    let mut asked = Vec::new();
    while let Reaction::WantImage(path) = reaction {
        let exists = path != "/tmp/b.png";
        reaction = composer.image(&path, exists.then_some(path.as_str()));
        asked.push(path);
    }
    assert_eq!(asked, ["/tmp/a.png", "/tmp/b.png", "/tmp/c d.png"]);
    assert_eq!(screen(&mut composer, 60, 4), "› [image a.png] /tmp/b.png [image c d.png]▏\n");
}

/// Pastes the path of an existing image.
fn attach(composer: &mut Composer, path: &str) {
    assert_eq!(composer.paste(path), Reaction::WantImage(path.to_owned()));
    composer.image(path, Some(path));
}

#[test]
fn images_keep_their_place_in_the_sentence_and_are_told_apart() {
    let mut composer = typed("compare ");
    attach(&mut composer, "/v/a.png");
    type_in(&mut composer, " with ");
    attach(&mut composer, "/w/a.png");
    type_in(&mut composer, " please");
    let shown = "compare [image a.png] with [image a.png 2] please";
    assert_eq!(screen(&mut composer, 60, 4), format!("› {shown}▏\n"));
    let images = vec!["/v/a.png".to_owned(), "/w/a.png".to_owned()];
    let prompt = PromptDraft { text: shown.to_owned(), images };
    assert_eq!(type_in(&mut composer.clone(), "<Enter>"), Reaction::Submit(prompt));
    // The first one is cut, and pasted after the other: twice.
    type_in(&mut composer, "<C-Home><Del><Del><Del><Del><Del><Del><Del><Del><C-k><C-y>");
    assert_eq!(screen(&mut composer, 60, 4), "› [image a.png] with [image a.png 2] please▏\n");
    type_in(&mut composer, "<Home><Del><C-k><C-y><C-y>");
    let shown = " with [image a.png] please with [image a.png 2] please";
    assert_eq!(screen(&mut composer, 60, 4), format!("› {shown}▏\n"));
    let images = vec!["/w/a.png".to_owned(), "/w/a.png".to_owned()];
    assert_eq!(
        type_in(&mut composer, "<Enter>"),
        Reaction::Submit(PromptDraft { text: shown.to_owned(), images })
    );
}

#[test]
fn a_late_answer_about_an_image_leaves_the_cursor_where_it_is() {
    for (script, shown) in
        [("<Home>", "› ▏see [image a.png]\n"), (" and<Left>", "› see [image a.png] an▏d\n")]
    {
        let mut composer = typed("see ");
        composer.paste("/a.png");
        type_in(&mut composer, script);
        composer.image("/a.png", Some("/a.png"));
        assert_eq!(screen(&mut composer, 40, 4), shown);
    }
}

#[test]
fn a_path_that_is_no_image_or_was_changed_stays_text() {
    let mut composer = Composer::new(LOOK);
    composer.paste("/tmp/gone.png");
    composer.image("/tmp/gone.png", None);
    assert_eq!(composer.text(), "/tmp/gone.png");
    composer.clear();
    composer.paste("/tmp/gone.png");
    type_in(&mut composer, "<BS><BS>");
    composer.image("/tmp/gone.png", Some("/tmp/gone.png"));
    assert_eq!(composer.text(), "/tmp/gone.p");
}

#[test]
fn an_image_alone_can_be_sent_but_not_with_a_command() {
    let mut composer = Composer::new(LOOK);
    composer.paste("a.png");
    composer.image("a.png", Some("/w/a.png"));
    let images = vec!["/w/a.png".to_owned()];
    assert_eq!(
        type_in(&mut composer.clone(), "<Enter>"),
        Reaction::Submit(PromptDraft { text: "[image a.png]".to_owned(), images })
    );
    type_in(&mut composer, "<Home>/steer ");
    assert!(matches!(type_in(&mut composer, "<Enter>"), Reaction::Mistake(_)));
}

#[test]
fn what_is_too_long_is_told_before_it_is_sent() {
    let mut composer = Composer::new(LOOK);
    composer.paste(&"ä".repeat(1_048_576));
    assert!(matches!(type_in(&mut composer.clone(), "<Enter>"), Reaction::Submit(_)));
    type_in(&mut composer, "x");
    let Reaction::Mistake(what) = type_in(&mut composer, "<Enter>") else { panic!("it is too long") };
    expect!["the input is too long: 1048577 characters, and Codex accepts at most 1048576; put the text into a file and ask Codex to read it"].assert_eq(&what);
    assert!(!composer.is_empty());
}

#[test]
fn what_was_refused_comes_back_before_what_was_typed_since() {
    let mut composer = typed("and more");
    composer.put_back(PromptDraft { text: "/etc".to_owned(), images: vec!["/w/a.png".to_owned()] });
    expect![[r#"
        › //etc[image a.png]
          and more▏
    "#]]
    .assert_eq(&screen(&mut composer, 60, 5));
}

#[test]
fn images_that_come_back_are_attached_where_they_stood() {
    for (text, shown) in [
        ("see [image a.png] and [image a.png 2].", "see [image a.png] and [image a.png 2].▏"),
        ("[image a.png]\n[image a.png 2]", "[image a.png]\n  [image a.png 2]▏"),
        ("/etc [image a.png][image a.png 2]", "//etc [image a.png][image a.png 2]▏"),
        (" /etc [image a.png] [image a.png 2]", "[pasted 6 characters][image a.png] [image a.png 2]▏"),
    ] {
        let images = vec!["/v/a.png".to_owned(), "/w/a.png".to_owned()];
        let prompt = PromptDraft { text: text.to_owned(), images };
        let mut composer = Composer::new(LOOK);
        composer.put_back(prompt.clone());
        assert_eq!(screen(&mut composer, 60, 4), format!("› {shown}\n"));
        assert_eq!(type_in(&mut composer.clone(), "<Enter>"), Reaction::Submit(prompt), "{text}");
        assert_eq!(composer.buffer.content().images().len(), 2, "{text}");
    }
}

#[test]
fn what_is_long_comes_back_as_one_unit_whatever_it_begins_with() {
    for text in [format!("/*{}*/", "x".repeat(2_000)), format!("!{}", "y\n".repeat(20)), "z".repeat(2_000)] {
        let mut composer = Composer::new(LOOK);
        composer.put_back(PromptDraft { text: text.clone(), images: vec![] });
        assert!(screen(&mut composer, 40, 4).starts_with("› [pasted"), "{text}");
        assert_eq!(sent_of(&mut composer), text);
    }
}

#[test]
fn several_that_come_back_are_said_as_they_were() {
    for (text, written) in [("/etc is what?", ""), ("!important", ""), ("/etc", "//usr"), ("!a", " !b")] {
        let mut composer = typed(written);
        for text in [text, "before"] {
            composer.put_back(PromptDraft { text: text.to_owned(), images: vec![] });
        }
        let rest = if written.is_empty() { String::new() } else { format!("\n{}", &written[1..]) };
        assert!(composer.is_at_end());
        assert_eq!(sent_of(&mut composer), format!("before\n{text}{rest}"));
    }
}
