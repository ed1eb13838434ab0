//! The calls of an answer that have no result yet, read from its entries.

use std::collections::HashSet;

use super::RequestedCall;
use crate::family::ModelFamily;
use crate::history::{CallDisposition, CallId, CallInput, LogEntry, LogItem, LogPart, plain_text};

/// A call that waits for its result.
#[derive(Clone, Debug)]
pub(super) struct OpenCall {
    pub(super) requested: RequestedCall,
    pub(super) result: Option<(CallDisposition, Vec<LogPart>)>,
}

/// Makes the ids of calls unique in the conversation, which providers ask of a request: servers send empty ones, and the same
/// in every answer.
pub(super) fn name_calls(entries: &mut [LogEntry], log: &[LogEntry], family: ModelFamily) {
    let id_of = |entry: &LogEntry| match &entry.item {
        LogItem::Call { call, .. } => Some(call.clone()),
        _ => None,
    };
    if entries.iter().all(|entry| id_of(entry).is_none()) {
        return;
    }
    let mut known: HashSet<CallId> = log.iter().filter_map(id_of).collect();
    for entry in entries {
        let seq = entry.seq;
        let LogItem::Call { call, .. } = &mut entry.item else { continue };
        if call.as_str().is_empty() || known.contains(call) {
            let mut made = CallId::new(format!("call_{seq}"));
            while known.contains(&made) {
                made.0.push('_');
            }
            *call = made;
            // The vendor's bytes of a call have the id that it sent.
            if family == ModelFamily::Responses {
                (entry.native, entry.binding) = (None, None);
            }
        }
        known.insert(call.clone());
    }
}

/// The calls without a result, in order.
pub(super) fn open_calls(entries: &[LogEntry]) -> Vec<OpenCall> {
    let mut open: Vec<OpenCall> = Vec::new();
    for entry in entries {
        match &entry.item {
            LogItem::Call { call, name, input } => open.push(OpenCall {
                requested: RequestedCall {
                    seq: entry.seq,
                    call: call.clone(),
                    name: name.clone(),
                    input: input.clone(),
                },
                result: None,
            }),
            LogItem::Result { call, .. } => open.retain(|one| one.requested.call != *call),
            _ => {}
        }
    }
    open
}

/// Answers the calls whose arguments are not a JSON object. They never run.
pub(super) fn answer_unreadable(calls: &mut [OpenCall]) {
    for call in calls {
        let is_readable =
            matches!(call.requested.input, CallInput::Free(_)) || call.requested.input.arguments().is_some();
        if !is_readable {
            let text = "Not started: the arguments are not a JSON object. Send the call again, whole.";
            call.result = Some((CallDisposition::Failed, vec![LogPart::text(text)]));
        }
    }
}

/// Answers the last call of an answer that was cut, if it was cut before its arguments began.
pub(super) fn answer_unbegun(last: Option<&mut OpenCall>) {
    if let Some(call) = last.filter(|call| call.requested.input.as_str().trim().is_empty()) {
        let text = "Not started: the answer was cut before the arguments of this call. Send it again, whole.";
        call.result = Some((CallDisposition::Failed, vec![LogPart::text(text)]));
    }
}

/// The calls that have no result yet.
pub(super) fn waiting(calls: &[OpenCall]) -> Vec<RequestedCall> {
    calls.iter().filter(|call| call.result.is_none()).map(|call| call.requested.clone()).collect()
}

/// The warning about an answer that completed a turn without a word for the person.
pub(super) fn missing_answer(entries: &[LogEntry]) -> Option<&'static str> {
    let mut has_thinking = false;
    for entry in entries {
        match &entry.item {
            LogItem::Assistant { parts, .. } if !plain_text(parts).trim().is_empty() => return None,
            LogItem::Reasoning { .. } => has_thinking = true,
            _ => {}
        }
    }
    Some(match has_thinking {
        true => {
            "the model ended its answer after its thinking, without a word for you; send another message to continue"
        }
        false => "the model ended with an empty answer; send another message to continue",
    })
}
