//! `talaria sessions prune`: throws old conversations away, after it has shown which.

use std::io::{self, BufRead, IsTerminal};

use jiff::Timestamp;
use talaria_core::api::{Prune, Pruned};
use talaria_server::client::Client;

use super::json_lines;
use crate::amounts::{ago, bytes};
use crate::args::{self, Limits};
use crate::engine::refused;
use crate::exec::milliseconds;
use crate::look;
use crate::output::{encoded, print};
use crate::progress::with_progress;
use crate::trouble::{Trouble, complain, exit};
use talaria_render::sheet::Sheet;
use talaria_render::{Look, StyledText};

/// At most this many conversations are named in a preview.
const NAMED: usize = 20;

pub(super) async fn run(client: &Client, options: &args::Prune) -> Result<(), Trouble> {
    if options.yes {
        return throw_away(client, options).await;
    }
    let preview = ask(client, prune_request(options.limits, Purpose::Preview)).await?;
    if options.json {
        return print(&json_lines(&[preview]));
    }
    print(&encoded(&page(&preview, Timestamp::now(), look::of_stdout())))?;
    if preview.sessions.is_empty() {
        return Ok(());
    }
    if !(io::stdin().is_terminal() && io::stdout().is_terminal()) {
        return print("nothing was deleted; run it again with --yes to delete\n");
    }
    if !is_wanted()? {
        return print("nothing was deleted\n");
    }
    throw_away(client, options).await
}

/// Purpose of a request to the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Preview,
    Deed,
}

fn prune_request(limits: Limits, purpose: Purpose) -> Prune {
    Prune {
        older_than_ms: limits.older_than.map(milliseconds),
        keep: limits.keep,
        max_bytes: limits.max_size,
        dry_run: purpose == Purpose::Preview,
    }
}

async fn ask(client: &Client, prune: Prune) -> Result<Pruned, Trouble> {
    let words = if prune.dry_run { "selecting conversations" } else { "deleting conversations" };
    with_progress(words, client.prune(&prune)).await.map_err(|error| refused("cannot prune", &error))
}

async fn throw_away(client: &Client, options: &args::Prune) -> Result<(), Trouble> {
    let pruned = ask(client, prune_request(options.limits, Purpose::Deed)).await?;
    print(&if options.json {
        json_lines(&[pruned])
    } else {
        encoded(&page(&pruned, Timestamp::now(), look::of_stdout()))
    })
}

/// Asks the person. Everything but a yes is a no.
fn is_wanted() -> Result<bool, Trouble> {
    complain("Delete them permanently? [y/N] ");
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    read.map_err(|error| Trouble::new(exit::FAILED, "cannot read the answer").because(error))?;
    Ok(matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

fn page(pruned: &Pruned, now: Timestamp, look: Look) -> StyledText {
    if pruned.sessions.is_empty() {
        return "no conversation is selected; nothing to delete\n".into();
    }
    let mut sheet = Sheet::new(&["id", "updated", "title"], "title");
    for session in pruned.sessions.iter().take(NAMED) {
        let id = look::session_id(&session.id, look).to_owned();
        sheet.row([id, ago(session.updated_at, now), session.title.clone()]);
    }
    let mut out = sheet.show(look);
    let rest = pruned.sessions.len().saturating_sub(NAMED);
    if rest > 0 {
        out += format!("… and {rest} more\n");
    }
    let count = pruned.sessions.len();
    let (what, were) = match count {
        1 => ("1 conversation".to_owned(), "was"),
        _ => (format!("{count} conversations"), "were"),
    };
    let (before, after) = (bytes(pruned.bytes_before), bytes(pruned.bytes_after));
    let events = if pruned.events == 1 { "1 event".to_owned() } else { format!("{} events", pruned.events) };
    out + match (pruned.dry_run, before == after) {
        (true, false) => {
            format!(
                "\n{what} with {events} would be deleted; the file would shrink from {before} to about {after}\n"
            )
        }
        (true, true) => {
            format!("\n{what} with {events} would be deleted; the file would stay about {after} large\n")
        }
        (false, false) => {
            format!("\n{what} with {events} {were} deleted; the file was {before} and is now {after}\n")
        }
        (false, true) => format!("\n{what} with {events} {were} deleted; the file is still {after} large\n"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use expect_test::expect;
    use talaria_core::api::PrunedSession;
    use talaria_core::ids::SessionId;

    use super::*;

    #[test]
    fn a_preview_says_what_would_go_and_names_no_more_than_fits() {
        let session = |n: usize| PrunedSession {
            id: SessionId::new(format!("s-{n:02}")),
            title: "old".to_owned(),
            updated_at: Timestamp::from_second(0).unwrap(),
        };
        let mut pruned = Pruned {
            sessions: (1..=22).map(session).collect(),
            events: 4000,
            bytes_before: 9_500_000,
            bytes_after: 1_200_000,
            dry_run: true,
        };
        let look = Look { color: false, width: None, live: false, unicode: true };
        let now = Timestamp::from_second(86_400 * 40).unwrap();
        let text = page(&pruned, now, look).text();
        assert!(text.contains("s-20") && !text.contains("s-21"), "{text}");
        let end = text.split_once("s-20").unwrap().1;
        expect![[r#"
              40 days ago  old
            … and 2 more

            22 conversations with 4000 events would be deleted; the file would shrink from 9.5 MB to about 1.2 MB
        "#]]
        .assert_eq(end);
        pruned = Pruned { sessions: vec![session(1)], dry_run: false, ..pruned };
        assert!(page(&pruned, now, look).text().contains("1 conversation with 4000 events was deleted; "));
    }

    #[test]
    fn a_preview_throws_nothing_away() {
        let limits = Limits { older_than: Some(Duration::from_secs(1)), keep: Some(3), max_size: None };
        let preview = prune_request(limits, Purpose::Preview);
        assert_eq!((preview.older_than_ms, preview.keep, preview.dry_run), (Some(1000), Some(3), true));
        assert!(!prune_request(limits, Purpose::Deed).dry_run);
    }
}
