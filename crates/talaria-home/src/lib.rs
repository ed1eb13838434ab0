//! Talaria's own directory and what every part needs of the machine.
//!
//! Map: `home` knows the paths of a home and loads its configuration, `lock` makes sure that one engine owns it,
//! `socket_path` says where that engine listens. `user_file` replaces a file of the user whole or not at all. `clock` is
//! the time of day, `faults` the named points at which tests stop the program. `boot`, `descendants` and
//! `foreign_process` identify processes: by boot, start time, parents and what is in their environment.

pub mod boot;
pub mod clock;
pub mod descendants;
pub mod faults;
pub mod foreign_process;
pub mod home;
pub mod lock;
pub mod socket_path;
pub mod user_file;
