//! Reads one word: quotes, escapes, globs, braces, the tilde.
//!
//! Owns where a word ends and which of its characters are just themselves. What follows a `$` is read in `dollar`.
//! Called by the grammar, and by itself for the text inside expansions and here-documents.

use super::brace::Part;
use super::draft::Draft;
use super::lexed::Lexed;
use super::redirect::Pending;
use super::source::Source;
use super::word::{self, Word, WordExtent, WordPiece};
use super::{At, GroupKind, Unparsable};

/// A text being read, and everything found in it.
pub(super) struct Reader<'t, 'd> {
    pub(super) source: Source<'t>,
    pub(super) draft: &'d mut Draft,
    /// The position of the next command.
    pub(super) at: At,
    /// The command whose words are being read.
    pub(super) owner: Option<usize>,
    /// Here-documents whose text begins on the next line.
    pub(super) pending: Vec<Pending>,
    /// Shells that will read the here-document of a command as a script: that command, and the position of the shell.
    pub(super) waiting: Vec<(usize, At)>,
    /// The command that is the whole stage before this one.
    pub(super) before: Option<usize>,
    /// Has a here-document been read in the `$(…)` or `<(…)` that is being read? Then nothing may follow in it.
    pub(super) document_in: DocumentIn,
}

/// Where the last here-document was read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum DocumentIn {
    /// In no substitution: no matter.
    Line,
    /// None yet, in this substitution.
    None,
    /// In this substitution.
    Substitution,
}

/// Whether it is inside double quotes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Quotes {
    Inside,
    Outside,
}

impl<'t, 'd> Reader<'t, 'd> {
    pub(super) fn new(text: &'t str, draft: &'d mut Draft, at: At) -> Self {
        let (pending, waiting) = (Vec::new(), Vec::new());
        let document_in = DocumentIn::Line;
        Self {
            source: Source::new(text),
            draft,
            at,
            owner: None,
            pending,
            waiting,
            before: None,
            document_in,
        }
    }
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
                    lexed.expand(WordPiece::Unknown, WordExtent::Many);
                }
                '(' => {
                    if lexed.is_bare_assignment() {
                        self.array()?;
                        lexed.expand(WordPiece::Unknown, WordExtent::One);
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
                // At the very end some shells keep it, some do not.
                lexed.push(self.source.bump_raw().ok_or(Unparsable::Unclosed("an escape"))?);
            }
            '\'' => self.single_quotes(lexed)?,
            '"' => self.double_quotes(lexed)?,
            '$' => self.dollar(lexed, Quotes::Outside)?,
            '`' => self.backticks(lexed, Quotes::Outside)?,
            '~' if lexed.leads_to_home() => self.tilde(lexed),
            '~' => {
                lexed.note_fragile();
                lexed.push(c);
            }
            '*' | '?' => {
                lexed.expand(WordPiece::Glob(c.to_string()), WordExtent::Many);
            }
            '[' => self.bracket(lexed),
            ']' => lexed.close_bracket(),
            '{' => lexed.push_brace(Part::Open),
            ',' => lexed.push_brace(Part::Comma),
            '}' => lexed.push_brace(Part::Close),
            '=' => {
                lexed.note_equals();
                // zsh replaces `=program` by the path of the program.
                if lexed.is_empty() && self.source.peek().is_some_and(char::is_alphanumeric) {
                    lexed.expand(WordPiece::Unknown, WordExtent::One);
                } else {
                    lexed.push(c);
                }
            }
            _ => match word::mark(c) {
                Some(WordPiece::Home) => lexed.expand(WordPiece::Home, WordExtent::One),
                Some(piece) => lexed.expand(piece, WordExtent::Many),
                None => lexed.push(c),
            },
        }
        Ok(())
    }

    /// Reads what follows a leading `~`: nothing or a name is a home, `~+` and the like are other directories.
    fn tilde(&mut self, lexed: &mut Lexed) {
        self.source.take_while(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
        let ends = self.source.peek().is_none_or(|c| "/: \t\n;&|()<>".contains(c));
        lexed.expand(if ends { WordPiece::Home } else { WordPiece::Unknown }, WordExtent::One);
    }

    /// Reads `[…]` as a pattern if it is a simple one; otherwise a bracket that may become one.
    fn bracket(&mut self, lexed: &mut Lexed) {
        let rest = self.source.rest();
        let inside = |c: char| c.is_ascii_alphanumeric() || "-!^_.:[".contains(c);
        let end = rest.char_indices().take(64).find(|(_, c)| !inside(*c)).map(|(index, _)| index);
        match end {
            Some(end) if end > 0 && rest[end..].starts_with(']') => {
                let glob = format!("[{}]", &rest[..end]);
                self.source.skip(end + 1);
                lexed.expand(WordPiece::Glob(glob), WordExtent::Many);
            }
            _ => lexed.open_bracket(),
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

    /// Reads a whole text as if it were in double quotes: a here-document.
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
        lexed.expand(WordPiece::Unknown, quotes.extent());
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
    pub(super) fn extent(self) -> WordExtent {
        match self {
            Self::Inside => WordExtent::One,
            Self::Outside => WordExtent::Many,
        }
    }
}
