//! A `config.yaml` in, Talaria's file and the report out; and never a secret in either.

use std::fmt::Write as _;

use expect_test::expect;
use proptest::prelude::*;

use super::{SettingsPlan, login_names, plan, read, variable_names};
use talaria_core::config;

/// The configuration of a person who uses most of it.
const FULL: &str = r#"
model:
  default: gpt-5.2
  provider: openai-codex
  api_key: sk-proj-abcdefghijklmnopqrstuvwxyz012345
agent:
  reasoning_effort: high
  max_turns: 90
  gateway_timeout: 1800
approvals:
  mode: manual
  timeout: 60
  deny:
    - "git push --force*"
    - 7
command_allowlist: ["podman *"]
compression:
  enabled: true
custom_providers:
  - name: local
    api_key: sk-local-9f8e7d6c5b4a39281706
terminal:
  backend: local
  cwd: ""
mcp_servers:
  github:
    command: npx
    args: ["-y", "@modelcontextprotocol/server-github"]
    env:
      GITHUB_TOKEN: ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8
      LOG_LEVEL: ${LOG_LEVEL}
      PORT: 8080
    timeout: 120
    sampling: {enabled: true}
  linear:
    url: https://mcp.linear.app/mcp
    headers:
      Authorization: Bearer lin_api_0123456789abcdef0123456789abcdef
      X-Team: core
    enabled: false
  leaky:
    command: tool
    args: ["--api-key", "k-0123456789abcdef0123"]
  old:
    url: https://old.example/sse
    transport: sse
  nothing: {}
  renamed: {command: x, env: {LOG: "${LOG_LEVEL}"}}
"#;

fn shown(plan: &SettingsPlan) -> String {
    let mut out = String::new();
    for taken in &plan.taken {
        writeln!(out, "taken {} -> {} = {}", taken.from, taken.key, taken.value).unwrap();
    }
    for kept in &plan.kept {
        writeln!(out, "kept {} <- {}", kept.key, kept.from).unwrap();
    }
    for left in &plan.left {
        let near = left.near.as_ref().map(|near| format!(" (near {near})")).unwrap_or_default();
        writeln!(out, "left {}: {}{near}", left.key, left.why).unwrap();
    }
    for variable in &plan.variables {
        writeln!(out, "variable {} for {:?} in {:?}", variable.name, variable.used_by, variable.found_in)
            .unwrap();
    }
    writeln!(out, "secrets {:?}", plan.secrets).unwrap();
    writeln!(out, "same {}\n---\n{}", plan.same, plan.text).unwrap();
    out
}

fn planned(yaml: &str, own: &str) -> SettingsPlan {
    plan(&read(yaml).unwrap(), own).unwrap()
}

#[test]
fn what_talaria_reads_is_taken_over_and_the_rest_is_named() {
    let plan = planned(FULL, "");
    expect![[r#"
        taken model.default -> model.default = "gpt-5.2"
        taken model.provider -> model.provider = "openai-codex"
        taken agent.reasoning_effort -> model.effort = "high"
        taken approvals.mode -> approvals.mode = "approval-required"
        taken approvals.deny -> approvals.deny = ["git push --force*"]
        taken compression.enabled -> compression.enabled = true
        taken mcp_servers.github.command -> mcp_servers.github.command = "npx"
        taken mcp_servers.github.args -> mcp_servers.github.args = ["-y", "@modelcontextprotocol/server-github"]
        taken mcp_servers.github.env -> mcp_servers.github.env = { GITHUB_TOKEN = "${GITHUB_TOKEN}", LOG_LEVEL = "${LOG_LEVEL}", PORT = "8080" }
        taken mcp_servers.github.timeout -> mcp_servers.github.timeout = 120
        taken mcp_servers.linear.url -> mcp_servers.linear.url = "https://mcp.linear.app/mcp"
        taken mcp_servers.linear.headers -> mcp_servers.linear.headers = { Authorization = "Bearer ${MCP_LINEAR_TOKEN}", X-Team = "core" }
        taken mcp_servers.linear.enabled -> mcp_servers.linear.enabled = false
        left approvals.deny.1: it is not a text (near approvals.deny)
        left command_allowlist: it would let commands run without a question; add the ones you want yourself (near approvals.allow)
        left mcp_servers.github.sampling: has no effect: no server may ask the model
        left mcp_servers.leaky: args holds what looks like a secret, and no reference is possible there; put it into env or headers of the server and import again
        left mcp_servers.nothing: it has neither command nor url
        left mcp_servers.old: Codex speaks streamable HTTP only, not SSE; use its address for streamable HTTP, and remove transport
        left mcp_servers.renamed: Codex passes a variable on under its own name only; write LOG = "${LOG}"
        left agent.gateway_timeout: Talaria has no such setting (near codex.turn_timeout)
        left agent.max_turns: Talaria has no such setting
        left approvals.timeout: Talaria has no such setting
        left custom_providers: Talaria has no such setting (near providers.NAME)
        left model.api_key: it is a secret
        left terminal.backend: Talaria has no such setting (near codex.sandbox)
        variable GITHUB_TOKEN for ["mcp_servers.github.env.GITHUB_TOKEN"] in Some("config.yaml, mcp_servers.github.env.GITHUB_TOKEN")
        variable LOG_LEVEL for ["mcp_servers.github.env.LOG_LEVEL"] in None
        variable MCP_LINEAR_TOKEN for ["mcp_servers.linear.headers.Authorization"] in Some("config.yaml, mcp_servers.linear.headers.Authorization")
        secrets ["custom_providers.0.api_key", "mcp_servers.github.env.GITHUB_TOKEN", "mcp_servers.linear.headers.Authorization", "model.api_key"]
        same 0
        ---
        [model]
        default = "gpt-5.2"
        provider = "openai-codex"
        effort = "high"

        [approvals]
        mode = "approval-required"
        deny = ["git push --force*"]

        [compression]
        enabled = true

        [mcp_servers.github]
        command = "npx"
        args = ["-y", "@modelcontextprotocol/server-github"]
        env = { GITHUB_TOKEN = "${GITHUB_TOKEN}", LOG_LEVEL = "${LOG_LEVEL}", PORT = "8080" }
        timeout = 120

        [mcp_servers.linear]
        url = "https://mcp.linear.app/mcp"
        headers = { Authorization = "Bearer ${MCP_LINEAR_TOKEN}", X-Team = "core" }
        enabled = false

    "#]].assert_eq(&shown(&plan));
    let parsed = config::parse(&plan.text).unwrap();
    assert_eq!(parsed.problems, [], "what was written is read without a complaint");
    for secret in ["sk-proj", "sk-local", "a1B2c3", "lin_api_0", "k-0123"] {
        assert!(!shown(&plan).contains(secret), "{secret}");
    }
}

#[test]
fn a_second_import_changes_nothing() {
    let first = planned(FULL, "");
    let second = planned(FULL, &first.text);
    assert_eq!(second.text, first.text);
    assert_eq!((second.taken.len(), second.kept.len()), (0, 0), "{}", shown(&second));
}

#[test]
fn half_a_reference_and_a_number_are_no_way_for_a_secret() {
    let yaml = r#"
mcp_servers:
  braces: {command: x, env: {DB_PASSWORD: "P@ss${word"}}
  inside: {command: x, env: {SITE_PASSWORD: "P@ss${wo!rd}tail", OTHER_PASSWORD: "pre-P@ss${word}"}}
  header: {url: "https://a.example/mcp", headers: {Authorization: "Bearer P@ss${word", X-Key: "${ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8}"}}
  address: {url: "https://a.example/mcp?api_key=abcd1234${"}
  number: {command: x, args: ["--password", 908172635441]}
  gap: {command: x, args: ["--password", null, plain-words]}
  behind: {command: x, args: ["--token", "-v", 7, "quite plain"]}
  given: {command: x, env: {A_TOKEN: "${A_TOKEN}"}}
"#;
    let plan = planned(yaml, "");
    let shown = shown(&plan);
    for secret in ["P@ss", "wo!rd", "tail", "abcd1234", "908172635441", "plain-words", "a1B2c3"] {
        assert!(!shown.contains(secret), "{secret}: {shown}");
    }
    expect![[r#"
        taken mcp_servers.behind.command -> mcp_servers.behind.command = "x"
        taken mcp_servers.behind.args -> mcp_servers.behind.args = ["--token", "-v", 7, "quite plain"]
        taken mcp_servers.braces.command -> mcp_servers.braces.command = "x"
        taken mcp_servers.braces.env -> mcp_servers.braces.env = { DB_PASSWORD = "${DB_PASSWORD}" }
        taken mcp_servers.given.command -> mcp_servers.given.command = "x"
        taken mcp_servers.given.env -> mcp_servers.given.env = { A_TOKEN = "${A_TOKEN}" }
        taken mcp_servers.header.url -> mcp_servers.header.url = "https://a.example/mcp"
        taken mcp_servers.header.headers -> mcp_servers.header.headers = { Authorization = "Bearer ${MCP_HEADER_TOKEN}", X-Key = "${MCP_HEADER_X_KEY}" }
        taken mcp_servers.inside.command -> mcp_servers.inside.command = "x"
        taken mcp_servers.inside.env -> mcp_servers.inside.env = { OTHER_PASSWORD = "${OTHER_PASSWORD}", SITE_PASSWORD = "${SITE_PASSWORD}" }
        left mcp_servers.address: url holds what looks like a secret, and no reference is possible there; put it into env or headers of the server and import again
        left mcp_servers.gap: args holds what looks like a secret, and no reference is possible there; put it into env or headers of the server and import again
        left mcp_servers.number: args holds what looks like a secret, and no reference is possible there; put it into env or headers of the server and import again
        variable DB_PASSWORD for ["mcp_servers.braces.env.DB_PASSWORD"] in Some("config.yaml, mcp_servers.braces.env.DB_PASSWORD")
        variable A_TOKEN for ["mcp_servers.given.env.A_TOKEN"] in None
        variable MCP_HEADER_TOKEN for ["mcp_servers.header.headers.Authorization"] in Some("config.yaml, mcp_servers.header.headers.Authorization")
        variable MCP_HEADER_X_KEY for ["mcp_servers.header.headers.X-Key"] in Some("config.yaml, mcp_servers.header.headers.X-Key")
        variable OTHER_PASSWORD for ["mcp_servers.inside.env.OTHER_PASSWORD"] in Some("config.yaml, mcp_servers.inside.env.OTHER_PASSWORD")
        variable SITE_PASSWORD for ["mcp_servers.inside.env.SITE_PASSWORD"] in Some("config.yaml, mcp_servers.inside.env.SITE_PASSWORD")
        secrets ["mcp_servers.address.url", "mcp_servers.braces.env.DB_PASSWORD", "mcp_servers.header.headers.Authorization", "mcp_servers.header.headers.X-Key", "mcp_servers.inside.env.OTHER_PASSWORD", "mcp_servers.inside.env.SITE_PASSWORD"]
        same 0
        ---
        [mcp_servers.behind]
        command = "x"
        args = ["--token", "-v", 7, "quite plain"]

        [mcp_servers.braces]
        command = "x"
        env = { DB_PASSWORD = "${DB_PASSWORD}" }

        [mcp_servers.given]
        command = "x"
        env = { A_TOKEN = "${A_TOKEN}" }

        [mcp_servers.header]
        url = "https://a.example/mcp"
        headers = { Authorization = "Bearer ${MCP_HEADER_TOKEN}", X-Key = "${MCP_HEADER_X_KEY}" }

        [mcp_servers.inside]
        command = "x"
        env = { OTHER_PASSWORD = "${OTHER_PASSWORD}", SITE_PASSWORD = "${SITE_PASSWORD}" }

    "#]].assert_eq(&shown);
}

#[test]
fn one_variable_never_stands_for_two_secrets() {
    let yaml = "
mcp_servers:
  a_same: {command: x, env: {API_KEY: value-of-the-first}}
  b_first: {command: x, env: {API_KEY: value-of-the-first}}
  c_other: {command: x, env: {API_KEY: value-of-the-other}}
  d_outside: {command: x, env: {API_KEY: '${API_KEY}'}}
  e_itself: {url: 'https://a.example/mcp', headers: {X-Key: one-value, X_Key: another}}
  f_apart: {command: x, env: {OTHER_KEY: value-of-the-other}}
";
    let plan = planned(yaml, "");
    expect![[r#"
        taken mcp_servers.a_same.command -> mcp_servers.a_same.command = "x"
        taken mcp_servers.a_same.env -> mcp_servers.a_same.env = { API_KEY = "${API_KEY}" }
        taken mcp_servers.b_first.command -> mcp_servers.b_first.command = "x"
        taken mcp_servers.b_first.env -> mcp_servers.b_first.env = { API_KEY = "${API_KEY}" }
        taken mcp_servers.f_apart.command -> mcp_servers.f_apart.command = "x"
        taken mcp_servers.f_apart.env -> mcp_servers.f_apart.env = { OTHER_KEY = "${OTHER_KEY}" }
        left mcp_servers.c_other: the variable API_KEY already holds the value of mcp_servers.a_same.env.API_KEY, and Codex passes a variable on only under its own name
        left mcp_servers.d_outside: the variable API_KEY already holds the value of mcp_servers.a_same.env.API_KEY, and Codex passes a variable on only under its own name
        left mcp_servers.e_itself: the variable MCP_E_ITSELF_X_KEY already holds the value of mcp_servers.e_itself.headers.X-Key, and Codex passes a variable on only under its own name
        variable API_KEY for ["mcp_servers.a_same.env.API_KEY", "mcp_servers.b_first.env.API_KEY"] in Some("config.yaml, mcp_servers.a_same.env.API_KEY")
        variable OTHER_KEY for ["mcp_servers.f_apart.env.OTHER_KEY"] in Some("config.yaml, mcp_servers.f_apart.env.OTHER_KEY")
        secrets ["mcp_servers.a_same.env.API_KEY", "mcp_servers.b_first.env.API_KEY", "mcp_servers.c_other.env.API_KEY", "mcp_servers.e_itself.headers.X-Key", "mcp_servers.f_apart.env.OTHER_KEY"]
        same 0
        ---
        [mcp_servers.a_same]
        command = "x"
        env = { API_KEY = "${API_KEY}" }

        [mcp_servers.b_first]
        command = "x"
        env = { API_KEY = "${API_KEY}" }

        [mcp_servers.f_apart]
        command = "x"
        env = { OTHER_KEY = "${OTHER_KEY}" }

    "#]].assert_eq(&shown(&plan));
    let second = planned(yaml, &plan.text);
    assert_eq!((second.text.as_str(), second.left), (plan.text.as_str(), plan.left), "nor the second time");
    // Nor if the existing one is later in Hermes's file.
    let own = "[mcp_servers.c_other]\ncommand = \"x\"\nenv = { API_KEY = \"${API_KEY}\" }\n";
    let late = planned(yaml, own);
    let left: Vec<_> = late.left.iter().map(|left| left.key.as_str()).collect();
    assert_eq!(
        left,
        ["a_same", "b_first", "d_outside", "e_itself"].map(|name| format!("mcp_servers.{name}"))
    );
}

#[test]
fn what_the_person_has_here_wins() {
    let own = "# mine\n[model]\ndefault = \"gpt-5-mini\" # cheap\r\n\n[mcp_servers.github]\ncommand = \"my-github\"\n";
    let plan = planned(FULL, own);
    let kept: Vec<_> = plan.kept.iter().map(|kept| kept.key.as_str()).collect();
    assert_eq!(kept, ["model.default", "mcp_servers.github"]);
    assert!(plan.text.starts_with("# mine\n[model]\ndefault = \"gpt-5-mini\" # cheap\r\n"), "{}", plan.text);
    assert!(plan.text.contains("command = \"my-github\"") && !plan.text.contains("npx"), "{}", plan.text);
}

#[test]
fn the_address_that_hermes_writes_at_its_login_is_openais() {
    let model = |address: &str| {
        let yaml = format!("model:\n  default: gpt-5\n  provider: openai-codex\n  base_url: {address}\n");
        planned(&yaml, "").text.contains("gpt-5")
    };
    assert!(model("https://chatgpt.com/backend-api/codex") && model("https://api.openai.com/v1"));
    assert!(!model("https://models.example.com/api.openai.com") && !model("nonsense"));
}

#[test]
fn a_model_of_somebody_else_is_not_given_to_codex() {
    for (yaml, words) in [
        ("model: {default: anthropic/claude-opus-4.6, provider: openrouter}", "models of OpenAI only"),
        ("model: claude-opus-4.6", "models of OpenAI only"),
        ("model: {default: gpt-5, base_url: 'https://llm.example/v1'}", "models of OpenAI only"),
        ("agent: {reasoning_effort: ultra}", "does not know this word"),
        ("approvals: {mode: off}", "approvals.mode unrestricted"),
        ("approvals: {mode: false}", "approvals.mode unrestricted"),
    ] {
        let plan = planned(yaml, "");
        assert_eq!((plan.text.as_str(), plan.taken.len()), ("", 0), "{yaml}");
        assert!(plan.left[0].why.contains(words), "{yaml}: {}", plan.left[0].why);
    }
    for (yaml, text) in [
        ("model: gpt-5.2", "[model]\ndefault = \"gpt-5.2\"\n"),
        ("model: {default: gpt-5.2, provider: auto}", "[model]\ndefault = \"gpt-5.2\"\n"),
        ("approvals: {mode: smart}", "[approvals]\nmode = \"auto\"\n"),
    ] {
        assert_eq!(planned(yaml, "").text, text, "{yaml}");
    }
}

#[test]
fn what_is_no_configuration_is_told_with_its_place_and_without_its_words() {
    let mut told = String::new();
    for yaml in [
        "a: [1, 2\nb: sk-proj-abcdefghijklmnopqrstuvwxyz012345\n",
        "a: b: sk-proj-abcdefghijklmnopqrstuvwxyz012345\n",
        "a: 1\n\tb: 2\n",
        "- one\n- two\n",
        "just words",
        "a: *nobody\n",
        "a: \"open\n",
        "a: &x [*x]\n",
        "---\na: 1\n---\nb: 2\n",
    ] {
        match read(yaml) {
            Ok(tree) => writeln!(told, "ok {tree:?}").unwrap(),
            Err(bad) => writeln!(told, "{bad}").unwrap(),
        }
    }
    assert!(!told.contains("sk-proj"), "{told}");
    expect![[r#"
        line 2, column 2: illegal placement of ':' indicator
        line 1, column 5: mapping values are not allowed in this context
        line 1, column 4: while scanning a plain scalar, found a tab
        line 1, column 1: it must be a list of settings (name: value)
        line 1, column 1: it must be a list of settings (name: value)
        line 1, column 4: alias references unknown anchor
        line 2, column 1: invalid indentation in multiline quoted scalar
        line 1, column 8: it refers to itself
        line 4, column 1: there is more than one document
    "#]]
    .assert_eq(&told);
    for empty in ["", "# nothing\n", "~", "---\n", "\u{feff}model: \r\n"] {
        assert!(read(empty).unwrap().values().all(serde_json::Value::is_null), "{empty:?}");
    }
    assert_eq!(read("a: 1\na: 2\n").unwrap()["a"], 2, "as in Hermes, the last one wins");
}

#[test]
fn an_own_file_that_is_broken_is_left_alone() {
    let problem = plan(&read(FULL).unwrap(), "[model\n").unwrap_err();
    assert_eq!((problem.line, problem.is_error()), (Some(1), true));
}

#[test]
fn odd_shapes_are_named_and_harm_nothing() {
    let yaml = "model: [1]\napprovals: 7\nagent: text\nmcp_servers:\n  a b: {command: x}\n  n: 3\n  deep: {command: [1]}\n  \
                env: {command: x, env: {A B: s3cr3tpassw0rd, T: [1]}}\n1: one\n? [a]\n: b\n";
    match read(yaml) {
        Ok(tree) => {
            let plan = plan(&tree, "").unwrap();
            assert_eq!(plan.text, "", "{}", shown(&plan));
        }
        Err(bad) => assert!(bad.line.is_some(), "{bad}"),
    }
    let servers: String = (0..300).map(|n| format!("  s{n}: {{command: c}}\n")).collect();
    let plan = planned(&format!("mcp_servers:\n{servers}"), "");
    assert_eq!(plan.taken.len(), 200);
    assert!(plan.left.iter().any(|left| left.why.contains("more than 200")), "{:?}", plan.left);
}

#[test]
fn only_names_come_out_of_files_of_secrets() {
    let env = "# note\nexport OPENAI_API_KEY=sk-1\nEMPTY=\nTELEGRAM_BOT_TOKEN = 'x'\nOPENAI_API_KEY=again\nnot a line\n1A=2\n";
    assert_eq!(variable_names(env), ["OPENAI_API_KEY", "TELEGRAM_BOT_TOKEN"]);
    let auth = r#"{"version":1,"providers":{"openai-codex":{"tokens":{"access_token":"t"}},"nous":{}},"credential_pool":{"nous":[]}}"#;
    assert_eq!(login_names(auth), ["nous", "openai-codex"]);
    assert_eq!(login_names("not json"), [""; 0]);
}

proptest! {
    #[test]
    fn no_yaml_makes_a_file_that_talaria_complains_of(
        names in proptest::collection::vec("[a-z\\.\"' ${}\\\\-]{1,8}", 1..4),
        values in proptest::collection::vec("[ -~\u{e9}\u{1f600}\t]{0,20}", 1..4),
        own in prop_oneof![Just(""), Just("[model]\neffort = \"low\""), Just("[mcp_servers]\r\n# end")],
    ) {
        let servers: serde_json::Map<_, _> = names.iter().zip(values.iter().cycle()).map(|(name, value)| {
            (name.clone(), serde_json::json!({"command": value, "args": [value], "env": {name: value}, "timeout": 3, name: value}))
        }).collect();
        let tree = serde_json::json!({"model": values[0], "mcp_servers": servers});
        let plan = plan(tree.as_object().unwrap(), own).unwrap();
        let parsed = config::parse(&plan.text).unwrap();
        prop_assert!(parsed.problems.is_empty(), "{}\n{:?}", plan.text, parsed.problems);
    }

    #[test]
    fn any_text_is_read_or_told(text in "\\PC{0,60}") {
        if let Ok(tree) = read(&text) {
            prop_assert!(plan(&tree, "").is_ok());
        }
    }
}
