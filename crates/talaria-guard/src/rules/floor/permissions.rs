//! Changing the permissions or owners of the whole system.

use super::Call;
use super::everything::is_given_everything;
use super::paths::is_ruled;

/// Would the call change the permissions of everything, or of a directory of the system with everything in it?
pub(super) fn hits(call: &Call<'_>) -> bool {
    if !matches!(
        call.name,
        "chmod" | "chown" | "chgrp" | "setfacl" | "chattr" | "gchmod" | "gchown" | "gchgrp"
    ) {
        return false;
    }
    call.has_option("R", &["recursive"]) && call.operands().iter().any(|word| is_ruled(&call.path(word)))
        || is_given_everything(call, is_ruled)
}
