//! The table of programs that start another one after their options and operands.
//!
//! Data alone: which letters and long options take a value, how many operands come first, and whether the program changes
//! what the other one may do. Read by `wrappers`.

use super::CommandRole;
use super::options::Options;

/// A program whose options come first, then some operands, then the other program.
pub(super) struct Spec {
    pub(super) names: &'static [&'static str],
    pub(super) role: CommandRole,
    pub(super) options: Options,
    pub(super) operands: usize,
}

const NONE: &[&str] = &[];

const fn carrier(
    names: &'static [&'static str],
    flags: &'static str,
    values: &'static str,
    long_flags: &'static [&'static str],
    long_values: &'static [&'static str],
    operands: usize,
) -> Spec {
    Spec {
        names,
        role: CommandRole::Carrier,
        options: Options { flags, values, long_flags, long_values },
        operands,
    }
}

const fn wrapper(
    names: &'static [&'static str],
    values: &'static str,
    long_values: &'static [&'static str],
    operands: usize,
) -> Spec {
    let options = Options { flags: "", values, long_flags: NONE, long_values };
    Spec { names, role: CommandRole::Wrapper, options, operands }
}

pub(super) const SPECS: &[Spec] = &[
    carrier(&["nohup", "gnohup", "builtin", "noglob", "nocorrect"], "", "", NONE, NONE, 0),
    carrier(&["command"], "p", "", NONE, NONE, 0),
    carrier(&["exec"], "cl", "a", NONE, NONE, 0),
    carrier(&["setsid"], "cfw", "", &["ctty", "fork", "wait"], NONE, 0),
    carrier(&["nice", "gnice"], "0123456789", "n", NONE, &["adjustment"], 0),
    carrier(&["ionice"], "t", "cn", &["ignore"], &["class", "classdata"], 0),
    carrier(&["time", "gtime"], "pvl", "f", &["portability", "verbose"], &["format"], 0),
    carrier(
        &["timeout", "gtimeout"],
        "fpv",
        "sk",
        &["preserve-status", "foreground", "verbose"],
        &["signal", "kill-after"],
        1,
    ),
    carrier(&["stdbuf", "gstdbuf"], "", "ioe", NONE, &["input", "output", "error"], 0),
    carrier(&["taskset"], "ac", "", &["all-tasks", "cpu-list"], NONE, 1),
    carrier(&["chrt"], "abdfimoRv", "TPD", NONE, NONE, 1),
    carrier(&["caffeinate"], "disum", "tw", NONE, NONE, 0),
    carrier(&["repeat"], "", "", NONE, NONE, 1),
    wrapper(
        &["sudo"],
        "ugChpDRrTtU",
        &[
            "user",
            "group",
            "close-from",
            "host",
            "prompt",
            "chdir",
            "chroot",
            "role",
            "command-timeout",
            "type",
            "other-user",
        ],
        0,
    ),
    wrapper(&["doas"], "uC", NONE, 0),
    wrapper(&["pkexec"], "", &["user"], 0),
    wrapper(&["gosu", "su-exec"], "", NONE, 1),
    wrapper(&["chroot"], "", &["userspec", "groups"], 1),
    wrapper(&["nsenter"], "tSGW", &["target", "setuid", "setgid", "wdns"], 0),
    wrapper(
        &["unshare"],
        "SGRw",
        &[
            "setuid",
            "setgid",
            "root",
            "wd",
            "map-user",
            "map-group",
            "map-users",
            "map-groups",
            "propagation",
            "setgroups",
            "monotonic",
            "boottime",
        ],
        0,
    ),
    wrapper(
        &["setpriv"],
        "",
        &[
            "reuid",
            "regid",
            "ruid",
            "euid",
            "rgid",
            "egid",
            "groups",
            "inh-caps",
            "ambient-caps",
            "bounding-set",
        ],
        0,
    ),
    wrapper(&["fakeroot"], "lsib", &["lib", "faked"], 0),
    wrapper(&["strace", "ltrace"], "aeEIoOpPsSuX", NONE, 0),
    wrapper(
        &["systemd-run"],
        "EHMptu",
        &[
            "property",
            "setenv",
            "unit",
            "machine",
            "host",
            "uid",
            "gid",
            "slice",
            "description",
            "working-directory",
        ],
        0,
    ),
    wrapper(&["unbuffer", "torsocks", "xvfb-run", "dbus-run-session"], "", NONE, 0),
    wrapper(&["prlimit"], "po", &["pid", "output"], 0),
    wrapper(&["choom"], "np", &["adjust", "pid"], 0),
    wrapper(&["uclampset"], "mMp", &["pid"], 0),
    wrapper(&["coresched"], "dstp", &["dest", "source", "dest-type"], 0),
    wrapper(
        &["numactl"],
        "imcNCpPM",
        &["interleave", "membind", "cpunodebind", "physcpubind", "preferred", "localalloc"],
        0,
    ),
    wrapper(&["cgexec"], "g", NONE, 0),
    wrapper(&["systemd-inhibit"], "", &["what", "who", "why", "mode"], 0),
    wrapper(&["systemd-cat"], "tp", &["identifier", "priority", "stderr-priority", "level-prefix"], 0),
    wrapper(&["run0"], "uMDpE", &["user", "machine", "chdir", "property", "setenv", "unit", "slice"], 0),
    wrapper(&["faketime", "datefudge"], "fpm", NONE, 1),
    wrapper(&["eatmydata", "catchsegv", "ccache", "sccache", "distcc", "icecc"], "", NONE, 0),
    wrapper(&["rlwrap"], "abcCDfgHlmMnOpPqsStwzW", NONE, 0),
    wrapper(&["tsocks", "proxychains", "proxychains4", "proxychains-ng", "torify"], "f", NONE, 0),
    wrapper(&["dumb-init", "tini", "catatonit", "s6-setsid", "s6-nice"], "pesr", NONE, 0),
    wrapper(&["runcon"], "tulr", &["type", "user", "range", "role"], 1),
    wrapper(&["chpst", "setuidgid", "softlimit", "envdir", "envuidgid", "setlock"], "uUbeEmdocfrtP", NONE, 1),
    wrapper(&["daemonize"], "acoepul", NONE, 0),
    wrapper(&["valgrind"], "", &["tool"], 0),
    wrapper(&["gprofng", "heaptrack"], "", NONE, 0),
    wrapper(&["firejail", "proot", "fakechroot"], "rbwq", NONE, 0),
    wrapper(&["ssh-agent"], "aEPt", NONE, 0),
    wrapper(&["entr"], "", NONE, 0),
    wrapper(&["npx", "bunx", "pnpx", "uvx", "pipx"], "pc", &["package", "call", "from", "with"], 0),
    wrapper(&["chronic", "ifne", "mispipe"], "", NONE, 0),
];
