//! A model server that replies as scripted.
//!
//! It listens on loopback, speaks the three wire families (Responses, Chat Completions, Messages), and answers each request
//! with the next [`Reply`] of a script, in the family of the request. `talaria demo` plays a script to a person; tests hold a
//! stream at a [`Gate`], break it at any byte, or answer with an HTTP error. Nothing here depends on Codex's own protocol or
//! leaves 127.0.0.1.
//!
//! | file | idea |
//! |---|---|
//! | `reply` | what the model says, as data: the builder; `reply/faults` what goes wrong on the wire |
//! | `step` | the parts it is made of |
//! | `family` | the three families: paths, error bodies |
//! | `responses`, `chat`, `messages` | that data as frames of one family (pure) |
//! | `rendering` | one of these three, chosen by the request (pure) |
//! | `frame`, `framing` | a frame, and how frames become bytes (pure) |
//! | `stream` | plays the steps |
//! | `gate` | a place where a stream waits for the test |
//! | `request` | what was asked |
//! | `http` | just enough HTTP/1.1 |
//! | `server` | the listener, the queue of replies, the record of requests |

mod chat;
mod family;
mod frame;
mod framing;
mod gate;
mod http;
mod messages;
mod rendering;
mod reply;
mod request;
mod responses;
mod server;
mod step;
mod stream;

pub use chat::{ChatReasoningField, ChatStyle, ChatUsagePlace};
pub use family::ScriptedFamily;
pub use framing::{SseFraming, SseLineEnding};
pub use gate::Gate;
pub use reply::Reply;
pub use request::ModelRequest;
pub use server::ScriptedModel;
pub use step::{ModelUsage, Phase, PlanStepStatus, ReplyEnd, StreamCut};
