//! Commands found so far while a line is read.
//!
//! Owns the numbering of commands, groups and pipelines, and the limits: nesting, and a budget that keeps the work
//! linear however often texts inside texts are read again. Used by the readers in `shell` alone.

use std::collections::HashMap;

use super::wrappers::Nickname;
use super::{At, CommandRole, Group, GroupKind, MAX_DEPTH, ShellLine, SimpleCommand, Unparsable};

/// How many bytes may be copied or read again for each byte of the line, as texts inside texts and braces need it.
const AGAIN: usize = 8;

/// How many more for every line, so that the depth of a short one is limited by nesting alone.
const ALWAYS: usize = 64 * 1024;

/// Everything found so far, and the position of the reader.
pub(super) struct Draft {
    commands: Vec<SimpleCommand>,
    groups: Vec<Group>,
    pipelines: usize,
    has_hidden_effects: bool,
    budget: usize,
    nicknames: HashMap<String, super::Word>,
}

impl Draft {
    pub(super) fn new(text: &str) -> Self {
        let at = At { group: 0, pipeline: 0, stage: 0 };
        let line = Group { kind: GroupKind::Line, at, owner: None, scope: 0, depth: 0 };
        Self {
            commands: Vec::new(),
            groups: vec![line],
            pipelines: 0,
            has_hidden_effects: false,
            budget: text.len().saturating_mul(AGAIN).saturating_add(ALWAYS),
            nicknames: HashMap::new(),
        }
    }

    pub(super) fn finish(self) -> ShellLine {
        ShellLine {
            commands: self.commands,
            groups: self.groups,
            has_hidden_effects: self.has_hidden_effects,
        }
    }

    /// Takes note of an expansion whose effects cannot be seen.
    pub(super) fn hide_effects(&mut self) {
        self.has_hidden_effects = true;
    }

    /// Pays for text that is about to be copied or read once more.
    pub(super) fn spend(&mut self, bytes: usize) -> Result<(), Unparsable> {
        self.budget = self.budget.checked_sub(bytes).ok_or(Unparsable::TooLong)?;
        Ok(())
    }

    /// Begins a pipeline.
    pub(super) fn pipeline(&mut self) -> usize {
        self.pipelines += 1;
        self.pipelines
    }

    /// Opens a group at `at`.
    pub(super) fn open(
        &mut self,
        kind: GroupKind,
        at: At,
        owner: Option<usize>,
    ) -> Result<usize, Unparsable> {
        let around = &self.groups[at.group];
        let depth = around.depth + 1;
        if depth > MAX_DEPTH {
            return Err(Unparsable::TooDeep);
        }
        let index = self.groups.len();
        let scope = match kind {
            GroupKind::Line | GroupKind::Block | GroupKind::Function(_) => around.scope,
            GroupKind::Subshell | GroupKind::Substitution | GroupKind::Wrapped => index,
        };
        self.groups.push(Group { kind, at, owner, scope, depth });
        Ok(index)
    }

    /// Lets a group share the working directory of what is around it, as `eval` and `command cd` do.
    pub(super) fn share_scope(&mut self, group: usize) {
        self.groups[group].scope = self.groups[self.groups[group].at.group].scope;
    }

    /// Reserves a position for a command whose words are not read yet, so that it precedes the commands inside
    /// them.
    pub(super) fn reserve(&mut self, at: At) -> usize {
        self.add(SimpleCommand {
            assignments: Vec::new(),
            words: Vec::new(),
            redirects: Vec::new(),
            role: CommandRole::Plain,
            at,
            is_background: false,
            directory: None,
        })
    }

    /// Takes back the room that was made last.
    pub(super) fn unreserve(&mut self, index: usize) {
        self.commands.truncate(index);
    }

    pub(super) fn add(&mut self, command: SimpleCommand) -> usize {
        self.commands.push(command);
        self.commands.len() - 1
    }

    /// Adds a placeholder for unknown commands.
    pub(super) fn add_unknown(&mut self, at: At) {
        let index = self.reserve(at);
        self.commands[index].role = CommandRole::Unknown;
        self.commands[index].words.push(super::Word::anything());
    }

    /// Adds a placeholder for code that is not understood.
    pub(super) fn add_code(&mut self, at: At) {
        let index = self.reserve(at);
        self.commands[index].role = CommandRole::Code;
        self.commands[index].words.push(super::Word::anything());
    }

    /// Records names that the line assigns to commands.
    pub(super) fn name(&mut self, nicknames: Vec<Nickname>) {
        self.nicknames.extend(nicknames.into_iter().map(|nickname| (nickname.name, nickname.value)));
    }

    /// Returns what a name was last assigned to, if the line assigned it.
    pub(super) fn nickname(&self, name: &str) -> Option<&super::Word> {
        self.nicknames.get(name)
    }

    pub(super) fn command(&self, index: usize) -> &SimpleCommand {
        &self.commands[index]
    }

    pub(super) fn command_mut(&mut self, index: usize) -> &mut SimpleCommand {
        &mut self.commands[index]
    }

    /// The command and the wrappers that started it, the innermost first.
    pub(super) fn wrappers_around(&self, index: usize) -> Vec<usize> {
        let owner = |command: &usize| {
            let group = &self.groups[self.commands[*command].at.group];
            group.owner.filter(|_| group.kind == GroupKind::Wrapped)
        };
        std::iter::successors(Some(index), owner).collect()
    }

    pub(super) fn count(&self) -> usize {
        self.commands.len()
    }

    pub(super) fn is_outermost(&self, index: usize) -> bool {
        index == 0 && self.commands[index].at.group == 0
    }

    /// Marks everything since `start` as running in the background.
    pub(super) fn put_in_background(&mut self, start: usize) -> Result<(), Unparsable> {
        self.spend(self.commands.len() - start)?;
        for command in &mut self.commands[start..] {
            command.is_background = true;
        }
        Ok(())
    }
}
