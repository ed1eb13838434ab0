//! The data model: rows, new rows, patches, filters, pages. No SQL and no I/O, the same for every backend.
//!
//! `words` has the states and kinds that are stored as words, `batch` the unit of writing. Pure decisions that every
//! backend needs are here too: which sessions to prune (`prune`), the words of a search and its snippets (`search`).

#![expect(missing_docs, reason = "the fields of rows, patches and filters are named after what they hold")]

pub(crate) mod api_token;
pub(crate) mod audit;
pub(crate) mod batch;
pub(crate) mod budget;
pub(crate) mod delegation;
pub(crate) mod event;
pub(crate) mod host;
pub(crate) mod imported;
pub(crate) mod inspection;
pub(crate) mod lease;
pub(crate) mod memory;
pub(crate) mod message;
pub(crate) mod model_attempt;
pub(crate) mod model_history;
pub(crate) mod model_usage;
pub(crate) mod open_options;
pub(crate) mod origin;
pub(crate) mod outbox;
pub(crate) mod prune;
pub(crate) mod request;
pub(crate) mod review;
pub(crate) mod search;
pub(crate) mod session;
pub(crate) mod size;
pub(crate) mod skill;
pub(crate) mod task;
pub(crate) mod tool_call;
pub(crate) mod trim;
pub(crate) mod turn;
pub(crate) mod words;
