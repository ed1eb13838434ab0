//! The shell that Codex wraps around a command: `/bin/bash -lc 'touch x'` is shown as `touch x`.
//!
//! Only a wrapper whose script is literal, so that every shell would read the same, is taken off. Where a person decides,
//! the wrapper is shown as well, and an unusual one is never taken off.

use std::borrow::Cow;

/// The shells whose wrapper is taken off.
const SHELLS: [&str; 3] = ["bash", "sh", "zsh"];
/// Where a shell is one of the system. Any other could be a program of that name.
const USUAL_PLACES: [&str; 4] = ["/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"];

/// A command without its shell, and the shell with its options.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BareCommand<'a> {
    /// The script, as the shell gets it.
    pub(crate) script: Cow<'a, str>,
    /// The shell and its options, as they were written.
    pub(crate) shell: &'a str,
}

/// Removes the shell that Codex wraps around a command. Used in lists and for steps, never alone where a person decides.
pub fn unwrapped(command: &str) -> Cow<'_, str> {
    parse(command).map_or(Cow::Borrowed(command), |bare| bare.script)
}

/// Splits a command into its script and a shell of the system, for a question that shows both.
pub(crate) fn bare(command: &str) -> Option<BareCommand<'_>> {
    let bare = parse(command)?;
    let program = bare.shell.split(' ').next()?;
    let is_usual = program.rsplit_once('/').is_none_or(|(place, _)| USUAL_PLACES.contains(&place));
    (is_usual && !bare.script.trim().is_empty()).then_some(bare)
}

fn parse(command: &str) -> Option<BareCommand<'_>> {
    let (shell, rest) = command.split_once(' ')?;
    let name = shell.rsplit_once('/').map_or(shell, |(_, name)| name);
    let script = rest.strip_prefix("-lc ").or_else(|| rest.strip_prefix("-c "))?;
    let shell = &command[..command.len() - script.len() - 1];
    SHELLS.contains(&name).then(|| literal_word(script)).flatten().map(|script| BareCommand { script, shell })
}

/// Reads one word, if that is all there is and a shell would take it literally.
fn literal_word(word: &str) -> Option<Cow<'_, str>> {
    if let Some(inner) = word.strip_prefix('\'').and_then(|word| word.strip_suffix('\''))
        && !inner.contains('\'')
    {
        return Some(Cow::Borrowed(inner));
    }
    let mut out = String::with_capacity(word.len());
    let mut rest = word.chars();
    while let Some(c) = rest.next() {
        match c {
            '\'' => loop {
                match rest.next()? {
                    '\'' => break,
                    c => out.push(c),
                }
            },
            '"' => loop {
                match rest.next()? {
                    '"' => break,
                    '$' | '`' => return None,
                    '\\' => out.push(rest.next().filter(|c| ['"', '$', '`', '\\'].contains(c))?),
                    c => out.push(c),
                }
            },
            '\\' => out.push(rest.next().filter(|c| !c.is_alphanumeric() && *c != '\n')?),
            c if c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c) => out.push(c),
            _ => return None,
        }
    }
    (!word.is_empty()).then_some(Cow::Owned(out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_wrapper_is_taken_off() {
        let cases = [
            ("/bin/bash -lc 'touch x'", "touch x"),
            (r#"/usr/bin/zsh -lc "echo 'a' \$HOME""#, "echo 'a' $HOME"),
            (r"/bin/bash -lc 'it'\''s'", "it's"),
            (r#"/bin/bash -lc 'it'"'"'s $x'"#, "it's $x"),
            ("bash -c ls", "ls"),
            ("/bin/bash -lc 'a' 'b'", "/bin/bash -lc 'a' 'b'"),
            (r#"bash -lc "a $(b)""#, r#"bash -lc "a $(b)""#),
            (r#"bash -lc 'a'"$(b)""#, r#"bash -lc 'a'"$(b)""#),
            ("bash -lc 'a'$b", "bash -lc 'a'$b"),
            ("bash -lc 'a' > x", "bash -lc 'a' > x"),
            ("bash -lc 'a'#b", "bash -lc 'a'#b"),
            ("bash -lc 'a", "bash -lc 'a"),
            ("bash -lc ls -l", "bash -lc ls -l"),
            ("python -c 'x'", "python -c 'x'"),
            ("touch x", "touch x"),
        ];
        for (command, shown) in cases {
            assert_eq!(unwrapped(command), shown);
        }
    }

    #[test]
    fn where_a_person_decides_only_a_shell_of_the_system_is_taken_off() {
        let split = |command: &'static str| bare(command).map(|bare| (bare.shell, bare.script));
        assert_eq!(split("/bin/bash -lc 'rm x'"), Some(("/bin/bash -lc", "rm x".into())));
        assert_eq!(split("sh -c ls"), Some(("sh -c", "ls".into())));
        for odd in ["./bash -lc 'ls'", "/tmp/bin/bash -lc 'ls'", "bin/sh -c ls", "/bin/bash -lc ' '", "ls"] {
            assert_eq!(split(odd), None, "{odd}");
        }
    }
}
