//! Rows become turns that are over; secrets and lengths do not come along.

use expect_test::expect;

use super::past::{LONGEST_TEXT, PastTurn, Row, message, turns};

fn row(id: i64, role: &str, content: &str) -> Row {
    Row { id, role: role.to_owned(), content: Some(content.to_owned()), at: id * 1000, ..Row::default() }
}

fn shown(rows: &[Row]) -> String {
    let turns = turns(rows.iter().filter_map(message).collect());
    let line = |turn: &PastTurn| {
        let messages = turn
            .messages
            .iter()
            .map(|kept| format!("  {} {}\n", kept.id, serde_json::to_string(&kept.message).unwrap()));
        let (began, ended) = turn.times();
        let head = format!("{:?} {} {began}..{ended}\n", turn.prompt(), turn.report.outcome.word());
        head + &messages.collect::<String>()
    };
    turns.iter().map(line).collect()
}

#[test]
fn a_persons_message_begins_a_turn_and_calls_stay_calls() {
    let calls = r#"[{"id":"call_1","type":"function","function":{"name":"terminal","arguments":"{\"command\":\"ls\"}"}}]"#;
    let rows = [
        row(1, "system", "You are an assistant."),
        row(2, "user", "list the files"),
        Row {
            content: None,
            calls: Some(calls.to_owned()),
            reasoning: Some("hm".to_owned()),
            ..row(3, "assistant", "")
        },
        Row { call: Some("call_1".to_owned()), ..row(4, "tool", "a\nb\n") },
        row(5, "assistant", "Two files."),
        row(6, "session_meta", "{}"),
        row(7, "assistant", "  "),
        row(8, "user", "and now?"),
        row(9, "user", "hello?"),
    ];
    expect![[r#"
        "list the files" completed 2000..5000
          2 {"role":"user","content":"list the files"}
          3 {"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"terminal","arguments":"{\"command\":\"ls\"}"}}],"reasoning":"hm"}
          4 {"role":"tool","content":"a\nb\n","tool_call_id":"call_1"}
          5 {"role":"assistant","content":"Two files."}
        "and now?" lost 8000..9000
          8 {"role":"user","content":"and now?"}
          9 {"role":"user","content":"hello?"}
    "#]]
    .assert_eq(&shown(&rows));
}

#[test]
fn parts_are_read_as_their_texts_and_pictures_as_a_note() {
    let parts = "\0json:[{\"type\":\"text\",\"text\":\"what is this?\"},{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:x\"}},\"more\"]";
    let rows =
        [row(1, "user", parts), row(2, "assistant", "\0json:{\"a\":1}"), row(3, "assistant", "\0json:{oops")];
    expect![[r#"
        "what is this?\n[image_url]\nmore" completed 1000..3000
          1 {"role":"user","content":"what is this?\n[image_url]\nmore"}
          2 {"role":"assistant","content":"{\"a\":1}"}
          3 {"role":"assistant","content":"{oops"}
    "#]]
    .assert_eq(&shown(&rows));
}

#[test]
fn secrets_are_gone_before_anything_is_cut() {
    let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let long = format!("{}{token}{}", "x ".repeat(5 * 1024 / 2 - 10), " y".repeat(20_000));
    let call = format!(
        r#"[{{"id":"c","function":{{"name":"http","arguments":{{"headers":{{"Authorization":"Bearer {token}"}}}}}}}},
            {{"id":"d","function":{{"name":"raw","arguments":"token={token}"}}}}]"#
    );
    let rows = [
        row(1, "user", &format!("my key is {token}")),
        Row { calls: Some(call), reasoning: Some(token.clone()), ..row(2, "assistant", &token) },
        row(3, "tool", &long),
        row(4, "assistant", &"z".repeat(LONGEST_TEXT + 5)),
    ];
    let shown = shown(&rows);
    assert!(!shown.contains("a1B2c3"), "{}", &shown[..2000]);
    assert!(shown.contains("bytes left out]"), "a long output is cut");
    assert!(shown.len() < LONGEST_TEXT + 20_000, "{}", shown.len());
}

#[test]
fn broken_calls_and_very_long_arguments_lose_nothing_else() {
    let long = format!(
        r#"[{{"id":"c","function":{{"name":"write","arguments":"{{\"t\":\"{}\"}}"}}}}]"#,
        "a ".repeat(50_000)
    );
    let rows = [
        row(1, "user", "go"),
        Row { calls: Some("{not json".to_owned()), ..row(2, "assistant", "first") },
        Row {
            calls: Some("[1, {\"function\":{}}, {\"name\":\"flat\",\"call_id\":\"f\"}]".to_owned()),
            ..row(3, "assistant", "")
        },
        Row { calls: Some(long), ..row(4, "assistant", "") },
    ];
    expect![[r#"
        "go" lost 1000..4000
          1 {"role":"user","content":"go"}
          2 {"role":"assistant","content":"first"}
          3 {"role":"assistant","content":null,"tool_calls":[{"id":"f","type":"function","function":{"name":"flat","arguments":"{}"}}]}
          4 {"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"write","arguments":"{\"bytes_left_out\":100008}"}}]}
    "#]]
    .assert_eq(&shown(&rows));
}

#[test]
fn a_very_long_turn_is_divided_and_stays_completed() {
    let mut rows = vec![row(1, "user", "go")];
    rows.extend((2..=450).map(|id| row(id, "tool", "step")));
    rows.push(row(451, "assistant", "done"));
    let turns = turns(rows.iter().filter_map(message).collect());
    let outcomes: Vec<_> =
        turns.iter().map(|turn| (turn.messages.len(), turn.report.outcome.word())).collect();
    assert_eq!(outcomes, [(200, "completed"), (200, "completed"), (51, "completed")]);
}
