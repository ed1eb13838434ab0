//! Recognises the use of a skill that the runtime itself listed: its model reads the `SKILL.md` with a command. Decides which
//! skills seem to be needed no more.

use super::SKILL_FILE;

/// After how many days without a use a skill is stale.
pub const STALE_DAYS: i64 = 30;

/// Returns whether a skill was neither read nor changed for `STALE_DAYS`. All times are in milliseconds; nothing is known about
/// uses before `counted_since`.
pub fn is_stale(now: i64, used_at: Option<i64>, changed_at: Option<i64>, counted_since: i64) -> bool {
    let last = [used_at, changed_at].into_iter().flatten().fold(counted_since, i64::max);
    now.saturating_sub(last) >= STALE_DAYS * 24 * 60 * 60 * 1000
}

/// Returns the folders whose `SKILL.md` a command line names, as it names them.
pub fn folders_read(command: &str) -> Vec<&str> {
    // Most commands name no skill: one search of the text decides.
    if !command.contains(SKILL_FILE) {
        return Vec::new();
    }
    let is_between = |letter: char| letter.is_whitespace() || "'\"`;|&<>()=".contains(letter);
    let mut folders: Vec<&str> = command
        .split(is_between)
        .filter_map(|word| word.strip_suffix(SKILL_FILE)?.strip_suffix('/'))
        .filter(|folder| !folder.is_empty())
        .collect();
    folders.dedup();
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skill_is_stale_only_if_it_is_known_that_it_was_not_used() {
        const DAY: i64 = 24 * 60 * 60 * 1000;
        let now = 1000 * DAY;
        let stale = |used, changed, since| is_stale(now, used, changed, since);
        let (old, new) = (Some(now - 31 * DAY), Some(now - 29 * DAY));
        assert!(stale(old, old, 0) && stale(None, old, 0) && stale(None, None, 0));
        assert!(!stale(new, old, 0) && !stale(old, new, 0) && !stale(None, new, 0));
        assert!(!stale(None, old, now - 29 * DAY), "uses were not counted for long enough");
        assert!(!stale(Some(now + DAY), old, 0), "the clock was set back");
    }

    #[test]
    fn a_command_that_reads_a_skill_names_its_folder() {
        for (command, folders) in [
            ("cat /h/.agents/skills/haiku/SKILL.md", &["/h/.agents/skills/haiku"][..]),
            ("/bin/bash -lc 'sed -n 1,200p \"/h/my-skill/SKILL.md\"'", &["/h/my-skill"]),
            ("cat .agents/skills/a/SKILL.md; head b/SKILL.md", &[".agents/skills/a", "b"]),
            ("ls", &[]),
            ("grep SKILL.md .", &[]),
            ("cat /SKILL.md", &[]),
            ("cat a/SKILL.md.bak", &[]),
        ] {
            assert_eq!(folders_read(command), folders, "{command}");
        }
    }
}
