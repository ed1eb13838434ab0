//! A font: which letters its codes mean, and how wide they are. A code that means nothing known is counted, not guessed.

use std::collections::HashMap;

use encoding_rs::{BIG5, EUC_JP, EUC_KR, GBK, SHIFT_JIS, UTF_16BE};
use lopdf::{Dictionary, Document, Encoding, Object};

use super::LONGEST_STREAM;

/// The width of a letter that has none, in thousandths of its height.
const USUAL_WIDTH: f32 = 500.0;

/// What the codes of a font mean.
enum Letters<'a> {
    Known(Encoding<'a>),
    /// An encoding of East Asia.
    Asian(&'static encoding_rs::Encoding),
    Unknown,
}

/// How wide its codes are, in thousandths of the height.
enum Widths {
    /// One byte for a code.
    Simple { first: i64, widths: Vec<f32> },
    /// Two bytes for a code.
    Composite { default: f32, widths: HashMap<u16, f32> },
}

/// A font of a page.
pub(super) struct PdfFont<'a> {
    letters: Letters<'a>,
    widths: Widths,
}

/// What a string of codes is.
#[derive(Debug, Default, PartialEq)]
pub(super) struct DecodedCodes {
    pub(super) text: String,
    /// How wide it is, in thousandths of its height.
    pub(super) width: f32,
    /// How many codes it has.
    pub(super) codes: usize,
    /// How many of them are spaces of one byte, which an operator can widen.
    pub(super) spaces: usize,
    /// Every code has a meaning.
    pub(super) is_whole: bool,
}

impl<'a> PdfFont<'a> {
    /// Reads a font.
    pub(super) fn new(document: &'a Document, font: &'a Dictionary) -> Self {
        let is_composite = font.get(b"Subtype").and_then(Object::as_name).is_ok_and(|kind| kind == b"Type0");
        let widths = match is_composite {
            true => composite_widths(document, font),
            false => simple_widths(document, font),
        };
        Self { letters: letters(document, font, is_composite), widths }
    }

    /// Decodes a string of codes.
    pub(super) fn decode(&self, bytes: &[u8]) -> DecodedCodes {
        let (text, is_whole) = match &self.letters {
            Letters::Known(encoding) => match encoding.bytes_to_string(bytes) {
                Ok(text) => {
                    let is_whole = !text.contains('\u{fffd}') && text.is_empty() == bytes.is_empty();
                    (text.replace('\u{fffd}', ""), is_whole)
                }
                Err(_) => (String::new(), false),
            },
            Letters::Asian(encoding) => {
                let (text, _, has_errors) = encoding.decode(bytes);
                (text.into_owned(), !has_errors)
            }
            Letters::Unknown => (String::new(), bytes.is_empty()),
        };
        let (codes, width, spaces) = match &self.widths {
            Widths::Simple { first, widths } => {
                let width = |code: &u8| {
                    let at = usize::try_from(i64::from(*code) - first).ok();
                    at.and_then(|at| widths.get(at)).copied().unwrap_or(USUAL_WIDTH)
                };
                let spaces = bytes.iter().filter(|code| **code == b' ').count();
                (bytes.len(), bytes.iter().map(width).sum(), spaces)
            }
            Widths::Composite { default, widths } => {
                let codes = bytes.as_chunks::<2>().0.iter().map(|code| u16::from_be_bytes(*code));
                let width = codes.map(|code| widths.get(&code).copied().unwrap_or(*default)).sum();
                (bytes.len() / 2, width, 0)
            }
        };
        DecodedCodes { text, width, codes, spaces, is_whole }
    }
}

fn letters<'a>(document: &'a Document, font: &'a Dictionary, is_composite: bool) -> Letters<'a> {
    let named = font.get_deref(b"Encoding", document).and_then(Object::as_name).ok();
    if let Some(asian) = named.and_then(asian) {
        return Letters::Asian(asian);
    }
    let has_map = font.get_deref(b"ToUnicode", document).and_then(Object::as_stream).is_ok();
    // The parser reads the codes of such a font as single letters, which is noise.
    if is_composite && !has_map {
        return Letters::Unknown;
    }
    match font.get_font_encoding_with_limit(document, LONGEST_STREAM) {
        // A map that cannot be read is replaced by one for single letters.
        Ok(encoding) if !is_composite || matches!(encoding, Encoding::UnicodeMapEncoding(_)) => {
            Letters::Known(encoding)
        }
        _ => Letters::Unknown,
    }
}

/// The encoding that a name of the standard's tables for East Asia means.
fn asian(name: &[u8]) -> Option<&'static encoding_rs::Encoding> {
    let name = std::str::from_utf8(name).ok()?;
    let name = name.strip_suffix("-H").or_else(|| name.strip_suffix("-V")).unwrap_or(name);
    Some(match name {
        uni if uni.starts_with("Uni") && (uni.contains("UTF16") || uni.contains("UCS2")) => UTF_16BE,
        "GB-EUC" | "GBK-EUC" | "GBKp-EUC" | "GBpc-EUC" => GBK,
        "90ms-RKSJ" | "90msp-RKSJ" | "90pv-RKSJ" | "83pv-RKSJ" | "Add-RKSJ" | "Ext-RKSJ" => SHIFT_JIS,
        "EUC" => EUC_JP,
        "B5pc" | "ETen-B5" | "ETenms-B5" | "HKscs-B5" => BIG5,
        "KSC-EUC" | "KSCms-UHC" | "KSCpc-EUC" => EUC_KR,
        _ => return None,
    })
}

fn number(object: &Object, document: &Document) -> Option<f32> {
    document.dereference(object).ok()?.1.as_float().ok()
}

fn simple_widths(document: &Document, font: &Dictionary) -> Widths {
    let first = font.get_deref(b"FirstChar", document).and_then(Object::as_i64).unwrap_or_default();
    let widths = font.get_deref(b"Widths", document).and_then(Object::as_array);
    // Glyphs that are drawn by operators have a measure of their own.
    let is_drawn = font.get(b"Subtype").and_then(Object::as_name).is_ok_and(|kind| kind == b"Type3");
    let widths = widths.ok().filter(|_| !is_drawn).map(|widths| {
        widths.iter().map(|width| number(width, document).unwrap_or(USUAL_WIDTH)).take(256).collect()
    });
    Widths::Simple { first, widths: widths.unwrap_or_default() }
}

fn composite_widths(document: &Document, font: &Dictionary) -> Widths {
    let descendant = font.get_deref(b"DescendantFonts", document).and_then(Object::as_array).ok();
    let descendant = descendant.and_then(|fonts| document.dereference(fonts.first()?).ok());
    let descendant = descendant.and_then(|(_, font)| font.as_dict().ok());
    let Some(descendant) = descendant else {
        return Widths::Composite { default: 1000.0, widths: HashMap::new() };
    };
    let default = descendant.get(b"DW").ok().and_then(|width| number(width, document)).unwrap_or(1000.0);
    let list = descendant.get_deref(b"W", document).and_then(Object::as_array);
    let mut widths = HashMap::new();
    let mut list = list.map(Vec::as_slice).unwrap_or_default();
    // `first [width …]`, or `first last width`.
    while let [first, second, rest @ ..] = list {
        let first = number(first, document).unwrap_or_default() as u16;
        let second = document.dereference(second).map(|(_, object)| object);
        if let Ok(Object::Array(each)) = second {
            for (code, width) in (first..=u16::MAX).zip(each) {
                widths.insert(code, number(width, document).unwrap_or(default));
            }
            list = rest;
        } else if let (Ok(last), [width, rest @ ..]) = (second, rest) {
            let (last, width) = (last.as_float().unwrap_or_default() as u16, number(width, document));
            widths.extend((first..=last).map(|code| (code, width.unwrap_or(default))));
            list = rest;
        } else {
            break;
        }
    }
    Widths::Composite { default, widths }
}
