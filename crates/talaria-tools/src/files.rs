//! The file tools: reading, editing, writing and searching, and looking at images.
//!
//! What decides is pure (`edit`, `permission`, `numbered`); what acts is thin (`path`, `change`, `search`, `image`). A file
//! is changed only if it is what was read, by one rename, and what was planned is known by digests, so that it can be
//! said after a crash whether it happened. The tools of the loop run in the engine, outside of any sandbox: `permission`
//! decides what they may touch, and `change` makes sure that this is what they touch.

mod change;
mod diff;
mod digest;
mod edit;
mod image;
mod long_text;
mod numbered;
mod path;
mod permission;
mod search;

pub use change::{ChangeFate, FileChangeError, PlannedChange};
pub(crate) use diff::describe as describe_change;
pub use digest::ContentDigest;
pub use edit::{EditRefusal, EditWish, Occurrences, apply_edit, fit_whole_text};
pub use image::{ImageRefusal, ViewedImage, view_image};
pub use long_text::keep_long_text;
pub use numbered::{LineRange, ReadRefusal, read_file};
pub use path::{FileKind, PathRefusal, ResolvedPath, resolve_path};
pub use permission::{FileBounds, FilePermission, judge_read, judge_write};
pub use search::{SearchLimits, SearchMode, SearchRefusal, SearchWish, search_files};
