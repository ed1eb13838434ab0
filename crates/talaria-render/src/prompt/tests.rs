//! The prompt at every step of every kind of question.

use expect_test::expect;
use talaria_core::request::Form;
use unicode_width::UnicodeWidthStr;

use super::super::sample;
use super::*;

fn shown(dialog: &Dialog) -> String {
    show(dialog, Paint::new(sample::PIPE), Some(100)).text()
}

#[test]
fn only_choices_that_exist_are_offered() {
    let Ask::Elicitation { thread, server, message, .. } = sample::ask_form("") else { panic!() };
    let empty = Ask::Elicitation { thread, server, message, wish: Wish::Form(Form { fields: Vec::new() }) };
    let mut asks = sample::every_ask("x");
    asks.push(empty);
    asks.push(sample::ask_input(vec![sample::question("q", "Which?", &[])]));
    let lines: Vec<String> = asks.into_iter().map(|ask| shown(&Dialog::new(ask))).collect();
    expect![[r#"
        [y] yes, once  [s] yes, for this session  [n] no, continue  [r] no, and say why
        [x] no, stop the turn: 
        --
        [y] yes, once  [s] yes, for this session  [a] yes, always  [n] no, continue  [r] no, and say why
        [x] no, stop the turn: 
        --
        [y] yes, once  [n] no, continue  [r] no, and say why  [x] no, stop the turn: 
        --
        [y] yes, once  [s] yes, for this session  [a] yes, always  [n] no, continue  [r] no, and say why
        [x] no, stop the turn: 
        --
        [y] yes, once  [s] yes, for this session  [n] no, continue  [r] no, and say why
        [x] no, stop the turn: 
        --
        [y] yes, for this turn  [s] yes, for this session  [n] no, continue  [r] no, and say why
        [x] no, stop the turn: 
        --
        [y] yes, for this task  [n] no, do not start it  [r] no, and say why: 
        --
        [y] yes, once  [s] yes, for this session  [n] no, continue  [r] no, and say why
        [x] no, stop the turn: 
        --
        [y] yes, once  [n] no, continue  [r] no, and say why  [x] no, stop the turn: 
        --
        [1-2] your answer  [o] something else  [n] no, continue  [r] no, and say why
        [x] no, stop the turn: 
        --
        [y] fill it in  [n] no, continue  [r] no, and say why  [x] no, stop the turn: 
        --
        [y] done  [n] no, continue  [r] no, and say why  [x] no, stop the turn: 
        --
        [y] yes, once  [s] yes, for this session  [a] yes, always  [n] no, continue  [r] no, and say why
        [x] no, stop the turn: 
        --

        --

        --
        [y] yes  [n] no, continue  [r] no, and say why  [x] no, stop the turn: 
        --
        your answer (empty line: back): "#]]
    .assert_eq(&lines.join("\n--\n"));
}

#[test]
fn keys_stay_inside_the_window() {
    let dialog = Dialog::new(sample::ask_tool(None, None));
    for width in [20, 40, 60, 80, 110] {
        let text = show(&dialog, Paint::new(sample::PIPE), Some(width)).text();
        let rows = text.lines().map(UnicodeWidthStr::width);
        assert!(rows.max().is_some_and(|widest| widest <= width.max(27)), "{width}: {text}");
        assert!(text.ends_with("[x] no, stop the turn: "), "{text}");
    }
    let narrow = show(&dialog, Paint::new(sample::PIPE), Some(60)).text();
    expect![[r#"
        [y] yes, once  [s] yes, for this session
        [a] yes, always  [n] no, continue  [r] no, and say why
        [x] no, stop the turn: "#]]
    .assert_eq(&narrow);
}

#[test]
fn every_step_says_what_is_wanted() {
    let mut key = sample::question("k", "Which key?", &[]);
    key.secret = true;
    let both = sample::ask_input(vec![sample::question("q", "Which colour?", &["red", "blue"]), key]);
    let steps = |ask: Ask, lines: &[&str]| {
        let mut dialog = Dialog::new(ask);
        let mut text = shown(&dialog);
        for line in lines {
            dialog.take(line);
            let typed = if dialog.is_secret() { "" } else { line };
            text += &format!("{typed}\n{}", shown(&dialog));
        }
        text
    };
    expect![[r#"
        [y] yes, once  [s] yes, for this session  [n] no, continue  [r] no, and say why
        [x] no, stop the turn: r
        tell the model why (empty line: back): 
        [y] yes, once  [s] yes, for this session  [n] no, continue  [r] no, and say why
        [x] no, stop the turn: "#]]
    .assert_eq(&steps(sample::ask_command("ls"), &["r", ""]));
    expect![[r#"
          │ Head: Which colour?
          │ [1] red: about red
          │ [2] blue: about blue
        [1-2] your answer  [o] something else  [n] no, continue  [r] no, and say why
        [x] no, stop the turn: o
          │ Head: Which colour?
          │ [1] red: about red
          │ [2] blue: about blue
        your answer (empty line: back): 
          │ Head: Which colour?
          │ [1] red: about red
          │ [2] blue: about blue
        [1-2] your answer  [o] something else  [n] no, continue  [r] no, and say why
        [x] no, stop the turn: 
          │ Head: Which key?
        your answer, not shown (empty line: back): 
        [y] answer  [n] no, continue  [r] no, and say why  [x] no, stop the turn: y
          │ Head: Which colour?
          │ [1] red: about red
          │ [2] blue: about blue
        [1-2] your answer  [o] something else  [n] no, continue  [r] no, and say why
        [x] no, stop the turn: "#]]
    .assert_eq(&steps(both, &["o", "", "1", "", "y"]));
    let lines = ["y", "Ada", "old", "7", "", "ada", "", "", "3", "1", "2"];
    expect![[r#"
        [y] fill it in  [n] no, continue  [r] no, and say why  [x] no, stop the turn: y
          │ Name (text, required)
        your entry (empty line: back): Ada
          │ age (a whole number): in years
        your entry (empty line: skip): old
          this takes a whole number
          │ age (a whole number): in years
        your entry (empty line: skip): 7
          │ ratio (a number, else 0.5)
        your entry (empty line: default): 
          │ mail (email)
        your entry (empty line: skip): ada
          this takes text like ada@example.org (email)
          │ mail (email)
        your entry (empty line: skip): 
          │ sure (yes or no)
        your entry (empty line: skip): 
          │ colour (one of [1] Red [2] g)
        your entry (empty line: skip): 3
          this takes one of the options
          │ colour (one of [1] Red [2] g)
        your entry (empty line: skip): 1
          │ colours (any of [1] Red [2] g)
        your entry (empty line: skip): 
          │ password (text)
        your entry, not shown (empty line: skip): "#]]
    .assert_eq(&steps(sample::ask_form(""), &lines));
}
