//! Bytes as text: the byte order mark first, then the header, then what HTML says about itself, else UTF-8. Pure.
//!
//! Text that is in no stated encoding and no UTF-8 is read as windows-1252, as browsers do. Undecodable bytes become
//! `U+FFFD`, so that a page is never refused for a few bytes.

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

/// How much of a page may name its encoding, as in browsers.
const HEAD: usize = 1024;

/// Decodes a body.
pub(crate) fn decode(bytes: &[u8], content_type: Option<&str>) -> String {
    let stated =
        content_type.and_then(charset_parameter).and_then(|label| Encoding::for_label(label.as_bytes()));
    let marked = Encoding::for_bom(bytes).map(|(encoding, _)| encoding);
    let chosen = marked.or(stated).or_else(|| in_markup(bytes));
    let encoding = match chosen {
        Some(encoding) => encoding,
        None if std::str::from_utf8(bytes).is_ok() || is_nearly_utf8(bytes) => UTF_8,
        None => WINDOWS_1252,
    };
    encoding.decode(bytes).0.into_owned()
}

fn charset_parameter(content_type: &str) -> Option<&str> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches(['"', '\'']))
    })
}

/// `<meta charset=…>` and `<meta http-equiv content="…charset=…">` are read alike: the word and the label after it.
fn in_markup(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = bytes[..bytes.len().min(HEAD)].to_ascii_lowercase();
    let head = String::from_utf8_lossy(&head);
    let (_, rest) = head.split_once("<meta").and_then(|(_, rest)| rest.split_once("charset"))?;
    let rest = rest.trim_start().strip_prefix('=')?.trim_start().trim_start_matches(['"', '\'']);
    let label: String =
        rest.chars().take_while(|c| c.is_ascii_alphanumeric() || "-_:.".contains(*c)).collect();
    let encoding = Encoding::for_label(label.as_bytes())?;
    // A page that could be read so far is not UTF-16, whatever it says.
    Some(if encoding == encoding_rs::UTF_16LE || encoding == encoding_rs::UTF_16BE {
        UTF_8
    } else {
        encoding
    })
}

/// A long body may be cut inside its last character. One byte after plain ASCII is a letter of windows-1252 instead.
fn is_nearly_utf8(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| {
        let (valid, tail) = bytes.split_at(error.valid_up_to());
        error.error_len().is_none() && (tail.len() > 1 || !valid.is_ascii())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_wins_over_the_header_and_the_header_over_the_page() {
        let sjis = b"<meta charset=shift_jis><p>\x93\xfa\x96\x7b</p>";
        assert!(decode(sjis, None).contains("日本"));
        assert!(decode(sjis, Some("text/html; charset=\"Shift_JIS\"")).contains("日本"));
        let gbk = b"<meta http-equiv=content-type content='text/html; charset=gb2312'>\xd6\xd0\xce\xc4";
        assert!(decode(gbk, None).contains("中文"));
        assert_eq!(decode(b"\xef\xbb\xbf\xc3\xa9", Some("text/plain; charset=iso-8859-1")), "é");
        assert_eq!(decode(b"\xff\xfeh\0i\0", None), "hi");
        assert_eq!(decode(b"\xb0\xa1", Some("text/html;charset=euc-kr")), "가");
    }

    #[test]
    fn what_nobody_names_is_utf8_or_windows_1252_and_never_an_error() {
        assert_eq!(decode("ä日".as_bytes(), None), "ä日");
        assert_eq!(decode(b"caf\xe9 \x80", None), "café €");
        assert_eq!(decode(b"caf\xe9", None), "café");
        assert_eq!(decode("cut 日".as_bytes().split_last().unwrap().1, None), "cut \u{fffd}");
        assert_eq!(decode(b"\xff\xfe", Some("text/plain; charset=nonsense")), "");
        assert_eq!(decode(b"a\xc3(b", Some("text/plain; charset=utf-8")), "a\u{fffd}(b");
    }
}
