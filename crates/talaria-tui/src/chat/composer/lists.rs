//! The list at the cursor: when it opens, its keys, the inserted text.

use super::fragment::Fragment;
use super::paste;
use super::undo::Reason;
use super::{Code, Composer, KeyPress, Reaction};
use crate::chat::commands::CompletionSource;
use crate::chat::completion::{CompletionChoice, Context, Popup, What, context};

impl Composer {
    /// Answers `Reaction::WantFiles`. Answers to letters that have changed since are passed over.
    pub fn offer(&mut self, letters: &str, paths: Vec<String>) {
        // While something is looked for, the keys are for that, and the text may be another one afterwards.
        let is_wanted = |now: &Context| now.wants_files() && now.letters == letters && !self.is_searching();
        let Some(now) = self.context().filter(is_wanted) else { return };
        self.known.set(
            CompletionSource::Files,
            paths.into_iter().map(|path| CompletionChoice::new(path, "")).collect(),
        );
        self.show_choices(now);
    }

    /// Takes what can be completed: conversations, models, efforts, requests, tasks.
    pub fn know(&mut self, source: CompletionSource, choices: Vec<CompletionChoice>) {
        self.known.set(source, choices);
        // A list that had nothing in it was not shown.
        if let Some(now) = self.context().filter(|now| now.wants(source) && !self.is_searching()) {
            self.show_choices(now);
        }
    }

    fn context(&self) -> Option<Context> {
        let cursor = self.buffer.cursor();
        let units = self.buffer.units();
        let from = units.iter().map(|unit| unit.end).filter(|&end| end <= cursor).max().unwrap_or(0);
        let to = units.iter().map(|unit| unit.start).filter(|&start| start >= cursor).min();
        context(&self.buffer.text()[..to.unwrap_or(self.buffer.text().len())], from, cursor)
    }

    /// Opens the list at the cursor, also one that was closed.
    pub(super) fn reopen(&mut self) -> Reaction {
        self.dismissed = None;
        match self.refresh() {
            Reaction::Changed if self.popup.is_none() => Reaction::NotMine,
            reaction => reaction,
        }
    }

    /// Opens, renews or closes the list after the text has changed.
    pub(super) fn refresh(&mut self) -> Reaction {
        let context = self.context();
        let has_asked =
            std::mem::replace(&mut self.has_asked_names, context.as_ref().is_some_and(Context::wants_names));
        let Some(now) = context else {
            (self.popup, self.dismissed) = (None, None);
            return Reaction::Changed;
        };
        if self.dismissed.as_ref().is_some_and(|gone| gone.is_same_place(&now)) {
            return Reaction::Changed;
        }
        self.dismissed = None;
        self.popup = None;
        let letters = now.wants_files().then(|| now.letters.clone());
        self.show_choices(now);
        match letters {
            Some(letters) => Reaction::WantFiles(letters),
            // They are as new as the beginning of the word.
            None if self.has_asked_names && !has_asked => Reaction::WantNames,
            None => Reaction::Changed,
        }
    }

    fn show_choices(&mut self, context: Context) {
        if self.dismissed.is_some() {
            return;
        }
        let choices = self.known.fitting(&context);
        match &mut self.popup {
            Some(popup) if popup.context == context => popup.renew(choices),
            _ => self.popup = Some(Popup::new(context, choices)),
        }
        self.popup.take_if(|popup| popup.is_empty());
    }

    /// Takes a key that is for the open list.
    pub(super) fn popup_key(&mut self, key: KeyPress) -> Option<Reaction> {
        let popup = self.popup.as_mut()?;
        match (key.code, key.ctrl, key.alt) {
            (Code::Down, false, false) | (Code::Char('n'), true, false) => popup.down(),
            (Code::Up, false, false) | (Code::Char('p'), true, false) | (Code::BackTab, ..) => popup.up(),
            (Code::Tab, ..) => match popup.chosen().or(popup.only()).cloned() {
                Some(choice) => return Some(self.put_in(&choice, Code::Tab)),
                None => popup.down(),
            },
            (Code::Enter, false, false) if !key.shift => {
                let choice = popup.chosen().cloned()?;
                return Some(self.put_in(&choice, Code::Enter));
            }
            (Code::Esc, ..) => self.dismissed = self.popup.take().map(|popup| popup.context),
            _ => return None,
        }
        Some(Reaction::Changed)
    }

    /// Is something chosen in an open list?
    pub fn has_choice(&self) -> bool {
        self.popup.as_ref().is_some_and(|popup| popup.chosen().is_some())
    }

    /// Replaces the typed part by a choice.
    fn put_in(&mut self, choice: &CompletionChoice, by: Code) -> Reaction {
        let Some(popup) = self.popup.take() else { return Reaction::Nothing };
        let quoted = talaria_core::request::shell_words(std::slice::from_ref(&choice.value));
        let text = match popup.context.what {
            What::Name => format!("/{} ", choice.value),
            // A folder is entered, as long as it stays one word.
            What::File if by == Code::Tab && quoted == choice.value && quoted.ends_with('/') => {
                format!("@{quoted}")
            }
            What::File | What::Argument(_) => format!("{quoted} "),
        };
        let mut range = popup.context.range;
        let has_space = self.buffer.text()[range.end..].starts_with(' ') && !self.buffer.is_unit(range.end);
        if text.ends_with(' ') && has_space {
            range.end += 1;
        }
        self.settle();
        let is_image = popup.context.what == What::File && paste::is_image(&choice.value);
        self.buffer.replace(range, Fragment::plain(text), Reason::Other);
        match self.refresh() {
            // Whether it is one, and where it lies, is found out as for a path that was dropped here.
            Reaction::Changed if is_image => {
                self.asked.push((choice.value.clone(), quoted));
                Reaction::WantImage(choice.value.clone())
            }
            reaction => reaction,
        }
    }
}
