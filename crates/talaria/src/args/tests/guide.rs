//! Every command in the README and in the guide is one that can be typed: it parses, conflicts and required values included.
//!
//! `tests/it/guide.rs` runs those that can run.

use clap::Parser;
use talaria_testkit::guide::{pages, simple_commands};

use super::super::Cli;

/// The programs of others that the pages use. A misspelt `talaria` is none of them.
const OTHERS: [&str; 12] =
    ["./test", "cargo", "claude", "codex", "git", "goose", "jq", "mkdir", "printf", "tail", "cd", "rustup"];

#[test]
fn every_command_of_the_guide_parses() {
    let mut wrong = Vec::new();
    let mut parsed = 0;
    for page in pages() {
        for line in page.command_lines() {
            for words in simple_commands(&line) {
                if words[0] == "talaria" {
                    parsed += 1;
                    if let Err(error) = Cli::try_parse_from(&words) {
                        wrong.push(format!("{}: {line}\n{error}", page.name));
                    }
                } else if !OTHERS.contains(&words[0].as_str()) {
                    wrong.push(format!("{}: {line}\nno such program: {}", page.name, words[0]));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(parsed > 60, "only {parsed} commands were found");
}
