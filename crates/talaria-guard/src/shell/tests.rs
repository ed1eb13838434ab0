//! Promises of the shell parser: a line in, its commands out.

mod lines;
mod properties;
mod wrappers;

use super::*;

/// Every command on its own line, with a letter for its role.
fn shown(text: &str) -> String {
    match parse(text) {
        Err(why) => format!("! {why}\n"),
        Ok(line) => line.commands.iter().map(|command| format!("{} {command}\n", letter(command))).collect(),
    }
}

fn letter(command: &SimpleCommand) -> char {
    match command.role {
        CommandRole::Plain => '.',
        CommandRole::Runner => 'r',
        CommandRole::Carrier => 'c',
        CommandRole::Wrapper => 'w',
        CommandRole::Frame => 'f',
        CommandRole::Unknown => '?',
        CommandRole::Code => '!',
    }
}

/// A table of lines with what was found in each.
fn table(lines: &[&str]) -> String {
    lines.iter().map(|line| format!("{}\n{}", line.replace('\0', "␀"), indented(&shown(line)))).collect()
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}
