//! Which directories must never be removed as a whole.
//!
//! Owns the lists, and the comparison of a path that may contain patterns with them. Called by the entries of the
//! floor.

use super::super::scene::is_open;

/// Directories whose loss ends the system, or a large part of the user's work.
const VITAL: &[&str] = &[
    "bin",
    "boot",
    "dev",
    "etc",
    "home",
    "lib",
    "lib32",
    "lib64",
    "libx32",
    "media",
    "mnt",
    "nix",
    "opt",
    "proc",
    "root",
    "run",
    "sbin",
    "snap",
    "srv",
    "sys",
    "usr",
    "var",
    "usr/bin",
    "usr/lib",
    "usr/lib64",
    "usr/sbin",
    "usr/share",
    "var/lib",
    "Applications",
    "Library",
    "System",
    "Users",
    "Volumes",
    "cores",
    "private",
    "private/etc",
    "private/var",
    "System/Library",
    "Library/Keychains",
];

/// Directories whose permissions the system depends on.
const RULED: &[&str] = &[
    "bin",
    "boot",
    "dev",
    "etc",
    "lib",
    "lib32",
    "lib64",
    "libx32",
    "proc",
    "sbin",
    "sys",
    "usr",
    "var",
    "usr/bin",
    "usr/lib",
    "usr/lib64",
    "usr/sbin",
    "Library",
    "System",
    "private",
    "private/etc",
    "private/var",
];

/// Is it the root, a home, or a directory of the system, itself or everything in it?
pub(super) fn is_vital(path: &str) -> bool {
    let Some(parts) = whole(path) else { return false };
    match parts.as_slice() {
        ["/"] | ["~"] => true,
        ["/", "home" | "Users" | "var/home", _] => true,
        ["/", rest @ ..] => matches_one(rest, VITAL),
        _ => false,
    }
}

/// Is it the root or a directory whose permissions the system depends on, itself or everything in it?
pub(super) fn is_ruled(path: &str) -> bool {
    match whole(path).as_deref() {
        Some(["/"]) => true,
        Some(["/", rest @ ..]) => matches_one(rest, RULED),
        _ => false,
    }
}

/// The parts of a path, `/` or `~` first, without a last part that matches all names.
fn whole(path: &str) -> Option<Vec<&str>> {
    if is_open(path) {
        return None;
    }
    let mut parts: Vec<&str> = match path.strip_prefix('/') {
        Some(rest) => std::iter::once("/").chain(rest.split('/').filter(|part| !part.is_empty())).collect(),
        None => path.split('/').collect(),
    };
    let is_everything = |part: &&&str| part.contains('*') && part.chars().all(|c| "*?.".contains(c));
    if parts.last().filter(is_everything).is_some() {
        parts.pop();
    }
    Some(parts)
}

fn matches_one(parts: &[&str], list: &[&str]) -> bool {
    list.iter().any(|known| {
        let known: Vec<&str> = known.split('/').collect();
        known.len() == parts.len() && parts.iter().zip(known).all(|(pattern, name)| fits(pattern, name))
    })
}

/// Does a file name fit a pattern of `*` and `?`?
pub(super) fn fits(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut at, mut star, mut resume, mut next) = (0, None, 0, 0);
    while next < name.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some(at);
                resume = next;
                at += 1;
            }
            Some(c) if *c == '?' || *c == name[next] => {
                at += 1;
                next += 1;
            }
            _ => match star {
                Some(star) => {
                    resume += 1;
                    next = resume;
                    at = star + 1;
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|c| *c == '*')
}
