//! Recalling the history: Up and Down walk, Ctrl-R searches. The draft is never lost.

use super::buffer::Buffer;
use super::fragment::Fragment;
use super::layout::Layout;
use super::{Code, Composer, KeyPress, Reaction};

/// A longer line is recalled as one unit: no one edits that by hand, and laying it out would take long.
const LONG: usize = 20_000;

/// A walk through what was sent before.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    at: usize,
    pub(super) draft: Fragment,
}

/// A search in the messages that were sent.
#[derive(Clone, Debug, Default)]
pub(super) struct Search {
    /// The search text.
    pub(super) letters: String,
    /// The match.
    pub(super) found: Option<usize>,
    /// The same, for the screen.
    pub(super) preview: Buffer,
}

impl Composer {
    /// Recalls the previous line.
    pub(super) fn recall_older(&mut self) -> Reaction {
        let before = self.walk.as_ref().map_or(self.history.len(), |walk| walk.at);
        let Some(at) = before.checked_sub(1) else { return Reaction::NotMine };
        let Some(line) = self.recalled(at) else { return Reaction::NotMine };
        let draft = self.walk.take().map_or_else(|| self.buffer.content().clone(), |walk| walk.draft);
        self.show_recalled(line);
        // At the end of the first row: the next Up continues, and a short line can be edited at its end.
        let layout = Layout::of(&self.buffer, self.columns, self.look);
        let place = layout.place_at(&self.buffer, 0, usize::MAX, self.look);
        self.buffer.move_to(place);
        self.walk = Some(Walk { at, draft });
        Reaction::Changed
    }

    /// Recalls the next line, and finally the draft.
    pub(super) fn recall_newer(&mut self) -> Reaction {
        let Some(walk) = self.walk.take() else { return Reaction::NotMine };
        match self.recalled(walk.at + 1) {
            Some(line) => {
                self.show_recalled(line);
                self.walk = Some(Walk { at: walk.at + 1, ..walk });
            }
            None => self.show_recalled(walk.draft),
        }
        self.forget_draft();
        Reaction::Changed
    }

    /// Keeps the draft until the recalled line was sent. Sent lines are in the history anyway.
    pub(super) fn keep_draft(&mut self, draft: Fragment) {
        let text = draft.sent();
        let is_worth_it = !(text.trim().is_empty() || self.history.has_line(&text, &draft.images()));
        if is_worth_it && self.drafts.last() != Some(&draft) {
            self.drafts.push(draft);
        }
    }

    /// A draft that was restored otherwise is not kept twice.
    pub(super) fn forget_draft(&mut self) {
        if self.drafts.last() == Some(self.buffer.content()) {
            self.drafts.pop();
        }
    }

    /// A line with its images. Whether they still exist is checked when it is sent.
    fn recalled(&self, at: usize) -> Option<Fragment> {
        let made =
            |text: String| if text.len() > LONG { Fragment::pasted(text) } else { Fragment::plain(text) };
        Some(Fragment::with_images(self.history.get(at)?, self.history.images(at), made))
    }

    fn show_recalled(&mut self, what: Fragment) {
        self.settle();
        self.popup = None;
        self.buffer.set(what);
    }

    /// Opens the search.
    pub(super) fn begin_search(&mut self) -> Reaction {
        self.settle();
        self.popup = None;
        self.search = Some(Search::default());
        Reaction::Changed
    }

    /// Adds letters to what is looked for.
    pub(super) fn search_letters(&mut self, letters: &str) -> Reaction {
        let Some(mut search) = self.search.take() else { return Reaction::Nothing };
        search.letters.push_str(letters);
        // The current match may match the longer word, too.
        let from = search.found.map_or(self.history.len(), |at| at + 1);
        search.show(self, from);
        self.search = Some(search);
        Reaction::Changed
    }

    /// Takes a key while searching.
    pub(super) fn search_key(&mut self, key: KeyPress) -> Reaction {
        let Some(mut search) = self.search.take() else { return Reaction::Nothing };
        match (key.code, key.ctrl, key.alt) {
            (Code::Char('r'), true, _) | (Code::Up, ..) => {
                let from = search.found.unwrap_or(self.history.len());
                if self.history.find_older(&search.letters, from).is_some() {
                    search.show(self, from);
                }
            }
            (Code::Char('s'), true, _) | (Code::Down, ..) => {
                let from = search.found.and_then(|at| self.history.find_newer(&search.letters, at));
                if let Some(at) = from {
                    search.show(self, at + 1);
                }
            }
            (Code::Char('c' | 'g'), true, _) | (Code::Esc, ..) => return Reaction::Changed,
            (Code::Char(c), false, false) if !c.is_control() => {
                self.search = Some(search);
                return self.search_letters(c.encode_utf8(&mut [0; 4]));
            }
            (Code::Backspace, ..) | (Code::Char('h'), true, _) => {
                if search.letters.pop().is_none() {
                    return Reaction::Changed;
                }
                search.show(self, self.history.len());
            }
            (Code::Enter | Code::Tab | Code::Left | Code::Right | Code::Home | Code::End, ..) => {
                if let Some(line) = search.found.and_then(|at| self.recalled(at)) {
                    self.keep_draft(self.buffer.content().clone());
                    self.show_recalled(line);
                }
                return Reaction::Changed;
            }
            _ => {
                self.search = Some(search);
                return Reaction::NotMine;
            }
        }
        self.search = Some(search);
        Reaction::Changed
    }
}

impl Search {
    /// Finds the newest line before this one, and shows it.
    fn show(&mut self, composer: &Composer, before: usize) {
        self.found =
            if self.letters.is_empty() { None } else { composer.history.find_older(&self.letters, before) };
        let line = self.found.and_then(|at| composer.recalled(at));
        self.preview.set(line.unwrap_or_default());
        self.preview.move_to(0);
    }
}
