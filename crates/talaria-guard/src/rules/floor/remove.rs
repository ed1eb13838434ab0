//! Removing the system or a home directory, by `rm`, by `find`, by `rsync`, or by `xargs` from a list of names.
//!
//! Owns which programs remove recursively. A target that is not known is no hit.

use super::Call;
use super::everything::{is_given_everything, looks_everywhere};
use super::paths::{is_ruled, is_vital};
use crate::shell::{Word, WordExtent};

/// Returns whether the call would remove a protected directory.
pub(super) fn hits(call: &Call<'_>) -> bool {
    match call.name {
        "rm" | "grm" | "srm" | "rimraf" => removes(call),
        "unlink" | "shred" | "rmdir" => is_given_everything(call, is_vital),
        "find" | "gfind" => empties(call),
        "rsync" => mirrors(call),
        _ => false,
    }
}

fn removes(call: &Call<'_>) -> bool {
    let is_recursive = call.name == "rimraf" || call.has_option("rR", &["recursive"]);
    if is_given_everything(call, is_vital) {
        return true;
    }
    // Unknown options may include the decisive one.
    let may_be =
        call.arguments().iter().any(|word| word.extent() == WordExtent::Many && word.start().is_empty());
    if !is_recursive && !may_be {
        return false;
    }
    let is_fearless = call.arguments().iter().any(|word| word.is("--no-preserve-root"));
    let removes_vital = call.operands().iter().any(|word| is_vital(&call.path(word)));
    is_recursive && is_fearless || removes_vital
}

fn empties(call: &Call<'_>) -> bool {
    call.arguments().iter().any(|word| word.is("-delete")) && looks_everywhere(call, is_vital)
}

/// `rsync --delete empty/ /`: files missing in the source are removed.
fn mirrors(call: &Call<'_>) -> bool {
    let deletes = |word: &Word| word.start().starts_with("--del") && !word.start().starts_with("--delay");
    let is_probe = call.has_option("n", &["dry-run"]);
    let operands = call.operands();
    let Some((target, [_, ..])) = operands.split_last() else { return false };
    // A disk that is mounted, or an empty place for one, is what backups are made to.
    let is_lost = |path: &str| is_ruled(path) || ["~", "/root", "/home", "/Users"].contains(&path);
    !is_probe && call.arguments().iter().any(deletes) && is_lost(&call.path(target))
}
