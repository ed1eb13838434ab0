//! Where a person writes: keys and pastes in, rows and reactions out.
//!
//! Enter sends, unless a list entry was selected; only bracketed paste is a paste, and a line end in a paste never
//! sends. Input is sent unchanged; only on the screen it is made harmless. Called by `Chat`.

mod buffer;
mod edit;
mod fragment;
mod layout;
mod lists;
mod motion;
mod paste;
mod recall;
mod send;
mod undo;
mod view;

use std::ops::Range;

pub use view::Rows;

use buffer::Buffer;
use fragment::Fragment;
use recall::{Search, Walk};
use undo::Reason;

use super::commands::SlashCommand;
use super::completion::{Context, Known, Popup};
use super::contract::{Code, KeyPress, PromptDraft};
use super::history::PromptHistory;
use talaria_render::Look;

/// Effect of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// Nothing.
    Nothing,
    /// Something on the screen.
    Changed,
    /// Input for the model.
    Submit(PromptDraft),
    /// A command to carry out.
    Command(SlashCommand),
    /// The input could not be sent, and why; it stays in the input line.
    Mistake(String),
    /// A shell command to run.
    Shell(String),
    /// Something on the screen; and files with these letters are wanted, by `offer`.
    WantFiles(String),
    /// Something on the screen; and the names of conversations and tasks are wanted, by `know`.
    WantNames,
    /// Something on the screen; and whether this path is an image file is wanted, by `image`.
    WantImage(String),
    /// What the clipboard has is wanted, by `paste_image` or `paste`.
    WantClipboard,
    /// The key means nothing here.
    NotMine,
}

/// The input with everything around it.
#[derive(Clone, Debug)]
pub struct Composer {
    look: Look,
    buffer: Buffer,
    /// The kill buffer, and whether the next cut appends to it.
    killed: Fragment,
    kills: bool,
    history: PromptHistory,
    walk: Option<Walk>,
    /// Drafts that were replaced by a recalled line, newest last. A draft returns when that line was sent. A person
    /// creates each of them by hand, so there are few.
    drafts: Vec<Fragment>,
    search: Option<Search>,
    known: Known,
    popup: Option<Popup>,
    /// The list that the person closed; it stays closed while the same word is typed.
    dismissed: Option<Context>,
    /// The names for the argument that is being typed were asked for.
    has_asked_names: bool,
    /// Paths that may be images, each with what was pasted, until it is known.
    asked: Vec<(String, String)>,
    /// The columns that the text had when it was shown last: Up and Down follow the rows that a person sees.
    columns: usize,
    top: usize,
    /// The column that Up and Down aim at.
    aim: Option<usize>,
}

impl Composer {
    /// An empty input.
    pub fn new(look: Look) -> Self {
        Self {
            look,
            buffer: Buffer::default(),
            killed: Fragment::default(),
            kills: false,
            history: PromptHistory::default(),
            walk: None,
            drafts: Vec::new(),
            search: None,
            known: Known::default(),
            popup: None,
            dismissed: None,
            has_asked_names: false,
            asked: Vec::new(),
            columns: 80,
            top: 0,
            aim: None,
        }
    }

    /// Takes a key.
    pub fn key(&mut self, key: KeyPress) -> Reaction {
        if self.search.is_some() {
            return self.search_key(key);
        }
        if let Some(reaction) = self.popup_key(key) {
            return reaction;
        }
        self.edit_key(key)
    }

    /// Takes a paste.
    pub fn paste(&mut self, text: &str) -> Reaction {
        let text = paste::with_line_ends(text);
        if text.is_empty() {
            return Reaction::Nothing;
        }
        if self.search.is_some() {
            return self.search_letters(text.lines().next().unwrap_or_default());
        }
        self.settle();
        let images = paste::images(&text);
        let first = images.first().map(|(path, _)| path.clone());
        self.asked.extend(images);
        self.buffer.insert(paste::fragment(text), Reason::Other);
        match (first, self.refresh()) {
            (Some(path), _) => Reaction::WantImage(path),
            (None, reaction) => reaction,
        }
    }

    /// Answers `Reaction::WantImage`: the absolute path if what was asked for is an image file. It takes the place of
    /// what was pasted if it is still there. Where several were pasted, the next is asked for.
    pub fn image(&mut self, asked: &str, path: Option<&str>) -> Reaction {
        let Some(at) = self.asked.iter().position(|(one, _)| one == asked) else { return Reaction::Nothing };
        let (_, pasted) = self.asked.remove(at);
        if let (Some(path), Some(range)) = (path, self.pasted(&pasted)) {
            self.attach(range, path);
        }
        match self.asked.get(at) {
            Some((next, _)) => Reaction::WantImage(next.clone()),
            None => Reaction::Changed,
        }
    }

    /// Inserts an image of the clipboard at the cursor.
    pub fn paste_image(&mut self, path: &str) {
        self.settle();
        self.search = None;
        self.popup = None;
        let mut image = Fragment::image(path);
        image.push(Fragment::plain(" "));
        self.buffer.insert(image, Reason::Other);
    }

    fn attach(&mut self, range: Range<usize>, path: &str) {
        let (cursor, behind) = (self.buffer.cursor(), self.buffer.text().len() - range.end);
        let (start, end) = (range.start, range.end);
        self.buffer.replace(range, Fragment::image(path), Reason::Other);
        if cursor <= start {
            self.buffer.move_to(cursor);
        } else if cursor > end {
            self.buffer.move_to(self.buffer.text().len() - behind + cursor - end);
        }
        self.popup = None;
    }

    /// Takes what was sent before.
    pub fn remember(&mut self, history: PromptHistory) {
        self.history = history;
        self.walk = None;
        self.search = None;
    }

    /// The input history.
    pub fn history(&self) -> &PromptHistory {
        &self.history
    }

    /// Is nothing written?
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// Is something written, and the cursor after all of it?
    pub fn is_at_end(&self) -> bool {
        !self.is_empty() && self.buffer.cursor() == self.buffer.text().len()
    }

    /// Is something written, or looked for in what was sent before?
    pub fn is_busy(&self) -> bool {
        !self.is_empty() || self.is_searching()
    }

    /// Is something looked for in what was sent before? Then all keys are for that.
    pub fn is_searching(&self) -> bool {
        self.search.is_some()
    }

    /// The text, with pastes and the markers of images.
    pub fn text(&self) -> String {
        self.buffer.content().sent()
    }

    /// Clears the input; undo restores it.
    pub fn clear(&mut self) {
        self.settle();
        self.search = None;
        self.popup = None;
        if !self.buffer.is_empty() {
            self.buffer.set(Fragment::default());
        }
    }

    /// Ends what only the next key of the same kind would continue.
    fn settle(&mut self) {
        self.aim = None;
        self.kills = false;
        if let Some(walk) = self.walk.take() {
            self.keep_draft(walk.draft);
        }
    }
}

#[cfg(test)]
mod tests;
