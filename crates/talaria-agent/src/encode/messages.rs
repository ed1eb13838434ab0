//! Anthropic Messages: blocks in messages whose roles alternate. A message stays open until the other role speaks, so that
//! results and what the person says after them are one message, and bytes are only appended.

use super::json::Bytes;
use super::{LastRole, PendingCall, RequestRenderer, is_json, legal_arguments};
use crate::family::ModelFamily;
use crate::history::{CallDisposition, CallInput, LogEntry, LogItem, LogPart, plain_text};
use crate::profile::OperatorRole;
use crate::rendered::LeftOutReason;

/// The first message must be the person's.
const OPENING: &str = "(The conversation continues.)";

impl RequestRenderer {
    /// Closes the open message of the Messages family; the others have none.
    pub(super) fn close_message(&mut self) {
        if self.profile.family == ModelFamily::Messages && self.out.last != LastRole::Nothing {
            self.out.body.raw("]}");
        }
    }

    fn block(&mut self, role: LastRole, seqs: &[u64], block: &[u8]) {
        if role == LastRole::Assistant && self.out.last == LastRole::Nothing {
            let mut opening = Bytes::default();
            text_block(&mut opening, OPENING);
            self.block(LastRole::User, &[], &opening.into_vec());
        }
        if self.out.last == role {
            self.out.body.raw(",");
        } else {
            self.close_message();
            if self.out.last != LastRole::Nothing {
                self.out.body.raw(",");
            }
            self.out.body.raw(match role {
                LastRole::Assistant => "{\"role\":\"assistant\",\"content\":[",
                LastRole::Nothing | LastRole::User | LastRole::Tool => "{\"role\":\"user\",\"content\":[",
            });
            if role == LastRole::User {
                self.out.marks.push(0);
            }
            self.out.last = role;
        }
        self.emit(seqs, block);
        let end = self.out.body.len() - 1;
        if let (LastRole::User, Some(mark)) = (role, self.out.marks.last_mut()) {
            *mark = end;
        }
    }

    pub(super) fn answer_messages(&mut self, answer: &[LogEntry]) {
        let is_call = |entry: &&LogEntry| matches!(entry.item, LogItem::Call { .. });
        let is_own = answer.first().is_some_and(|entry| self.is_bound(entry));
        // Text after a call is refused. Otherwise the order stays, because signatures depend on it.
        let first_call = answer.iter().position(|entry| is_call(&entry)).unwrap_or(answer.len());
        let has_late_text =
            answer[first_call..].iter().any(|entry| matches!(entry.item, LogItem::Assistant { .. }));
        let ordered: Vec<&LogEntry> = if has_late_text {
            answer.iter().filter(|entry| !is_call(entry)).chain(answer.iter().filter(is_call)).collect()
        } else {
            answer.iter().collect()
        };
        let has_words = answer.iter().any(|entry| match &entry.item {
            LogItem::Assistant { parts, .. } => !plain_text(parts).trim().is_empty(),
            LogItem::Call { .. } => true,
            LogItem::ServerTool { .. } | LogItem::Unknown { .. } => is_own && entry.native.is_some(),
            _ => false,
        });
        if !has_words {
            answer.iter().for_each(|entry| self.leave_out(entry.seq, LeftOutReason::Empty));
            return;
        }
        // All sealed blocks of an answer were made after the same prefix; one that is dropped takes the others along.
        let is_unbroken = answer.iter().all(|entry| {
            !entry.native.as_ref().is_some_and(|native| native.sealed) || self.is_unbroken(entry)
        });
        for entry in ordered {
            self.block_of(entry, is_unbroken);
        }
    }

    fn block_of(&mut self, entry: &LogEntry, is_unbroken: bool) {
        let native = entry
            .native
            .as_ref()
            .filter(|native| is_unbroken && self.is_bound(entry) && is_json(&native.raw));
        let mut block = Bytes::default();
        match &entry.item {
            LogItem::Reasoning { .. } | LogItem::ServerTool { .. } | LogItem::Unknown { .. } => {
                let Some(native) = native else {
                    let is_reasoning = matches!(entry.item, LogItem::Reasoning { .. });
                    let why = if is_reasoning { self.reason_for(entry) } else { LeftOutReason::ForeignItem };
                    return self.leave_out(entry.seq, why);
                };
                block.raw(&native.raw);
            }
            LogItem::Assistant { parts, .. } => {
                let text = plain_text(parts);
                if text.trim().is_empty() {
                    return self.leave_out(entry.seq, LeftOutReason::Empty);
                }
                text_block(&mut block, &text);
            }
            LogItem::Call { call, name, input } => {
                let wire_id = self.wire_id(call, false);
                block.raw("{\"type\":\"tool_use\",\"id\":");
                block.text(&wire_id);
                block.raw(",\"name\":");
                block.text(name);
                block.raw(",\"input\":");
                block.raw(&legal_arguments(input));
                block.raw("}");
                let is_free = matches!(input, CallInput::Free(_));
                self.out.pending.push(PendingCall { call: call.clone(), wire_id, is_free });
            }
            _ => return,
        }
        self.block(LastRole::Assistant, &[entry.seq], &block.into_vec());
    }

    pub(super) fn result_messages(
        &mut self,
        seq: Option<u64>,
        pending: &PendingCall,
        disposition: CallDisposition,
        parts: &[LogPart],
    ) {
        let mut block = Bytes::default();
        block.raw("{\"type\":\"tool_result\",\"tool_use_id\":");
        block.text(&pending.wire_id);
        if !disposition.is_success() {
            block.raw(",\"is_error\":true");
        }
        block.raw(",\"content\":[");
        let mut is_first = true;
        for part in parts {
            self.content_block(seq, part, &mut is_first, &mut block);
        }
        block.raw("]}");
        let seqs: Vec<u64> = seq.into_iter().collect();
        self.block(LastRole::User, &seqs, &block.into_vec());
    }

    fn content_block(&mut self, seq: Option<u64>, part: &LogPart, is_first: &mut bool, block: &mut Bytes) {
        let mut piece = Bytes::default();
        match part {
            LogPart::Image { mime, data } if self.takes_images => {
                piece.raw("{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":");
                piece.text(mime);
                piece.raw(",\"data\":");
                piece.text(data);
                piece.raw("}}");
            }
            part => {
                let text = self.text_with_notes(seq, std::slice::from_ref(part));
                // Empty text blocks are refused.
                if text.trim().is_empty() {
                    return;
                }
                text_block(&mut piece, &text);
            }
        }
        if !std::mem::replace(is_first, false) {
            block.raw(",");
        }
        block.bytes(piece.as_slice());
    }

    pub(super) fn user_messages(&mut self, seq: u64, parts: &[LogPart]) {
        let mut is_empty = true;
        for part in parts {
            let mut block = Bytes::default();
            let mut is_first = true;
            self.content_block(Some(seq), part, &mut is_first, &mut block);
            if !block.is_empty() {
                is_empty = false;
                self.block(LastRole::User, &[seq], &block.into_vec());
            }
        }
        if is_empty {
            self.leave_out(seq, LeftOutReason::Empty);
        }
    }

    pub(super) fn operator_messages(&mut self, seq: u64, text: &str) {
        if self.profile.quirks.operator != OperatorRole::System || self.out.last == LastRole::Nothing {
            return self.user_messages(seq, &[LogPart::text(super::operator_note(text))]);
        }
        // The operator's own role: a message between two others, which ends the open one.
        self.close_message();
        self.out.body.raw(",{\"role\":\"system\",\"content\":[");
        self.out.last = LastRole::Tool;
        let mut block = Bytes::default();
        text_block(&mut block, text);
        self.emit(&[seq], &block.into_vec());
    }
}

fn text_block(block: &mut Bytes, text: &str) {
    block.raw("{\"type\":\"text\",\"text\":");
    block.text(text);
    block.raw("}");
}
