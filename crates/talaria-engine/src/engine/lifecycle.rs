//! How an engine begins and ends: `recovery` opens a home and continues what the last engine left, `copies` finds out whether
//! the home is a copy, `host_register` records hosts, `leftovers` finds what a killed engine left,
//! `loop_commands` ends and clears away commands of the built-in loop, `ending` and `stop_marker` stop
//! it. `retention` removes what is old, `snapshots` writes conversations as files, `imports` admits importers, `trouble` collects what cannot be written.

pub(crate) mod copies;
pub(crate) mod ending;
pub(crate) mod full_disk;
pub(crate) mod host_register;
pub(crate) mod imports;
pub mod leftovers;
pub(crate) mod loop_commands;
pub(crate) mod recovery;
pub(crate) mod retention;
pub(crate) mod snapshots;
pub(crate) mod stop_marker;
pub(crate) mod trouble;
