//! An ntfy server: title, text, urgency and a tag, published as JSON to the root of the server.
//!
//! Sent as JSON and not as headers, because a header cannot contain every title. The access token is sent only
//! to the configured server, never to one that a target names.

use futures_util::future::BoxFuture;
use serde_json::json;
use talaria_core::config::NotifyConfig;
use talaria_core::notice::{Notice, NoticeKind, Topic};
use url::Url;

use super::http::{Post, Poster};
use super::secret::{Secret, Secrets};
use super::{Deliver, NotifyError, Parcel, Receipt};

/// Where topics are if the configuration names no server.
const SERVER: &str = "https://ntfy.sh/";
/// A longer message becomes an attachment, which a phone does not show.
const LONGEST: usize = 4000;

/// The way to one topic.
#[derive(Debug)]
pub(super) struct Ntfy<'a> {
    server: Url,
    topic: &'a str,
    token: Option<Secret>,
    config: &'a NotifyConfig,
    poster: &'a Poster,
}

impl<'a> Ntfy<'a> {
    pub(super) fn new(
        topic: &'a Topic,
        config: &'a NotifyConfig,
        secrets: &Secrets,
        poster: &'a Poster,
    ) -> Result<Self, NotifyError> {
        let usual = || Url::parse(SERVER).map_err(|why| NotifyError::permanent(why.to_string()));
        let configured = config.ntfy_server.clone().map_or_else(usual, Ok)?;
        let server = topic.server.clone().unwrap_or_else(|| configured.clone());
        let token = match server.origin() == configured.origin() {
            true => secrets.find(&config.ntfy_token)?,
            false => None,
        };
        Ok(Self { server, topic: &topic.name, token, config, poster })
    }
}

impl Deliver for Ntfy<'_> {
    fn deliver<'a>(&'a self, parcel: &'a Parcel) -> BoxFuture<'a, Result<Receipt, NotifyError>> {
        Box::pin(async move {
            let notice = &parcel.notice;
            let (priority, tag) = urgency(notice);
            let body = json!({
                "topic": self.topic,
                "title": notice.subject(),
                "message": cut(&notice.body()),
                "priority": priority,
                "tags": [tag],
            });
            let token = self.token.iter();
            let headers =
                token.map(|token| ("authorization", format!("Bearer {}", token.expose()))).collect();
            let post = Post { content_type: "application/json", headers, body: body.to_string() };
            self.poster.post(&self.server, post, self.config).await
        })
    }
}

/// Priority, from 1 to 5, and emoji.
fn urgency(notice: &Notice) -> (u8, &'static str) {
    match (notice.kind, notice.status.as_str()) {
        (NoticeKind::Request, _) => (4, "raised_hand"),
        (NoticeKind::Outcome, "completed") => (3, "white_check_mark"),
        (NoticeKind::Outcome, _) => (3, "warning"),
    }
}

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(LONGEST)]
}
