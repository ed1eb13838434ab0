//! The form of a memory file: entries separated by a line with `§` alone. Read by people, and by other programs that use it.
//!
//! What people type is read generously (CRLF, spaces around the sign, blank lines around an entry). The engine stores the whole
//! text whenever reading it changed something, so nothing is lost by that.

/// Separates two entries, alone on its line.
const SIGN: &str = "§";

/// Reads the entries of a file.
pub fn parse(text: &str) -> Vec<String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut entries = vec![Vec::new()];
    for line in text.lines() {
        if is_separator(line) {
            entries.push(Vec::new());
        } else if let Some(entry) = entries.last_mut() {
            entry.push(line);
        }
    }
    entries.iter().map(|lines| tidy(&lines.join("\n"))).filter(|entry| !entry.is_empty()).collect()
}

/// Writes entries. Reading the result returns the same entries if each is tidy and has no separator.
pub fn render<'a>(entries: impl IntoIterator<Item = &'a str>) -> String {
    let entries: Vec<&str> = entries.into_iter().collect();
    match entries.is_empty() {
        true => String::new(),
        false => format!("{}\n", entries.join("\n§\n")),
    }
}

/// Removes what a file cannot keep: blank lines around a text, spaces at the ends of it and of its lines.
pub fn tidy(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n").trim().to_owned()
}

/// Returns whether a line would end an entry.
pub fn is_separator(line: &str) -> bool {
    line.trim() == SIGN
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_people_type_is_read() {
        let typed = "\u{feff}one\r\nmore\r\n§\r\n\r\n  two § signs  \n § \n\n§\nlast\n\n";
        assert_eq!(parse(typed), ["one\nmore", "two § signs", "last"]);
        assert_eq!(render(["one\nmore", "last"]), "one\nmore\n§\nlast\n");
        assert!(parse("").is_empty() && parse("\n§\n\n").is_empty());
        assert_eq!(render([]), "");
    }

    proptest! {
        #[test]
        fn written_entries_are_read_back(texts in prop::collection::vec("[a-z§ \n\u{e9}]{0,12}", 0..6)) {
            let is_kept = |text: &String| !text.is_empty() && !text.lines().any(is_separator);
            let entries: Vec<String> = texts.iter().map(|text| tidy(text)).filter(is_kept).collect();
            prop_assert_eq!(parse(&render(entries.iter().map(String::as_str))), entries);
        }
    }
}
