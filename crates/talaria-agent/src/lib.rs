//! The built-in model loop: talks to model providers over three wire families. Everything but `transport` is pure: values
//! in, values out, no I/O, no clock, no environment.
//!
//! Map: `family` names the wire families and `profile` describes providers and models as data. `rendered` is a request as
//! bytes, ready to be sent. `failure` classifies what went wrong. `sse` decodes the stream of an answer, `thinking` splits
//! thinking from text, `spending` counts tokens and prices. `history` is the conversation in no provider's words.
//! `encode` projects it to the request of a provider, `fold` turns the frames of an answer into steps and items, `attempt` follows one request to its end with evidence,
//! `retry` decides what follows an end without an answer, `key_pool` which key a request takes,
//! `compaction` what stays of a conversation that is too long, `loop_turn` is the machine of a whole turn.
//! `transport` sends requests and is the only part with I/O.

pub mod attempt;
pub mod compaction;
pub mod encode;
pub mod failure;
pub mod family;
pub mod fold;
pub mod history;
pub mod key_pool;
pub mod loop_turn;
pub mod profile;
pub mod rendered;
pub mod retry;
pub mod spending;
pub mod sse;
pub mod thinking;
pub mod transport;
