//! The same API over TCP, for holders of tokens: off unless `[web] listen` is set.
//!
//! Map: `listen` opens the address, `tls` reads certificate and key, `serve` accepts connections, `gate` refuses before any
//! route what a browser was tricked into sending, `caller` finds token and address, `limits` counts, `patient` drops
//! readers that do not read. Who may do what is decided by the engine, as on the unix socket.

mod caller;
mod error;
mod gate;
mod limits;
mod listen;
mod patient;
mod serve;
mod tls;

pub use error::WebError;
pub use listen::WebListener;
pub use serve::serve;
