//! `talaria` without a command: a conversation in the terminal, as a client of the engine. Leaving it stops nothing.
//!
//! Two front ends share one `driver`: the screen, and the plain mode for pipes, screen readers and terminals that cannot
//! be redrawn. Errors are reported before either of them begins.

use std::io::{self, IsTerminal};

use talaria_core::api::SessionInfo;
use talaria_core::preferences::Preferences;
use talaria_server::client::Client;
use talaria_tui::chat::commands::SlashCommand;
use talaria_tui::chat::contract::{ChatEffect, PromptDraft};

use crate::engine::{self, refused, refused_id};
use crate::last_open::LastOpen;
use crate::progress::with_progress;
use crate::settings::Settings;
use crate::trouble::{Trouble, complain, exit};
use crate::{args, input};

mod chat_context;
mod clipboard;
mod commands;
mod driver;
mod errand;
mod exit_message;
mod files;
mod history;
mod login;
mod loop_offers;
mod pending_wishes;
mod plain;
mod progress;
mod reported_state;
mod screen;
mod sending;
mod shell;
mod signals;
mod watch;
mod words;

use chat_context::{ChatContext, ProviderChoice, Replies};
use driver::Driver;
use history::History;
use signals::Signals;

/// Runs the command. The number is the exit code.
pub(crate) async fn run(options: args::Chat, prompt: Option<String>) -> Result<u8, Trouble> {
    if prompt.is_some() && !io::stdin().is_terminal() && input::is_piped() {
        return Err(Trouble::new(
            exit::USAGE,
            "a prompt and input from a pipe cannot be combined in the chat",
        )
        .try_this("`talaria exec PROMPT` sends both as one turn"));
    }
    let cwd = input::working_directory(options.asked.cwd.as_deref())?;
    let settings = Settings::load()?.accept()?;
    let client = engine::reach(&settings.home).await?.for_many_wishes();
    let opened = opened(&client, &settings, &options).await?;
    let face = face(&options);
    if let Face::Plain { because: Some(why) } = &face {
        complain(&format!("{why}; using plain mode\n"));
    }
    let args::AskedSettings { model, effort, sandbox, approval, mode, provider, runtime, .. } = options.asked;
    if let (Some(info), Some(_)) = (&opened, runtime) {
        let message =
            format!("--runtime is for new conversations, and {} runs on {}", info.id.short(), info.runtime);
        return Err(Trouble::new(exit::USAGE, message)
            .try_this("/model PROVIDER MODEL changes it; the provider of Codex is openai-codex"));
    }
    let picks = options.resume.as_deref() == Some(args::PICK);
    if picks && prompt.is_some() {
        return Err(Trouble::new(exit::USAGE, "a prompt needs a conversation to go to")
            .try_this("name one: `talaria --resume ID PROMPT`; or `talaria --last PROMPT`"));
    }
    let images = options.image.iter().map(|image| input::image_path(image)).collect::<Result<Vec<_>, _>>()?;
    let draft = PromptDraft { text: prompt.unwrap_or_default(), images };
    let prompt = Some(draft).filter(|draft| *draft != PromptDraft::default());
    let wanted = Preferences { model, effort, sandbox, approval, mode };
    let history = History::in_home(settings.home.root());
    let said = history.read();
    let replies = if face == Face::Screen { Replies::Drawn } else { Replies::Written };
    let context =
        ChatContext::new(client, settings, wanted, cwd, replies).asking(ProviderChoice { provider, runtime });
    with_progress("asking Codex for its models", context.check_typed(opened.as_ref())).await?;
    // Until here Ctrl-C ends the program.
    let signals = Signals::listen()?;
    let mut driver = Driver::new(context, history, opened);
    if picks {
        driver.wish(ChatEffect::Run(SlashCommand::Resume(None)));
    }
    match face {
        Face::Screen => screen::run(driver, said, prompt, signals).await,
        Face::Plain { .. } => plain::run(driver, prompt, signals).await,
    }
}

/// How the conversation is shown.
#[derive(Debug, PartialEq, Eq)]
enum Face {
    Screen,
    /// Line by line; if that was not asked for, it is said why.
    Plain {
        because: Option<&'static str>,
    },
}

fn face(options: &args::Chat) -> Face {
    let term = std::env::var("TERM").ok().filter(|term| !term.is_empty());
    if options.plain {
        Face::Plain { because: None }
    } else if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        // A pipe is what was asked for.
        Face::Plain { because: None }
    } else {
        match term.as_deref() {
            None => Face::Plain { because: Some("TERM is not set") },
            Some("dumb") => Face::Plain { because: Some("this terminal (TERM=dumb) cannot be drawn on") },
            Some(_) => Face::Screen,
        }
    }
}

/// The conversation that was asked for.
async fn opened(
    client: &Client,
    settings: &Settings,
    options: &args::Chat,
) -> Result<Option<SessionInfo>, Trouble> {
    if let Some(id) = options.resume.as_deref().filter(|id| *id != args::PICK) {
        return match with_progress("looking for the conversation", client.session(id)).await {
            Ok(detail) => Ok(Some(detail.info)),
            Err(error) => Err(refused_id("cannot open this conversation", &error)),
        };
    }
    if !options.last {
        return Ok(None);
    }
    let last_open = LastOpen::in_home(settings.home.root());
    let last = with_progress("looking for the last conversation", last_open.find(client)).await;
    match last.map_err(|error| refused("cannot find the last conversation", &error))? {
        Some(last) => {
            if !last.is_here && face(options) != Face::Screen {
                // The screen says itself that it works elsewhere.
                let at = chat_context::shown_path(&last.info.cwd);
                complain(&format!("no conversation in this folder; this is the last one, in {at}\n"));
            }
            Ok(Some(last.info))
        }
        None => {
            Err(Trouble::new(exit::USAGE, "there is no conversation to resume")
                .try_this("`talaria` starts one"))
        }
    }
}
