//! `/permissions` and Shift-Tab: what the conversation may do, and a change of it from the next turn on.
//!
//! The engine keeps the permissions of a conversation; here they are only asked for and shown. Those of a conversation that has
//! not begun are kept with the other choices of the chat. A word of the command says by itself what it means.

use std::path::Path;

use talaria_core::api::{PermissionsChange, PermissionsInForce, SessionPermissions};
use talaria_core::nearest::nearest;
use talaria_core::policy::{ApprovalPolicy, Mode, Sandbox};
use talaria_core::runtime::Runtime;
use talaria_render::plain_line;
use talaria_tui::chat::commands::{NEXT_MODE, SlashCommand};
use talaria_tui::chat::contract::News;

use super::super::chat_context::{Chosen, shown_path, typed_path};
use super::super::errand::{Done, Place};
use crate::engine::{not_done, refused_id};
use crate::trouble::{Trouble, exit};

/// The words that stand for themselves, besides modes, sandboxes and policies.
const SWITCHES: [&str; 4] = ["network-on", "network-off", "add-root", "remove-root"];

/// Shows the permissions, or changes them.
pub(super) async fn run(words: &[String], place: &Place) -> Result<Vec<Done>, Trouble> {
    let now = standing(place).await?;
    if words.is_empty() {
        let page = page(&now, place);
        let pick = News::Pick { title: "Permissions, from the next turn".to_owned(), rows: rows(&now) };
        return Ok(vec![Done::News(News::Reply(page.into())), Done::News(pick)]);
    }
    let change = match words {
        [word] if word == NEXT_MODE => change_of(next_mode(&now)),
        words => read(words, &now, &place.cwd)?,
    };
    match &place.session {
        Some(_) => change_session(&change, place).await,
        None => choose(change, place),
    }
}

/// Asks the engine to change the permissions of the conversation on the screen.
async fn change_session(change: &PermissionsChange, place: &Place) -> Result<Vec<Done>, Trouble> {
    let Some(id) = &place.session else { return Ok(Vec::new()) };
    let changed = place.context.client.change_permissions(id.as_str(), change).await;
    let now = changed.map_err(|error| {
        not_done("the permissions were not changed", &error, "/permissions shows what is requested")
    })?;
    let text = |value: Option<&dyn std::fmt::Display>| value.map(ToString::to_string);
    let asked = News::PermissionsAsked {
        sandbox: text(now.requested.sandbox.as_ref().map(|value| value as _)),
        approval: text(now.requested.approval.as_ref().map(|value| value as _)),
    };
    let reply = changed_page(&now);
    let mut done = vec![Done::News(asked)];
    // What this chat began the conversation with must not go with its turns any more.
    let chosen = Chosen { permissions: PermissionsChange::default(), ..place.chosen.clone() };
    done.push(match chosen == place.chosen {
        true => Done::News(News::Reply(reply.into())),
        false => Done::Chosen(chosen, reply),
    });
    Ok(done)
}

/// Chooses the permissions of the conversation that would begin.
fn choose(change: PermissionsChange, place: &Place) -> Result<Vec<Done>, Trouble> {
    if change.network.is_some() || change.writable_roots.is_some() {
        return Err(Trouble::new(exit::USAGE, "network and further folders belong to a conversation")
            .try_this("send a message first"));
    }
    let earlier = place.chosen.permissions.clone();
    let permissions = match change.mode {
        Some(_) => change,
        None => PermissionsChange {
            mode: None,
            sandbox: change.sandbox.or(earlier.sandbox),
            approval: change.approval.or(earlier.approval),
            ..PermissionsChange::default()
        },
    };
    let chosen = Chosen { permissions, ..place.chosen.clone() };
    let wanted = place.context.permissions(&chosen);
    let config = &place.context.settings.config;
    let word = |word: Option<String>| word.unwrap_or_else(|| "as Codex's configuration says".to_owned());
    let mode = chosen.permissions.mode.map(|mode| format!("mode {mode}: ")).unwrap_or_default();
    let reply = format!(
        "{mode}sandbox {}, approvals {}; requested for the conversation that your next message begins\n",
        word(wanted.sandbox(config).map(|sandbox| sandbox.to_string())),
        word(wanted.approval(config).map(|approval| approval.to_string())),
    );
    Ok(vec![Done::Chosen(chosen, reply)])
}

/// The permissions of the conversation on the screen, or of the one that would begin.
async fn standing(place: &Place) -> Result<SessionPermissions, Trouble> {
    let context = &place.context;
    if let Some(id) = &place.session {
        let found = context.client.permissions(id.as_str()).await;
        return found.map_err(|error| refused_id("cannot show the permissions", &error));
    }
    let (wanted, config) = (context.permissions(&place.chosen), &context.settings.config);
    let (mut sandbox, mut approval) = (wanted.sandbox(config), wanted.approval(config));
    if (sandbox.is_none() || approval.is_none())
        && context.new_runtime(&place.chosen).await == Runtime::CodexAppServer
        && let Ok(offers) = context.offers(&place.cwd).await
    {
        sandbox = sandbox.or_else(|| offers.sandbox?.parse().ok());
        approval = approval.or_else(|| offers.approval?.parse().ok());
    }
    let mode = wanted.mode.or(config.approvals.mode).filter(|mode| {
        let settings = mode.settings();
        (Some(settings.sandbox), Some(settings.approval_policy)) == (sandbox, approval)
    });
    let requested = PermissionsChange { mode, sandbox, approval, ..PermissionsChange::default() };
    Ok(SessionPermissions { requested, in_force: None })
}

/// Shows each permission in force, or the requested one before the first turn, with the one requested from the next turn on.
fn page(now: &SessionPermissions, place: &Place) -> String {
    let asked = &now.requested;
    let decided = "decided when a turn starts";
    let pair = |name: &str, real: Option<String>, wanted: Option<String>| {
        let value = match (real, wanted) {
            (Some(real), Some(wanted)) if real != wanted => {
                format!("{real}; {wanted} requested from the next turn on")
            }
            (Some(real), _) => real,
            (None, Some(wanted)) => format!("{wanted} (requested)"),
            (None, None) => decided.to_owned(),
        };
        format!("{name:<13} {}\n", plain_line(&value))
    };
    let real = now.in_force.as_ref();
    let open = |open: bool| if open { "open" } else { "closed" }.to_owned();
    let roots = |roots: &Vec<String>| match roots.is_empty() {
        true => "none".to_owned(),
        false => roots.iter().map(|root| shown_path(root)).collect::<Vec<_>>().join(", "),
    };
    let mut text = asked.mode.map(|mode| pair("mode", Some(mode.to_string()), None)).unwrap_or_default();
    text += &pair("sandbox", real.map(|real| real.sandbox.clone()), asked.sandbox.map(|one| one.to_string()));
    text +=
        &pair("approvals", real.map(|real| real.approval.clone()), asked.approval.map(|one| one.to_string()));
    text += &pair("network", real.and_then(|real| real.network).map(open), asked.network.map(open));
    text += &format!("{:<13} {}\n", "folder", plain_line(&shown_path(&place.cwd)));
    if real.is_none_or(|real| real.sandbox != Sandbox::DangerFullAccess.as_str()) {
        let further = real.and_then(|real| real.writable_roots.as_ref()).map(roots);
        text += &pair("also writable", further, asked.writable_roots.as_ref().map(roots));
    }
    if real.is_some() && !now.is_in_force() {
        text += "the next turn begins with the requested values\n";
    }
    text
}

/// Names the requested permissions, after a change.
fn changed_page(now: &SessionPermissions) -> String {
    let PermissionsChange { mode, sandbox, approval, network, writable_roots } = &now.requested;
    let mut parts = Vec::new();
    parts.extend(mode.map(|mode| format!("mode {mode}")));
    parts.extend(sandbox.map(|sandbox| format!("sandbox {sandbox}")));
    parts.extend(approval.map(|approval| format!("approvals {approval}")));
    parts.extend(network.map(|open| format!("network {}", if open { "open" } else { "closed" })));
    if let Some(roots) = writable_roots.as_ref().filter(|roots| !roots.is_empty()) {
        parts.push(format!("also writable: {}", roots.join(", ")));
    }
    let what = parts.join(", ");
    format!("{}; requested from the next turn on\n", plain_line(&what))
}

/// The choices, each with what it means.
fn rows(now: &SessionPermissions) -> Vec<(String, SlashCommand)> {
    let about = |word: &'static str, about: &'static str, is_current: bool| {
        let mark = if is_current { " (current)" } else { "" };
        (format!("{word}{mark}  {about}"), SlashCommand::Permissions(vec![word.to_owned()]))
    };
    let asked = &now.requested;
    let network = asked.network.or_else(|| now.in_force.as_ref()?.network);
    let mut rows = vec![
        about(
            "approval-required",
            "you are asked before anything but reading",
            is_mode(now, Mode::ApprovalRequired),
        ),
        about(
            "auto",
            "works in the folder; you are asked for what leaves the sandbox",
            is_mode(now, Mode::Auto),
        ),
    ];
    let sandboxes = [
        (Sandbox::ReadOnly, "sandbox: commands write nowhere"),
        (Sandbox::WorkspaceWrite, "sandbox: commands write in the folder"),
    ];
    rows.extend(sandboxes.map(|(one, words)| about(one.as_str(), words, asked.sandbox == Some(one))));
    let policies = [
        (ApprovalPolicy::Untrusted, "you are asked before most commands and changes"),
        (ApprovalPolicy::OnRequest, "you are asked when the model wants to leave the sandbox"),
        (ApprovalPolicy::Never, "you are never asked; what the sandbox forbids fails"),
    ];
    rows.extend(policies.map(|(one, words)| about(one.as_str(), words, asked.approval == Some(one))));
    if asked.sandbox == Some(Sandbox::WorkspaceWrite) && now.in_force.is_some() {
        rows.push(match network {
            Some(true) => about("network-off", "commands may not use the network", false),
            _ => about("network-on", "commands may use the network", false),
        });
    }
    rows.push(about(
        "unrestricted",
        "no sandbox, and you are not asked; deny rules apply",
        is_mode(now, Mode::Unrestricted),
    ));
    rows
}

/// Does the conversation have the sandbox and the policy of this mode, in force or requested?
fn is_mode(now: &SessionPermissions, mode: Mode) -> bool {
    let settings = mode.settings();
    let real = now.in_force.as_ref();
    let sandbox = now.requested.sandbox.map(Sandbox::as_str).or_else(|| Some(real?.sandbox.as_str()));
    let approval =
        now.requested.approval.map(ApprovalPolicy::as_str).or_else(|| Some(real?.approval.as_str()));
    let is_same =
        sandbox == Some(settings.sandbox.as_str()) && approval == Some(settings.approval_policy.as_str());
    // The same sandbox and policy with a person who answers is another thing than the mode without one.
    is_same && (mode != Mode::Unrestricted || now.requested.mode == Some(mode))
}

/// The other one of two modes; from anything else the tighter one.
fn next_mode(now: &SessionPermissions) -> Mode {
    if is_mode(now, Mode::ApprovalRequired) { Mode::Auto } else { Mode::ApprovalRequired }
}

fn change_of(mode: Mode) -> PermissionsChange {
    PermissionsChange { mode: Some(mode), ..PermissionsChange::default() }
}

/// Reads the words of the command.
fn read(words: &[String], now: &SessionPermissions, cwd: &str) -> Result<PermissionsChange, Trouble> {
    let mut change = PermissionsChange::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let word = word.as_str();
        if let Ok(mode) = word.parse() {
            change.mode = Some(mode);
        } else if let Ok(sandbox) = word.parse() {
            change.sandbox = Some(sandbox);
        } else if let Ok(approval) = word.parse() {
            change.approval = Some(approval);
        } else if let "network-on" | "network-off" = word {
            change.network = Some(word == "network-on");
        } else if let "add-root" | "remove-root" = word {
            let Some(folder) = words.next() else {
                return Err(Trouble::new(exit::USAGE, format!("{word} needs a folder"))
                    .try_this(format!("/permissions {word} FOLDER")));
            };
            let roots = change.writable_roots.take().unwrap_or_else(|| further_roots(now));
            change.writable_roots = Some(changed_roots(roots, word == "add-root", folder, cwd)?);
        } else {
            return Err(unknown(word));
        }
    }
    Ok(change)
}

fn further_roots(now: &SessionPermissions) -> Vec<String> {
    let real = |in_force: &PermissionsInForce| in_force.writable_roots.clone();
    now.requested.writable_roots.clone().or_else(|| now.in_force.as_ref().and_then(real)).unwrap_or_default()
}

fn changed_roots(
    mut roots: Vec<String>,
    is_added: bool,
    folder: &str,
    cwd: &str,
) -> Result<Vec<String>, Trouble> {
    let typed = typed_path(folder, cwd);
    // A folder that is gone can still be removed by its name.
    let real = std::fs::canonicalize(&typed).unwrap_or_else(|_| typed.clone());
    let is_it = |root: &String| [&typed, &real].contains(&&Path::new(root).to_path_buf());
    let shown = plain_line(folder).into_owned();
    match (is_added, roots.iter().any(is_it)) {
        (true, true) => {
            return Err(Trouble::new(exit::USAGE, format!("commands may write in {shown} already")));
        }
        (true, false) => roots.push(real.to_string_lossy().into_owned()),
        (false, true) => roots.retain(|root| !is_it(root)),
        (false, false) => {
            return Err(Trouble::new(exit::USAGE, format!("{shown} is not one of the further folders"))
                .try_this("/permissions lists them"));
        }
    }
    Ok(roots)
}

fn unknown(word: &str) -> Trouble {
    let modes = Mode::NAMES.into_iter();
    let known = modes
        .chain(Sandbox::ALL.map(Sandbox::as_str))
        .chain(ApprovalPolicy::ALL.map(ApprovalPolicy::as_str))
        .chain(SWITCHES);
    let hint = match nearest(word, known) {
        Some(near) => format!("did you mean {near}? /permissions lists the words"),
        None => "/permissions lists the words".to_owned(),
    };
    Trouble::new(exit::USAGE, format!("there is no permission {:?}", plain_line(word))).try_this(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    fn standing(sandbox: Sandbox, approval: ApprovalPolicy) -> SessionPermissions {
        let requested = PermissionsChange {
            sandbox: Some(sandbox),
            approval: Some(approval),
            ..PermissionsChange::default()
        };
        SessionPermissions { requested, in_force: None }
    }

    #[test]
    fn every_word_says_what_it_is_and_an_unknown_one_changes_nothing() {
        let now = SessionPermissions::default();
        let change = read(&words("workspace-write on-request network-on"), &now, "/").unwrap();
        assert_eq!(change.sandbox, Some(Sandbox::WorkspaceWrite));
        assert_eq!((change.approval, change.network), (Some(ApprovalPolicy::OnRequest), Some(true)));
        assert_eq!(read(&words("yolo"), &now, "/").unwrap().mode, Some(Mode::Unrestricted));
        let trouble = read(&words("read-only netwerk-on"), &now, "/").unwrap_err();
        assert!(trouble.hint_in_chat().contains("network-on"), "{}", trouble.hint_in_chat());
        assert!(read(&words("add-root"), &now, "/").is_err());
    }

    #[test]
    fn folders_are_added_and_removed_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap().display().to_string();
        let now = SessionPermissions::default();
        let added = read(&words(&format!("add-root {real}")), &now, "/").unwrap();
        assert_eq!(added.writable_roots, Some(vec![real.clone()]));
        let now = SessionPermissions { requested: added, in_force: None };
        assert!(read(&words(&format!("add-root {real}")), &now, "/").is_err(), "it is there");
        let removed = read(&words(&format!("remove-root {real}")), &now, "/").unwrap();
        assert_eq!(removed.writable_roots, Some(Vec::new()));
        assert!(read(&words("remove-root /elsewhere"), &now, "/").is_err());
    }

    #[test]
    fn shift_tab_never_reaches_a_mode_without_a_sandbox() {
        let mut now = standing(Sandbox::DangerFullAccess, ApprovalPolicy::Untrusted);
        let mut seen = Vec::new();
        for _ in 0..4 {
            let mode = next_mode(&now);
            seen.push(mode);
            now = standing(mode.settings().sandbox, mode.settings().approval_policy);
        }
        assert_eq!(seen, [Mode::ApprovalRequired, Mode::Auto, Mode::ApprovalRequired, Mode::Auto]);
    }
}
