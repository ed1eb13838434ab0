//! Ending every process: `kill` with the target -1, or a pattern that every name fits.

use super::Call;
use crate::shell::Word;

/// Would the call send a signal to every process there is?
pub(super) fn hits(call: &Call<'_>) -> bool {
    match call.name {
        "killall5" => call.arguments().iter().any(|word| word.start().starts_with("-9")),
        "kill" => kills_all(call),
        "pkill" => {
            !is_probe(call) && !narrows(call) && call.operands().iter().any(|word| fits_every_name(word))
        }
        "killall" => {
            let is_pattern = call.has_option("r", &["regexp"]);
            is_pattern && !is_probe(call) && call.operands().iter().any(|word| fits_every_name(word))
        }
        _ => false,
    }
}

/// Signal 0 only asks whether a process exists.
fn is_probe(call: &Call<'_>) -> bool {
    let is_zero = |word: &Word| ["-0", "--signal=0"].iter().any(|option| word.is(option));
    let is_apart = |pair: &[Word]| (pair[0].is("-s") || pair[0].is("--signal")) && pair[1].is("0");
    call.arguments().iter().any(is_zero) || call.arguments().windows(2).any(is_apart)
}

/// Options of `pkill` that choose a few: the newest, the children of one process, one terminal, one user.
fn narrows(call: &Call<'_>) -> bool {
    let long = [
        "newest", "oldest", "parent", "pgroup", "session", "terminal", "euid", "uid", "group", "pidfile",
        "ns",
    ];
    let is_signal = |word: &&Word| {
        let name = word.start().get(1..).unwrap_or_default();
        let is_number = name.bytes().all(|byte| byte.is_ascii_digit());
        is_number || name.len() > 1 && name.bytes().all(|byte| byte.is_ascii_uppercase())
    };
    call.arguments().iter().filter(|word| word.start().starts_with('-')).filter(|word| !is_signal(word)).any(
        |word| {
            let start = word.start();
            match start.strip_prefix("--") {
                Some(name) => {
                    name.len() > 2
                        && long
                            .iter()
                            .any(|long| long.starts_with(name.split('=').next().unwrap_or_default()))
                }
                None => start.contains(|c| "noPgstuUGF".contains(c)),
            }
        },
    )
}

/// Is it a pattern without a single letter to look for?
fn fits_every_name(word: &Word) -> bool {
    word.text().is_some_and(|text| text.chars().all(|c| "^$.*+?()|".contains(c)))
}

/// The first `-1` may be the signal; after a signal or `--` it is a target.
fn kills_all(call: &Call<'_>) -> bool {
    let texts: Vec<&str> = call.arguments().iter().map(|word| word.text().unwrap_or_default()).collect();
    let (signal, targets) = match texts.as_slice() {
        ["-s" | "-n" | "--signal", signal, targets @ ..] => (*signal, targets),
        ["--", targets @ ..] => ("TERM", targets),
        [option, targets @ ..] if option.starts_with("--signal=") => (&option["--signal=".len()..], targets),
        [option, targets @ ..] if option.starts_with('-') && option.len() > 1 => (&option[1..], targets),
        targets => ("TERM", targets),
    };
    signal != "0" && targets.contains(&"-1")
}
