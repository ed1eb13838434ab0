//! `talaria login` and `/login`: one login by Codex, from its begin to its clear end.
//!
//! A Codex of its own does it, on the home that turns use; the engine is not involved, and replaces a Codex that missed the login
//! when the next turn needs one. A key goes to Codex alone: it is never an argument, shown, or stored here.

use std::io::{self, BufRead, IsTerminal, Read};
use std::sync::Arc;

use talaria_codex::host::{Host, HostSpec};
use talaria_codex::login::{Login, LoginStep};
use talaria_codex_proto::wire::call::LoginStart;
use talaria_render::plain_line;

use crate::keyboard::Keyboard;
use crate::line_reader::LineText;
use crate::progress::with_progress;
use crate::settings::Settings;
use crate::stops::{Stops, stopped, unless_stopped};
use crate::trouble::{Trouble, complain, exit};
use crate::{args, output};

/// The longest key that is read.
const LONGEST: u64 = 4096;

/// Runs the command. The number is the exit code.
pub(crate) async fn run(options: &args::Login) -> Result<u8, Trouble> {
    let settings = Settings::load()?.accept()?;
    let mut stops = Stops::listen()?;
    let canceled = "the login was canceled";
    let start = match (options.device, options.api_key) {
        (true, _) => LoginStart::ChatgptDeviceCode,
        (_, true) => {
            LoginStart::ApiKey { api_key: unless_stopped(&mut stops, key(), stopped(canceled)).await? }
        }
        _ => LoginStart::Chatgpt,
    };
    let attempt = with_progress("starting Codex", Attempt::begin(&settings, &start));
    let attempt = unless_stopped(&mut stops, attempt, stopped(canceled)).await?;
    if let Some(words) = attempt.words() {
        output::print(&words)?;
    }
    let waits = attempt.login.step() != &LoginStep::Nothing;
    let done = async {
        let what = if waits { "waiting for you; Ctrl-C cancels" } else { "logging in" };
        with_progress(what, attempt.completed()).await
    };
    let done = unless_stopped(&mut stops, done, stopped(canceled)).await;
    let who = match done {
        Ok(who) => who,
        Err(trouble) => {
            attempt.cancel().await;
            return Err(trouble);
        }
    };
    attempt.close().await;
    output::print(&format!("logged in: {who}\n"))?;
    Ok(0)
}

/// A login that was begun.
pub(crate) struct Attempt {
    host: Arc<Host>,
    login: Login,
}

impl Attempt {
    /// Starts a Codex and begins a login.
    pub(crate) async fn begin(settings: &Settings, start: &LoginStart) -> Result<Self, Trouble> {
        let codex = settings.locate().await?;
        let spec = HostSpec::new(&codex, settings.codex_home(), settings.home.hosts_dir());
        let host = Host::start(spec).await.map_err(|error| {
            Trouble::new(exit::CODEX, "cannot start Codex").because(&error).try_this(error.next_step())
        })?;
        let host = Arc::new(host);
        match Login::begin(Arc::clone(&host), start).await {
            Ok(login) => Ok(Self { host, login }),
            Err(error) => {
                host.close().await;
                Err(failed(&error.to_string()))
            }
        }
    }

    /// What the person has to do; nothing where Codex has all it needs.
    pub(crate) fn words(&self) -> Option<String> {
        match self.login.step() {
            LoginStep::Nothing => None,
            LoginStep::Browser { url } => {
                Some(format!("Open this address in a browser on this machine:\n\n  {}\n\n", plain_line(url)))
            }
            LoginStep::Device { url, code } => Some(format!(
                "Open this address on any device, and enter the code there:\n\n  {}\n  code  {}\n\n",
                plain_line(url),
                plain_line(code)
            )),
        }
    }

    /// Waits until Codex says that someone is logged in, and asks it who.
    pub(crate) async fn completed(&self) -> Result<String, Trouble> {
        self.login.completed().await.map_err(|error| failed(&error.to_string()))?;
        let account = self.host.account().await.ok().and_then(|reply| reply.account);
        // A provider that needs no login has no account to report.
        Ok(account.map_or_else(
            || "Codex has the login; the configured provider does not use it".to_owned(),
            |account| {
                let parts = [account.email, Some(account.kind), account.plan_type];
                plain_line(&parts.into_iter().flatten().collect::<Vec<_>>().join(", ")).into_owned()
            },
        ))
    }

    /// Cancels it and ends its Codex.
    pub(crate) async fn cancel(&self) {
        self.login.cancel().await;
        self.host.close().await;
    }

    /// Ends its Codex.
    pub(crate) async fn close(&self) {
        self.host.close().await;
    }
}

fn failed(why: &str) -> Trouble {
    Trouble::new(exit::FAILED, "the login failed")
        .because(why)
        .try_this("`talaria login --device` needs no browser on this machine; `--api-key` needs no ChatGPT")
}

/// The key, from a pipe or typed unseen.
async fn key() -> Result<String, Trouble> {
    let key = if io::stdin().is_terminal() { typed_key().await? } else { piped_key()? };
    let key = key.trim().to_owned();
    if key.is_empty() || key.contains(char::is_whitespace) {
        return Err(Trouble::new(exit::USAGE, "this is not an API key")
            .try_this("printenv OPENAI_API_KEY | talaria login --api-key"));
    }
    Ok(key)
}

fn piped_key() -> Result<String, Trouble> {
    let mut line = String::new();
    let read = io::stdin().lock().take(LONGEST).read_line(&mut line);
    read.map_err(|error| Trouble::new(exit::USAGE, "cannot read the API key").because(error))?;
    Ok(line)
}

async fn typed_key() -> Result<String, Trouble> {
    let no_terminal = || {
        Trouble::new(exit::USAGE, "the API key cannot be typed unseen here")
            .try_this("printenv OPENAI_API_KEY | talaria login --api-key")
    };
    let mut keyboard = Keyboard::open().ok_or_else(no_terminal)?;
    keyboard.hide_typing().map_err(|_| no_terminal())?;
    complain("API key (not shown): ");
    keyboard.forget_typed();
    keyboard.lines.question_is_put();
    keyboard.lines.want();
    let line = keyboard.lines.next().await;
    complain("\n");
    match line.text {
        LineText::Line(text) => Ok(text),
        _ => Err(Trouble::new(exit::INTERRUPTED, "the login was canceled")),
    }
}
