//! Recognises the use of a skill that the runtime itself listed: its model reads the `SKILL.md` with a command.

use super::SKILL_FILE;

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
