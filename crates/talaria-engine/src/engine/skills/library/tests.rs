//! Reading skill folders from untrusted sources.

use std::os::unix::fs::symlink;

use expect_test::expect;

use super::*;

fn put(root: &Path, path: &str, bytes: &[u8]) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

fn skill(name: &str) -> Vec<u8> {
    format!("---\nname: {name}\ndescription: About {name}\n---\nbody\n").into_bytes()
}

fn read(roots: &[(SkillPlace, &Path)]) -> SkillLibrary {
    let root = |(place, path): &(SkillPlace, &Path)| SkillRoot { place: *place, path: path.to_path_buf() };
    SkillLibrary::read(&roots.iter().map(root).collect::<Vec<_>>())
}

#[test]
fn skills_are_found_by_name_and_the_nearer_folder_counts() {
    let place = tempfile::tempdir().unwrap();
    let base = fs::canonicalize(place.path()).unwrap();
    let (near, far) = (base.join("near"), base.join("far"));
    put(&near, "haiku/SKILL.md", &skill("haiku"));
    put(&near, "haiku/references/sub/SKILL.md", &skill("not-a-skill"));
    put(&near, "writing/letters/SKILL.md", b"---\ndescription: >\n  Letters\n  to people\n---\n");
    put(&far, "haiku/SKILL.md", &skill("haiku"));
    put(&far, "zebra/SKILL.md", &skill("zebra"));
    put(&far, ".archive/old/SKILL.md", &skill("old"));
    let missing = base.join("missing");
    let library =
        read(&[(SkillPlace::Project, &near), (SkillPlace::User, &far), (SkillPlace::Home, &missing)]);
    let line = |skill: &FoundSkill| {
        let folder = skill.folder.strip_prefix(&base).unwrap().display().to_string();
        format!("{} {} {folder}: {}", skill.name, skill.place.word(), skill.description)
    };
    expect![[r#"
        haiku project near/haiku: About haiku
        haiku user far/haiku: About haiku
        letters project near/writing/letters: Letters to people
        zebra user far/zebra: About zebra"#]]
    .assert_eq(&library.skills.iter().map(line).collect::<Vec<_>>().join("\n"));
    assert_eq!(library.find("haiku").unwrap().folder, near.join("haiku"));
    assert_eq!(library.notes, Vec::<String>::new());
}

#[test]
fn hostile_folders_are_left_out_and_said() {
    let place = tempfile::tempdir().unwrap();
    let base = fs::canonicalize(place.path()).unwrap();
    let root = base.join("skills");
    put(&base, "outside/secret/SKILL.md", &skill("secret"));
    put(&root, "good/SKILL.md", &skill("good"));
    put(&root, "dots/SKILL.md", &skill("../../dots"));
    put(&root, "binary/SKILL.md", b"---\ndescription: \xff\xfe\n---\n");
    put(&root, "huge/SKILL.md", format!("---\ndescription: {}\n---\n", "x".repeat(1 << 20)).as_bytes());
    put(&root, "plain/SKILL.md", b"no front matter");
    let mut long = skill("long");
    long.extend("ä".repeat(1 << 20).as_bytes());
    put(&root, "long/SKILL.md", &long);
    put(&root, "d/d/d/d/d/d/d/SKILL.md", &skill("deep"));
    symlink(base.join("outside/secret"), root.join("way-out")).unwrap();
    symlink(root.join("good"), root.join("way-in")).unwrap();
    fs::create_dir(root.join("linked")).unwrap();
    symlink(base.join("outside/secret/SKILL.md"), root.join("linked/SKILL.md")).unwrap();
    fs::create_dir(root.join("pipe")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, root.join("pipe/SKILL.md"), rustix::fs::Mode::RUSR).unwrap();
    fs::create_dir_all(root.join("folder/SKILL.md")).unwrap();
    let library = read(&[(SkillPlace::User, &root)]);
    let names: Vec<&str> = library.skills.iter().map(|skill| skill.name.as_str()).collect();
    assert_eq!(names, ["good", "long"]);
    let mut notes: Vec<String> =
        library.notes.iter().map(|note| note.replace(&format!("{}/", root.display()), "")).collect();
    notes.sort();
    expect![[r#"
        binary is left out: its SKILL.md is not UTF-8 text
        d/d/d/d/d/d/d is left out: it is too deep
        dots is left out: its name is too long, or no name
        folder is left out: its SKILL.md is no file
        huge is left out: its front matter does not end within 16 KB
        linked is left out: its SKILL.md is a link
        pipe is left out: its SKILL.md is no file
        plain is left out: it does not begin with front matter between two lines of `---`
        way-out is left out: it is a link that leads out of the folder with skills
    "#]]
    .assert_eq(&format!("{}\n", notes.join("\n")));
}

#[test]
fn the_notes_and_the_number_of_folders_are_bounded() {
    let place = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(place.path()).unwrap();
    for number in 0..MOST_FOLDERS + 10 {
        fs::create_dir(root.join(format!("empty-{number}"))).unwrap();
    }
    for number in 0..30 {
        put(&root, &format!("bad-{number}/SKILL.md"), b"x");
    }
    let library = read(&[(SkillPlace::User, &root)]);
    assert_eq!(library.notes.len(), MOST_NOTES + 1);
    assert!(library.notes.last().unwrap().starts_with("and "), "{:?}", library.notes);
}
