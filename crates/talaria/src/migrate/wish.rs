//! The planned entries in Codex's configuration: Talaria's servers in Codex's notation, its own tools, plugins, a
//! permission profile if requested.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::Path;

use talaria_codex::migrate::Plugins;
use talaria_codex_proto::codex_config::{Additions, Undecided};
use talaria_core::config::{Config, ConfigProblem, Severity};
use talaria_core::policy::Sandbox;
use talaria_core::servers::{
    CodexServer, Literals, Referred, Server, Translated, Transport, ValueSource, translate,
};

use crate::args;
use crate::trouble::{Trouble, exit};

/// The server that offers Talaria's own tools.
pub(crate) const TOOLS: &str = "talaria-tools";

/// The planned entries, with the report about them.
#[derive(Debug)]
pub(crate) struct Wish {
    pub(crate) additions: Additions,
    /// The servers of Talaria's configuration, in its order.
    pub(crate) servers: Vec<Translated>,
    pub(crate) secrets: Vec<String>,
    /// Notes for the user.
    pub(crate) warnings: Vec<String>,
}

impl Wish {
    /// The exit code of a run that did what could be done.
    pub(crate) fn exit(&self) -> u8 {
        if self.left_out() > 0 { exit::FAILED } else { 0 }
    }

    /// How many servers cannot be said in Codex's words.
    pub(crate) fn left_out(&self) -> usize {
        self.servers.iter().filter(|server| server.server.is_err()).count()
    }

    /// Adds what the reader of the configuration would advise about keys that have no effect. If the servers cannot be
    /// read at all, it is not known which ones are wanted.
    pub(crate) fn advise(&mut self, problems: &[ConfigProblem]) {
        for problem in problems.iter().filter(|problem| problem.key.as_deref() == Some("mcp_servers")) {
            self.warnings.push(problem.to_string());
            if problem.severity == Severity::Error {
                self.additions.undecided.push(Undecided::Servers);
            }
        }
        for server in &mut self.servers {
            for skipped in &mut server.skipped {
                let key = format!("mcp_servers.{}.{}", server.name, skipped.key);
                let problem = problems.iter().find(|problem| problem.key.as_deref() == Some(&key));
                if let Some(hint) = problem.and_then(|problem| problem.hint.as_deref()) {
                    skipped.why += &format!(" ({hint})");
                }
            }
        }
    }
}

/// Identity of this Talaria, for the entry of its own tools.
#[derive(Debug)]
pub(crate) struct Itself<'a> {
    pub(crate) program: &'a Path,
    /// `TALARIA_HOME`, if it is set.
    pub(crate) home: Option<OsString>,
    /// `HOME`, for servers that are written with a `~`.
    pub(crate) user_home: Option<&'a str>,
}

/// Builds the plan.
pub(crate) fn wish(
    options: &args::Migrate,
    config: &Config,
    itself: &Itself<'_>,
    plugins: Plugins,
) -> Result<Wish, Trouble> {
    let literals = if options.include_secrets { Literals::Keep } else { Literals::Refer };
    let in_codex_words = |server: &Server| {
        let mut server = server.clone();
        if let Some(home) = itself.user_home {
            server.at_home(home);
        }
        let mut translated = translate(&server, literals);
        if let Err(why) = &mut translated.server
            && translate(&server, Literals::Keep).server.is_ok()
        {
            *why += "; --include-secrets writes it as it is";
        }
        translated
    };
    let mut servers: Vec<Translated> = config.servers.iter().map(in_codex_words).collect();
    refuse_shared_variables(&mut servers, &config.servers);
    let mut additions = Additions { plugins: plugins.names, ..Additions::default() };
    if plugins.is_incomplete {
        additions.undecided.push(Undecided::Plugins);
    }
    for Translated { name, server, .. } in &servers {
        match server {
            Ok(server) => additions.servers.push((name.clone(), server.clone())),
            // A mistake does not say that it is wanted no more.
            Err(_) => additions.undecided.push(Undecided::Server(name.clone())),
        }
    }
    let mut warnings = plugins.warnings;
    if !options.no_tools {
        if config.servers.iter().any(|server| server.name == TOOLS) {
            warnings.push(format!(
                "{TOOLS} is a server of your own in Talaria's configuration; Talaria's is left out"
            ));
        } else {
            additions.servers.push((TOOLS.to_owned(), tools(itself)?));
        }
    }
    if let Some(profile) = &options.permissions {
        check_profile(profile, config)?;
        additions.default_permissions = Some(profile.clone());
    }
    Ok(Wish { additions, servers, secrets: secrets(config), warnings })
}

/// Codex passes a variable on under its own name only: two servers with different secrets in one would share the first.
fn refuse_shared_variables(translated: &mut [Translated], servers: &[Server]) {
    let mut taken: HashMap<&str, (&str, &str)> = HashMap::new();
    for (translated, server) in translated.iter_mut().zip(servers) {
        let Some(Transport::Stdio { env, .. }) = &server.transport else { continue };
        for Referred { variable, .. } in &translated.referred {
            let Some((name, ValueSource::Literal(secret))) = env.get_key_value(variable) else { continue };
            let (first, other) = *taken.entry(name).or_insert((&server.name, secret));
            if other != secret {
                translated.server = Err(format!(
                    "env.{name} is another secret than that of server {first}, and Codex could take both only from \
                     the one variable {name}; --include-secrets writes them as they are"
                ));
            }
        }
    }
}

/// The literals of Talaria's configuration that look like secrets: an earlier migration may have written them.
pub(crate) fn secrets(config: &Config) -> Vec<String> {
    config.servers.iter().flat_map(|server| translate(server, Literals::Keep).secrets).collect()
}

/// `talaria mcp`, on the same home.
fn tools(itself: &Itself<'_>) -> Result<CodexServer, Trouble> {
    let text = |what: &str, path: &std::ffi::OsStr| match path.to_str() {
        Some(text) => Ok(text.to_owned()),
        None => Err(Trouble::new(exit::FAILED, format!("cannot write the entry of {TOOLS}"))
            .because(format!("{what} is not valid UTF-8"))
            .try_this("leave it out with --no-tools")),
    };
    let mut made = CodexServer {
        command: Some(text("the path of this program", itself.program.as_os_str())?),
        args: vec!["mcp".to_owned()],
        ..CodexServer::default()
    };
    if let Some(home) = itself.home.as_deref().filter(|home| !home.is_empty()) {
        // Codex starts it elsewhere.
        let home = std::path::absolute(home).map_or_else(|_| home.to_owned(), Into::into);
        made.env.insert("TALARIA_HOME".to_owned(), text("TALARIA_HOME", &home)?);
    }
    Ok(made)
}

/// A profile that permits more than Talaria's own configuration allows would open in Codex what was closed here.
fn check_profile(profile: &str, config: &Config) -> Result<(), Trouble> {
    let gives = match profile {
        ":read-only" => 0,
        ":workspace" => 1,
        // A profile of the user's own may allow anything; the user wrote it.
        own if !own.starts_with(':') => return Ok(()),
        _ => 2,
    };
    let by_mode = config.approvals.mode.map(|mode| ("approvals.mode", mode.settings().sandbox));
    let Some((key, sandbox)) = config.codex.sandbox.map(|sandbox| ("codex.sandbox", sandbox)).or(by_mode)
    else {
        return Ok(());
    };
    let allows = match sandbox {
        Sandbox::ReadOnly => 0,
        Sandbox::WorkspaceWrite => 1,
        Sandbox::DangerFullAccess => 2,
    };
    if gives <= allows {
        return Ok(());
    }
    Err(Trouble::new(exit::BLOCKED, format!("{profile} is not written as Codex's default"))
        .because(format!("{key} in Talaria's configuration allows no more than {}", sandbox.as_str()))
        .try_this("choose a profile that allows less, or change Talaria's configuration first"))
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use expect_test::expect;
    use talaria_codex_proto::codex_config::plan;
    use talaria_core::config::parse;

    use super::*;
    use crate::args::{Cli, Command};

    fn read_wish(arguments: &str, config: &str) -> Result<Wish, Trouble> {
        let line = ["talaria", "migrate"].into_iter().chain(arguments.split_whitespace());
        let Ok(Cli { command: Some(Command::Migrate(options)), .. }) = Cli::try_parse_from(line) else {
            panic!("not a migration: {arguments}")
        };
        let itself = Itself {
            program: Path::new("/opt/talaria"),
            home: Some("/h \"q\"".into()),
            user_home: Some("/home/me"),
        };
        let plugins = Plugins { names: vec!["p@m".to_owned()], ..Plugins::default() };
        wish(&options, &parse(config).unwrap().config, &itself, plugins)
    }

    fn shown(wish: &Wish) -> String {
        let servers = Additions { servers: wish.additions.servers.clone(), ..Additions::default() };
        let text = plan("", &servers, None).unwrap().text;
        text.split_inclusive('\n').filter(|line| !line.starts_with('#') && !line.trim().is_empty()).collect()
    }

    #[test]
    fn servers_are_said_in_codexs_words_and_talarias_own_tools_are_one_of_them() {
        let wish = read_wish("", "[mcp_servers.a]\ncommand = \"~/bin/a\"\ntimeout = 5\n").unwrap();
        expect![[r#"
            [mcp_servers.a]
            command = "/home/me/bin/a"
            tool_timeout_sec = 5
            [mcp_servers.talaria-tools]
            command = "/opt/talaria"
            args = ["mcp"]
            env = { TALARIA_HOME = "/h \"q\"" }
        "#]]
        .assert_eq(&shown(&wish));
        assert_eq!(wish.additions.plugins, ["p@m"]);
        assert_eq!((wish.additions.default_permissions.as_deref(), wish.exit()), (None, 0));
        assert_eq!(shown(&read_wish("--no-tools", "").unwrap()), "");
    }

    #[test]
    fn a_server_that_cannot_be_said_is_an_error_of_its_own_and_a_users_own_tools_win() {
        let config = "[mcp_servers.a]\n[mcp_servers.talaria-tools]\ncommand = \"mine\"\n";
        let wish = read_wish("", config).unwrap();
        assert_eq!(shown(&wish), "[mcp_servers.talaria-tools]\ncommand = \"mine\"\n");
        assert_eq!((wish.exit(), wish.warnings.len()), (exit::FAILED, 1));
        assert_eq!(wish.additions.undecided, [Undecided::Server("a".to_owned())]);
    }

    #[test]
    fn servers_that_cannot_be_read_at_all_are_told_and_may_still_be_wanted() {
        let config = "mcp_servers = 3\n";
        let mut wish = read_wish("", config).unwrap();
        wish.advise(&parse(config).unwrap().problems);
        assert_eq!(wish.additions.undecided, [Undecided::Servers]);
        assert!(wish.warnings[0].contains("mcp_servers"), "{:?}", wish.warnings);
    }

    #[test]
    fn a_key_that_is_not_known_comes_with_the_nearest_name() {
        let config = "[mcp_servers.a]\ncomand = \"x\"\nurl = \"https://example.org\"\n";
        let mut wish = read_wish("", config).unwrap();
        wish.advise(&parse(config).unwrap().problems);
        let skipped = &wish.servers[0].skipped[0];
        assert_eq!(
            (skipped.key.as_str(), skipped.why.as_str()),
            ("comand", "unknown key (did you mean command?)")
        );
    }

    #[test]
    fn secrets_are_written_only_when_that_was_said_and_then_they_are_masked() {
        let config = "[mcp_servers.a]\ncommand = \"a\"\nenv = { API_KEY = \"quite secret\" }\n";
        assert!(!shown(&read_wish("", config).unwrap()).contains("quite secret"));
        let wish = read_wish("--include-secrets", config).unwrap();
        assert!(shown(&wish).contains("quite secret"));
        assert_eq!(wish.secrets, ["quite secret"]);
    }

    #[test]
    fn two_servers_never_share_a_variable_for_different_secrets() {
        let server = |name: &str, secret: &str| {
            format!("[mcp_servers.{name}]\ncommand = \"x\"\nenv = {{ API_KEY = \"{secret}\" }}\n")
        };
        let config = server("one", "first-secret")
            + &server("two", "first-secret")
            + &server("three", "second-secret");
        let outcomes = |arguments: &str| -> Vec<bool> {
            read_wish(arguments, &config)
                .unwrap()
                .servers
                .iter()
                .map(|server| server.server.is_ok())
                .collect()
        };
        assert_eq!(outcomes(""), [true, true, false]);
        assert_eq!(outcomes("--include-secrets"), [true; 3]);
    }

    #[test]
    fn a_profile_that_gives_more_than_talarias_own_configuration_is_not_written() {
        let profile = |arguments: &str, config: &str| {
            let profile = read_wish(arguments, config).map(|wish| wish.additions.default_permissions);
            profile.map_err(|trouble| (trouble.exit, trouble.cause().to_owned()))
        };
        let tight = "[codex]\nsandbox = \"read-only\"\n";
        let modest = "[approvals]\nmode = \"approval-required\"\n";
        assert_eq!(profile("--permissions :workspace", "").unwrap().as_deref(), Some(":workspace"));
        assert_eq!(profile("--permissions :read-only", tight).unwrap().as_deref(), Some(":read-only"));
        for config in [tight, modest] {
            let (exit, _) = profile("--permissions :workspace", config).unwrap_err();
            assert_eq!(exit, exit::BLOCKED, "{config}");
        }
        let wide = "[codex]\nsandbox = \"workspace-write\"\n";
        let (_, cause) = profile("--permissions :danger-full-access", wide).unwrap_err();
        assert_eq!(cause, "codex.sandbox in Talaria's configuration allows no more than workspace-write");
    }
}
