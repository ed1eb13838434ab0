//! Tables: which conversations hide the home, and what is sent for it.

use std::fmt::Write;

use expect_test::expect;

use super::*;
use crate::confine::Trust;
use talaria_core::policy::Sandbox;

fn workspace(network_access: bool) -> SandboxPolicy {
    SandboxPolicy::WorkspaceWrite {
        writable_roots: vec!["/w".to_owned(), "/r[1]".to_owned()],
        network_access,
        exclude_tmpdir_env_var: false,
        exclude_slash_tmp: false,
    }
}

fn hidden() -> HiddenPaths {
    let mut hidden = HiddenPaths::default();
    hidden.protect("/w/home");
    hidden.hide("/w/home", "run");
    hidden.hide_if_present("/w/home", "key");
    hidden.hide("/tmp", "talaria-1");
    hidden
}

#[test]
fn a_conversation_hides_the_home_where_that_costs_nothing_or_the_network_is_open() {
    let mut table = String::new();
    for version in ["0.125.0", "0.130.0", "0.136.0", "0.166.0"] {
        for wish in HideHome::NAMES {
            let applies = |open| {
                let applies = hides(wish.parse().unwrap(), &version.parse().unwrap(), open);
                if applies { "hidden" } else { "-" }
            };
            let _ = writeln!(
                table,
                "{version} {wish:6}  network {:6}  never asks {:6}  asks {:6}  no sandbox {}",
                applies(Openness::Network),
                applies(Openness::NeverAsks),
                applies(Openness::AsksWithoutNetwork),
                applies(Openness::Everything),
            );
        }
    }
    expect![[r#"
        0.125.0 auto    network -       never asks -       asks -       no sandbox -
        0.125.0 always  network -       never asks -       asks -       no sandbox -
        0.125.0 never   network -       never asks -       asks -       no sandbox -
        0.130.0 auto    network hidden  never asks hidden  asks hidden  no sandbox -
        0.130.0 always  network hidden  never asks hidden  asks hidden  no sandbox -
        0.130.0 never   network -       never asks -       asks -       no sandbox -
        0.136.0 auto    network hidden  never asks hidden  asks -       no sandbox -
        0.136.0 always  network hidden  never asks hidden  asks hidden  no sandbox -
        0.136.0 never   network -       never asks -       asks -       no sandbox -
        0.166.0 auto    network hidden  never asks hidden  asks -       no sandbox -
        0.166.0 always  network hidden  never asks hidden  asks hidden  no sandbox -
        0.166.0 never   network -       never asks -       asks -       no sandbox -
    "#]]
    .assert_eq(&table);
}

#[test]
fn the_openness_is_that_of_sandbox_and_policy() {
    let read_only = |network_access| SandboxPolicy::ReadOnly { network_access };
    for (sandbox, approval, expected) in [
        (SandboxPolicy::DangerFullAccess, Some(ApprovalPolicy::Never), Openness::Everything),
        (workspace(true), Some(ApprovalPolicy::Never), Openness::Network),
        (read_only(true), None, Openness::Network),
        (workspace(false), Some(ApprovalPolicy::Never), Openness::NeverAsks),
        (read_only(false), Some(ApprovalPolicy::Untrusted), Openness::AsksWithoutNetwork),
        (workspace(false), None, Openness::AsksWithoutNetwork),
    ] {
        assert_eq!(Openness::of(&sandbox, approval), expected, "{sandbox:?} {approval:?}");
    }
}

#[test]
fn a_profile_says_what_the_sandbox_says_and_what_is_hidden() {
    let profile = hidden().profile(&workspace(true), "/w").unwrap();
    expect![[r#"
        {
          "filesystem": {
            "/r[1]": {
              ".": "write"
            },
            "/tmp": {
              ".": "write",
              "talaria-1": "none"
            },
            "/w/home": {
              ".": "read",
              "ke[y]": "none",
              "run": "none"
            },
            ":project_roots": "write",
            ":root": "read",
            ":tmpdir": "write",
            "glob_scan_max_depth": 1
          },
          "network": {
            "enabled": true
          }
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(&profile).unwrap());
    let closed = SandboxPolicy::WorkspaceWrite {
        writable_roots: Vec::new(),
        network_access: false,
        exclude_tmpdir_env_var: true,
        exclude_slash_tmp: true,
    };
    let inline = |policy: &SandboxPolicy| inline_toml(&HiddenPaths::default().profile(policy, "/w").unwrap());
    expect![[
        r#"{ filesystem = { ":project_roots" = "write", ":root" = "read" }, network = { enabled = false } }"#
    ]]
    .assert_eq(&inline(&closed));
    expect![[r#"{ filesystem = { ":root" = "read" }, network = { enabled = false } }"#]]
        .assert_eq(&inline(&SandboxPolicy::ReadOnly { network_access: false }));
    assert_eq!(hidden().profile(&SandboxPolicy::DangerFullAccess, "/w"), None);
}

#[test]
fn a_root_that_can_be_written_is_not_protected() {
    let mut hidden = HiddenPaths::default();
    hidden.protect("/r[1]");
    let profile = hidden.profile(&workspace(false), "/w").unwrap();
    assert_eq!(profile["filesystem"]["/r[1]"]["."], "write");
}

#[test]
fn inline_toml_is_read_back_as_the_same_value() {
    let profile = hidden().profile(&workspace(false), "/w").unwrap();
    let read: toml_edit::DocumentMut = format!("profile = {}", inline_toml(&profile)).parse().unwrap();
    let filesystem = &read["profile"]["filesystem"];
    assert_eq!(filesystem["/r[1]"]["."].as_str(), Some("write"));
    assert_eq!(filesystem["/w/home"]["ke[y]"].as_str(), Some("none"));
    assert_eq!(filesystem["glob_scan_max_depth"].as_integer(), Some(1));
    assert_eq!(read["profile"]["network"]["enabled"].as_bool(), Some(false));
    let mut hidden = HiddenPaths::default();
    hidden.hide("/h", "a\u{7f}b");
    let profile = inline_toml(&hidden.profile(&workspace(false), "/w").unwrap());
    let read: toml_edit::DocumentMut = format!("profile = {profile}").parse().unwrap();
    assert_eq!(read["profile"]["filesystem"]["/h"]["a\u{7f}b"].as_str(), Some("none"), "{profile}");
}

#[test]
fn a_start_with_a_profile_has_no_sandbox_of_its_own() {
    let mut start = ThreadStart { sandbox: Some(Sandbox::ReadOnly), ..ThreadStart::default() };
    start.config.insert("sandbox_workspace_write.network_access".to_owned(), json!(true));
    start.config.insert("sandbox_mode".to_owned(), json!("read-only"));
    start.set_effort("high");
    let mut hidden = HiddenPaths::default();
    hidden.hide("/h", "key");
    let sent = |sandbox: &ExpectedSandbox| {
        HidingStart::new(&start, sandbox, &hidden)
            .map(|hiding| (hiding.profile, serde_json::to_string(&hiding.sent).unwrap()))
    };
    let read_only = ExpectedSandbox::Policy(SandboxPolicy::ReadOnly { network_access: false });
    let (profile, text) = sent(&read_only).unwrap();
    assert_eq!(profile, PROFILE);
    expect![[r#"{"cwd":"","config":{"default_permissions":"talaria","model_reasoning_effort":"high","permissions":{"talaria":{"filesystem":{"/h":{"key":"none"},":root":"read"},"network":{"enabled":false}}}}}"#]].assert_eq(&text);
    let users = ExpectedSandbox::Profile { name: "mine".to_owned(), network: false };
    let (profile, text) = sent(&users).unwrap();
    assert_eq!(profile, "mine");
    expect![[r#"{"cwd":"","config":{"default_permissions":"mine","model_reasoning_effort":"high","permissions":{"mine":{"filesystem":{"/h":{"key":"none"}}}}}}"#]].assert_eq(&text);
    assert_eq!(sent(&ExpectedSandbox::Policy(SandboxPolicy::DangerFullAccess)), None);
    assert_eq!(sent(&ExpectedSandbox::Unknown { why: "" }), None);
}

#[test]
fn the_sandbox_is_expected_as_codex_decides_it() {
    let config = r#""sandbox_workspace_write":{"writable_roots":["/r"],"network_access":true}"#;
    let mut table = String::new();
    for (sandbox, config, trust) in [
        (
            Some(Sandbox::ReadOnly),
            r#"{"sandbox_mode":"danger-full-access","profile":"p"}"#.to_owned(),
            Trust::Recorded,
        ),
        (Some(Sandbox::WorkspaceWrite), format!("{{{config}}}"), Trust::Unknown),
        (None, format!(r#"{{"sandbox_mode":"workspace-write",{config}}}"#), Trust::Unknown),
        (None, r#"{"sandbox_mode":"brand-new"}"#.to_owned(), Trust::Unknown),
        (None, format!(r#"{{"default_permissions":":workspace",{config}}}"#), Trust::Unknown),
        (None, r#"{"default_permissions":":danger-full-access"}"#.to_owned(), Trust::Unknown),
        (None, r#"{"default_permissions":":brand-new"}"#.to_owned(), Trust::Unknown),
        (
            None,
            r#"{"default_permissions":"mine","permissions":{"mine":{"network":{"enabled":true}}}}"#
                .to_owned(),
            Trust::Unknown,
        ),
        (None, r#"{"default_permissions":"mine","sandbox_mode":"read-only"}"#.to_owned(), Trust::Unknown),
        (None, r#"{"profile":"p"}"#.to_owned(), Trust::Unknown),
        (None, "{}".to_owned(), Trust::Unknown),
        (None, format!("{{{config}}}"), Trust::Recorded),
    ] {
        let start = ThreadStart { sandbox, ..ThreadStart::default() };
        let parsed = serde_json::from_str(&config).unwrap();
        let _ = writeln!(
            table,
            "{sandbox:?} {config} {trust:?}\n    {:?}",
            ExpectedSandbox::of(&start, &parsed, trust)
        );
    }
    expect![[r#"
        Some(ReadOnly) {"sandbox_mode":"danger-full-access","profile":"p"} Recorded
            Policy(ReadOnly { network_access: false })
        Some(WorkspaceWrite) {"sandbox_workspace_write":{"writable_roots":["/r"],"network_access":true}} Unknown
            Policy(WorkspaceWrite { writable_roots: ["/r"], network_access: true, exclude_tmpdir_env_var: false, exclude_slash_tmp: false })
        None {"sandbox_mode":"workspace-write","sandbox_workspace_write":{"writable_roots":["/r"],"network_access":true}} Unknown
            Policy(WorkspaceWrite { writable_roots: ["/r"], network_access: true, exclude_tmpdir_env_var: false, exclude_slash_tmp: false })
        None {"sandbox_mode":"brand-new"} Unknown
            Unknown { why: "Codex's configuration names a sandbox that is not known here" }
        None {"default_permissions":":workspace","sandbox_workspace_write":{"writable_roots":["/r"],"network_access":true}} Unknown
            Policy(WorkspaceWrite { writable_roots: [], network_access: false, exclude_tmpdir_env_var: false, exclude_slash_tmp: false })
        None {"default_permissions":":danger-full-access"} Unknown
            Policy(DangerFullAccess)
        None {"default_permissions":":brand-new"} Unknown
            Unknown { why: "Codex's configuration names a permission profile that is not known here" }
        None {"default_permissions":"mine","permissions":{"mine":{"network":{"enabled":true}}}} Unknown
            Profile { name: "mine", network: true }
        None {"default_permissions":"mine","sandbox_mode":"read-only"} Unknown
            Unknown { why: "Codex's configuration has both sandbox_mode and default_permissions" }
        None {"profile":"p"} Unknown
            Unknown { why: "a configuration profile of Codex may decide about the sandbox" }
        None {} Unknown
            Policy(ReadOnly { network_access: false })
        None {"sandbox_workspace_write":{"writable_roots":["/r"],"network_access":true}} Recorded
            Policy(WorkspaceWrite { writable_roots: ["/r"], network_access: true, exclude_tmpdir_env_var: false, exclude_slash_tmp: false })
    "#]].assert_eq(&table);
}

#[test]
fn overrides_of_the_start_go_before_the_configuration() {
    let config = serde_json::from_str(
        r#"{"sandbox_workspace_write":{"writable_roots":["/r"],"network_access":true,"exclude_slash_tmp":true}}"#,
    );
    let mut start = ThreadStart { sandbox: Some(Sandbox::WorkspaceWrite), ..ThreadStart::default() };
    start.config.insert("sandbox_workspace_write.writable_roots".to_owned(), json!(["/s"]));
    start.config.insert("sandbox_workspace_write.network_access".to_owned(), json!(false));
    let expected = SandboxPolicy::WorkspaceWrite {
        writable_roots: vec!["/s".to_owned()],
        network_access: false,
        exclude_tmpdir_env_var: false,
        exclude_slash_tmp: true,
    };
    let found = ExpectedSandbox::of(&start, &config.unwrap(), Trust::Unknown);
    assert_eq!(found, ExpectedSandbox::Policy(expected));
    assert_eq!(found.mode(), Some(Sandbox::WorkspaceWrite));
}
