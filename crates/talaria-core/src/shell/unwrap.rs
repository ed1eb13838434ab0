//! Puts what a wrapper starts into the line, as commands of their own.
//!
//! Owns how the plan of `wrappers` becomes commands and groups, scripts that come from a here-document or from `echo`
//! included. What cannot be known is put in as unknown commands. Called by the grammar for each simple command.

use super::lex::Reader;
use super::word::Word;
use super::wrappers::{Inner, Plan, plan};
use super::{Assignment, At, GroupKind, Redirect, RedirectKind, Role, Simple, Unparsable};

impl Reader<'_, '_> {
    /// Finds out what the command `index` starts.
    pub(super) fn unwrap(&mut self, index: usize) -> Result<(), Unparsable> {
        let Some(plan) = plan(&self.draft.command(index).words) else { return Ok(()) };
        let at = self.draft.command(index).at;
        let is_runner = self.draft.is_outermost(index) && plan.role == Role::Carrier && plan.is_shell;
        self.draft.command_mut(index).role = if is_runner { Role::Runner } else { plan.role };
        let group = self.draft.open(GroupKind::Wrapped, at, Some(index))?;
        if plan.shares_scope {
            self.draft.share_scope(group);
        }
        let at = At { group, ..at };
        if plan.is_doubtful {
            self.draft.add_unknown(at);
        }
        if plan.hides_effects {
            self.draft.hide_effects();
        }
        for inner in &plan.inner {
            match inner {
                Inner::Words(words) => self.unwrap_words(words, &plan, at)?,
                Inner::Text(words) => self.unwrap_text(words, at)?,
                Inner::Loose(words) => {
                    if let Err(why) = self.unwrap_text(words, at) {
                        self.draft.add_unknown(at);
                        // A limit is a limit of the whole line.
                        if matches!(why, Unparsable::TooDeep | Unparsable::TooLong) {
                            return Err(why);
                        }
                    }
                }
                Inner::Input => self.unwrap_stdin(index, at)?,
            }
        }
        Ok(())
    }

    fn unwrap_words(&mut self, words: &[Word], plan: &Plan, at: At) -> Result<(), Unparsable> {
        self.draft.spend(words.iter().map(|word| word.start().len() + 1).sum())?;
        let set = |(name, value): &(String, Word)| Assignment { name: name.clone(), value: value.clone() };
        let inner = self.draft.add(Simple {
            assignments: plan.assignments.iter().map(set).collect(),
            words: words.to_vec(),
            redirects: Vec::new(),
            role: Role::Plain,
            at,
            is_background: false,
            directory: plan.directory.clone(),
        });
        self.unwrap(inner)
    }

    fn unwrap_text(&mut self, words: &[Word], at: At) -> Result<(), Unparsable> {
        if !words.iter().all(Word::is_settled) {
            self.draft.add_unknown(at);
        }
        let text = words.iter().map(Word::marked).collect::<Vec<_>>().join(" ");
        self.draft.spend(text.len())?;
        self.inner(&text, at).script()
    }

    /// A shell without a script reads one from its input, which may be that of a wrapper around it.
    fn unwrap_stdin(&mut self, index: usize, at: At) -> Result<(), Unparsable> {
        let around = self.draft.wrappers_around(index);
        if let Some(pending) = self.pending.iter().find(|pending| around.contains(&pending.owner)) {
            self.waiting.push((pending.owner, at));
            return Ok(());
        }
        let is_document = |to: &&Redirect| to.kind == RedirectKind::Document;
        let find = |owner: &usize| self.draft.command(*owner).redirects.iter().rfind(is_document);
        if let Some(text) = around.iter().find_map(find).map(|to| to.target.clone()) {
            return self.unwrap_text(&[text], at);
        }
        match self.before.and_then(|before| echoed(self.draft.command(before))) {
            Some(words) => self.unwrap_text(&words, at),
            None => {
                self.draft.add_unknown(at);
                Ok(())
            }
        }
    }

    /// Reads a here-document as a script, if a shell waits for it.
    pub(super) fn unwrap_document(&mut self, owner: usize, text: &Word) -> Result<(), Unparsable> {
        let waiting = std::mem::take(&mut self.waiting);
        for (waits_for, at) in waiting {
            if waits_for == owner {
                self.unwrap_text(std::slice::from_ref(text), at)?;
            } else {
                self.waiting.push((waits_for, at));
            }
        }
        Ok(())
    }
}

/// What `echo` or `printf` prints, if that is plain text.
fn echoed(command: &Simple) -> Option<Vec<Word>> {
    if !command.redirects.is_empty() || !matches!(command.program()?.as_str(), "echo" | "printf") {
        return None;
    }
    let words = &command.words[1..];
    let options = words.iter().take_while(|word| word.is("-n") || word.is("--")).count();
    let words = words[options..].to_vec();
    let is_plain = |word: &Word| !word.start().contains(['%', '\\']) && !word.start().starts_with("-e");
    words.iter().all(is_plain).then_some(words)
}
