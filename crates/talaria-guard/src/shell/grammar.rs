//! The grammar: lists, pipelines, loops, conditions, functions, down to simple commands.
//!
//! Owns which commands are allowed where. Whatever does not fit is `Unparsable`; a command that is found but would
//! never run is reported all the same. Each nesting opens a group, which is where depth is limited. Called by
//! `shell::parse` and, for texts inside texts, by `unwrap` and the lexer.

use super::draft::Draft;
use super::lex::{DocumentIn, Reader};
use super::lexed::{Lexed, is_name};
use super::redirect::Sign;
use super::source::Source;
use super::word::{Word, WordExtent};
use super::{Assignment, At, CommandRole, GroupKind, Unparsable};

/// Words that end a list of commands.
const CLOSERS: &[&str] = &["then", "do", "done", "fi", "esac", "else", "elif", "}"];

/// Commands whose arguments are assignments too.
const DECLARERS: &[&str] = &["export", "declare", "typeset", "local", "readonly"];

/// Reads a whole line.
pub(super) fn read_line(text: &str, draft: &mut Draft) -> Result<(), Unparsable> {
    let at = At { group: 0, pipeline: 0, stage: 0 };
    Reader::new(text, draft, at).script()
}

impl<'t> Reader<'t, '_> {
    /// A reader for a text that was found inside this one.
    pub(super) fn inner<'x>(&'x mut self, text: &'x str, at: At) -> Reader<'x, 'x> {
        Reader::new(text, &mut *self.draft, at)
    }

    /// Reads the commands of an inner text into `group`.
    pub(super) fn read_inner(&mut self, text: &str, group: usize) -> Result<(), Unparsable> {
        self.draft.spend(text.len())?;
        let at = At { group, ..self.at };
        self.inner(text, at).script()
    }

    pub(super) fn script(&mut self) -> Result<(), Unparsable> {
        self.list()?;
        match self.source.peek() {
            _ if !self.pending.is_empty() => Err(Unparsable::Unclosed("a here-document")),
            None => Ok(()),
            Some(')') => Err(Unparsable::Unexpected("`)`")),
            Some(';') => Err(Unparsable::Unexpected("`;;`")),
            Some(_) => Err(Unparsable::Unexpected("a keyword")),
        }
    }

    pub(super) fn list(&mut self) -> Result<(), Unparsable> {
        loop {
            self.skip_empty_lines()?;
            if self.ends_list() {
                return Ok(());
            }
            if self.document_in == DocumentIn::Substitution {
                // bash loses the operators of what follows.
                return Err(Unparsable::Unsupported("a command after a here-document in a substitution"));
            }
            let start = self.draft.count();
            self.and_or()?;
            self.source.skip_blanks();
            match self.source.peek() {
                None | Some(')') => return Ok(()),
                Some('\n' | '#') => {}
                Some(';') if self.source.looking_at(";;") || self.source.looking_at(";&") => return Ok(()),
                Some(';') => drop(self.source.bump()),
                Some('&') => {
                    self.source.bump();
                    self.draft.put_in_background(start)?;
                }
                Some(_) => return Err(Unparsable::Unexpected("what follows a command")),
            }
        }
    }

    fn ends_list(&mut self) -> bool {
        match self.source.peek() {
            None | Some(')') => true,
            Some(';') => self.source.looking_at(";;") || self.source.looking_at(";&"),
            Some(_) => CLOSERS.contains(&self.keyword()),
        }
    }

    fn and_or(&mut self) -> Result<(), Unparsable> {
        loop {
            self.pipeline()?;
            self.source.skip_blanks();
            if !self.source.take("&&") && !self.source.take("||") {
                return Ok(());
            }
            self.skip_empty_lines()?;
        }
    }

    fn pipeline(&mut self) -> Result<(), Unparsable> {
        let outside = self.at;
        self.at = At { pipeline: self.draft.pipeline(), stage: 0, ..outside };
        self.before = None;
        loop {
            while self.take_keyword("!") {
                self.source.skip_blanks();
            }
            self.before = self.command()?;
            self.source.skip_blanks();
            if self.source.looking_at("||") || !self.source.take("|&") && !self.source.take("|") {
                break;
            }
            self.at.stage += 1;
            self.skip_empty_lines()?;
        }
        self.at = outside;
        self.before = None;
        Ok(())
    }

    /// Reads a command; a simple one is returned, since it may be all that the next stage gets.
    pub(super) fn command(&mut self) -> Result<Option<usize>, Unparsable> {
        if self.source.looking_at("((") {
            if !Source::new(&self.source.rest()[2..]).closes_as_arithmetic() {
                return Err(Unparsable::Unsupported("`((` that is no arithmetic"));
            }
            self.source.take("((");
            let before = self.source.rest();
            self.arithmetic()?;
            let inside = &before[..before.len() - self.source.rest().len()];
            self.subshells(inside.strip_suffix("))").unwrap_or(inside))?;
            return self.frame(self.at.group);
        }
        if self.source.take("(") {
            let group = self.enclosed(GroupKind::Subshell, self.owner)?;
            return self.frame(group);
        }
        let group = match self.keyword() {
            "{" => self.block(Self::braces)?,
            "if" => self.block(Self::condition)?,
            "while" | "until" => self.block(Self::loops)?,
            "for" | "select" => self.block(Self::each)?,
            "case" => self.block(Self::case)?,
            "[[" => return self.test().map(|()| None),
            "function" => {
                self.take_keyword("function");
                self.source.skip_blanks();
                let Some(name) = self.lex()? else { return Err(Unparsable::Unexpected("a function")) };
                return self.function(&name).map(|()| None);
            }
            "coproc" => return Err(Unparsable::Unsupported("`coproc`")),
            "time" if self.times_compound() => {
                while ["time", "-p", "!"].iter().any(|word| self.take_keyword(word)) {
                    self.source.skip_blanks();
                }
                return self.command();
            }
            word if CLOSERS.contains(&word) => return Err(Unparsable::Unexpected("a keyword")),
            _ => return self.simple(),
        };
        self.frame(group)
    }

    /// Some shells have no `((`: to them it is two subshells. What could be commands counts as such.
    fn subshells(&mut self, text: &str) -> Result<(), Unparsable> {
        let start = self.draft.count();
        let group = self.draft.open(GroupKind::Subshell, self.at, self.owner)?;
        match self.read_inner(text, group) {
            Err(limit @ (Unparsable::TooDeep | Unparsable::TooLong)) => Err(limit),
            // To such a shell this is an error, and nothing runs.
            Err(_) => {
                self.draft.unreserve(start);
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    /// Reads commands up to and with `)`.
    pub(super) fn enclosed(&mut self, kind: GroupKind, owner: Option<usize>) -> Result<usize, Unparsable> {
        let is_substitution = kind == GroupKind::Substitution;
        let group = self.draft.open(kind, self.at, owner)?;
        let outer = if is_substitution { std::mem::take(&mut self.pending) } else { Vec::new() };
        let before = self.source.rest();
        let document_in = self.document_in;
        if is_substitution {
            self.document_in = DocumentIn::None;
        }
        self.inside(group, Self::list)?;
        self.document_in = document_in;
        if !self.source.take(")") {
            return Err(Unparsable::Unclosed("a parenthesis"));
        }
        if is_substitution {
            // Which document such lines belong to differs between shells.
            let read = &before[..before.len() - self.source.rest().len()];
            if !self.pending.is_empty() || !outer.is_empty() && read.contains('\n') {
                return Err(Unparsable::Unsupported("a here-document across a substitution"));
            }
            self.pending = outer;
        }
        Ok(group)
    }

    fn simple(&mut self) -> Result<Option<usize>, Unparsable> {
        let index = self.draft.reserve(self.at);
        let outside = self.owner.replace(index);
        let (mut words, mut assignments) = (Vec::new(), Vec::new());
        let (mut has_braces, mut may_have_ended) = (false, false);
        loop {
            self.source.skip_blanks();
            if self.source.peek() == Some('#') {
                break;
            }
            if let Some(sign) = self.redirect(index)? {
                may_have_ended |= sign == Sign::Ambiguous;
                continue;
            }
            if words.is_empty()
                && let Some(set) = self.indexed_assignment()?
            {
                assignments.push(set);
                continue;
            }
            let Some(lexed) = self.lex()? else { break };
            if may_have_ended {
                return Err(Unparsable::Unsupported("`&>` before further words"));
            }
            if words.is_empty()
                && let Some((name, value)) = lexed.assignment()
            {
                assignments.push(Assignment { name, value });
                continue;
            }
            if words.is_empty() && assignments.is_empty() && self.opens_function() {
                if !self.draft.command(index).redirects.is_empty() {
                    return Err(Unparsable::Unexpected("`(`"));
                }
                self.owner = outside;
                self.draft.unreserve(index);
                return self.function(&lexed).map(|()| None);
            }
            // `{name}>file` opens a descriptor; the word would be taken for an argument.
            if matches!(self.source.peek(), Some('<' | '>')) && lexed.plain().is_none() && !lexed.is_touched()
            {
                return Err(Unparsable::Unsupported("a redirect of this form"));
            }
            let turned = self.paid(lexed)?;
            has_braces |= turned.len() > 1;
            words.extend(turned);
        }
        self.owner = outside;
        if self.source.looking_at("(") {
            return Err(Unparsable::Unexpected("`(`"));
        }
        let command = self.draft.command_mut(index);
        if words.is_empty() && assignments.is_empty() && command.redirects.is_empty() {
            return Err(Unparsable::Unexpected("an operator"));
        }
        command.words = words;
        command.assignments = assignments;
        if command.program().is_some_and(|name| DECLARERS.contains(&name.as_str())) {
            self.declare(index);
        }
        self.unwrap(index)?;
        // Not every shell expands braces, and what a wrapper starts depends on where its words end.
        if has_braces && self.draft.command(index).role != CommandRole::Plain {
            self.draft.add_unknown(self.at);
        }
        Ok(Some(index))
    }

    /// Adds what `export` and its like assign.
    fn declare(&mut self, index: usize) {
        let command = self.draft.command_mut(index);
        let is_open = command.words.iter().any(|word| word.extent() == WordExtent::Many);
        for word in command.words.iter().skip(1) {
            if let Some((name, _)) = word.start().split_once('=') {
                let value = word.without_start(name.len() + 1);
                command.assignments.push(Assignment { name: name.trim_end_matches('+').to_owned(), value });
            }
        }
        if is_open {
            self.draft.hide_effects();
        }
    }

    /// Reads `name[index]=value` if it begins here. Before a command bash reads an index to its bracket, over blanks
    /// and operators; only a plain one is followed, and as arithmetic it may run anything.
    fn indexed_assignment(&mut self) -> Result<Option<Assignment>, Unparsable> {
        self.source.peek();
        let rest = self.source.rest();
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        let Some(index) = after.strip_prefix('[').filter(|_| is_name(name)) else { return Ok(None) };
        let end = index.find(|c: char| !(c.is_ascii_alphanumeric() || "_-+*.!^:".contains(c)));
        let Some((index, after)) = end.map(|end| index.split_at(end)) else {
            return Err(Unparsable::Unclosed("an index"));
        };
        let sign = match after.strip_prefix(']') {
            Some(sign) if sign.starts_with('=') => 1,
            Some(sign) if sign.starts_with("+=") => 2,
            Some(_) => return Ok(None),
            None => return Err(Unparsable::Unsupported("an index of this form")),
        };
        self.draft.hide_effects();
        let length = name.len() + index.len() + 2 + sign;
        self.source.skip(length);
        let value = self.lex()?.map_or_else(|| Word::known(""), Lexed::word);
        Ok(Some(Assignment { name: name.to_owned(), value }))
    }

    /// Does the word just read name a function that is defined here?
    fn opens_function(&mut self) -> bool {
        self.source.skip_blanks();
        self.source.looking_at("(")
    }

    /// The words of a lexed word, paid for.
    pub(super) fn paid(&mut self, lexed: Lexed) -> Result<Vec<Word>, Unparsable> {
        let words = lexed.words();
        if words.len() > 1 {
            self.draft.spend(words.iter().map(|word| word.marked().len() + 1).sum())?;
        }
        Ok(words)
    }

    pub(super) fn expect(&mut self, keyword: &'static str) -> Result<(), Unparsable> {
        self.skip_empty_lines()?;
        if self.take_keyword(keyword) { Ok(()) } else { Err(Unparsable::Unclosed("a block")) }
    }

    pub(super) fn take_keyword(&mut self, keyword: &str) -> bool {
        self.keyword() == keyword && self.source.take(keyword)
    }

    /// The next word, if it is short and could be a keyword; otherwise nothing.
    pub(super) fn keyword(&mut self) -> &'t str {
        self.source.peek();
        let rest = self.source.rest();
        let ends = |c: char| matches!(c, ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>');
        match rest.char_indices().take(12).find(|(_, c)| ends(*c)) {
            Some((end, _)) => &rest[..end],
            None if rest.len() < 12 => rest,
            None => "",
        }
    }

    /// Reads blanks, ends of lines and comments.
    pub(super) fn skip_empty_lines(&mut self) -> Result<(), Unparsable> {
        loop {
            self.source.skip_blanks();
            match self.source.peek() {
                Some('\n') => {
                    self.source.bump();
                    self.documents()?;
                }
                Some('#') => drop(self.source.take_line()),
                _ => return Ok(()),
            }
        }
    }
}
