//! Files that are made here, good ones and hostile ones.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use lopdf::{
    Dictionary, Document, EncryptionState, EncryptionVersion, Object, Permissions, Stream, StringFormat,
    dictionary, text_string,
};

use super::*;

/// A file with one page for each content, and these fonts and forms.
fn file(contents: &[Stream], fonts: Vec<(&str, Object)>, forms: Vec<(&str, Object)>) -> Document {
    let mut document = Document::with_version("1.7");
    let named = |document: &mut Document, objects: Vec<(&str, Object)>| {
        let entries =
            objects.into_iter().map(|(name, object)| (name.to_owned(), document.add_object(object)));
        entries.fold(Dictionary::new(), |mut all, (name, id)| {
            all.set(name, id);
            all
        })
    };
    let fonts = named(&mut document, fonts);
    let forms = named(&mut document, forms);
    let resources = document.add_object(dictionary! { "Font" => fonts, "XObject" => forms });
    let pages_id = document.new_object_id();
    let kids: Vec<Object> = contents
        .iter()
        .map(|content| {
            let content = document.add_object(content.clone());
            let page = dictionary! { "Type" => "Page", "Parent" => pages_id, "Contents" => content };
            document.add_object(page).into()
        })
        .collect();
    let count = i64::try_from(kids.len()).unwrap();
    let pages = dictionary! { "Type" => "Pages", "Kids" => kids, "Count" => count, "Resources" => resources };
    document.objects.insert(pages_id, pages.into());
    let catalog = document.add_object(dictionary! { "Type" => "Catalog", "Pages" => pages_id });
    let info = document.add_object(dictionary! { "Title" => text_string("Ein Übersichtsblatt") });
    document.trailer.set("Root", catalog);
    document.trailer.set("Info", info);
    document.trailer.set(
        "ID",
        Object::Array(vec![
            Object::String(vec![7; 16], StringFormat::Hexadecimal),
            Object::String(vec![7; 16], StringFormat::Hexadecimal),
        ]),
    );
    document
}

fn content(text: &str) -> Stream {
    Stream::new(Dictionary::new(), text.as_bytes().to_vec())
}

fn helvetica() -> Object {
    dictionary! { "Type" => "Font", "Subtype" => "Type1", "BaseFont" => "Helvetica", "Encoding" => "WinAnsiEncoding" }
        .into()
}

fn bytes(mut document: Document) -> Vec<u8> {
    let mut bytes = Vec::new();
    document.save_to(&mut bytes).unwrap();
    bytes
}

fn text(document: Document) -> PdfText {
    match extract_pdf(&bytes(document)) {
        PdfReading::Text(text) => text,
        other => panic!("{other:?}"),
    }
}

fn simple(page: &str) -> Document {
    file(&[content(page)], vec![("F1", helvetica())], Vec::new())
}

#[test]
fn pages_have_their_words_and_lines_and_the_title_is_read() {
    let first = content(
        "BT /F1 12 Tf 72 700 Td (The pelican) Tj 0 -14 Td [(pl) 20 (an) -300 (is) -20 (sued)] TJ T* ET\n\
         BT /F1 12 Tf 1 0 0 1 72 600 Tm (caf\\351) Tj 14 TL (next) ' 0 0 (last) \" ET",
    );
    let read =
        text(file(&[first, content("BT /F1 9 Tf (two) Tj ET")], vec![("F1", helvetica())], Vec::new()));
    assert_eq!(read.text, "[page 1]\nThe pelican\nplan issued\n\ncafé\nnext\nlast\n\n[page 2]\ntwo\n\n");
    assert_eq!((read.title.as_deref(), read.unread, read.is_cut), (Some("Ein Übersichtsblatt"), 0, false));
}

#[test]
fn widths_tell_pieces_of_a_word_from_words() {
    let widths: Vec<Object> = (32..=122).map(|_| 500.into()).collect();
    let mono = dictionary! {
        "Type" => "Font", "Subtype" => "Type1", "BaseFont" => "Mono", "Encoding" => "WinAnsiEncoding",
        "FirstChar" => 32, "Widths" => widths,
    };
    // Each letter is 5 wide: "Pel" ends at 15, "ican" at 35; "flies" begins a space later.
    let page = content("BT /F1 10 Tf (Pel) Tj 15 0 Td (ican) Tj 25 0 Td (flies) Tj ET");
    assert_eq!(
        text(file(&[page], vec![("F1", mono.into())], Vec::new())).text,
        "[page 1]\nPelican flies\n\n"
    );
}

#[test]
fn forms_maps_and_east_asian_codes_are_read() {
    let map = "/CIDInit /ProcSet findresource begin\n12 dict begin\nbegincmap\n\
               /CIDSystemInfo << /Registry (Adobe) /Ordering (UCS) /Supplement 0 >> def\n\
               /CMapName /Adobe-Identity-UCS def\n/CMapType 2 def\n\
               1 begincodespacerange\n<0000> <ffff>\nendcodespacerange\n\
               2 beginbfchar\n<0001> <65e5>\n<0002> <672c>\nendbfchar\n\
               endcmap\nCMapName currentdict /CMap defineresource pop\nend\nend\n";
    let mut document = simple("/Fm1 Do BT /F2 10 Tf 0 -30 Td <4e2d6587> Tj ET");
    let map = document.add_object(Stream::new(Dictionary::new(), map.as_bytes().to_vec()));
    let mapped = document.add_object(dictionary! {
        "Type" => "Font", "Subtype" => "Type0", "BaseFont" => "X", "Encoding" => "Identity-H", "ToUnicode" => map,
    });
    let chinese = document.add_object(dictionary! {
        "Type" => "Font", "Subtype" => "Type0", "BaseFont" => "Y", "Encoding" => "UniGB-UCS2-H",
    });
    let own = dictionary! { "Font" => dictionary! { "F9" => mapped } };
    let form = dictionary! { "Type" => "XObject", "Subtype" => "Form", "Resources" => own };
    let form = document.add_object(Stream::new(form, b"BT /F9 10 Tf <00010002> Tj ET".to_vec()));
    let resources = document
        .objects
        .values_mut()
        .find_map(|object| object.as_dict_mut().ok().filter(|dictionary| dictionary.has(b"XObject")));
    let resources = resources.unwrap();
    resources.set("Font", dictionary! { "F2" => chinese });
    resources.set("XObject", dictionary! { "Fm1" => form });
    let read = text(document);
    assert_eq!((read.text.as_str(), read.unread), ("[page 1]\n日本\n\n中文\n\n", 0));
}

#[test]
fn codes_without_a_meaning_are_counted_and_not_guessed() {
    let unknown =
        dictionary! { "Type" => "Font", "Subtype" => "Type0", "BaseFont" => "X", "Encoding" => "Identity-H" };
    let pages = [content("BT /F2 10 Tf <0041> Tj ET"), content("BT /F1 10 Tf (readable) Tj ET"), content("")];
    let read = text(file(&pages, vec![("F1", helvetica()), ("F2", unknown.into())], Vec::new()));
    assert_eq!((read.text.as_str(), read.unread), ("[page 2]\nreadable\n\n", 2));
    assert_eq!(extract_pdf(&bytes(simple("0 0 10 10 re f"))), PdfReading::NoText);
}

#[test]
fn what_is_no_pdf_file_is_distinguished_from_a_damaged_one() {
    for other in [&b""[..], b"<html>", b"PDF", &[0; 2048]] {
        assert_eq!(extract_pdf(other), PdfReading::NotPdf);
    }
    assert_eq!(extract_pdf(b"%PDF-1.7\n%%EOF"), PdfReading::Damaged);
    let whole = bytes(simple("BT /F1 10 Tf (a text that is there) Tj ET"));
    for cut in (10..whole.len()).step_by(7) {
        match extract_pdf(&whole[..cut]) {
            PdfReading::Damaged | PdfReading::NoText => {}
            PdfReading::Text(read) => assert_eq!(read.text, "[page 1]\na text that is there\n\n", "at {cut}"),
            other => panic!("at {cut}: {other:?}"),
        }
    }
}

#[test]
fn a_password_is_said_and_the_empty_one_is_none() {
    let encrypted = |user_password: &str| {
        let mut document = simple("BT /F1 10 Tf (the inside) Tj ET");
        let version = EncryptionVersion::V2 {
            document: &document,
            owner_password: "owner",
            user_password,
            key_length: 128,
            permissions: Permissions::all(),
        };
        let state = EncryptionState::try_from(version).unwrap();
        document.encrypt(&state).unwrap();
        extract_pdf(&bytes(document))
    };
    assert_eq!(encrypted("secret"), PdfReading::Encrypted);
    assert!(matches!(encrypted(""), PdfReading::Text(read) if read.text.contains("the inside")));
}

fn packed(bytes: usize) -> Stream {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    for _ in 0..bytes / 1_000_000 {
        encoder.write_all(&[b' '; 1_000_000]).unwrap();
    }
    Stream::new(dictionary! { "Filter" => "FlateDecode" }, encoder.finish().unwrap())
}

#[test]
fn a_bomb_is_not_unpacked_and_the_other_pages_are_read() {
    let pages = [packed(200_000_000), content("BT /F1 10 Tf (after it) Tj ET")];
    let read = text(file(&pages, vec![("F1", helvetica())], Vec::new()));
    assert_eq!((read.text.as_str(), read.unread), ("[page 2]\nafter it\n\n", 1));
}

#[test]
fn a_form_that_draws_itself_ends() {
    let mut document = simple("/Fm1 Do");
    let form = document.new_object_id();
    let own = dictionary! {
        "Font" => dictionary! { "F1" => helvetica() }, "XObject" => dictionary! { "Fm1" => form },
    };
    let dictionary = dictionary! { "Type" => "XObject", "Subtype" => "Form", "Resources" => own };
    let drawn = Stream::new(dictionary, b"BT /F1 10 Tf (again) Tj ET /Fm1 Do /Fm1 Do".to_vec());
    document.objects.insert(form, drawn.into());
    let resources = document.objects.values_mut().find_map(|object| {
        object
            .as_dict_mut()
            .ok()
            .filter(|dictionary| dictionary.has(b"XObject") && !dictionary.has_type(b"XObject"))
    });
    resources.unwrap().set("XObject", dictionary! { "Fm1" => form });
    let read = text(document);
    assert_eq!(read.unread, 1);
    assert_eq!(read.text.matches("again").count(), 255, "eight levels, two on each");
}
