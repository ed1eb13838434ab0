//! Words of a person that would fill the context of the model: they become a file, which the model can read and search, and their
//! beginning and end stay in the conversation. Nothing is lost, and the person reads it.

use std::path::{Path, PathBuf};

use talaria_agent::history::LogPart;
use talaria_tools::files::{ContentDigest, keep_long_text};

/// The limit where the context is not known, in bytes.
const USUAL: u64 = 256 * 1024;
/// No context makes a shorter text too long, and none makes a longer one fit.
const RANGE: (u64, u64) = (64 * 1024, 1024 * 1024);
/// How much of the beginning and of the end stays, in bytes.
const BEGINNING: usize = 8 * 1024;
const END: usize = 4 * 1024;

/// Would this text take more than a quarter of the context? Four bytes are about a token.
pub(super) fn is_too_long(part: &LogPart, window: Option<u64>) -> bool {
    let limit = window.unwrap_or(USUAL).clamp(RANGE.0, RANGE.1);
    matches!(part, LogPart::Text { text } if text.len() as u64 > limit)
}

/// A text with its middle in a file, and what the person reads about it. Blocks.
pub(super) fn shorten(text: &str, directory: &Path) -> Result<(LogPart, String), String> {
    let digest = ContentDigest::of(text.as_bytes()).shown().to_owned();
    let size = format!("{:.1} MB", text.len() as f64 / 1e6);
    let path: PathBuf = keep_long_text(directory, &format!("said-{digest}.txt"), text).map_err(|error| {
        format!("the text of {size} is too long for the model, and no file was made of it: {error}")
    })?;
    let (path, left_out) = (path.display(), text.len().saturating_sub(BEGINNING + END));
    let beginning = &text[..text.floor_char_boundary(BEGINNING)];
    let end = &text[text.ceil_char_boundary(text.len().saturating_sub(END))..];
    let part = LogPart::text(format!(
        "{beginning}\n\n[Talaria: {left_out} bytes of this message are left out here. All of it is in {path}: read or search that \
         file before you answer.]\n\n{end}"
    ));
    let said = format!(
        "your text has {size}, too much for the model's context: it has its beginning and end, and can read all of it in {path}"
    );
    Ok((part, said))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paste_of_ten_megabytes_is_a_file_and_its_beginning_and_end_stay() {
        let home = tempfile::tempdir().unwrap();
        let text = format!("FIRST {}LAST", "ä line of a log\n".repeat(600_000));
        assert!(text.len() > 10_000_000 && is_too_long(&LogPart::text(text.clone()), Some(200_000)));
        let (part, said) = shorten(&text, &home.path().join("s")).unwrap();
        let LogPart::Text { text: left } = &part else { panic!("{part:?}") };
        assert!(
            left.starts_with("FIRST ") && left.ends_with("LAST") && left.len() < 13_000,
            "{}",
            left.len()
        );
        assert!(!is_too_long(&part, Some(1)));
        let path = said.rsplit(' ').next().unwrap();
        assert!(left.contains(path), "{said}");
        assert_eq!(std::fs::read_to_string(path).unwrap(), text, "nothing is lost");
        assert_eq!(
            shorten(&text, &home.path().join("s")).unwrap(),
            (part, said),
            "an engine that repeats it"
        );
    }

    #[test]
    fn what_is_too_long_depends_on_the_context_within_bounds() {
        let long = |size: usize, window| is_too_long(&LogPart::text("x".repeat(size)), window);
        assert!(!long(64 * 1024, Some(4_096)) && long(64 * 1024 + 1, Some(4_096)));
        assert!(!long(200_000, Some(200_000)) && long(200_001, Some(200_000)));
        assert!(!long(256 * 1024, None) && long(1_048_577, Some(2_000_000)));
    }
}
