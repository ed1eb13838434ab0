//! Reads one word: quotes, escapes, globs, braces, the tilde.
//!
//! Owns where a word ends and which of its characters are just themselves. What follows a `$` is read in `dollar`.
//! Called by the grammar, and by itself for the text inside expansions and here-documents.

use super::brace::{self, Part};
use super::draft::Draft;
use super::redirect::Pending;
use super::source::Source;
use super::word::{self, Extent, Piece, Word};
use super::{At, GroupKind, Unparsable};

/// A text being read, and everything found in it.
pub(super) struct Reader<'t, 'd> {
    pub(super) source: Source<'t>,
    pub(super) draft: &'d mut Draft,
    /// Where the next command stands.
    pub(super) at: At,
    /// The command whose words are being read.
    pub(super) owner: Option<usize>,
    /// Here-documents whose text begins on the next line.
    pub(super) pending: Vec<Pending>,
    /// Shells that will read the here-document of a command as a script: that command, and where the shell stands.
    pub(super) waiting: Vec<(usize, At)>,
    /// The command that is the whole stage before this one.
    pub(super) before: Option<usize>,
}

/// Does it stand inside double quotes?
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Quotes {
    Inside,
    Outside,
}

/// A word as it was read, before its braces are expanded.
#[derive(Default)]
pub(super) struct Lexed {
    parts: Vec<Part>,
    is_many: bool,
    is_touched: bool,
    /// An open bracket that only a closing one makes a pattern.
    has_bracket: bool,
    closes_bracket: bool,
    /// How much of the word is `NAME=`, if it begins so.
    assigns: Option<Name>,
}

/// The name that a word assigns to.
#[derive(Clone)]
struct Name {
    name: String,
    /// Bytes up to and with the `=`.
    length: usize,
}

impl<'t, 'd> Reader<'t, 'd> {
    pub(super) fn new(text: &'t str, draft: &'d mut Draft, at: At) -> Self {
        let (pending, waiting) = (Vec::new(), Vec::new());
        Self { source: Source::new(text), draft, at, owner: None, pending, waiting, before: None }
    }
}

impl Lexed {
    pub(super) fn push(&mut self, c: char) {
        match (word::mark(c), self.parts.last_mut()) {
            (Some(piece), _) => self.parts.push(Part::Piece(piece)),
            (None, Some(Part::Piece(Piece::Text(text)))) => text.push(c),
            (None, _) => self.parts.push(Part::Piece(Piece::Text(c.to_string()))),
        }
    }

    /// Adds something that only the running shell knows.
    pub(super) fn expand(&mut self, piece: Piece, extent: Extent) {
        self.is_touched = true;
        self.is_many |= extent == Extent::Many;
        self.parts.push(Part::Piece(piece));
    }

    /// Notes that a quote or an escape was used: the word exists even if empty, and is no keyword.
    pub(super) fn touch(&mut self) {
        self.is_touched = true;
    }

    /// Has anything in it been quoted or expanded?
    pub(super) fn is_touched(&self) -> bool {
        self.is_touched
    }

    /// The text, if the word is plain: not quoted, nothing to expand.
    pub(super) fn plain(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [Part::Piece(Piece::Text(text))] if !self.is_touched => Some(text),
            [Part::Open] => Some("{"),
            [Part::Close] => Some("}"),
            _ => None,
        }
    }

    fn is_empty(&self) -> bool {
        self.parts.is_empty() && !self.is_touched
    }

    fn extent(&self) -> Extent {
        if self.is_many { Extent::Many } else { Extent::One }
    }

    /// The words that it becomes.
    pub(super) fn words(self) -> Vec<Word> {
        let extent = self.extent();
        brace::expand(self.parts, extent)
    }

    /// The one word that it is where braces and splitting have no meaning.
    pub(super) fn word(self) -> Word {
        brace::literal(self.parts, Extent::One)
    }

    /// Name and value, if it is an assignment.
    pub(super) fn assignment(&self) -> Option<(String, Word)> {
        let Name { name, length } = self.assigns.clone()?;
        let value = brace::literal(self.parts.clone(), Extent::One).without_start(length);
        Some((name, value))
    }

    /// Takes note of an unquoted `=`.
    fn note_equals(&mut self) {
        if self.assigns.is_some() {
            return;
        }
        if let Some(text) = self.plain() {
            let name = text.strip_suffix('+').unwrap_or(text);
            if is_name(name) {
                self.assigns = Some(Name { name: name.to_owned(), length: text.len() + 1 });
            }
        }
    }

    fn settle_brackets(&mut self) {
        if self.closes_bracket {
            self.is_many = true;
            self.is_touched = true;
            return;
        }
        for part in &mut self.parts {
            if matches!(part, Part::Piece(Piece::Glob(glob)) if glob == "[") {
                *part = Part::Piece(Piece::Text("[".to_owned()));
            }
        }
    }
}

/// Is it a name that a variable can have?
pub(crate) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

impl Reader<'_, '_> {
    /// Reads a word; none if no word begins here.
    pub(super) fn lex(&mut self) -> Result<Option<Lexed>, Unparsable> {
        let mut lexed = Lexed::default();
        while let Some(c) = self.source.peek() {
            match c {
                ' ' | '\t' | '\n' | ';' | '&' | '|' | ')' => break,
                '<' | '>' => {
                    if !self.source.take("<(") && !self.source.take(">(") {
                        break;
                    }
                    self.substitution()?;
                    lexed.expand(Piece::Unknown, Extent::One);
                }
                '(' => {
                    if lexed.assigns.as_ref().is_some_and(|name| name.length == length(&lexed.parts)) {
                        self.array()?;
                        lexed.expand(Piece::Unknown, Extent::One);
                    } else {
                        break;
                    }
                }
                _ => self.lex_one(&mut lexed, c)?,
            }
        }
        lexed.settle_brackets();
        Ok((!lexed.is_empty()).then_some(lexed))
    }

    fn lex_one(&mut self, lexed: &mut Lexed, c: char) -> Result<(), Unparsable> {
        self.source.bump_raw();
        match c {
            '\0' => return Err(Unparsable::Unsupported("a NUL character")),
            '\\' => {
                lexed.touch();
                lexed.push(self.source.bump_raw().unwrap_or('\\'));
            }
            '\'' => self.single_quotes(lexed)?,
            '"' => self.double_quotes(lexed)?,
            '$' => self.dollar(lexed, Quotes::Outside)?,
            '`' => self.backticks(lexed, Quotes::Outside)?,
            '~' if leads(lexed) => self.tilde(lexed),
            '*' | '?' => {
                lexed.expand(Piece::Glob(c.to_string()), Extent::Many);
            }
            '[' => self.bracket(lexed),
            ']' => {
                lexed.closes_bracket |= lexed.has_bracket;
                lexed.push(c);
            }
            '{' => lexed.parts.push(Part::Open),
            ',' => lexed.parts.push(Part::Comma),
            '}' => lexed.parts.push(Part::Close),
            '=' => {
                lexed.note_equals();
                // zsh puts the path of a program in place of `=program`.
                if lexed.is_empty() && self.source.peek().is_some_and(char::is_alphanumeric) {
                    lexed.expand(Piece::Unknown, Extent::One);
                } else {
                    lexed.push(c);
                }
            }
            _ => match word::mark(c) {
                Some(Piece::Home) => lexed.expand(Piece::Home, Extent::One),
                Some(piece) => lexed.expand(piece, Extent::Many),
                None => lexed.push(c),
            },
        }
        Ok(())
    }

    /// Reads what follows a leading `~`: nothing or a name is a home, `~+` and the like are other directories.
    fn tilde(&mut self, lexed: &mut Lexed) {
        self.source.take_while(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
        let ends = self.source.peek().is_none_or(|c| "/: \t\n;&|()<>".contains(c));
        lexed.expand(if ends { Piece::Home } else { Piece::Unknown }, Extent::One);
    }

    /// Reads `[…]` as a pattern if it is a simple one; otherwise a bracket that may become one.
    fn bracket(&mut self, lexed: &mut Lexed) {
        let rest = self.source.rest();
        let inside = |c: char| c.is_ascii_alphanumeric() || "-!^_.:[".contains(c);
        let end = rest.char_indices().take(64).find(|(_, c)| !inside(*c)).map(|(index, _)| index);
        match end {
            Some(end) if end > 0 && rest[end..].starts_with(']') => {
                let glob = format!("[{}]", &rest[..end]);
                for _ in 0..=end {
                    self.source.bump_raw();
                }
                lexed.expand(Piece::Glob(glob), Extent::Many);
            }
            _ => {
                lexed.has_bracket = true;
                lexed.parts.push(Part::Piece(Piece::Glob("[".to_owned())));
            }
        }
    }

    fn single_quotes(&mut self, lexed: &mut Lexed) -> Result<(), Unparsable> {
        lexed.touch();
        loop {
            match self.source.bump_raw() {
                None => return Err(Unparsable::Unclosed("a single quote")),
                Some('\'') => return Ok(()),
                Some('\0') => return Err(Unparsable::Unsupported("a NUL character")),
                Some(c) => lexed.push(c),
            }
        }
    }

    pub(super) fn double_quotes(&mut self, lexed: &mut Lexed) -> Result<(), Unparsable> {
        lexed.touch();
        loop {
            match self.source.bump() {
                None => return Err(Unparsable::Unclosed("a double quote")),
                Some('"') => return Ok(()),
                Some(c) => self.quoted(lexed, c, "$`\"\\")?,
            }
        }
    }

    /// Reads a whole text as if it stood in double quotes: a here-document.
    pub(super) fn document(&mut self) -> Result<Word, Unparsable> {
        let mut lexed = Lexed::default();
        while let Some(c) = self.source.bump() {
            self.quoted(&mut lexed, c, "$`\\")?;
        }
        Ok(lexed.word())
    }

    fn quoted(&mut self, lexed: &mut Lexed, c: char, escapable: &str) -> Result<(), Unparsable> {
        match c {
            '\0' => return Err(Unparsable::Unsupported("a NUL character")),
            '\\' => match self.source.peek_raw() {
                Some(next) if escapable.contains(next) => {
                    self.source.bump_raw();
                    lexed.push(next);
                }
                _ => lexed.push('\\'),
            },
            '$' => self.dollar(lexed, Quotes::Inside)?,
            '`' => self.backticks(lexed, Quotes::Inside)?,
            _ => lexed.push(c),
        }
        Ok(())
    }

    /// Reads the commands in backticks.
    pub(super) fn backticks(&mut self, lexed: &mut Lexed, quotes: Quotes) -> Result<(), Unparsable> {
        let mut text = String::new();
        loop {
            match self.source.bump_raw() {
                None => return Err(Unparsable::Unclosed("a backtick")),
                Some('`') => break,
                Some('\\') => match self.source.peek_raw() {
                    Some(c @ ('`' | '$' | '\\')) => {
                        self.source.bump_raw();
                        text.push(c);
                    }
                    Some('"') if quotes == Quotes::Inside => {
                        self.source.bump_raw();
                        text.push('"');
                    }
                    _ => text.push('\\'),
                },
                Some(c) => text.push(c),
            }
        }
        let group = self.draft.open(GroupKind::Substitution, self.at, self.owner)?;
        self.read_inner(&text, group)?;
        lexed.expand(Piece::Unknown, quotes.extent());
        Ok(())
    }

    /// Reads the words of `NAME=( … )`.
    fn array(&mut self) -> Result<(), Unparsable> {
        self.source.bump();
        let group = self.draft.open(GroupKind::Block, self.at, self.owner)?;
        let outside = std::mem::replace(&mut self.at.group, group);
        loop {
            self.skip_empty_lines()?;
            if self.source.take(")") {
                self.at.group = outside;
                return Ok(());
            }
            if self.lex()?.is_none() {
                return Err(Unparsable::Unclosed("a list of values"));
            }
        }
    }
}

impl Quotes {
    pub(super) fn extent(self) -> Extent {
        match self {
            Self::Inside => Extent::One,
            Self::Outside => Extent::Many,
        }
    }
}

/// Does a `~` after this stand for a directory? At the start, after `NAME=`, after a colon in its value.
fn leads(lexed: &Lexed) -> bool {
    match lexed.parts.as_slice() {
        [] => !lexed.is_touched,
        [.., Part::Piece(Piece::Text(text))] => lexed.assigns.is_some() && text.ends_with([':', '=']),
        _ => false,
    }
}

fn length(parts: &[Part]) -> usize {
    match parts {
        [Part::Piece(Piece::Text(text))] => text.len(),
        _ => usize::MAX,
    }
}
