//! One attempt to get an answer: from the first byte sent to an end with evidence.
//!
//! `planned → connecting → sent → accepted → speaking → ended`. EOF is never success, and nothing is waited for after a
//! terminal event, except that Chat servers may send usage for five seconds after the finish. Two clocks run: bytes (the
//! transport is alive) and events (the model is alive). What arrives after the end is ignored and reported once. No
//! sockets and no clock here: the shell brings bytes and time. All state dies with the attempt.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use talaria_core::request::Who;

use crate::failure::{FailureClass, ModelFailure, classify_response};
use crate::fold::{AnswerEnd, AnswerFold, AnswerStep, IncompleteReason, StopReason, fold_whole};
use crate::profile::{ProviderProfile, StreamLimits};
use crate::sse::{LARGEST_FRAME, SseDecoder, SseSignal};

#[cfg(test)]
mod tests;

/// How long usage may follow the finish of an answer.
const AFTER_FINISH: Duration = Duration::from_secs(5);
/// The most that is kept of the body of a refusal.
const LARGEST_REFUSAL: usize = 256 * 1024;

/// How far an attempt is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptStage {
    /// It is recorded; nothing was sent.
    Planned,
    /// A connection is being made.
    Connecting,
    /// The request was sent, perhaps only a part of it.
    Sent,
    /// The provider answered with a status.
    Accepted,
    /// An event came.
    Speaking,
    /// It is over.
    Ended,
}

/// How an attempt ended, each with its evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttemptEnd {
    /// The provider said that the answer is complete.
    Completed(StopReason),
    /// The provider said that it is not.
    Incomplete(IncompleteReason),
    /// The model or the provider refused.
    Refused {
        /// The provider's category.
        category: Option<String>,
        /// The provider's words.
        text: String,
    },
    /// The provider or the transport reported an error.
    Failed(ModelFailure),
    /// The answer stopped without the provider's word.
    Cut {
        /// Why it is taken for cut.
        why: String,
    },
    /// It was stopped here.
    Cancelled {
        /// Who wanted that.
        by: Who,
    },
}

impl AttemptEnd {
    /// The word for it in rows.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Completed(_) => "completed",
            Self::Incomplete(_) => "incomplete",
            Self::Refused { .. } => "refused",
            Self::Failed(_) => "failed",
            Self::Cut { .. } => "cut",
            Self::Cancelled { .. } => "cancelled",
        }
    }

    /// Do the items of the attempt become history?
    pub fn adds_history(&self) -> bool {
        matches!(self, Self::Completed(_) | Self::Incomplete(_))
    }
}

/// What the transport reports.
#[derive(Clone, Debug)]
pub enum WireNews {
    /// A connection is being made.
    Connecting,
    /// The request is being written: from here on the provider may have it.
    Sent,
    /// Status and headers came.
    Accepted {
        /// The status.
        status: u16,
        /// The headers, names in lower case.
        headers: Vec<(String, String)>,
    },
    /// Bytes of the body came.
    Bytes(Vec<u8>),
    /// The body ended.
    Eof,
    /// The connection could not be made or broke.
    Broken(ModelFailure),
}

/// The effect of an input.
#[derive(Clone, Debug)]
pub enum AttemptNews<'a> {
    /// A step of the answer.
    Step(AnswerStep<'a>),
    /// Something came after the end; nothing followed from it.
    Ignored(String),
    /// The connection is of no more use: close it.
    Close,
    /// The attempt is over. Comes once.
    Ended(AttemptEnd),
}

/// Facts about an attempt for diagnosis.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptDiary {
    /// The HTTP status.
    pub status: Option<u16>,
    /// The provider's id of the request.
    pub request_id: Option<String>,
    /// The mark of a proxy network.
    pub cf_ray: Option<String>,
    /// Who answered behind a relay.
    pub upstream: Option<String>,
    /// The model that answered.
    pub said_model: Option<String>,
    /// From the sending to the status, in milliseconds.
    pub first_byte_ms: Option<u64>,
    /// Bytes of the body.
    pub bytes: u64,
    /// Events of the stream.
    pub events: u64,
    /// Events with bytes that are no UTF-8.
    pub repaired: u64,
}

#[derive(Debug)]
enum Body {
    /// Nothing but white space came.
    Undecided(Vec<u8>),
    Stream(Box<SseDecoder>, Box<AnswerFold>),
    Whole(Vec<u8>),
}

/// One attempt.
#[derive(Debug)]
pub struct ModelAttempt {
    profile: ProviderProfile,
    stage: AttemptStage,
    headers: Vec<(String, String)>,
    body: Body,
    diary: AttemptDiary,
    sent_at: Duration,
    last_byte: Duration,
    last_event: Duration,
    concluded_at: Option<Duration>,
    has_reported_ignored: bool,
}

impl ModelAttempt {
    /// Plans an attempt at this provider.
    pub fn new(now: Duration, profile: ProviderProfile) -> Self {
        Self {
            profile,
            stage: AttemptStage::Planned,
            headers: Vec::new(),
            body: Body::Undecided(Vec::new()),
            diary: AttemptDiary::default(),
            sent_at: now,
            last_byte: now,
            last_event: now,
            concluded_at: None,
            has_reported_ignored: false,
        }
    }

    /// How far it is.
    pub fn stage(&self) -> AttemptStage {
        self.stage
    }

    /// The facts known about it.
    pub fn diary(&self) -> &AttemptDiary {
        &self.diary
    }

    /// When the last event came, for a report of silence.
    pub fn last_event(&self) -> Duration {
        self.last_event
    }

    /// Takes what the transport reports.
    pub fn handle(&mut self, now: Duration, news: &WireNews, sink: &mut dyn FnMut(AttemptNews<'_>)) {
        if self.stage == AttemptStage::Ended {
            if let WireNews::Bytes(bytes) = news {
                self.ignore(bytes.len(), sink);
            }
            return;
        }
        match news {
            WireNews::Connecting => self.stage = self.stage.max(AttemptStage::Connecting),
            WireNews::Sent => {
                self.stage = self.stage.max(AttemptStage::Sent);
                (self.sent_at, self.last_byte, self.last_event) = (now, now, now);
            }
            WireNews::Accepted { status, headers } => self.accept(now, *status, headers.clone()),
            WireNews::Bytes(bytes) => self.take_bytes(now, bytes, sink),
            WireNews::Eof => {
                self.end_of_stream("the connection ended before the provider ended the answer", sink);
            }
            WireNews::Broken(failure) => self.take_break(failure, sink),
        }
    }

    /// Stops the attempt: the connection is closed at once.
    pub fn cancel(&mut self, by: Who, sink: &mut dyn FnMut(AttemptNews<'_>)) {
        self.end(AttemptEnd::Cancelled { by }, sink);
    }

    /// Lets time pass. Early or twice changes nothing.
    pub fn tick(&mut self, now: Duration, sink: &mut dyn FnMut(AttemptNews<'_>)) {
        if self.concluded_at.is_some_and(|at| now >= at + AFTER_FINISH) {
            return self.end_of_stream("nothing followed the finish", sink);
        }
        let StreamLimits { headers, bytes, events } = self.profile.limits;
        let seconds = |limit: Duration| limit.as_secs();
        match self.stage {
            AttemptStage::Sent if now >= self.sent_at + headers => {
                let why = format!("the provider did not answer within {} s", seconds(headers));
                self.end(AttemptEnd::Cut { why }, sink);
            }
            AttemptStage::Accepted | AttemptStage::Speaking if now >= self.last_byte + bytes => {
                let why = format!("the connection was silent for {} s", seconds(bytes));
                self.end(AttemptEnd::Cut { why }, sink);
            }
            AttemptStage::Accepted | AttemptStage::Speaking => {
                if let Some(limit) = events.filter(|limit| now >= self.last_event + *limit) {
                    let why = format!(
                        "the model was silent for {} s, although the connection is alive",
                        seconds(limit)
                    );
                    self.end(AttemptEnd::Cut { why }, sink);
                }
            }
            AttemptStage::Planned | AttemptStage::Connecting | AttemptStage::Sent | AttemptStage::Ended => {}
        }
    }

    /// When to call `tick`, if nothing happens before.
    pub fn wake_at(&self) -> Option<Duration> {
        let limits = self.profile.limits;
        let next = match self.stage {
            AttemptStage::Sent => Some(self.sent_at + limits.headers),
            AttemptStage::Accepted | AttemptStage::Speaking => {
                let events = limits.events.map(|limit| self.last_event + limit);
                [Some(self.last_byte + limits.bytes), events].into_iter().flatten().min()
            }
            AttemptStage::Planned | AttemptStage::Connecting | AttemptStage::Ended => return None,
        };
        [next, self.concluded_at.map(|at| at + AFTER_FINISH)].into_iter().flatten().min()
    }

    fn accept(&mut self, now: Duration, status: u16, headers: Vec<(String, String)>) {
        let header = |name: &str| {
            let found = headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
            found.map(|(_, value)| value.clone())
        };
        let waited = now.saturating_sub(self.sent_at).as_millis();
        self.diary.status = Some(status);
        self.diary.first_byte_ms = u64::try_from(waited).ok();
        self.diary.request_id = ["x-request-id", "request-id", "x-oai-request-id", "x-generation-id"]
            .iter()
            .find_map(|name| header(name));
        self.diary.cf_ray = header("cf-ray");
        self.diary.upstream = header("x-openrouter-provider");
        self.diary.said_model = header("openai-model");
        self.stage = self.stage.max(AttemptStage::Accepted);
        (self.last_byte, self.last_event) = (now, now);
        if !(200..300).contains(&status) {
            self.body = Body::Whole(Vec::new());
        }
        self.headers = headers;
    }

    fn is_refused(&self) -> bool {
        self.diary.status.is_none_or(|status| !(200..300).contains(&status))
    }

    fn take_bytes(&mut self, now: Duration, bytes: &[u8], sink: &mut dyn FnMut(AttemptNews<'_>)) {
        self.last_byte = now;
        self.diary.bytes += u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        if let Body::Undecided(held) = &mut self.body {
            held.extend_from_slice(bytes);
            let start = held.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(held).trim_ascii_start();
            let Some(first) = start.first() else { return };
            // No line of a stream begins like this: a server that does not stream, or a page of a proxy.
            let is_whole = matches!(first, b'{' | b'[' | b'<');
            let held = std::mem::take(held);
            if is_whole {
                self.body = Body::Whole(held);
            } else {
                let fold = Box::new(AnswerFold::new(&self.profile));
                self.body = Body::Stream(Box::default(), fold);
                self.stream(now, &held, sink);
            }
            return;
        }
        match &mut self.body {
            Body::Whole(held) => {
                held.extend_from_slice(bytes);
                let limit = if self.is_refused() { LARGEST_REFUSAL } else { LARGEST_FRAME };
                if self.body_len() > limit {
                    self.end_of_stream("the body is larger than any answer", sink);
                }
            }
            Body::Stream(..) => self.stream(now, bytes, sink),
            Body::Undecided(_) => {}
        }
    }

    fn body_len(&self) -> usize {
        match &self.body {
            Body::Whole(held) | Body::Undecided(held) => held.len(),
            Body::Stream(..) => 0,
        }
    }

    fn stream(&mut self, now: Duration, bytes: &[u8], sink: &mut dyn FnMut(AttemptNews<'_>)) {
        let Body::Stream(decoder, fold) = &mut self.body else { return };
        let mut progress = StreamProgress::default();
        let fed = decoder.feed(bytes, &mut |signal| progress.take(&signal, fold, sink));
        let concluded = fold.is_concluded();
        self.diary.repaired = decoder.repaired();
        self.apply(now, progress, concluded, sink);
        if let Err(error) = fed {
            self.end(
                AttemptEnd::Failed(ModelFailure::transport(FailureClass::Server, error.to_string())),
                sink,
            );
        }
    }

    fn apply(
        &mut self,
        now: Duration,
        progress: StreamProgress,
        concluded: bool,
        sink: &mut dyn FnMut(AttemptNews<'_>),
    ) {
        self.diary.events += progress.events;
        if progress.events > 0 {
            self.last_event = now;
            self.stage = self.stage.max(AttemptStage::Speaking);
        }
        self.diary.said_model = progress.model.or_else(|| self.diary.said_model.take());
        if concluded && self.concluded_at.is_none() {
            self.concluded_at = Some(now);
        }
        if let Some(end) = progress.end {
            self.end(end, sink);
            if progress.after_end > 0 {
                self.report_ignored(
                    format!("{} events after the end of the answer", progress.after_end),
                    sink,
                );
            }
        }
    }

    fn end_of_stream(&mut self, why: &str, sink: &mut dyn FnMut(AttemptNews<'_>)) {
        if self.stage == AttemptStage::Ended {
            return;
        }
        if self.is_refused() {
            let body = match &self.body {
                Body::Whole(held) | Body::Undecided(held) => held.as_slice(),
                Body::Stream(..) => &[],
            };
            let Some(status) = self.diary.status else {
                return self.end(AttemptEnd::Cut { why: why.to_owned() }, sink);
            };
            let failure = classify_response(status, &self.headers, body);
            return self.end(AttemptEnd::Failed(failure), sink);
        }
        let mut progress = StreamProgress::default();
        match &mut self.body {
            Body::Stream(decoder, fold) => {
                // A frame that is too large has ended the attempt already.
                let _ = decoder.finish(&mut |signal| progress.take(&signal, fold, sink));
                if progress.end.is_none() {
                    fold.finish(why, &mut |step| progress.take_step(step, sink));
                }
            }
            Body::Whole(held) => {
                let status = self.diary.status.unwrap_or_default();
                fold_whole(&self.profile, status, &self.headers, held, &mut |step| {
                    progress.take_step(step, sink);
                });
            }
            Body::Undecided(_) => progress.end = Some(AttemptEnd::Cut { why: why.to_owned() }),
        }
        let now = self.last_event;
        self.apply(now, progress, false, sink);
    }

    fn take_break(&mut self, failure: &ModelFailure, sink: &mut dyn FnMut(AttemptNews<'_>)) {
        // The provider's word counts more than the way in which the connection ended.
        if self.concluded_at.is_some() || (self.is_refused() && self.diary.status.is_some()) {
            return self.end_of_stream(&failure.text, sink);
        }
        let end = match self.stage {
            AttemptStage::Planned | AttemptStage::Connecting | AttemptStage::Sent => {
                AttemptEnd::Failed(failure.clone())
            }
            AttemptStage::Accepted | AttemptStage::Speaking | AttemptStage::Ended => {
                AttemptEnd::Cut { why: failure.text.clone() }
            }
        };
        self.end(end, sink);
    }

    fn end(&mut self, end: AttemptEnd, sink: &mut dyn FnMut(AttemptNews<'_>)) {
        if self.stage != AttemptStage::Ended {
            self.stage = AttemptStage::Ended;
            self.concluded_at = None;
            sink(AttemptNews::Close);
            sink(AttemptNews::Ended(end));
        }
    }

    fn ignore(&mut self, bytes: usize, sink: &mut dyn FnMut(AttemptNews<'_>)) {
        self.report_ignored(format!("{bytes} bytes after the end of the answer"), sink);
    }

    fn report_ignored(&mut self, what: String, sink: &mut dyn FnMut(AttemptNews<'_>)) {
        if !std::mem::replace(&mut self.has_reported_ignored, true) {
            sink(AttemptNews::Ignored(what));
        }
    }
}

/// What some bytes brought.
#[derive(Default)]
struct StreamProgress {
    events: u64,
    after_end: u64,
    model: Option<String>,
    end: Option<AttemptEnd>,
}

impl StreamProgress {
    fn take(&mut self, signal: &SseSignal<'_>, fold: &mut AnswerFold, sink: &mut dyn FnMut(AttemptNews<'_>)) {
        let SseSignal::Event { data, .. } = signal else { return };
        if self.end.is_some() {
            // Relays end every stream like this.
            self.after_end += u64::from(data.trim() != "[DONE]");
            return;
        }
        // A ping says that the connection is alive, and nothing about the model.
        self.events += u64::from(!is_ping(signal));
        fold.fold(signal, &mut |step| self.take_step(step, sink));
    }

    fn take_step(&mut self, step: AnswerStep<'_>, sink: &mut dyn FnMut(AttemptNews<'_>)) {
        match step {
            AnswerStep::End(end) => {
                self.end.get_or_insert(match end {
                    AnswerEnd::Completed(stop) => AttemptEnd::Completed(stop),
                    AnswerEnd::Incomplete(why) => AttemptEnd::Incomplete(why),
                    AnswerEnd::Refused { category, text } => AttemptEnd::Refused { category, text },
                    AnswerEnd::Failed(failure) => AttemptEnd::Failed(failure),
                    AnswerEnd::Cut(why) => AttemptEnd::Cut { why },
                });
            }
            step => {
                if let AnswerStep::Began { model, .. } = &step {
                    self.model = model.clone();
                }
                sink(AttemptNews::Step(step));
            }
        }
    }
}

fn is_ping(signal: &SseSignal<'_>) -> bool {
    match signal {
        SseSignal::Event { name: Some("ping"), .. } => true,
        SseSignal::Event { data, .. } => data.len() < 64 && data.contains("\"ping\""),
        SseSignal::Comment => true,
    }
}
