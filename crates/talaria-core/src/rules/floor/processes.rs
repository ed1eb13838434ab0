//! Ending every process: `kill` with the target -1.

use super::Call;

/// Would the call send a signal to every process there is?
pub(super) fn hits(call: &Call<'_>) -> bool {
    match call.name {
        "killall5" => call.arguments().iter().any(|word| word.start().starts_with("-9")),
        "kill" => kills_all(call),
        _ => false,
    }
}

/// The first `-1` may be the signal; behind a signal or `--` it is a target.
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
