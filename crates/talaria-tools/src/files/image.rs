//! Looks at an image before a model gets it: what it is, by its first bytes and not by its name, and whether it may be sent.

use std::fs::File;
use std::io::{self, Read};

use super::digest::ContentDigest;
use super::path::{FileKind, ResolvedPath};

/// The largest image that every provider accepts.
const MOST_BYTES: u64 = 5 * 1024 * 1024;
/// The longest side that every provider accepts.
const LONGEST_SIDE: u32 = 8_000;

/// An image that can be sent to a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewedImage {
    /// Its type, such as `image/png`.
    pub media_type: &'static str,
    /// Its width in pixels.
    pub width: u32,
    /// Its height in pixels.
    pub height: u32,
    /// The digest of its bytes.
    pub digest: ContentDigest,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// Why an image is not sent, for the model.
#[derive(Debug, thiserror::Error)]
pub enum ImageRefusal {
    /// There is no such file.
    #[error("there is no file {0}")]
    Missing(String),
    /// It is no image that models see.
    #[error("{0} is not a PNG, JPEG, GIF or WebP image")]
    NotAnImage(String),
    /// It is too large.
    #[error("{path} has {bytes} bytes, more than {MOST_BYTES}; make it smaller first")]
    TooManyBytes {
        /// The file.
        path: String,
        /// Its length.
        bytes: u64,
    },
    /// It has too many pixels.
    #[error(
        "{path} is {width} x {height} pixels; at most {LONGEST_SIDE} a side are possible, make it smaller first"
    )]
    TooManyPixels {
        /// The file.
        path: String,
        /// Its width.
        width: u32,
        /// Its height.
        height: u32,
    },
    /// It cannot be read.
    #[error("cannot read {path}: {source}")]
    Unreadable {
        /// The file.
        path: String,
        /// Why.
        source: io::Error,
    },
}

/// Reads an image and checks it.
pub fn view_image(path: &ResolvedPath) -> Result<ViewedImage, ImageRefusal> {
    let shown = path.named.display().to_string();
    if path.kind == FileKind::Missing {
        return Err(ImageRefusal::Missing(shown));
    }
    let failed = |source| ImageRefusal::Unreadable { path: shown.clone(), source };
    let file = File::open(&path.real).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    let media_type = image_type(&bytes).ok_or_else(|| ImageRefusal::NotAnImage(shown.clone()))?;
    let length = length.max(bytes.len() as u64);
    if length > MOST_BYTES {
        return Err(ImageRefusal::TooManyBytes { path: shown, bytes: length });
    }
    let (width, height) = size(media_type, &bytes).ok_or(ImageRefusal::NotAnImage(shown.clone()))?;
    if width.max(height) > LONGEST_SIDE {
        return Err(ImageRefusal::TooManyPixels { path: shown, width, height });
    }
    Ok(ViewedImage { media_type, width, height, digest: ContentDigest::of(&bytes), bytes })
}

/// The type of an image, by its first bytes.
pub(super) fn image_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// Width and height, from the header.
fn size(media_type: &str, bytes: &[u8]) -> Option<(u32, u32)> {
    let little = |at: usize| Some(u32::from(u16::from_le_bytes([*bytes.get(at)?, *bytes.get(at + 1)?])));
    let long = |at: usize| Some(u32::from_be_bytes(*bytes.get(at..at + 4)?.first_chunk()?));
    match media_type {
        "image/png" => Some((long(16)?, long(20)?)),
        "image/gif" => Some((little(6)?, little(8)?)),
        "image/jpeg" => jpeg_size(bytes),
        _ => webp_size(bytes),
    }
}

/// Walks over the segments of a JPEG to the one that begins the picture.
fn jpeg_size(bytes: &[u8]) -> Option<(u32, u32)> {
    let short = |at: usize| Some(u32::from(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?])));
    let mut at = 2;
    loop {
        let (0xff, marker) = (*bytes.get(at)?, *bytes.get(at + 1)?) else { return None };
        match marker {
            0xff => at += 1,
            0x01 | 0xd0..=0xd9 => at += 2,
            // All of these begin a picture but those for tables and arithmetic coding.
            0xc0..=0xcf if !matches!(marker, 0xc4 | 0xc8 | 0xcc) => {
                return Some((short(at + 7)?, short(at + 5)?));
            }
            _ => at += 2 + usize::try_from(short(at + 2)?).ok()?,
        }
    }
}

/// A WebP has one of three first chunks, each with a size of its own kind.
fn webp_size(bytes: &[u8]) -> Option<(u32, u32)> {
    let byte = |at: usize| bytes.get(at).map(|byte| u32::from(*byte));
    let three = |at: usize| Some(byte(at)? | byte(at + 1)? << 8 | byte(at + 2)? << 16);
    match bytes.get(12..16)? {
        b"VP8X" => Some((three(24)? + 1, three(27)? + 1)),
        b"VP8L" => {
            let bits = three(21)? | byte(24)? << 24;
            Some(((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1))
        }
        b"VP8 " => Some((three(26)? & 0x3fff, three(28)? & 0x3fff)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(bytes: &[u8]) -> Result<(&'static str, u32, u32), String> {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().join("i");
        std::fs::write(&real, bytes).unwrap();
        let path = ResolvedPath { named: "i".into(), real, kind: FileKind::Regular };
        let viewed = view_image(&path).map_err(|refusal| refusal.to_string())?;
        assert_eq!(viewed.bytes, bytes);
        Ok((viewed.media_type, viewed.width, viewed.height))
    }

    fn png(width: u32, height: u32) -> Vec<u8> {
        let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        bytes.extend(width.to_be_bytes());
        bytes.extend(height.to_be_bytes());
        bytes
    }

    #[test]
    fn type_and_size_are_read_from_the_bytes() {
        assert_eq!(view(&png(640, 480)), Ok(("image/png", 640, 480)));
        assert_eq!(view(b"GIF89a\x0a\x00\x05\x00"), Ok(("image/gif", 10, 5)));
        let jpeg = b"\xff\xd8\xff\xe0\x00\x04ab\xff\xc2\x00\x11\x08\x00\x20\x00\x40\x03";
        assert_eq!(view(jpeg), Ok(("image/jpeg", 64, 32)));
        let extended = b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x09\0\0\x04\0\0";
        assert_eq!(view(extended), Ok(("image/webp", 10, 5)));
        let lossless = b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f\x09\x00\x01\x00";
        assert_eq!(view(lossless), Ok(("image/webp", 10, 5)));
    }

    #[test]
    fn what_cannot_be_sent_is_refused_with_the_reason() {
        assert_eq!(view(b"hello"), Err("i is not a PNG, JPEG, GIF or WebP image".to_owned()));
        assert_eq!(view(b"\xff\xd8\xff"), Err("i is not a PNG, JPEG, GIF or WebP image".to_owned()), "cut");
        let wide = view(&png(9_000, 10)).unwrap_err();
        assert!(wide.starts_with("i is 9000 x 10 pixels; at most 8000 a side"), "{wide}");
        let mut large = png(10, 10);
        large.resize(5 * 1024 * 1024 + 1, 0);
        assert_eq!(
            view(&large),
            Err("i has 5242881 bytes, more than 5242880; make it smaller first".to_owned())
        );
    }
}
