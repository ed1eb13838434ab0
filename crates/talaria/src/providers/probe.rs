//! `talaria providers test`: one small real request, as the built-in loop would send it, and what came of it.
//!
//! No engine, no store, no retry: the same codec, transport and attempt machine as a turn, once. The key is joined with the
//! request by the transport alone.

use std::time::Instant;

use talaria_agent::attempt::{AttemptEnd, AttemptNews, ModelAttempt, WireNews};
use talaria_agent::encode::{RequestHead, RequestOmissions, RequestRenderer};
use talaria_agent::failure::FailureClass;
use talaria_agent::fold::{AnswerStep, IncompleteReason};
use talaria_agent::history::{LogEntry, LogItem, LogPart, ModelIssuer};
use talaria_agent::profile::ProviderProfile;
use talaria_agent::rendered::RenderedRequest;
use talaria_agent::spending::TokenCount;
use talaria_agent::transport::{
    ApiKey, ModelEndpoint, ModelTransport, ProxySettings, Roots, TransportLimits,
};
use talaria_core::next_step::NextStep;
use talaria_core::outcome::FailureCode;
use tokio::time::timeout_at;

use crate::trouble::exit;

/// The prompt. Its answer is short with every model.
const PROMPT: &str = "Reply with the word ok.";
/// The least that every provider allows, and enough for the answer of a model that does not think.
const MOST_OUTPUT: u64 = 64;

/// The result of the request.
#[derive(Debug)]
pub(super) struct Probe {
    /// Whether the provider answered.
    pub(super) verdict: ProbeVerdict,
    /// The model that was asked for.
    pub(super) asked_model: String,
    /// The model that answered.
    pub(super) said_model: Option<String>,
    /// From the sending to the status.
    pub(super) first_byte_ms: Option<u64>,
    /// All of it.
    pub(super) total_ms: u64,
    pub(super) tokens: TokenCount,
    /// In billionths of a dollar.
    pub(super) price: Option<u64>,
    pub(super) request_id: Option<String>,
    /// The words of the model.
    pub(super) text: String,
}

/// Whether a provider can be used.
#[derive(Debug)]
pub(super) enum ProbeVerdict {
    /// It answered.
    Works,
    /// It did not.
    Fails { code: FailureCode, class: Option<FailureClass>, message: String, next: NextStep },
}

impl Probe {
    /// The exit code of the command.
    pub(super) fn exit_code(&self) -> u8 {
        match self.verdict {
            ProbeVerdict::Works => 0,
            ProbeVerdict::Fails { code: FailureCode::Auth, .. } => exit::CODEX,
            ProbeVerdict::Fails { .. } => exit::FAILED,
        }
    }
}

/// Asks a provider.
pub(super) async fn probe(profile: &ProviderProfile, model: &str, key: Option<&ApiKey>) -> Probe {
    let begun = Instant::now();
    let mut attempt = ModelAttempt::new(begun.elapsed(), profile.clone());
    let mut answer = ProbeAnswer::default();
    let request = render(profile, model);
    exchange(profile, key, &request, begun, &mut attempt, &mut answer).await;
    let diary = attempt.diary().clone();
    let end = answer.end.unwrap_or_else(|| AttemptEnd::Cut { why: "the answer did not end".to_owned() });
    Probe {
        verdict: judge(profile, end),
        asked_model: model.to_owned(),
        said_model: diary.said_model,
        first_byte_ms: diary.first_byte_ms,
        total_ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
        price: answer.tokens.price(&profile.model(model).prices),
        tokens: answer.tokens,
        request_id: diary.request_id,
        text: answer.text,
    }
}

fn render(profile: &ProviderProfile, model: &str) -> RenderedRequest {
    let issuer =
        ModelIssuer { provider: profile.name.clone(), base_url: profile.base_url.clone(), account: None };
    let mut head = RequestHead::new(model, Vec::new(), Vec::new(), "talaria-providers-test");
    head.max_output = Some(MOST_OUTPUT);
    let mut renderer = RequestRenderer::new(profile, issuer, head, RequestOmissions::default());
    renderer.push(&LogEntry::own(0, LogItem::User { parts: vec![LogPart::text(PROMPT)] }));
    renderer.render()
}

/// What arrived of the answer.
#[derive(Default)]
struct ProbeAnswer {
    text: String,
    tokens: TokenCount,
    end: Option<AttemptEnd>,
}

impl ProbeAnswer {
    fn take(&mut self, news: AttemptNews<'_>) {
        match news {
            AttemptNews::Step(AnswerStep::Text { piece, .. }) => self.text.push_str(&piece),
            AttemptNews::Step(AnswerStep::Usage(tokens)) => self.tokens.merge(tokens),
            AttemptNews::Ended(end) => self.end = Some(end),
            _ => {}
        }
    }
}

async fn exchange(
    profile: &ProviderProfile,
    key: Option<&ApiKey>,
    request: &RenderedRequest,
    begun: Instant,
    attempt: &mut ModelAttempt,
    answer: &mut ProbeAnswer,
) {
    let transport = ModelTransport::new(Roots::System);
    let proxies = ProxySettings::from_variables(|name| std::env::var(name).ok());
    let endpoint = ModelEndpoint {
        base_url: &profile.base_url,
        key: key.map(|key| (key, profile.key_header)),
        proxies: &proxies,
        limits: TransportLimits::from(profile.limits),
    };
    attempt.handle(begun.elapsed(), &WireNews::Connecting, &mut |news| answer.take(news));
    let mut sent_at = begun.elapsed();
    let response = transport.send(request, endpoint, &mut || sent_at = begun.elapsed()).await;
    let mut response = match response {
        Ok(response) => response,
        Err(error) => {
            let broken = WireNews::Broken(error.to_failure());
            return attempt.handle(begun.elapsed(), &broken, &mut |news| answer.take(news));
        }
    };
    attempt.handle(sent_at, &WireNews::Sent, &mut |news| answer.take(news));
    let accepted =
        WireNews::Accepted { status: response.status, headers: std::mem::take(&mut response.headers) };
    attempt.handle(begun.elapsed(), &accepted, &mut |news| answer.take(news));
    while answer.end.is_none() {
        let wake = attempt.wake_at().map(|at| tokio::time::Instant::from_std(begun + at));
        let piece = match wake {
            Some(at) => match timeout_at(at, response.body.next()).await {
                Ok(piece) => piece,
                Err(_) => {
                    attempt.tick(begun.elapsed(), &mut |news| answer.take(news));
                    continue;
                }
            },
            None => response.body.next().await,
        };
        let news = match piece {
            Ok(Some(bytes)) => WireNews::Bytes(bytes.to_vec()),
            Ok(None) => WireNews::Eof,
            Err(error) => WireNews::Broken(error.to_failure()),
        };
        attempt.handle(begun.elapsed(), &news, &mut |news| answer.take(news));
    }
}

fn judge(profile: &ProviderProfile, end: AttemptEnd) -> ProbeVerdict {
    let (code, class, message, next) = match end {
        // The limit is ours: a model that was cut by it works.
        AttemptEnd::Completed(_) | AttemptEnd::Incomplete(IncompleteReason::MaxOutput) => {
            return ProbeVerdict::Works;
        }
        AttemptEnd::Incomplete(why) => {
            (FailureCode::Other, None, format!("the answer is incomplete: {why}"), why.advice())
        }
        AttemptEnd::Refused { text, .. } => {
            let next = IncompleteReason::ContentFilter.advice();
            (
                FailureCode::Other,
                Some(FailureClass::ContentFilter),
                format!("the model refused: {text}"),
                next,
            )
        }
        AttemptEnd::Failed(failure) => {
            let next = failure.advice(profile, None);
            let message = failure.message(&profile.title);
            (failure.class.outcome_code(), Some(failure.class), message, next)
        }
        AttemptEnd::Cut { why } => (FailureCode::Connection, None, why, FailureCode::Connection.next_step()),
        AttemptEnd::Cancelled { .. } => {
            (FailureCode::Other, None, "it was stopped".to_owned(), FailureCode::Server.next_step())
        }
    };
    ProbeVerdict::Fails { code, class, message, next }
}
