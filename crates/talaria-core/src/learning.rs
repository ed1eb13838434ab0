//! Reviews of a conversation, as data: when a review is due (`progress`), its prompt and the possible proposals
//! (`proposal`). Its result is `review`.
//!
//! Pure. The engine keeps counters and jobs, asks the model and applies what is left here.

pub mod progress;
pub mod proposal;
