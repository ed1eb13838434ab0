//! Codex's own shapes, with Codex's own names. Only what Talaria uses is typed; the rest is kept raw by `frame`.
//!
//! Everything tolerates new fields and new words in enumerations: Codex adds them in every release.

#![expect(missing_docs, reason = "fields have Codex's own names, which say what they hold")]

pub mod call;
pub mod history;
pub mod item;
pub mod notification;
pub mod raw_call;
pub mod reply;
pub mod rpc_error;
pub mod server_request;
