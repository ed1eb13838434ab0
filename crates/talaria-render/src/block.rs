//! Classifies a line of Markdown from as few of its characters as possible.
//!
//! Streaming needs the earliest possible answer and the same answer for every chunking, so a line is looked at again
//! with each character until its kind is certain. Lines that mean nothing before their end (tables, fences, rules)
//! are decided there.

/// Kind of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Block {
    /// Nothing but space.
    Blank,
    /// A heading of a level.
    Heading(usize),
    /// An item of a list, with its own mark: `-` or a number.
    Item {
        /// Columns before the mark.
        indent: usize,
        /// `None` for a bullet.
        number: Option<String>,
    },
    /// A quotation.
    Quote,
    /// The beginning of code, with the sign and length that end it.
    Fence(Fence),
    /// A row of a table.
    TableRow,
    /// A line across.
    Rule,
    /// Text, with the columns before it.
    Text {
        /// Columns before the text.
        indent: usize,
    },
}

/// What ends a block of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fence {
    sign: char,
    length: usize,
    /// Columns before the fence; the code is as far in.
    pub(crate) indent: usize,
}

impl Fence {
    /// Does this line end the code?
    pub(crate) fn is_closed_by(self, line: &str) -> bool {
        let line = line.trim();
        line.len() >= self.length && line.chars().all(|c| c == self.sign)
    }

    /// Could it be about to?
    pub(crate) fn may_be_closed_by(self, line: &str) -> bool {
        line.trim().chars().all(|c| c == self.sign)
    }
}

/// How much of a line has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// More may follow.
    Growing,
    /// It has ended.
    Whole,
}

/// Says what a line is and where its text begins, or `None` while that is open. A whole line is always decided.
pub(crate) fn classify(line: &str, extent: Extent) -> Option<(Block, usize)> {
    let body = line.trim_start_matches([' ', '\t']);
    let start = line.len() - body.len();
    let indent = line[..start].chars().map(|c| if c == '\t' { 4 } else { 1 }).sum();
    let is_whole = extent == Extent::Whole;
    let text = Some((Block::Text { indent }, start));
    let Some(first) = body.chars().next() else {
        return is_whole.then_some((Block::Blank, start));
    };
    let run = body.chars().take_while(|&c| c == first).count();
    // All these signs are ASCII, so that `run` counts bytes too.
    let behind = body.get(run..).unwrap_or_default();
    match first {
        '|' => is_whole.then_some((Block::TableRow, start)),
        '#' if run > 6 => text,
        '#' => match behind.chars().next() {
            None => {
                if is_whole {
                    text
                } else {
                    None
                }
            }
            Some(' ') => Some((Block::Heading(run), start + run + 1)),
            Some(_) => text,
        },
        '`' | '~' if run >= 3 => match behind.contains('`') {
            true if first == '`' => text,
            _ => is_whole.then_some((Block::Fence(Fence { sign: first, length: run, indent }), start)),
        },
        '`' | '~' if behind.is_empty() => {
            if is_whole {
                text
            } else {
                None
            }
        }
        '>' => match behind.chars().next() {
            None if !is_whole => None,
            _ => Some((Block::Quote, start + 1 + usize::from(body[1..].starts_with(' ')))),
        },
        '-' | '*' | '_' | '+' => marked(body, first, is_whole, indent, start),
        '0'..='9' => numbered(body, is_whole, indent, start),
        _ => text,
    }
}

/// A bullet or a line across: both may begin with `* * `.
fn marked(body: &str, first: char, is_whole: bool, indent: usize, start: usize) -> Option<(Block, usize)> {
    let signs = body.chars().filter(|&c| c == first).count();
    let may_be_rule = first != '+' && body.chars().all(|c| c == first || c == ' ');
    if may_be_rule && is_whole && signs >= 3 {
        return Some((Block::Rule, start));
    }
    if (may_be_rule || body.len() == 1) && !is_whole {
        return None;
    }
    match body[1..].starts_with(' ') && first != '_' {
        true => Some((Block::Item { indent, number: None }, start + 2)),
        false => Some((Block::Text { indent }, start)),
    }
}

fn numbered(body: &str, is_whole: bool, indent: usize, start: usize) -> Option<(Block, usize)> {
    let digits = body.bytes().take_while(u8::is_ascii_digit).count();
    let text = Some((Block::Text { indent }, start));
    let rest = &body[digits..];
    match rest.as_bytes() {
        _ if digits > 9 => text,
        [] | [b'.' | b')'] => {
            if is_whole {
                text
            } else {
                None
            }
        }
        [b'.' | b')', b' ', ..] => {
            let number = body[..=digits].to_owned();
            Some((Block::Item { indent, number: Some(number) }, start + digits + 2))
        }
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(line: &str) -> String {
        let whole = classify(line, Extent::Whole).unwrap();
        // Whatever is decided early must be what the whole line is.
        for (cut, _) in line.char_indices() {
            if let Some((early, start)) = classify(&line[..cut], Extent::Growing) {
                assert_eq!((&early, start), (&whole.0, whole.1), "{line:?} cut at {cut}");
            }
        }
        let name = format!("{:?}", whole.0);
        format!("{} {:?}", name.split([' ', '(', '{']).next().unwrap(), &line[whole.1..])
    }

    #[test]
    fn lines_are_what_they_look_like() {
        let cases = [
            ("", r#"Blank """#),
            ("## a b", r#"Heading "a b""#),
            ("#tag", r##"Text "#tag""##),
            ("- x", r#"Item "x""#),
            ("  * x", r#"Item "x""#),
            ("12. x", r#"Item "x""#),
            ("12.5", r#"Text "12.5""#),
            ("1999", r#"Text "1999""#),
            ("**bold** x", r#"Text "**bold** x""#),
            ("---", r#"Rule "---""#),
            ("* * *", r#"Rule "* * *""#),
            ("> quoted", r#"Quote "quoted""#),
            ("```rust", r#"Fence "```rust""#),
            ("``x``", r#"Text "``x``""#),
            ("| a | b |", r#"TableRow "| a | b |""#),
            ("- ", r#"Item """#),
            ("Grüße", r#"Text "Grüße""#),
        ];
        for (line, expected) in cases {
            assert_eq!(kind(line), expected, "{line:?}");
        }
    }
}
