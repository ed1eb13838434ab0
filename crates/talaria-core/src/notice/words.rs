//! Splits a command line into words as a shell would, and writes words so that they split again.
//!
//! There is no shell: what only a shell can do (variables, pipes, several commands) is refused where it is not quoted,
//! because it would silently mean something else. Called by `target` alone.

/// Splits `text`; the error says what cannot be.
pub(super) fn split(text: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' => words.extend(word.take()),
            '\'' => quoted(&mut chars, word.get_or_insert_default())?,
            '"' => double_quoted(&mut chars, word.get_or_insert_default())?,
            '\\' => word.get_or_insert_default().push(chars.next().ok_or("a backslash ends the text")?),
            '|' | '&' | ';' | '<' | '>' | '(' | ')' | '$' | '`' | '\n' => return Err(needs_shell(c)),
            '#' if word.is_none() => return Err(needs_shell(c)),
            _ if c.is_control() => return Err("it has a control character".to_owned()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    match words.iter().any(|word| word.contains('\0')) {
        true => Err("it has a control character".to_owned()),
        false => Ok(words),
    }
}

/// Writes `words` so that `split` returns them.
pub(super) fn join(words: &[String]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| quote(word)).collect();
    quoted.join(" ")
}

fn quote(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./:=@%+,~?*[]{}!^".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

fn quoted(chars: &mut std::str::Chars<'_>, word: &mut String) -> Result<(), String> {
    loop {
        match chars.next() {
            None => return Err("a ' is not closed".to_owned()),
            Some('\'') => return Ok(()),
            Some(c) => word.push(c),
        }
    }
}

fn double_quoted(chars: &mut std::str::Chars<'_>, word: &mut String) -> Result<(), String> {
    loop {
        match chars.next() {
            None => return Err("a \" is not closed".to_owned()),
            Some('"') => return Ok(()),
            Some(c @ ('$' | '`')) => return Err(needs_shell(c)),
            Some('\\') => match chars.next() {
                None => return Err("a \" is not closed".to_owned()),
                Some(c @ ('"' | '\\' | '$' | '`')) => word.push(c),
                Some(c) => word.extend(['\\', c]),
            },
            Some(c) => word.push(c),
        }
    }
}

fn needs_shell(c: char) -> String {
    format!("{c:?} needs a shell, and none is run; quote it, or name a script")
}
