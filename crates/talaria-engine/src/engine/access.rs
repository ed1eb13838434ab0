//! Who calls the engine (`caller`) and what they may see and do (`scope`).

pub(crate) mod caller;
pub(crate) mod scope;
