//! `talaria token`: rights for programs that use the API over TCP.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use talaria_core::access::TokenScope;
use talaria_core::duration::parse_duration;

const EXAMPLES: &str = "\
Examples:
  talaria token create --name ci --scope view,start --root ~/work --expires 30d
  talaria token create --name phone --scope view,answer --expires 30d
  talaria token list
  talaria token revoke ci

Scopes: view; answer, or answer:command, answer:patch, answer:permissions, answer:input,
answer:elicitation; answer:always and answer:outside in addition; start; shell; admin. The API over
TCP is off until web.listen is set in config.toml.";

/// Options of `talaria token`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Token {
    #[command(subcommand)]
    pub(crate) action: TokenAction,
}

/// Subcommands of `talaria token`.
#[derive(Debug, Subcommand)]
pub(crate) enum TokenAction {
    /// Make a token and print it; it cannot be shown again
    #[command(after_help = EXAMPLES)]
    Create(CreateToken),
    /// List tokens with their rights and last use
    #[command(after_help = EXAMPLES)]
    List {
        /// Print one JSON object per token
        #[arg(long)]
        json: bool,
    },
    /// Revoke a token: the next call with it is refused, and its streams end
    #[command(after_help = EXAMPLES)]
    Revoke {
        /// The token: its name or id
        token: String,
    },
}

/// Options of `talaria token create`.
#[derive(Debug, Args)]
pub(crate) struct CreateToken {
    /// Its name: one word; callers with it are token:NAME in `talaria audit`
    #[arg(long)]
    pub(crate) name: String,
    /// What it permits; several with commas
    #[arg(long, value_name = "SCOPES", value_delimiter = ',', required = true)]
    pub(crate) scope: Vec<TokenScope>,
    /// Limit everything that it permits to this directory; can be given several times
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Vec<PathBuf>,
    /// When it ends: a duration such as 30d or 12h, or `never`
    #[arg(long, value_name = "TIME", default_value = "30d", value_parser = parse_expiry)]
    pub(crate) expires: Expiry,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// When a token ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expiry {
    Never,
    After(Duration),
}

fn parse_expiry(text: &str) -> Result<Expiry, String> {
    if text == "never" {
        return Ok(Expiry::Never);
    }
    parse_duration(text).map(Expiry::After).map_err(|error| error.to_string())
}
