//! Who calls the engine (`caller`, over TCP by `tokens`) and what they may see and do (`scope`, for tokens `remote`).

pub(crate) mod caller;
pub(crate) mod remote;
pub(crate) mod scope;
pub(crate) mod tokens;
