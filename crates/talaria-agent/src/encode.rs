//! The history of a conversation as a request of one provider: a pure projection.
//!
//! Append-only: entries are rendered once, in order, and the bytes of a request are the beginning of the next one, apart
//! from brackets and cache marks. Every call has exactly one result, right after it; what is missing is filled with the
//! truth. Vendor bytes are replayed only where they were made: same family, endpoint, account and model, and sealed ones
//! only after the same prefix. Nothing here decides what is sent when.

use serde_json::Value;

use crate::family::ModelFamily;
use crate::history::{
    CallDisposition, CallId, CallInput, LogEntry, LogItem, LogPart, ModelIssuer, ReplayBinding,
};
use crate::profile::{CacheMarking, CallIdRule, ProviderProfile};
use crate::rendered::{EntrySpan, LeftOut, LeftOutReason, PrefixDigest, RenderedRequest};

mod chat;
mod head;
mod json;
mod messages;
mod responses;
#[cfg(test)]
mod tests;

pub(crate) use head::own_name;
pub use head::{LoopToolSpec, RequestHead};
use json::Bytes;

/// Members without which a request would be another one.
const NEEDED: [&str; 5] = ["model", "stream", "tools", "instructions", "system"];

/// What a request is to leave out, because the provider refused it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestOmissions {
    /// Reasoning of entries up to this one.
    pub reasoning_until: Option<u64>,
    /// Members of the body.
    pub parameters: Vec<String>,
    /// Images.
    pub images: bool,
}

/// A call that has no result yet.
#[derive(Clone, Debug)]
struct PendingCall {
    call: CallId,
    wire_id: String,
    is_free: bool,
}

/// Who spoke last, where the order of roles counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LastRole {
    Nothing,
    User,
    Assistant,
    Tool,
}

/// The request rendered so far. Cloned to close a request without closing the conversation.
#[derive(Clone, Debug)]
struct Rendering {
    body: Bytes,
    digest: PrefixDigest,
    spans: Vec<EntrySpan>,
    left_out: Vec<LeftOut>,
    pending: Vec<PendingCall>,
    /// Places for cache marks, one per message of the person's.
    marks: Vec<usize>,
    /// Entries of the answer that is being collected.
    answer: Vec<LogEntry>,
    last: LastRole,
    /// Images of tool results that follow in a message of their own.
    images: Vec<(u64, LogPart)>,
}

/// Renders the requests of one epoch of a conversation.
#[derive(Clone, Debug)]
pub struct RequestRenderer {
    profile: ProviderProfile,
    issuer: ModelIssuer,
    head: RequestHead,
    omissions: RequestOmissions,
    takes_images: bool,
    out: Rendering,
}

impl RequestRenderer {
    /// Begins an epoch: the head stays as it is.
    pub fn new(
        profile: &ProviderProfile,
        issuer: ModelIssuer,
        head: RequestHead,
        omissions: RequestOmissions,
    ) -> Self {
        let takes_images = !omissions.images && profile.model(&head.model).images != Some(false);
        let mut renderer = Self {
            profile: profile.clone(),
            issuer,
            takes_images,
            out: Rendering {
                body: Bytes::default(),
                digest: head.digest(profile),
                spans: Vec::new(),
                left_out: Vec::new(),
                pending: Vec::new(),
                marks: Vec::new(),
                answer: Vec::new(),
                last: LastRole::Nothing,
                images: Vec::new(),
            },
            head,
            omissions,
        };
        renderer.open_chat();
        renderer
    }

    /// Is this a member of the body that a request can do without?
    pub fn can_leave_out(&self, name: &str) -> bool {
        let members = self.head.members(&self.profile, &self.omissions.parameters);
        !NEEDED.contains(&name) && members.iter().any(|(member, _)| member == name)
    }

    /// What an answer to a request with this prefix is bound to.
    pub fn binding(&self, prefix: PrefixDigest) -> ReplayBinding {
        ReplayBinding {
            family: self.profile.family,
            issuer: self.issuer.clone(),
            model: self.head.model.clone(),
            prefix,
        }
    }

    /// Appends an entry.
    pub fn push(&mut self, entry: &LogEntry) {
        if entry.item.is_answer() {
            let continues = self.out.answer.last().is_none_or(|last| last.attempt == entry.attempt);
            if !continues {
                self.flush_answer();
            }
            self.out.answer.push(entry.clone());
            return;
        }
        self.flush_answer();
        match &entry.item {
            LogItem::Result { call, disposition, parts } => {
                self.push_result(entry.seq, call, *disposition, parts);
            }
            LogItem::User { parts } => {
                self.settle_calls();
                self.push_user(entry.seq, parts);
            }
            LogItem::Operator { text } => {
                self.settle_calls();
                self.push_operator(entry.seq, text);
            }
            LogItem::Summary { text, .. } => {
                self.settle_calls();
                let text = format!("Summary of the conversation so far:\n\n{text}");
                self.push_user(entry.seq, &[LogPart::text(text)]);
            }
            _ => {}
        }
    }

    /// Renders the request for everything that was appended. The renderer may be used on.
    pub fn render(&self) -> RenderedRequest {
        let mut closed = self.clone();
        closed.flush_answer();
        closed.settle_calls();
        closed.assemble()
    }

    fn assemble(mut self) -> RenderedRequest {
        self.close_message();
        let profile = &self.profile;
        let mut body = Bytes::default();
        body.raw("{");
        for (name, value) in self.head.members(profile, &self.omissions.parameters) {
            body.text(&name);
            body.raw(":");
            body.raw(&value);
            body.raw(",");
        }
        body.raw(match profile.family {
            ModelFamily::Responses => "\"input\":[",
            ModelFamily::Chat | ModelFamily::Messages => "\"messages\":[",
        });
        let start = body.len();
        let marks: &[usize] = match profile.quirks.cache {
            CacheMarking::Marks | CacheMarking::PartMarks => {
                &self.out.marks[self.out.marks.len().saturating_sub(2)..]
            }
            CacheMarking::Automatic | CacheMarking::Key => &[],
        };
        let shift =
            |at: usize| start + at + marks.iter().filter(|mark| **mark < at).count() * json::CACHE_MARK.len();
        let spans = self
            .out
            .spans
            .iter()
            .map(|span| EntrySpan { seq: span.seq, range: shift(span.range.start)..shift(span.range.end) });
        let spans = spans.collect();
        let mut from = 0;
        for mark in marks {
            body.bytes(&self.out.body.as_slice()[from..*mark]);
            body.raw(json::CACHE_MARK);
            from = *mark;
        }
        body.bytes(&self.out.body.as_slice()[from..]);
        body.raw("]}");
        let mut headers = vec![
            ("content-type".to_owned(), "application/json".to_owned()),
            ("accept".to_owned(), "text/event-stream".to_owned()),
        ];
        if profile.family == ModelFamily::Messages {
            headers.push(("anthropic-version".to_owned(), "2023-06-01".to_owned()));
        }
        headers.extend(profile.headers.iter().cloned());
        RenderedRequest {
            method: "POST",
            path: profile.family.path().to_owned(),
            headers,
            body: body.into_vec(),
            prefix: self.out.digest,
            spans,
            left_out: self.out.left_out,
        }
    }

    /// Is this answer's native form replayed: made here, and readable here?
    fn is_bound(&self, entry: &LogEntry) -> bool {
        entry.binding.as_ref().is_some_and(|binding| {
            binding.family == self.profile.family
                && binding.issuer == self.issuer
                && binding.model == self.head.model
        })
    }

    /// May sealed bytes of this entry be replayed at this point?
    fn is_unbroken(&self, entry: &LogEntry) -> bool {
        let is_dropped = self.omissions.reasoning_until.is_some_and(|until| entry.seq <= until);
        let prefix = entry.binding.as_ref().map(|binding| binding.prefix);
        self.is_bound(entry) && !is_dropped && prefix == Some(self.out.digest)
    }

    fn flush_answer(&mut self) {
        if self.out.answer.is_empty() {
            return;
        }
        let answer = std::mem::take(&mut self.out.answer);
        self.settle_calls();
        match self.profile.family {
            ModelFamily::Responses => self.answer_responses(&answer),
            ModelFamily::Chat => self.answer_chat(&answer),
            ModelFamily::Messages => self.answer_messages(&answer),
        }
    }

    fn push_result(&mut self, seq: u64, call: &CallId, disposition: CallDisposition, parts: &[LogPart]) {
        let Some(at) = self.out.pending.iter().position(|pending| pending.call == *call) else {
            return self.leave_out(seq, LeftOutReason::OrphanResult);
        };
        let pending = self.out.pending.remove(at);
        self.emit_result(Some(seq), &pending, disposition, parts);
        if self.out.pending.is_empty() {
            self.flush_images();
        }
    }

    /// Answers calls that have no result, with the truth: nothing is known of them.
    fn settle_calls(&mut self) {
        let pending = std::mem::take(&mut self.out.pending);
        if pending.is_empty() {
            return;
        }
        for call in &pending {
            let words = CallDisposition::Unknown.words();
            self.emit_result(None, call, CallDisposition::Unknown, &[LogPart::text(words)]);
        }
        self.flush_images();
    }

    fn emit_result(
        &mut self,
        seq: Option<u64>,
        pending: &PendingCall,
        disposition: CallDisposition,
        parts: &[LogPart],
    ) {
        match self.profile.family {
            ModelFamily::Responses => self.result_responses(seq, pending, parts),
            ModelFamily::Chat => self.result_chat(seq, pending, parts),
            ModelFamily::Messages => self.result_messages(seq, pending, disposition, parts),
        }
    }

    fn push_user(&mut self, seq: u64, parts: &[LogPart]) {
        match self.profile.family {
            ModelFamily::Responses => self.user_responses(seq, parts),
            ModelFamily::Chat => self.user_chat(seq, parts),
            ModelFamily::Messages => self.user_messages(seq, parts),
        }
    }

    fn push_operator(&mut self, seq: u64, text: &str) {
        match self.profile.family {
            ModelFamily::Responses => self.operator_responses(seq, text),
            ModelFamily::Chat => self.operator_chat(seq, text),
            ModelFamily::Messages => self.operator_messages(seq, text),
        }
    }

    /// Appends a piece and digests it. Commas and brackets between pieces are not part of it.
    fn emit(&mut self, seqs: &[u64], piece: &[u8]) {
        let start = self.out.body.len();
        self.out.body.bytes(piece);
        self.out.digest = self.out.digest.chain(piece);
        let range = start..self.out.body.len();
        self.out.spans.extend(seqs.iter().map(|&seq| EntrySpan { seq, range: range.clone() }));
    }

    fn leave_out(&mut self, seq: u64, why: LeftOutReason) {
        self.out.left_out.push(LeftOut { seq, why });
    }

    /// The id of a call for this provider: its own, or one made from it that fits.
    fn wire_id(&self, call: &CallId, is_own: bool) -> String {
        let id = call.as_str();
        let fits = match self.profile.quirks.call_ids {
            CallIdRule::AtMost(most) => id.chars().count() <= most,
            CallIdRule::NineAlphanumeric => {
                id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
            }
            CallIdRule::Word64 => {
                let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
                id.len() <= 64 && id.bytes().all(is_word)
            }
        };
        if is_own || (fits && !id.is_empty()) {
            return id.to_owned();
        }
        let digest = PrefixDigest::of(id.as_bytes()).to_string();
        match self.profile.quirks.call_ids {
            CallIdRule::NineAlphanumeric => digest[..9].to_owned(),
            CallIdRule::AtMost(_) | CallIdRule::Word64 => format!("call_{}", &digest[..24]),
        }
    }
}

/// The arguments of a call for a request: as received if they are an object; what is none is wrapped, because servers that
/// parse it would refuse every later request of the conversation.
fn legal_arguments(input: &CallInput) -> String {
    match input {
        CallInput::Json(text) if text.trim().is_empty() => "{}".to_owned(),
        CallInput::Json(text) if input.arguments().is_some() => text.clone(),
        CallInput::Json(text) => serde_json::json!({"invalid_arguments": text}).to_string(),
        CallInput::Free(text) => serde_json::json!({"input": text}).to_string(),
    }
}

/// Is this JSON? Vendor bytes that a store damaged are not sent.
fn is_json(raw: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(raw).is_ok()
}

/// The operator's words where no role is left for them.
fn operator_note(text: &str) -> String {
    format!("[A note from Talaria, not from the user]\n{text}")
}

/// A value as text; serialization of a `Value` cannot fail.
fn text_of(value: &Value) -> String {
    value.to_string()
}
