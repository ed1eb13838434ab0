//! A user's file is replaced whole or not at all, where it is and as it is.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

fn write(path: &Path, bytes: impl AsRef<[u8]>) {
    fs::write(path, bytes).unwrap();
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_new_file_is_private_and_an_old_one_keeps_its_mode() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("c.toml");
    let locked = UserFile::lock(&path).unwrap();
    assert_eq!((locked.text(), locked.mode()), (None, None));
    locked.replace("a = 1\n").unwrap();
    assert_eq!((fs::read_to_string(&path).unwrap().as_str(), mode(&path)), ("a = 1\n", 0o600));
    for bits in [0o644, 0o664, 0o700, 0o2640] {
        set_mode(&path, bits);
        let locked = UserFile::lock(&path).unwrap();
        assert_eq!(locked.mode(), Some(bits));
        locked.replace(&format!("mode = {bits}\n")).unwrap();
        assert_eq!(mode(&path), bits);
    }
    assert_eq!(names(dir.path()), ["c.toml"]);
}

#[test]
fn the_same_text_again_leaves_the_file_alone() {
    use std::os::unix::fs::MetadataExt;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("c.toml");
    write(&path, "a = 1\n");
    let before = fs::metadata(&path).unwrap().ino();
    UserFile::lock(&path).unwrap().replace("a = 1\n").unwrap();
    assert_eq!(fs::metadata(&path).unwrap().ino(), before);
}

#[test]
fn links_stay_links_and_the_file_behind_them_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let (home, dotfiles) = (dir.path().join("home"), dir.path().join("dotfiles"));
    fs::create_dir(&home).unwrap();
    fs::create_dir(&dotfiles).unwrap();
    let (link, middle, real) = (home.join("c.toml"), dotfiles.join("link"), dotfiles.join("real.toml"));
    symlink("../dotfiles/link", &link).unwrap();
    symlink(&real, &middle).unwrap();
    // Dangling at first: the file is made where the links point.
    UserFile::lock(&link).unwrap().replace("a = 1\n").unwrap();
    assert_eq!(fs::read_to_string(&real).unwrap(), "a = 1\n");
    set_mode(&real, 0o640);
    let locked = UserFile::lock(&link).unwrap();
    assert_eq!(locked.text(), Some("a = 1\n"));
    locked.replace("a = 2\n").unwrap();
    assert_eq!((fs::read_to_string(&real).unwrap().as_str(), mode(&real)), ("a = 2\n", 0o640));
    assert_eq!(fs::read_link(&link).unwrap(), Path::new("../dotfiles/link"));
    assert_eq!(fs::read_link(&middle).unwrap(), real);
    assert_eq!(
        (names(&home), names(&dotfiles)),
        (vec!["c.toml".to_owned()], vec!["link".to_owned(), "real.toml".to_owned()])
    );
    UserFile::lock(&link).unwrap().remove().unwrap();
    assert!(!real.exists() && fs::read_link(&link).is_ok());
    symlink("round", dotfiles.join("round")).unwrap();
    assert!(matches!(UserFile::lock(&dotfiles.join("round")), Err(UserFileError::Links(_))));
}

#[test]
fn a_read_only_file_is_not_replaced_although_its_directory_would_allow_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("c.toml");
    write(&path, "a = 1\n");
    set_mode(&path, 0o444);
    let error = UserFile::lock(&path).unwrap().replace("a = 2\n").unwrap_err();
    assert_eq!(error.to_string(), format!("cannot change {}: it is read-only", path.display()));
    assert!(matches!(UserFile::lock(&path).unwrap().remove(), Err(UserFileError::ReadOnly(_))));
    assert_eq!(
        (fs::read_to_string(&path).unwrap().as_str(), names(dir.path())),
        ("a = 1\n", vec!["c.toml".to_owned()])
    );
}

#[test]
fn what_is_no_text_file_is_named_for_what_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let told = |name: &str| UserFile::lock(&dir.path().join(name)).unwrap_err().to_string();
    let shown = |name: &str, why: &str| format!("cannot read {}: {why}", dir.path().join(name).display());
    fs::create_dir(dir.path().join("directory")).unwrap();
    assert_eq!(told("directory"), shown("directory", "it is a directory"));
    rustix::fs::mknodat(
        rustix::fs::CWD,
        dir.path().join("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    assert_eq!(told("pipe"), shown("pipe", "it is not a regular file"));
    write(&dir.path().join("bytes"), b"a = 1\nb = \"\xff\"\n");
    assert_eq!(told("bytes"), shown("bytes", "line 2 is not UTF-8"));
    let huge = File::create(dir.path().join("huge")).unwrap();
    huge.set_len(1 << 40).unwrap();
    assert_eq!(told("huge"), shown("huge", "it has 1099511627776 bytes, more than 16777216"));
    let missing = UserFile::lock(&dir.path().join("no/c.toml")).unwrap_err();
    assert!(matches!(missing, UserFileError::Directory { .. }), "{missing}");
    write(&dir.path().join("ten"), "# 10 MB\n".repeat(10 << 17));
    assert!(UserFile::lock(&dir.path().join("ten")).unwrap().text().unwrap().len() >= 10 << 20);
}

#[test]
fn what_somebody_else_wrote_meanwhile_is_not_lost() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("c.toml");
    for (before, meanwhile) in
        [(Some("a = 1\n"), Some("a = 9\n")), (None, Some("a = 9\n")), (Some("a = 1\n"), None)]
    {
        let _ = fs::remove_file(&path);
        if let Some(before) = before {
            write(&path, before);
        }
        let locked = UserFile::lock(&path).unwrap();
        match meanwhile {
            Some(text) => write(&path, text),
            None => fs::remove_file(&path).unwrap(),
        }
        let error = locked.replace("a = 2\n").unwrap_err();
        assert!(matches!(error, UserFileError::Changed(_)), "{error}");
        assert_eq!(fs::read_to_string(&path).ok().as_deref(), meanwhile);
    }
    assert_eq!(names(dir.path()), Vec::<String>::new());
}

#[test]
fn a_holder_that_does_not_finish_is_waited_for_with_a_limit() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("c.toml");
    let held = UserFile::lock(&path).unwrap();
    let error = UserFile::lock_within(&path, Duration::ZERO).unwrap_err();
    assert!(matches!(error, UserFileError::Busy(_)), "{error}");
    drop(held);
    assert!(UserFile::lock_within(&path, Duration::ZERO).is_ok());
}

#[test]
fn what_a_crashed_run_left_is_swept_and_nothing_of_others() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("c.toml");
    let others = [
        ".c.toml.talaria-1-x",
        ".c.toml.talaria-1",
        ".c.toml.talaria-1-2-3",
        ".c.toml.swp",
        ".d.toml.talaria-1-2",
    ];
    for name in others.iter().chain(&[".c.toml.talaria-1-2", ".c.toml.talaria-77-0"]) {
        write(&dir.path().join(name), "x");
    }
    drop(UserFile::lock(&path).unwrap());
    let mut expected = others.map(str::to_owned).to_vec();
    expected.sort();
    assert_eq!(names(dir.path()), expected);
}

#[test]
fn many_writers_lose_nothing_and_a_reader_always_sees_a_whole_file() {
    const WRITERS: usize = 4;
    const EACH: usize = 25;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("c.toml");
    write(&path, "# begin\n# end\n");
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut seen = 0;
            while !done.load(Ordering::Relaxed) {
                let text = fs::read_to_string(&path).unwrap();
                assert!(text.starts_with("# begin\n") && text.ends_with("# end\n"), "{text:?}");
                seen += 1;
            }
            seen
        });
        let write = |writer: usize| {
            for number in 0..EACH {
                let locked = UserFile::lock(&path).unwrap();
                let old = locked.text().unwrap().strip_suffix("# end\n").unwrap();
                let new = format!("{old}w{writer}-{number}\n# end\n");
                locked.replace(&new).unwrap();
            }
        };
        let writers: Vec<_> = (0..WRITERS).map(|writer| scope.spawn(move || write(writer))).collect();
        let ended: Vec<_> = writers.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        done.store(true, Ordering::Relaxed);
        assert!(ended.iter().all(Result::is_ok) && reader.join().unwrap() > 0);
    });
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(text.lines().count(), 2 + WRITERS * EACH);
    assert_eq!(names(dir.path()), ["c.toml"]);
}
