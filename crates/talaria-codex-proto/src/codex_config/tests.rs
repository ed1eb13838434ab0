//! What planning and removing promise, on texts that people and programs make.

mod below;
mod hostile;
mod ownership;
mod placement;
mod undecided;

use std::time::Duration;

use super::*;

fn server(command: &str) -> CodexServer {
    CodexServer { command: Some(command.to_owned()), ..CodexServer::default() }
}

/// One of each.
fn additions() -> Additions {
    let search = CodexServer {
        args: ["--fast", "C:\\docs"].map(str::to_owned).into(),
        env: [("A", "1"), ("B C", "2\n")].map(|(name, text)| (name.to_owned(), text.to_owned())).into(),
        tool_timeout_sec: Some(Duration::from_secs(30)),
        ..server("search")
    };
    Additions {
        servers: vec![("search".to_owned(), search), ("a b".to_owned(), server("x"))],
        plugins: vec!["mail@curated".to_owned()],
        default_permissions: Some(":workspace".to_owned()),
        undecided: Vec::new(),
    }
}

fn servers(servers: &[(&str, &str)]) -> Additions {
    let servers = servers.iter().map(|(name, command)| ((*name).to_owned(), server(command))).collect();
    Additions { servers, ..Additions::default() }
}

fn planned(current: &str, additions: &Additions, before: Option<&Added>) -> Planned {
    let planned = plan(current, additions, before).unwrap();
    let again = plan(&planned.text, additions, Some(&planned.added)).unwrap();
    assert_eq!(again.text, planned.text, "planning again changes nothing");
    assert_eq!(again.added, planned.added);
    planned
}

fn own(path: EntryPlace) -> UsersOwn {
    UsersOwn { path, why: Why::Own }
}

fn changed(path: EntryPlace) -> UsersOwn {
    UsersOwn { path, why: Why::ChangedSince }
}
