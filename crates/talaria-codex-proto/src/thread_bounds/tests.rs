//! Where an operation would happen, by sandbox, policy, version and the model's request.

use std::fmt::Write;

use expect_test::expect;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::frame::{Decoded, Frame, decode_text};
use crate::project;
use crate::wire::raw_call::RawItem;
use crate::wire::server_request::ServerRequest;
use crate::wishes::Wishes;
use talaria_core::ids::ItemId;
use talaria_core::item::{FileAction, FileChange};
use talaria_core::subject::CommandUse;

const SANDBOXES: [&str; 4] = ["dangerFullAccess", "readOnly", "workspaceWrite", "externalSandbox"];
const POLICIES: [&str; 4] = ["untrusted", "on-request", "on-failure", "never"];

fn bounds(sandbox: &str, policy: &str, version: &str) -> ThreadBounds {
    let sandbox = json!({ "type": sandbox, "writableRoots": ["/extra"], "excludeSlashTmp": false });
    ThreadBounds::new(&sandbox, &json!(policy), "/repo", version.parse().unwrap())
}

#[test]
fn a_tool_has_the_network_of_the_sandbox_and_none_where_that_is_not_known() {
    let has_network = |sandbox: Value, policy: &str| {
        let bounds = ThreadBounds::new(&sandbox, &json!(policy), "/repo", "0.166.0".parse().unwrap());
        let confinement = bounds.tool_confinement();
        (confinement.has_network, confinement.asks)
    };
    assert_eq!(has_network(json!({ "type": "dangerFullAccess" }), "never"), (true, false));
    assert_eq!(has_network(json!({ "type": "readOnly" }), "on-request"), (false, true));
    assert_eq!(has_network(json!({ "type": "readOnly", "networkAccess": true }), "untrusted"), (true, true));
    for network in [true, false] {
        let sandbox = json!({ "type": "workspaceWrite", "networkAccess": network });
        assert_eq!(has_network(sandbox, "on-failure"), (network, true));
    }
    assert_eq!(
        has_network(json!({ "type": "externalSandbox", "networkAccess": "enabled" }), "never"),
        (false, false)
    );
    assert_eq!(
        has_network(json!({ "type": "a later one", "networkAccess": true }), "a later one"),
        (false, true)
    );
}

/// A request about a command, with these fields besides the usual ones.
fn asked(fields: &Value) -> ServerRequest {
    let mut params =
        json!({ "threadId": "t", "turnId": "u", "itemId": "c", "command": "ls", "cwd": "/repo" });
    params.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    let text = json!({ "method": "item/commandExecution/requestApproval", "id": 0, "params": params });
    match decode_text(&text.to_string()) {
        Decoded::Known(Frame::Request { request, .. }) => request,
        other => panic!("{other:?}"),
    }
}

/// Where a request about a command ends up.
fn place_of(bounds: &ThreadBounds, fields: &Value, wish: Option<SandboxWish>) -> Place {
    bounds.place(&project::subject(&asked(fields), None).unwrap(), wish).unwrap()
}

/// Where a command would run.
fn run(bounds: &ThreadBounds, wish: Option<SandboxWish>) -> Place {
    place_of(bounds, &json!({}), wish)
}

/// Where a patch of these files ends up.
fn patch(bounds: &ThreadBounds, paths: &[&str], grant_root: Option<&str>) -> Place {
    let change = |path: &&str| FileChange {
        path: (*path).to_owned(),
        action: FileAction::Add,
        move_to: None,
        diff: String::new(),
    };
    let changes: Vec<FileChange> = paths.iter().map(change).collect();
    bounds.place(&Subject::Patch { changes: Some(&changes), grant_root }, None).unwrap()
}

fn item(value: &Value) -> RawItem {
    serde_json::from_value(value.clone()).unwrap()
}

fn call(arguments: &str) -> RawItem {
    item(&json!({ "type": "function_call", "name": "exec_command", "call_id": "c", "arguments": arguments }))
}

fn wish(raw: &RawItem) -> Option<SandboxWish> {
    let mut wishes = Wishes::default();
    wishes.note(raw);
    wishes.of(&ItemId::new("c"))
}

#[test]
fn only_an_ordinary_call_under_on_request_is_known_to_stay_inside() {
    let mut table = String::new();
    let wishes = [
        None,
        Some(SandboxWish::Ordinary),
        Some(SandboxWish::Escalated),
        Some(SandboxWish::Widened),
        Some(SandboxWish::Unclear),
    ];
    for sandbox in SANDBOXES {
        for policy in POLICIES {
            write!(table, "{sandbox:16} {policy:10}").unwrap();
            for wish in wishes {
                let place = run(&bounds(sandbox, policy, "0.166.0"), wish);
                let name = wish.map_or("unseen".to_owned(), |wish| format!("{wish:?}").to_lowercase());
                write!(table, " {name}={place}").unwrap();
            }
            table.push('\n');
        }
    }
    expect![[r#"
        dangerFullAccess untrusted  unseen=inside ordinary=inside escalated=inside widened=inside unclear=inside
        dangerFullAccess on-request unseen=inside ordinary=inside escalated=inside widened=inside unclear=inside
        dangerFullAccess on-failure unseen=inside ordinary=inside escalated=inside widened=inside unclear=inside
        dangerFullAccess never      unseen=inside ordinary=inside escalated=inside widened=inside unclear=inside
        readOnly         untrusted  unseen=undecidable ordinary=undecidable escalated=outside widened=outside unclear=undecidable
        readOnly         on-request unseen=undecidable ordinary=inside escalated=outside widened=outside unclear=undecidable
        readOnly         on-failure unseen=undecidable ordinary=undecidable escalated=outside widened=outside unclear=undecidable
        readOnly         never      unseen=undecidable ordinary=undecidable escalated=outside widened=outside unclear=undecidable
        workspaceWrite   untrusted  unseen=undecidable ordinary=undecidable escalated=outside widened=outside unclear=undecidable
        workspaceWrite   on-request unseen=undecidable ordinary=inside escalated=outside widened=outside unclear=undecidable
        workspaceWrite   on-failure unseen=undecidable ordinary=undecidable escalated=outside widened=outside unclear=undecidable
        workspaceWrite   never      unseen=undecidable ordinary=undecidable escalated=outside widened=outside unclear=undecidable
        externalSandbox  untrusted  unseen=undecidable ordinary=undecidable escalated=undecidable widened=undecidable unclear=undecidable
        externalSandbox  on-request unseen=undecidable ordinary=undecidable escalated=undecidable widened=undecidable unclear=undecidable
        externalSandbox  on-failure unseen=undecidable ordinary=undecidable escalated=undecidable widened=undecidable unclear=undecidable
        externalSandbox  never      unseen=undecidable ordinary=undecidable escalated=undecidable widened=undecidable unclear=undecidable
    "#]]
    .assert_eq(&table);
}

#[test]
fn what_reaches_further_than_its_command_is_outside_whatever_the_call_wished() {
    for policy in POLICIES {
        for sandbox in ["readOnly", "workspaceWrite"] {
            for wish in [None, Some(SandboxWish::Ordinary)] {
                let bounds = bounds(sandbox, policy, "0.166.0");
                for fields in [
                    json!({ "kind": "writeStdin" }),
                    json!({ "kind": "writeStdin", "approvalId": "x" }),
                    json!({ "additionalPermissions": { "network": { "enabled": true } } }),
                    json!({ "networkApprovalContext": { "host": "a", "protocol": "http" } }),
                    json!({ "networkApprovalContext": { "host": "a" }, "additionalPermissions": {} }),
                ] {
                    let place = place_of(&bounds, &fields, wish);
                    assert_eq!(place, Place::Outside, "{sandbox} {policy} {wish:?} {fields}");
                }
                for fields in [json!({ "kind": "command", "approvalId": "x" }), json!({ "kind": "brandNew" })]
                {
                    let place = place_of(&bounds, &fields, wish);
                    assert_eq!(place, Place::Undecidable, "{sandbox} {policy} {wish:?} {fields}");
                }
            }
        }
    }
    let open = bounds("dangerFullAccess", "untrusted", "0.166.0");
    let network = json!({ "networkApprovalContext": { "host": "a", "protocol": "http" } });
    assert_eq!(place_of(&open, &network, None), Place::Outside, "the proxy holds it back all the same");
}

#[test]
fn a_version_that_was_not_tried_proves_nothing() {
    for (version, expected) in [
        ("0.129.0", Place::Undecidable),
        ("0.130.0", Place::Inside),
        ("0.150.0", Place::Inside),
        ("0.166.0", Place::Inside),
        ("0.166.1", Place::Undecidable),
        ("0.167.0-alpha.1", Place::Undecidable),
    ] {
        let bounds = bounds("workspaceWrite", "on-request", version);
        assert_eq!(run(&bounds, Some(SandboxWish::Ordinary)), expected, "{version}");
        assert_eq!(run(&bounds, Some(SandboxWish::Escalated)), Place::Outside, "{version}");
    }
}

#[test]
fn bounds_that_are_not_understood_prove_nothing() {
    let version: Version = "0.166.0".parse().unwrap();
    let granular =
        json!({ "granular": { "rules": true, "sandbox_approval": true, "mcp_elicitations": true } });
    let workspace = json!({ "type": "workspaceWrite" });
    let bounds = ThreadBounds::new(&workspace, &granular, "/repo", version.clone());
    assert_eq!(run(&bounds, Some(SandboxWish::Ordinary)), Place::Undecidable);
    assert_eq!(patch(&bounds, &["/repo/a"], None), Place::Undecidable);
    for sandbox in [json!({ "type": "brandNew" }), json!("read-only"), json!(null), json!({})] {
        let bounds = ThreadBounds::new(&sandbox, &json!("on-request"), "/repo", version.clone());
        assert_eq!(run(&bounds, Some(SandboxWish::Ordinary)), Place::Undecidable, "{sandbox}");
        assert_eq!(patch(&bounds, &["/repo/a"], None), Place::Undecidable, "{sandbox}");
    }
}

#[test]
fn a_patch_is_placed_by_its_paths() {
    let bounds = bounds("workspaceWrite", "untrusted", "0.166.0");
    for (paths, expected) in [
        (&["/repo/a"][..], Place::Inside),
        (&["/repo/src/.git-blame", "/extra/b", "/tmp/c"], Place::Inside),
        (&["/repo/src/.git/config"], Place::Inside),
        (&["/repo/a", "/home/b"], Place::Outside),
        (&["/repo"], Place::Outside),
        (&["/reposhop/a"], Place::Outside),
        (&["/repo/.git/hooks/pre-commit"], Place::Outside),
        (&["/repo/.Codex/config.toml"], Place::Outside),
        (&["/extra/.agents/x"], Place::Outside),
        (&["/repo/../etc/passwd"], Place::Undecidable),
        (&["/repo/../etc/passwd", "/etc/passwd"], Place::Outside),
        (&["a"], Place::Undecidable),
        (&[], Place::Undecidable),
    ] {
        assert_eq!(patch(&bounds, paths, None), expected, "{paths:?}");
    }
    assert_eq!(patch(&bounds, &["/repo/a"], Some("/repo")), Place::Outside, "it would open a directory");
}

#[test]
fn a_patch_is_inside_only_where_codex_keeps_it_there() {
    let mut table = String::new();
    for version in ["0.130.0", "0.166.0", "0.167.0"] {
        for sandbox in SANDBOXES {
            write!(table, "{version} {sandbox:16}").unwrap();
            for policy in POLICIES {
                let place = patch(&bounds(sandbox, policy, version), &["/repo/a"], None);
                write!(table, " {policy}={place}").unwrap();
            }
            table.push('\n');
        }
    }
    expect![[r#"
        0.130.0 dangerFullAccess untrusted=inside on-request=inside on-failure=inside never=inside
        0.130.0 readOnly         untrusted=outside on-request=outside on-failure=outside never=outside
        0.130.0 workspaceWrite   untrusted=undecidable on-request=outside on-failure=undecidable never=undecidable
        0.130.0 externalSandbox  untrusted=undecidable on-request=undecidable on-failure=undecidable never=undecidable
        0.166.0 dangerFullAccess untrusted=inside on-request=inside on-failure=inside never=inside
        0.166.0 readOnly         untrusted=outside on-request=outside on-failure=outside never=outside
        0.166.0 workspaceWrite   untrusted=inside on-request=outside on-failure=undecidable never=undecidable
        0.166.0 externalSandbox  untrusted=undecidable on-request=undecidable on-failure=undecidable never=undecidable
        0.167.0 dangerFullAccess untrusted=inside on-request=inside on-failure=inside never=inside
        0.167.0 readOnly         untrusted=outside on-request=outside on-failure=outside never=outside
        0.167.0 workspaceWrite   untrusted=undecidable on-request=outside on-failure=undecidable never=undecidable
        0.167.0 externalSandbox  untrusted=undecidable on-request=undecidable on-failure=undecidable never=undecidable
    "#]]
    .assert_eq(&table);
}

#[test]
fn tmp_is_inside_unless_it_is_excluded() {
    let sandbox = json!({ "type": "workspaceWrite", "excludeSlashTmp": true });
    let bounds = ThreadBounds::new(&sandbox, &json!("untrusted"), "/repo", "0.166.0".parse().unwrap());
    assert_eq!(patch(&bounds, &["/tmp/a"], None), Place::Outside);
}

#[test]
fn a_wish_is_read_from_the_arguments_of_the_call() {
    for (arguments, expected) in [
        (r#"{"cmd":"ls"}"#, SandboxWish::Ordinary),
        (r#"{"cmd":"ls","sandbox_permissions":"use_default","justification":"x"}"#, SandboxWish::Ordinary),
        (r#"{"cmd":"ls","sandbox_permissions":null,"additional_permissions":null}"#, SandboxWish::Ordinary),
        (r#"{"cmd":"ls","sandbox_permissions":"require_escalated"}"#, SandboxWish::Escalated),
        (r#"{"cmd":"ls","sandbox_permissions":"with_additional_permissions"}"#, SandboxWish::Widened),
        (r#"{"cmd":"ls","additional_permissions":{"network":{"enabled":true}}}"#, SandboxWish::Unclear),
        (r#"{"cmd":"ls","sandbox_permissions":"brand_new"}"#, SandboxWish::Unclear),
        (r#"{"cmd":"ls","sandbox_permissions":true}"#, SandboxWish::Unclear),
        (
            r#"{"sandbox_permissions":"use_default","sandbox_permissions":"require_escalated"}"#,
            SandboxWish::Unclear,
        ),
        (r#"{"cmd":"#, SandboxWish::Unclear),
        (r#"["use_default"]"#, SandboxWish::Unclear),
        (" [null, null]", SandboxWish::Unclear),
        ("", SandboxWish::Unclear),
    ] {
        assert_eq!(wish(&call(arguments)), Some(expected), "{arguments}");
    }
}

#[test]
fn other_tools_and_items_wish_nothing_that_can_be_told() {
    for raw in [
        json!({ "type": "custom_tool_call", "name": "exec", "call_id": "c", "input": "await tools.exec_command({})" }),
        json!({ "type": "custom_tool_call", "name": "exec_command", "call_id": "c", "arguments": "{}" }),
        json!({ "type": "function_call", "name": "shell", "call_id": "c", "arguments": "{}" }),
        json!({ "type": "function_call", "name": "exec_command", "call_id": "c", "arguments": {} }),
        json!({ "type": "local_shell_call", "call_id": "c" }),
    ] {
        assert_eq!(wish(&item(&raw)), Some(SandboxWish::Unclear), "{raw}");
    }
    for raw in [
        json!({ "type": "function_call_output", "call_id": "c", "output": "x" }),
        json!({ "type": "message", "role": "assistant" }),
    ] {
        assert_eq!(wish(&item(&raw)), None, "{raw}");
    }
}

#[test]
fn an_id_that_stands_for_two_calls_is_trusted_for_neither() {
    let (inside, outside) = (call("{}"), call(r#"{"sandbox_permissions":"require_escalated"}"#));
    let told = |calls: &[&RawItem]| {
        let mut wishes = Wishes::default();
        calls.iter().for_each(|call| wishes.note(call));
        wishes.of(&ItemId::new("c"))
    };
    assert_eq!(told(&[&inside, &inside]), Some(SandboxWish::Ordinary));
    assert_eq!(told(&[&outside, &inside]), Some(SandboxWish::Unclear));
    assert_eq!(told(&[&inside, &outside]), Some(SandboxWish::Unclear));
    assert_eq!(told(&[&inside, &outside, &inside]), Some(SandboxWish::Unclear));
    assert_eq!(Wishes::default().of(&ItemId::new("c")), None);
}

#[test]
fn a_request_says_what_it_is_about() {
    for (fields, expected) in [
        (json!({}), "run"),
        (json!({ "kind": "command" }), "run"),
        (json!({ "kind": "command", "approvalId": "x" }), "run, nested"),
        (json!({ "kind": "writeStdin", "approvalId": "x" }), "input, nested"),
        (json!({ "kind": "brandNew" }), "brandNew"),
        (json!({ "additionalPermissions": { "network": { "enabled": true } } }), "run, wider"),
        (json!({ "networkApprovalContext": { "host": "a", "protocol": "http" } }), "run to reach a"),
        (
            json!({ "networkApprovalContext": { "host": "a", "protocol": "http" }, "additionalPermissions": {} }),
            "run, wider to reach a",
        ),
    ] {
        let request = asked(&fields);
        let (command, host) = match project::subject(&request, None) {
            Some(Subject::Command(command)) => (command, String::new()),
            Some(Subject::Network { host, command, .. }) => (command, format!(" to reach {host}")),
            other => panic!("{other:?}"),
        };
        let action = match command.action {
            CommandUse::Run => "run",
            CommandUse::Input => "input",
            CommandUse::Other(word) => word,
        };
        let nested = if command.is_nested { ", nested" } else { "" };
        let wider = if command.wider.is_some() { ", wider" } else { "" };
        assert_eq!(format!("{action}{nested}{wider}{host}"), expected, "{fields}");
    }
}

proptest! {
    /// Whatever a model writes, a call that says anything of the sandbox but "as it is" is not taken for ordinary.
    #[test]
    fn no_word_but_the_default_is_ordinary(word in "\\PC{0,20}", before in any::<bool>()) {
        let (word, rest) = (json!({ "sandbox_permissions": word }), r#""cmd":"ls""#);
        let inner = word.to_string();
        let inner = inner.trim_start_matches('{').trim_end_matches('}');
        let arguments = if before { format!("{{{inner},{rest}}}") } else { format!("{{{rest},{inner}}}") };
        let is_default = word["sandbox_permissions"] == "use_default";
        prop_assert_eq!(wish(&call(&arguments)) == Some(SandboxWish::Ordinary), is_default, "{}", arguments);
    }

    /// A path that leaves the roots by any number of steps is never called inside.
    #[test]
    fn no_path_with_a_step_up_is_inside(parts in prop::collection::vec("[a-z.]{1,3}|\\.\\.", 1..6)) {
        let path = format!("/repo/{}", parts.join("/"));
        let place = patch(&bounds("workspaceWrite", "untrusted", "0.166.0"), &[&path], None);
        prop_assert!(place != Place::Inside || !parts.iter().any(|part| part == ".."), "{}", path);
    }
}
