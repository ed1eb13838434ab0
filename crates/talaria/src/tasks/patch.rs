//! The changes of a task in its worktree, as a diff, and the result of applying them.

use talaria_core::api::Applied;

use talaria_render::{Color, Look, Paint, Style, StyledText, plain, plain_line};

/// Shows a diff: unchanged for programs, harmless and coloured at a terminal.
pub(crate) fn show(diff: &str, look: Look) -> StyledText {
    if !look.live {
        return diff.into();
    }
    if diff.trim().is_empty() {
        return "it changed nothing\n".into();
    }
    let paint = Paint::new(look);
    let row = |line: &str| paint.text(style(line), line) + "\n";
    plain(diff).lines().map(row).collect()
}

fn style(line: &str) -> Style {
    match line.as_bytes() {
        [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] | [b'd', b'i', b'f', b'f', b' ', ..] => Style::BOLD,
        [b'+', ..] => Style::PLAIN.color(Color::Green),
        [b'-', ..] => Style::PLAIN.color(Color::Red),
        [b'@', b'@', ..] => Style::PLAIN.color(Color::Cyan),
        _ => Style::PLAIN,
    }
}

/// Reports the files changed in the user's checkout.
pub(super) fn applied(applied: &Applied) -> String {
    let place = plain_line(&applied.repository);
    let count = applied.files.len();
    if applied.already_applied {
        return format!("already applied: {place} has all of these changes\n");
    }
    let head = match count {
        0 => return format!("there was nothing to apply to {place}\n"),
        1 => "1 file was changed".to_owned(),
        _ => format!("{count} files were changed"),
    };
    let files: String = applied.files.iter().map(|file| format!("  {}\n", plain_line(file))).collect();
    format!("{head} in {place}, not committed:\n{files}")
}

#[cfg(test)]
mod tests {
    use talaria_render::StyledLine;

    use super::super::sample::LOOK;
    use super::*;

    const DIFF: &str = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+\u{1b}[2Jnew\n same\n";

    #[test]
    fn a_diff_is_harmless_at_a_terminal_and_untouched_in_a_pipe() {
        assert_eq!(show(DIFF, LOOK).text(), DIFF.replace('\u{1b}', "␛"));
        assert_eq!(show(DIFF, Look { live: false, ..LOOK }).text(), DIFF);
        let coloured = show(DIFF, Look { color: true, ..LOOK }).into_lines();
        assert_eq!(coloured[4], StyledLine::of(Style::PLAIN.color(Color::Red), "-old"));
        assert_eq!(coloured[5], StyledLine::of(Style::PLAIN.color(Color::Green), "+␛[2Jnew"));
        assert_eq!(show("\n", LOOK).text(), "it changed nothing\n");
    }

    #[test]
    fn what_was_taken_over_is_named() {
        let told = |files: &[&str]| {
            let files = files.iter().map(|&file| file.to_owned()).collect();
            applied(&Applied { repository: "/re\u{1b}po".to_owned(), files, already_applied: false })
        };
        assert_eq!(told(&[]), "there was nothing to apply to /re␛po\n");
        assert_eq!(told(&["a\nb"]), "1 file was changed in /re␛po, not committed:\n  a␊b\n");
        assert!(told(&["a", "b"]).starts_with("2 files were changed"));
    }
}
