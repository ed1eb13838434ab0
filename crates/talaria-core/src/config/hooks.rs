//! The section `[hooks]`: programs that are called in a turn. Read by the engine for every turn.

/// The section `[hooks]`. A program is a path, a leading `~` included, or a name on PATH; it gets no arguments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HooksConfig {
    /// Called before a turn is sent; its answer is added to the turn as untrusted context.
    pub turn_start: Option<String>,
    /// Called after a turn has ended.
    pub turn_end: Option<String>,
    /// Called before a tool of Talaria's runs and before a person is asked about a command, a patch or a tool; decides.
    pub tool_call: Option<String>,
}
