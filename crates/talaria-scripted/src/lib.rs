//! A model server that replies as scripted.
//!
//! It listens on loopback, speaks the part of the Responses API that Codex uses, and answers each request with the next
//! [`Reply`] of a script. `talaria demo` plays a script to a person; tests hold a stream at a [`Gate`], break it, or
//! answer with an HTTP error. Nothing here depends on Codex's own protocol or leaves 127.0.0.1.
//!
//! | file | idea |
//! |---|---|
//! | `reply` | what the model says, as data: the builder |
//! | `step` | the parts it is made of |
//! | `events` | that data as Responses events (pure) |
//! | `gate` | a place where a stream waits for the test |
//! | `request` | what Codex asked |
//! | `http` | just enough HTTP/1.1 |
//! | `server` | the listener, the queue of replies, the record of requests |

mod events;
mod gate;
mod http;
mod reply;
mod request;
mod server;
mod step;

pub use gate::Gate;
pub use reply::Reply;
pub use request::ModelRequest;
pub use server::ScriptedModel;
pub use step::{ModelUsage, Phase, PlanStepStatus};
