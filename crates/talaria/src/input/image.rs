//! Type of an image file, by its first bytes: Codex replaces an unreadable image by a remark to the model alone.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The largest file that is sent. Codex scales images down, but reads them whole.
const LARGEST: u64 = 20 * 1024 * 1024;

/// Says why a file is no image that Codex can send; `Ok` if it is one.
pub(super) fn check(path: &Path) -> Result<(), String> {
    let mut file = File::open(path).map_err(|error| error.to_string())?;
    let size = file.metadata().map_err(|error| error.to_string())?.len();
    let mut head = [0; 12];
    let mut read = 0;
    while read < head.len() {
        match file.read(&mut head[read..]).map_err(|error| error.to_string())? {
            0 => break,
            more => read += more,
        }
    }
    if !is_image(&head[..read]) {
        return Err("it is not a PNG, JPEG, GIF or WebP image".to_owned());
    }
    if size > LARGEST {
        return Err(format!("it has {size} bytes, and at most {LARGEST} are sent"));
    }
    Ok(())
}

fn is_image(head: &[u8]) -> bool {
    head.starts_with(b"\x89PNG\r\n\x1a\n")
        || head.starts_with(b"\xff\xd8\xff")
        || head.starts_with(b"GIF87a")
        || head.starts_with(b"GIF89a")
        || (head.starts_with(b"RIFF") && head.get(8..12) == Some(b"WEBP"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_known_by_its_first_bytes() {
        for image in
            [&b"\x89PNG\r\n\x1a\n...."[..], b"\xff\xd8\xff\xe0", b"GIF89a", b"RIFF\x01\x02\x03\x04WEBP"]
        {
            assert!(is_image(image), "{image:?}");
        }
        for other in [&b""[..], b"hello", b"RIFF\x01\x02\x03\x04WAVE", b"%PDF-1.7", b"<svg"] {
            assert!(!is_image(other), "{other:?}");
        }
    }
}
