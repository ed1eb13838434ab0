//! OpenAI Responses: one item per entry.

use super::json::Bytes;
use super::{PendingCall, RequestRenderer, is_json};
use crate::history::{CallInput, LogEntry, LogItem, LogPart, plain_text};
use crate::profile::OperatorRole;
use crate::rendered::LeftOutReason;

impl RequestRenderer {
    pub(super) fn item(&mut self, seqs: &[u64], piece: &[u8]) {
        if !self.out.body.is_empty() {
            self.out.body.raw(",");
        }
        self.emit(seqs, piece);
    }

    pub(super) fn answer_responses(&mut self, answer: &[LogEntry]) {
        let is_reasoning = |entry: &LogEntry| matches!(entry.item, LogItem::Reasoning { .. });
        // Reasoning belongs to the item after it; at the end of an answer it has none.
        let last = answer.iter().rposition(|entry| !is_reasoning(entry));
        let thinks = answer.iter().any(is_reasoning);
        // An item may not be replayed under its own id without the reasoning that it was made from.
        let is_unbroken =
            answer.iter().filter(|entry| is_reasoning(entry)).all(|entry| self.is_unbroken(entry));
        let is_native = answer.first().is_some_and(|entry| self.is_bound(entry)) && (!thinks || is_unbroken);
        for (at, entry) in answer.iter().enumerate() {
            let native = entry.native.as_ref().filter(|native| is_native && is_json(&native.raw));
            if is_reasoning(entry) {
                match native {
                    Some(native) if last.is_some_and(|last| at < last) => {
                        self.item(&[entry.seq], native.raw.as_bytes());
                    }
                    Some(_) => self.leave_out(entry.seq, LeftOutReason::Empty),
                    None => self.leave_out(entry.seq, self.reason_for(entry)),
                }
                continue;
            }
            if let LogItem::Call { call, input, .. } = &entry.item {
                let wire_id = self.wire_id(call, native.is_some());
                let is_free = matches!(input, CallInput::Free(_));
                self.out.pending.push(PendingCall { call: call.clone(), wire_id, is_free });
            }
            match native {
                Some(native) => self.item(&[entry.seq], native.raw.as_bytes()),
                None => self.own_item(entry),
            }
        }
    }

    pub(super) fn reason_for(&self, entry: &LogEntry) -> LeftOutReason {
        if self.is_bound(entry) { LeftOutReason::VoidReasoning } else { LeftOutReason::ForeignReasoning }
    }

    fn own_item(&mut self, entry: &LogEntry) {
        let mut piece = Bytes::default();
        match &entry.item {
            LogItem::Assistant { parts, phase } => {
                let text = plain_text(parts);
                if text.is_empty() {
                    return self.leave_out(entry.seq, LeftOutReason::Empty);
                }
                piece.raw("{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\",\"text\":");
                piece.text(&text);
                piece.raw("}]");
                if let Some(phase) = phase.as_ref().filter(|_| self.is_bound(entry)) {
                    piece.raw(",\"phase\":");
                    piece.text(phase);
                }
                piece.raw("}");
            }
            LogItem::Call { call, name, input } => {
                let is_free = matches!(input, CallInput::Free(_));
                let kind = if is_free { "custom_tool_call" } else { "function_call" };
                let field = if is_free { "input" } else { "arguments" };
                piece.raw("{\"type\":");
                piece.text(kind);
                piece.raw(",\"call_id\":");
                piece.text(&self.wire_id(call, false));
                piece.raw(",\"name\":");
                piece.text(super::head::wire_name(&self.profile, name));
                piece.raw(",");
                piece.text(field);
                piece.raw(":");
                piece.text(if is_free || !input.as_str().trim().is_empty() { input.as_str() } else { "{}" });
                piece.raw("}");
            }
            _ => return self.leave_out(entry.seq, LeftOutReason::ForeignItem),
        }
        self.item(&[entry.seq], &piece.into_vec());
    }

    pub(super) fn result_responses(&mut self, seq: Option<u64>, pending: &PendingCall, parts: &[LogPart]) {
        let kind = if pending.is_free { "custom_tool_call_output" } else { "function_call_output" };
        let mut piece = Bytes::default();
        piece.raw("{\"type\":");
        piece.text(kind);
        piece.raw(",\"call_id\":");
        piece.text(&pending.wire_id);
        piece.raw(",\"output\":");
        if parts.iter().any(|part| matches!(part, LogPart::Image { .. })) && self.takes_images {
            self.input_parts(&mut piece, seq, parts);
        } else {
            piece.text(&self.text_with_notes(seq, parts));
        }
        piece.raw("}");
        let seqs: Vec<u64> = seq.into_iter().collect();
        self.item(&seqs, &piece.into_vec());
    }

    pub(super) fn user_responses(&mut self, seq: u64, parts: &[LogPart]) {
        let mut piece = Bytes::default();
        piece.raw("{\"type\":\"message\",\"role\":\"user\",\"content\":");
        self.input_parts(&mut piece, Some(seq), parts);
        piece.raw("}");
        self.item(&[seq], &piece.into_vec());
    }

    pub(super) fn operator_responses(&mut self, seq: u64, text: &str) {
        let role = match self.profile.quirks.operator {
            OperatorRole::Developer => "developer",
            OperatorRole::System => "system",
            OperatorRole::User => {
                return self.user_responses(seq, &[LogPart::text(super::operator_note(text))]);
            }
        };
        let mut piece = Bytes::default();
        piece.raw("{\"type\":\"message\",\"role\":");
        piece.text(role);
        piece.raw(",\"content\":[{\"type\":\"input_text\",\"text\":");
        piece.text(text);
        piece.raw("}]}");
        self.item(&[seq], &piece.into_vec());
    }

    fn input_parts(&mut self, piece: &mut Bytes, seq: Option<u64>, parts: &[LogPart]) {
        piece.raw("[");
        for (at, part) in parts.iter().enumerate() {
            if at > 0 {
                piece.raw(",");
            }
            match part {
                LogPart::Image { mime, data } if self.takes_images => {
                    piece.raw("{\"type\":\"input_image\",\"image_url\":");
                    piece.text(&format!("data:{mime};base64,{data}"));
                    piece.raw("}");
                }
                part => {
                    piece.raw("{\"type\":\"input_text\",\"text\":");
                    piece.text(&self.text_with_notes(seq, std::slice::from_ref(part)));
                    piece.raw("}");
                }
            }
        }
        piece.raw("]");
    }

    /// The texts of parts, with a line for each image, which is then reported as left out.
    pub(super) fn text_with_notes(&mut self, seq: Option<u64>, parts: &[LogPart]) -> String {
        let mut lines = Vec::new();
        for part in parts {
            match part {
                LogPart::Text { text } | LogPart::Refusal { text } => lines.push(text.clone()),
                LogPart::Image { .. } => {
                    lines.push("[image left out: it cannot be sent to this model]".to_owned());
                    if let Some(seq) = seq {
                        self.leave_out(seq, LeftOutReason::Image);
                    }
                }
            }
        }
        lines.join("\n")
    }
}
