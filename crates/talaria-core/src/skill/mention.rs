//! Recognises the skills that a prompt names: `$name` anywhere in it. Codex loads those that it lists before the model answers.

/// Returns the names after a `$`, each once, in their order. Which of them are skills is for the caller to know.
pub fn mentions(text: &str) -> Vec<&str> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
    let mut names = Vec::new();
    for (at, _) in text.match_indices('$') {
        let rest = &text[at + 1..];
        let name = &rest[..rest.find(|letter| !is_part(letter)).unwrap_or(rest.len())];
        let is_inside_a_word = text[..at].ends_with(|letter: char| is_part(letter) || letter == '$');
        if !name.is_empty() && !is_inside_a_word && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_after_a_dollar_is_a_mention() {
        for (text, names) in [
            ("$haiku about rain", &["haiku"][..]),
            ("use ($release-notes), then $haiku and $haiku.", &["release-notes", "haiku"]),
            ("it costs 5$ or $5", &["5"]),
            ("a$b $$ $", &[]),
            ("echo ${HOME}", &[]),
            ("俳句$haiku", &["haiku"]),
            ("", &[]),
        ] {
            assert_eq!(mentions(text), names, "{text}");
        }
    }
}
