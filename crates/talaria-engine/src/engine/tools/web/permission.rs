//! May this conversation read that site? Where its sandbox has the network, yes; elsewhere a person is asked.
//!
//! The request is put by Talaria itself in the running turn (`tools/questions`). A call may return before a person has
//! decided: the next call for the same site finds the answer. `accept` serves one page, `accept_for_session` the site for the
//! rest of the conversation (read from the row, so that a later engine knows it), `decline` the rest of the turn.

use std::sync::Arc;
use std::time::Duration;

use talaria_core::config::{WebConfig, WebNetwork};
use talaria_core::ids::{SessionId, TicketId};
use talaria_core::request::{Ask, Decision, Who};
use talaria_core::tool::ToolInvocation;
use talaria_store::{RequestRow, RequestState, StoreError};
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

/// Recorded decisions about a site.
enum SiteStanding {
    Granted,
    Declined(Who),
    /// A person has not decided.
    Open(TicketId),
    Unasked,
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
            let why = "the sandbox of this conversation has no network, and its approval policy permits no question; the \
                       user can permit it with web.network = \"always\" in the configuration of Talaria";
            self.refuse_web(session, url.as_str(), why).await;
            return Err(why.to_owned());
        }
        let site = site(url);
        let deadline = Instant::now() + PATIENCE;
        loop {
            let changed = self.questions.changed();
            tokio::pin!(changed);
            // Subscribe first: an answer that arrives while the rows are read is not missed.
            changed.as_mut().enable();
            match self.site_standing(session, &site).await.map_err(|error| unread(&error))? {
                SiteStanding::Granted => return Ok(WebPermission::ThisSite),
                SiteStanding::Declined(by) => {
                    let why = declined(&site, by);
                    self.refuse_web(session, url.as_str(), &why).await;
                    return Err(why);
                }
                SiteStanding::Open(ticket) => self.watch_question(session, ticket),
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
                    let is_unused = self.questions.take_unused(&request.id);
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
        let ask = Ask::WebPage {
            thread: call.thread.clone(),
            item: call.item.clone(),
            site: site.to_owned(),
            url: url.to_string(),
        };
        self.ask_in_turn(session, ask, QuestionTopic::WebPage).await.map(drop)
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
