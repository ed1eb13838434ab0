//! Conversion of a paste: text, one unit if it is long, perhaps an image. Only bracketed paste gets here.

use super::fragment::Fragment;
use crate::chat::commands::{split, split_spelled};

/// A paste of more lines is shown as one unit.
const LINES: usize = 10;
/// A paste of more characters, too.
const CHARACTERS: usize = 1_000;
/// The formats that Codex takes.
const IMAGES: &[&str] = &[".png", ".jpg", ".jpeg", ".gif", ".webp"];
const LONGEST_PATH: usize = 4_096;
/// More are not dropped at once by intent.
const MOST_IMAGES: usize = 16;

/// Normalizes line endings: terminals send `\r` for them in a paste.
pub(crate) fn with_line_ends(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

/// Makes a fragment of a paste.
pub(crate) fn fragment(text: String) -> Fragment {
    let is_long = text.split('\n').count() > LINES || text.chars().nth(CHARACTERS).is_some();
    if is_long { Fragment::pasted(text) } else { Fragment::plain(text) }
}

/// Returns the paths, each as it was spelled, if this is what a terminal pastes for image files that were dropped on it:
/// as they are, in quotes, with backslashes, or as addresses.
pub(crate) fn images(text: &str) -> Vec<(String, String)> {
    let text = text.trim();
    if text.len() > LONGEST_PATH * MOST_IMAGES {
        return Vec::new();
    }
    let words = split_spelled(text).unwrap_or_default();
    let image = |spelled: &str| Some((image_path(spelled)?, spelled.to_owned()));
    let all: Vec<_> = words.iter().filter_map(|(_, spelled)| image(spelled)).collect();
    if words.len() > 1 && all.len() == words.len() && all.len() <= MOST_IMAGES {
        return all;
    }
    image(text).into_iter().collect()
}

fn image_path(text: &str) -> Option<String> {
    if text.is_empty() || text.len() > LONGEST_PATH || text.contains('\n') {
        return None;
    }
    let path = match text.strip_prefix("file://") {
        Some(address) => decoded(address)?,
        None => unquoted(text),
    };
    (is_image(&path) && !path.contains("://")).then_some(path)
}

/// Has the file the name of an image that Codex takes?
pub(crate) fn is_image(path: &str) -> bool {
    IMAGES.iter().any(|end| path.to_ascii_lowercase().ends_with(end))
}

fn unquoted(text: &str) -> String {
    match split(text) {
        Some(words) if words.len() == 1 => words.concat(),
        // A path with spaces that no one quoted.
        _ => text.to_owned(),
    }
}

fn decoded(address: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(address.len());
    let mut rest = address.strip_prefix("localhost").unwrap_or(address).bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => hex(rest.next()?)? * 16 + hex(rest.next()?)?,
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_images_are_recognised_in_every_spelling() {
        let cases: [(&str, &[&str]); 12] = [
            ("/tmp/shot.png", &["/tmp/shot.png"]),
            ("'/tmp/my shot.PNG' ", &["/tmp/my shot.PNG"]),
            ("/tmp/my\\ shot.jpeg", &["/tmp/my shot.jpeg"]),
            ("/tmp/my shot.webp\n", &["/tmp/my shot.webp"]),
            ("file:///tmp/my%20sh%C3%B6t.gif", &["/tmp/my shöt.gif"]),
            ("/tmp/a.png '/tmp/b c.png'", &["/tmp/a.png", "/tmp/b c.png"]),
            ("/tmp/a.png\n/tmp/b.png", &["/tmp/a.png", "/tmp/b.png"]),
            ("file:///tmp/%zz.gif", &[]),
            ("https://example.com/x.png", &[]),
            ("/tmp/notes.txt", &[]),
            ("compare\n/tmp/a.png", &[]),
            ("", &[]),
        ];
        for (pasted, paths) in cases {
            let found: Vec<_> = images(pasted).into_iter().map(|(path, _)| path).collect();
            assert_eq!(found, paths, "{pasted}");
        }
    }
}
