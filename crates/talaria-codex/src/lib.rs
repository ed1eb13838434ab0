//! Runs Codex: finds and installs it, manages its processes, talks to its app-server, edits its configuration file.
//!
//! Map: `locate` and `install` find or fetch the program, `schema` is the schema that it reports of itself. `spec` says
//! what to start and from which `environment`, `key` which hosts are interchangeable; `process` and `host` run one in its
//! own `directory`, `stderr` keeps its last lines, `memory` measures it. `pool` keeps many hosts: `thread_slots` and
//! `live_turns` say what each one has loaded and runs. `host_register` records them for the next engine (`ownership` and
//! `identity` prove which are ours), `sweep` ends those whose owner died. `transport`, `connection`, `router`, `queue` and
//! `client` carry messages; `threads` starts, resumes and reads threads, `branch`
//! copies one up to a turn, `attach` joins one that runs. `conversation` runs
//! turns on a thread, `current` is the host that a session is on, `source` supplies another one and `revival` moves the
//! thread there when its Codex is gone; `permit` makes sure that input is written once. `login` logs in. `commands` (with
//! `command_output`) and `terminals` are a person's own commands and those that outlive a turn. `secrets` and `trust`
//! prepare what a thread may see, `folder_defaults` says what Codex's configuration decides where no Codex runs,
//! `users_servers` decides between MCP servers of the same name, `migrate` plans and applies edits of Codex's
//! configuration.

pub mod attach;
pub mod branch;
pub mod client;
mod command_output;
pub mod commands;
mod connection;
pub mod conversation;
pub mod current;
pub mod directory;
pub mod environment;
pub mod folder_defaults;
pub mod host;
pub mod host_register;
pub mod identity;
pub mod install;
pub mod key;
pub mod live_turns;
pub mod locate;
pub mod login;
mod memory;
pub mod migrate;
pub mod ownership;
pub mod permit;
pub mod pool;
pub mod process;
pub mod queue;
pub mod revival;
mod router;
pub mod schema;
pub mod secrets;
pub mod source;
pub mod spec;
pub mod stderr;
mod sweep;
pub mod terminals;
pub mod thread_slots;
pub mod threads;
mod transport;
pub mod trust;
pub mod users_servers;

pub use transport::HostTransport;
