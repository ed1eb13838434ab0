//! Reads a text file for a model: numbered lines from a range, the digest that an edit needs, and what is not shown.
//!
//! The first line says what it is and whether it is complete. A long line is cut and says so; a result ends at a line
//! that fits, with the offset of the next one. Invalid UTF-8 is shown as far as that is possible and cannot be edited.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use talaria_core::tool::LONGEST_RESULT;
use talaria_guard::shorten::shorten;

use super::digest::ContentDigest;
use super::image::image_type;
use super::path::{FileKind, ResolvedPath};

/// The longest file that is read.
const MOST_BYTES: u64 = 16 * 1024 * 1024;
/// How much of a file is looked at for bytes that no text has.
const LOOKED_AT: usize = 8 * 1024;
/// The longest line that is shown, in characters.
const LONGEST_LINE: usize = 2_000;
/// Space of a result for lines; the rest is for the first line and for masks of secrets.
const ROOM: usize = LONGEST_RESULT - 600;
/// How many lines are shown unless the model asks for another number.
const USUAL_LINES: usize = 500;

/// Which lines are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineRange {
    /// The first one, from 1.
    pub offset: usize,
    /// How many at most.
    pub limit: usize,
}

impl Default for LineRange {
    fn default() -> Self {
        Self { offset: 1, limit: USUAL_LINES }
    }
}

/// Why a file was not read, for the model.
#[derive(Debug, thiserror::Error)]
pub enum ReadRefusal {
    /// There is none.
    #[error("there is no file {0}")]
    Missing(String),
    /// It is a directory.
    #[error("{0} is a directory; search with mode \"files\" lists files")]
    Directory(String),
    /// It is an image.
    #[error("{0} is an image; use view_image")]
    Image(String),
    /// It is no text.
    #[error("{path} is binary ({bytes} bytes); use run with a program that reads it")]
    Binary {
        /// The file.
        path: String,
        /// Its length.
        bytes: u64,
    },
    /// It is too long.
    #[error("{path} has {bytes} bytes, more than {MOST_BYTES}; use search, or run with head, tail or sed")]
    TooLong {
        /// The file.
        path: String,
        /// Its length.
        bytes: u64,
    },
    /// It has fewer lines.
    #[error("{path} has {lines} lines; there is no line {offset}")]
    BeyondEnd {
        /// The file.
        path: String,
        /// How many lines it has.
        lines: usize,
        /// The wanted line.
        offset: usize,
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

/// Reads a range of lines. Returns the text for the model, and the digest of the whole file if it can be edited.
pub fn read_file(
    path: &ResolvedPath,
    range: LineRange,
) -> Result<(String, Option<ContentDigest>), ReadRefusal> {
    let shown = path.named.display().to_string();
    match path.kind {
        FileKind::Missing => return Err(ReadRefusal::Missing(shown)),
        FileKind::Directory => return Err(ReadRefusal::Directory(shown)),
        FileKind::Regular | FileKind::Special(_) => {}
    }
    let bytes = read_bounded(&path.real, &shown)?;
    if image_type(&bytes).is_some() {
        return Err(ReadRefusal::Image(shown));
    }
    let Some((text, encoding)) = decode(&bytes) else {
        return Err(ReadRefusal::Binary { path: shown, bytes: bytes.len() as u64 });
    };
    let digest = (encoding == Encoding::Utf8).then(|| ContentDigest::of(&bytes));
    let text = number_lines(&shown, &text, range, encoding, digest.as_ref())?;
    Ok((text, digest))
}

fn read_bounded(path: &Path, shown: &str) -> Result<Vec<u8>, ReadRefusal> {
    let failed = |source| ReadRefusal::Unreadable { path: shown.to_owned(), source };
    let file = File::open(path).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    let mut bytes = Vec::new();
    if length <= MOST_BYTES {
        file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    }
    let length = length.max(bytes.len() as u64);
    match length > MOST_BYTES {
        true => Err(ReadRefusal::TooLong { path: shown.to_owned(), bytes: length }),
        false => Ok(bytes),
    }
}

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Utf8,
    /// Bytes that are no UTF-8 are shown as a replacement character.
    Broken,
    Utf16,
}

impl Encoding {
    fn note(self) -> &'static str {
        match self {
            Self::Utf8 => "",
            Self::Broken => " Not UTF-8: some bytes are shown as \u{fffd}, and edit and write refuse it.",
            Self::Utf16 => " UTF-16: edit and write refuse it.",
        }
    }
}

/// The text of a file; none if it is no text.
fn decode(bytes: &[u8]) -> Option<(String, Encoding)> {
    let wide = |pair: fn([u8; 2]) -> u16| {
        let units = bytes[2..].as_chunks::<2>().0.iter().map(|unit| pair(*unit));
        char::decode_utf16(units).map(|char| char.unwrap_or(char::REPLACEMENT_CHARACTER)).collect::<String>()
    };
    match bytes {
        [0xff, 0xfe, ..] => return Some((wide(u16::from_le_bytes), Encoding::Utf16)),
        [0xfe, 0xff, ..] => return Some((wide(u16::from_be_bytes), Encoding::Utf16)),
        _ if bytes[..bytes.len().min(LOOKED_AT)].contains(&0) => return None,
        _ => {}
    }
    Some(match str::from_utf8(bytes) {
        Ok(text) => (text.strip_prefix('\u{feff}').unwrap_or(text).to_owned(), Encoding::Utf8),
        Err(_) => (String::from_utf8_lossy(bytes).into_owned(), Encoding::Broken),
    })
}

fn number_lines(
    path: &str,
    text: &str,
    range: LineRange,
    encoding: Encoding,
    digest: Option<&ContentDigest>,
) -> Result<String, ReadRefusal> {
    let digest = digest.map(|digest| format!(" Digest {}.", digest.shown())).unwrap_or_default();
    let note = encoding.note();
    let total = text.lines().count();
    if total == 0 {
        return Ok(format!("{path}: an empty file, complete.{digest}{note}"));
    }
    if range.offset > total {
        let path = path.to_owned();
        return Err(ReadRefusal::BeyondEnd { path, lines: total, offset: range.offset });
    }
    let (mut lines, mut last, mut used) = (String::new(), range.offset - 1, 0);
    for (index, line) in text.lines().enumerate().skip(range.offset - 1).take(range.limit.max(1)) {
        let cut = shorten(line, LONGEST_LINE);
        let more = if cut.len() < line.len() { " [line cut]" } else { "" };
        let numbered = format!("{}\t{cut}{more}\n", index + 1);
        used += numbered.chars().count();
        if used > ROOM && last >= range.offset {
            break;
        }
        lines.push_str(&numbered);
        last = index + 1;
    }
    let rest = match last < total {
        true => format!("incomplete: continue with offset {}", last + 1),
        false if range.offset > 1 => "complete to the end".to_owned(),
        false => "complete".to_owned(),
    };
    let first = range.offset;
    Ok(format!("{path}: lines {first}-{last} of {total}, {rest}.{digest}{note}\n{lines}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8], range: LineRange) -> Result<(String, Option<ContentDigest>), ReadRefusal> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("f"), bytes).unwrap();
        let real = folder.path().join("f");
        read_file(&ResolvedPath { named: "f".into(), real, kind: FileKind::Regular }, range)
    }

    fn text(bytes: &[u8], offset: usize, limit: usize) -> String {
        read(bytes, LineRange { offset, limit }).unwrap().0
    }

    #[test]
    fn lines_are_numbered_and_the_first_line_says_what_is_missing() {
        let file = b"one\r\ntwo\nthree";
        let digest = ContentDigest::of(file);
        let d = digest.shown();
        assert_eq!(
            text(file, 1, 500),
            format!("f: lines 1-3 of 3, complete. Digest {d}.\n1\tone\n2\ttwo\n3\tthree\n")
        );
        assert_eq!(
            text(file, 2, 1),
            format!("f: lines 2-2 of 3, incomplete: continue with offset 3. Digest {d}.\n2\ttwo\n")
        );
        assert_eq!(
            text(file, 3, 9),
            format!("f: lines 3-3 of 3, complete to the end. Digest {d}.\n3\tthree\n")
        );
        assert!(text(b"", 1, 9).starts_with("f: an empty file, complete. Digest e3b0c44298fc."));
        let beyond = read(file, LineRange { offset: 4, limit: 1 }).unwrap_err().to_string();
        assert_eq!(beyond, "f has 3 lines; there is no line 4");
    }

    #[test]
    fn every_line_of_a_long_file_is_read_once_page_by_page() {
        let file: String =
            (1..=3000).map(|line| format!("line number {line} {}\n", "x".repeat(line % 90))).collect();
        let (mut offset, mut seen) = (1, String::new());
        loop {
            let page = text(file.as_bytes(), offset, 2000);
            assert!(page.chars().count() <= LONGEST_RESULT, "{}", page.chars().count());
            let (first, lines) = page.split_once('\n').unwrap();
            for line in lines.lines() {
                seen.push_str(line.split_once('\t').unwrap().1);
                seen.push('\n');
            }
            match first.split_once("continue with offset ") {
                Some((_, rest)) => offset = rest.split('.').next().unwrap().parse().unwrap(),
                None => break,
            }
        }
        assert_eq!(seen, file);
    }

    #[test]
    fn a_very_long_line_is_cut_and_says_so() {
        let page = text("y".repeat(100_000).as_bytes(), 1, 1);
        assert!(page.ends_with("… [line cut]\n") && page.chars().count() < 3_000, "{}", &page[..80]);
    }

    #[test]
    fn what_is_no_utf8_text_is_named_for_what_it_is() {
        let refusal = |bytes: &[u8]| read(bytes, LineRange::default()).unwrap_err().to_string();
        assert_eq!(refusal(b"\x7fELF\0\0"), "f is binary (6 bytes); use run with a program that reads it");
        assert_eq!(refusal(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"), "f is an image; use view_image");
        let (latin, digest) = read(b"caf\xe9\n", LineRange::default()).unwrap();
        assert!(
            latin.contains("Not UTF-8") && latin.ends_with("1\tcaf\u{fffd}\n") && digest.is_none(),
            "{latin}"
        );
        let wide: Vec<u8> =
            [0xff, 0xfe].into_iter().chain("hé\n".encode_utf16().flat_map(u16::to_le_bytes)).collect();
        let (wide, digest) = read(&wide, LineRange::default()).unwrap();
        assert!(wide.ends_with("1\thé\n") && digest.is_none(), "{wide}");
        let (marked, digest) = read("\u{feff}a\n".as_bytes(), LineRange::default()).unwrap();
        assert!(marked.ends_with("\n1\ta\n") && digest.is_some(), "{marked}");
    }
}
