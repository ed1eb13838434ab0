//! Side effects of a sed script.
//!
//! Owns enough of sed's grammar to find the commands `e`, `w`, `W` and the flags `e` and `w` of `s`. In doubt it says that
//! something is run. Called by `runs` (which looks into what `e` runs) and by the allow rules.

use super::word::Word;

/// Effects of a script.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SedEffects {
    /// The command lines that `e` runs.
    pub(crate) commands: Vec<String>,
    /// Does it run text that only sed knows, or is it not understood?
    pub(crate) runs_unknown: bool,
    /// Does it write files?
    pub(crate) writes: bool,
}

/// The scripts in the words of a call, with their positions. Scripts in files are not looked into.
pub(crate) fn scripts(words: &[Word]) -> Vec<(usize, SedEffects)> {
    let (mut found, mut has_option, mut first) = (Vec::new(), false, None);
    let mut next = 1;
    while let Some(word) = words.get(next) {
        let start = word.start();
        let at = next;
        next += 1;
        if start == "-" || !start.starts_with('-') {
            first = first.or(Some(at));
            continue;
        }
        if let Some(long) = start.strip_prefix("--") {
            let (name, value) =
                long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
            let takes = |known: &str| !name.is_empty() && known.starts_with(name);
            if takes("expression") {
                has_option = true;
                match value {
                    Some(_) => found.push((at, effects(&word.without_start(name.len() + 3)))),
                    None => next += push(words, next, &mut found),
                }
            } else if takes("file") {
                has_option = true;
                next += usize::from(value.is_none());
            } else if takes("line-length") {
                next += usize::from(value.is_none());
            }
            continue;
        }
        for (index, letter) in start.char_indices().skip(1) {
            let rest = word.without_start(index + letter.len_utf8());
            match letter {
                'e' => {
                    has_option = true;
                    if rest.is("") {
                        next += push(words, next, &mut found);
                    } else {
                        found.push((at, effects(&rest)));
                    }
                }
                'f' => {
                    has_option = true;
                    next += usize::from(rest.is(""));
                }
                'l' => next += usize::from(rest.is("")),
                'i' | 'I' => {}
                _ => continue,
            }
            break;
        }
    }
    match first {
        Some(at) if !has_option => found.push((at, effects(&words[at]))),
        _ => {}
    }
    found
}

fn push(words: &[Word], at: usize, found: &mut Vec<(usize, SedEffects)>) -> usize {
    found.extend(words.get(at).map(|word| (at, effects(word))));
    1
}

fn effects(script: &Word) -> SedEffects {
    let mut effects = SedEffects::default();
    match script.text() {
        Some(text) => {
            if read(text, &mut effects).is_none() {
                effects.runs_unknown = true;
                effects.writes = true;
            }
        }
        None => {
            effects.runs_unknown = true;
            effects.writes = true;
        }
    }
    effects
}

/// Reads a script; none if it is not understood.
fn read(text: &str, effects: &mut SedEffects) -> Option<()> {
    let mut chars = text.chars().peekable();
    loop {
        while chars.next_if(|c| c.is_whitespace() || *c == ';' || *c == '{' || *c == '}').is_some() {}
        let Some(c) = chars.next() else { return Some(()) };
        match c {
            '0'..='9' | '$' | ',' | '!' | '+' | '~' => {}
            '/' => skip(&mut chars, '/')?,
            '\\' => {
                let end = chars.next()?;
                skip(&mut chars, end)?;
            }
            // Flags of an address.
            'I' | 'M' => {}
            '#' => drop(line(&mut chars)),
            ':' | 'b' | 't' | 'T' | 'q' | 'Q' | 'l' | 'L' | 'v' => {
                while chars.next_if(|c| !matches!(c, ';' | '\n' | '}')).is_some() {}
            }
            '=' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x' | 'z' | 'F' => {}
            'a' | 'i' | 'c' => {
                let mut text = line(&mut chars);
                while text.ends_with('\\') && chars.peek().is_some() {
                    text = line(&mut chars);
                }
            }
            'r' | 'R' => drop(line(&mut chars)),
            'w' | 'W' => {
                effects.writes = true;
                line(&mut chars);
            }
            'e' => {
                let command = line(&mut chars);
                let command = command.trim();
                if command.is_empty() {
                    effects.runs_unknown = true;
                } else {
                    effects.commands.push(command.to_owned());
                }
            }
            's' | 'y' => {
                let end = chars.next()?;
                skip(&mut chars, end)?;
                loop {
                    match chars.next()? {
                        '\\' => drop(chars.next()),
                        c if c == end => break,
                        _ => {}
                    }
                }
                if c == 's' {
                    flags(&mut chars, effects);
                }
            }
            _ => return None,
        }
    }
}

fn flags(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, effects: &mut SedEffects) {
    while let Some(c) = chars.next_if(char::is_ascii_alphanumeric) {
        match c {
            'e' => effects.runs_unknown = true,
            'w' => {
                effects.writes = true;
                line(chars);
            }
            _ => {}
        }
    }
}

/// Reads a regular expression up to an unescaped `end`; in brackets it is an ordinary character.
fn skip(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, end: char) -> Option<()> {
    loop {
        match chars.next()? {
            '\\' => drop(chars.next()),
            c if c == end => return Some(()),
            '[' => {
                let _ = chars.next_if_eq(&'^');
                let _ = chars.next_if_eq(&']');
                let mut is_class = false;
                loop {
                    match chars.next()? {
                        ']' if !is_class => break,
                        '[' => is_class = chars.next_if(|c| ":.=".contains(*c)).is_some(),
                        ']' => is_class = false,
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
}

fn line(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> String {
    let mut text = String::new();
    for c in chars.by_ref() {
        if c == '\n' {
            break;
        }
        text.push(c);
    }
    text
}
