//! The engine against the real Codex of both versions, and against a scripted one for the faults that it will not produce.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a scenario is called by its tests, which lints do not see; where it cannot go on, it must fail them"
)]

mod asked;
mod asks;
mod attaching;
mod bare;
mod call_hooks;
mod choosing;
mod compacting;
mod context;
mod contract;
mod crowd;
mod delegate;
mod digests;
mod engine;
mod escapes;
mod events;
mod failed_calls;
mod faults;
mod forking;
mod held;
mod hiding;
mod home;
mod hooks;
mod hosts;
mod install;
mod keeping;
mod kinds;
mod learning;
mod ledger;
mod limits;
mod loaded;
mod memory;
mod notify;
mod permissions;
mod places;
mod pool;
mod recall;
mod recovering;
mod resolving;
mod revival;
mod schema;
mod servers;
mod shell;
mod skills;
mod stage;
mod steering;
mod tasks;
mod threads;
mod transcript;
mod turns;
mod undoing;
mod waiting;
mod web;
mod wire;
mod worktree;
