//! `talaria skills`: the skills of this directory, their origin, and proposals of models. `/skills` in the chat shows the
//! same text.

mod words;

use jiff::Timestamp;
use talaria_core::api::{
    SkillDone, SkillList, SkillProposal, SkillProposalQuery, SkillQuery, SkillText, SkillTextQuery, SkillWish,
};
use talaria_core::next_step::NextStep;
use talaria_render::{Look, StyledText, plain_line};
use talaria_server::client::Client;

use crate::advice::Reader;
use crate::args::{Skills, SkillsAction};
use crate::engine::{self, not_done, refused};
use crate::look;
use crate::output::{encoded, print};
use crate::progress::with_progress;
use crate::sessions::json_lines;
use crate::settings::Settings;
use crate::trouble::{Trouble, complain, exit};

/// Who asks, and how the answer is shown.
pub(crate) struct SkillsClient<'a> {
    pub(crate) client: &'a Client,
    pub(crate) look: Look,
    pub(crate) reader: Reader,
    /// A missing directory has no project skills; all others are listed.
    pub(crate) cwd: Option<String>,
}

/// An answer, and what the person should know besides.
pub(crate) struct SkillsPage {
    pub(crate) text: StyledText,
    pub(crate) notes: Vec<String>,
}

/// The engine's response.
enum SkillAnswer {
    List(SkillList),
    /// Only those that seem to be needed no more are shown.
    Stale(SkillList),
    Text(Box<SkillText>),
    Proposals(Vec<SkillProposal>),
    Diff(Box<SkillProposal>),
    /// The action, and its verb.
    Done(SkillDone, &'static str),
}

pub(crate) async fn run(options: &Skills) -> Result<u8, Trouble> {
    let settings = Settings::load()?.accept()?;
    let client = engine::reach(&settings.home).await?;
    let asks = SkillsClient {
        client: &client,
        look: look::of_stdout(),
        reader: Reader::Shell,
        cwd: std::env::current_dir().ok().map(|cwd| cwd.to_string_lossy().into_owned()),
    };
    let page = with_progress("asking the engine", carry_out(&options.action, &asks)).await?;
    for note in &page.notes {
        complain(&format!("note: {}\n", plain_line(note)));
    }
    print(&encoded(&page.text))?;
    Ok(0)
}

/// Carries an action out and returns what a person reads.
pub(crate) async fn carry_out(action: &SkillsAction, asks: &SkillsClient<'_>) -> Result<SkillsPage, Trouble> {
    let mut answer = asks.ask(action).await?;
    let notes = match &mut answer {
        SkillAnswer::List(list) | SkillAnswer::Stale(list) => std::mem::take(&mut list.notes),
        _ => Vec::new(),
    };
    let text = match is_json(action) {
        true => answer.json().into(),
        false => answer.show(Timestamp::now(), asks.look, asks.reader),
    };
    Ok(SkillsPage { text, notes })
}

impl SkillsClient<'_> {
    async fn ask(&self, action: &SkillsAction) -> Result<SkillAnswer, Trouble> {
        let (client, cwd) = (self.client, self.cwd.clone());
        match action {
            SkillsAction::List { stale, .. } => {
                let list = client.skills(&SkillQuery { cwd }).await;
                let list = list.map_err(|error| refused("cannot list skills", &error))?;
                Ok(if *stale { SkillAnswer::Stale(list) } else { SkillAnswer::List(list) })
            }
            SkillsAction::Show { name, file, .. } => {
                let query = SkillTextQuery { name: name.clone(), cwd, file: file.clone() };
                let text =
                    client.skill(&query).await.map_err(|error| refused("cannot show the skill", &error))?;
                Ok(SkillAnswer::Text(Box::new(text)))
            }
            SkillsAction::Proposals { all, .. } => proposals(client, *all).await.map(SkillAnswer::Proposals),
            SkillsAction::Diff { proposal, .. } => {
                let found = proposal_named(proposals(client, true).await?, proposal)?;
                Ok(SkillAnswer::Diff(Box::new(found)))
            }
            SkillsAction::Accept { proposal, .. } => {
                let wish = SkillWish::Accept { proposal: proposal.clone() };
                self.change(&wish, "accepted").await
            }
            SkillsAction::Reject { proposal, .. } => {
                let wish = SkillWish::Reject { proposal: proposal.clone() };
                self.change(&wish, "rejected").await
            }
            SkillsAction::Archive { name, .. } => {
                let cwd = cwd.unwrap_or_else(|| "/".to_owned());
                self.change(&SkillWish::Archive { name: name.clone(), cwd }, "archived").await
            }
            SkillsAction::Restore { archived, .. } => {
                let wish = SkillWish::Restore { archived: archived.clone() };
                self.change(&wish, "restored").await
            }
        }
    }

    async fn change(&self, wish: &SkillWish, word: &'static str) -> Result<SkillAnswer, Trouble> {
        let done = self.client.change_skills(wish).await;
        let look = NextStep::ListSkillProposals;
        let done = done.map_err(|error| not_done("cannot change the skills", &error, look))?;
        Ok(SkillAnswer::Done(done, word))
    }
}

async fn proposals(client: &Client, all: bool) -> Result<Vec<SkillProposal>, Trouble> {
    let found = client.skill_proposals(&SkillProposalQuery { all }).await;
    found.map_err(|error| refused("cannot list proposals about skills", &error))
}

/// The proposal that an id or its beginning means.
fn proposal_named(proposals: Vec<SkillProposal>, typed: &str) -> Result<SkillProposal, Trouble> {
    let mut named = proposals.into_iter().filter(|proposal| proposal.id.starts_with(typed));
    match (named.next(), named.next()) {
        (Some(found), None) => Ok(found),
        (found, _) => {
            let why =
                if found.is_some() { "several proposals begin with" } else { "no proposal begins with" };
            Err(Trouble::new(exit::USAGE, "cannot show this proposal")
                .because(format!("{why} {typed:?}"))
                .try_this(NextStep::ListSkillProposals))
        }
    }
}

fn is_json(action: &SkillsAction) -> bool {
    match action {
        SkillsAction::List { json, .. }
        | SkillsAction::Show { json, .. }
        | SkillsAction::Proposals { json, .. }
        | SkillsAction::Diff { json, .. }
        | SkillsAction::Accept { json, .. }
        | SkillsAction::Reject { json, .. }
        | SkillsAction::Archive { json, .. }
        | SkillsAction::Restore { json, .. } => *json,
    }
}

impl SkillAnswer {
    fn json(&self) -> String {
        match self {
            Self::List(list) => json_lines(&list.skills),
            Self::Stale(list) => {
                json_lines(&list.skills.iter().filter(|skill| skill.is_stale).collect::<Vec<_>>())
            }
            Self::Text(text) => json_lines(&[text]),
            Self::Proposals(proposals) => json_lines(proposals),
            Self::Diff(proposal) => json_lines(&[proposal]),
            Self::Done(done, _) => json_lines(&[done]),
        }
    }

    fn show(&self, now: Timestamp, look: Look, reader: Reader) -> StyledText {
        match self {
            Self::List(list) => words::list(list, now, look, reader),
            Self::Stale(list) => words::stale(list, now, look, reader),
            Self::Text(text) => words::text(text, now, look),
            Self::Proposals(proposals) => words::proposals(proposals, now, look, reader),
            Self::Diff(proposal) => words::diff(proposal, look, reader),
            Self::Done(done, word) => words::done(done, word, reader).into(),
        }
    }
}
