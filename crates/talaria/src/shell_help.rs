//! Prints completion scripts and manual pages. Both are generated from the arguments, so they are never out of date.

use std::fs;
use std::path::Path;

use clap::{Command, CommandFactory};
use clap_complete::Shell;

use crate::args::{Cli, CompletedShell, Completions, Man};
use crate::output::print;
use crate::trouble::{Trouble, complain, exit};

/// Prints a completion script. The number is the exit code.
pub(crate) fn completions(options: &Completions) -> Result<u8, Trouble> {
    let shell = match options.shell {
        CompletedShell::Bash => Shell::Bash,
        CompletedShell::Zsh => Shell::Zsh,
        CompletedShell::Fish => Shell::Fish,
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "talaria", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(0)
}

/// Prints the manual page, or writes one for every command. The number is the exit code.
pub(crate) fn man(options: &Man) -> Result<u8, Trouble> {
    let mut command = Cli::command();
    command.build();
    let Some(directory) = &options.dir else {
        print(&page(&command)?)?;
        return Ok(0);
    };
    fs::create_dir_all(directory).map_err(|error| not_written(directory, &error))?;
    let mut written = 0;
    write_pages(&command, directory, &mut written)?;
    complain(&format!("wrote {written} pages to {}\n", directory.display()));
    Ok(0)
}

fn write_pages(command: &Command, directory: &Path, written: &mut usize) -> Result<(), Trouble> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    let file = directory.join(format!("{name}.1"));
    fs::write(&file, page(command)?).map_err(|error| not_written(&file, &error))?;
    *written += 1;
    let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
    shown.into_iter().try_for_each(|command| write_pages(command, directory, written))
}

fn page(command: &Command) -> Result<String, Trouble> {
    let mut page = Vec::new();
    let made = clap_mangen::Man::new(command.clone()).render(&mut page);
    made.map_err(|error| Trouble::new(exit::FAILED, "cannot make the page").because(error))?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}

fn not_written(path: &Path, error: &std::io::Error) -> Trouble {
    Trouble::new(exit::FAILED, format!("cannot write {}", path.display()))
        .because(error)
        .try_this("name a directory that you may write with --dir")
}
