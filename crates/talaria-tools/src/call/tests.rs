//! Every tool has a schema of plain objects, all of them are small, and wrong arguments are named to the model.

use serde_json::json;

use super::*;

fn machine(tool: &str, arguments: &Value) -> MachineCall {
    match LoopCall::parse(tool, arguments) {
        Ok(LoopCall::Machine(call)) => call,
        other => panic!("{other:?}"),
    }
}

fn refusal(tool: &str, arguments: &Value) -> String {
    LoopCall::parse(tool, arguments).map(|call| panic!("{call:?}")).unwrap_err()
}

#[test]
fn all_schemas_together_are_small_and_plain() {
    let mut bytes = 0;
    for spec in loop_tools() {
        let schema = spec.schema.to_string();
        bytes += spec.name.len() + spec.description.len() + schema.len();
        for word in ["oneOf", "anyOf", "$ref", "allOf"] {
            assert!(!schema.contains(word), "{}: {word}", spec.name);
        }
        assert_eq!(spec.schema["additionalProperties"], false, "{}", spec.name);
    }
    assert!(bytes < 8 * 1024, "{bytes} bytes");
}

#[test]
fn every_parameter_of_a_schema_is_read_and_no_other() {
    // One call of each tool with every parameter that its schema has, in forms that go together.
    let id = "0123456789abcdef";
    let calls = [
        ("run", json!({ "command": "ls", "cwd": "a", "seconds": 5, "background": false, "escalate": "why" })),
        ("process", json!({ "process": id, "action": "poll", "from": 3, "seconds": 2 })),
        ("process", json!({ "process": id, "action": "write", "text": "x", "end": true })),
        ("process", json!({ "process": id, "action": "kill" })),
        ("read", json!({ "path": "a", "offset": 2, "limit": 3 })),
        ("edit", json!({ "path": "a", "old": "x", "new": "y", "all": true, "digest": "0" })),
        ("write", json!({ "path": "a", "text": "x", "digest": "0" })),
        ("search", json!({ "pattern": "x", "mode": "content", "path": "a", "glob": "*.rs" })),
        ("plan", json!({ "explanation": "e", "steps": [{ "step": "a", "status": "pending" }] })),
        (
            "ask",
            json!({ "questions": [{ "question": "q?", "options": [{ "label": "l", "description": "d" }] }] }),
        ),
        ("view_image", json!({ "path": "a" })),
    ];
    for spec in loop_tools() {
        let mut used: Vec<String> = Vec::new();
        for (_, arguments) in calls.iter().filter(|(tool, _)| *tool == spec.name) {
            assert!(LoopCall::parse(spec.name, arguments).is_ok(), "{} {arguments}", spec.name);
            used.extend(arguments.as_object().unwrap().keys().cloned());
            let mut wrong = arguments.clone();
            wrong["unheard_of"] = json!(1);
            assert!(refusal(spec.name, &wrong).contains("unheard_of"), "{}", spec.name);
        }
        used.sort();
        used.dedup();
        let known: Vec<&String> = spec.schema["properties"].as_object().unwrap().keys().collect();
        let mut known: Vec<String> = known.into_iter().cloned().collect();
        known.sort();
        assert_eq!(used, known, "{}", spec.name);
    }
}

#[test]
fn what_is_left_out_has_its_usual_value() {
    let wait = CommandWait::Foreground(Duration::from_secs(120));
    let expected = MachineCall::Run { command: "ls".into(), cwd: None, wait, escalate: None };
    assert_eq!(machine("run", &json!({ "command": "ls", "cwd": null, "escalate": " " })), expected);
    let MachineCall::Run { wait, .. } = machine("run", &json!({ "command": "ls", "background": true }))
    else {
        panic!()
    };
    assert_eq!(wait, CommandWait::Background);
    let expected = MachineCall::Read { path: "a".into(), range: LineRange { offset: 1, limit: 500 } };
    assert_eq!(machine("read", &json!({ "path": "a" })), expected);
}

#[test]
fn wrong_arguments_are_named_with_what_to_write() {
    let id = "0123456789abcdef";
    let cases = [
        ("run", json!([]), "run: the arguments must be a JSON object"),
        ("run", json!({}), "run: command is missing"),
        ("run", json!({ "command": 7 }), "run: command must be a string"),
        ("run", json!({ "command": "  " }), "run: command is empty"),
        (
            "run",
            json!({ "command": "x", "seconds": 601 }),
            "run: seconds must be a whole number from 1 to 600",
        ),
        (
            "run",
            json!({ "command": "x", "backgroud": true }),
            "run: there is no parameter \"backgroud\" here; do you mean background?",
        ),
        (
            "process",
            json!({ "action": "poll", "process": "../x" }),
            "process: \"../x\" does not name a process; its name is sixteen hex digits",
        ),
        (
            "process",
            json!({ "action": "wait", "process": id }),
            "process: action \"wait\" is not known; it is poll, write or kill",
        ),
        (
            "process",
            json!({ "action": "write", "process": id }),
            "process: write needs text, or end to close the input",
        ),
        ("read", json!({ "path": "a", "offset": 0 }), "read: offset must be a whole number from 1 on"),
        (
            "search",
            json!({ "pattern": "a", "mode": "names" }),
            "search: mode \"names\" is not known; it is content or files",
        ),
        ("ask", json!({ "questions": [] }), "ask: questions must have 1 to 3 entries, not 0"),
        ("fly", json!({}), "there is no tool \"fly\""),
    ];
    for (tool, arguments, expected) in cases {
        assert_eq!(refusal(tool, &arguments), expected);
    }
}

#[test]
fn a_plan_with_an_unknown_status_two_steps_in_progress_or_a_repeated_step_is_refused() {
    let plan = |steps: Value| LoopCall::parse("plan", &json!({ "steps": steps }));
    let step = |text: &str, status: &str| json!({ "step": text, "status": status });
    let refused = plan(json!([step("a", "done")])).unwrap_err();
    assert_eq!(refused, "plan: status \"done\" is not known; it is pending, in_progress or completed");
    assert!(plan(json!([step("a", "in_progress"), step("b", "in_progress")])).is_err());
    assert!(plan(json!([step("a", "pending"), step("a", "pending")])).is_err());
    let Ok(LoopCall::Plan { steps, .. }) = plan(json!([step("a", "completed"), step("b", "in_progress")]))
    else {
        panic!()
    };
    assert_eq!(steps.len(), 2);
}

#[test]
fn null_is_a_parameter_that_was_left_out() {
    let call = machine(
        "process",
        &json!({ "process": "0123456789abcdef", "action": "poll", "text": null, "end": null, "seconds": null }),
    );
    assert_eq!(call, machine("process", &json!({ "process": "0123456789abcdef", "action": "poll" })));
    assert!(refusal("read", &json!({ "path": null })).contains("path is missing"));
}
