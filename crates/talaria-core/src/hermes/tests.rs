//! Text in, text out: what a person brings along, and what becomes of it.

mod config;
mod past;
