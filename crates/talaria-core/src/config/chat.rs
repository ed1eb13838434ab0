//! The section `[chat]`: how the conversation in the terminal behaves and looks. Read by that face alone.

use std::str::FromStr;

use crate::policy::UnknownName;

/// The section `[chat]`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChatConfig {
    /// What Enter does while a turn runs.
    pub enter: Option<Enter>,
    /// Appearance.
    pub theme: Option<Theme>,
}

/// What Enter does while a turn runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Enter {
    /// The running turn gets what was typed.
    #[default]
    Steer,
    /// It waits for the next turn.
    Queue,
}

/// How the conversation looks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Theme {
    /// In the colours of the terminal.
    #[default]
    Terminal,
    /// Nothing is dim or grey.
    Contrast,
    /// Without colours.
    Mono,
}

impl Enter {
    /// Every word.
    pub const NAMES: [&'static str; 2] = ["steer", "queue"];

    /// The name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Steer => "steer",
            Self::Queue => "queue",
        }
    }
}

impl Theme {
    /// Every theme.
    pub const ALL: [Self; 3] = [Self::Terminal, Self::Contrast, Self::Mono];

    /// Every name with a word about it.
    pub const WORDS: [(&'static str, &'static str); 3] =
        [Self::Terminal.words(), Self::Contrast.words(), Self::Mono.words()];

    /// Every name.
    pub const NAMES: [&'static str; 3] = [Self::WORDS[0].0, Self::WORDS[1].0, Self::WORDS[2].0];

    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Terminal => ("terminal", "in the colours of the terminal"),
            Self::Contrast => ("contrast", "nothing is dim or grey"),
            Self::Mono => ("mono", "without colours"),
        }
    }

    /// The name in files.
    pub const fn name(self) -> &'static str {
        self.words().0
    }

    /// The name and a word about it, for a list.
    pub fn line(self) -> String {
        let (name, about) = self.words();
        format!("{name}: {about}")
    }
}

impl FromStr for Enter {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let all = [Self::Steer, Self::Queue];
        let unknown = || UnknownName { given: text.to_owned(), allowed: Self::NAMES.to_vec() };
        all.into_iter().find(|one| one.name() == text).ok_or_else(unknown)
    }
}

impl FromStr for Theme {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unknown = || UnknownName { given: text.to_owned(), allowed: Self::NAMES.to_vec() };
        Self::ALL.into_iter().find(|one| one.name() == text).ok_or_else(unknown)
    }
}
