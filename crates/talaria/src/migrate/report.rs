//! Result of each planned entry: for scripts one object per line, for people a list.

use serde::Serialize;
use talaria_codex_proto::codex_config::{EntryPlace, Freed, Planned, UsersOwn, Why};
use talaria_core::servers::{CodexServer, Referred, Skipped};
use talaria_guard::redact::redact;

use super::wish::{TOOLS, Wish};
use talaria_render::plain_line;

/// One line of the report.
#[derive(Debug, Serialize, PartialEq, Eq)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum MigrationLine {
    /// An MCP server.
    Server {
        name: String,
        /// Its result.
        status: Status,
        /// Why not, or why so.
        #[serde(skip_serializing_if = "Option::is_none")]
        why: Option<String>,
        /// Keys that Codex has nothing for.
        skipped: Vec<Skipped>,
        /// Secrets that are replaced by the name of a variable.
        secrets: Vec<Referred>,
        /// The other variables that it refers to.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        variables: Vec<String>,
    },
    Plugin {
        name: String,
        /// Its result.
        status: Status,
    },
    /// The permission default.
    Permissions {
        profile: String,
        /// Its result.
        status: Status,
    },
    /// Something that the person should know.
    Warning { message: String },
}

/// Result of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Status {
    /// It would be in Codex's configuration because of Talaria.
    Planned,
    /// It is.
    Migrated,
    /// The user's own entry of the same name is kept, or an earlier one that may still be needed.
    Kept,
    /// An earlier migration wrote it, and it is wanted no more: it would go.
    Unwanted,
    /// It is gone.
    Removed,
    /// It cannot be said in Codex's words.
    Error,
}

/// When a report is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Before anything is done.
    Planned,
    /// When the file is as it should be.
    Done,
}

/// Reports on everything.
pub(crate) fn report(
    wish: &Wish,
    planned: &Planned,
    dropped: &[EntryPlace],
    stage: Stage,
) -> Vec<MigrationLine> {
    let (written, gone) = match stage {
        Stage::Planned => (Status::Planned, Status::Unwanted),
        Stage::Done => (Status::Migrated, Status::Removed),
    };
    let is_undecided = |place: &EntryPlace| planned.undecided.contains(place);
    let own = |place: &EntryPlace| planned.kept.iter().find(|own| own.path == *place);
    let status = |place: &EntryPlace| if own(place).is_some() { Status::Kept } else { written };
    let mut lines: Vec<MigrationLine> = Vec::new();
    for server in &wish.servers {
        let place = EntryPlace::Server(server.name.clone());
        let (status, why) = match &server.server {
            Err(why) if is_undecided(&place) => {
                (Status::Error, Some(format!("{}; its earlier entry is kept", redact(why))))
            }
            Err(why) => (Status::Error, Some(redact(why).into_owned())),
            Ok(_) => (status(&place), own(&place).map(why_kept)),
        };
        // An entry that is not written needs no variable.
        let (secrets, variables) = match &server.server {
            Ok(written_as) if status == written => {
                (server.referred.clone(), variables(written_as, &server.referred))
            }
            _ => (Vec::new(), Vec::new()),
        };
        let (name, skipped) = (server.name.clone(), server.skipped.clone());
        lines.push(MigrationLine::Server { name, status, why, skipped, secrets, variables });
    }
    let tools = EntryPlace::Server(TOOLS.to_owned());
    let is_wanted = |(name, _): &(String, _)| name == TOOLS;
    if wish.additions.servers.iter().any(is_wanted) && !wish.servers.iter().any(|server| server.name == TOOLS)
    {
        let why = own(&tools).map(why_kept);
        lines.push(bare(TOOLS, status(&tools), why));
    }
    for name in &wish.additions.plugins {
        lines.push(MigrationLine::Plugin {
            name: name.clone(),
            status: status(&EntryPlace::Plugin(name.clone())),
        });
    }
    if let Some(profile) = &wish.additions.default_permissions {
        let status = status(&EntryPlace::DefaultPermissions);
        lines.push(MigrationLine::Permissions { profile: profile.clone(), status });
    }
    let has_line =
        |place: &EntryPlace| wish.servers.iter().any(|server| Some(&*server.name) == server_of(place));
    let staying = planned.undecided.iter().filter(|place| !has_line(place));
    lines.extend(staying.map(|place| removal_line(place, Status::Kept)));
    lines.extend(dropped.iter().map(|place| removal_line(place, gone)));
    lines
}

/// Says of a key of the user's that it is no longer in a table of ours.
pub(crate) fn freed(freed: &Freed) -> String {
    format!(
        "{} was below the talaria lines, which made it a key of {}; it is yours, and now belongs to the table above it",
        freed.key, freed.from
    )
}

/// Says of an entry that another Talaria may miss it.
pub(crate) fn replaced(place: &EntryPlace) -> String {
    format!(
        "{place} was written by a Talaria that this home has no record of, perhaps from another home; it is replaced"
    )
}

fn server_of(place: &EntryPlace) -> Option<&str> {
    match place {
        EntryPlace::Server(name) => Some(name),
        EntryPlace::Plugin(_) | EntryPlace::DefaultPermissions => None,
    }
}

/// The line of what an earlier migration wrote and this one does not want.
fn removal_line(place: &EntryPlace, status: Status) -> MigrationLine {
    match place {
        EntryPlace::Plugin(name) => MigrationLine::Plugin { name: name.clone(), status },
        EntryPlace::Server(name) => {
            let why = (status == Status::Kept).then(|| "it may still be needed".to_owned());
            bare(name, status, why)
        }
        EntryPlace::DefaultPermissions => {
            MigrationLine::Permissions { profile: place.table().to_owned(), status }
        }
    }
}

/// A server of which nothing more has to be said.
fn bare(name: &str, status: Status, why: Option<String>) -> MigrationLine {
    let (skipped, secrets, variables) = (Vec::new(), Vec::new(), Vec::new());
    MigrationLine::Server { name: name.to_owned(), status, why, skipped, secrets, variables }
}

/// The variables that an entry refers to, without those that a secret must be moved to.
fn variables(server: &CodexServer, secrets: &[Referred]) -> Vec<String> {
    let headers = server.env_http_headers.values().chain(&server.bearer_token_env_var);
    let mut names: Vec<String> = server.env_vars.iter().chain(headers).cloned().collect();
    names.retain(|name| !secrets.iter().any(|secret| secret.variable == *name));
    names.sort();
    names.dedup();
    names
}

fn why_kept(own: &UsersOwn) -> String {
    match own.why {
        Why::Own => "your own entry of this name is kept".to_owned(),
        Why::ChangedSince => "you changed it since Talaria wrote it, so it is yours now".to_owned(),
    }
}

/// The report for people.
pub(crate) fn words(lines: &[MigrationLine]) -> String {
    let mut out = String::new();
    for line in lines {
        match line {
            MigrationLine::Server { name, status, why, skipped, secrets, variables } => {
                let why = why.as_deref().map(|why| format!(": {}", plain_line(why))).unwrap_or_default();
                out += &format!("{:<9} server {}{why}\n", word(*status), plain_line(name));
                for Skipped { key, why } in skipped {
                    out += &format!("            without {}: {}\n", plain_line(key), plain_line(why));
                }
                for Referred { place, variable } in secrets {
                    let (place, variable) = (plain_line(place), plain_line(variable));
                    out += &format!(
                        "            {place} is a secret: set {variable} in the environment of Codex\n"
                    );
                }
                if !variables.is_empty() {
                    let names = variables.join(", ");
                    out +=
                        &format!("            reads from the environment of Codex: {}\n", plain_line(&names));
                }
            }
            MigrationLine::Plugin { name, status } => {
                out += &format!("{:<9} plugin {}\n", word(*status), plain_line(name));
            }
            MigrationLine::Permissions { profile, status: Status::Kept } => {
                let profile = plain_line(profile);
                out += &format!("kept      your own permission default; {profile} is not written\n");
            }
            MigrationLine::Permissions { profile, status } => {
                out += &format!("{:<9} permission default {}\n", word(*status), plain_line(profile));
            }
            MigrationLine::Warning { message } => out += &format!("warning: {}\n", plain_line(message)),
        }
    }
    out
}

fn word(status: Status) -> &'static str {
    match status {
        Status::Planned => "to write",
        Status::Migrated => "migrated",
        Status::Kept => "kept",
        Status::Unwanted => "to remove",
        Status::Removed => "removed",
        Status::Error => "error",
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use talaria_codex_proto::codex_config::{Additions, plan};
    use talaria_core::servers::Translated;

    use super::*;

    fn wish() -> Wish {
        let server = |name: &str, server: Result<CodexServer, String>| Translated {
            name: name.to_owned(),
            server,
            skipped: vec![Skipped { key: "sampling".to_owned(), why: "not\u{1b}[2J known".to_owned() }],
            referred: vec![Referred { place: "env.TOKEN".to_owned(), variable: "TOKEN".to_owned() }],
            secrets: Vec::new(),
        };
        let good = || CodexServer { command: Some("x".to_owned()), ..CodexServer::default() };
        Wish {
            additions: Additions {
                servers: ["new", "own", TOOLS].map(|name| (name.to_owned(), good())).to_vec(),
                plugins: vec!["p@m".to_owned()],
                default_permissions: Some(":workspace".to_owned()),
                undecided: Vec::new(),
            },
            servers: vec![
                server("new", Ok(good())),
                server("own", Ok(good())),
                server("bad", Err("has neither command nor url".to_owned())),
            ],
            secrets: Vec::new(),
            warnings: Vec::new(),
        }
    }

    #[test]
    fn everything_that_was_wanted_has_its_line_and_nothing_is_called_done_before_it_is() {
        let wish = wish();
        let planned = plan("[mcp_servers.own]\ncommand = \"mine\"\n", &wish.additions, None).unwrap();
        let dropped = [EntryPlace::Server("old".to_owned())];
        expect![[r#"
            to write  server new
                        without sampling: not␛[2J known
                        env.TOKEN is a secret: set TOKEN in the environment of Codex
            kept      server own: your own entry of this name is kept
                        without sampling: not␛[2J known
            error     server bad: has neither command nor url
                        without sampling: not␛[2J known
            to write  server talaria-tools
            to write  plugin p@m
            to write  permission default :workspace
            to remove server old
        "#]]
        .assert_eq(&words(&report(&wish, &planned, &dropped, Stage::Planned)));
        let done = report(&wish, &planned, &dropped, Stage::Done);
        let statuses: Vec<String> =
            done.iter().map(|line| serde_json::to_value(line).unwrap()["status"].to_string()).collect();
        assert_eq!(
            statuses.join(" "),
            r#""migrated" "kept" "error" "migrated" "migrated" "migrated" "removed""#
        );
    }
}
