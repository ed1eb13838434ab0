//! Items in, messages out.

mod order;
mod properties;
mod script;
mod steps;
