//! Every request of Codex in our words.

use expect_test::{Expect, expect};
use serde_json::json;

use super::*;
use crate::frame::{Decoded, Frame, decode_text};

fn asked(method: &str, params: &Value) -> Ask {
    let text = json!({ "method": method, "id": 0, "params": params }).to_string();
    let Decoded::Known(Frame::Request { request, .. }) = decode_text(&text) else { panic!("{text}") };
    ask(&request, None)
}

fn check(method: &str, params: &Value, expected: Expect) {
    expected.assert_eq(&serde_json::to_string(&asked(method, params)).unwrap());
}

#[test]
fn every_request_is_put_in_our_words() {
    let requests = include_str!("../../wire/reply/requests.jsonl").lines().map(|line| {
        let line: Value = serde_json::from_str(line).unwrap();
        let ask = asked(line["method"].as_str().unwrap(), &line["params"]);
        let choices: Vec<String> = ask.choices().iter().map(ToString::to_string).collect();
        let name = line["name"].as_str().unwrap();
        let json = serde_json::to_string(&ask).unwrap();
        let choices = if choices.is_empty() { "for nobody".to_owned() } else { choices.join(", ") };
        format!("{name}: {}\n  {json}\n  {choices}", ask.label().replace(char::is_control, "�"))
    });
    expect![[r#"
        command: /bin/bash -lc 'touch x'
          {"kind":"command","thread":"t","item":"call_1","approval":null,"command":"/bin/bash -lc 'touch x'","cwd":"/home/dev/work","reason":null,"permissions":null,"always":["touch","x"]}
          accepted, accepted for this session, always allowed, declined, cancelled
        command of 0.166: /bin/bash -lc 'cat a; rg b c'
          {"kind":"command","thread":"t","item":"call_1","approval":null,"command":"/bin/bash -lc 'cat a; rg b c'","actions":["read /home/dev/work/a","search for b in c","list files"],"cwd":"/home/dev/work","reason":"May I write out.txt?","permissions":null,"always":["cat","a"]}
          accepted, accepted for this session, always allowed, declined, cancelled
        command without a list of decisions: ls
          {"kind":"command","thread":"t","item":"call_1","approval":null,"command":"ls","cwd":"/home/dev/work","reason":null,"permissions":null,"always":["ls"]}
          accepted, accepted for this session, always allowed, declined, cancelled
        command without a rule: ls
          {"kind":"command","thread":"t","item":"call_1","approval":"3f6","command":"ls","cwd":"/home/dev/work","reason":null,"permissions":null,"always":null}
          accepted, accepted for this session, declined, cancelled
        command with a rule that would allow everything: ls
          {"kind":"command","thread":"t","item":"call_1","approval":null,"command":"ls","cwd":"/home/dev/work","reason":null,"permissions":null,"always":null}
          accepted, accepted for this session, declined, cancelled
        command with wider permissions: /bin/bash -lc 'touch c'
          {"kind":"command","thread":"t","item":"call_1","approval":null,"command":"/bin/bash -lc 'touch c'","cwd":"/home/dev/work","reason":"need net","permissions":{"network":true,"files":[{"access":"write","path":"/home/dev/cache"}]},"always":null}
          accepted, accepted for this session, declined, cancelled
        stdin: write_stdin --session-id 63035 'hello�[2J�'
          {"kind":"stdin","thread":"t","item":"call_1","approval":"call_7","command":"write_stdin --session-id 63035 'hello\u001b[2J\n'","cwd":"/home/dev/work","reason":"Send input to an existing terminal. This terminal was launched outside the sandbox.","can_last":false}
          accepted, declined, cancelled
        network: network access to example.org (https)
          {"kind":"network","thread":"t","item":"call_1","host":"example.org","protocol":"https","command":null,"reason":"example.org is not in the allowed_domains","always":"example.org"}
          accepted, accepted for this session, always allowed, declined, cancelled
        network without a list of decisions: network access to example.org (socks5Udp)
          {"kind":"network","thread":"t","item":"call_1","host":"example.org","protocol":"socks5Udp","command":null,"reason":null,"always":"example.org"}
          accepted, accepted for this session, always allowed, declined, cancelled
        network without a rule: network access to example.org (http)
          {"kind":"network","thread":"t","item":"call_1","host":"example.org","protocol":"http","command":null,"reason":null,"always":null}
          accepted, accepted for this session, declined, cancelled
        patch: apply_patch
          {"kind":"patch","thread":"t","item":"call_1","changes":null,"reason":null,"grant_root":null}
          accepted, accepted for this session, declined, cancelled
        patch that grants a directory: apply_patch: outside the workspace
          {"kind":"patch","thread":"t","item":"call_1","changes":null,"reason":"outside the workspace","grant_root":"/home/dev/other"}
          accepted, accepted for this session, declined, cancelled
        permissions: a wider sandbox: may use the network, may read and write /home/dev/cache
          {"kind":"permissions","thread":"t","item":"call_1","cwd":"/home/dev/work","reason":"need a cache directory","permissions":{"network":true,"files":[{"access":"write","path":"/home/dev/cache"}]}}
          accepted, accepted for this session, declined, cancelled
        permissions for the network: a wider sandbox: may use the network
          {"kind":"permissions","thread":"t","item":"call_1","cwd":"/home/dev/work","reason":null,"permissions":{"network":true}}
          accepted, accepted for this session, declined, cancelled
        questions: Which colour? / Which key?
          {"kind":"input","thread":"t","item":"call_1","questions":[{"id":"colour","header":"Colour","question":"Which colour?","options":[{"label":"Red (Recommended)","description":"warm"},{"label":"Blue","description":"cold"}],"other":true,"secret":false},{"id":"key","header":"Key","question":"Which key?","options":[],"other":false,"secret":true}],"blocking":null}
          accepted, declined, cancelled
        questions of 0.166: Which colour?
          {"kind":"input","thread":"t","item":"call_1","questions":[{"id":"colour","header":"Colour","question":"Which colour?","options":[{"label":"Red (Recommended)","description":"warm"},{"label":"Blue","description":"cold"}],"other":true,"secret":false}],"blocking":false}
          accepted, declined, cancelled
        tool: a tool of the MCP server tiny: Allow the tiny MCP server to run tool "echo"?
          {"kind":"tool","thread":"t","server":"tiny","message":"Allow the tiny MCP server to run tool \"echo\"?","description":"Echo the text","arguments":"{\"text\":\"hi\"}","persist":["session","always"]}
          accepted, accepted for this session, always allowed, declined, cancelled
        tool for a session: a tool of the MCP server tiny: Allow the tiny MCP server to run tool "echo"?
          {"kind":"tool","thread":"t","server":"tiny","message":"Allow the tiny MCP server to run tool \"echo\"?","description":"Echo the text","arguments":"{\"text\":\"hi\"}","persist":["session"]}
          accepted, accepted for this session, declined, cancelled
        tool once: a tool of the MCP server tiny: Allow the tiny MCP server to run tool "echo"?
          {"kind":"tool","thread":"t","server":"tiny","message":"Allow the tiny MCP server to run tool \"echo\"?","description":"Echo the text","arguments":"{\"text\":\"hi\"}"}
          accepted, declined, cancelled
        form: a form of the MCP server tiny: Who are you?
          {"kind":"elicitation","thread":"t","server":"tiny","message":"Who are you?","mode":"form","fields":[{"name":"age","title":null,"description":null,"required":false,"secret":false,"takes":"integer","minimum":0.0,"maximum":null},{"name":"many","title":null,"description":null,"required":false,"secret":false,"takes":"many","options":[{"value":"x","title":null},{"value":"y","title":null}],"min_items":null,"max_items":null},{"name":"name","title":"Name","description":null,"required":true,"secret":false,"takes":"text","format":null,"min_length":2,"max_length":null},{"name":"password","title":null,"description":null,"required":false,"secret":true,"takes":"text","format":null,"min_length":null,"max_length":null}]}
          accepted, declined, cancelled
        url: an address of the MCP server tiny: https://example.org/x
          {"kind":"elicitation","thread":"t","server":"tiny","message":"Sign in","mode":"url","url":"https://example.org/x"}
          accepted, declined, cancelled
        form of a new mode: the MCP server tiny asks in a way that is new (openai/form): Who?
          {"kind":"unsupported","thread":"t","method":"mcpServer/elicitation/request","summary":"the MCP server tiny asks in a way that is new (openai/form): Who?"}
          for nobody
        tool call: the model calls the tool lookup_ticket, which this session does not have
          {"kind":"unsupported","thread":"t","method":"item/tool/call","summary":"the model calls the tool lookup_ticket, which this session does not have"}
          for nobody
        token refresh: Talaria keeps no ChatGPT tokens: run `codex login`, so that Codex can refresh its own
          {"kind":"host","method":"account/chatgptAuthTokens/refresh","summary":"Talaria keeps no ChatGPT tokens: run `codex login`, so that Codex can refresh its own"}
          for nobody
        attestation: Talaria cannot attest the program that Codex runs in
          {"kind":"host","method":"attestation/generate","summary":"Talaria cannot attest the program that Codex runs in"}
          for nobody
        time: Talaria keeps no clock for Codex
          {"kind":"host","method":"currentTime/read","summary":"Talaria keeps no clock for Codex"}
          for nobody"#]].assert_eq(&requests.collect::<Vec<_>>().join("\n"));
}

const COMMAND: &str = "item/commandExecution/requestApproval";

fn command(more: Value) -> Value {
    let mut params = json!({ "threadId": "t", "turnId": "u", "itemId": "i" });
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    params
}

#[test]
fn no_question_is_without_a_subject() {
    let empty = [
        (COMMAND, command(json!({}))),
        (COMMAND, command(json!({ "command": " " }))),
        (COMMAND, command(json!({ "kind": "writeStdin" }))),
        (COMMAND, command(json!({ "networkApprovalContext": { "host": "", "protocol": "http" } }))),
        ("item/permissions/requestApproval", command(json!({}))),
        ("item/permissions/requestApproval", command(json!({ "permissions": { "network": null } }))),
        ("item/tool/requestUserInput", command(json!({ "questions": [] }))),
        ("item/tool/requestUserInput", command(json!({ "questions": [{ "question": "Which?" }, {}] }))),
        ("mcpServer/elicitation/request", command(json!({ "serverName": "s", "mode": "url", "url": "" }))),
        ("mcpServer/elicitation/request", command(json!({ "serverName": "s", "mode": "form" }))),
    ];
    let lines = empty.map(|(method, params)| match asked(method, &params) {
        Ask::Unsupported { summary, .. } => summary,
        other => panic!("{params}: {other:?}"),
    });
    expect![[r#"
        Codex asks to run something, but does not say what
        Codex asks to run something, but does not say what
        Codex asks to run something, but does not say what
        Codex asks to reach the network, but does not say where
        Codex asks for a wider sandbox, but does not say how: no reason given
        Codex asks for a wider sandbox, but does not say how: no reason given
        the model asks in a form that cannot be answered: 
        the model asks in a form that cannot be answered: Which? / 
        the MCP server s asks to visit an address, but does not say which: 
        the MCP server s asks with a form that cannot be shown: "#]]
    .assert_eq(&lines.join("\n"));
}

#[test]
fn a_command_of_a_new_kind_cannot_be_put() {
    check(
        COMMAND,
        &command(json!({ "kind": "teleport", "command": "ls" })),
        expect![[
            r#"{"kind":"unsupported","thread":"t","method":"item/commandExecution/requestApproval","summary":"Codex asks about a command in a way that is new (teleport): ls"}"#
        ]],
    );
}

#[test]
fn a_network_request_with_a_command_names_both() {
    let context = json!({ "host": "example.org", "protocol": "https" });
    check(
        COMMAND,
        &command(json!({ "command": "curl x", "networkApprovalContext": context })),
        expect![[
            r#"{"kind":"network","thread":"t","item":"i","host":"example.org","protocol":"https","command":"curl x","reason":null,"always":null}"#
        ]],
    );
}

#[test]
fn no_server_is_trusted_by_its_name() {
    for server in ["hermes-tools", "talaria", "codex_apps"] {
        for meta in [json!(null), json!({ "codex_approval_kind": "mcp_tool_call" })] {
            let schema = json!({ "type": "object", "properties": {} });
            let params = json!({ "threadId": "t", "serverName": server, "mode": "form", "message": "Run?",
                                 "_meta": meta, "requestedSchema": schema });
            assert!(
                asked("mcpServer/elicitation/request", &params).is_answerable(),
                "{server}: a person decides"
            );
        }
    }
}

#[test]
fn another_question_of_codex_itself_cannot_be_put() {
    let meta = json!({ "codex_approval_kind": "tool_suggestion", "persist": "always" });
    let params = json!({ "threadId": "t", "serverName": "codex_apps", "mode": "form", "message": "Install?",
                         "_meta": meta, "requestedSchema": { "type": "object", "properties": {} } });
    check(
        "mcpServer/elicitation/request",
        &params,
        expect![[
            r#"{"kind":"unsupported","thread":"t","method":"mcpServer/elicitation/request","summary":"the MCP server codex_apps asks for Codex (tool_suggestion): Install?"}"#
        ]],
    );
}
