//! Reviews of a conversation, as data: when a review is due (`progress`), its prompt (`question`), and the possible proposals
//! about the memory (`proposal`) and about skills (`suggestion`). Its result is `review`.
//!
//! Pure. The engine keeps counters and jobs, asks the model and applies what is left here.

pub mod progress;
pub mod proposal;
pub mod question;
pub mod suggestion;
