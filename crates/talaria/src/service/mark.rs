//! A line in a file that says that we wrote it, and by a checksum whether anyone changed it since.
//!
//! Not against malice: it keeps us from throwing away what a person wrote.

/// How a comment is written in the file.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Comment {
    /// `# …`, the first line.
    Hash,
    /// `<!-- … -->`, the last line: an XML declaration has to come first.
    Xml,
}

/// Whose a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Author {
    /// We wrote it, and it is as we did.
    Us,
    /// We wrote it, and it was changed since.
    Changed,
    /// Another program wrote it.
    Other,
}

const WORDS: &str = "written by `talaria service install`, removed by `talaria service uninstall`; checksum ";

/// Adds the line.
pub(crate) fn sign(text: &str, comment: Comment) -> String {
    let words = format!("{WORDS}{:016x}", checksum(text));
    match comment {
        Comment::Hash => format!("# {words}\n{text}"),
        Comment::Xml => format!("{text}<!-- {words} -->\n"),
    }
}

/// Says whose a file is.
pub(crate) fn author(text: &str) -> Author {
    let is_mark = |line: &&str| line.contains(WORDS);
    let Some(line) = text.lines().find(is_mark) else { return Author::Other };
    let told = line.split(WORDS).nth(1).and_then(|rest| rest.split_whitespace().next()).unwrap_or_default();
    let rest: String = text.split_inclusive('\n').filter(|line| !is_mark(line)).collect();
    if told == format!("{:016x}", checksum(&rest)) { Author::Us } else { Author::Changed }
}

/// FNV-1a.
fn checksum(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_by_hand_is_noticed() {
        for comment in [Comment::Hash, Comment::Xml] {
            let text = sign("[Service]\nExecStart=a\n", comment);
            assert_eq!(author(&text), Author::Us);
            assert_eq!(author(&text.replace("ExecStart=a", "ExecStart=b")), Author::Changed);
            assert_eq!(author(&format!("{text}Nice=5\n")), Author::Changed);
        }
        assert_eq!(author("[Service]\nExecStart=a\n"), Author::Other);
        assert_eq!(author(""), Author::Other);
    }
}
