//! Compound commands: groups, conditions, loops, `case`, `[[ … ]]`, functions.
//!
//! Owns their keywords. Every command inside is found, whether or not its branch would be taken. Called by the grammar
//! with the first keyword still to be read.

use super::lex::Reader;
use super::lexed::{Lexed, is_name};
use super::word::Word;
use super::{Assignment, At, CommandRole, GroupKind, Unparsable};

impl Reader<'_, '_> {
    /// Reads something between keywords, the first of which is next, in a separate group.
    pub(super) fn block(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<(), Unparsable>,
    ) -> Result<usize, Unparsable> {
        self.source.take_while(|c| c.is_ascii_alphabetic() || c == '{');
        let group = self.draft.open(GroupKind::Block, self.at, self.owner)?;
        self.inside(group, read)?;
        Ok(group)
    }

    pub(super) fn inside(
        &mut self,
        group: usize,
        read: impl FnOnce(&mut Self) -> Result<(), Unparsable>,
    ) -> Result<(), Unparsable> {
        let outside = (self.at, self.owner, self.before);
        (self.at.group, self.owner, self.before) = (group, None, None);
        read(self)?;
        (self.at, self.owner, self.before) = outside;
        Ok(())
    }

    /// Reads the redirects after a compound command; they belong to everything in `group`.
    pub(super) fn frame(&mut self, group: usize) -> Result<Option<usize>, Unparsable> {
        let mut frame = None;
        loop {
            self.source.skip_blanks();
            let index = match frame {
                Some(index) => index,
                None => self.draft.reserve(At { group, ..self.at }),
            };
            self.draft.command_mut(index).role = CommandRole::Frame;
            let owner = self.owner.replace(index);
            let found = self.redirect(index)?.is_some();
            self.owner = owner;
            if found {
                frame = Some(index);
            } else {
                if frame.is_none() {
                    self.draft.unreserve(index);
                }
                return Ok(None);
            }
        }
    }

    pub(super) fn braces(&mut self) -> Result<(), Unparsable> {
        self.list()?;
        self.expect("}")
    }

    pub(super) fn loops(&mut self) -> Result<(), Unparsable> {
        self.list()?;
        self.loop_body()
    }

    pub(super) fn condition(&mut self) -> Result<(), Unparsable> {
        loop {
            self.list()?;
            self.expect("then")?;
            self.list()?;
            if self.take_keyword("elif") {
                continue;
            }
            if self.take_keyword("else") {
                self.list()?;
            }
            return self.expect("fi");
        }
    }

    fn loop_body(&mut self) -> Result<(), Unparsable> {
        self.expect("do")?;
        self.list()?;
        self.expect("done")
    }

    /// `for name in words; do … done`, and the form with arithmetic.
    pub(super) fn each(&mut self) -> Result<(), Unparsable> {
        self.source.skip_blanks();
        if self.source.take("((") {
            self.arithmetic()?;
        } else {
            let name = match self.lex()? {
                Some(lexed) if lexed.plain().is_some_and(is_name) => lexed.word(),
                _ => return Err(Unparsable::Unexpected("the variable of a loop")),
            };
            self.skip_empty_lines()?;
            let frame = self.draft.reserve(self.at);
            self.draft.command_mut(frame).role = CommandRole::Frame;
            let values = if self.take_keyword("in") {
                self.owner = Some(frame);
                self.values()?
            } else {
                vec![Word::anything()]
            };
            self.owner = None;
            let name = name.text().unwrap_or_default();
            let set = |value| Assignment { name: name.to_owned(), value };
            self.draft.command_mut(frame).assignments = values.into_iter().map(set).collect();
        }
        self.source.skip_blanks();
        self.source.take(";");
        self.skip_empty_lines()?;
        if self.take_keyword("{") {
            return self.braces();
        }
        self.loop_body()
    }

    fn values(&mut self) -> Result<Vec<Word>, Unparsable> {
        let mut values = Vec::new();
        loop {
            self.source.skip_blanks();
            match self.lex()? {
                Some(lexed) => values.extend(self.paid(lexed)?),
                None => return Ok(values),
            }
        }
    }

    pub(super) fn case(&mut self) -> Result<(), Unparsable> {
        self.source.skip_blanks();
        if self.lex()?.is_none() {
            return Err(Unparsable::Unexpected("`case` without a word"));
        }
        self.skip_empty_lines()?;
        self.expect("in")?;
        loop {
            self.skip_empty_lines()?;
            if self.take_keyword("esac") {
                return Ok(());
            }
            self.source.take("(");
            loop {
                self.source.skip_blanks();
                if self.lex()?.is_none() {
                    return Err(Unparsable::Unexpected("a pattern of `case`"));
                }
                self.source.skip_blanks();
                if self.source.take(")") {
                    break;
                }
                if !self.source.take("|") {
                    return Err(Unparsable::Unexpected("a pattern of `case`"));
                }
            }
            self.list()?;
            let _ = self.source.take(";;&") || self.source.take(";;") || self.source.take(";&");
        }
    }

    /// `[[ … ]]`: its operators are no redirects and no pipes.
    pub(super) fn test(&mut self) -> Result<(), Unparsable> {
        let index = self.draft.reserve(self.at);
        self.source.take("[[");
        let owner = self.owner.replace(index);
        loop {
            self.source.skip_blanks();
            if self.keyword() == "]]" {
                self.source.take("]]");
                break;
            }
            match self.lex()? {
                Some(lexed) => {
                    let evaluates = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v"];
                    if lexed.plain().is_some_and(|text| evaluates.contains(&text)) {
                        self.draft.hide_effects();
                    }
                }
                None => match self.source.bump() {
                    Some('\n') if self.pending.is_empty() => {}
                    Some('(' | ')' | '<' | '>' | '&' | '|') => {}
                    _ => return Err(Unparsable::Unclosed("`[[`")),
                },
            }
        }
        self.owner = owner;
        self.draft.command_mut(index).words = vec![Word::known("[["), Word::anything()];
        self.frame(self.at.group).map(|_| ())
    }

    /// Reads the body of a function whose name has been read.
    pub(super) fn function(&mut self, name: &Lexed) -> Result<(), Unparsable> {
        let Some(name) = name.plain() else { return Err(Unparsable::Unsupported("a function of this name")) };
        self.source.skip_blanks();
        if self.source.take("(") {
            self.source.skip_blanks();
            if !self.source.take(")") {
                return Err(Unparsable::Unexpected("`(`"));
            }
        }
        self.skip_empty_lines()?;
        let group = self.draft.open(GroupKind::Function(name.to_owned()), self.at, self.owner)?;
        self.inside(group, |reader| reader.command().map(|_| ()))
    }

    /// Is `time` followed by something that only the shell itself can time?
    pub(super) fn times_compound(&mut self) -> bool {
        self.source.peek();
        let mut rest = self.source.rest();
        // Its own option and further ones like it change nothing.
        while let Some(after) = ["time", "-p"].iter().find_map(|word| rest.strip_prefix(word)) {
            if !after.starts_with([' ', '\t']) {
                break;
            }
            rest = after.trim_start_matches([' ', '\t']);
        }
        let end = rest.find([' ', '\t', '\n', ';', '(']).unwrap_or(rest.len());
        rest.starts_with('(')
            || ["{", "if", "while", "until", "for", "case", "[[", "!"].contains(&&rest[..end])
    }
}
