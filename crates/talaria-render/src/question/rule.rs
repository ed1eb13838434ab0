//! Is the rule that Codex proposes the very command that it asks about? Then it need not be read twice.

use talaria_guard::shell::{self, CommandRole, SimpleCommand};

/// Does the command line, read as a shell reads it, consist of exactly these words?
pub(super) fn is_the_command(command: &str, words: &[String]) -> bool {
    read(command).is_some_and(|read| read == words)
}

/// Note that a rule covers only some of the commands of a line: the others are asked about again.
pub(super) fn partly_covered(command: &str, words: &[String]) -> Option<String> {
    let line = shell::parse(command).ok()?;
    let commands: Vec<_> = line.commands.iter().filter(|simple| simple.role == CommandRole::Plain).collect();
    let is_covered = |simple: &&&SimpleCommand| {
        let begins = words.iter().zip(&simple.words).all(|(word, read)| read.text() == Some(word));
        simple.words.len() >= words.len() && begins
    };
    let covered = commands.iter().filter(is_covered).count();
    (commands.len() > 1 && covered < commands.len()).then(|| {
        format!("covers {covered} of {} commands in this line; you will be asked again", commands.len())
    })
}

/// The words of a command line; none where a quotation is left open. Shell expansions are unchanged.
fn read(command: &str) -> Option<Vec<String>> {
    let (mut words, mut word) = (Vec::new(), None::<String>);
    let mut rest = command.chars();
    while let Some(c) = rest.next() {
        match c {
            ' ' | '\t' | '\n' => words.extend(word.take()),
            '\'' => {
                let text = word.get_or_insert_default();
                loop {
                    match rest.next()? {
                        '\'' => break,
                        c => text.push(c),
                    }
                }
            }
            '"' => {
                let text = word.get_or_insert_default();
                loop {
                    match rest.next()? {
                        '"' => break,
                        '\\' => match rest.next()? {
                            c @ ('"' | '\\' | '$' | '`') => text.push(c),
                            c => text.extend(['\\', c]),
                        },
                        c => text.push(c),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(rest.next()?),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_for_a_part_of_a_line_says_how_much_it_covers() {
        let told = |command: &str, words: &[&str]| {
            partly_covered(command, &words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
        };
        let line = "/bin/bash -lc 'wc -w a.txt | tee count.txt'";
        assert_eq!(
            told(line, &["wc", "-w", "a.txt"]).as_deref(),
            Some("covers 1 of 2 commands in this line; you will be asked again")
        );
        assert_eq!(told("/bin/bash -lc 'git status -s'", &["git", "status"]), None);
        assert_eq!(told("git add a && git add b", &["git", "add"]), None);
    }

    #[test]
    fn only_the_same_words_are_the_same() {
        let is_same = |command, words: &[&str]| {
            is_the_command(command, &words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
        };
        assert!(is_same("ls -la", &["ls", "-la"]));
        assert!(is_same("/bin/bash -lc 'a\nb'", &["/bin/bash", "-lc", "a\nb"]));
        assert!(is_same(r#"bash -lc "echo 'x' \"\$y\"""#, &["bash", "-lc", "echo 'x' \"$y\""]));
        assert!(is_same(r"bash -lc 'it'\''s'", &["bash", "-lc", "it's"]));
        assert!(is_same("ls ''", &["ls", ""]));
        assert!(!is_same("ls -la", &["ls"]), "a beginning is wider than the command");
        assert!(!is_same("/bin/bash -lc 'ls -la'", &["ls", "-la"]));
        assert!(!is_same("ls 'a b'", &["ls", "a", "b"]));
        assert!(!is_same("ls 'a b", &["ls", "a b"]), "what cannot be read is not the same");
        assert!(!is_same("", &["ls"]));
    }
}
