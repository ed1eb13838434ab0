//! Adds the commands that a wrapper starts to the line.
//!
//! Owns how the plan of `wrappers` becomes commands and groups, scripts from a here-document or from `echo` included.
//! Undecidable parts become unknown commands. Called by the grammar for each simple command.

use super::lex::Reader;
use super::variables::{Run, run_by};
use super::word::Word;
use super::wrapped::split;
use super::wrappers::{Inner, Plan, plan};
use super::{Assignment, At, CommandRole, GroupKind, Redirect, RedirectKind, SimpleCommand, Unparsable};

impl Reader<'_, '_> {
    /// Finds out what the command `index` starts.
    pub(super) fn unwrap(&mut self, index: usize) -> Result<(), Unparsable> {
        self.unwrap_variables(index)?;
        self.unwrap_nickname(index)?;
        let Some(mut plan) = plan(&self.draft.command(index).words) else { return Ok(()) };
        let at = self.draft.command(index).at;
        self.draft.name(std::mem::take(&mut plan.nicknames));
        let is_runner = self.draft.is_outermost(index) && plan.role == CommandRole::Carrier && plan.is_shell;
        self.draft.command_mut(index).role = if is_runner { CommandRole::Runner } else { plan.role };
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
                Inner::Loose(words) => self.unwrap_loose(words, at)?,
                Inner::Input => self.unwrap_stdin(index, at)?,
                Inner::Code => self.draft.add_code(at),
            }
        }
        Ok(())
    }

    /// Variables that a program runs as a command: `GIT_SSH_COMMAND`, `PAGER`.
    fn unwrap_variables(&mut self, index: usize) -> Result<(), Unparsable> {
        let command = self.draft.command(index);
        let at = command.at;
        let runs: Vec<Run> = command.assignments.iter().filter_map(run_by).collect();
        if runs.is_empty() {
            return Ok(());
        }
        let group = self.draft.open(GroupKind::Wrapped, at, Some(index))?;
        let at = At { group, ..at };
        for run in runs {
            match run {
                Run::Text(value) => self.unwrap_loose(&[value], at)?,
                Run::Code => self.draft.add_code(at),
            }
        }
        Ok(())
    }

    /// A command whose name the line assigned to another one before.
    fn unwrap_nickname(&mut self, index: usize) -> Result<(), Unparsable> {
        let command = self.draft.command(index);
        let at = command.at;
        let Some(name) = command.words.first().and_then(Word::text) else { return Ok(()) };
        let Some(value) = self.draft.nickname(name).cloned() else { return Ok(()) };
        // An alias that begins with its own name is not expanded a second time.
        let is_inside = |owner: &usize| {
            *owner != index && self.draft.command(*owner).words.first().and_then(Word::text) == Some(name)
        };
        if self.draft.wrappers_around(index).iter().any(is_inside) {
            return Ok(());
        }
        let rest = command.words[1..].to_vec();
        let group = self.draft.open(GroupKind::Wrapped, at, Some(index))?;
        self.draft.share_scope(group);
        let at = At { group, ..at };
        match value.text().and_then(split) {
            Some(mut words) if !words.is_empty() => {
                // An alias that ends in a blank lets the next word be one, too.
                let follows = value.start().ends_with([' ', '\t']);
                let next = rest.first().and_then(Word::text).filter(|_| follows);
                match next.and_then(|next| self.draft.nickname(next)).and_then(Word::text).and_then(split) {
                    Some(second) => words.extend(second.into_iter().chain(rest[1..].iter().cloned())),
                    None => words.extend(rest),
                }
                let plan = Plan::new(CommandRole::Plain, Vec::new());
                self.unwrap_words(&words, &plan, at)
            }
            _ => {
                self.draft.add_unknown(at);
                Ok(())
            }
        }
    }

    /// Reads a text that may not be shell; the parts that are not understood are unknown.
    fn unwrap_loose(&mut self, words: &[Word], at: At) -> Result<(), Unparsable> {
        let Err(why) = self.unwrap_text(words, at) else { return Ok(()) };
        self.draft.add_unknown(at);
        // A limit is a limit of the whole line.
        if matches!(why, Unparsable::TooDeep | Unparsable::TooLong) { Err(why) } else { Ok(()) }
    }

    fn unwrap_words(&mut self, words: &[Word], plan: &Plan, at: At) -> Result<(), Unparsable> {
        self.draft.spend(words.iter().map(|word| word.start().len() + 1).sum())?;
        let set = |(name, value): &(String, Word)| Assignment { name: name.clone(), value: value.clone() };
        let inner = self.draft.add(SimpleCommand {
            assignments: plan.assignments.iter().map(set).collect(),
            words: words.to_vec(),
            redirects: Vec::new(),
            role: CommandRole::Plain,
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
fn echoed(command: &SimpleCommand) -> Option<Vec<Word>> {
    if !command.redirects.is_empty() || !matches!(command.program()?.as_str(), "echo" | "printf") {
        return None;
    }
    let words = &command.words[1..];
    let options = words.iter().take_while(|word| word.is("-n") || word.is("--")).count();
    let words = words[options..].to_vec();
    let is_plain = |word: &Word| !word.start().contains(['%', '\\']) && !word.start().starts_with("-e");
    words.iter().all(is_plain).then_some(words)
}
