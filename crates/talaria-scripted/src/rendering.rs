//! One reply in the family of its request: the steps go in, frames come out. Pure.

use serde_json::Value;

use crate::ScriptedFamily;
use crate::chat::Completion;
use crate::frame::StreamFrame;
use crate::messages::Message;
use crate::responses::Response;
use crate::step::{Call, ModelUsage, Phase, ReplyEnd, StreamAnswer};

/// The reply that is being written.
pub(crate) struct Rendering {
    family: FamilyWriter,
    usage: ModelUsage,
}

enum FamilyWriter {
    Responses(Response),
    Chat(Completion),
    Messages(Message),
}

impl Rendering {
    /// Begins the reply to request `number`, whose body names the model.
    pub(crate) fn new(family: ScriptedFamily, number: usize, request: &Value, answer: &StreamAnswer) -> Self {
        let asked = request["model"].as_str().unwrap_or("scripted");
        let model = answer.model.as_deref().unwrap_or(asked);
        let usage = answer.usage;
        let family = match family {
            ScriptedFamily::Responses => FamilyWriter::Responses(Response::new(number, model)),
            ScriptedFamily::Chat => {
                let usage_asked = request["stream_options"]["include_usage"] == true;
                FamilyWriter::Chat(Completion::new(number, model, answer.style, usage_asked))
            }
            ScriptedFamily::Messages => FamilyWriter::Messages(Message::new(number, model, usage)),
        };
        Self { family, usage }
    }

    pub(crate) fn begin(&mut self) -> Vec<StreamFrame> {
        match &mut self.family {
            FamilyWriter::Responses(response) => typed(response.begin()),
            FamilyWriter::Chat(completion) => completion.begin(),
            FamilyWriter::Messages(message) => typed(message.begin()),
        }
    }

    pub(crate) fn start_message(&mut self, phase: Option<Phase>) -> Vec<StreamFrame> {
        match &mut self.family {
            FamilyWriter::Responses(response) => typed(response.start_message(phase)),
            // One message is all that a completion has.
            FamilyWriter::Chat(_) => Vec::new(),
            FamilyWriter::Messages(message) => typed(message.start_text()),
        }
    }

    pub(crate) fn text(&mut self, chunk: &str) -> Vec<StreamFrame> {
        match &mut self.family {
            FamilyWriter::Responses(response) => typed(response.text(chunk)),
            FamilyWriter::Chat(completion) => completion.text(chunk),
            FamilyWriter::Messages(message) => typed(message.text(chunk)),
        }
    }

    pub(crate) fn refusal(&mut self, chunk: &str) -> Vec<StreamFrame> {
        match &mut self.family {
            FamilyWriter::Responses(response) => typed(response.refusal(chunk)),
            FamilyWriter::Chat(completion) => completion.refusal(chunk),
            FamilyWriter::Messages(message) => typed(message.refusal(chunk)),
        }
    }

    pub(crate) fn reasoning(&mut self, chunk: &str) -> Vec<StreamFrame> {
        match &mut self.family {
            FamilyWriter::Responses(response) => typed(response.reasoning(chunk)),
            FamilyWriter::Chat(completion) => completion.reasoning(chunk),
            FamilyWriter::Messages(message) => typed(message.thinking(chunk)),
        }
    }

    pub(crate) fn raw_reasoning(&mut self, chunk: &str) -> Vec<StreamFrame> {
        match &mut self.family {
            FamilyWriter::Responses(response) => typed(response.raw_reasoning(chunk)),
            _ => self.reasoning(chunk),
        }
    }

    pub(crate) fn seal(&mut self, sealed: &str) -> Vec<StreamFrame> {
        match &mut self.family {
            FamilyWriter::Responses(response) => typed(response.seal(sealed)),
            FamilyWriter::Chat(completion) => completion.seal(sealed),
            FamilyWriter::Messages(message) => typed(message.seal(sealed)),
        }
    }

    pub(crate) fn call(&mut self, call: &Call) -> Vec<StreamFrame> {
        match &mut self.family {
            FamilyWriter::Responses(response) => typed(response.call(call)),
            FamilyWriter::Chat(completion) => completion.call(call),
            FamilyWriter::Messages(message) => typed(message.call(call)),
        }
    }

    /// A frame that keeps the connection busy and says nothing.
    pub(crate) fn ping(&self) -> Vec<StreamFrame> {
        match self.family {
            FamilyWriter::Messages(_) => typed(vec![serde_json::json!({ "type": "ping" })]),
            _ => vec![StreamFrame::Comment(" keep-alive".to_owned())],
        }
    }

    /// The end that says that the model failed.
    pub(crate) fn failed(&mut self, code: &str, message: &str) -> Vec<StreamFrame> {
        match &mut self.family {
            FamilyWriter::Responses(response) => typed(response.failed(code, message)),
            _ => self.error(code, message),
        }
    }

    /// An error among the events.
    pub(crate) fn error(&mut self, code: &str, message: &str) -> Vec<StreamFrame> {
        match &mut self.family {
            FamilyWriter::Responses(response) => typed(response.error(code, message)),
            FamilyWriter::Chat(completion) => completion.error(code, message),
            FamilyWriter::Messages(writer) => typed(writer.error(code, message)),
        }
    }

    pub(crate) fn finish(&mut self, end: ReplyEnd) -> Vec<StreamFrame> {
        match &mut self.family {
            FamilyWriter::Responses(response) => typed(response.finish(end, self.usage)),
            FamilyWriter::Chat(completion) => completion.finish(end, self.usage),
            FamilyWriter::Messages(message) => typed(message.finish(end)),
        }
    }

    /// Ends the reply and returns it as one value, as a request without a stream gets it.
    pub(crate) fn finish_whole(&mut self, end: ReplyEnd) -> Value {
        let frames = self.finish(end);
        match &self.family {
            FamilyWriter::Responses(_) => match frames.into_iter().next_back() {
                Some(StreamFrame::Event { mut data, .. }) => data["response"].take(),
                _ => Value::Null,
            },
            FamilyWriter::Chat(completion) => completion.whole(end, self.usage),
            FamilyWriter::Messages(message) => message.whole(end),
        }
    }
}

fn typed(events: Vec<Value>) -> Vec<StreamFrame> {
    events.into_iter().map(StreamFrame::typed).collect()
}
