//! Promises of the translation: an entry of Talaria's file in, an entry of Codex's file and a report out.

use expect_test::{Expect, expect};
use proptest::prelude::*;

use talaria_codex_proto::codex_config::{Additions, plan};
use talaria_core::config::parse;
use talaria_core::servers::*;

/// Shows the whole result of a translation, with the entry as in Codex's file.
fn told(text: &str, literals: Literals) -> String {
    let mut out = String::new();
    for server in &parse(text).unwrap().config.servers {
        let translated = translate(server, literals);
        out.push_str(&format!("[{}]\n", translated.name));
        match &translated.server {
            Ok(server) => out.push_str(&written(server)),
            Err(why) => out.push_str(&format!("! {why}\n")),
        }
        for Skipped { key, why } in &translated.skipped {
            out.push_str(&format!("- {key}: {why}\n"));
        }
        for Referred { place, variable } in &translated.referred {
            out.push_str(&format!("> {place} in {variable}\n"));
        }
        if !translated.secrets.is_empty() {
            out.push_str(&format!("* {} secrets\n", translated.secrets.len()));
        }
    }
    out
}

/// The keys of an entry as in Codex's file.
fn written(server: &CodexServer) -> String {
    let additions = Additions { servers: vec![("x".to_owned(), server.clone())], ..Additions::default() };
    let text = plan("", &additions, None).unwrap().text;
    text.split_inclusive('\n').filter(|line| !line.starts_with(['#', '['])).collect()
}

fn check(text: &str, literals: Literals, expected: &Expect) {
    expected.assert_eq(&told(text, literals));
}

#[test]
fn programs_and_addresses_are_said_in_the_words_of_codex() {
    let text = r#"
        [mcp_servers.files]
        command = "npx"
        args = ["-y", "@scope/files", "/tmp"]
        env = { MODE = "fast", HOME = "${HOME}", NODE = "${env:NODE}" }
        cwd = "/srv"
        timeout = 120
        connect_timeout = 0.5
        enabled = false
        supports_parallel_tool_calls = true
        tools = { exclude = ["write"] }
        description = "files"

        [mcp_servers.remote]
        url = "https://mcp.example.com/mcp"
        headers = { Authorization = "Bearer ${TOKEN}", X-Team = "core", X-Key = "${TEAM_KEY}" }
        transport = "streamable_http"
        timeout = "2m"
        [mcp_servers.remote.tools]
        include = "search"
        exclude = ["x"]
        resources = false
    "#;
    check(
        text,
        Literals::Keep,
        &expect![[r#"
            [files]
            command = "npx"
            args = ["-y", "@scope/files", "/tmp"]
            cwd = "/srv"
            enabled = false
            startup_timeout_sec = 0.5
            tool_timeout_sec = 120
            supports_parallel_tool_calls = true
            disabled_tools = ["write"]
            env_vars = ["HOME", "NODE"]
            env = { MODE = "fast" }
            - description: Codex has no place for it
            [remote]
            url = "https://mcp.example.com/mcp"
            bearer_token_env_var = "TOKEN"
            tool_timeout_sec = 120
            enabled_tools = ["search"]
            http_headers = { X-Team = "core" }
            env_http_headers = { X-Key = "TEAM_KEY" }
            - tools.resources: Codex decides that itself
            - tools.exclude: tools.include comes first
        "#]],
    );
}

#[test]
fn a_command_comes_before_a_url_and_nothing_of_the_other_kind_reaches_codex() {
    let text = r#"
        [mcp_servers.both]
        command = "x"
        url = "https://mcp.example.com/"
        headers = { A = "b" }
        sampling = { enabled = true }
        frobnicate = 1
        [mcp_servers.address]
        url = "http://127.0.0.1:8000/mcp"
        args = ["a"]
        env = { A = "b" }
        cwd = "/"
    "#;
    check(
        text,
        Literals::Keep,
        &expect![[r#"
            [both]
            command = "x"
            - url: the server has a command, which comes first
            - headers: the server has a command, which comes first
            - sampling: no server may ask the model
            - frobnicate: unknown key
            [address]
            url = "http://127.0.0.1:8000/mcp"
            - args: it belongs to servers with a command
            - env: it belongs to servers with a command
            - cwd: it belongs to servers with a command
        "#]],
    );
}

#[test]
fn a_server_with_one_wrong_key_is_no_server() {
    let text = r#"
        [mcp_servers.old]
        url = "http://127.0.0.1:8000/sse"
        transport = "sse"
        [mcp_servers.nothing]
        enabled = true
        [mcp_servers.wrong]
        command = "x"
        cwd = "sub"
        timeout = -1
        env = { A = "${B}" }
        [mcp_servers."a b"]
        command = "x"
    "#;
    check(
        text,
        Literals::Keep,
        &expect![[r#"
            [old]
            ! transport: Codex speaks streamable HTTP only, not SSE
            [nothing]
            ! has neither command nor url
            [wrong]
            ! timeout: a duration cannot be negative; env.A: Codex passes a variable on under its own name only; cwd: must be a whole path
            [a b]
            ! Codex takes letters, digits, - and _ in the name of a server
        "#]],
    );
}

const SECRETS: &str = r#"
    [mcp_servers.git-hub]
    command = "npx"
    env = { GITHUB_TOKEN = "ghp_literal", PGPASSWORD = "pwQ7", MODE = "fast", EMPTY_KEY = "" }
    [mcp_servers.remote]
    url = "https://mcp.example.com/mcp"
    headers = { authorization = "Bearer lit", X-Api-Key = "kQ7", X-Team = "core" }
    [mcp_servers.basic]
    url = "https://mcp.example.com/mcp"
    headers = { Authorization = "Basic dTpw" }
    [mcp_servers.args]
    command = "x"
    args = ["--api-key", "abc"]
    [mcp_servers.flag]
    command = "x"
    args = ["--token=abc"]
    [mcp_servers.url]
    url = "https://user:hunter22pass@mcp.example.com/"
"#;

#[test]
fn secrets_become_references_that_are_named_or_the_server_is_refused() {
    check(
        SECRETS,
        Literals::Refer,
        &expect![[r#"
            [git-hub]
            command = "npx"
            env_vars = ["GITHUB_TOKEN", "PGPASSWORD"]
            env = { EMPTY_KEY = "", MODE = "fast" }
            > env.GITHUB_TOKEN in GITHUB_TOKEN
            > env.PGPASSWORD in PGPASSWORD
            [remote]
            url = "https://mcp.example.com/mcp"
            bearer_token_env_var = "MCP_REMOTE_TOKEN"
            http_headers = { X-Team = "core" }
            env_http_headers = { X-Api-Key = "MCP_REMOTE_X_API_KEY" }
            > headers.X-Api-Key in MCP_REMOTE_X_API_KEY
            > headers.authorization (what follows Bearer) in MCP_REMOTE_TOKEN
            [basic]
            url = "https://mcp.example.com/mcp"
            env_http_headers = { Authorization = "MCP_BASIC_AUTHORIZATION" }
            > headers.Authorization in MCP_BASIC_AUTHORIZATION
            [args]
            ! args holds what looks like a secret, and Codex has no reference for it there
            [flag]
            ! args holds what looks like a secret, and Codex has no reference for it there
            [url]
            ! url holds what looks like a secret, and Codex has no reference for it there
        "#]],
    );
}

#[test]
fn secrets_that_are_kept_are_handed_over_for_masking_and_shown_by_nothing() {
    let parsed = parse(SECRETS).unwrap();
    let mut kept = Vec::new();
    for server in &parsed.config.servers {
        let translated = translate(server, Literals::Keep);
        let shown = format!("{server:?} {translated:?} {:?}", parsed.problems);
        for secret in &translated.secrets {
            assert!(!shown.contains(secret), "{secret} in {shown}");
        }
        kept.extend(translated.secrets);
    }
    kept.sort();
    let all = [
        "--token=abc",
        "Basic dTpw",
        "Bearer lit",
        "abc",
        "ghp_literal",
        "https://user:hunter22pass@mcp.example.com/",
        "kQ7",
        "pwQ7",
    ];
    assert_eq!(kept, all);
}

#[test]
fn the_tilde_is_the_home_in_program_and_directory() {
    let text = "[mcp_servers.a]\ncommand = \"~/bin/x\"\nargs = [\"~/y\"]\ncwd = \"~\"\n";
    let mut server = parse(text).unwrap().config.servers.remove(0);
    server.at_home("/home/u/");
    let made = translate(&server, Literals::Keep).server.unwrap();
    assert_eq!(
        (made.command.as_deref(), made.cwd.as_deref(), made.args.as_slice()),
        (Some("/home/u/bin/x"), Some("/home/u"), &["~/y".to_owned()][..])
    );
}

#[test]
fn the_variables_of_a_server_are_known() {
    let text = "[mcp_servers.a]\nurl = \"http://x/\"\nheaders = { A = \"${ONE}\", Authorization = \"bearer ${TWO}\", B = \"c\" }\n";
    let server = parse(text).unwrap().config.servers.remove(0);
    assert_eq!(server.variables().into_iter().collect::<Vec<_>>(), ["ONE", "TWO"]);
}

proptest! {
    /// No literal whose name says that it is a secret is written when references were asked for.
    #[test]
    fn no_named_secret_is_written_when_references_are_asked_for(
        value in "[a-z]{3}Qz[ -~&&[^\\\\\"$]]{0,20}",
        name in "(MY|the)_?(TOKEN|api_key|Secret|PASSWORD)",
    ) {
        let value = value.trim_end();
        let text = format!(
            "[mcp_servers.a]\ncommand = \"x\"\nenv = {{ {name} = \"{value}\" }}\n\
             [mcp_servers.b]\nurl = \"http://x/\"\nheaders = {{ {name} = \"{value}\" }}\n"
        );
        let told = told(&text, Literals::Refer);
        prop_assert!(!told.contains(value) && told.contains("> env.") && told.contains("> headers."), "{told}");
    }

    /// Every text is preserved: quotes, control characters, emoji, Windows paths.
    #[test]
    fn every_text_reaches_codex_unchanged(arg in any::<String>()) {
        prop_assume!(!arg.contains('\0') && reference(&arg).is_none());
        let given = toml_edit::value(arg.clone()).to_string();
        let text = format!("[mcp_servers.a]\ncommand = \"x\"\nargs = [{given}]\nenv = {{ A = {given} }}\n");
        let server = parse(&text).unwrap().config.servers.remove(0);
        let made = translate(&server, Literals::Keep).server.unwrap();
        prop_assert_eq!(&made.args[0], &arg);
        let again: toml_edit::DocumentMut = written(&made).parse().unwrap();
        prop_assert_eq!(again["env"]["A"].as_str(), Some(arg.as_str()));
    }
}
