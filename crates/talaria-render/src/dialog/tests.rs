//! Lines in; steps and the answer out.

use expect_test::expect;
use talaria_core::ids::{ItemId, ThreadId};
use talaria_core::request::{FieldKind, Form, QuestionOption};

use super::*;

fn question(id: &str, labels: &[&str]) -> Question {
    let options =
        labels.iter().map(|label| QuestionOption { label: (*label).to_owned(), description: String::new() });
    Question {
        id: id.to_owned(),
        header: String::new(),
        question: "?".to_owned(),
        options: options.collect(),
        other: !labels.is_empty(),
        secret: false,
    }
}

fn input(questions: Vec<Question>) -> Ask {
    Ask::Input { thread: ThreadId::new("t"), item: None, questions, blocking: None }
}

fn form(fields: Vec<Field>) -> Ask {
    Ask::Elicitation {
        thread: ThreadId::new("t"),
        server: "s".to_owned(),
        message: String::new(),
        wish: Wish::Form(Form { fields }),
    }
}

fn field(name: &str, kind: FieldKind) -> Field {
    let (title, description, default) = (None, None, None);
    Field { name: name.to_owned(), title, description, required: true, secret: false, kind, default }
}

fn text() -> FieldKind {
    FieldKind::Text { format: None, min_length: None, max_length: None }
}

fn command() -> Ask {
    Ask::Command {
        thread: ThreadId::new("t"),
        item: ItemId::new("i"),
        approval: None,
        command: "ls".to_owned(),
        actions: Vec::new(),
        cwd: None,
        reason: None,
        permissions: None,
        always: None,
        asked_because: None,
    }
}

/// Feeds lines; returns the steps, and the answer as it is written down.
fn run(ask: Ask, lines: &[&str]) -> String {
    let mut dialog = Dialog::new(ask);
    let mut told = format!("{:?}", dialog.step());
    for line in lines {
        match dialog.take(line) {
            DialogResult::Ask => told += &format!(" → {:?}", dialog.step()),
            DialogResult::Answer(answer) => {
                let fits = dialog.ask().check(&answer).is_ok();
                return format!(
                    "{told} → {}{}",
                    serde_json::to_string(&answer).unwrap(),
                    if fits { "" } else { " ✗" }
                );
            }
        }
    }
    told
}

#[test]
fn a_choice_is_one_key_and_nothing_else_is_an_answer() {
    let lines = ["y", " YES ", "s", "a", "n", "no", "x", "r", "", "yn", "ok", "1", "Y\r"];
    let told = lines.map(|line| format!("{line:?}: {}", run(command(), &[line])));
    expect![[r#"
        "y": Choice → {"decision":"accept","reason":null,"content":{"kind":"nothing"}}
        " YES ": Choice → {"decision":"accept","reason":null,"content":{"kind":"nothing"}}
        "s": Choice → {"decision":"accept_for_session","reason":null,"content":{"kind":"nothing"}}
        "a": Choice → Choice
        "n": Choice → {"decision":"decline","reason":null,"content":{"kind":"nothing"}}
        "no": Choice → {"decision":"decline","reason":null,"content":{"kind":"nothing"}}
        "x": Choice → {"decision":"cancel","reason":null,"content":{"kind":"nothing"}}
        "r": Choice → Reason
        "": Choice → Choice
        "yn": Choice → Choice
        "ok": Choice → Choice
        "1": Choice → Choice
        "Y\r": Choice → {"decision":"accept","reason":null,"content":{"kind":"nothing"}}"#]]
    .assert_eq(&told.join("\n"));
}

#[test]
fn a_reason_is_a_line_and_an_empty_one_goes_back() {
    expect![[
        r#"Choice → Reason → {"decision":"decline","reason":"use the mirror","content":{"kind":"nothing"}}"#
    ]]
    .assert_eq(&run(command(), &["r", " use the mirror "]));
    expect![[
        r#"Choice → Reason → Choice → {"decision":"decline","reason":null,"content":{"kind":"nothing"}}"#
    ]]
    .assert_eq(&run(command(), &["r", "  ", "n"]));
}

#[test]
fn questions_are_answered_one_after_the_other() {
    let both = || input(vec![question("colour", &["Red", "Blue"]), question("name", &[])]);
    let cases: [&[&str]; 9] = [
        &["2", "Ada"],
        &["blue", " Ada "],
        &["o", "mauve", "Ada"],
        &["o", "", "1", "Ada"],
        &["3", "", "1", "", "y", "2", "Ada"],
        &["n"],
        &["x"],
        &["r", "not now"],
        &["1", "", "n"],
    ];
    let told = cases.map(|lines| run(both(), lines));
    expect![[r#"
        Question(0) → Question(1) → {"decision":"accept","reason":null,"content":{"kind":"answers","given":{"colour":["Blue"],"name":["Ada"]}}}
        Question(0) → Question(1) → {"decision":"accept","reason":null,"content":{"kind":"answers","given":{"colour":["Blue"],"name":["Ada"]}}}
        Question(0) → Other(0) → Question(1) → {"decision":"accept","reason":null,"content":{"kind":"answers","given":{"colour":["mauve"],"name":["Ada"]}}}
        Question(0) → Other(0) → Question(0) → Question(1) → {"decision":"accept","reason":null,"content":{"kind":"answers","given":{"colour":["Red"],"name":["Ada"]}}}
        Question(0) → Question(0) → Question(0) → Question(1) → Choice → Question(0) → Question(1) → {"decision":"accept","reason":null,"content":{"kind":"answers","given":{"colour":["Blue"],"name":["Ada"]}}}
        Question(0) → {"decision":"decline","reason":null,"content":{"kind":"nothing"}}
        Question(0) → {"decision":"cancel","reason":null,"content":{"kind":"nothing"}}
        Question(0) → Reason → {"decision":"decline","reason":"not now","content":{"kind":"nothing"}}
        Question(0) → Question(1) → Choice → {"decision":"decline","reason":null,"content":{"kind":"nothing"}}"#]].assert_eq(&told.join("\n"));
}

#[test]
fn an_option_cannot_take_the_place_of_a_key() {
    let trap = || input(vec![question("q", &["n", "x", "No"])]);
    expect![[r#"
        Question(0) → {"decision":"decline","reason":null,"content":{"kind":"nothing"}}
        Question(0) → {"decision":"cancel","reason":null,"content":{"kind":"nothing"}}
        Question(0) → Other(0)
        Question(0) → {"decision":"accept","reason":null,"content":{"kind":"answers","given":{"q":["n"]}}}
        Question(0) → {"decision":"accept","reason":null,"content":{"kind":"answers","given":{"q":["No"]}}}"#]].assert_eq(&["n", "x", "o", "1", "no"].map(|line| run(trap(), &[line])).join("\n"));
}

#[test]
fn a_form_is_filled_in_after_a_yes_and_left_with_an_empty_line() {
    let integer = FieldKind::Integer { minimum: None, maximum: None };
    let both = || {
        let optional = Field { required: false, ..field("age", integer.clone()) };
        form(vec![field("name", text()), optional])
    };
    let cases: [&[&str]; 6] = [
        &["y", "Ada", "37"],
        &["y", "Ada", ""],
        &["y", "Ada", "old", "37"],
        &["y", "", "n"],
        &["n"],
        &["y", "", "y", "B", ""],
    ];
    let told = cases.map(|lines| run(both(), lines));
    expect![[r#"
        Choice → Field(0) → Field(1) → {"decision":"accept","reason":null,"content":{"kind":"form","given":{"age":37,"name":"Ada"}}}
        Choice → Field(0) → Field(1) → {"decision":"accept","reason":null,"content":{"kind":"form","given":{"name":"Ada"}}}
        Choice → Field(0) → Field(1) → Field(1) → {"decision":"accept","reason":null,"content":{"kind":"form","given":{"age":37,"name":"Ada"}}}
        Choice → Field(0) → Choice → {"decision":"decline","reason":null,"content":{"kind":"nothing"}}
        Choice → {"decision":"decline","reason":null,"content":{"kind":"nothing"}}
        Choice → Field(0) → Choice → Field(0) → Field(1) → {"decision":"accept","reason":null,"content":{"kind":"form","given":{"name":"B"}}}"#]].assert_eq(&told.join("\n"));
    expect![[r#"Choice → {"decision":"accept","reason":null,"content":{"kind":"nothing"}}"#]]
        .assert_eq(&run(form(Vec::new()), &["y"]));
}

#[test]
fn what_is_typed_for_a_secret_is_hidden_and_not_written_down() {
    let secret = || Question { secret: true, ..question("key", &["old", "new"]) };
    let mut dialog = Dialog::new(input(vec![secret()]));
    assert!(dialog.is_secret(), "the number of an option would tell");
    dialog.take("o");
    assert!(dialog.is_secret());
    let DialogResult::Answer(answer) = dialog.take(" hunter2 ") else { panic!() };
    assert!(!format!("{answer:?} {dialog:?}").contains("hunter2"));
    let hidden = Field { secret: true, ..field("password", text()) };
    let mut dialog = Dialog::new(form(vec![hidden, field("name", text())]));
    assert!(!dialog.is_secret(), "the choice is no secret");
    dialog.take("y");
    assert!(dialog.is_secret());
    dialog.take("hunter2");
    assert!(!dialog.is_secret());
    assert!(!format!("{dialog:?}").contains("hunter2"));
}

#[test]
fn every_step_has_its_own_number() {
    let mut dialog = Dialog::new(input(vec![question("a", &["x"]), question("b", &["y"])]));
    let mut counts = vec![dialog.count()];
    for line in ["nonsense", "o", "", "1"] {
        dialog.take(line);
        counts.push(dialog.count());
    }
    assert_eq!(counts, [0, 0, 1, 2, 3], "a line that is no answer leaves the step as it is");
}
