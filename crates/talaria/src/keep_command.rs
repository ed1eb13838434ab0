//! `talaria keep-command`: runs one command of a tool below this process, so that it survives the engine. Only the engine
//! starts it; what it does is `talaria_tools::keeper`.

use talaria_tools::keeper::keep;

use crate::args::KeepCommand;
use crate::trouble::{Trouble, exit};

/// Is the keeper of a command until that has ended. The number is the exit code.
pub(crate) fn run(options: &KeepCommand) -> Result<u8, Trouble> {
    keep(&options.directory).map(|()| 0).map_err(|error| {
        Trouble::new(exit::FAILED, "cannot keep the command")
            .because(error)
            .try_this("only Talaria itself runs this command; `talaria exec` runs a turn")
    })
}
