//! Where the cargo build directory is, found from the running test program and not from its working directory.
//!
//! All files that tests leave are in it, and `cargo clean` removes them. The one exception are the homes of the
//! tests when the build directory is below a temporary directory ([`homes`]).

use std::env;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// Returns the root of the build directory: the folder that cargo marks with `CACHEDIR.TAG`.
pub fn root() -> PathBuf {
    let program = program();
    let marked = program.ancestors().skip(1).find(|folder| folder.join("CACHEDIR.TAG").is_file());
    match marked.map(Path::to_path_buf).or_else(|| env::var_os("CARGO_TARGET_DIR").map(PathBuf::from)) {
        Some(root) => root,
        None => panic!("{} does not lie in a cargo build directory; set CARGO_TARGET_DIR", program.display()),
    }
}

/// Returns the folder of the profile in use, where cargo stores programs: `<root>/debug`, `<root>/release`, ….
pub fn profile() -> PathBuf {
    let program = program();
    let folder = program.parent().unwrap_or(Path::new("."));
    match folder.file_name() {
        Some(name) if name == "deps" || name == "examples" => folder.parent().unwrap_or(folder).to_path_buf(),
        _ => folder.to_path_buf(),
    }
}

/// Creates a folder of the build directory and returns it.
pub fn folder(name: &str) -> PathBuf {
    let folder = root().join(name);
    if let Err(cause) = fs::create_dir_all(&folder) {
        panic!("cannot create {}: {cause}", folder.display());
    }
    folder
}

/// Returns the folder for the homes and work directories of tests, which is below no temporary directory.
///
/// Codex refuses to have its home in a temporary directory, and its sandbox lets every command write there, so that a
/// test could not see what the sandbox refuses. It is a folder of the build directory where that is possible, and
/// otherwise one that `homes-elsewhere` in the build directory links to; `./test` removes that one.
pub fn homes() -> PathBuf {
    let temporary = [PathBuf::from("/tmp"), env::temp_dir()];
    let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cache")));
    let elsewhere: Vec<PathBuf> = [Some(PathBuf::from("/var/tmp")), cache].into_iter().flatten().collect();
    match homes_of(&root(), &temporary, &elsewhere) {
        Ok(homes) => homes,
        Err(cause) => panic!("cannot create a folder for the homes of tests: {cause}"),
    }
}

fn homes_of(root: &Path, temporary: &[PathBuf], elsewhere: &[PathBuf]) -> io::Result<PathBuf> {
    let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let is_temporary = |path: &Path| temporary.iter().any(|folder| real(path).starts_with(real(folder)));
    if !is_temporary(root) {
        let homes = root.join("test-homes");
        return fs::create_dir_all(&homes).map(|()| homes);
    }
    let link = root.join("homes-elsewhere");
    if let Ok(there) = fs::read_link(&link) {
        // What cleans old files away leaves the link.
        fs::create_dir_all(&there)?;
        return fs::canonicalize(there);
    }
    let Some(place) = elsewhere.iter().find(|folder| !is_temporary(folder)) else {
        let message = format!("{} is below a temporary directory; set CARGO_TARGET_DIR", root.display());
        return Err(io::Error::new(ErrorKind::NotFound, message));
    };
    fs::create_dir_all(place)?;
    let homes = tempfile::Builder::new().prefix("talaria-tests-").tempdir_in(real(place))?;
    match symlink(homes.path(), &link) {
        Ok(()) => Ok(homes.keep()),
        // Another test binary was faster.
        Err(cause) if cause.kind() == ErrorKind::AlreadyExists => fs::canonicalize(link),
        Err(cause) => Err(cause),
    }
}

fn program() -> PathBuf {
    match env::current_exe() {
        Ok(program) => program,
        Err(cause) => panic!("cannot find the path of the test program: {cause}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn homes_are_in_the_build_directory_or_outside_every_temporary_one() {
        let folder = tempfile::tempdir().unwrap();
        let folder = fs::canonicalize(folder.path()).unwrap();
        let (temporary, other, outside) = (folder.join("tmp"), folder.join("tmp2"), folder.join("outside"));
        let root = temporary.join("checkout/target");
        fs::create_dir_all(&root).unwrap();
        fs::create_dir_all(&other).unwrap();
        // A name of the temporary directory that is a link.
        let alias = folder.join("alias");
        symlink(&temporary, &alias).unwrap();

        assert_eq!(homes_of(&root, std::slice::from_ref(&other), &[]).unwrap(), root.join("test-homes"));
        let none_left = homes_of(&root, &[other.clone(), alias.clone()], std::slice::from_ref(&other));
        assert!(none_left.unwrap_err().to_string().contains("set CARGO_TARGET_DIR"));
        let temporary = [other.clone(), alias];
        let homes = homes_of(&root, &temporary, &[other, outside.clone()]).unwrap();
        assert_eq!(homes.parent(), Some(outside.as_path()));
        fs::write(homes.join("a file"), "").unwrap();
        // The next test binary uses the same one, also when it was cleaned away.
        assert_eq!(homes_of(&root, &temporary, std::slice::from_ref(&outside)).unwrap(), homes);
        fs::remove_dir_all(&homes).unwrap();
        assert_eq!(homes_of(&root, &temporary, std::slice::from_ref(&outside)).unwrap(), homes);
        assert_eq!(fs::read_dir(outside).unwrap().count(), 1);
    }
}
