//! Is the rule that Codex proposes the very command that it asks about? Then it need not be read twice.

/// Does the command line, read as a shell reads it, consist of exactly these words?
pub(super) fn is_the_command(command: &str, words: &[String]) -> bool {
    read(command).is_some_and(|read| read == words)
}

/// The words of a command line; none where a quotation is left open. What a shell would expand is left as it stands.
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
