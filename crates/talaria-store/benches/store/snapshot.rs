//! The text that a conversation starts with: 500 entries of the memory from rows and 200 skills from files, as
//! one text.

use std::fs;
use std::path::Path;

use talaria_core::memory::snapshot::MemorySnapshot;
use talaria_core::memory::{MemoryChange, MemoryEntry, MemoryScope, SNAPSHOT_CHARS};
use talaria_core::skill::index::{IndexedSkill, SkillIndex};
use talaria_core::skill::manifest::{self, SkillManifest};
use talaria_core::skill::{INDEX_CHARS, SKILL_FILE};
use talaria_store::{MemoryAuthor, MemoryOrigin, MemoryWrite, OpenOptions, Store};

use crate::fresh;
use crate::reading::time;

const ENTRIES: usize = 500;
const SKILLS: usize = 200;

pub(crate) async fn measure(place: &Path) {
    let place = fresh(place, "snapshot");
    let store = Store::open(&place.join("talaria.db"), 0, &OpenOptions::default()).await.unwrap();
    let change = |number: usize| MemoryChange {
        entry: format!("mem-{number:012}"),
        scope: MemoryScope::Notes,
        expects: None,
        before: None,
        after: Some(format!("fact {number}: {}", "the cache is cleared by the build ".repeat(2))),
    };
    let changes = (0..ENTRIES).map(change).collect();
    let origin = MemoryOrigin::of(MemoryAuthor::Person);
    store.write_memory(MemoryWrite::new(changes, origin, 1)).await.unwrap();
    let skills = place.join("skills");
    for number in 0..SKILLS {
        let folder = skills.join(format!("skill-{number:03}"));
        fs::create_dir_all(&folder).unwrap();
        let description = "Use when release notes are written, changed or reviewed for people ".repeat(3);
        let front = format!("---\nname: skill-{number:03}\ndescription: {description}\n---\n");
        fs::write(folder.join(SKILL_FILE), format!("{front}{}", "A line of the skill.\n".repeat(200)))
            .unwrap();
    }
    time("memory: rows to text", "-", async || {
        assert!(memory(&store).await.len() > 1000);
    })
    .await;
    time("skills: files to text", "-", async || {
        assert!(index(&skills).len() > 1000);
    })
    .await;
    time("both: what a conversation starts with", "< 5 ms", async || {
        assert!(memory(&store).await.len() + index(&skills).len() > 2000);
    })
    .await;
    store.close().await;
}

async fn memory(store: &Store) -> String {
    let rows = store.memory_entries().await.unwrap();
    let entries: Vec<MemoryEntry> = rows.into_iter().map(|row| row.entry).collect();
    assert_eq!(entries.len(), ENTRIES);
    MemorySnapshot::render(None, &entries, SNAPSHOT_CHARS).unwrap().text
}

/// As the engine reads them: the beginning of each file.
fn index(root: &Path) -> String {
    let mut manifests: Vec<SkillManifest> = fs::read_dir(root)
        .unwrap()
        .map(|entry| {
            let text = fs::read_to_string(entry.unwrap().path().join(SKILL_FILE)).unwrap();
            manifest::parse(&text).unwrap()
        })
        .collect();
    assert_eq!(manifests.len(), SKILLS);
    manifests.sort_by(|a, b| a.name.cmp(&b.name));
    let indexed = manifests.iter().map(|manifest| IndexedSkill {
        name: manifest.name.as_deref().unwrap_or_default(),
        description: &manifest.description,
    });
    SkillIndex::of(indexed, INDEX_CHARS).prompt().unwrap()
}
