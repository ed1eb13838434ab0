//! The conversation in a real terminal, on the real Codex with a scripted model.
//!
//! The screens are committed as text in `chat/screens`; after a wanted change:
//! `UPDATE_EXPECT=1 cargo test -p talaria --test it chat`, and read the diff. `./pictures` draws those of the README.

mod answers;
mod approvals;
mod beginning;
mod clipboard;
mod commands;
mod hostile;
mod leaving;
mod own_loop;
mod permissions;
mod pictures;
mod plain;
mod restoring;
mod running;
mod sizes;
pub(crate) mod stage;
mod trouble;
mod typing;
