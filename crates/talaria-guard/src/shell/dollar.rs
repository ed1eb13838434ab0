//! Reads what follows a `$`: variables, `${…}`, `$(…)`, `$((…))`, `$'…'`.
//!
//! Owns which expansions are harmless to leave unknown and which could run or set something that the reader does not
//! see: arithmetic evaluates the *values* of variables, `${x@P}` runs their content. Called by the lexer.

use super::lex::{DocumentIn, Quotes, Reader};
use super::lexed::{Lexed, is_name};
use super::word::{WordExtent, WordPiece, mark};
use super::{GroupKind, Unparsable};

/// Operators in `${name…}` that only select or cut text.
const HARMLESS: &[&str] = &[":-", ":+", ":?", "-", "+", "?", "#", "%", "/", "^", ","];

impl Reader<'_, '_> {
    /// Reads an expansion whose `$` has been read.
    pub(super) fn dollar(&mut self, lexed: &mut Lexed, quotes: Quotes) -> Result<(), Unparsable> {
        let Some(c) = self.source.peek() else {
            lexed.push('$');
            return Ok(());
        };
        match c {
            '(' => self.dollar_parenthesis(lexed, quotes),
            '{' => {
                self.source.bump();
                self.parameter(lexed, quotes)
            }
            '[' => Err(Unparsable::Unsupported("`$[`")),
            '\'' if quotes == Quotes::Outside => {
                self.source.bump();
                self.escaped_quotes(lexed)
            }
            '"' if quotes == Quotes::Outside => {
                self.source.bump();
                self.double_quotes(lexed)
            }
            c if c.is_ascii_alphabetic() || c == '_' => {
                let name = self.source.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
                variable(lexed, name, quotes.extent());
                if self.source.peek() == Some('{') {
                    lexed.note_fragile();
                }
                Ok(())
            }
            '@' | '*' => {
                self.source.bump();
                lexed.expand(WordPiece::Variable("@".to_owned()), WordExtent::Many);
                Ok(())
            }
            '0'..='9' | '#' | '?' | '$' | '!' | '-' => {
                self.source.bump();
                lexed.expand(WordPiece::Variable(c.to_string()), quotes.extent());
                Ok(())
            }
            _ => {
                lexed.note_fragile();
                lexed.push('$');
                Ok(())
            }
        }
    }

    fn dollar_parenthesis(&mut self, lexed: &mut Lexed, quotes: Quotes) -> Result<(), Unparsable> {
        self.source.bump();
        if self.source.looking_at("(") {
            self.source.bump();
            if !self.source.closes_as_arithmetic() {
                return Err(Unparsable::Unsupported("`$((` that is no arithmetic"));
            }
            self.arithmetic()?;
        } else {
            self.substitution()?;
        }
        lexed.expand(WordPiece::Unknown, quotes.extent());
        Ok(())
    }

    /// Reads commands up to the `)` that closes them.
    pub(super) fn substitution(&mut self) -> Result<(), Unparsable> {
        self.enclosed(GroupKind::Substitution, self.owner).map(|_| ())
    }

    /// Reads arithmetic up to and with the `))` that closes it.
    pub(super) fn arithmetic(&mut self) -> Result<(), Unparsable> {
        let group = self.draft.open(GroupKind::Block, self.at, self.owner)?;
        let outside = std::mem::replace(&mut self.at.group, group);
        let mut depth = 0_usize;
        let mut ignored = Lexed::default();
        loop {
            match self.source.bump() {
                None => return Err(Unparsable::Unclosed("arithmetic")),
                Some('(') => depth += 1,
                Some(')') if depth > 0 => depth -= 1,
                Some(')') => break,
                Some('$') => {
                    self.draft.hide_effects();
                    self.dollar(&mut ignored, Quotes::Inside)?;
                }
                Some('`') => self.backticks(&mut ignored, Quotes::Inside)?,
                Some('"') => self.double_quotes(&mut ignored)?,
                Some('\'' | '\\') => return Err(Unparsable::Unsupported("quoting in arithmetic")),
                // A name's value is evaluated in its turn, and may be anything.
                Some(c) if c.is_alphabetic() || c == '_' => self.draft.hide_effects(),
                Some(_) => {}
            }
        }
        self.at.group = outside;
        if self.source.take(")") { Ok(()) } else { Err(Unparsable::Unclosed("arithmetic")) }
    }

    /// Reads `${…}` whose brace has been read.
    fn parameter(&mut self, lexed: &mut Lexed, quotes: Quotes) -> Result<(), Unparsable> {
        let counts = self.source.looking_at("#") && !self.source.looking_at("#}") && self.source.take("#");
        let name = match self.source.peek() {
            Some('!') if !self.source.looking_at("!}") => {
                self.draft.hide_effects();
                self.source.bump();
                self.source.take_while(|c| c.is_ascii_alphanumeric() || c == '_')
            }
            Some('@' | '*' | '#' | '?' | '$' | '!' | '-') => {
                let rest = self.source.rest();
                self.source.bump();
                &rest[..1]
            }
            _ => self.source.take_while(|c| c.is_ascii_alphanumeric() || c == '_'),
        };
        if name.is_empty() {
            return Err(Unparsable::Unsupported("`${` of this form"));
        }
        let mut extent = if matches!(name, "@" | "*") { WordExtent::Many } else { quotes.extent() };
        if self.source.take("[") {
            let index = self.source.take_while(|c| c != ']' && c != '}');
            if !matches!(index, "@" | "*") && !index.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(Unparsable::Unsupported("an index that is not a number"));
            }
            if !self.source.take("]") {
                return Err(Unparsable::Unclosed("an index"));
            }
            extent = if matches!(index, "@" | "*") { WordExtent::Many } else { extent };
            let is_whole = self.source.looking_at("}");
            self.close_parameter(quotes)?;
            let piece =
                if is_whole && !counts { WordPiece::Variable(name.to_owned()) } else { WordPiece::Unknown };
            lexed.expand(piece, extent);
        } else if self.source.take("}") {
            match counts {
                true => lexed.expand(WordPiece::Unknown, WordExtent::One),
                false if matches!(name, "@" | "*") => {
                    lexed.expand(WordPiece::Variable("@".to_owned()), extent);
                }
                false if is_name(name) => variable(lexed, name, extent),
                false if name.bytes().all(|byte| byte.is_ascii_digit()) => {
                    lexed.expand(WordPiece::Variable(name.to_owned()), extent);
                }
                false => lexed.expand(WordPiece::Unknown, extent),
            }
        } else {
            // `${HOME:?}` is the home directory or nothing at all.
            let is_home =
                name == "HOME" && [":?", ":-", "?", "-"].iter().any(|sign| self.source.looking_at(sign));
            self.close_parameter(quotes)?;
            lexed.expand(if is_home { WordPiece::Home } else { WordPiece::Unknown }, extent);
        }
        Ok(())
    }

    /// Reads the rest of `${name…}` with its brace; commands inside are found, the text is not needed.
    fn close_parameter(&mut self, quotes: Quotes) -> Result<(), Unparsable> {
        let is_harmless = HARMLESS.iter().any(|sign| self.source.looking_at(sign));
        if !is_harmless && !self.source.looking_at("}") {
            self.draft.hide_effects();
        }
        let group = self.draft.open(GroupKind::Block, self.at, self.owner)?;
        let outside = std::mem::replace(&mut self.at.group, group);
        let mut ignored = Lexed::default();
        loop {
            match self.source.bump() {
                None => return Err(Unparsable::Unclosed("`${`")),
                Some('}') => break,
                Some('\\') => drop(self.source.bump_raw()),
                Some('$') => self.dollar(&mut ignored, quotes)?,
                Some('`') => self.backticks(&mut ignored, quotes)?,
                Some('"') if quotes == Quotes::Outside => self.double_quotes(&mut ignored)?,
                Some('\'') if quotes == Quotes::Outside => {
                    while self.source.peek_raw().is_some_and(|c| c != '\'') {
                        self.source.bump_raw();
                    }
                    if self.source.bump_raw().is_none() {
                        return Err(Unparsable::Unclosed("a single quote"));
                    }
                }
                // Inside double quotes these mean different things in different shells and forms.
                Some('\'' | '"') => return Err(Unparsable::Unsupported("quotes inside a quoted `${`")),
                Some('<' | '>') if self.source.looking_at("(") => {
                    return Err(Unparsable::Unsupported("a process inside `${`"));
                }
                Some(_) => {}
            }
        }
        self.at.group = outside;
        Ok(())
    }

    /// Reads `$'…'`, whose escapes are those of C.
    fn escaped_quotes(&mut self, lexed: &mut Lexed) -> Result<(), Unparsable> {
        lexed.touch();
        loop {
            match self.source.bump_raw() {
                None => return Err(Unparsable::Unclosed("a single quote")),
                Some('\'') => return Ok(()),
                // To a shell that does not know `$'`, the word ends at this quote.
                Some('\\') if self.source.peek_raw() == Some('\'') => {
                    return Err(Unparsable::Unsupported("an escaped quote in `$'`"));
                }
                Some('\\') => match self.escape()? {
                    Escape::Char(c) => self.escaped(lexed, c)?,
                    Escape::Both(c) => {
                        self.escaped(lexed, '\\')?;
                        self.escaped(lexed, c)?;
                    }
                },
                Some(c) => self.escaped(lexed, c)?,
            }
        }
    }

    /// Inside a substitution bash can lose these quotes, and their content becomes shell again.
    fn escaped(&self, lexed: &mut Lexed, c: char) -> Result<(), Unparsable> {
        if self.document_in != DocumentIn::Line && !(c.is_alphanumeric() || "-_./:,@%+".contains(c)) {
            return Err(Unparsable::Unsupported("`$'` in a substitution"));
        }
        lexed.push(c);
        Ok(())
    }

    fn escape(&mut self) -> Result<Escape, Unparsable> {
        let Some(c) = self.source.bump_raw() else {
            return Err(Unparsable::Unclosed("a single quote"));
        };
        Ok(Escape::Char(match c {
            'a' => '\u{7}',
            'b' => '\u{8}',
            'e' | 'E' => '\u{1b}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            '\\' | '"' | '?' => c,
            '0'..='7' => {
                let first = c.to_digit(8).unwrap_or_default();
                self.number(8, 2, first)?
            }
            'x' => self.number(16, 2, 0)?,
            'u' => self.number(16, 4, 0)?,
            'U' => self.number(16, 8, 0)?,
            'c' => return Err(Unparsable::Unsupported("a control escape")),
            _ => return Ok(Escape::Both(c)),
        }))
    }

    /// Reads at most `digits` digits; a byte that is not a character, or the end of the text, is not decided.
    fn number(&mut self, base: u32, digits: usize, first: u32) -> Result<char, Unparsable> {
        let mut value = first;
        for _ in 0..digits {
            let Some(digit) = self.source.peek_raw().and_then(|c| c.to_digit(base)) else { break };
            self.source.bump_raw();
            value = value.saturating_mul(base).saturating_add(digit);
        }
        let is_byte = base == 8 || digits == 2;
        match char::from_u32(value) {
            Some(c) if c != '\0' && (c.is_ascii() || !is_byte) && mark(c).is_none() => Ok(c),
            _ => Err(Unparsable::Unsupported("an escaped byte")),
        }
    }
}

/// An escape in `$'…'`.
enum Escape {
    Char(char),
    /// No escape: the backslash is kept.
    Both(char),
}

fn variable(lexed: &mut Lexed, name: &str, extent: WordExtent) {
    match name {
        "HOME" => lexed.expand(WordPiece::Home, WordExtent::One),
        _ => lexed.expand(WordPiece::Variable(name.to_owned()), extent),
    }
}
