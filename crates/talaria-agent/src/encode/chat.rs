//! Chat Completions: one message per answer, a message per result.

use super::json::Bytes;
use super::{LastRole, PendingCall, RequestRenderer, is_json, legal_arguments};
use crate::family::ModelFamily;
use crate::history::{CallInput, LogEntry, LogItem, LogPart, plain_text};
use crate::profile::{CacheMarking, OperatorRole, ReasoningField, ReasoningReturn, ToolContentForm};
use crate::rendered::LeftOutReason;

impl RequestRenderer {
    pub(super) fn open_chat(&mut self) {
        if self.profile.family == ModelFamily::Chat
            && let Some(system) = self.head.chat_system(&self.profile)
        {
            // Part of the head, whose digest has it already.
            self.out.body.bytes(&system);
        }
    }

    pub(super) fn answer_chat(&mut self, answer: &[LogEntry]) {
        let texts = answer.iter().filter_map(|entry| match &entry.item {
            LogItem::Assistant { parts, .. } => Some(plain_text(parts)),
            _ => None,
        });
        let text = texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n");
        let calls: Vec<&LogEntry> =
            answer.iter().filter(|entry| matches!(entry.item, LogItem::Call { .. })).collect();
        if text.is_empty() && calls.is_empty() {
            // Thinking alone is no message: servers refuse one without content.
            answer.iter().for_each(|entry| self.leave_out(entry.seq, LeftOutReason::Empty));
            return;
        }
        let mut piece = Bytes::default();
        piece.raw("{\"role\":\"assistant\",\"content\":");
        if text.is_empty() {
            piece.raw("null");
        } else {
            piece.text(&text);
        }
        let mut seqs = Vec::new();
        self.reasoning_chat(answer, !calls.is_empty(), &mut piece, &mut seqs);
        for entry in answer {
            match &entry.item {
                LogItem::Assistant { .. } => seqs.push(entry.seq),
                LogItem::ServerTool { .. } | LogItem::Unknown { .. } => {
                    self.leave_out(entry.seq, LeftOutReason::ForeignItem);
                }
                _ => {}
            }
        }
        if !calls.is_empty() {
            piece.raw(",\"tool_calls\":[");
            for (at, entry) in calls.iter().enumerate() {
                if at > 0 {
                    piece.raw(",");
                }
                self.call_chat(entry, &mut piece);
                seqs.push(entry.seq);
            }
            piece.raw("]");
        }
        piece.raw("}");
        self.item(&seqs, &piece.into_vec());
        self.out.last = LastRole::Assistant;
    }

    fn reasoning_chat(
        &mut self,
        answer: &[LogEntry],
        has_calls: bool,
        piece: &mut Bytes,
        seqs: &mut Vec<u64>,
    ) {
        let quirks = self.profile.quirks;
        let is_wanted = match quirks.reasoning_return {
            ReasoningReturn::Never => false,
            ReasoningReturn::OnCalls => has_calls,
            ReasoningReturn::Always { .. } => true,
        };
        let field = match quirks.reasoning_field {
            ReasoningField::ReasoningContent => "reasoning_content",
            ReasoningField::Reasoning => "reasoning",
            ReasoningField::Details | ReasoningField::ThinkingParts => "reasoning_details",
        };
        let mut is_written = false;
        for entry in answer.iter().filter(|entry| matches!(entry.item, LogItem::Reasoning { .. })) {
            let native = entry.native.as_ref().filter(|native| {
                let is_valid = if native.sealed { self.is_unbroken(entry) } else { self.is_readable(entry) };
                // A relay's list and a server's text do not fit each other's member.
                let fits = native.raw.starts_with('[') == (quirks.reasoning_field == ReasoningField::Details);
                is_wanted && is_valid && fits && !is_written && is_json(&native.raw)
            });
            match native {
                Some(native) => {
                    piece.raw(",");
                    piece.text(field);
                    piece.raw(":");
                    piece.raw(&native.raw);
                    seqs.push(entry.seq);
                    is_written = true;
                }
                None => self.leave_out(entry.seq, self.reason_for(entry)),
            }
        }
        if let (false, ReasoningReturn::Always { empty }) = (is_written, quirks.reasoning_return) {
            piece.raw(",");
            piece.text(field);
            piece.raw(":");
            piece.text(empty);
        }
    }

    /// Plain text of this provider and model, which no prefix seals.
    fn is_readable(&self, entry: &LogEntry) -> bool {
        let is_dropped = self.omissions.reasoning_until.is_some_and(|until| entry.seq <= until);
        self.is_bound(entry) && !is_dropped
    }

    fn call_chat(&mut self, entry: &LogEntry, piece: &mut Bytes) {
        let LogItem::Call { call, name, input } = &entry.item else { return };
        let wire_id = self.wire_id(call, false);
        piece.raw("{\"id\":");
        piece.text(&wire_id);
        piece.raw(",\"type\":\"function\",\"function\":{\"name\":");
        piece.text(name);
        piece.raw(",\"arguments\":");
        piece.text(&legal_arguments(input));
        piece.raw("}");
        let native = entry.native.as_ref().filter(|native| self.is_unbroken(entry) && is_json(&native.raw));
        if let Some(native) = native.filter(|_| self.profile.quirks.signed_calls) {
            piece.raw(",\"extra_content\":");
            piece.raw(&native.raw);
        }
        piece.raw("}");
        let is_free = matches!(input, CallInput::Free(_));
        self.out.pending.push(PendingCall { call: call.clone(), wire_id, is_free });
    }

    pub(super) fn result_chat(&mut self, seq: Option<u64>, pending: &PendingCall, parts: &[LogPart]) {
        let mut piece = Bytes::default();
        piece.raw("{\"role\":\"tool\",\"tool_call_id\":");
        piece.text(&pending.wire_id);
        piece.raw(",\"content\":");
        let follows = self.takes_images && self.profile.quirks.tool_content == ToolContentForm::Text;
        let mut texts = Vec::new();
        for part in parts {
            match part {
                LogPart::Image { .. } if follows => {
                    texts.push("[the image follows]".to_owned());
                    self.out.images.push((seq.unwrap_or_default(), part.clone()));
                }
                part => texts.push(self.text_with_notes(seq, std::slice::from_ref(part))),
            }
        }
        piece.text(&texts.join("\n"));
        piece.raw("}");
        let seqs: Vec<u64> = seq.into_iter().collect();
        self.item(&seqs, &piece.into_vec());
        self.out.last = LastRole::Tool;
    }

    /// Images of results, in a message of the person's: tool messages take text alone.
    pub(super) fn flush_images(&mut self) {
        let images = std::mem::take(&mut self.out.images);
        if let Some((seq, _)) = images.first() {
            let seq = *seq;
            let parts: Vec<LogPart> = std::iter::once(LogPart::text("Images of the tool results above:"))
                .chain(images.into_iter().map(|(_, part)| part))
                .collect();
            self.user_chat(seq, &parts);
        }
    }

    pub(super) fn user_chat(&mut self, seq: u64, parts: &[LogPart]) {
        if self.out.last == LastRole::Tool && self.profile.quirks.assistant_between {
            self.item(&[], b"{\"role\":\"assistant\",\"content\":\"Continuing.\"}");
        }
        let has_images = parts.iter().any(|part| matches!(part, LogPart::Image { .. })) && self.takes_images;
        let in_parts = has_images || self.profile.quirks.cache == CacheMarking::PartMarks;
        let mut piece = Bytes::default();
        piece.raw("{\"role\":\"user\",\"content\":");
        let mut mark = None;
        if in_parts {
            piece.raw("[");
            for (at, part) in parts.iter().enumerate() {
                if at > 0 {
                    piece.raw(",");
                }
                match part {
                    LogPart::Image { mime, data } if self.takes_images => {
                        piece.raw("{\"type\":\"image_url\",\"image_url\":{\"url\":");
                        piece.text(&format!("data:{mime};base64,{data}"));
                        piece.raw("}}");
                    }
                    part => {
                        piece.raw("{\"type\":\"text\",\"text\":");
                        piece.text(&self.text_with_notes(Some(seq), std::slice::from_ref(part)));
                        mark = Some(piece.len());
                        piece.raw("}");
                    }
                }
            }
            piece.raw("]");
        } else {
            let text = self.text_with_notes(Some(seq), parts);
            piece.text(&text);
        }
        piece.raw("}");
        self.item(&[seq], piece.as_slice());
        let start = self.out.body.len() - piece.len();
        self.out.marks.extend(mark.map(|mark| start + mark));
        self.out.last = LastRole::User;
    }

    pub(super) fn operator_chat(&mut self, seq: u64, text: &str) {
        // Many servers take a system message at the beginning alone.
        if self.profile.quirks.operator != OperatorRole::Developer {
            return self.user_chat(seq, &[LogPart::text(super::operator_note(text))]);
        }
        let mut piece = Bytes::default();
        piece.raw("{\"role\":\"developer\",\"content\":");
        piece.text(text);
        piece.raw("}");
        self.item(&[seq], &piece.into_vec());
        self.out.last = LastRole::User;
    }
}
