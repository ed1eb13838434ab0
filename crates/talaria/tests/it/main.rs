//! The program as a person or a script uses it: command line in; output, files and exit code out.
//!
//! Codex is the real one of both versions wherever it can show the behaviour; a scripted one where it will not.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a scene that cannot be played fails its test")]

mod answers;
mod approvals;
mod attacks;
mod background;
mod budgets;
mod chat;
mod chat_plain;
mod codex_runtime;
mod config;
mod copies;
mod demo;
mod doctor;
mod engine;
mod engine_log;
mod failed_calls;
mod faults;
mod follow;
mod guide;
mod help;
mod import;
mod import_agents;
mod import_hermes;
mod input;
mod keep_command;
mod left;
mod login;
mod mcp;
mod memory;
mod migrate;
mod options;
mod outliving;
mod own_loop;
mod pdf;
mod permissions;
mod previous_version;
mod providers;
mod questions;
mod requests;
mod rules;
mod scene;
mod service;
mod sessions;
mod setup;
mod shell_help;
mod skills;
mod snapshots;
mod stops;
mod survival;
mod task_input;
mod task_queue;
mod task_watch;
mod task_worktree;
mod tasks;
mod token;
mod usage;
