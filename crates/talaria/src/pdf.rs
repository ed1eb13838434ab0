//! `talaria read-pdf`: the process that parses one PDF file for the engine, under limits of its own.
//!
//! The parser is fed with bytes of strangers: it may panic, overflow its stack or take all memory. Here that ends this process
//! and nothing else. It has no network to use, opens no file, and ends by itself if the engine is gone. Without the feature
//! `pdf` there is no such command, and the engine refuses PDF files.

use talaria_web::PdfReader;

#[cfg(feature = "pdf")]
pub(crate) use parse::run;

/// The subcommand that parses.
#[cfg(feature = "pdf")]
pub(crate) const NAME: &str = "read-pdf";

/// What the engine reads PDF files with: this program.
#[cfg(feature = "pdf")]
pub(crate) fn reader() -> Option<PdfReader> {
    Some(PdfReader::new(std::env::current_exe().ok()?, [NAME]))
}

/// What the engine reads PDF files with: nothing.
#[cfg(not(feature = "pdf"))]
pub(crate) fn reader() -> Option<PdfReader> {
    None
}

#[cfg(feature = "pdf")]
mod parse {
    use std::io::{self, IsTerminal, Read};

    use rustix::process::{Resource, Rlimit, setrlimit};
    use talaria_web::extract_pdf;

    use crate::output::print;
    use crate::trouble::{Trouble, exit};

    /// The longest file, in bytes; the engine sends none that is longer.
    const LONGEST: u64 = 20_000_000;
    /// What the process may have of each. Descriptors: none beyond those that it has.
    const LIMITS: [(Resource, u64); 5] = [
        (Resource::As, 1 << 30),
        (Resource::Cpu, 10),
        (Resource::Fsize, 0),
        (Resource::Core, 0),
        (Resource::Nofile, 3),
    ];

    /// Reads a file from standard input and prints what it is, as JSON.
    pub(crate) fn run() -> Result<u8, Trouble> {
        if io::stdin().is_terminal() {
            return Err(Trouble::new(exit::USAGE, "only Talaria itself runs this command")
                .try_this("`talaria` opens the chat"));
        }
        let failed = |error: io::Error| Trouble::new(exit::FAILED, "cannot read the PDF file").because(error);
        for (resource, limit) in LIMITS {
            let limit = Rlimit { current: Some(limit), maximum: Some(limit) };
            setrlimit(resource, limit).map_err(|error| failed(error.into()))?;
        }
        let mut bytes = Vec::new();
        io::stdin().take(LONGEST).read_to_end(&mut bytes).map_err(failed)?;
        let reading = serde_json::to_string(&extract_pdf(&bytes)).map_err(|error| failed(error.into()))?;
        print(&reading)?;
        Ok(0)
    }
}
