//! Where the engine of a home listens: one rule for both sides.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The longest socket path that every supported system takes (104 on macOS, 108 on Linux, with the final zero).
const LIMIT: usize = 103;

/// Returns the socket of the engine of `home`: inside it, or below `/tmp` where that path would be too long.
///
/// The runtime directory of the environment is not used: a command that is run by cron or over ssh has another one than
/// the session that started the engine, and would not find it.
pub fn socket_path(home: &Path) -> PathBuf {
    let home = std::path::absolute(home).unwrap_or_else(|_| home.to_owned());
    let inside = home.join("run").join("engine.sock");
    if inside.as_os_str().len() <= LIMIT {
        return inside;
    }
    let own = rustix::process::getuid().as_raw();
    let digest = digest(home.as_os_str().as_bytes());
    PathBuf::from(format!("/tmp/talaria-{own}-{digest:032x}/engine.sock"))
}

/// FNV-1a with 128 bits. It only distinguishes the homes of one user; that the directory is ours is checked when it is
/// used. The hasher of the standard library may change between builds, and two builds must find each other.
fn digest(bytes: &[u8]) -> u128 {
    const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    bytes.iter().fold(OFFSET, |hash, byte| (hash ^ u128::from(*byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ordinary_home_has_its_socket_inside() {
        assert_eq!(socket_path(Path::new("/home/a/.talaria")), Path::new("/home/a/.talaria/run/engine.sock"));
    }

    #[test]
    fn a_long_home_has_a_short_socket_of_its_own() {
        let long = |name: char| socket_path(&Path::new("/home").join(name.to_string().repeat(120)));
        assert!(long('a').as_os_str().len() <= LIMIT);
        assert_ne!(long('a'), long('b'));
        assert_eq!(long('a'), long('a'));
    }

    #[test]
    fn the_limit_itself_still_fits() {
        let base = "/run/engine.sock".len();
        let fits = Path::new("/").join("h".repeat(LIMIT - base - 1));
        assert_eq!(socket_path(&fits).as_os_str().len(), LIMIT);
        assert!(socket_path(&fits).starts_with(&fits));
        let longer = Path::new("/").join("h".repeat(LIMIT - base));
        assert!(socket_path(&longer).starts_with("/tmp"));
    }

    #[test]
    fn the_digest_is_the_published_one() {
        assert_eq!(digest(b""), 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);
        assert_eq!(digest(b"a"), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
    }
}
