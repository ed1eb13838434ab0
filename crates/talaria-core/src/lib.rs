//! The vocabulary of Talaria: values in, values out. No I/O, no clock, no environment, no async, nothing of Codex's wire.
//!
//! Map: a turn takes `input` and produces `event`s about `item`s and `request`s until its `outcome`; `gap` describes
//! unobserved time, `background` the commands that outlive their turn, `event_redactor` masks secrets in all of it. `transcript` turns
//! the items of a turn into stored messages, `export` a conversation into Markdown. `usage` counts tokens and rate limits, `budget` decides whether a request fits what may be spent,
//! `prompt_cost` the tokens of the prompt parts that Talaria adds. `ids` has the newtypes, `schema` what the JSON schema of the API needs besides
//! derives. `subject` is the operation that a person is asked to approve: `bounds` says where it would happen, `gate`
//! decides it without a person, `escrow` whether an answer that was never delivered still applies. `principal` and `access`
//! say who calls and what they may do, `policy` how much is asked (`preferences` decides it from a client's wishes and the
//! configuration), `admission` what a task may be started with, `notice` what a person is notified of and where. `next_step`
//! is advice to the user, which each client renders. `api` is the data between clients and the engine, `bridge` the MCP tool
//! as data, `json_line` JSON on one line. `config` reads Talaria's configuration (`edit` changes one key of it, `toml_text`
//! knows its lines, `toml_statements` its statements, `toml_write` writes its values, `toml_problem` describes what is wrong in it, `duration`, `nearest` and `version` parse values and suggest names),
//! `servers` the MCP servers in it, `provider` a model provider in it, `runtime` the choice of who runs turns; `model_choice` validates a model and an effort;
//! `backoff` says how long to wait before a retry. `tool` is a tool that Talaria offers to models, as data; `memory`
//! persists across conversations, `learning` is the review that adds to it, `review` the result of one, `skill` instructions
//! for a kind of work, `hook` the input and output of the user's programs in a turn. `raw` keeps JSON unchanged inside a
//! tagged value, `quantity` writes a number with its noun.

pub mod access;
pub mod admission;
pub mod api;
pub mod background;
pub mod backoff;
pub mod bounds;
pub mod bridge;
pub mod budget;
pub mod config;
pub mod duration;
pub mod edit;
pub mod escrow;
pub mod event;
pub mod event_redactor;
pub mod export;
pub mod gap;
pub mod gate;
pub mod hook;
pub mod ids;
pub mod input;
pub mod item;
pub mod json_line;
pub mod learning;
pub mod memory;
pub mod model_choice;
pub mod nearest;
pub mod next_step;
pub mod notice;
pub mod outcome;
pub mod policy;
pub mod preferences;
pub mod principal;
pub mod prompt_cost;
pub mod provider;
pub mod quantity;
mod raw;
pub mod request;
pub mod review;
pub mod runtime;
#[cfg(feature = "schema")]
mod schema;
pub mod servers;
pub mod skill;
pub mod subject;
pub mod toml_problem;
pub mod toml_statements;
pub mod toml_text;
pub mod toml_write;
pub mod tool;
pub mod transcript;
pub mod usage;
pub mod version;
