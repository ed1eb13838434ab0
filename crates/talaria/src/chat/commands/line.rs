//! Arguments of `/task`, `/memory` and `/skills`, parsed as those of the `talaria` command of that name. A text needs no quotes
//! here: it is used as typed, and nothing of it is parsed as an option. Pure.

use clap::{CommandFactory, Parser};
use talaria_tui::chat::commands::{first_split, split};

use crate::args::{Cli, Command};
use crate::trouble::{Trouble, exit};

/// A command of `talaria` that the chat has, too.
pub(super) struct ChatGrammar {
    pub(super) command: &'static str,
    /// The actions that end with a text, and how many words come before it.
    pub(super) with_text: &'static [(&'static str, usize)],
}

pub(super) enum ReadLine {
    Command(Box<Command>),
    Help(String),
}

impl ChatGrammar {
    /// Reads a line as the command line would.
    pub(super) fn read(&self, line: &str) -> Result<ReadLine, Trouble> {
        self.parse(&self.words(line)?)
    }

    fn parse(&self, words: &[String]) -> Result<ReadLine, Trouble> {
        let line = ["talaria", self.command].into_iter().chain(words.iter().map(String::as_str));
        match Cli::try_parse_from(line) {
            Ok(Cli { command: Some(command), .. }) => Ok(ReadLine::Command(Box::new(command))),
            Ok(_) => Err(Trouble::new(exit::USAGE, format!("this is not a /{} command", self.command))),
            Err(error) if !error.use_stderr() || words.is_empty() => Ok(ReadLine::Help(self.in_chat(&error))),
            Err(error) => {
                let text = self.in_chat(&error);
                let text = text.strip_prefix("error: ").unwrap_or(&text).trim_end().to_owned();
                Err(Trouble::new(exit::USAGE, text))
            }
        }
    }

    /// The text of the command line, as it is typed in a chat.
    fn in_chat(&self, error: &clap::Error) -> String {
        let name = self.command;
        let text = error.to_string().replace(&format!("talaria {name}"), &format!("/{name}"));
        text.replace("try '--help'", &format!("try '/{name} --help'"))
    }

    fn words(&self, line: &str) -> Result<Vec<String>, Trouble> {
        let (action, behind) = line.trim().split_once(char::is_whitespace).unwrap_or((line.trim(), ""));
        let Some((_, before)) = self.with_text.iter().find(|(name, _)| *name == action) else {
            return split(line).ok_or_else(open_quote);
        };
        let mut words = vec![action.to_owned()];
        let options = Options::of(self.command, action);
        let text = leading(behind, &options, *before, &mut words)?;
        words.extend(text_word(text, &options)?);
        Ok(words)
    }
}

/// Takes options, and the words before the text; returns the text, if `--` does not separate it.
fn leading<'a>(
    line: &'a str,
    options: &Options,
    mut before: usize,
    words: &mut Vec<String>,
) -> Result<&'a str, Trouble> {
    let mut rest = line.trim_start();
    while !rest.is_empty() {
        let is_option = rest.starts_with('-') && !rest.starts_with("- ") && rest != "-";
        if !is_option && before == 0 {
            break;
        }
        let (word, behind) = first_split(rest).ok_or_else(open_quote)?;
        if word == "--" {
            // Everything after it is the text, whatever it looks like.
            words.extend([word, behind.trim().to_owned()].into_iter().filter(|word| !word.is_empty()));
            return Ok("");
        }
        let has_value = is_option && options.has_value(&word);
        before -= usize::from(!is_option);
        words.push(word);
        rest = behind.trim_start();
        if has_value && !rest.is_empty() {
            let (value, behind) = first_split(rest).ok_or_else(open_quote)?;
            words.push(value);
            rest = behind.trim_start();
        }
    }
    Ok(rest.trim_end())
}

/// The text as one word. Where it is in quotes, options may follow it, as on a command line.
fn text_word(text: &str, options: &Options) -> Result<Vec<String>, Trouble> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    if text.starts_with(['"', '\''])
        && let Some(mut words) = split(text)
        && words.iter().skip(1).all(|word| word.starts_with('-'))
    {
        let quoted = words.remove(0);
        return Ok(words.into_iter().chain(["--".to_owned(), quoted]).collect());
    }
    if let Some(option) = text.split_whitespace().find(|word| options.knows(word)) {
        let what = format!("{option} is inside the text, where it is not read as an option");
        return Err(
            Trouble::new(exit::USAGE, what).try_this("put options before the text, or the text in quotes")
        );
    }
    Ok(vec!["--".to_owned(), text.to_owned()])
}

fn open_quote() -> Trouble {
    Trouble::new(exit::USAGE, "a quote is not closed")
}

/// The options of an action.
struct Options(Option<clap::Command>);

impl Options {
    fn of(command: &str, action: &str) -> Self {
        let cli = Cli::command();
        let found = cli.find_subcommand(command);
        Self(found.and_then(|found| found.find_subcommand(action)).cloned())
    }

    fn find(&self, word: &str) -> Option<&clap::Arg> {
        let name = word.split('=').next().unwrap_or(word);
        let fits = |option: &&clap::Arg| match (name.strip_prefix("--"), name.strip_prefix('-')) {
            (Some(long), _) => option.get_long() == Some(long),
            (None, Some(short)) => option.get_short().is_some_and(|known| short == known.to_string()),
            (None, None) => false,
        };
        self.0.as_ref()?.get_arguments().find(fits)
    }

    fn knows(&self, word: &str) -> bool {
        word.starts_with("--") && self.find(word).is_some()
    }

    /// Is its value the next word?
    fn has_value(&self, word: &str) -> bool {
        let takes =
            |option: &clap::Arg| option.get_action().takes_values() && !option.is_require_equals_set();
        !word.contains('=') && self.find(word).is_some_and(takes)
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::chat::commands::{memory, task};

    fn parse_text(line: &str) -> String {
        match task::GRAMMAR.words(line) {
            Ok(words) => format!("{words:?}\n"),
            Err(trouble) => format!("{}\n", trouble.summary()),
        }
    }

    #[test]
    fn a_text_needs_no_quotes_and_stays_as_it_was_typed() {
        let lines = [
            "start fix the  test, don't break it",
            "start first line\nsecond \"line\"",
            "start --worktree --model gpt-5.5 -m x --cwd 'my dir' fix it",
            "start --worktree=copy fix it",
            "start \"fix it\" --worktree",
            "start \"fix it\" is what he said",
            "start -- --worktree is an option",
            "start - lists, too",
            "start -",
            "send codex-1 now the docs, too",
            "steer --json codex-1 it's fine",
            "send codex-1",
            "start",
        ];
        expect![[r#"
            ["start", "--", "fix the  test, don't break it"]
            ["start", "--", "first line\nsecond \"line\""]
            ["start", "--worktree", "--model", "gpt-5.5", "-m", "x", "--cwd", "my dir", "--", "fix it"]
            ["start", "--worktree=copy", "--", "fix it"]
            ["start", "--worktree", "--", "fix it"]
            ["start", "--", "\"fix it\" is what he said"]
            ["start", "--", "--worktree is an option"]
            ["start", "--", "- lists, too"]
            ["start", "--", "-"]
            ["send", "codex-1", "--", "now the docs, too"]
            ["steer", "--json", "codex-1", "--", "it's fine"]
            ["send", "codex-1"]
            ["start"]
        "#]]
        .assert_eq(&lines.map(parse_text).concat());
    }

    #[test]
    fn what_looks_like_an_option_and_is_none_is_told() {
        let lines =
            ["start fix it --worktree", "start fix it --sandbox=read-only", "start --cwd 'open fix it"];
        expect![[r#"
            --worktree is inside the text, where it is not read as an option
            --sandbox=read-only is inside the text, where it is not read as an option
            a quote is not closed
        "#]]
        .assert_eq(&lines.map(parse_text).concat());
        assert_eq!(parse_text("start fix --unheard of"), "[\"start\", \"--\", \"fix --unheard of\"]\n");
    }

    #[test]
    fn an_entry_of_the_memory_needs_no_quotes_either() {
        let words = |line: &str| memory::GRAMMAR.words(line).unwrap().join("|");
        assert_eq!(words("add don't  use tabs"), "add|--|don't  use tabs");
        assert_eq!(words("add --scope project run just test"), "add|--scope|project|--|run just test");
        assert_eq!(words("edit mem-1 the new text"), "edit|mem-1|--|the new text");
    }

    #[test]
    fn the_words_are_those_of_the_command_line() {
        let read = |line: &str| task::GRAMMAR.read(line);
        assert!(matches!(read("show codex-1 --diff"), Ok(ReadLine::Command(_))));
        assert!(
            matches!(read("--help"), Ok(ReadLine::Help(text)) if text.contains("Usage: /task ") && !text.contains("talaria task"))
        );
        assert!(matches!(read(""), Ok(ReadLine::Help(text)) if text.contains("start")));
        let refused = |line: &str| read(line).err().map(|trouble| trouble.summary()).unwrap_or_default();
        assert!(
            refused("shw x").contains("shw") && refused("shw x").contains("Usage: /task"),
            "{}",
            refused("shw x")
        );
        assert!(refused("shw x").ends_with("try '/task --help'."), "{}", refused("shw x"));
    }

    #[test]
    fn everything_else_is_split_as_a_shell_does() {
        assert_eq!(parse_text("show 'codex-1' --diff"), "[\"show\", \"codex-1\", \"--diff\"]\n");
        assert_eq!(parse_text("show 'codex-1"), "a quote is not closed\n");
    }
}
