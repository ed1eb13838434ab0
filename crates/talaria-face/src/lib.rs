//! What Talaria shows to people: events in, rows out. Pure: reads no key, no clock, no file, and asks no engine.
//!
//! `render` holds the faces of one turn, `chat` the conversation in the terminal, `dialog` how lines become an answer.
//! The binary drives them.

pub mod chat;
pub mod dialog;
pub mod render;
pub mod sheet;
