//! `talaria completions` and `talaria man`: the command line as shells and `man` want it.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  talaria completions bash > ~/.local/share/bash-completion/completions/talaria
  talaria completions zsh > ~/.zfunc/_talaria      # with `fpath+=~/.zfunc` before `compinit`
  talaria completions fish > ~/.config/fish/completions/talaria.fish";

const MAN_EXAMPLES: &str = "\
Examples:
  talaria man | man -l -                           # read the page
  talaria man --dir ~/.local/share/man/man1        # install a page for every command";

/// Options of `talaria completions`.
#[derive(Debug, Args)]
#[command(after_help = COMPLETIONS_EXAMPLES)]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: CompletedShell,
}

/// A shell that completes words.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum CompletedShell {
    Bash,
    Zsh,
    Fish,
}

/// Options of `talaria man`.
#[derive(Debug, Args)]
#[command(after_help = MAN_EXAMPLES)]
pub(crate) struct Man {
    /// Write a page for every command into this directory instead of printing the first
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}
