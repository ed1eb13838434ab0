//! Formatting disks and writing over them.
//!
//! Owns what a disk is called under `/dev`, and the programs that write to one. A file with an image is not a disk.

use super::super::scene::{Scene, is_open};
use super::Call;
use crate::shell::{RedirectKind, Word};

/// How the names of disks begin, after `/dev/`.
const DISKS: &[&str] = &[
    "sd", "hd", "vd", "xvd", "nvme", "mmcblk", "md", "dm-", "mapper", "disk", "rdisk", "loop", "nbd", "ram",
    "zram", "sr", "dasd", "block", "bcache", "pmem", "vg", "ubi", "mtd",
];

/// Other devices that must not be written.
const MEMORY: &[&str] = &["mem", "kmem", "port"];

/// Does a redirect of the command write to a disk?
pub(super) fn is_redirected_to(scene: &Scene<'_>, index: usize) -> bool {
    scene.line.commands[index].redirects.iter().enumerate().any(|(at, to)| {
        matches!(to.kind, RedirectKind::Write | RedirectKind::ReadWrite)
            && scene.target_paths(index, at).iter().any(|path| is_disk(path))
    })
}

/// Would the call format a disk or write over it?
pub(super) fn hits(call: &Call<'_>) -> bool {
    let name = call.name;
    let formats = ["mke2fs", "mkdosfs", "mkntfs", "mkswap", "mkfs"].contains(&name)
        || name.starts_with("mkfs.")
        || name.starts_with("newfs");
    if formats {
        // An unknown name here is almost always a disk.
        let is_target = |word: &&Word| is_disk(&call.path(word)) || is_open(&call.path(word));
        return call.operands().iter().any(is_target);
    }
    if name == "diskutil" {
        let verb = call.arguments().first().and_then(Word::text).unwrap_or_default().to_ascii_lowercase();
        let destroys = ["erase", "reformat", "partitiondisk", "zerodisk", "randomdisk", "secureerase"];
        return destroys.iter().any(|known| verb.starts_with(known));
    }
    if matches!(name, "dd" | "gdd" | "dcfldd" | "dc3dd") {
        return call.arguments().iter().any(|word| {
            let key = ["of=", "ofs=", "hof="].into_iter().find(|key| word.start().starts_with(key));
            key.is_some_and(|key| is_disk(&call.path(&word.without_start(key.len()))))
        });
    }
    call.arguments().iter().any(|word| is_disk(&call.path(word))) && writes(call)
}

/// Does a call that names a disk write to it?
fn writes(call: &Call<'_>) -> bool {
    let has = |verbs: &[&str]| call.arguments().iter().any(|word| verbs.iter().any(|verb| word.is(verb)));
    match call.name {
        "wipefs" => call.has_option("ao", &["all", "offset"]) && !call.has_option("n", &["no-act"]),
        "shred" | "blkdiscard" | "tee" | "sponge" | "truncate" | "ddrescue" | "pvcreate" => true,
        "sfdisk" => !call.has_option("ldJ", &["list", "dump", "json"]),
        "sgdisk" => call.has_option("Zozdn", &["zap-all", "zap", "clear", "delete", "new"]),
        "parted" => has(&["mklabel", "mktable", "mkpart", "rm", "resizepart"]),
        "badblocks" => call.has_option("wn", &[]),
        "hdparm" => call.arguments().iter().any(|word| word.start().starts_with("--security-erase")),
        "nvme" => has(&["format", "sanitize", "write-zeroes"]),
        "cryptsetup" => has(&["luksFormat", "erase", "luksErase", "reencrypt"]),
        "mdadm" => call.has_option("C", &["create", "zero-superblock"]),
        "cp" | "mv" | "install" => {
            let operands = call.operands();
            operands.len() > 1 && operands.last().is_some_and(|word| is_disk(&call.path(word)))
        }
        _ => false,
    }
}

/// Is it the path of a disk, or of something below `/dev` that is unknown before it runs?
fn is_disk(path: &str) -> bool {
    path.strip_prefix("/dev/").is_some_and(|name| {
        DISKS.iter().any(|disk| name.starts_with(disk))
            || MEMORY.contains(&name)
            || name.starts_with(['*', '?'])
            || is_open(name) && !name.contains('/')
    })
}
