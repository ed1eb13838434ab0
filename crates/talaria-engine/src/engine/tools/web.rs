//! `talaria_web`: the model reads a web page as Markdown, one part at a time, or the passages that have certain words.
//!
//! The order of checks: arguments, no secret in the address, no address that is always refused, permission (`permission`),
//! then the guarded connection of `talaria-web`, which checks every address on every hop. Each request is in the audit log
//! before it is sent, and so are each refusal and each address that could not be reached. The returned text is fenced as
//! untrusted. A page that the same conversation read in the last minutes is served from a cache.

mod arguments;
mod permission;
mod searching;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::json;
use talaria_core::config::WebConfig;
use talaria_core::ids::SessionId;
use talaria_core::principal::Principal;
use talaria_core::tool::{ToolInvocation, ToolSpec};
use talaria_guard::redact::redact;
use talaria_store::{AuditOutcome, NewAudit};
use talaria_web::{
    Fence, FetchError, FetchLimits, FetchedBody, HopRules, Network, PageCache, PageFacts, PageFetcher,
    PdfReader, Roots, WebPage, has_secret, is_pdf, judge_literal, mask_address, parse_page_address, pdf_page,
    read_page,
};
use tokio::sync::Semaphore;
use url::Url;

use super::EngineTool;
use super::ledger::{ToolFailure, ToolReturn};
use crate::engine::Inner;
use arguments::WebArguments;
use permission::{WebPermission, site};
pub(crate) use searching::{SEARCH_TOOL, search_tool};
use talaria_home::clock::now_ms;

/// How many pages are turned into text at once: that may take a while for one that is made to be slow.
const READERS: usize = 2;
/// The action in the audit log.
const ACTION: &str = "read_web";

/// Description for the model.
pub(super) fn spec() -> ToolSpec {
    ToolSpec {
        name: "talaria_web",
        description: "Read a web page as Markdown: HTML, PDF, text, JSON or XML at a public address. Long pages come in \
                      parts. Use it when you know the address.",
        schema: json!({
            "type": "object",
            "properties": {
                "url": { "type": "string", "description": "The address, with http:// or https://." },
                "find": {
                    "type": "string",
                    "description": "Return only the passages that contain this text, in any case.",
                },
                "page": { "type": "integer", "description": "The page of a long result, from 1." },
            },
            "required": ["url"],
            "additionalProperties": false,
        }),
        // The fetch takes 20 seconds at most, a PDF file 8; the rest is for a person who is asked.
        limit: Duration::from_secs(60),
    }
}

/// What reads web pages for all conversations of an engine.
pub(crate) struct WebReader {
    fetcher: PageFetcher,
    cache: Mutex<PageCache>,
    readers: Semaphore,
    pdf: Option<PdfReader>,
    since: Instant,
}

impl WebReader {
    /// A reader that has read nothing yet. Without `pdf` it refuses PDF files.
    pub(crate) fn new(pdf: Option<PdfReader>) -> Self {
        Self {
            fetcher: PageFetcher::new(Network::system(), Roots::System, FetchLimits::default()),
            cache: Mutex::default(),
            readers: Semaphore::new(READERS),
            pdf,
            since: Instant::now(),
        }
    }

    /// Turns what was fetched into a page. A PDF file is parsed by a process of its own.
    async fn turn_into_text(&self, fetched: FetchedBody) -> Result<WebPage, String> {
        let ending = |_| "pages cannot be read while the engine ends".to_owned();
        let _reader = self.readers.acquire().await.map_err(ending)?;
        if let Some(pdf) = self.pdf.as_ref().filter(|_| is_pdf(&fetched)) {
            let text = pdf.read(&fetched).await.map_err(|failure| failure.to_string())?;
            return Ok(pdf_page(fetched, text));
        }
        let page = tokio::task::spawn_blocking(move || read_page(fetched)).await;
        page.map_err(|_| "the page cannot be turned into text".to_owned())?
    }

    fn remembered(&self, session: &SessionId, url: &Url) -> Option<(Arc<WebPage>, Duration)> {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        cache.get(session.as_str(), url, self.since.elapsed())
    }

    fn remember(&self, session: &SessionId, url: &Url, page: &Arc<WebPage>) {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        cache.put(session.as_str(), url, self.since.elapsed(), Arc::clone(page));
    }
}

impl Inner {
    /// Answers one call; `Err` says to the model why there is no answer.
    pub(super) async fn read_web(
        self: &Arc<Self>,
        session: &SessionId,
        call: &ToolInvocation,
        config: &WebConfig,
    ) -> ToolReturn {
        let parsed = WebArguments::parse(&call.arguments);
        let arguments = self.accept_arguments(session, EngineTool::Web, parsed)?;
        if has_secret(&arguments.url) {
            let why = "the address has a secret in it, which would be sent away; nothing was fetched";
            self.refuse_web(session, &arguments.url, why).await;
            return Err(why.into());
        }
        let url = match parse_page_address(&arguments.url) {
            Ok(url) => url,
            Err(why) => {
                self.refuse_web(session, &arguments.url, &why.to_string()).await;
                return Err(why.to_string().into());
            }
        };
        let (page, age) = match self.web.remembered(session, &url) {
            Some(remembered) => remembered,
            None => (self.fetch_page(session, call, config, &url).await?, Duration::ZERO),
        };
        let fence = Fence::new(uuid::Uuid::new_v4().as_u64_pair().0);
        let facts = PageFacts { page: &page, age: age.as_secs(), part: arguments.page };
        Ok(match &arguments.find {
            Some(words) => fence.passages(facts, words),
            None => fence.part(facts),
        }?)
    }

    async fn fetch_page(
        self: &Arc<Self>,
        session: &SessionId,
        call: &ToolInvocation,
        config: &WebConfig,
        url: &Url,
    ) -> Result<Arc<WebPage>, ToolFailure> {
        if let Err(error) = judge_literal(url, &config.allow) {
            self.refuse_web(session, url.as_str(), &error.to_string()).await;
            return Err(error.to_string().into());
        }
        let is_open = match self.may_read_web(session, call, config, url).await? {
            WebPermission::Everywhere => true,
            WebPermission::ThisSite => false,
        };
        // The address of which nothing is on record yet: looking up a name or knocking at a port shows it to others, too.
        let unreached = Mutex::new(Some(url.clone()));
        let unreached_now = || unreached.lock().unwrap_or_else(PoisonError::into_inner);
        let may_follow = |next: &Url| {
            let is_permitted = is_open || site(next) == site(url);
            if is_permitted {
                *unreached_now() = Some(next.clone());
            }
            is_permitted
        };
        // A request that is not on record is not sent. Where the database can be written later, the call runs again then.
        let unrecorded = Arc::<Mutex<Option<ToolFailure>>>::default();
        let before_request = |url: Url, address: SocketAddr| {
            *unreached_now() = None;
            let (engine, session, unrecorded) = (Arc::clone(self), session.clone(), Arc::clone(&unrecorded));
            let work = async move {
                let what = format!("GET {} at {address}", redact(url.as_str()));
                let kept = engine.shelf.store.add_audit(web_audit(&session, AuditOutcome::Done, what)).await;
                kept.map_err(|error| {
                    let why = format!("the request cannot be written into the audit log: {error}");
                    let failure = ToolFailure::of_store(why.clone(), &error);
                    *unrecorded.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure);
                    why
                })
            };
            Box::pin(work) as futures_util::future::BoxFuture<'_, Result<(), String>>
        };
        let rules =
            HopRules { allow: &config.allow, may_follow: &may_follow, before_request: &before_request };
        let fetched = match self.web.fetcher.fetch(url, &rules).await {
            Ok(fetched) => fetched,
            Err(error) => {
                if let Some(failure) = unrecorded.lock().unwrap_or_else(PoisonError::into_inner).take() {
                    return Err(failure);
                }
                let is_refusal = !matches!(
                    error,
                    FetchError::Connect(_)
                        | FetchError::Broken(_)
                        | FetchError::TooSlow(_)
                        | FetchError::Encoding(_)
                );
                let unreached = unreached_now().take();
                if is_refusal {
                    self.refuse_web(session, url.as_str(), &error.to_string()).await;
                } else if let Some(url) = unreached {
                    let what = format!("tried {}: {error}", mask_address(url.as_str()));
                    let entry = web_audit(session, AuditOutcome::Done, what);
                    self.shelf.store.add_audit(entry).await.map_err(|stored| {
                        let why = format!("{error}; this cannot be written into the audit log: {stored}");
                        ToolFailure::of_store(why, &stored)
                    })?;
                }
                return Err(error.to_string().into());
            }
        };
        let page = Arc::new(self.web.turn_into_text(fetched).await?);
        self.web.remember(session, url, &page);
        Ok(page)
    }

    /// Writes a refusal into the audit log.
    async fn refuse_web(&self, session: &SessionId, address: &str, why: &str) {
        let address: String = mask_address(address).chars().take(300).collect();
        let entry = web_audit(session, AuditOutcome::Refused, format!("{address}: {why}"));
        if let Err(error) = self.shelf.store.add_audit(entry).await {
            tracing::warn!("a refused web page is not in the audit log: {error}");
        }
    }
}

fn web_audit(session: &SessionId, outcome: AuditOutcome, what: String) -> NewAudit {
    NewAudit {
        at: now_ms(),
        action: ACTION.to_owned(),
        outcome,
        principal: Principal::model("codex").to_string(),
        established: "tool call of the conversation".to_owned(),
        pid: None,
        terminal: None,
        program: None,
        session: Some(session.to_string()),
        request: None,
        digest: None,
        decision: None,
        reason: Some(what),
    }
}
