//! The chat in the terminal: input and news in, wishes and rows out. Pure: reads no key, clock or file, and asks no engine.
//!
//! `chat` is the view-model, from the input line to the transcript. The binary drives it.

pub mod chat;
