//! `talaria help`: what `--help` prints, for people who type the word.

use clap::error::{Error, ErrorKind};
use clap::{Args, Command, CommandFactory, Parser};
use talaria_core::nearest::nearest;

use super::Cli;

const EXAMPLES: &str = "\
Examples:
  talaria help
  talaria help task start   # the same as `talaria task start --help`";

/// Options of `talaria help`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Help {
    /// The command; without one, the help of Talaria
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

impl Help {
    /// Returns the text, or why there is none.
    pub(crate) fn text(&self) -> Result<String, Error> {
        let mut found = Cli::command();
        found.build();
        for word in &self.command {
            let shown = |command: &&Command| !command.is_hide_set();
            let names: Vec<String> =
                found.get_subcommands().filter(shown).map(|command| command.get_name().to_owned()).collect();
            if !names.contains(word) {
                let tip = nearest(word, names.iter().map(String::as_str));
                let tip = tip.map_or_else(String::new, |name| format!("\n\n  tip: did you mean '{name}'?"));
                let what = format!("there is no command '{}'{tip}", self.command.join(" "));
                return Err(Cli::command().error(ErrorKind::InvalidSubcommand, what));
            }
            let Some(next) = found.find_subcommand(word).cloned() else { break };
            found = next;
        }
        let line = ["talaria"].into_iter().chain(self.command.iter().map(String::as_str)).chain(["--help"]);
        match Cli::try_parse_from(line) {
            Err(error) if error.kind() == ErrorKind::DisplayHelp => Ok(error.to_string()),
            Err(error) => Err(error),
            Ok(_) => Ok(found.render_long_help().to_string()),
        }
    }
}
