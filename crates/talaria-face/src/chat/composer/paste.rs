//! What a paste becomes: text, one unit if it is long, perhaps an image. Only bracketed paste gets here.

use super::fragment::Fragment;

/// A paste of more lines is shown as one unit.
const LINES: usize = 10;
/// A paste of more characters, too.
const CHARACTERS: usize = 1_000;
/// The formats that Codex takes.
const IMAGES: &[&str] = &[".png", ".jpg", ".jpeg", ".gif", ".webp"];
const LONGEST_PATH: usize = 4_096;

/// Gives ends of lines one form: terminals send `\r` for them in a paste.
pub(crate) fn with_line_ends(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

/// Makes a fragment of a paste.
pub(crate) fn fragment(text: String) -> Fragment {
    let is_long = text.split('\n').count() > LINES || text.chars().nth(CHARACTERS).is_some();
    if is_long { Fragment::pasted(text) } else { Fragment::plain(text) }
}

/// Gives the path if this is what a terminal pastes for an image file that was dropped on it: as it is, in quotes, with
/// backslashes, or as an address.
pub(crate) fn image_path(text: &str) -> Option<String> {
    let text = text.trim();
    if text.is_empty() || text.len() > LONGEST_PATH || text.contains('\n') {
        return None;
    }
    let path = match text.strip_prefix("file://") {
        Some(address) => decoded(address)?,
        None => unquoted(text),
    };
    let is_image = IMAGES.iter().any(|end| path.to_ascii_lowercase().ends_with(end));
    let is_path = path.starts_with(['/', '.', '~']) || !path.contains("://");
    (is_image && is_path).then_some(path)
}

fn unquoted(text: &str) -> String {
    match crate::chat::commands::split(text) {
        Some(words) if words.len() == 1 => words.concat(),
        // A path with spaces that nobody quoted.
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
        let cases = [
            ("/tmp/shot.png", Some("/tmp/shot.png")),
            ("'/tmp/my shot.PNG' ", Some("/tmp/my shot.PNG")),
            ("/tmp/my\\ shot.jpeg", Some("/tmp/my shot.jpeg")),
            ("/tmp/my shot.webp\n", Some("/tmp/my shot.webp")),
            ("file:///tmp/my%20sh%C3%B6t.gif", Some("/tmp/my shöt.gif")),
            ("file:///tmp/%zz.gif", None),
            ("https://example.com/x.png", None),
            ("/tmp/notes.txt", None),
            ("/tmp/a.png\n/tmp/b.png", None),
            ("", None),
        ];
        for (pasted, path) in cases {
            assert_eq!(image_path(pasted).as_deref(), path, "{pasted}");
        }
    }
}
