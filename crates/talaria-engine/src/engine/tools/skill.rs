//! `talaria_skill`: the model lists and reads skills, and proposes changes that a person decides about.
//!
//! Listing and reading change nothing and are every caller's. A proposal is a row, never a changed file, and the person reads
//! one line about it in the conversation.

mod arguments;
mod page;

use std::time::Duration;

use serde_json::{Value, json};
use talaria_core::ids::SessionId;
use talaria_core::skill::name::is_listable;
use talaria_core::tool::{ToolEffect, ToolInvocation, ToolSpec};
use talaria_guard::redact::redact;
use talaria_guard::shorten::shorten_line;
use talaria_store::{SkillAuthor, SkillOrigin};

use super::EngineTool;
use super::ledger::{ToolFailure, ToolReturn};
use crate::engine::Inner;
use crate::engine::skills::{SkillFolder, SkillRefused, SkillWanted};
use arguments::{SkillArguments, SkillCall};

/// How much of a name that a model made up is shown to the person.
const SHOWN_NAME: usize = 40;

/// Description for the model.
pub(super) fn spec() -> ToolSpec {
    ToolSpec {
        name: "talaria_skill",
        description: "List and read skills (instructions for a kind of work), and propose a new one, an improvement, or an \
                      archival. The user decides about proposals; nothing changes before. Propose what will help again: a \
                      technique that worked, a correction by the user, a skill that was wrong. Name a skill after a kind of \
                      work; rather improve one than add another. No secrets.",
        schema: json!({
            "type": "object",
            "properties": {
                "op": { "type": "string", "enum": ["list", "read", "propose", "archive"] },
                "name": { "type": "string", "description": "The skill; list: a part of the name." },
                "file": {
                    "type": "string",
                    "description": "read, propose: a file in references, templates, scripts or assets; else SKILL.md.",
                },
                "text": {
                    "type": "string",
                    "description": "propose: the whole file. SKILL.md begins with front matter: name, description.",
                },
                "find": { "type": "string", "description": "propose, instead of text: a part that is in the file once." },
                "replace": { "type": "string", "description": "propose: what replaces it." },
                "page": { "type": "integer", "description": "read: the page of a long file, from 1." },
            },
            "required": ["op"],
            "additionalProperties": false,
        }),
        limit: Duration::from_secs(20),
    }
}

/// Whether a call with these arguments only reads. One that cannot be understood is taken for a change.
pub(super) fn effect(arguments: &Value) -> ToolEffect {
    match arguments.get("op").and_then(Value::as_str) {
        Some("list" | "read") => ToolEffect::Reads,
        _ => ToolEffect::Changes,
    }
}

impl Inner {
    /// Answers one call; `Err` says to the model why nothing was done.
    pub(super) async fn use_skills(&self, session: &SessionId, call: &ToolInvocation) -> ToolReturn {
        let row = self.shelf.store.session(session).await;
        let row = row.map_err(|error| {
            ToolFailure::of_store(format!("the conversation cannot be read now: {error}"), &error)
        })?;
        let row = row.ok_or_else(|| "this conversation no longer exists".to_owned())?;
        let parsed = SkillArguments::parse(&call.arguments);
        match self.accept_arguments(session, EngineTool::Skill, parsed)? {
            SkillArguments::List { part } => {
                let library = self.skill_library(Some(&row.cwd)).await;
                Ok(page::list(&library, part.as_deref()))
            }
            SkillArguments::Read { name, file, page } => {
                Ok(self.read_skill(session, call, &row.cwd, &name, file, page).await?)
            }
            SkillArguments::Change(SkillCall { name, file, edit }) => {
                let wanted = SkillWanted { name: name.clone(), file, edit, cwd: row.cwd };
                self.want_skill(session, call, wanted).await
            }
        }
    }

    async fn read_skill(
        &self,
        session: &SessionId,
        call: &ToolInvocation,
        cwd: &str,
        name: &str,
        file: String,
        page: usize,
    ) -> Result<String, String> {
        let library = self.skill_library(Some(cwd)).await;
        let found = library.find(name).cloned();
        let found = found.ok_or_else(|| {
            // A path in the place of a name is no slip: the person learns that it was tried.
            if !is_listable(name) {
                let shown = shorten_line(name, SHOWN_NAME);
                self.report_call(
                    session,
                    EngineTool::Skill,
                    &format!("reading {shown} was refused: that is no name of a skill"),
                );
            }
            format!("there is no skill {name}; op list shows those that there are")
        })?;
        let read = {
            let (folder, file) = (SkillFolder::at(&found.folder), file.clone());
            tokio::task::spawn_blocking(move || (folder.read(&file), folder.files())).await
        };
        let (text, files) = read.map_err(|error| format!("the skill cannot be read now: {error}"))?;
        let text = text.map_err(|error| error.to_string())?;
        let text =
            text.ok_or_else(|| format!("{name} has no file {file}; its files: {}", page::names(&files)))?;
        let answer = page::file(&found, &file, &redact(&text), &files, page)?;
        // Reading does not fail because it could not be counted.
        if let Err(error) = self.note_skill_use(&found.folder, session, call.item.as_str()).await {
            tracing::warn!("the use of a skill was not recorded: {error}");
        }
        Ok(answer)
    }

    async fn want_skill(
        &self,
        session: &SessionId,
        call: &ToolInvocation,
        wanted: SkillWanted,
    ) -> ToolReturn {
        let origin = SkillOrigin {
            author: SkillAuthor::Model,
            session: Some(session.clone()),
            turn: Some(call.turn.to_string()),
            call: Some(call.item.to_string()),
        };
        let name = wanted.name.clone();
        match self.propose_skill(wanted, origin).await {
            Ok(proposed) => {
                if !proposed.is_repeat {
                    self.report_call(session, EngineTool::Skill, &page::news(&name, &proposed));
                }
                Ok(page::proposed(&name, &proposed))
            }
            Err(SkillRefused::Request(why) | SkillRefused::Conflict(why)) => {
                self.report_call(
                    session,
                    EngineTool::Skill,
                    &format!("a proposal about {name} was refused: {why}"),
                );
                Err(format!("nothing was proposed: {why}").into())
            }
            Err(SkillRefused::Store(error)) => {
                let why = format!("nothing was proposed: the proposal cannot be stored now: {error}");
                Err(ToolFailure::of_store(why, &error))
            }
        }
    }
}
