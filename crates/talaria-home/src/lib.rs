//! Talaria's own directory and what every part needs of the machine.
//!
//! Map: `home` knows the paths of a home and loads its configuration, `lock` makes sure that one engine owns it,
//! `socket_path` says where that engine listens. `user_file` replaces a file of the user whole or not at all. `clock` is
//! the time of day, `faults` the named points at which tests stop the program.

pub mod clock;
pub mod faults;
pub mod home;
pub mod lock;
pub mod socket_path;
pub mod user_file;
