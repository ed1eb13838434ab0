//! Promises of the configuration reader: file in, values and messages out.

mod notify;
mod providers;
mod reference;
mod servers;

use super::*;
use expect_test::{Expect, expect};
use talaria_guard::rules::{Rule, RuleReach};

fn check(text: &str, expected: &Expect) -> Config {
    let (config, problems) = match parse(text) {
        Ok(parsed) => (parsed.config, parsed.problems),
        Err(problem) => (Config::default(), vec![problem]),
    };
    let told: Vec<String> =
        problems.iter().map(|p| format!("{} {p}\n", format!("{:?}", p.severity).to_lowercase())).collect();
    expected.assert_eq(&told.concat());
    config
}

#[test]
fn every_key_of_this_version_is_read() {
    let text = r#"
[codex]
bin = "/opt/codex"
home = "~/codex"
sandbox = "workspace-write"
approval_policy = "on-request"
hide_home = "always"
turn_timeout = "1h30m"
idle_warning = "5m"

[model]
default = "gpt-5.5"
effort = "high"

[approvals]
mode = "approval-required"
allow = ["cargo test *", { command = "git push *", outside = true }, { tool = "github/*" }]
deny = ["rm *", { tool = "*/delete_*" }]
"#;
    let expected = Config {
        codex: CodexConfig {
            bin: Some("/opt/codex".to_owned()),
            home: Some("~/codex".to_owned()),
            sandbox: Some(Sandbox::WorkspaceWrite),
            approval_policy: Some(ApprovalPolicy::OnRequest),
            hide_home: Some(HideHome::Always),
            turn_timeout: Some(Duration::from_secs(5400)),
            idle_warning: Some(Duration::from_secs(300)),
            ..CodexConfig::default()
        },
        model: ModelConfig {
            default: Some("gpt-5.5".to_owned()),
            effort: Some("high".to_owned()),
            ..ModelConfig::default()
        },
        approvals: ApprovalsConfig {
            mode: Some(Mode::ApprovalRequired),
            rules: Rules {
                allow: vec![
                    Rule::allow("cargo test *", RuleReach::Inside).unwrap(),
                    Rule::allow("git push *", RuleReach::Anywhere).unwrap(),
                    Rule::tool("github/*").unwrap(),
                ],
                deny: vec![Rule::deny("rm *").unwrap(), Rule::tool("*/delete_*").unwrap()],
                are_incomplete: false,
            },
        },
        ..Config::default()
    };
    assert_eq!(check(text, &expect![""]), expected);
}

#[test]
fn what_a_model_recalls_is_bounded_by_two_keys() {
    let config = check("[recall]\nscope = \"project\"\n[tools]\nrecall = false\n", &expect![""]);
    assert_eq!((config.recall.scope, config.tools.recall), (Some(RecallScope::Project), Some(false)));
    for name in RecallScope::NAMES {
        assert_eq!(name.parse::<RecallScope>().unwrap().name(), name);
    }
    check(
        "[recall]\nscope = \"mine\"\n[tools]\nrecall = \"no\"\n",
        &expect![[r#"
            error line 2: recall.scope: "mine" is not known; allowed: own, project, all
            error line 4: tools.recall: must be true or false, not a string
        "#]],
    );
    let of = |key: &str| Effect::of(&key.parse().unwrap());
    assert_eq!((of("recall.scope"), of("tools.recall")), (Effect::AtOnce, Effect::NextConversation));
}

#[test]
fn variables_for_commands_are_named_and_none_is_talarias_own() {
    let config = check("[tools]\nenvironment = [\"GH_TOKEN\", \"_X1\"]\n", &expect![""]);
    assert_eq!(config.tools.environment, ["GH_TOKEN", "_X1"]);
    let config = check(
        "[tools]\nenvironment = [\"GH_TOKEN\", \"TALARIA_HOST\", \"sk-a.b\", \"\"]\n",
        &expect![[r#"
            error line 2: tools.environment: must not name variables of Talaria: no command gets them
            error line 2: tools.environment: must hold names of environment variables, not their values; write ["GH_TOKEN"]
            error line 2: tools.environment: must hold strings that are not empty, not a string
        "#]],
    );
    assert_eq!(config.tools.environment, ["GH_TOKEN"]);
}

#[test]
fn an_empty_file_sets_nothing() {
    for text in ["", "# nothing\n", "\u{feff}", "[codex]\n[model]\n"] {
        assert_eq!(parse(text), Ok(Parsed::default()), "{text:?}");
    }
}

#[test]
fn dotted_keys_and_inline_tables_mean_the_same() {
    let config = check("model = { default = \"m\" }\ncodex.turn_timeout = 90\r\n", &expect![""]);
    assert_eq!(config.model.default.as_deref(), Some("m"));
    assert_eq!(config.codex.turn_timeout, Some(Duration::from_secs(90)));
}

#[test]
fn a_wrong_value_is_an_error_that_names_line_key_and_what_is_allowed() {
    let text = r#"[codex]
bin = ""
sandbox = "writeable"
approval_policy = "on_request"
turn_timeout = "soon"
home = 7
[model]
default = ["a"]
"#;
    let config = check(
        text,
        &expect![[r#"
            error line 2: codex.bin: must not be empty; remove the key to leave it unset
            error line 3: codex.sandbox: "writeable" is not known; allowed: read-only, workspace-write, danger-full-access
            error line 4: codex.approval_policy: "on_request" is not known; allowed: untrusted, on-request, never, on-failure; did you mean on-request?
            error line 5: codex.turn_timeout: "soon" is not a duration; write 90s, 15m, 1h30m, 30d or a number of seconds
            error line 6: codex.home: must be a string, not an integer
            error line 8: model.default: must be a string, not an array
        "#]],
    );
    assert_eq!(config, Config::default());
}

#[test]
fn durations_that_cannot_be_used_are_errors() {
    check(
        "codex.turn_timeout = 0",
        &expect![[r#"
        error line 1: codex.turn_timeout: a duration must be longer than zero
    "#]],
    );
    check(
        "codex.turn_timeout = -5",
        &expect![[r#"
        error line 1: codex.turn_timeout: a duration cannot be negative
    "#]],
    );
    check(
        "codex.turn_timeout = 1.5",
        &expect![[r#"
        error line 1: codex.turn_timeout: must be a duration such as "90s", "15m", "1h30m" or a number of seconds, not a float
    "#]],
    );
    check(
        "codex.sandbox = true",
        &expect![[r#"
        error line 1: codex.sandbox: must be one of read-only, workspace-write, danger-full-access, not a boolean
    "#]],
    );
}

#[test]
fn one_wrong_value_does_not_hide_the_good_ones() {
    let config = check(
        "[codex]\nsandbox = \"none\"\nbin = \"/c\"\n",
        &expect![[r#"
            error line 2: codex.sandbox: "none" is not known; allowed: read-only, workspace-write, danger-full-access
        "#]],
    );
    assert_eq!(config.codex.bin.as_deref(), Some("/c"));
}

#[test]
fn an_unknown_key_is_a_warning_with_the_nearest_known_one() {
    let text = r#"
sandbox = "read-only"
zzz = 1
[codex]
sandbx = "read-only"
default = "m"
frobnicate = 1
[modle]
default = "m"
"#;
    check(
        text,
        &expect![[r#"
            warning line 2: sandbox: unknown key; did you mean codex.sandbox?
            warning line 3: zzz: unknown key
            warning line 5: codex.sandbx: unknown key; did you mean codex.sandbox?
            warning line 6: codex.default: unknown key; did you mean model.default?
            warning line 7: codex.frobnicate: unknown key
            warning line 8: modle: unknown key; did you mean model?
        "#]],
    );
}

#[test]
fn rules_in_a_place_that_is_not_read_are_an_error() {
    let text = r#"
deny = ["rm *"]
[aprovals]
deny = ["git push *"]
[approval]
mode = "auto"
[codex]
allow = ["ls"]
[security_rules]
denied = ["rm *"]
[approvals]
denny = ["rm *"]
mod = "auto"
[chatt]
color = ["red"]
"#;
    check(
        text,
        &expect![[r#"
        error line 2: deny: unknown key where rules belong, and nothing in it would hold; did you mean approvals.deny?
        error line 3: aprovals: unknown key where rules belong, and nothing in it would hold; did you mean approvals?
        error line 5: approval: unknown key where rules belong, and nothing in it would hold; did you mean approvals?
        error line 8: codex.allow: unknown key where rules belong, and nothing in it would hold; did you mean approvals.allow?
        error line 9: security_rules: unknown key where rules belong, and nothing in it would hold; did you mean approvals?
        error line 12: approvals.denny: unknown key where rules belong, and nothing in it would hold; did you mean approvals.deny?
        error line 13: approvals.mod: unknown key where rules belong, and nothing in it would hold; did you mean approvals.mode?
        warning line 14: chatt: unknown key; did you mean chat?
    "#]],
    );
    assert!(parse(text).unwrap().config.approvals.rules.deny.is_empty());
}

#[test]
fn a_key_of_a_later_version_is_not_silently_taken() {
    let text = r#"
[sessions]
write_json_snapshot = true
[security]
redact_secrets = false
[model]
base_url = "http://127.0.0.1"
efort = "high"
[store]
url = ""
"#;
    check(
        text,
        &expect![[r#"
            warning line 3: sessions.write_json_snapshot: not used by this version; did you mean sessions.write_json_snapshots?
            warning line 4: security: not used by this version
            warning line 7: model.base_url: not used by this version
            warning line 8: model.efort: not used by this version; did you mean model.effort?
            warning line 9: store: not used by this version
        "#]],
    );
}

#[test]
fn the_choice_of_the_runtime_is_read_in_any_case() {
    let config =
        check("[model]\nprovider = \"openai-codex\"\nopenai_runtime = \"Codex_App_Server\"\n", &expect![""]);
    assert_eq!(config.model.provider.as_deref(), Some("openai-codex"));
    assert_eq!(config.model.openai_runtime, Some(RuntimeChoice::CodexAppServer));
    check(
        "model.openai_runtime = \"codex_appserver\"\n",
        &expect![[r#"
            error line 1: model.openai_runtime: "codex_appserver" is not known; allowed: auto, codex_app_server, off; did you mean codex_app_server?
        "#]],
    );
}

#[test]
fn how_the_chat_behaves_is_read_and_a_wrong_word_is_told_with_the_allowed_ones() {
    let config = check("[chat]\nenter = \"queue\"\ntheme = \"mono\"\n", &expect![""]);
    assert_eq!(config.chat, ChatConfig { enter: Some(Enter::Queue), theme: Some(Theme::Mono) });
    for name in Theme::NAMES {
        assert_eq!(name.parse::<Theme>().unwrap().name(), name);
    }
    check(
        "[chat]\nenter = \"steers\"\n",
        &expect![[r#"
            error line 2: chat.enter: "steers" is not known; allowed: steer, queue; did you mean steer?
        "#]],
    );
}

#[test]
fn the_limits_of_engine_and_hosts_are_read() {
    let text = r#"
[codex]
max_hosts = 2
threads_per_host = 4
host_idle = "5m"
host_memory_mib = 800
on_loss = "continue"
[engine]
idle_timeout = "1h"
[sessions]
keep_events = "30d"
max_events = 5000
"#;
    let parsed = parse(text).unwrap();
    assert!(parsed.problems.is_empty(), "{:?}", parsed.problems);
    let CodexConfig { max_hosts, threads_per_host, host_idle, host_memory_mib, on_loss, .. } =
        parsed.config.codex;
    assert_eq!((max_hosts, threads_per_host, host_memory_mib), (Some(2), Some(4), Some(800)));
    assert_eq!((host_idle, on_loss), (Some(Duration::from_secs(300)), Some(OnLoss::Continue)));
    assert_eq!(parsed.config.engine.idle_timeout, Some(Duration::from_secs(3600)));
    assert_eq!(parsed.config.sessions.max_events, Some(5000));
    check(
        "[codex]\nmax_hosts = 0\non_loss = \"go on\"\n",
        &expect![[r#"
            error line 2: codex.max_hosts: must be a whole number above 0, not 0
            error line 3: codex.on_loss: "go on" is not known; allowed: stop, continue
        "#]],
    );
}

#[test]
fn rules_may_be_tables_of_their_own() {
    let text = r#"
[[approvals.allow]]
command = "git push *"
outside = true
[[approvals.allow]]
tool = "docs/search"
[[approvals.deny]]
command = "rm *"
"#;
    let rules = check(text, &expect![""]).approvals.rules;
    let inline = r#"
approvals.allow = [{ command = "git push *", outside = true }, { tool = "docs/search" }]
approvals.deny = [{ command = "rm *" }]
"#;
    assert_eq!(rules, check(inline, &expect![""]).approvals.rules);
    assert_eq!((rules.allow.len(), rules.deny.len()), (2, 1));
}

#[test]
fn a_wrong_rule_is_an_error_at_its_own_line_and_the_others_are_kept() {
    let text = r#"[approvals]
mode = "full"
allow = [
  "cargo test *",
  "",
  "a | b",
  "timeout 60 cargo test *",
  7,
  { comand = "ls" },
  { command = "ls", outsid = true },
  { command = "ls", outside = "yes" },
  { tool = "github" },
  { tool = "github/*", outside = true },
  { command = "ls", tool = "a/b" },
  {},
  "ls",
]
deny = [
  "rm *",
  "X=1 rm",
  { command = "ls", outside = true },
]
frobnicate = 1
denny = []
"#;
    let config = check(
        text,
        &expect![[r#"
            error line 2: approvals.mode: "full" is not known; allowed: auto, approval-required, unrestricted, yolo
            error line 5: approvals.allow: "" is empty: it would never match
            error line 6: approvals.allow: "a | b" can never match: a rule is about one command, and '|' is a shell operator; write a rule for each command
            error line 7: approvals.allow: "timeout 60 cargo test *" can never match: what timeout starts is looked at in its place; write that command alone
            error line 8: approvals.allow: a rule must be a string or a table with command or tool, not an integer
            error line 9: approvals.allow: a rule has no key comand; allowed: command, tool, outside; did you mean command?
            error line 10: approvals.allow: a rule has no key outsid; allowed: command, tool, outside; did you mean outside?
            error line 11: approvals.allow: outside must be true or false, not a string
            error line 12: approvals.allow: "github" must be server/tool, for example github/* or github/get_issue
            error line 13: approvals.allow: a tool runs in its server and never in the sandbox: remove outside
            error line 14: approvals.allow: a rule is about a command or a tool, not both
            error line 15: approvals.allow: a rule needs command or tool
            error line 20: approvals.deny: "X=1 rm" cannot deny an assignment: a deny rule is about the words of a command
            error line 21: approvals.deny: a deny rule holds everywhere: remove outside
            error line 23: approvals.frobnicate: unknown key where rules belong, and nothing in it would hold
            error line 24: approvals.denny: unknown key where rules belong, and nothing in it would hold; did you mean approvals.deny?
        "#]],
    );
    let texts = |rules: &[Rule]| rules.iter().map(|rule| rule.text().to_owned()).collect::<Vec<_>>();
    assert_eq!(texts(&config.approvals.rules.allow), ["cargo test *", "ls"]);
    assert_eq!(texts(&config.approvals.rules.deny), ["rm *"]);
    check(
        "approvals.allow = \"ls\"\n[[approvals.deny]]\ncommand = 1\n",
        &expect![[r#"
        error line 1: approvals.allow: must be a list of rules, not a string; write ["cargo test *"]
        error line 2: approvals.deny: command must be a string, not an integer
    "#]],
    );
}

#[test]
fn a_section_that_is_no_section_is_an_error() {
    check(
        "model = \"gpt-5.5\"\n[[codex]]\nbin = \"/c\"\n",
        &expect![[r#"
            error line 1: model: must be a section, not a string; write the name of the model as model.default
            error line 2: codex: must be a section, not an array of tables; write its keys under [codex]
        "#]],
    );
}

#[test]
fn a_file_that_does_not_parse_names_line_and_column() {
    check(
        "[codex]\nsandbox = \n",
        &expect![[r#"
        error line 2, column 11: string values must be quoted, expected literal string
    "#]],
    );
    check(
        "[codex]\nbin = \"/a\"\nbin = \"/b\"\n",
        &expect![[r#"
        error line 3, column 1: duplicate key
    "#]],
    );
    check(
        "[codex\n",
        &expect![[r#"
        error line 1, column 7: unclosed table, expected `]`
    "#]],
    );
    check(
        "# ü\nü = 1\n",
        &expect![[r#"
        error line 2, column 1: invalid unquoted key, expected letters, numbers, `-`, `_`
    "#]],
    );
    check(
        "a = \"\u{1}\"",
        &expect![[r#"
        error line 1, column 6: invalid basic string, expected non-double-quote visible characters, `\`
    "#]],
    );
}
