//! Where the cargo build directory is, found from the running test program and not from its working directory.
//!
//! Everything that tests leave behind lies in it: `cargo clean` removes it all, and none of it is under the temporary
//! directory, where Codex refuses to have its home.

use std::env;
use std::path::{Path, PathBuf};

/// Gives the root of the build directory: the folder that cargo marks with `CACHEDIR.TAG`.
pub fn root() -> PathBuf {
    let program = program();
    let marked = program.ancestors().skip(1).find(|folder| folder.join("CACHEDIR.TAG").is_file());
    match marked.map(Path::to_path_buf).or_else(|| env::var_os("CARGO_TARGET_DIR").map(PathBuf::from)) {
        Some(root) => root,
        None => panic!("{} does not lie in a cargo build directory; set CARGO_TARGET_DIR", program.display()),
    }
}

/// Gives the folder of the profile in use, where cargo puts programs: `<root>/debug`, `<root>/release`, ….
pub fn profile() -> PathBuf {
    let program = program();
    let folder = program.parent().unwrap_or(Path::new("."));
    match folder.file_name() {
        Some(name) if name == "deps" || name == "examples" => folder.parent().unwrap_or(folder).to_path_buf(),
        _ => folder.to_path_buf(),
    }
}

/// Makes and gives a folder of the build directory.
pub fn folder(name: &str) -> PathBuf {
    let folder = root().join(name);
    if let Err(cause) = std::fs::create_dir_all(&folder) {
        panic!("cannot create {}: {cause}", folder.display());
    }
    folder
}

fn program() -> PathBuf {
    match env::current_exe() {
        Ok(program) => program,
        Err(cause) => panic!("cannot tell where the test program lies: {cause}"),
    }
}
