//! Every request that Codex can send, with every decision. The requests are in `requests.jsonl`, as the real Codex writes
//! them; the tests of the engine validate them and these answers against Codex's own schema.

use std::collections::BTreeMap;

use expect_test::expect;

use super::*;
use crate::frame::{Decoded, Frame, decode_text};
use crate::project;
use talaria_core::request::{Ask, Given, Wish};

const DECISIONS: [Decision; 6] = [
    Decision::Accept,
    Decision::AcceptForSession,
    Decision::AcceptAlways,
    Decision::Decline,
    Decision::Cancel,
    Decision::Void,
];

fn requests() -> Vec<(String, ServerRequest)> {
    let read = |line: &str| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        let name = line["name"].as_str().unwrap().to_owned();
        line["id"] = json!(0);
        match decode_text(&line.to_string()) {
            Decoded::Known(Frame::Request { request, .. }) => (name, request),
            other => panic!("{name}: {other:?}"),
        }
    };
    include_str!("requests.jsonl").lines().map(read).collect()
}

fn request(name: &str) -> ServerRequest {
    requests().into_iter().find(|(other, _)| other == name).unwrap().1
}

/// Details of a yes to this question.
fn content(ask: &Ask) -> Content {
    match ask {
        Ask::Input { questions, .. } => {
            let given = |at| if at == 0 { Given::plain("Blue") } else { Given::secret("hunter2") };
            let answers =
                questions.iter().enumerate().map(|(at, question)| (question.id.clone(), vec![given(at)]));
            Content::Answers(answers.collect())
        }
        Ask::Elicitation { wish: Wish::Form(_), .. } => {
            let values = [("name", Given::plain("Ada")), ("password", Given::secret("hunter2"))];
            Content::Form(values.into_iter().map(|(name, given)| (name.to_owned(), given)).collect())
        }
        _ => Content::Nothing,
    }
}

#[test]
fn every_request_and_decision_has_its_shape() {
    let mut table = String::new();
    for (name, request) in requests() {
        table += &format!("{name}\n");
        let content = content(&project::ask(&request, None));
        let mut last = String::new();
        for decision in DECISIONS {
            let answer = answer(&request, &Answer { decision, reason: None, content: content.clone() });
            let answer = answer.map_or("nothing".to_owned(), |value| value.to_string());
            let shown = if answer == last { "the same" } else { &answer };
            table += &format!("  {decision}: {shown}\n");
            last = answer;
        }
    }
    expect![[r#"
        command
          accepted: {"decision":"accept"}
          accepted for this session: {"decision":"acceptForSession"}
          always allowed: {"decision":{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":["touch","x"]}}}
          declined: {"decision":"decline"}
          cancelled: {"decision":"cancel"}
          no longer open: nothing
        command of 0.166
          accepted: {"decision":"accept"}
          accepted for this session: {"decision":"acceptForSession"}
          always allowed: {"decision":{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":["cat","a"]}}}
          declined: {"decision":"decline"}
          cancelled: {"decision":"cancel"}
          no longer open: nothing
        command without a list of decisions
          accepted: {"decision":"accept"}
          accepted for this session: {"decision":"acceptForSession"}
          always allowed: {"decision":{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":["ls"]}}}
          declined: {"decision":"decline"}
          cancelled: {"decision":"cancel"}
          no longer open: nothing
        command without a rule
          accepted: {"decision":"accept"}
          accepted for this session: {"decision":"acceptForSession"}
          always allowed: the same
          declined: {"decision":"decline"}
          cancelled: {"decision":"cancel"}
          no longer open: nothing
        command with a rule that would allow everything
          accepted: {"decision":"accept"}
          accepted for this session: {"decision":"acceptForSession"}
          always allowed: the same
          declined: {"decision":"decline"}
          cancelled: {"decision":"cancel"}
          no longer open: nothing
        command with wider permissions
          accepted: {"decision":"accept"}
          accepted for this session: {"decision":"acceptForSession"}
          always allowed: the same
          declined: {"decision":"decline"}
          cancelled: {"decision":"cancel"}
          no longer open: nothing
        stdin
          accepted: {"decision":"accept"}
          accepted for this session: the same
          always allowed: the same
          declined: {"decision":"decline"}
          cancelled: {"decision":"cancel"}
          no longer open: nothing
        network
          accepted: {"decision":"accept"}
          accepted for this session: {"decision":"acceptForSession"}
          always allowed: {"decision":{"applyNetworkPolicyAmendment":{"network_policy_amendment":{"action":"allow","host":"example.org"}}}}
          declined: {"decision":"decline"}
          cancelled: {"decision":"cancel"}
          no longer open: nothing
        network without a list of decisions
          accepted: {"decision":"accept"}
          accepted for this session: {"decision":"acceptForSession"}
          always allowed: {"decision":{"applyNetworkPolicyAmendment":{"network_policy_amendment":{"action":"allow","host":"example.org"}}}}
          declined: {"decision":"decline"}
          cancelled: {"decision":"cancel"}
          no longer open: nothing
        network without a rule
          accepted: {"decision":"accept"}
          accepted for this session: {"decision":"acceptForSession"}
          always allowed: the same
          declined: {"decision":"decline"}
          cancelled: {"decision":"cancel"}
          no longer open: nothing
        patch
          accepted: {"decision":"accept"}
          accepted for this session: {"decision":"acceptForSession"}
          always allowed: the same
          declined: {"decision":"decline"}
          cancelled: {"decision":"cancel"}
          no longer open: nothing
        patch that grants a directory
          accepted: {"decision":"accept"}
          accepted for this session: {"decision":"acceptForSession"}
          always allowed: the same
          declined: {"decision":"decline"}
          cancelled: {"decision":"cancel"}
          no longer open: nothing
        permissions
          accepted: {"permissions":{"fileSystem":{"entries":[{"access":"write","path":{"path":"/home/dev/cache","type":"path"}}],"read":null,"write":["/home/dev/cache"]},"network":{"enabled":true}},"scope":"turn"}
          accepted for this session: {"permissions":{"fileSystem":{"entries":[{"access":"write","path":{"path":"/home/dev/cache","type":"path"}}],"read":null,"write":["/home/dev/cache"]},"network":{"enabled":true}},"scope":"session"}
          always allowed: the same
          declined: {"permissions":{},"scope":"turn"}
          cancelled: the same
          no longer open: nothing
        permissions for the network
          accepted: {"permissions":{"network":{"enabled":true}},"scope":"turn"}
          accepted for this session: {"permissions":{"network":{"enabled":true}},"scope":"session"}
          always allowed: the same
          declined: {"permissions":{},"scope":"turn"}
          cancelled: the same
          no longer open: nothing
        questions
          accepted: {"answers":{"colour":{"answers":["Blue"]},"key":{"answers":["hunter2"]}}}
          accepted for this session: the same
          always allowed: the same
          declined: {"answers":{}}
          cancelled: the same
          no longer open: nothing
        questions of 0.166
          accepted: {"answers":{"colour":{"answers":["Blue"]}}}
          accepted for this session: the same
          always allowed: the same
          declined: {"answers":{}}
          cancelled: the same
          no longer open: nothing
        tool
          accepted: {"_meta":null,"action":"accept","content":{}}
          accepted for this session: {"_meta":{"persist":"session"},"action":"accept","content":{}}
          always allowed: {"_meta":{"persist":"always"},"action":"accept","content":{}}
          declined: {"_meta":null,"action":"decline","content":null}
          cancelled: {"_meta":null,"action":"cancel","content":null}
          no longer open: nothing
        tool for a session
          accepted: {"_meta":null,"action":"accept","content":{}}
          accepted for this session: {"_meta":{"persist":"session"},"action":"accept","content":{}}
          always allowed: the same
          declined: {"_meta":null,"action":"decline","content":null}
          cancelled: {"_meta":null,"action":"cancel","content":null}
          no longer open: nothing
        tool once
          accepted: {"_meta":null,"action":"accept","content":{}}
          accepted for this session: the same
          always allowed: the same
          declined: {"_meta":null,"action":"decline","content":null}
          cancelled: {"_meta":null,"action":"cancel","content":null}
          no longer open: nothing
        form
          accepted: {"_meta":null,"action":"accept","content":{"name":"Ada","password":"hunter2"}}
          accepted for this session: the same
          always allowed: the same
          declined: {"_meta":null,"action":"decline","content":null}
          cancelled: {"_meta":null,"action":"cancel","content":null}
          no longer open: nothing
        url
          accepted: {"_meta":null,"action":"accept","content":null}
          accepted for this session: the same
          always allowed: the same
          declined: {"_meta":null,"action":"decline","content":null}
          cancelled: {"_meta":null,"action":"cancel","content":null}
          no longer open: nothing
        form of a new mode
          accepted: {"_meta":null,"action":"accept","content":{}}
          accepted for this session: the same
          always allowed: the same
          declined: {"_meta":null,"action":"decline","content":null}
          cancelled: {"_meta":null,"action":"cancel","content":null}
          no longer open: nothing
        tool call
          accepted: nothing
          accepted for this session: the same
          always allowed: the same
          declined: the same
          cancelled: the same
          no longer open: the same
        token refresh
          accepted: nothing
          accepted for this session: the same
          always allowed: the same
          declined: the same
          cancelled: the same
          no longer open: the same
        attestation
          accepted: nothing
          accepted for this session: the same
          always allowed: the same
          declined: the same
          cancelled: the same
          no longer open: the same
        time
          accepted: nothing
          accepted for this session: the same
          always allowed: the same
          declined: the same
          cancelled: the same
          no longer open: the same
    "#]].assert_eq(&table);
}

#[test]
fn what_is_offered_is_what_is_done_and_nothing_else_is_offered() {
    for (name, request) in requests() {
        let ask = project::ask(&request, None);
        let choices = ask.choices();
        for decision in DECISIONS.into_iter().filter(|decision| decision.is_yes()) {
            let is_done = ask.is_answerable() && decided(&request, decision) == decision;
            assert_eq!(choices.contains(&decision), is_done, "{name}: {decision}");
        }
        assert_eq!(choices.contains(&Decision::Decline), ask.is_answerable(), "{name}");
        assert!(!choices.contains(&Decision::Void), "{name}");
    }
}

#[test]
fn two_choices_never_mean_the_same() {
    for (name, request) in requests() {
        let ask = project::ask(&request, None);
        let content = content(&ask);
        let yes = ask.choices().into_iter().filter(|decision| decision.is_yes());
        let answers: Vec<String> = yes
            .map(|decision| Answer { decision, reason: None, content: content.clone() })
            .filter_map(|given| Some(answer(&request, &given)?.to_string()))
            .collect();
        let different: std::collections::BTreeSet<&String> = answers.iter().collect();
        assert_eq!(different.len(), answers.len(), "{name}: {answers:?}");
    }
}

#[test]
fn only_an_acceptance_accepts_or_grants_or_tells() {
    for (name, request) in requests() {
        let content = content(&project::ask(&request, None));
        for decision in [Decision::Decline, Decision::Cancel, Decision::Void] {
            let given = Answer { decision, reason: Some("no".to_owned()), content: content.clone() };
            let answer = answer(&request, &given).map(|value| value.to_string()).unwrap_or_default();
            for word in ["accept", "allow", "enabled", "cache", "Blue", "hunter2", "Ada", "session"] {
                assert!(!answer.contains(word), "{name} {decision}: {answer}");
            }
        }
    }
}

#[test]
fn a_part_of_the_permissions_can_be_granted() {
    let grant = |grant| {
        let given = Answer::with(Content::Grant(grant));
        answer(&request("permissions"), &given).unwrap()["permissions"].to_string()
    };
    expect![[r#"
        {"fileSystem":{"entries":[{"access":"write","path":{"path":"/home/dev/cache","type":"path"}}],"read":null,"write":["/home/dev/cache"]},"network":{"enabled":true}}
        {"network":{"enabled":true}}
        {"fileSystem":{"entries":[{"access":"write","path":{"path":"/home/dev/cache","type":"path"}}],"read":null,"write":["/home/dev/cache"]}}"#]]
    .assert_eq(&[Grant::All, Grant::Network, Grant::Files].map(grant).join("\n"));
}

#[test]
fn a_permission_that_is_new_is_not_granted() {
    let text = json!({ "id": 0, "method": "item/permissions/requestApproval", "params": {
        "threadId": "t", "turnId": "u", "itemId": "i",
        "permissions": { "camera": { "enabled": true }, "network": { "enabled": true } } } });
    let Decoded::Known(Frame::Request { request, .. }) = decode_text(&text.to_string()).clone() else {
        panic!()
    };
    let answer = answer(&request, &Decision::AcceptForSession.into()).unwrap();
    assert_eq!(answer, json!({ "permissions": { "network": { "enabled": true } }, "scope": "session" }));
}

#[test]
fn a_tool_answers_in_codexs_shape() {
    expect![[r#"{"contentItems":[{"text":"Ticket 7 is open.","type":"inputText"}],"success":true}"#]]
        .assert_eq(&tool_result(&ToolOutcome::done("Ticket 7 is open.")).to_string());
    expect![[r#"{"contentItems":[{"text":"no such ticket","type":"inputText"}],"success":false}"#]]
        .assert_eq(&tool_result(&ToolOutcome::failed("no such ticket")).to_string());
}

#[test]
fn what_codex_wants_of_its_host_is_refused_with_a_reason() {
    let refused = requests().into_iter().filter_map(|(name, request)| Some((name, refusal(&request)?)));
    let lines: Vec<String> = refused.map(|(name, error)| format!("{name}: {error}")).collect();
    expect![[r#"
        token refresh: Talaria keeps no ChatGPT tokens: run `codex login`, so that Codex can refresh its own (code -32601)
        attestation: Talaria cannot attest the program that Codex runs in (code -32601)
        time: Talaria keeps no clock for Codex (code -32601)"#]]
    .assert_eq(&lines.join("\n"));
}

#[test]
fn an_answer_that_does_not_fit_is_told_why() {
    let problem = |name: &str, content: Content| {
        project::ask(&request(name), None).check(&Answer::with(content)).map_err(|misfit| misfit.to_string())
    };
    let answers = |given: &[(&str, &str)]| {
        let given = given.iter().map(|(id, text)| ((*id).to_owned(), vec![Given::plain(*text)]));
        Content::Answers(given.collect())
    };
    let form = |given: &[(&str, Value)]| {
        Content::Form(
            given.iter().map(|(id, value)| ((*id).to_owned(), Given::secret(value.clone()))).collect(),
        )
    };
    let cases = [
        ("command", Content::Nothing),
        ("command", Content::Grant(Grant::All)),
        ("permissions for the network", Content::Grant(Grant::Network)),
        ("permissions for the network", Content::Grant(Grant::Files)),
        ("questions", Content::Nothing),
        ("questions", answers(&[("colour", "Blue")])),
        ("questions", answers(&[("colour", "Mauve"), ("key", "k")])),
        ("questions", answers(&[("colour", "Blue"), ("key", "k"), ("size", "L")])),
        ("form", Content::Nothing),
        ("form", form(&[("name", json!("Ada")), ("age", json!(7))])),
        ("form", form(&[("name", json!("A"))])),
        ("form", form(&[("name", json!("Ada")), ("age", json!("hunter2"))])),
        ("form", form(&[("name", json!("Ada")), ("rank", json!(1))])),
        ("url", Content::Nothing),
        ("url", Content::Form(BTreeMap::new())),
        ("form of a new mode", Content::Nothing),
        ("token refresh", Content::Nothing),
    ];
    let lines = cases.map(|(name, content)| {
        let shown = format!("{content:?}");
        let verdict = problem(name, content).map_or_else(|why| format!("no, {why}"), |()| "yes".to_owned());
        assert!(!verdict.contains("hunter2") && !shown.contains("hunter2"));
        format!("{name}: {verdict}")
    });
    expect![[r#"
        command: yes
        command: no, the answer does not bring what was asked for
        permissions for the network: yes
        permissions for the network: no, this permission was not asked for
        questions: no, the answer does not bring what was asked for
        questions: no, the question "key" is not answered with one of its options
        questions: yes
        questions: no, there is no question "size"
        form: no, the field "name" does not fit: this must be filled in
        form: yes
        form: no, the field "name" does not fit: this takes at least 2 characters
        form: no, the field "age" does not fit: this takes a whole number
        form: no, there is no field "rank"
        url: yes
        url: no, the answer does not bring what was asked for
        form of a new mode: no, this can only be declined
        token refresh: no, this can only be declined"#]]
    .assert_eq(&lines.join("\n"));
}
