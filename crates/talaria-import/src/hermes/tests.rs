//! An import from Hermes and its undo; no data of the person is lost in either direction.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use expect_test::expect;

use super::*;

struct Place {
    dir: tempfile::TempDir,
    home: TalariaHome,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let home = TalariaHome::resolve(Some(dir.path().join("talaria").into()), None).unwrap();
        let place = Self { dir, home };
        place.theirs("config.yaml", CONFIG);
        place.theirs("memories/MEMORY.md", "remember");
        place.theirs("skills/writing/haiku/SKILL.md", "write");
        place.theirs("skills/writing/haiku/run.sh", "echo hi\n");
        let script = place.hermes().join("skills/writing/haiku/run.sh");
        fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
        place
    }

    fn hermes(&self) -> PathBuf {
        self.dir.path().join("hermes")
    }

    fn theirs(&self, name: &str, bytes: impl AsRef<[u8]>) {
        write(&self.hermes().join(name), bytes);
    }

    fn ours(&self, name: &str, bytes: impl AsRef<[u8]>) {
        write(&self.home.root().join(name), bytes);
    }

    fn source(&self) -> Result<HermesSource, HermesError> {
        HermesHome::resolve(Some(&self.hermes()), None, None)?.read(&self.home)
    }

    fn import(&self) -> HermesPlan {
        let source = self.source().unwrap();
        let mut import = HermesImport::begin(&self.home, &source).unwrap();
        let planned = import.apply(&source).unwrap();
        import.finish(HermesSessions::None).unwrap();
        planned
    }

    fn undo(&self) -> UndoneFiles {
        let undo = HermesUndo::begin(&self.home).unwrap();
        let undone = undo.apply(UndoMode::Apply).unwrap();
        undo.finish().unwrap();
        undone
    }

    /// Everything below Talaria's home but the lock, with modes and contents.
    fn all(&self) -> String {
        let mut lines = Vec::new();
        list(self.home.root(), self.home.root(), &mut lines);
        lines.retain(|line| !line.contains("imports"));
        lines.join("\n")
    }
}

const CONFIG: &str = "model: gpt-5.2\nagent: {reasoning_effort: high}\nmcp_servers:\n  a: {command: x, env: {A_TOKEN: hunter2hunter2}}\n";

fn write(path: &Path, bytes: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

fn list(root: &Path, directory: &Path, lines: &mut Vec<String>) {
    let mut entries: Vec<_> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        let found = path.symlink_metadata().unwrap();
        let name = path.strip_prefix(root).unwrap().display().to_string();
        let mode = found.permissions().mode() & 0o777;
        match found.is_dir() {
            true => {
                lines.push(format!("{name}/ {mode:o}"));
                list(root, &path, lines);
            }
            false => {
                lines.push(format!("{name} {mode:o} {:?}", fs::read_to_string(&path).unwrap_or_default()));
            }
        }
    }
}

#[test]
fn what_came_is_private_and_goes_again_without_a_trace() {
    let place = Place::new();
    let source = place.source().unwrap();
    let seen = plan_import(&place.home, &source).unwrap();
    assert!(!place.home.root().exists(), "looking makes nothing");
    let planned = place.import();
    assert_eq!((seen.memories, seen.skills), (planned.memories, planned.skills));
    expect![[r#"
        config.toml 600 "[model]\ndefault = \"gpt-5.2\"\neffort = \"high\"\n\n[mcp_servers.a]\ncommand = \"x\"\nenv = { A_TOKEN = \"${A_TOKEN}\" }\n"
        memories/ 700
        memories/MEMORY.md 600 "remember"
        skills/ 700
        skills/writing/ 700
        skills/writing/haiku/ 700
        skills/writing/haiku/SKILL.md 600 "write"
        skills/writing/haiku/run.sh 700 "echo hi\n""#]]
    .assert_eq(&place.all());
    let again = place.import();
    assert_eq!((again.memories.same, again.skills.same, again.config.unwrap().same), (1, 2, 4));
    let records = fs::read_dir(place.home.imports_dir()).unwrap().map(|entry| entry.unwrap().path());
    let records: Vec<_> = records.filter(|path| path.extension().is_some()).collect();
    assert_eq!(records.len(), 1, "an import that brought nothing is not remembered");
    assert!(!fs::read_to_string(&records[0]).unwrap().contains("hunter2"));
    let undone = place.undo();
    assert_eq!((undone.settings.len(), undone.files.len()), (4, 3));
    assert_eq!(place.all(), "");
    assert!(matches!(HermesUndo::begin(&place.home), Err(HermesError::NothingToUndo)));
}

#[test]
fn what_the_person_had_or_changed_stays() {
    let place = Place::new();
    place.ours("config.toml", "# mine\n[model]\neffort = \"low\"\n");
    place.ours("memories/MEMORY.md", "my own");
    place.ours("skills/mine/SKILL.md", "my own");
    let before = place.all();
    let planned = place.import();
    assert_eq!(planned.config.as_ref().unwrap().kept[0].key, "model.effort");
    assert_eq!(planned.memories.left[0].why, "another file of this name is here");
    place.ours("skills/writing/haiku/SKILL.md", "better");
    place.ours("skills/writing/notes.txt", "by me");
    let config = fs::read_to_string(place.home.config_file()).unwrap();
    place.ours("config.toml", config.replace("gpt-5.2", "gpt-6"));
    let undone = place.undo();
    assert_eq!(undone.changed_settings, ["model.default"]);
    assert_eq!(undone.changed_files[0].path, "skills/writing/haiku/SKILL.md");
    let after = place.all();
    for line in ["skills/writing/notes.txt", "\"better\"", "gpt-6", "# mine", "memories/MEMORY.md"] {
        assert!(after.contains(line), "{line}: {after}");
    }
    assert!(!after.contains("run.sh"), "{after}");
    fs::remove_dir_all(place.home.root().join("skills/writing")).unwrap();
    place.ours("config.toml", "# mine\n[model]\neffort = \"low\"\n");
    assert_eq!(place.all(), before);
}

#[test]
fn hostile_files_are_named_and_nothing_leaves_the_tree() {
    let place = Place::new();
    let skills = place.hermes().join("skills");
    let outside = place.dir.path().join("outside");
    write(&outside.join("secret"), "do not read");
    symlink(outside.join("secret"), skills.join("link")).unwrap();
    symlink(&outside, skills.join("way out")).unwrap();
    symlink("nowhere", skills.join("dangling")).unwrap();
    place.theirs("skills/binary\u{1b}[2J.bin", [0_u8, 255, 10]);
    write(&skills.join(std::ffi::OsStr::from_bytes(b"bad\xff")), "x");
    File::create(skills.join("huge")).unwrap().set_len(9 * 1024 * 1024).unwrap();
    place.theirs(&format!("skills/{}deep", "d/".repeat(14)), "x");
    place.theirs("skills/a/.git/config", "x");
    place.theirs("skills/a/__pycache__/x.pyc", "x");
    place.theirs("memories/MEMORY.md.lock", "");
    rustix::fs::mkfifoat(rustix::fs::CWD, skills.join("pipe"), rustix::fs::Mode::RUSR).unwrap();
    // Here a link is where a directory should be.
    fs::create_dir_all(place.home.root().join("skills")).unwrap();
    symlink(&outside, place.home.root().join("skills/writing")).unwrap();
    let planned = place.import();
    let left: Vec<String> =
        planned.skills.left.iter().map(|left| format!("{}: {}", left.path, left.why)).collect();
    expect![[r#"
        skills/bad�: its name is not valid UTF-8
        skills/d/d/d/d/d/d/d/d/d/d/d/d/d: it lies more than 12 directories deep
        skills/dangling: it is a link
        skills/huge: it is longer than 8 MiB
        skills/link: it is a link
        skills/pipe: it is no file
        skills/way out: it is a link
        skills/writing/haiku/SKILL.md: a link is in its way here: writing
        skills/writing/haiku/run.sh: a link is in its way here: writing"#]]
    .assert_eq(&left.join("\n"));
    let copied: Vec<_> = planned.skills.copies.iter().map(|copy| copy.to.as_str()).collect();
    assert_eq!(copied, ["skills/binary\u{1b}[2J.bin"]);
    assert_eq!(fs::read(place.home.root().join(copied[0])).unwrap(), [0, 255, 10]);
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1, "nothing was written outside");
    assert_eq!(planned.memories.copies.len(), 1);
}

#[test]
fn a_run_that_was_broken_off_goes_on_under_its_name() {
    let place = Place::new();
    let source = place.source().unwrap();
    let mut first = HermesImport::begin(&place.home, &source).unwrap();
    let run = first.run().to_owned();
    first.apply(&source).unwrap();
    // Killed between two files: one is missing, one was being written.
    fs::remove_file(place.home.root().join("skills/writing/haiku/run.sh")).unwrap();
    let beside = copy::beside(&place.home.root().join("skills/writing/haiku/SKILL.md"));
    fs::write(&beside, "wri").unwrap();
    drop(first);
    let mut second = HermesImport::begin(&place.home, &source).unwrap();
    assert_eq!(second.run(), run);
    let planned = second.apply(&source).unwrap();
    second.finish(HermesSessions::None).unwrap();
    assert_eq!((planned.skills.copies.len(), planned.skills.same), (1, 1));
    assert!(!beside.exists());
    let undone = place.undo();
    assert_eq!((undone.settings.len(), undone.files.len()), (4, 3), "all of both runs goes");
    assert_eq!(place.all(), "");
}

#[test]
fn conversations_of_a_run_that_was_killed_at_its_end_can_be_taken_back() {
    let place = Place::new();
    fs::remove_dir_all(place.hermes()).unwrap();
    place.theirs("state.db", "");
    let source = place.source().unwrap();
    let mut killed = HermesImport::begin(&place.home, &source).unwrap();
    let run = killed.run().to_owned();
    killed.apply(&source).unwrap();
    drop(killed);
    // To the next one everything is known.
    place.import();
    let undo = HermesUndo::begin(&place.home).unwrap();
    assert_eq!(undo.run(), run);
    undo.finish().unwrap();
    place.import();
    let nothing = HermesUndo::begin(&place.home);
    assert!(matches!(nothing, Err(HermesError::NothingToUndo)), "what brought nothing is not remembered");
}

#[test]
fn a_run_that_was_broken_off_is_not_gone_on_with_from_another_home() {
    let place = Place::new();
    let first = place.source().unwrap();
    HermesImport::begin(&place.home, &first).unwrap().apply(&first).unwrap();
    let other = place.dir.path().join("other");
    write(&other.join("memories/USER.md"), "of the other");
    let second = HermesHome::resolve(Some(&other), None, None).unwrap().read(&place.home).unwrap();
    let mut import = HermesImport::begin(&place.home, &second).unwrap();
    import.apply(&second).unwrap();
    import.finish(HermesSessions::None).unwrap();
    let undo = HermesUndo::begin(&place.home).unwrap();
    assert_eq!(undo.source(), second.root.display().to_string());
    assert_eq!(undo.apply(UndoMode::Apply).unwrap().files, ["memories/USER.md"]);
    undo.finish().unwrap();
    let undo = HermesUndo::begin(&place.home).unwrap();
    assert_eq!(undo.source(), first.root.display().to_string());
    assert_eq!(undo.apply(UndoMode::Apply).unwrap().files.len(), 3);
    undo.finish().unwrap();
    assert_eq!(place.all(), "");
}

#[test]
fn a_server_that_was_changed_stays_whole() {
    let changes: [fn(&str) -> String; 3] = [
        |text| text.replace("command = \"x\"", "command = \"mine\""),
        |text| text.replace("command = \"x\"", "command = \"x\"\ntimeout = 5"),
        |text| text.replace("env = { A_TOKEN = \"${A_TOKEN}\" }\n", ""),
    ];
    for change in changes {
        let place = Place::new();
        place.import();
        let text = fs::read_to_string(place.home.config_file()).unwrap();
        let changed = change(&text);
        assert_ne!(changed, text);
        place.ours("config.toml", &changed);
        let undone = place.undo();
        assert_eq!(undone.changed_settings, ["mcp_servers.a"]);
        assert_eq!(undone.settings, ["model.default", "model.effort"]);
        let left = fs::read_to_string(place.home.config_file()).unwrap();
        assert_eq!(left.trim_start(), &changed[changed.find("[mcp_servers.a]").unwrap()..]);
    }
}

#[test]
fn a_server_that_an_earlier_try_would_have_set_otherwise_goes_whole() {
    let place = Place::new();
    place.ours("config.toml", "# mine\n");
    let source = place.source().unwrap();
    let mut killed = HermesImport::begin(&place.home, &source).unwrap();
    killed.apply(&source).unwrap();
    // As if it had been killed before the settings were set.
    place.ours("config.toml", "# mine\n");
    drop(killed);
    place.theirs("config.yaml", "mcp_servers: {a: {command: other}}\n");
    place.import();
    let undone = place.undo();
    assert_eq!(
        (undone.settings, undone.changed_settings),
        (vec!["mcp_servers.a.command".to_owned()], vec![])
    );
    assert_eq!(fs::read_to_string(place.home.config_file()).unwrap().trim_end(), "# mine");
}

#[test]
fn bad_homes_are_told_and_nothing_is_made() {
    let place = Place::new();
    let told = |home: &Path| {
        let read = HermesHome::resolve(Some(home), None, None).unwrap().read(&place.home);
        let error = read.unwrap_err();
        assert!(!error.next_step().in_shell().is_empty());
        error.to_string().replace(place.dir.path().to_str().unwrap(), "…")
    };
    let mut lines = vec![told(Path::new("/nowhere/at/all")), told(&place.hermes().join("config.yaml"))];
    lines.push(told(&place.hermes().join("skills")));
    place.ours("config.toml", "");
    lines.push(told(place.home.root()));
    for bytes in [&b"model: [\n"[..], b"a: \xff\n", b"a:\n  - b\n c: d\n"] {
        place.theirs("config.yaml", bytes);
        lines.push(told(&place.hermes()));
    }
    fs::remove_file(place.hermes().join("config.yaml")).unwrap();
    fs::create_dir(place.hermes().join("config.yaml")).unwrap();
    lines.push(told(&place.hermes()));
    fs::remove_dir(place.hermes().join("config.yaml")).unwrap();
    File::create(place.hermes().join("config.yaml")).unwrap().set_len(17 * 1024 * 1024).unwrap();
    lines.push(told(&place.hermes()));
    expect![[r#"
        there is no directory /nowhere/at/all
        there is no directory …/hermes/config.yaml
        …/hermes/skills is no home of Hermes: it has none of config.yaml, state.db, memories and skills
        …/talaria is Talaria's own home
        …/hermes/config.yaml: line 1, column 8: unclosed bracket '['
        cannot read …/hermes/config.yaml: line 1 is not UTF-8
        …/hermes/config.yaml: line 3, column 2: while parsing a block mapping, did not find expected key
        cannot read …/hermes/config.yaml: it is a directory
        cannot read …/hermes/config.yaml: it has 17825792 bytes, more than 16777216"#]]
    .assert_eq(&lines.join("\n"));
    assert_eq!(place.all(), "config.toml 644 \"\"", "nothing was made");
}

#[test]
fn a_file_that_may_not_be_changed_stops_it_before_anything_is_copied() {
    let place = Place::new();
    place.ours("config.toml", "# mine\n");
    fs::set_permissions(place.home.config_file(), fs::Permissions::from_mode(0o444)).unwrap();
    let source = place.source().unwrap();
    let error = HermesImport::begin(&place.home, &source).unwrap().apply(&source).unwrap_err();
    assert!(error.to_string().contains("read-only"), "{error}");
    assert_eq!(place.all(), "config.toml 444 \"# mine\\n\"");
    fs::set_permissions(place.home.config_file(), fs::Permissions::from_mode(0o600)).unwrap();
    place.ours("config.toml", "[model\n");
    let error = plan_import(&place.home, &source).unwrap_err();
    assert!(error.to_string().contains("config.toml: line 1"), "{error}");
}

#[test]
fn only_one_imports_at_a_time() {
    let place = Place::new();
    let source = place.source().unwrap();
    let first = HermesImport::begin(&place.home, &source).unwrap();
    std::thread::scope(|scope| {
        let second = scope.spawn(|| HermesImport::begin(&place.home, &source).map(drop));
        drop(first);
        assert!(second.join().unwrap().is_ok(), "the second waits for the first");
    });
}

#[test]
fn the_home_is_found_by_name_variable_and_default() {
    let found = |named: Option<&str>, hermes: Option<&str>, home: Option<&str>| {
        let found = HermesHome::resolve(named.map(Path::new), hermes.map(Into::into), home.map(Into::into));
        found.map(|home| format!("{home:?}")).unwrap_or_else(|error| error.to_string())
    };
    assert_eq!(found(Some("/n"), Some("/v"), Some("/h")), "HermesHome(\"/n\")");
    assert_eq!(found(None, Some("/v"), Some("/h")), "HermesHome(\"/v\")");
    assert_eq!(found(None, Some("~/x"), Some("/h")), "HermesHome(\"/h/x\")");
    assert_eq!(found(None, Some(" "), Some("/h")), "HermesHome(\"/h/.hermes\")");
    assert!(found(None, None, None).contains("--home"));
}
