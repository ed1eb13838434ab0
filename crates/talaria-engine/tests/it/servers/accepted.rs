//! The installed Codex accepts the keys that the translation writes, and refuses those that it refuses.

use std::process::{Command, Stdio};

use serde_json::Value;
use talaria_codex_proto::codex_config::{Additions, plan};
use talaria_core::config::parse;
use talaria_core::servers::{Literals, Server, translate};
use talaria_scripted::ScriptedModel;
use talaria_testkit::{Codex, CodexHome};

use crate::stage::both_versions;

both_versions!(every_translated_key_is_known_to_codex, what_the_reader_refuses_codex_refuses,);

const EVERYTHING: &str = r#"
    [mcp_servers.program]
    command = "npx"
    args = ["-y", "a \"quoted\" \\ argument", "line\nbreak", "\u0001\u007f", "🪿"]
    env = { MODE = "fast", API_KEY = "Zx81literal", HOME = "${HOME}" }
    cwd = "/srv"
    timeout = 120
    connect_timeout = 0.25
    enabled = false
    supports_parallel_tool_calls = true
    tools = { include = ["search"] }
    [mcp_servers.ad_dress-1]
    url = "https://mcp.example.com/mcp"
    headers = { Authorization = "Bearer ${TOKEN}", X-Team = "core", X-Key = "${TEAM_KEY}", X-Api-Key = "Zx81literal" }
    tools = { exclude = ["write"] }
    timeout = 1.5
"#;

async fn home(config: &str) -> (ScriptedModel, CodexHome) {
    let model = ScriptedModel::start().await.unwrap();
    let home = CodexHome::new(&model);
    home.append_config(config);
    (model, home)
}

fn run(codex: &Codex, home: &CodexHome, args: &[&str]) -> (bool, String, String) {
    let mut command = Command::new(&codex.native);
    command.args(args).envs(home.environment()).stdin(Stdio::null());
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.success(), text(output.stdout), text(output.stderr))
}

async fn every_translated_key_is_known_to_codex(codex: Codex) {
    for literals in [Literals::Keep, Literals::Refer] {
        let entry = |server: &Server| (server.name.clone(), translate(server, literals).server.unwrap());
        let servers = parse(EVERYTHING).unwrap().config.servers.iter().map(entry).collect();
        let written = plan("", &Additions { servers, ..Additions::default() }, None).unwrap().text;
        let (_model, home) = home(&written).await;
        let (is_read, told, why) = run(&codex, &home, &["mcp", "list", "--json"]);
        assert!(is_read, "{why}\n{written}");
        let told: Vec<Value> = serde_json::from_str(&told).unwrap();
        let of = |name: &str| told.iter().find(|server| server["name"] == name).unwrap().clone();
        let (program, address) = (of("program"), of("ad_dress-1"));
        let transport = &program["transport"];
        assert_eq!(transport["args"][1], "a \"quoted\" \\ argument");
        assert_eq!(transport["args"][3], "\u{1}\u{7f}");
        assert_eq!((&transport["cwd"], &program["enabled"]), (&"/srv".into(), &false.into()));
        assert_eq!(program["startup_timeout_sec"], 0.25);
        assert_eq!(
            (&program["tool_timeout_sec"], &address["tool_timeout_sec"]),
            (&120.0.into(), &1.5.into())
        );
        assert_eq!(address["transport"]["bearer_token_env_var"], "TOKEN");
        assert_eq!(address["transport"]["env_http_headers"]["X-Key"], "TEAM_KEY");
        assert_eq!(address["transport"]["http_headers"]["X-Team"], "core");
        let keeps = literals == Literals::Keep;
        assert_eq!(written.contains("Zx81literal"), keeps, "{written}");
        assert_eq!(transport["env"].get("API_KEY").is_some(), keeps);
        // The older version takes unknown keys without a word; it has no such option.
        if codex.version != "0.130.0" {
            let (is_known, _, why) = run(&codex, &home, &["app-server", "--strict-config"]);
            assert!(is_known, "{why}\n{written}");
        }
    }
}

async fn what_the_reader_refuses_codex_refuses(codex: Codex) {
    for refused in [
        "command = \"x\"\nurl = \"http://x/\"",
        "enabled = true",
        "url = \"http://x/\"\nenv = { A = \"b\" }",
        "url = \"http://x/\"\ncwd = \"/\"",
        "command = \"x\"\nhttp_headers = { A = \"b\" }",
        "command = \"x\"\ntool_timeout_sec = -1",
        "command = \"x\"\nstartup_timeout_sec = 1e30",
        "command = \"x\"\nenv = { A = 1 }",
    ] {
        let (_model, home) = home(&format!("[mcp_servers.a]\n{refused}\n")).await;
        let (is_read, _, why) = run(&codex, &home, &["mcp", "list", "--json"]);
        assert!(!is_read && why.contains("mcp_servers.a"), "{refused}: {why}");
    }
}
