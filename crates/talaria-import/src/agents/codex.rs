//! Codex: what its own memory feature wrote below `memories`. The user's `AGENTS.md` stays where it is: Codex reads it itself
//! in every conversation, also in those of Talaria.

use std::path::Path;

use super::source::{AgentMemory, Links};

/// The files to import: the memory of Codex, and its summary.
const FILES: [&str; 2] = ["memories/memory_summary.md", "memories/MEMORY.md"];
/// What else is there, and why it stays.
const STAYS: [(&str, &str); 4] = [
    ("AGENTS.md", "Codex reads it itself in every conversation"),
    ("memories/raw_memories.md", "it is the raw material of memories/MEMORY.md"),
    ("memories/rollout_summaries", "it is the raw material of memories/MEMORY.md"),
    ("memories/skills", "skills are not copied: move those that you want to ~/.agents/skills"),
];

/// Reads a home.
pub(super) fn read(root: &Path) -> AgentMemory {
    let mut memory = AgentMemory::default();
    for name in FILES {
        memory.read(root, name, "notes", Links::Leave, |_| false);
    }
    for (name, why) in STAYS {
        if root.join(name).exists() {
            memory.leave(name, why);
        }
    }
    memory
}
