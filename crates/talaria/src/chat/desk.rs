//! What every errand of the chat needs: the engine, the settings, the Codex that is meant, and how a turn is put together.
//!
//! Shared by all errands and never changed by them; what a person chose meanwhile comes as an argument.

use std::path::{Path, PathBuf};

use talaria_core::api::{Caller, Kind, LookAt, NewTurn, Offers, ProblemCode, SessionStarted};
use talaria_core::ids::SessionId;
use talaria_engine::codex::locate::CodexBinary;
use talaria_face::chat::contract::Prompt;
use talaria_face::chat::{Asked, folder};
use talaria_face::render::Look;
use talaria_server::client::{Client, ClientError};
use tokio::sync::OnceCell;

use crate::engine::{refused, refused_id};
use crate::exec::{QUIET, milliseconds};
use crate::settings::Settings;
use crate::trouble::{Trouble, exit};
use crate::wanted::Wanted;
use crate::{caller, input, look};

/// What every errand needs.
#[derive(Debug)]
pub(crate) struct Desk {
    /// For what a person wants.
    pub(crate) client: Client,
    /// For what nobody asked for: it starts no engine that a person stopped.
    pub(crate) onlooker: Client,
    pub(crate) settings: Settings,
    /// What was typed on the command line.
    pub(crate) wanted: Wanted,
    /// Where a new conversation works.
    pub(crate) cwd: String,
    replies: Replies,
    codex: OnceCell<CodexBinary>,
}

/// What becomes of the words that commands have to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Replies {
    /// They are read back and drawn.
    Drawn,
    /// They are written as they are.
    Written,
}

/// What the person chose for the turns to come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Chosen {
    pub(crate) model: Option<String>,
    pub(crate) effort: Option<String>,
}

/// Why no turn is known to have begun.
#[derive(Debug)]
pub(crate) enum Unstarted {
    /// The engine did not begin one.
    Refused(Trouble),
    /// The connection broke: it may have.
    Unknown(Trouble),
}

impl Desk {
    /// Makes one; Codex is looked for when it is needed.
    pub(crate) fn new(
        client: Client,
        settings: Settings,
        wanted: Wanted,
        cwd: String,
        replies: Replies,
    ) -> Self {
        Self { onlooker: client.looking_on(), client, settings, wanted, cwd, replies, codex: OnceCell::new() }
    }

    /// What is asked for where a conversation begins; one that there is has its own.
    pub(crate) fn asked(&self) -> Asked {
        let (wanted, config) = (&self.wanted, &self.settings.config);
        Asked {
            model: wanted.model(config),
            effort: wanted.effort(config),
            sandbox: wanted.sandbox(config).map(|sandbox| sandbox.as_str().to_owned()),
            approval: wanted.approval(config).map(|approval| approval.as_str().to_owned()),
        }
    }

    /// How replies are written now. Always as for a person: a diff that a program could read might command a terminal.
    pub(crate) fn look(&self) -> Look {
        let found = Look { live: true, ..look::of_stdout() };
        match self.replies {
            Replies::Written => found,
            Replies::Drawn => {
                Look { color: true, width: found.width.map(|width| width.saturating_sub(2)), ..found }
            }
        }
    }

    /// The Codex that is meant. Looked for again as long as there is none: a person may install it meanwhile.
    pub(crate) async fn codex(&self) -> Result<&CodexBinary, Trouble> {
        self.codex.get_or_try_init(|| self.settings.locate()).await
    }

    /// Describes this program to the engine.
    pub(crate) async fn caller(&self) -> Result<Caller, Trouble> {
        Ok(caller::describe(self.codex().await?, self.settings.codex_home()))
    }

    /// What a conversation in this directory would begin with.
    pub(crate) async fn offers(&self, cwd: &str) -> Result<Offers, Trouble> {
        let look_at = LookAt { caller: self.caller().await?, cwd: cwd.to_owned() };
        self.client.offers(&look_at).await.map_err(|error| refused("cannot ask Codex what it offers", &error))
    }

    /// A turn, as it is configured and chosen.
    pub(crate) async fn turn(&self, prompt: &Prompt, chosen: &Chosen) -> Result<NewTurn, Trouble> {
        let images: Vec<PathBuf> = prompt.images.iter().map(PathBuf::from).collect();
        let config = &self.settings.config;
        Ok(NewTurn {
            input: input::parts(prompt.text.clone(), &images)?,
            model: chosen.model.clone(),
            effort: chosen.effort.clone().or_else(|| config.model.effort.clone()),
            limit_ms: config.codex.turn_timeout.map(milliseconds),
            quiet_after_ms: Some(milliseconds(config.codex.idle_warning.unwrap_or(QUIET))),
            answers: self.wanted.answers(config),
            caller: self.caller().await?,
        })
    }

    /// Starts a turn: a further one of a conversation, or the first of a new one.
    pub(crate) async fn start(
        &self,
        session: Option<&SessionId>,
        prompt: &Prompt,
        chosen: &Chosen,
    ) -> Result<SessionStarted, Unstarted> {
        let what = "cannot start the turn";
        let turn = self.turn(prompt, chosen).await.map_err(Unstarted::Refused)?;
        if let Some(id) = session {
            return match self.client.start_turn(id.as_str(), &turn).await {
                Ok(started) => Ok(started),
                Err(error @ ClientError::Broken(_)) => Err(Unstarted::Unknown(refused(what, &error))),
                Err(ClientError::Problem(problem)) if problem.code == ProblemCode::Busy => {
                    let overtaken = "not sent: another turn of this conversation began just now";
                    let trouble = Trouble::new(exit::FAILED, overtaken);
                    Err(Unstarted::Refused(trouble.try_this("send it again: it goes to that turn")))
                }
                Err(error) => Err(Unstarted::Refused(refused_id(what, &error))),
            };
        }
        let Chosen { model, effort } = chosen.clone();
        let wanted = Wanted { model, effort, ..self.wanted.clone() };
        let turn = NewTurn { model: None, ..turn };
        let new = wanted.session(Kind::Chat, self.cwd.clone(), &self.settings.config, turn);
        self.client.start_session(&new).await.map_err(|error| match error {
            ClientError::Broken(_) => Unstarted::Unknown(refused(what, &error)),
            error => Unstarted::Refused(refused(what, &error)),
        })
    }
}

/// A path as people write it: below their home it begins with `~`.
pub(crate) fn shown_path(path: &str) -> String {
    folder::shown(path, std::env::var("HOME").ok().as_deref())
}

/// A path as it was typed: `~` is the person's home, and what is relative is seen from `cwd`.
pub(crate) fn typed_path(text: &str, cwd: &str) -> PathBuf {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    Path::new(cwd).join(talaria_engine::home::user_path(text, home.as_deref()))
}
