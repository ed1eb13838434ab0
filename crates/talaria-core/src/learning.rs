//! What a conversation is reviewed for after it worked for a while, as data: when a review is due (`progress`), what is asked
//! and what the answer may propose (`proposal`). What came of it is `review`.
//!
//! Pure. The engine keeps counters and jobs, asks the model and applies what is left here.

pub mod progress;
pub mod proposal;
