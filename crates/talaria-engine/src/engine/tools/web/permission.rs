//! May this conversation read that site? Where its sandbox has the network, yes; elsewhere a person is asked.
//!
//! The request is a row like every other, opened by Talaria itself in the running turn. A separate async task waits for the
//! answer and closes it, so that a call may return before a person has decided: the next call for the same site finds the
//! answer. `accept` permits one page, `accept_for_session` the site for the rest of the conversation (read from the row, so
//! that a later engine applies it), `decline` refuses it for the rest of the turn. Requests still open when the turn ends
//! are withdrawn. An engine that is killed leaves an open row; the next one closes it with the turn, or waits for it when
//! the call is repeated.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use talaria_codex::conversation::{Command, Watcher as _, mint_ticket};
use talaria_core::config::{WebConfig, WebNetwork};
use talaria_core::ids::{SessionId, TicketId};
use talaria_core::request::{Ask, Decision, Who};
use talaria_core::tool::ToolInvocation;
use talaria_store::{RequestRow, RequestState, StoreError};
use tokio::sync::Notify;
use tokio::time::Instant;
use url::Url;

use crate::engine::Inner;
use crate::engine::journal::asker::QuestionTopic;
use crate::engine::journal::own_question::OwnQuestion;

/// How long one call waits for a person.
const PATIENCE: Duration = Duration::from_secs(30);

/// Granted access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WebPermission {
    /// Every site.
    Everywhere,
    /// The site of the page that was asked for, and no other.
    ThisSite,
}

/// The requests about web pages.
#[derive(Default)]
pub(crate) struct WebQuestions {
    /// Acceptances of one page that were not used yet.
    unused: Mutex<HashMap<TicketId, SessionId>>,
    /// Requests that a task of this engine waits for.
    watched: Mutex<HashSet<TicketId>>,
    /// Locked while a request is closed, so that it is closed once.
    closing: tokio::sync::Mutex<()>,
    changed: Notify,
}

impl WebQuestions {
    /// A request was answered.
    pub(crate) fn wake(&self) {
        self.changed.notify_waiters();
    }
}

/// Recorded decisions about a site.
enum SiteStanding {
    Granted,
    Declined(Who),
    /// A person has not decided.
    Open(TicketId),
    Unasked,
}

/// A turn is over, or not.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TurnState {
    Runs,
    Over,
}

impl Inner {
    /// Returns what may be read, waiting for a person if one has to be asked. `Err` says to the model why nothing may.
    pub(super) async fn may_read_web(
        self: &Arc<Self>,
        session: &SessionId,
        call: &ToolInvocation,
        config: &WebConfig,
        url: &Url,
    ) -> Result<WebPermission, String> {
        if call.confinement.has_network || config.network == Some(WebNetwork::Always) {
            return Ok(WebPermission::Everywhere);
        }
        if !call.confinement.asks {
            return Err("the sandbox of this conversation has no network, and its approval policy permits no question; the \
                        user can permit it with web.network = \"always\" in the configuration of Talaria"
                .to_owned());
        }
        let site = site(url);
        let deadline = Instant::now() + PATIENCE;
        loop {
            let changed = self.web.questions.changed.notified();
            tokio::pin!(changed);
            // Subscribe first: an answer that arrives while the rows are read is not missed.
            changed.as_mut().enable();
            match self.site_standing(session, &site).await.map_err(|error| unread(&error))? {
                SiteStanding::Granted => return Ok(WebPermission::ThisSite),
                SiteStanding::Declined(by) => return Err(declined(&site, by)),
                SiteStanding::Open(ticket) => self.watch_web_question(session, ticket),
                SiteStanding::Unasked => {
                    self.ask_for_site(session, call, url, &site).await.map_err(|error| unread(&error))?;
                }
            }
            tokio::select! {
                () = changed => {}
                () = tokio::time::sleep_until(deadline) => {
                    return Err(format!(
                        "waiting for permission: the user is asked whether {site} may be read and has not answered yet; do \
                         something else and call again later"
                    ));
                }
            }
        }
    }

    async fn site_standing(&self, session: &SessionId, site: &str) -> Result<SiteStanding, StoreError> {
        let store = &self.shelf.store;
        let turn = store.next_unsettled(session).await?.map(|turn| turn.ordinal);
        let mut standing = SiteStanding::Unasked;
        for question in OwnQuestion::of_session(store, session, QuestionTopic::WebPage, None).await? {
            let request = question.row();
            if !is_about_site(request, site) {
                continue;
            }
            let is_present = request.turn == turn;
            match (request.state, question.decision()) {
                (RequestState::Delivered, Decision::AcceptForSession | Decision::AcceptAlways) => {
                    return Ok(SiteStanding::Granted);
                }
                (RequestState::Delivered, Decision::Accept) if is_present => {
                    let is_unused = lock(&self.web.questions.unused).remove(&request.id).is_some();
                    if is_unused {
                        return Ok(SiteStanding::Granted);
                    }
                }
                (RequestState::Delivered, _) if is_present => {
                    standing = SiteStanding::Declined(question.by());
                }
                (RequestState::Open | RequestState::Answered, _) if is_present => {
                    standing = SiteStanding::Open(request.id.clone());
                }
                _ => {}
            }
        }
        Ok(standing)
    }

    async fn ask_for_site(
        self: &Arc<Self>,
        session: &SessionId,
        call: &ToolInvocation,
        url: &Url,
        site: &str,
    ) -> Result<(), StoreError> {
        let unknown = || StoreError::UnknownSession(session.clone());
        let turn = self.shelf.store.next_unsettled(session).await?.ok_or_else(unknown)?;
        let mut journal = self.journal_of_turn(session, &turn, self.desk.feed(session)).await?;
        let ticket = mint_ticket();
        let ask = Ask::WebPage {
            thread: call.thread.clone(),
            item: call.item.clone(),
            site: site.to_owned(),
            url: url.to_string(),
        };
        OwnQuestion::open(&ticket, ask, QuestionTopic::WebPage, &mut journal).await?;
        self.watch_web_question(session, ticket);
        Ok(())
    }

    /// Waits for the answer concurrently with the turn, unless a task waits already.
    fn watch_web_question(self: &Arc<Self>, session: &SessionId, ticket: TicketId) {
        if !lock(&self.web.questions.watched).insert(ticket.clone()) {
            return;
        }
        let (engine, session, mut ended) = (Arc::clone(self), session.clone(), self.ended.subscribe());
        self.tasks.spawn(async move {
            tokio::select! {
                () = engine.wait_for_web_answer(&session, &ticket) => {}
                // The next engine continues from the store.
                _ = ended.wait_for(|ended| *ended) => {}
            }
            lock(&engine.web.questions.watched).remove(&ticket);
        });
    }

    async fn wait_for_web_answer(&self, session: &SessionId, ticket: &TicketId) {
        loop {
            let changed = self.web.questions.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            match self.settle_web_question(session, ticket, TurnState::Runs).await {
                Ok(true) => return,
                Ok(false) => changed.await,
                Err(error) => {
                    tracing::warn!("the request {ticket} is not closed: {error}");
                    return;
                }
            }
        }
    }

    /// Closes a request that was answered, or whose turn is over. Returns whether it is closed.
    async fn settle_web_question(
        &self,
        session: &SessionId,
        ticket: &TicketId,
        state: TurnState,
    ) -> Result<bool, StoreError> {
        let (store, questions) = (&self.shelf.store, &self.web.questions);
        let _closing = questions.closing.lock().await;
        let Some(question) = OwnQuestion::find(store, ticket).await? else { return Ok(true) };
        let request = question.row();
        match (request.state, state) {
            (RequestState::Open, TurnState::Runs) => return Ok(false),
            (RequestState::Open, TurnState::Over) | (RequestState::Answered, _) => {}
            _ => return Ok(true),
        }
        let turn = match request.turn {
            Some(ordinal) => store.turn(session, ordinal).await?,
            None => None,
        };
        let turn = turn.ok_or_else(|| StoreError::UnknownSession(session.clone()))?;
        let mut journal = self.journal_of_turn(session, &turn, self.desk.feed(session)).await?;
        let answer = (request.state == RequestState::Answered).then(|| question.decision());
        match answer {
            Some(_) => question.close(&mut journal),
            None => {
                let why = "the turn ended before it was answered";
                OwnQuestion::withdraw(ticket, Who::Talaria, why, &mut journal);
            }
        }
        if answer == Some(Decision::Accept) && state == TurnState::Runs {
            lock(&questions.unused).insert(ticket.clone(), session.clone());
        }
        journal.keep().await.map_err(|_| StoreError::Closed)?;
        questions.wake();
        if answer == Some(Decision::Cancel) && state == TurnState::Runs {
            self.desk.tell(session, Command::Interrupt { by: question.by() });
        }
        Ok(true)
    }

    /// Closes what is open when a turn has ended. Called by the task of the session.
    pub(crate) async fn withdraw_web_questions(&self, session: &SessionId) -> Result<(), StoreError> {
        lock(&self.web.questions.unused).retain(|_, owner| owner != session);
        let states = Some(vec![RequestState::Open, RequestState::Answered]);
        let store = &self.shelf.store;
        for question in OwnQuestion::of_session(store, session, QuestionTopic::WebPage, states).await? {
            self.settle_web_question(session, &question.row().id, TurnState::Over).await?;
        }
        Ok(())
    }
}

/// The unit of permission: the host without `www.`, and the port unless it is the default.
pub(super) fn site(url: &Url) -> String {
    let host = &url[url::Position::BeforeHost..url::Position::AfterPort];
    host.strip_prefix("www.").unwrap_or(host).to_owned()
}

fn is_about_site(request: &RequestRow, site: &str) -> bool {
    matches!(serde_json::from_str::<Ask>(&request.ask), Ok(Ask::WebPage { site: asked, .. }) if asked == site)
}

/// Only a person who was asked has declined: a command without a terminal declines by itself.
fn declined(site: &str, by: Who) -> String {
    match by {
        Who::User => format!("the user declined to let {site} be read in this turn"),
        by => format!("{site} may not be read in this turn: no person was there to ask (declined by {by})"),
    }
}

fn unread(error: &StoreError) -> String {
    format!("it cannot be found out whether this may be read: {error}")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_is_host_and_unusual_port() {
        let of = |text: &str| site(&Url::parse(text).unwrap());
        assert_eq!(of("https://www.example.org/a"), "example.org");
        assert_eq!(of("http://example.org:443/"), "example.org:443");
        assert_eq!(of("https://example.org:443/"), "example.org");
        assert_eq!(of("http://[::1]:80/"), "[::1]");
        assert_ne!(of("https://docs.example.org"), of("https://example.org"));
    }
}
