//! A server that does not work is reported, and the turn completes.

use talaria_core::outcome::Outcome;
use talaria_scripted::Reply;
use talaria_testkit::Codex;

use super::loopback::{Manner, Server};
use super::stdio;
use crate::home::Home;
use crate::stage::both_versions;

both_versions!(
    newest:
    a_server_that_does_not_start_or_never_answers_is_told_and_the_turn_ends,
    codex_does_not_speak_the_old_sse,
    a_variable_that_is_not_set_is_told,
);

async fn a_server_that_does_not_start_or_never_answers_is_told_and_the_turn_ends(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.configure(&format!(
        "[mcp_servers.gone]\ncommand = \"talaria-has-no-such-program\"\n\
         [mcp_servers.mute]\ncommand = \"sleep\"\nargs = [\"600\"]\nconnect_timeout = 0.3\n\
         [mcp_servers.old]\nurl = \"http://127.0.0.1:9/sse\"\ntransport = \"sse\"\n{}",
        stdio("birds", "")
    ));
    home.open().await;
    let (started, told) = home.peek(&codex, "birds", &[]).await;
    assert!(told.contains("peek ran"), "the one that works does: {told}");
    let warnings = home.warnings(&started).await;
    for name in ["gone", "mute", "old"] {
        let about = warnings.iter().filter(|warning| warning.contains(&format!("MCP server {name}")));
        assert_eq!(about.count(), 1, "{name}: {warnings:#?}");
    }
    home.close().await;
}

/// Why `transport = "sse"` is refused by the reader of the configuration.
async fn codex_does_not_speak_the_old_sse(codex: Codex) {
    let mut home = Home::real(&codex).await;
    let server = Server::start(Manner::Sse).await;
    home.configure(&format!("[mcp_servers.old]\nurl = \"{}\"\n", server.url));
    home.open().await;
    home.model.push(Reply::say("nothing"));
    let (started, report) = home.run("look").await;
    assert_eq!(report.outcome, Outcome::Completed);
    let warnings = home.warnings(&started).await;
    assert!(warnings.len() == 1 && warnings[0].contains("MCP server old"), "{warnings:#?}");
    home.close().await;
}

async fn a_variable_that_is_not_set_is_told(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.configure(
        "[mcp_servers.remote]\nurl = \"http://127.0.0.1:9/\"\nheaders = { Authorization = \"Bearer ${NO_SUCH_TOKEN}\" }\n",
    );
    home.open().await;
    home.model.push(Reply::say("nothing"));
    let (started, report) = home.run("look").await;
    assert_eq!(report.outcome, Outcome::Completed);
    let warnings = home.warnings(&started).await;
    assert!(warnings.iter().any(|warning| warning.contains("NO_SUCH_TOKEN")), "{warnings:#?}");
    home.close().await;
}
