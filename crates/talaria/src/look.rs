//! Capabilities of the output: colours, width, redrawing. Detected once, at the start; only the width changes
//! later.

use std::io::{self, IsTerminal};
use std::os::fd::AsFd;

use rustix::termios::tcgetwinsize;
use talaria_core::ids::SessionId;

use talaria_render::Look;

/// What standard output can do.
pub(crate) fn of_stdout() -> Look {
    of(&io::stdout())
}

/// What standard error can do.
pub(crate) fn of_stderr() -> Look {
    of(&io::stderr())
}

fn of(stream: &(impl AsFd + IsTerminal)) -> Look {
    let live = stream.is_terminal();
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    // A terminal that has no name is one of which nothing is known.
    let dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    Look {
        color: live && !set("NO_COLOR") && !dumb,
        width: columns_of(stream),
        live: live && !dumb,
        unicode: is_unicode(),
    }
}

/// The id of a conversation as a list or a page has it: short for people, whole where a program reads.
pub(crate) fn session_id(id: &SessionId, look: Look) -> &str {
    if look.live { id.short() } else { id.as_str() }
}

/// How wide standard output is now; `None` if it is no terminal, or one that does not know. One system call.
pub(crate) fn columns() -> Option<usize> {
    columns_of(&io::stdout())
}

fn columns_of(stream: &impl AsFd) -> Option<usize> {
    let size = tcgetwinsize(stream).ok()?;
    Some(usize::from(size.ws_col)).filter(|&columns| columns > 0)
}

/// The locale decides, in the order in which C programs look; without one UTF-8 is assumed, as everywhere today.
fn is_unicode() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
    locale.is_none_or(|locale| {
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    })
}
