//! Reads redirects and here-documents.
//!
//! Owns the operators and where the text of a here-document begins and ends. A document that is never closed is not
//! understood, although some shells accept it. Called by the grammar.

use super::lex::{DocumentIn, Reader};
use super::word::Word;
use super::{Redirect, RedirectKind, Unparsable};

/// The operators, longer ones before those they begin with.
const OPERATORS: &[&str] =
    &["<<<", "<<-", "<<", "<&-", "<&", "<>", "<", ">>", ">&-", ">&", ">|", ">", "&>>", "&>"];

/// A here-document whose text is still to come.
pub(super) struct Pending {
    /// The command that gets it.
    pub(super) owner: usize,
    redirect: usize,
    delimiter: String,
    expands: Expands,
    tabs: Tabs,
}

/// Does every shell read the redirect alike?
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    Clear,
    /// `&>`: to some shells the command ends before it, and what follows is another one.
    Ambiguous,
}

/// Are expansions and continued lines in a here-document looked at?
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expands {
    Yes,
    No,
}

/// Are leading tabs of a here-document part of it?
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tabs {
    Kept,
    Dropped,
}

impl Reader<'_, '_> {
    /// Reads a redirect for the command `owner`, if one begins here.
    pub(super) fn redirect(&mut self, owner: usize) -> Result<Option<Sign>, Unparsable> {
        self.source.peek();
        let rest = self.source.rest();
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let operator = &rest[digits..];
        let begins = operator.starts_with(['<', '>']) || digits == 0 && operator.starts_with("&>");
        if !begins || digits == 0 && (operator.starts_with("<(") || operator.starts_with(">(")) {
            return Ok(None);
        }
        self.source.take_while(|c| c.is_ascii_digit());
        let Some(sign) = OPERATORS.iter().find(|sign| self.source.take(sign)) else {
            return Err(Unparsable::Unexpected("a redirect"));
        };
        if sign.ends_with("&-") {
            // Complete in itself: what follows, even without a blank, is the next word.
            let closed = Redirect { kind: RedirectKind::Duplicate, target: Word::known("-") };
            self.draft.command_mut(owner).redirects.push(closed);
            return Ok(Some(Sign::Clear));
        }
        self.source.skip_blanks();
        let Some(lexed) = self.lex()? else {
            return Err(Unparsable::Unexpected("a redirect without a target"));
        };
        let is_touched = lexed.is_touched();
        let target = lexed.word();
        let kind = match *sign {
            "<" => RedirectKind::Read,
            "<>" => RedirectKind::ReadWrite,
            "<&" => RedirectKind::Duplicate,
            ">&" if is_descriptor(&target) => RedirectKind::Duplicate,
            "<<<" | "<<" | "<<-" => RedirectKind::Document,
            _ => RedirectKind::Write,
        };
        let redirects = &mut self.draft.command_mut(owner).redirects;
        if matches!(*sign, "<<" | "<<-") {
            let delimiter =
                target.text().ok_or(Unparsable::Unsupported("an expansion as a delimiter"))?.to_owned();
            self.pending.push(Pending {
                owner,
                redirect: redirects.len(),
                delimiter,
                expands: if is_touched { Expands::No } else { Expands::Yes },
                tabs: if *sign == "<<-" { Tabs::Dropped } else { Tabs::Kept },
            });
            redirects.push(Redirect { kind, target: Word::known("") });
        } else {
            redirects.push(Redirect { kind, target });
        }
        Ok(Some(if sign.starts_with('&') { Sign::Ambiguous } else { Sign::Clear }))
    }

    /// Reads the here-documents that begin at this line.
    pub(super) fn documents(&mut self) -> Result<(), Unparsable> {
        if !self.pending.is_empty() && self.document_in == DocumentIn::None {
            self.document_in = DocumentIn::Substitution;
        }
        for pending in std::mem::take(&mut self.pending) {
            let body = self.body(&pending)?;
            let target = match pending.expands {
                Expands::No => Word::known(&body),
                Expands::Yes => {
                    self.draft.spend(body.len())?;
                    let mut inner = self.inner(&body, self.at);
                    inner.owner = Some(pending.owner);
                    inner.document()?
                }
            };
            self.unwrap_document(pending.owner, &target)?;
            self.draft.command_mut(pending.owner).redirects[pending.redirect].target = target;
        }
        Ok(())
    }

    fn body(&mut self, pending: &Pending) -> Result<String, Unparsable> {
        let mut body = String::new();
        loop {
            if self.source.peek_raw().is_none() {
                return Err(Unparsable::Unclosed("a here-document"));
            }
            let line = self.document_line(pending);
            if line == pending.delimiter {
                return Ok(body);
            }
            body.push_str(&line);
            body.push('\n');
        }
    }

    /// Reads a line; where expansions count, a line that ends in an escape continues with the next.
    fn document_line(&mut self, pending: &Pending) -> String {
        let mut line = String::new();
        loop {
            let part = self.source.take_line();
            self.source.bump_raw();
            let part = match pending.tabs {
                Tabs::Dropped if line.is_empty() => part.trim_start_matches('\t'),
                Tabs::Dropped | Tabs::Kept => part,
            };
            line.push_str(part);
            let escapes = line.bytes().rev().take_while(|byte| *byte == b'\\').count();
            if pending.expands == Expands::No || escapes % 2 == 0 || self.source.peek_raw().is_none() {
                return line;
            }
            line.pop();
        }
    }
}

fn is_descriptor(target: &Word) -> bool {
    target.text().is_some_and(|text| {
        let number = text.strip_suffix('-').unwrap_or(text);
        !text.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}
