//! Why the memory of another agent could not be read. Nothing was changed.

use std::path::PathBuf;

use talaria_core::api::AgentProgram;
use talaria_core::next_step::NextStep;

/// Why there is nothing to read.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// Its location is unknown.
    #[error("cannot find the home of {0}: neither --home nor HOME is set")]
    Unset(AgentProgram),
    /// There is nothing.
    #[error("there is no directory {}", .1.display())]
    NoHome(AgentProgram, PathBuf),
}

impl AgentError {
    /// What to do next.
    pub fn next_step(&self) -> NextStep {
        let (Self::Unset(program) | Self::NoHome(program, _)) = self;
        NextStep::from(match program {
            AgentProgram::ClaudeCode => "name it with --home; as a rule it is ~/.claude",
            AgentProgram::Codex => "name it with --home; as a rule it is ~/.codex",
        })
    }
}
