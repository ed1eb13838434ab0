//! How a piece of text looks, as a value. `writer` knows the escape sequences for it.

/// How a piece of text looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    bold: bool,
    dim: bool,
    italic: bool,
    underline: bool,
    strike: bool,
    color: Option<Color>,
}

/// The colours in use, from the terminal's own palette.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Color {
    /// Bad, or taken away.
    Red,
    /// Good, or added.
    Green,
    /// Worth a look.
    Yellow,
    /// Code, and places.
    Cyan,
    /// Names of what is done, in code.
    Blue,
    /// Words of a language, in code.
    Magenta,
}

impl Style {
    /// As the terminal has it.
    pub const PLAIN: Self =
        Self { bold: false, dim: false, italic: false, underline: false, strike: false, color: None };
    /// Dimmed.
    pub const DIM: Self = Self::PLAIN.dim();
    /// Bold.
    pub const BOLD: Self = Self::PLAIN.bold();

    /// Adds bold.
    pub const fn bold(self) -> Self {
        Self { bold: true, ..self }
    }

    /// Adds faint.
    pub const fn dim(self) -> Self {
        Self { dim: true, ..self }
    }

    /// Adds italic.
    pub const fn italic(self) -> Self {
        Self { italic: true, ..self }
    }

    /// Adds a line below.
    pub const fn underline(self) -> Self {
        Self { underline: true, ..self }
    }

    /// Adds a line through.
    pub const fn strike(self) -> Self {
        Self { strike: true, ..self }
    }

    /// Sets the colour.
    pub const fn color(self, color: Color) -> Self {
        Self { color: Some(color), ..self }
    }

    /// Whether it is bold.
    pub const fn is_bold(self) -> bool {
        self.bold
    }

    /// Is it dim?
    pub const fn is_dim(self) -> bool {
        self.dim
    }

    /// Is it italic?
    pub const fn is_italic(self) -> bool {
        self.italic
    }

    /// Whether it is underlined.
    pub const fn is_underlined(self) -> bool {
        self.underline
    }

    /// Whether it is struck through.
    pub const fn is_struck(self) -> bool {
        self.strike
    }

    /// Its colour, if it has one.
    pub const fn hue(self) -> Option<Color> {
        self.color
    }
}
