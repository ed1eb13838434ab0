//! Type of a body, from its `Content-Type` or, without one, from its first bytes. Pure.

/// How a body is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Media {
    Html,
    /// Text that is shown as it is: plain, Markdown, JSON, XML, code.
    Text,
    Pdf,
}

/// Returns whether a server names its body a PDF file.
pub(crate) fn is_pdf_type(content_type: Option<&str>) -> bool {
    matches!(essence(content_type).as_str(), "application/pdf" | "application/x-pdf")
}

/// The type without its parameters.
fn essence(content_type: Option<&str>) -> String {
    content_type.unwrap_or_default().split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Says how a body is read. `Err` is the type that is not read.
pub(crate) fn media(content_type: Option<&str>, bytes: &[u8]) -> Result<Media, String> {
    let essence = essence(content_type);
    match essence.as_str() {
        "text/html" | "application/xhtml+xml" => Ok(Media::Html),
        "application/pdf" | "application/x-pdf" => Ok(Media::Pdf),
        "" | "application/octet-stream" if bytes.starts_with(b"%PDF-") => Ok(Media::Pdf),
        "" | "application/octet-stream" if looks_binary(bytes) => Err(named(&essence)),
        "" if looks_like_html(bytes) => Ok(Media::Html),
        "" => Ok(Media::Text),
        text if text.starts_with("text/") => Ok(Media::Text),
        "application/json"
        | "application/xml"
        | "application/yaml"
        | "application/toml"
        | "application/javascript"
        | "application/x-ndjson"
        | "application/graphql"
        | "application/sql"
        | "application/x-sh" => Ok(Media::Text),
        structured if structured.ends_with("+json") || structured.ends_with("+xml") => Ok(Media::Text),
        other => Err(named(other)),
    }
}

fn named(essence: &str) -> String {
    match essence {
        "" => "unknown".to_owned(),
        other => other.chars().take(60).collect(),
    }
}

fn looks_like_html(bytes: &[u8]) -> bool {
    let start = bytes[..bytes.len().min(512)].to_ascii_lowercase();
    let has = |tag: &[u8]| start.windows(tag.len()).any(|window| window == tag);
    has(b"<!doctype html") || has(b"<html") || has(b"<body") || has(b"<head")
}

/// Text has no zeros, except in UTF-16, which begins with a mark.
fn looks_binary(bytes: &[u8]) -> bool {
    let is_marked = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
    !is_marked && bytes[..bytes.len().min(1024)].contains(&0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_named_type_counts_and_the_beginning_only_without_one() {
        let of = |content_type, bytes: &[u8]| media(content_type, bytes);
        assert_eq!(of(Some("Text/HTML; charset=x"), b""), Ok(Media::Html));
        assert_eq!(of(Some("text/plain"), b"<!doctype html>"), Ok(Media::Text));
        assert_eq!(of(Some("application/problem+json"), b""), Ok(Media::Text));
        assert_eq!(of(None, b"\n <!DOCTYPE html><p>"), Ok(Media::Html));
        assert_eq!(of(None, b"hello"), Ok(Media::Text));
        assert_eq!(of(None, b"\x7fELF\0\0"), Err("unknown".to_owned()));
        assert_eq!(of(Some("Application/PDF;x"), b"<p>"), Ok(Media::Pdf));
        assert_eq!(of(Some("application/octet-stream"), b"%PDF-1.7\0"), Ok(Media::Pdf));
        assert_eq!(of(Some("text/plain"), b"%PDF-1.7"), Ok(Media::Text));
        assert_eq!(of(Some("image/png"), b""), Err("image/png".to_owned()));
    }
}
