//! The modes of a terminal, as a line of four numbers that one process can pass to another.

use std::fmt;

use rustix::termios::{ControlModes, InputModes, LocalModes, OutputModes, Termios};

/// The modes that the program changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Modes {
    input: InputModes,
    output: OutputModes,
    control: ControlModes,
    local: LocalModes,
}

impl Modes {
    /// Those of a terminal.
    pub(crate) fn of(terminal: &Termios) -> Self {
        Self {
            input: terminal.input_modes,
            output: terminal.output_modes,
            control: terminal.control_modes,
            local: terminal.local_modes,
        }
    }

    /// Sets them on a terminal.
    pub(crate) fn apply(self, terminal: &mut Termios) {
        terminal.input_modes = self.input;
        terminal.output_modes = self.output;
        terminal.control_modes = self.control;
        terminal.local_modes = self.local;
    }

    /// The modes that the chat uses for drawing.
    pub(super) fn as_taken(self, terminal: &Termios) -> Self {
        let mut taken = terminal.clone();
        self.apply(&mut taken);
        taken.make_raw();
        Self::of(&taken)
    }

    /// These modes without echo; the line end is still shown.
    pub(crate) fn as_hidden(mut self) -> Self {
        self.local.remove(LocalModes::ECHO);
        self.local.insert(LocalModes::ECHONL);
        self
    }

    /// Reads what `Display` wrote.
    pub(super) fn read(text: &str) -> Option<Self> {
        let mut numbers = text.split(' ');
        let modes = Self {
            input: InputModes::from_bits_retain(numbers.next()?.parse().ok()?),
            output: OutputModes::from_bits_retain(numbers.next()?.parse().ok()?),
            control: ControlModes::from_bits_retain(numbers.next()?.parse().ok()?),
            local: LocalModes::from_bits_retain(numbers.next()?.parse().ok()?),
        };
        numbers.next().is_none().then_some(modes)
    }
}

impl fmt::Display for Modes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { input, output, control, local } = self;
        write!(f, "{} {} {} {}", input.bits(), output.bits(), control.bits(), local.bits())
    }
}
