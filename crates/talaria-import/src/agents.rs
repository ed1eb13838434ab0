//! What other agents remember: Claude Code and Codex. Their files are read here, divided into entries, and imported by the
//! engine, which knows what is new.
//!
//! Only instruction and memory files that people or agents wrote as Markdown are read. Nothing is followed out of the agent's
//! home, except a link that is the user's own instruction file. No secret is masked here and nothing is judged: the engine
//! does both, for every author. Blocks. Called by `talaria import claude-code` and `talaria import codex`.

mod claude_code;
mod codex;
mod error;
mod markdown;
mod source;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

use talaria_core::api::{AgentProgram, MemoryImportFile, MemoryImported, MemoryImportedFile};
use talaria_core::memory::file::tidy;
use talaria_core::memory::scan::flag;
use talaria_guard::redact::redact;

pub use error::AgentError;
pub use source::{AgentHome, AgentMemory, LeftFile};

/// Reads what an agent remembers. Changes nothing.
pub fn read_memory(home: &AgentHome) -> AgentMemory {
    match home.program {
        AgentProgram::ClaudeCode => claude_code::read(&home.root),
        AgentProgram::Codex => codex::read(&home.root),
    }
}

/// Returns what an import would do in a home that remembers nothing yet. Needs no engine.
pub fn preview_first(files: &[MemoryImportFile]) -> MemoryImported {
    let mut preview = MemoryImported::default();
    let mut known = HashSet::new();
    for file in files {
        let mut one =
            MemoryImportedFile { name: file.name.clone(), scope: file.scope.clone(), ..Default::default() };
        for text in &file.texts {
            let masked = tidy(&redact(text));
            preview.is_masked |= masked != tidy(text);
            let count = match flag(&masked) {
                _ if masked.is_empty() || !known.insert((file.scope.clone(), masked.clone())) => {
                    &mut one.known
                }
                Some(_) => &mut one.waiting,
                None => &mut one.new,
            };
            *count += 1;
        }
        preview.files.push(one);
    }
    preview
}
