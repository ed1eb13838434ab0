//! The runtime for people and for programs.

use std::path::Path;

use serde_json::json;
use talaria_core::json_line::json_line;
use talaria_core::runtime::{
    Because, CODEX_TOOLS, LOOP_TOOLS, Runtime, RuntimeChoice, RuntimeSelection, THIS_BUILD, is_rerouted,
};

use super::look::{Login, State};
use talaria_render::plain_line;

/// The state for programs: one line.
pub(super) fn json(state: &State) -> String {
    let runtime = |runtime: &Runtime| json!({ "name": runtime, "offers": runtime.offers() });
    let mut object = serde_json::to_value(state).unwrap_or_default();
    object["runtimes"] = THIS_BUILD.iter().map(runtime).collect();
    object["missing_runtimes"] = missing().iter().map(runtime).collect();
    object["tools"] = json!({
        "codex": CODEX_TOOLS, "mcp_servers": state.mcp_servers, "unreachable": LOOP_TOOLS,
    });
    json_line(&object)
}

/// The state for people.
pub(super) fn text(state: &State) -> String {
    let mut out = String::new();
    let mut row = |name: &str, words: &str| out.push_str(&format!("{name:<10} {}\n", plain_line(words)));
    row(
        "runtime",
        state.openai_runtime.map_or("the value of model.openai_runtime cannot be used", RuntimeChoice::name),
    );
    row("used", &runtime_in_use(state.verdict));
    row("provider", &provider(state.provider.as_deref()));
    let codex = &state.codex;
    match (&codex.version, &codex.path, &codex.error) {
        (Some(version), Some(path), _) => row("codex", &format!("{version}, {path}")),
        (_, _, Some(error)) => row("codex", &format!("cannot be used: {error}")),
        _ => {}
    }
    if let Some(login) = &codex.login {
        row("login", &words(login));
    }
    if let Some(hint) = &codex.hint {
        row("", &format!("-> {hint}"));
    }
    for problem in &state.problems {
        row("config", problem);
    }
    out.push_str("\nRuntimes of this build:\n");
    for runtime in THIS_BUILD {
        out.push_str(&format!("  {}: {}\n", runtime.name(), runtime.offers()));
    }
    for runtime in missing() {
        out.push_str(&format!("  not in it: {} ({})\n", runtime.name(), runtime.offers()));
    }
    let servers: Vec<String> = state.mcp_servers.iter().map(|name| plain_line(name).into_owned()).collect();
    let servers = if servers.is_empty() { "none".to_owned() } else { servers.join(", ") };
    out.push_str("\nTools on codex_app_server:\n");
    out.push_str(&format!(
        "  Codex's own: {}, and others by model and configuration\n",
        CODEX_TOOLS.join(", ")
    ));
    out.push_str(&format!("  MCP servers in Talaria's configuration: {servers}\n"));
    out.push_str(&format!("  not reachable: {} (they belong to an agent loop)\n", LOOP_TOOLS.join(", ")));
    out
}

/// Result of a switch.
pub(super) fn changed(
    file: &Path,
    choice: RuntimeChoice,
    before: Option<RuntimeChoice>,
    verdict: Option<RuntimeSelection>,
) -> String {
    let name = choice.name();
    if before == Some(choice) {
        return format!("the runtime is {name} already; nothing was changed\n");
    }
    let old = before.map_or("a value that could not be used", RuntimeChoice::name);
    let mut out = format!("runtime    {name} (was {old}), in {}\n", file.display());
    out.push_str("           takes effect from the next turn\n");
    out.push_str(&format!("used       {}\n", runtime_in_use(verdict)));
    if choice == RuntimeChoice::CodexAppServer {
        out.push_str(&format!("tools      not reachable on it: {}\n", LOOP_TOOLS.join(", ")));
        out.push_str(
            "note       nothing of Codex was changed; `talaria migrate` writes Talaria's MCP servers into Codex's own \
             configuration\n",
        );
    }
    out
}

fn runtime_in_use(verdict: Option<RuntimeSelection>) -> String {
    let Some(RuntimeSelection { runtime, because }) = verdict else {
        return "nothing: this build has no runtime".to_owned();
    };
    let why = match because {
        Because::OnlyOne => "this build has no other runtime",
        Because::Asked => "it was requested",
        Because::Usual => "it is the default",
        Because::Provider => "conversations with this provider are never handed to Codex",
    };
    format!("{}, because {why}", runtime.name())
}

fn provider(provider: Option<&str>) -> String {
    match provider {
        None => "not set; Codex's own configuration chooses the provider".to_owned(),
        Some(name) if THIS_BUILD.contains(&Runtime::OwnLoop) => name.to_owned(),
        // Nothing reads it yet that could ask another one.
        Some(name) if is_rerouted(Some(name)) => {
            format!("{name}; Codex's own configuration chooses the provider")
        }
        Some(name) => format!(
            "{name} has no effect in this build: turns run on Codex, whose own configuration chooses the provider"
        ),
    }
}

fn words(login: &Login) -> String {
    match login {
        Login::In { account, plan: Some(plan) } => format!("{account}, plan {plan}"),
        Login::In { account, plan: None } => account.clone(),
        Login::Out => "not logged in".to_owned(),
        Login::NotNeeded => "not needed: the configured provider is not OpenAI".to_owned(),
        Login::Unknown { why } => format!("not known: {why}"),
    }
}

fn missing() -> Vec<Runtime> {
    Runtime::ALL.into_iter().filter(|runtime| !THIS_BUILD.contains(runtime)).collect()
}
