//! Messages about mistakes in `[mcp_servers.NAME]`.

use super::{Expect, check, expect, parse};

fn problems(text: &str, expected: &Expect) {
    check(text, expected);
}

#[test]
fn every_notation_of_a_table_is_a_server() {
    let text = "mcp_servers = { a = { command = \"x\" } }\n";
    let dotted = "mcp_servers.a.command = \"x\"\n";
    let headed = "[mcp_servers]\n[mcp_servers.a]\ncommand = \"x\"\n";
    let servers = check(text, &expect![""]).servers;
    assert_eq!(servers.len(), 1);
    assert_eq!(check(dotted, &expect![""]).servers, servers);
    assert_eq!(check(headed, &expect![""]).servers, servers);
}

#[test]
fn a_wrong_value_is_told_with_its_place() {
    let text = r#"
[mcp_servers.a]
command = 3
args = "x"
env = { TOKEN = "${OTHER}", B = 1, "C=D" = "x", E = "x${F}" }
cwd = "sub"
timeout = "soon"
connect_timeout = 0.0
enabled = "yes"
supports_parallel_tool_calls = 1
tools = ["x"]
[mcp_servers.b]
url = "ftp://x"
headers = { "a b" = "x", A = "l\nf", B = "Bearer ${T}", Authorization = "Token ${T}", x-c = "1", X-C = "2" }
transport = "ssee"
[mcp_servers.c]
url = "https://x/${T}"
transport = "stdio"
tools = { include = [1] }
[mcp_servers.d]
command = "npx -y thing"
args = ["${T}", 7, true]
timeout = nan
connect_timeout = 1e30
[mcp_servers."e.f"]
command = ""
[mcp_servers.g]
[mcp_servers]
h = 1
"#;
    problems(
        text,
        &expect![[r#"
            error line 3: mcp_servers.a.command: must be a string, not an integer
            error line 4: mcp_servers.a.args: must be a list of strings, not a string
            error line 5: mcp_servers.a.env.TOKEN: Codex passes a variable on under its own name only; write TOKEN = "${TOKEN}"
            error line 5: mcp_servers.a.env.B: must be a string, not an integer
            error line 5: mcp_servers.a.env.C=D: is not the name of a variable
            error line 5: mcp_servers.a.env.E: Codex cannot put ${F} into the middle of a value
            error line 6: mcp_servers.a.cwd: must be a whole path; Codex would look for it in a directory of its own; begin with / or ~/
            error line 7: mcp_servers.a.timeout: "soon" is not a duration; write 90s, 15m, 1h30m, 30d or a number of seconds
            error line 8: mcp_servers.a.connect_timeout: a duration must be longer than zero
            error line 9: mcp_servers.a.enabled: must be true or false, not a string
            error line 10: mcp_servers.a.supports_parallel_tool_calls: must be true or false, not an integer
            error line 11: mcp_servers.a.tools: must be a table, not an array; write tools = { include = ["…"] }
            error line 13: mcp_servers.b.url: must be an http:// or https:// address
            error line 14: mcp_servers.b.headers.a b: is not the name of a header
            error line 14: mcp_servers.b.headers.A: must not hold control characters
            error line 14: mcp_servers.b.headers.B: Codex puts Bearer and a variable into the header Authorization only
            error line 14: mcp_servers.b.headers.Authorization: Codex cannot put ${T} into the middle of a value
            error line 14: mcp_servers.b.headers.X-C: is set twice
            error line 15: mcp_servers.b.transport: is not known; allowed: http, sse, stdio; did you mean sse?
            error line 17: mcp_servers.c.url: must not hold a reference to a variable; Codex reads variables in env and headers only
            error line 18: mcp_servers.c.transport: a server with a url is not reached over stdio
            error line 19: mcp_servers.c.tools.include: must be a list of names of tools
            error line 21: mcp_servers.d.command: must be a program without its arguments; write the program as command and the rest as args
            error line 22: mcp_servers.d.args: must not hold a reference to a variable; Codex reads variables in env and headers only
            error line 23: mcp_servers.d.timeout: must be a number of seconds
            error line 24: mcp_servers.d.connect_timeout: a duration cannot be longer than 365 days
            error line 25: mcp_servers.e.f: Codex takes letters, digits, - and _ in the name of a server
            error line 26: mcp_servers.e.f.command: must not be empty; remove the key to leave it unset
            error line 27: mcp_servers.g: has neither command nor url; give it the program (command) or the address (url) of the server
            error line 29: mcp_servers.h: must be a table, not an integer; write [mcp_servers.NAME]
        "#]],
    );
}

#[test]
fn an_unknown_key_is_told_with_the_nearest_name() {
    let text = r#"
[mcp_servers.a]
comand = "y"
command = "x"
tiemout = 3
startup_timeout_sec = 3
bearer_token_env_var = "T"
zzz = 1
sampling = { enabled = true }
ssl_verify = false
tools = { includes = ["x"], prompts = true }
"#;
    problems(
        text,
        &expect![[r#"
            warning line 3: mcp_servers.a.comand: unknown key; did you mean command?
            warning line 5: mcp_servers.a.tiemout: unknown key; did you mean timeout?
            warning line 6: mcp_servers.a.startup_timeout_sec: unknown key; did you mean connect_timeout?
            warning line 7: mcp_servers.a.bearer_token_env_var: unknown key; did you mean headers.Authorization = "Bearer ${VARIABLE}"?
            warning line 8: mcp_servers.a.zzz: unknown key
            warning line 9: mcp_servers.a.sampling: has no effect: no server may ask the model
            warning line 10: mcp_servers.a.ssl_verify: has no effect: Codex always checks certificates
            warning line 11: mcp_servers.a.tools.includes: unknown key; did you mean include?
            warning line 11: mcp_servers.a.tools.prompts: has no effect: Codex decides that itself
        "#]],
    );
}

#[test]
fn a_section_that_is_no_section_is_told() {
    problems(
        "mcp_servers = 3\n",
        &expect![[r#"
            error line 1: mcp_servers: must be a section, not an integer; write [mcp_servers.NAME] for each of them
        "#]],
    );
    let parsed = parse("mcp_servers = [1]\n").unwrap();
    assert!(parsed.config.servers.is_empty() && parsed.problems[0].is_error());
}
