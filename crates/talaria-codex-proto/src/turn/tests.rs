//! The turn machine, as transcripts: each test is one text of steps with their outputs.
//!
//! `script` is the language and how outputs are written; the other files are the promises. A transcript contains its
//! own steps, so `UPDATE_EXPECT=1 cargo test` rewrites only the lines that begin with `=>`.

mod adopted;
mod asking;
mod bugs;
mod calls;
mod captured;
mod children;
mod choosing;
mod compaction;
mod consulted;
mod ends;
mod items;
mod properties;
mod scope;
mod script;
mod sending;
mod silence;
mod soak;
mod stops;
mod store;
mod telling;
mod time;
mod truth;
