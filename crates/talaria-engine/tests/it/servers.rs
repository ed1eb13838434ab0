//! MCP servers that only Talaria's configuration has, on the real Codex of both versions: conversations and tasks have
//! them, Codex's own file is unchanged, and their secrets are stored nowhere.

mod accepted;
mod loopback;
mod told;

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use talaria_core::api::{SessionStarted, TaskStarted};
use talaria_core::event::Event;
use talaria_core::ids::SessionId;
use talaria_core::outcome::Outcome;
use talaria_core::policy::ApprovalPolicy;
use talaria_core::request::Ask;
use talaria_scripted::Reply;
use talaria_testkit::{Codex, mcp_server};

use crate::home::Home;
use crate::stage::both_versions;

both_versions!(
    a_tool_is_approved_through_talaria_and_its_result_reaches_the_model,
    a_secret_in_the_file_reaches_only_a_codex_that_keeps_it_to_itself;
    newest:
    a_task_has_the_servers_as_well,
    headers_by_reference_reach_an_address,
    a_changed_file_reaches_the_next_conversation_and_a_restart_brings_the_servers_back,
    a_changed_variable_gets_another_codex_also_for_a_conversation_that_goes_on,
    a_server_of_the_users_own_wins_and_is_never_mixed,
    what_was_migrated_with_references_still_works_without_the_variables,
);

/// Texts that must not be found anywhere.
const LITERAL: &str = "Literal7NotReal2KbTq9";
const REFERRED: &str = "Referred5NotReal8XvN2c";

/// A call of a tool of a server, as the model names it.
fn call(codex: &Codex, server: &str, tool: &str, arguments: Value) -> Reply {
    let end = if codex.version == "0.130.0" { "__" } else { "" };
    let item = json!({
        "type": "function_call", "id": "fc", "call_id": "call", "namespace": format!("mcp__{server}{end}"),
        "name": tool, "arguments": arguments.to_string(),
    });
    let event = |kind: &str| json!({ "type": kind, "output_index": 0, "item": item });
    Reply::new().event(event("response.output_item.added")).event(event("response.output_item.done"))
}

/// The scripted server under this name, with more keys.
fn stdio(name: &str, more: &str) -> String {
    format!("[mcp_servers.{name}]\ncommand = {:?}\n{more}\n", mcp_server::program())
}

impl Home {
    fn set(&mut self, name: &str, value: &str) {
        self.caller.environment.retain(|(existing, _)| existing != name);
        self.caller.environment.push((name.to_owned(), value.to_owned()));
    }

    fn codex_config(&self) -> String {
        fs::read_to_string(self.codex_home.path().join("config.toml")).unwrap()
    }

    /// The result of the last tool.
    fn last_output(&self) -> String {
        self.model.requests().last().unwrap().tool_outputs().last().unwrap().to_string()
    }

    /// Runs a tool that needs no approval in a new conversation; returns its result.
    async fn peek(&self, codex: &Codex, server: &str, variables: &[&str]) -> (SessionStarted, String) {
        let arguments = json!({ "variables": variables });
        self.model.play([call(codex, server, "peek", arguments), Reply::say("done")]);
        let (started, report) = self.run("look").await;
        assert_eq!(report.outcome, Outcome::Completed);
        (started, self.last_output())
    }

    /// The same in a conversation that there is already.
    async fn peek_again(
        &self,
        codex: &Codex,
        started: &SessionStarted,
        server: &str,
        variables: &[&str],
    ) -> String {
        let arguments = json!({ "variables": variables });
        self.model.play([call(codex, server, "peek", arguments), Reply::say("done")]);
        let (id, turn) = (started.id.clone(), self.turn("look again"));
        let next = self.on(|engine| async move { engine.start_turn(id.as_str(), turn).await }).await.unwrap();
        let report = self.events(&next, next.after).await.outcome().await;
        assert_eq!(report.outcome, Outcome::Completed);
        self.last_output()
    }

    async fn warnings(&self, started: &SessionStarted) -> Vec<String> {
        let all = self.all(started).await;
        let warning = |event: Event| match event {
            Event::Warning { message } if message.contains("MCP") => Some(message),
            _ => None,
        };
        all.into_iter().filter_map(|numbered| warning(numbered.event)).collect()
    }
}

/// Every file below a directory that has one of the secrets in it, except the configuration that a person wrote.
///
/// Codex itself keeps the environment that it was started in for its shells, with plain Codex as well, while the
/// conversation is loaded: a referenced variable is in there, because it is in the person's environment. A literal is
/// not.
fn found_in(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        // Codex creates links to its own program there, which is large.
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            found.extend(found_in(&path));
        } else if path.is_file() && !path.ends_with("talaria/config.toml") {
            let bytes = fs::read(&path).unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes);
            let has = |secret: &str| text.contains(secret);
            let is_snapshot = path.components().any(|part| part.as_os_str() == "shell_snapshots");
            if has(LITERAL) || has(REFERRED) && !is_snapshot {
                found.push(path.display().to_string());
            }
        }
    }
    found
}

async fn a_tool_is_approved_through_talaria_and_its_result_reaches_the_model(codex: Codex) {
    let mut home = Home::real(&codex).await;
    let before = home.codex_config();
    home.configure(&stdio("birds", "env = { NEST = \"12345\", OTHER_KEY = \"${OTHER_KEY}\" }"));
    home.set("OTHER_KEY", REFERRED);
    home.open().await;
    let arguments = json!({ "variables": ["NEST", "OTHER_KEY", "ABSENT"] });
    home.model.play([call(&codex, "birds", "ask", arguments), Reply::say("done")]);
    let started = home.start(ApprovalPolicy::Untrusted, "ask the birds").await;
    let mut events = home.events(&started, 0).await;
    let ticket = events.request().await;
    // Codex does not say which call it asks about; without the step, waiting would count as running.
    let is_bound = |event: &Event| match event {
        Event::RequestOpened { ask, .. } => matches!(&**ask, Ask::Tool { item: Some(_), .. }),
        _ => false,
    };
    assert!(events.seen.iter().any(is_bound), "{:#?}", events.seen);
    home.answer(&ticket, "accept").await.unwrap();
    assert_eq!(events.outcome().await.outcome, Outcome::Completed, "{:#?}", events.seen);
    let told = format!("ask ran, NEST has 5, OTHER_KEY has {}, ABSENT is not set", REFERRED.len());
    assert!(home.last_output().contains(&told), "{}", home.last_output());
    assert_eq!(home.warnings(&started).await, Vec::<String>::new());
    leaves_no_secret(home, &before).await;
}

async fn a_secret_in_the_file_reaches_only_a_codex_that_keeps_it_to_itself(codex: Codex) {
    let mut home = Home::real(&codex).await;
    let before = home.codex_config();
    home.configure(&(stdio("birds", &format!("env = {{ API_KEY = \"{LITERAL}\" }}")) + &stdio("more", "")));
    home.open().await;
    let server = if codex.version == "0.130.0" { "more" } else { "birds" };
    let (started, told) = home.peek(&codex, server, &["API_KEY"]).await;
    let warnings = home.warnings(&started).await;
    if codex.version == "0.130.0" {
        assert!(warnings.len() == 1 && warnings[0].contains("env.API_KEY"), "{warnings:?}");
    } else {
        assert!(told.contains(&format!("API_KEY has {}", LITERAL.len())), "{told}");
        assert_eq!(warnings, Vec::<String>::new());
    }
    leaves_no_secret(home, &before).await;
}

/// Looks for secrets everywhere, while the engine runs and when it has ended.
async fn leaves_no_secret(mut home: Home, config: &str) {
    let root = home.codex_home.root().to_owned();
    assert_eq!(found_in(&root), Vec::<String>::new(), "while the engine runs");
    home.stop(false).await;
    assert_eq!(found_in(&root), Vec::<String>::new(), "when it has ended");
    assert_eq!(home.codex_config(), config, "Codex's own file is as it was");
    assert_eq!(home.marker.survivors(), []);
}

async fn a_task_has_the_servers_as_well(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.configure(&stdio("birds", ""));
    home.open().await;
    home.model.play([call(&codex, "birds", "ask", json!({})), Reply::say("done")]);
    let new = home.writing_task("ask the birds");
    let task: TaskStarted = home.on(|engine| async move { engine.start_task(new).await }).await.unwrap();
    let conversation = SessionStarted {
        id: SessionId::new(task.session.as_str()),
        task: None,
        turn: 1,
        after: 0,
        codex: None,
    };
    let mut events = home.events(&conversation, 0).await;
    let ticket = events.request().await;
    home.answer(&ticket, "accept").await.unwrap();
    assert_eq!(events.outcome().await.outcome, Outcome::Completed);
    assert!(home.last_output().contains("ask ran"), "{}", home.last_output());
    home.close().await;
}

async fn headers_by_reference_reach_an_address(codex: Codex) {
    let mut home = Home::real(&codex).await;
    let before = home.codex_config();
    let server = loopback::Server::start(loopback::Manner::Streamable).await;
    home.configure(&format!(
        "[mcp_servers.remote]\nurl = \"{}\"\n[mcp_servers.remote.headers]\n\
         Authorization = \"Bearer ${{BIRD_TOKEN}}\"\nX-Team = \"herons\"\nX-Key = \"${{BIRD_KEY}}\"\n",
        server.url
    ));
    home.set("BIRD_TOKEN", REFERRED);
    home.set("BIRD_KEY", "key of the birds");
    home.open().await;
    let (_, told) = home.peek(&codex, "remote", &[]).await;
    assert!(told.contains("the address answers"), "{told}");
    let bearer = format!("Bearer {REFERRED}");
    for (name, value) in
        [("authorization", bearer.as_str()), ("x-team", "herons"), ("x-key", "key of the birds")]
    {
        assert_eq!(server.header("tools/call", name).as_deref(), Some(value), "{name}");
    }
    leaves_no_secret(home, &before).await;
}

async fn a_changed_file_reaches_the_next_conversation_and_a_restart_brings_the_servers_back(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.configure("");
    home.open().await;
    home.model.push(Reply::say("nothing"));
    home.run("no birds yet").await;
    home.configure(&stdio("birds", "env = { NEST = \"12345\" }"));
    let (started, told) = home.peek(&codex, "birds", &["NEST"]).await;
    assert!(told.contains("peek ran, NEST has 5"), "{told}");
    home.stop(false).await;
    home.configure(&stdio("birds", "env = { NEST = \"1234567\" }"));
    home.open().await;
    let told = home.peek_again(&codex, &started, "birds", &["NEST"]).await;
    assert!(told.contains("peek ran, NEST has 7"), "{told}");
    home.configure("[mcp_servers.birds\n");
    let (other, told) = home.peek(&codex, "birds", &["NEST"]).await;
    assert!(told.contains("peek ran, NEST has 7"), "the servers of before: {told}");
    let warnings = home.warnings(&other).await;
    assert!(warnings.len() == 1 && warnings[0].contains("line 1"), "{warnings:?}");
    home.close().await;
}

async fn a_changed_variable_gets_another_codex_also_for_a_conversation_that_goes_on(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.configure(&stdio("birds", "env = { NEST = \"${NEST}\" }"));
    home.set("NEST", "1");
    home.open().await;
    let (_, told) = home.peek(&codex, "birds", &["NEST"]).await;
    assert!(told.contains("NEST has 1"), "{told}");
    home.set("UNRELATED", "1");
    let (started, _) = home.peek(&codex, "birds", &["NEST"]).await;
    assert_eq!(home.hosts().await.len(), 1, "another variable changes nothing");
    home.set("NEST", "22");
    let (_, told) = home.peek(&codex, "birds", &["NEST"]).await;
    assert!(told.contains("NEST has 2"), "{told}");
    assert_eq!(home.hosts().await.len(), 2);
    home.stop(false).await;
    home.open().await;
    home.set("NEST", "333");
    let told = home.peek_again(&codex, &started, "birds", &["NEST"]).await;
    assert!(told.contains("NEST has 3"), "{told}");
    home.close().await;
}

async fn a_server_of_the_users_own_wins_and_is_never_mixed(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.codex_home.append_config(&stdio("birds", "env = { OWN = \"yes\" }"));
    let before = home.codex_config();
    // An address under the same name would make Codex refuse the conversation.
    for ours in [
        stdio("birds", "env = { OURS = \"yes\" }"),
        "[mcp_servers.birds]\nurl = \"http://127.0.0.1:9/\"\n".to_owned(),
    ] {
        home.configure(&(ours + &stdio("more", "")));
        home.open().await;
        let (started, told) = home.peek(&codex, "birds", &["OWN", "OURS"]).await;
        assert!(told.contains("OWN has 3, OURS is not set"), "{told}");
        let warnings = home.warnings(&started).await;
        assert!(warnings.len() == 1 && warnings[0].contains("its own of this name"), "{warnings:?}");
        let (_, told) = home.peek(&codex, "more", &[]).await;
        assert!(told.contains("peek ran"), "the others are there: {told}");
        home.stop(false).await;
    }
    assert_eq!(home.codex_config(), before);
    home.open().await;
    home.close().await;
}

async fn what_was_migrated_with_references_still_works_without_the_variables(codex: Codex) {
    let mut home = Home::real(&codex).await;
    // NEST does not look like a secret, so that 0.130.0, which logs its requests, receives it as well.
    home.codex_home.append_config(&stdio("birds", "env_vars = [\"NEST\"]"));
    home.configure(&stdio("birds", "env = { NEST = \"4444\" }"));
    home.open().await;
    let (started, told) = home.peek(&codex, "birds", &["NEST"]).await;
    assert!(told.contains("NEST has 4"), "{told}");
    assert_eq!(home.warnings(&started).await, [] as [&str; 0]);
    home.close().await;
}
