//! The runtime for people and for programs.

use std::path::Path;

use serde_json::json;
use talaria_core::json_line::json_line;
use talaria_core::runtime::{Because, CODEX_TOOLS, CodexIsOff, Runtime, RuntimeChoice, RuntimeSelection};

use super::look::{ConversationRuntime, Login, State};
use talaria_render::plain_line;

/// The state for programs: one line.
pub(super) fn json(state: &State) -> String {
    let runtime = |runtime: &Runtime| json!({ "name": runtime, "offers": runtime.offers() });
    let mut object = serde_json::to_value(state).unwrap_or_default();
    object["runtimes"] = Runtime::ALL.iter().map(runtime).collect();
    object["tools"] = json!({
        "codex": CODEX_TOOLS, "own_loop": state.loop_tools, "talaria": state.own_tools,
        "mcp_servers": state.mcp_servers,
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
    out.push_str("\nRuntimes:\n");
    for runtime in Runtime::ALL {
        out.push_str(&format!("  {}: {}\n", runtime.name(), runtime.offers()));
    }
    let servers: Vec<String> = state.mcp_servers.iter().map(|name| plain_line(name).into_owned()).collect();
    let servers = if servers.is_empty() { "none".to_owned() } else { servers.join(", ") };
    out.push_str("\nTools:\n");
    out.push_str(&format!(
        "  on codex_app_server: {}, and others of Codex by model and configuration\n",
        CODEX_TOOLS.join(", ")
    ));
    out.push_str(&format!("  on own_loop: {}\n", state.loop_tools.join(", ")));
    out.push_str(&format!("  on both: {}\n", state.own_tools.join(", ")));
    out.push_str(&format!("  MCP servers in Talaria's configuration, on both: {servers}\n"));
    match state.conversations.as_deref() {
        None => out.push_str("\nConversations: `talaria sessions show ID` has the runtime of each\n"),
        Some([]) => {}
        Some(conversations) => {
            out.push_str("\nNewest conversations:\n");
            conversations.iter().for_each(|conversation| out.push_str(&conversation_row(conversation)));
        }
    }
    out
}

fn conversation_row(conversation: &ConversationRuntime) -> String {
    let ConversationRuntime { id, title, runtime, provider, model } = conversation;
    let with = [provider.as_deref(), model.as_deref()].into_iter().flatten().collect::<Vec<_>>().join(", ");
    plain_line(format!("  {id}  {runtime:<16}  {with}  {}", title.trim()).trim_end()).into_owned() + "\n"
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
        out.push_str(
            "note       nothing of Codex was changed; `talaria migrate` writes Talaria's MCP servers into Codex's own \
             configuration\n",
        );
    }
    out
}

fn runtime_in_use(verdict: Option<RuntimeSelection>) -> String {
    let Some(RuntimeSelection { runtime, because }) = verdict else {
        return format!("nothing: {CodexIsOff}");
    };
    let why = match because {
        Because::Asked => "it was requested",
        Because::Usual => "it is the default",
        Because::Provider => "Codex runs only OpenAI's models",
        Because::NoCodex => "no Codex is installed",
        Because::CodexIsOff => "model.openai_runtime is off",
    };
    format!("{}, because {why}", runtime.name())
}

fn provider(provider: Option<&str>) -> String {
    provider
        .map_or_else(|| "not set; Codex's own configuration chooses the provider".to_owned(), str::to_owned)
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
