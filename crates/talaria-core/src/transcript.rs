//! The transcript, as stored messages: `{role, content, tool_calls, tool_call_id}`.
//!
//! `Projector` makes them from the completed items of one turn; `digest` shortens many of them to seed a fresh thread.
//! Everything here is pure and deterministic: the same items make the same bytes. Nothing is redacted here; that
//! happens where messages leave the process or are stored.
//!
//! | file | idea |
//! |---|---|
//! | `message` | the shape of a message |
//! | `projector` | items in, messages out, roles always in order |
//! | `draft` | a message that may still grow |
//! | `echo` | which user messages are the caller's own, come back |
//! | `call` | steps that are calls of tools: name, arguments, result |
//! | `note` | all other steps, in words |
//! | `patch` | a change of files in one line |
//! | `sorted_json` | JSON with the keys in order |
//! | `cap` | the beginning and the end of a long text |
//! | `digest` | many messages in few characters |

mod call;
mod cap;
mod digest;
mod draft;
mod echo;
mod message;
mod note;
mod patch;
mod projector;
mod sorted_json;

pub use cap::cap;
pub use digest::digest;
pub use echo::SentInput;
pub use echo::has_same_words;
pub use message::{CallKind, Function, Message, Role, Source, ToolCall};
pub use note::failed_call;
pub use patch::summary as patch_summary;
pub use projector::{ProjectionLimits, Projector, late_end, late_result};
