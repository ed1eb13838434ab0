//! Tables: requested options, settings in force, result.

use std::fmt::Write;

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::*;

const HOME: &str = "/home/dev/.codex";

/// An answer of Codex in which only these fields are not the ordinary ones.
fn reply(changes: Value) -> ThreadStartReply {
    let mut whole = json!({
        "thread": { "id": "t" }, "cwd": "/w", "model": "gpt-5.5", "modelProvider": "mock", "reasoningEffort": null,
        "approvalPolicy": "on-request", "approvalsReviewer": "user", "sandbox": { "type": "readOnly", "networkAccess": false },
    });
    for (name, value) in changes.as_object().unwrap() {
        whole[name] = value.clone();
    }
    serde_json::from_str(&whole.to_string()).unwrap()
}

fn asked() -> ThreadStart {
    ThreadStart { cwd: "/w".to_owned(), ..ThreadStart::default() }
}

fn overrides(config: Value) -> ThreadStart {
    let Value::Object(config) = config else { panic!("an object") };
    ThreadStart { config, ..asked() }
}

fn writable(changes: Value) -> Value {
    let mut sandbox = json!({
        "type": "workspaceWrite", "writableRoots": [], "networkAccess": false,
        "excludeTmpdirEnvVar": false, "excludeSlashTmp": false,
    });
    for (name, value) in changes.as_object().unwrap() {
        sandbox[name] = value.clone();
    }
    json!({ "sandbox": sandbox })
}

fn result(asked: &ThreadStart, reply: &ThreadStartReply) -> String {
    match compare(asked, reply, Some(HOME), None) {
        Ok(standing) if standing.differences.is_empty() => "as asked".to_owned(),
        Ok(standing) => format!("told: {}", list(&standing.differences)),
        Err(refusal) => format!("refused: {}", list(&refusal.0)),
    }
}

fn check(rows: impl IntoIterator<Item = (ThreadStart, Value)>, expected: Expect) {
    let table = rows.into_iter().fold(String::new(), |mut table, (asked, changes)| {
        let mut wish = serde_json::to_value(&asked).unwrap();
        if asked.cwd == "/w" {
            wish.as_object_mut().unwrap().remove("cwd");
        }
        let _ = writeln!(table, "{wish} <- {changes}\n    {}", result(&asked, &reply(changes.clone())));
        table
    });
    expected.assert_eq(&table);
}

#[test]
fn a_sandbox_that_is_wider_than_asked_is_refused_and_a_tighter_one_is_told() {
    let kinds = [
        json!({ "type": "readOnly" }),
        json!({ "type": "workspaceWrite" }),
        json!({ "type": "dangerFullAccess" }),
        json!({ "type": "externalSandbox", "networkAccess": "restricted" }),
        Value::Null,
    ];
    let rows = [None].into_iter().chain(Sandbox::ALL.map(Some)).flat_map(|sandbox| {
        kinds.clone().map(|kind| (ThreadStart { sandbox, ..asked() }, json!({ "sandbox": kind })))
    });
    check(
        rows,
        expect![[r#"
        {} <- {"sandbox":{"type":"readOnly"}}
            as asked
        {} <- {"sandbox":{"type":"workspaceWrite"}}
            as asked
        {} <- {"sandbox":{"type":"dangerFullAccess"}}
            as asked
        {} <- {"sandbox":{"networkAccess":"restricted","type":"externalSandbox"}}
            as asked
        {} <- {"sandbox":null}
            as asked
        {"sandbox":"read-only"} <- {"sandbox":{"type":"readOnly"}}
            as asked
        {"sandbox":"read-only"} <- {"sandbox":{"type":"workspaceWrite"}}
            refused: the sandbox: asked for read-only, in force is workspace-write
        {"sandbox":"read-only"} <- {"sandbox":{"type":"dangerFullAccess"}}
            refused: the sandbox: asked for read-only, in force is danger-full-access
        {"sandbox":"read-only"} <- {"sandbox":{"networkAccess":"restricted","type":"externalSandbox"}}
            refused: the sandbox: asked for read-only, in force is externalSandbox
        {"sandbox":"read-only"} <- {"sandbox":null}
            refused: the sandbox: asked for read-only, in force is not reported
        {"sandbox":"workspace-write"} <- {"sandbox":{"type":"readOnly"}}
            told: the sandbox: asked for workspace-write, in force is read-only
        {"sandbox":"workspace-write"} <- {"sandbox":{"type":"workspaceWrite"}}
            as asked
        {"sandbox":"workspace-write"} <- {"sandbox":{"type":"dangerFullAccess"}}
            refused: the sandbox: asked for workspace-write, in force is danger-full-access
        {"sandbox":"workspace-write"} <- {"sandbox":{"networkAccess":"restricted","type":"externalSandbox"}}
            refused: the sandbox: asked for workspace-write, in force is externalSandbox
        {"sandbox":"workspace-write"} <- {"sandbox":null}
            refused: the sandbox: asked for workspace-write, in force is not reported
        {"sandbox":"danger-full-access"} <- {"sandbox":{"type":"readOnly"}}
            told: the sandbox: asked for danger-full-access, in force is read-only
        {"sandbox":"danger-full-access"} <- {"sandbox":{"type":"workspaceWrite"}}
            told: the sandbox: asked for danger-full-access, in force is workspace-write
        {"sandbox":"danger-full-access"} <- {"sandbox":{"type":"dangerFullAccess"}}
            as asked
        {"sandbox":"danger-full-access"} <- {"sandbox":{"networkAccess":"restricted","type":"externalSandbox"}}
            told: the sandbox: asked for danger-full-access, in force is externalSandbox
        {"sandbox":"danger-full-access"} <- {"sandbox":null}
            told: the sandbox: asked for danger-full-access, in force is not reported
    "#]],
    );
}

#[test]
fn a_policy_that_asks_less_than_was_asked_for_is_refused_and_one_that_asks_more_is_told() {
    let words = [
        json!("untrusted"),
        json!("on-request"),
        json!("on-failure"),
        json!("never"),
        json!({ "granular": { "rules": true } }),
        Value::Null,
    ];
    let rows = [None].into_iter().chain(ApprovalPolicy::ALL.map(Some)).flat_map(|approval_policy| {
        words
            .clone()
            .map(|word| (ThreadStart { approval_policy, ..asked() }, json!({ "approvalPolicy": word })))
    });
    check(
        rows,
        expect![[r#"
        {} <- {"approvalPolicy":"untrusted"}
            as asked
        {} <- {"approvalPolicy":"on-request"}
            as asked
        {} <- {"approvalPolicy":"on-failure"}
            as asked
        {} <- {"approvalPolicy":"never"}
            as asked
        {} <- {"approvalPolicy":{"granular":{"rules":true}}}
            as asked
        {} <- {"approvalPolicy":null}
            as asked
        {"approvalPolicy":"untrusted"} <- {"approvalPolicy":"untrusted"}
            as asked
        {"approvalPolicy":"untrusted"} <- {"approvalPolicy":"on-request"}
            refused: the approval policy: asked for untrusted, in force is on-request
        {"approvalPolicy":"untrusted"} <- {"approvalPolicy":"on-failure"}
            refused: the approval policy: asked for untrusted, in force is on-failure
        {"approvalPolicy":"untrusted"} <- {"approvalPolicy":"never"}
            refused: the approval policy: asked for untrusted, in force is never
        {"approvalPolicy":"untrusted"} <- {"approvalPolicy":{"granular":{"rules":true}}}
            refused: the approval policy: asked for untrusted, in force is granular
        {"approvalPolicy":"untrusted"} <- {"approvalPolicy":null}
            refused: the approval policy: asked for untrusted, in force is not reported
        {"approvalPolicy":"on-request"} <- {"approvalPolicy":"untrusted"}
            told: the approval policy: asked for on-request, in force is untrusted
        {"approvalPolicy":"on-request"} <- {"approvalPolicy":"on-request"}
            as asked
        {"approvalPolicy":"on-request"} <- {"approvalPolicy":"on-failure"}
            refused: the approval policy: asked for on-request, in force is on-failure
        {"approvalPolicy":"on-request"} <- {"approvalPolicy":"never"}
            refused: the approval policy: asked for on-request, in force is never
        {"approvalPolicy":"on-request"} <- {"approvalPolicy":{"granular":{"rules":true}}}
            refused: the approval policy: asked for on-request, in force is granular
        {"approvalPolicy":"on-request"} <- {"approvalPolicy":null}
            refused: the approval policy: asked for on-request, in force is not reported
        {"approvalPolicy":"never"} <- {"approvalPolicy":"untrusted"}
            told: the approval policy: asked for never, in force is untrusted
        {"approvalPolicy":"never"} <- {"approvalPolicy":"on-request"}
            told: the approval policy: asked for never, in force is on-request
        {"approvalPolicy":"never"} <- {"approvalPolicy":"on-failure"}
            told: the approval policy: asked for never, in force is on-failure
        {"approvalPolicy":"never"} <- {"approvalPolicy":"never"}
            as asked
        {"approvalPolicy":"never"} <- {"approvalPolicy":{"granular":{"rules":true}}}
            told: the approval policy: asked for never, in force is granular
        {"approvalPolicy":"never"} <- {"approvalPolicy":null}
            told: the approval policy: asked for never, in force is not reported
        {"approvalPolicy":"on-failure"} <- {"approvalPolicy":"untrusted"}
            told: the approval policy: asked for on-failure, in force is untrusted
        {"approvalPolicy":"on-failure"} <- {"approvalPolicy":"on-request"}
            refused: the approval policy: asked for on-failure, in force is on-request
        {"approvalPolicy":"on-failure"} <- {"approvalPolicy":"on-failure"}
            as asked
        {"approvalPolicy":"on-failure"} <- {"approvalPolicy":"never"}
            refused: the approval policy: asked for on-failure, in force is never
        {"approvalPolicy":"on-failure"} <- {"approvalPolicy":{"granular":{"rules":true}}}
            refused: the approval policy: asked for on-failure, in force is granular
        {"approvalPolicy":"on-failure"} <- {"approvalPolicy":null}
            refused: the approval policy: asked for on-failure, in force is not reported
    "#]],
    );
}

#[test]
fn the_network_counts_where_it_was_asked_about() {
    let network = |open: bool| {
        let mut wish = overrides(json!({ "sandbox_workspace_write": { "network_access": open } }));
        wish.sandbox = Some(Sandbox::WorkspaceWrite);
        wish
    };
    let read_only = ThreadStart { sandbox: Some(Sandbox::ReadOnly), ..asked() };
    let unsaid = ThreadStart { sandbox: Some(Sandbox::WorkspaceWrite), ..asked() };
    let open = || writable(json!({ "networkAccess": true }));
    check(
        [
            (network(false), open()),
            (network(true), writable(json!({}))),
            (network(true), open()),
            (unsaid, open()),
            (read_only, json!({ "sandbox": { "type": "readOnly", "networkAccess": true } })),
            (network(false), json!({ "sandbox": { "type": "readOnly", "networkAccess": true } })),
            (
                overrides(json!({ "sandbox_workspace_write.network_access": false })),
                json!({ "sandbox": { "type": "dangerFullAccess" } }),
            ),
        ],
        expect![[r#"
            {"config":{"sandbox_workspace_write":{"network_access":false}},"sandbox":"workspace-write"} <- {"sandbox":{"excludeSlashTmp":false,"excludeTmpdirEnvVar":false,"networkAccess":true,"type":"workspaceWrite","writableRoots":[]}}
                refused: network access: asked for closed, in force is open
            {"config":{"sandbox_workspace_write":{"network_access":true}},"sandbox":"workspace-write"} <- {"sandbox":{"excludeSlashTmp":false,"excludeTmpdirEnvVar":false,"networkAccess":false,"type":"workspaceWrite","writableRoots":[]}}
                told: network access: asked for open, in force is closed
            {"config":{"sandbox_workspace_write":{"network_access":true}},"sandbox":"workspace-write"} <- {"sandbox":{"excludeSlashTmp":false,"excludeTmpdirEnvVar":false,"networkAccess":true,"type":"workspaceWrite","writableRoots":[]}}
                as asked
            {"sandbox":"workspace-write"} <- {"sandbox":{"excludeSlashTmp":false,"excludeTmpdirEnvVar":false,"networkAccess":true,"type":"workspaceWrite","writableRoots":[]}}
                as asked
            {"sandbox":"read-only"} <- {"sandbox":{"networkAccess":true,"type":"readOnly"}}
                refused: network access: asked for closed, in force is open
            {"config":{"sandbox_workspace_write":{"network_access":false}},"sandbox":"workspace-write"} <- {"sandbox":{"networkAccess":true,"type":"readOnly"}}
                refused: network access: asked for closed, in force is open
            {"config":{"sandbox_workspace_write.network_access":false}} <- {"sandbox":{"type":"dangerFullAccess"}}
                refused: network access: asked for closed, in force is open
        "#]],
    );
}

#[test]
fn writable_directories_that_nobody_asked_for_are_refused_but_codexs_own_is_not() {
    let roots = |roots: Value| ThreadStart {
        sandbox: Some(Sandbox::WorkspaceWrite),
        ..overrides(json!({ "sandbox_workspace_write.writable_roots": roots }))
    };
    let force = |roots: Value| writable(json!({ "writableRoots": roots }));
    let mut workspace = force(json!(["/a"]));
    workspace["runtimeWorkspaceRoots"] = json!(["/w", "/a", "/b"]);
    let unsaid = ThreadStart { sandbox: Some(Sandbox::WorkspaceWrite), ..asked() };
    let tmp = ThreadStart {
        sandbox: Some(Sandbox::WorkspaceWrite),
        ..overrides(
            json!({ "sandbox_workspace_write": { "exclude_slash_tmp": true, "exclude_tmpdir_env_var": true } }),
        )
    };
    check(
        [
            (roots(json!(["/a"])), force(json!(["/a", "/home/dev/.codex/memories"]))),
            (roots(json!(["/a/../b//c/."])), force(json!(["/b/c"]))),
            (roots(json!([])), force(json!(["/a"]))),
            (roots(json!(["/a", "/b"])), force(json!(["/a"]))),
            (roots(json!(["/a"])), force(json!(["/"]))),
            (roots(json!(["/a"])), workspace),
            (unsaid, force(json!(["/anything"]))),
            (roots(json!(["/a"])), json!({ "sandbox": { "type": "readOnly" } })),
            (tmp.clone(), writable(json!({ "excludeSlashTmp": true, "excludeTmpdirEnvVar": true }))),
            (tmp, writable(json!({ "excludeTmpdirEnvVar": true }))),
        ],
        expect![[r#"
            {"config":{"sandbox_workspace_write.writable_roots":["/a"]},"sandbox":"workspace-write"} <- {"sandbox":{"excludeSlashTmp":false,"excludeTmpdirEnvVar":false,"networkAccess":false,"type":"workspaceWrite","writableRoots":["/a","/home/dev/.codex/memories"]}}
                as asked
            {"config":{"sandbox_workspace_write.writable_roots":["/a/../b//c/."]},"sandbox":"workspace-write"} <- {"sandbox":{"excludeSlashTmp":false,"excludeTmpdirEnvVar":false,"networkAccess":false,"type":"workspaceWrite","writableRoots":["/b/c"]}}
                as asked
            {"config":{"sandbox_workspace_write.writable_roots":[]},"sandbox":"workspace-write"} <- {"sandbox":{"excludeSlashTmp":false,"excludeTmpdirEnvVar":false,"networkAccess":false,"type":"workspaceWrite","writableRoots":["/a"]}}
                refused: the writable directories: asked for none, in force is /a
            {"config":{"sandbox_workspace_write.writable_roots":["/a","/b"]},"sandbox":"workspace-write"} <- {"sandbox":{"excludeSlashTmp":false,"excludeTmpdirEnvVar":false,"networkAccess":false,"type":"workspaceWrite","writableRoots":["/a"]}}
                told: the writable directories: asked for /a, /b, in force is /a
            {"config":{"sandbox_workspace_write.writable_roots":["/a"]},"sandbox":"workspace-write"} <- {"sandbox":{"excludeSlashTmp":false,"excludeTmpdirEnvVar":false,"networkAccess":false,"type":"workspaceWrite","writableRoots":["/"]}}
                refused: the writable directories: asked for /a, in force is /
            {"config":{"sandbox_workspace_write.writable_roots":["/a"]},"sandbox":"workspace-write"} <- {"runtimeWorkspaceRoots":["/w","/a","/b"],"sandbox":{"excludeSlashTmp":false,"excludeTmpdirEnvVar":false,"networkAccess":false,"type":"workspaceWrite","writableRoots":["/a"]}}
                refused: the writable directories: asked for /a, in force is /a, /b
            {"sandbox":"workspace-write"} <- {"sandbox":{"excludeSlashTmp":false,"excludeTmpdirEnvVar":false,"networkAccess":false,"type":"workspaceWrite","writableRoots":["/anything"]}}
                as asked
            {"config":{"sandbox_workspace_write.writable_roots":["/a"]},"sandbox":"workspace-write"} <- {"sandbox":{"type":"readOnly"}}
                told: the sandbox: asked for workspace-write, in force is read-only
            {"config":{"sandbox_workspace_write":{"exclude_slash_tmp":true,"exclude_tmpdir_env_var":true}},"sandbox":"workspace-write"} <- {"sandbox":{"excludeSlashTmp":true,"excludeTmpdirEnvVar":true,"networkAccess":false,"type":"workspaceWrite","writableRoots":[]}}
                as asked
            {"config":{"sandbox_workspace_write":{"exclude_slash_tmp":true,"exclude_tmpdir_env_var":true}},"sandbox":"workspace-write"} <- {"sandbox":{"excludeSlashTmp":false,"excludeTmpdirEnvVar":true,"networkAccess":false,"type":"workspaceWrite","writableRoots":[]}}
                refused: the temporary directories: asked for /tmp read-only, in force is /tmp writable
        "#]],
    );
}

#[test]
fn a_model_that_answers_in_the_place_of_a_person_must_have_been_asked_for() {
    let reviewer = |reviewer| ThreadStart { approvals_reviewer: Some(reviewer), ..asked() };
    let (user, model) = (reviewer(ApprovalsReviewer::User), reviewer(ApprovalsReviewer::AutoReview));
    let force = |word: &str| json!({ "approvalsReviewer": word });
    check(
        [
            (user.clone(), force("user")),
            (user.clone(), force("auto_review")),
            (user.clone(), force("brand_new")),
            (user, json!({ "approvalsReviewer": null })),
            (model.clone(), force("auto_review")),
            (model.clone(), force("guardian_subagent")),
            (model, force("user")),
            (asked(), force("auto_review")),
            (overrides(json!({ "approvals_reviewer": "user" })), force("guardian_subagent")),
        ],
        expect![[r#"
            {"approvalsReviewer":"user"} <- {"approvalsReviewer":"user"}
                as asked
            {"approvalsReviewer":"user"} <- {"approvalsReviewer":"auto_review"}
                refused: who answers requests: asked for user, in force is auto_review
            {"approvalsReviewer":"user"} <- {"approvalsReviewer":"brand_new"}
                refused: who answers requests: asked for user, in force is brand_new
            {"approvalsReviewer":"user"} <- {"approvalsReviewer":null}
                refused: who answers requests: asked for user, in force is not reported
            {"approvalsReviewer":"auto_review"} <- {"approvalsReviewer":"auto_review"}
                as asked
            {"approvalsReviewer":"auto_review"} <- {"approvalsReviewer":"guardian_subagent"}
                as asked
            {"approvalsReviewer":"auto_review"} <- {"approvalsReviewer":"user"}
                told: who answers requests: asked for auto_review, in force is user
            {} <- {"approvalsReviewer":"auto_review"}
                as asked
            {"config":{"approvals_reviewer":"user"}} <- {"approvalsReviewer":"guardian_subagent"}
                refused: who answers requests: asked for user, in force is guardian_subagent
        "#]],
    );
}

#[test]
fn another_directory_is_refused_and_another_model_is_told() {
    let at = |cwd: &str| ThreadStart { cwd: cwd.to_owned(), ..asked() };
    let mut effort =
        ThreadStart { model: Some("m".to_owned()), model_provider: Some("p".to_owned()), ..asked() };
    effort.set_effort("high");
    check(
        [
            (at("/w/"), json!({})),
            (at("/w/x/.."), json!({})),
            (at("/w"), json!({ "cwd": "/" })),
            (at("w"), json!({})),
            (at("/../w"), json!({})),
            (effort.clone(), json!({})),
            (effort, json!({ "model": "m", "modelProvider": "p", "reasoningEffort": "high" })),
        ],
        expect![[r#"
            {"cwd":"/w/"} <- {}
                as asked
            {"cwd":"/w/x/.."} <- {}
                as asked
            {} <- {"cwd":"/"}
                refused: the working directory: asked for /w, in force is /
            {"cwd":"w"} <- {}
                refused: the working directory: asked for w, in force is /w
            {"cwd":"/../w"} <- {}
                as asked
            {"config":{"model_reasoning_effort":"high"},"model":"m","modelProvider":"p"} <- {}
                told: the model: asked for m, in force is gpt-5.5; the model provider: asked for p, in force is mock; the effort: asked for high, in force is not reported
            {"config":{"model_reasoning_effort":"high"},"model":"m","modelProvider":"p"} <- {"model":"m","modelProvider":"p","reasoningEffort":"high"}
                as asked
        "#]],
    );
}

#[test]
fn a_refusal_says_what_was_asked_what_is_in_force_and_what_to_do() {
    let wish = ThreadStart { sandbox: Some(Sandbox::ReadOnly), ..asked() };
    let wish = ThreadStart { approval_policy: Some(ApprovalPolicy::Untrusted), ..wish };
    let real = reply(json!({ "sandbox": { "type": "dangerFullAccess" }, "approvalPolicy": "never" }));
    let refusal = compare(&wish, &real, None, None).unwrap_err();
    expect![[r#"
        Codex would give the conversation more power than was asked for: the sandbox: asked for read-only, in force is danger-full-access; the approval policy: asked for untrusted, in force is never
        look for the sandbox, the approval policy in Codex's config.toml and in the rules of its administrator, or ask for what is in force
    "#]].assert_eq(&format!("{refusal}\n{}\n", refusal.next_step().in_shell()));
}

#[test]
fn what_nobody_asked_for_is_recorded() {
    let real = reply(writable(json!({ "writableRoots": ["/a"], "networkAccess": true })));
    let standing = compare(&asked(), &real, None, None).unwrap();
    let SandboxInForce::WorkspaceWrite { roots, network, .. } = standing.in_force.sandbox else { panic!() };
    assert_eq!((roots.as_slice(), network), (&["/a".to_owned()][..], true));
    assert_eq!(standing.in_force.approval, "on-request");
}

#[test]
fn a_profile_that_is_not_in_force_is_refused_because_commands_could_read_what_it_hides() {
    let wish = ThreadStart { sandbox: Some(Sandbox::WorkspaceWrite), ..asked() };
    let result = |profile: Value| {
        let mut changes = writable(json!({}));
        changes["activePermissionProfile"] = profile;
        match compare(&wish, &reply(changes), Some(HOME), Some("talaria")) {
            Ok(standing) => format!("{:?}", standing.differences),
            Err(refusal) => format!("{refusal}\n{}", refusal.next_step().in_shell()),
        }
    };
    assert_eq!(result(json!({ "id": "talaria", "extends": null })), "[]");
    expect![[r#"
        Codex would give the conversation more power than was asked for: Talaria's own files: asked for hidden, in force is a sandbox that shows them
        look for permission profiles in Codex's config.toml and in the rules of its administrator; `talaria config set codex.hide_home never` lets the conversation start with these files readable"#]].assert_eq(&result(Value::Null));
    expect![[r#"
        Codex would give the conversation more power than was asked for: Talaria's own files: asked for hidden, in force is the permission profile ":workspace", which may show them
        look for permission profiles in Codex's config.toml and in the rules of its administrator; `talaria config set codex.hide_home never` lets the conversation start with these files readable"#]].assert_eq(&result(json!({ "id": ":workspace" })));
}

#[test]
fn a_temporary_directory_that_is_told_as_a_root_is_no_further_root() {
    let roots = |roots: Value, excludes: bool| {
        let sandbox = writable(json!({ "writableRoots": roots, "excludeSlashTmp": excludes }));
        let wish = overrides(json!({ "sandbox_workspace_write.writable_roots": ["/r"] }));
        result(&wish, &reply(sandbox))
    };
    assert_eq!(roots(json!(["/r", "/tmp"]), true), "as asked");
    assert!(roots(json!(["/r", "/tmp/x"]), true).starts_with("refused"));
    let wish = overrides(json!({ "sandbox_workspace_write.exclude_slash_tmp": true }));
    let real = reply(writable(json!({ "writableRoots": ["/tmp"], "excludeSlashTmp": true })));
    assert!(result(&wish, &real).starts_with("refused: the temporary directories"), "a profile opened it");
    let wish = overrides(json!({ "sandbox_workspace_write.writable_roots": ["/tmp"] }));
    assert_eq!(result(&wish, &real), "as asked");
}
