//! The messages of one turn, from its items: feed what began and what ended, drain messages, finish.
//!
//! The order of roles holds for every sequence of items, also if items arrive twice, late or never:
//!
//! - a turn begins with a message of the user's and ends with one of the assistant's;
//! - an answer of a tool follows the assistant message that called it;
//! - neither the user nor the assistant speaks twice in a row.
//!
//! Therefore the assistant's text is held until it is known whether a call follows, which then belongs to the same
//! message. A call that began before the text precedes it, also when its end is reported late: 0.130 reports the end
//! of a command regularly after the answer. Only completed items make messages; pieces of text never reach this. No
//! clock, no generated ids: the same items produce the same bytes. Called by the session alongside the turn machine,
//! or with the items of a thread that was read back.

use std::collections::{HashSet, VecDeque};
use std::mem;

use super::call::{self, ABANDONED, IN_BACKGROUND};
use super::draft::{Draft, join};
use super::echo::{Echoes, SentInput};
use super::message::{Message, Role, Source, ToolCall};
use super::note;
use crate::event::Abandonment;
use crate::ids::ItemId;
use crate::item::{Attachment, Author, Item, ItemBody, MessageQuestion};
use crate::outcome::Outcome;

/// Maximum size of a stored step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProjectionLimits {
    /// Bytes of what a command or another tool said; the rest is counted.
    pub output: usize,
}

impl Default for ProjectionLimits {
    fn default() -> Self {
        Self { output: 10 * 1024 }
    }
}

/// Makes the messages of one turn.
#[derive(Debug)]
pub struct Projector {
    limits: ProjectionLimits,
    echoes: Echoes,
    /// Items that have ended.
    ended: HashSet<Source>,
    /// Calls that have begun and not ended, oldest first.
    open: Vec<OpenCall>,
    /// Commands that outlive the turn.
    background: HashSet<ItemId>,
    /// Counts items that began or ended.
    now: u64,
    /// Who spoke last; no one in this turn, if `None`.
    last: Option<Role>,
    /// The user's text, until another role follows.
    heard: Option<Draft>,
    /// The assistant's text, until another role or a tool call follows.
    said: Option<Draft>,
    /// Thinking that belongs to what the assistant does next.
    thought: Draft,
    is_finished: bool,
    messages: VecDeque<Message>,
}

#[derive(Debug)]
struct OpenCall {
    source: Source,
    call: ToolCall,
    begun: u64,
}

impl Projector {
    /// Begins a turn.
    pub fn new(limits: ProjectionLimits) -> Self {
        Self {
            limits,
            echoes: Echoes::default(),
            ended: HashSet::new(),
            open: Vec::new(),
            background: HashSet::new(),
            now: 0,
            last: None,
            heard: None,
            said: None,
            thought: Draft::default(),
            is_finished: false,
            messages: VecDeque::new(),
        }
    }

    /// Notes an input that the caller records as a separate message: the one that opens the turn, and further ones if
    /// the caller records them too. Drain then, and append the caller's message. An input that is not noted becomes a
    /// message at the position where Codex reports it.
    pub fn sent(&mut self, input: SentInput) {
        self.echoes.expect(input);
        if self.is_finished {
            return;
        }
        self.flush_said();
        self.flush_heard();
        if self.last == Some(Role::User) {
            self.push(Message::assistant(note::NO_REPLY));
        }
        self.last = Some(Role::User);
    }

    /// Takes an item that began. It makes no message; but a call that never ends is reported at the end of the turn.
    pub fn begin(&mut self, item: &Item) {
        self.now += 1;
        let Some(call) = call::call(&item.id, &item.body) else { return };
        let source = source(item);
        let is_known = self.ended.contains(&source) || self.open.iter().any(|open| open.source == source);
        if !self.is_finished && !is_known {
            self.open.push(OpenCall { source, call, begun: self.now });
        }
    }

    /// Takes an item that ended. An item that ends twice counts once; one that ends after `finish` does not count.
    pub fn complete(&mut self, item: &Item) {
        let source = source(item);
        if self.is_finished || !self.ended.insert(source.clone()) {
            return;
        }
        self.now += 1;
        match &item.body {
            ItemBody::UserMessage { text, author: Author::Talaria, .. } => {
                self.say(Some(source), &note::told_model(text));
            }
            ItemBody::UserMessage { text, attachments, client_id, author: Author::Person } => {
                if !self.echoes.take(client_id.as_deref(), text) {
                    self.hear(source, &spoken(text, attachments));
                }
            }
            ItemBody::Reasoning { summary, content } => {
                let paragraphs = if summary.is_empty() { content } else { summary };
                self.think(source, paragraphs);
            }
            ItemBody::AgentMessage { text, questions, .. } => self.answer(source, text, questions),
            body => {
                if let Some(call) = call::call(&item.id, body) {
                    let begun = self.close(&source);
                    self.call(OpenCall { source, call, begun }, call::result(body, self.limits.output));
                } else if let Some(note) = note::note(body, self.limits.output) {
                    self.say(Some(source), &note);
                }
            }
        }
    }

    /// Takes a step whose end Codex never reported.
    pub fn abandon(&mut self, item: &ItemId, why: Option<Abandonment>) {
        if let Some(at) = self.open.iter().position(|open| open.source.item == *item) {
            let open = self.open.remove(at);
            self.ended.insert(open.source.clone());
            self.call(open, call::abandoned(why).to_owned());
        }
    }

    /// Takes a command that runs in the background when the turn ends.
    pub fn leave_in_background(&mut self, item: &ItemId) {
        self.background.insert(item.clone());
    }

    /// Ends the turn. Open items are reported as abandoned, and the last message is the assistant's.
    pub fn finish(&mut self, outcome: &Outcome) {
        if mem::replace(&mut self.is_finished, true) {
            return;
        }
        for open in mem::take(&mut self.open) {
            let is_running = self.background.contains(&open.source.item);
            self.call(open, if is_running { IN_BACKGROUND } else { ABANDONED }.to_owned());
        }
        if let Some(mut said) = self.said.take() {
            self.recall(&mut said);
            self.said = Some(said);
        }
        match note::ending(outcome) {
            Some(ending) => self.say(None, &ending),
            None if self.said.is_none() => self.say(None, note::NO_ANSWER),
            None => {}
        }
        self.flush_said();
    }

    /// Returns the next message that nothing can change any more.
    pub fn poll(&mut self) -> Option<Message> {
        self.messages.pop_front()
    }

    fn hear(&mut self, source: Source, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        self.flush_said();
        if self.heard.is_none() && self.last == Some(Role::User) {
            self.push(Message::assistant(note::NO_REPLY));
        }
        self.heard.get_or_insert_default().add(text, Some(source));
    }

    fn think(&mut self, source: Source, paragraphs: &[String]) {
        for paragraph in paragraphs {
            join(&mut self.thought.text, paragraph);
        }
        if !paragraphs.is_empty() {
            self.thought.sources.push(source);
        }
    }

    fn answer(&mut self, source: Source, text: &str, questions: &[MessageQuestion]) {
        let is_repeated = self.said.as_ref().is_some_and(|said| said.is_review(text));
        let mut source = Some(source);
        if !is_repeated && !text.trim().is_empty() {
            self.say(source.take(), text);
        }
        for question in questions {
            self.say(source.take(), &question_text(question));
        }
        if let (Some(source), Some(said)) = (source, &mut self.said) {
            said.sources.push(source);
        }
    }

    fn say(&mut self, source: Option<Source>, text: &str) {
        self.make_room_for_assistant();
        let mut said = self.said.take().unwrap_or_else(|| Draft { begun: self.now, ..Draft::default() });
        self.recall(&mut said);
        said.add(text, source);
        self.said = Some(said);
    }

    /// When the call began: now, if its beginning was not reported.
    fn close(&mut self, source: &Source) -> u64 {
        match self.open.iter().position(|open| open.source == *source) {
            Some(index) => self.open.remove(index).begun,
            None => self.now,
        }
    }

    fn call(&mut self, open: OpenCall, result: String) {
        self.make_room_for_assistant();
        let later = self.said.take_if(|said| open.begun < said.begun);
        let mut calling = self.said.take().unwrap_or_default();
        if later.is_none() {
            self.recall(&mut calling);
        }
        calling.sources.push(open.source.clone());
        let answer = Message { sources: vec![open.source], ..Message::tool(open.call.id.clone(), result) };
        self.push(Message { tool_calls: vec![open.call], ..calling.into_message(Role::Assistant) });
        self.push(answer);
        self.said = later;
    }

    /// Adds the thinking so far to what the assistant says now.
    fn recall(&mut self, said: &mut Draft) {
        if !self.thought.text.is_empty() {
            let thought = mem::take(&mut self.thought);
            join(&mut said.thought, &thought.text);
            said.sources.extend(thought.sources);
        }
    }

    fn make_room_for_assistant(&mut self) {
        self.flush_heard();
        if self.last.is_none() {
            self.push(Message::user(note::NO_MESSAGE));
        }
    }

    fn flush_said(&mut self) {
        if let Some(said) = self.said.take() {
            self.push(said.into_message(Role::Assistant));
        }
    }

    fn flush_heard(&mut self) {
        if let Some(heard) = self.heard.take() {
            self.push(heard.into_message(Role::User));
        }
    }

    fn push(&mut self, message: Message) {
        self.last = Some(message.role);
        self.messages.push_back(message);
    }
}

/// Result of a call whose end was reported after its turn: it replaces the message stored at the end of the
/// turn.
pub fn late_result(item: &Item, limits: ProjectionLimits) -> Option<Message> {
    let call = call::call(&item.id, &item.body)?;
    let result = call::result(&item.body, limits.output);
    Some(Message { sources: vec![source(item)], ..Message::tool(call.id, result) })
}

/// Result of a background command that ended without a report of Codex: it replaces the message stored at the end of the
/// turn.
pub fn late_end(item: &ItemId, words: &str) -> Message {
    let source = Source { item: item.clone(), kind: "command" };
    Message {
        sources: vec![source],
        ..Message::tool(item.as_str(), format!("[ran in the background and {words}]"))
    }
}

fn source(item: &Item) -> Source {
    Source { item: item.id.clone(), kind: item.body.kind() }
}

/// Input of a person as text, with a placeholder for everything else.
fn spoken(text: &str, attachments: &[Attachment]) -> String {
    let mut out = text.to_owned();
    for attachment in attachments {
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&attachment.to_string());
    }
    out
}

fn question_text(question: &MessageQuestion) -> String {
    match question.options.as_slice() {
        [] => format!("[asks: {}]", question.title),
        options => format!("[asks: {} ({})]", question.title, options.join(" / ")),
    }
}
