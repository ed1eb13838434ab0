//! The text of a PDF file. May panic, overflow the stack or run for long on a hostile file: only a process of its own with
//! limits calls it (`talaria read-pdf`).
//!
//! Map: `content` follows the operators of a page, `font` turns codes into letters and widths, `layout` decides which white
//! space belongs between two pieces. `lopdf` parses the file; every stream is unpacked under a limit.

mod content;
mod font;
mod layout;
#[cfg(test)]
mod tests;

use lopdf::{Document, Error, LoadOptions, Object, ObjectId, decode_text_string};

use crate::page::LONGEST;
use crate::pdf_reader::{PdfReading, PdfText};
use content::{PageReader, Resources};

/// The longest stream that is unpacked, in bytes.
const LONGEST_STREAM: usize = 32_000_000;
/// The most pages that are read.
const MOST_PAGES: usize = 5_000;

/// Reads the text of a file.
pub fn extract_pdf(bytes: &[u8]) -> PdfReading {
    // Some writers have a line of their own before the mark.
    let start = &bytes[..bytes.len().min(1024)];
    if !start.windows(5).any(|window| window == b"%PDF-") {
        return PdfReading::NotPdf;
    }
    let options = LoadOptions::with_max_decompressed_size(LONGEST_STREAM);
    let mut document = match Document::load_mem_with_options(bytes, options) {
        Ok(document) => document,
        Err(Error::InvalidPassword | Error::Decryption(_)) => return PdfReading::Encrypted,
        Err(_) => return PdfReading::Damaged,
    };
    // Many files are encrypted with the empty password, which the parser has tried.
    if document.is_encrypted() {
        return PdfReading::Encrypted;
    }
    prefer_unicode_maps(&mut document);
    let pages: Vec<ObjectId> = document.page_iter().take(MOST_PAGES + 1).collect();
    if pages.is_empty() {
        return PdfReading::Damaged;
    }
    let mut read = PdfText { title: title(&document), ..PdfText::default() };
    for (at, page) in pages.iter().take(MOST_PAGES).enumerate() {
        let (text, is_whole) = page_text(&document, *page);
        read.unread += usize::from(!is_whole || text.is_empty());
        if !text.is_empty() {
            read.text.push_str(&format!("[page {}]\n{text}\n\n", at + 1));
        }
        if read.text.len() > LONGEST {
            read.text.truncate(read.text.floor_char_boundary(LONGEST));
            read.is_cut = true;
            break;
        }
    }
    read.is_cut |= pages.len() > MOST_PAGES;
    match read.text.is_empty() {
        true => PdfReading::NoText,
        false => PdfReading::Text(read),
    }
}

/// The text of a page, and whether all of it could be read.
fn page_text(document: &Document, page: ObjectId) -> (String, bool) {
    let Ok(content) = document.get_page_content_with_limit(page, LONGEST_STREAM) else {
        return (String::new(), false);
    };
    let mut reader = PageReader::new(document);
    reader.read(&content, &Resources::of_page(document, page));
    reader.finish()
}

/// Lets the table that says what letters mean count before the one that says how they are drawn: names of glyphs are often
/// made up.
fn prefer_unicode_maps(document: &mut Document) {
    let has_map = |object: &Object| {
        let map = object.as_dict().and_then(|font| font.get_deref(b"ToUnicode", document));
        map.and_then(Object::as_stream).is_ok()
    };
    let mapped: Vec<ObjectId> =
        document.objects.iter().filter(|(_, object)| has_map(object)).map(|(id, _)| *id).collect();
    for id in mapped {
        if let Ok(font) = document.get_dictionary_mut(id) {
            font.remove(b"Encoding");
        }
    }
}

fn title(document: &Document) -> Option<String> {
    let info = document.trailer.get_deref(b"Info", document).and_then(Object::as_dict).ok()?;
    let title = decode_text_string(info.get_deref(b"Title", document).ok()?).ok()?;
    Some(title).filter(|title| !title.trim().is_empty())
}
