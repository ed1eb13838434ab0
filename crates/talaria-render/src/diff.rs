//! Changes of files, for people: a header for each file and its lines, coloured.
//!
//! Codex sends an updated file as a unified diff, an added or deleted one as its content.

use std::borrow::Cow;
use std::path::Path;

use talaria_core::item::{FileAction, FileChange};
use talaria_core::request::Ask;

use super::flow::break_anywhere;
use super::paint::Paint;
use super::sanitize::{reveal, reveal_line};
use super::style::{Color, Style};
use super::styled::{StyledLine, StyledText};

/// How far the rows of a change are indented, at most.
const INDENT_COLUMNS: usize = 3;

/// How much of a change is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// Everything, since a person is about to approve it.
    All,
    /// This many lines, then how many are missing.
    Lines(usize),
    /// The same, and the key that shows the rest.
    Folded(usize),
}

/// How many lines a change adds and takes away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    added: usize,
    removed: usize,
}

/// Counts the lines of a change.
pub fn counts(change: &FileChange) -> Counts {
    let mut counts = Counts::default();
    for (_, mark, text) in rows(change) {
        match mark.chars().chain(text.chars()).next() {
            Some('+') => counts.added += 1,
            Some('-') => counts.removed += 1,
            _ => {}
        }
    }
    counts
}

/// Names files as seen from a directory; what lies elsewhere keeps its whole path.
pub fn nearby(changes: &[FileChange], directory: &Path) -> Vec<FileChange> {
    let near = |path: &str| match Path::new(path).strip_prefix(directory) {
        Ok(rest) if !rest.as_os_str().is_empty() => rest.display().to_string(),
        _ => path.to_owned(),
    };
    let convert = |change: &FileChange| FileChange {
        path: near(&change.path),
        move_to: change.move_to.as_deref().map(near),
        ..change.clone()
    };
    changes.iter().map(convert).collect()
}

/// A question about a patch that names its files as seen from a directory; any other as it is.
pub fn nearby_ask<'a>(ask: &'a Ask, directory: &Path) -> Cow<'a, Ask> {
    let mut ask = Cow::Borrowed(ask);
    if let Ask::Patch { changes: Some(changes), .. } = ask.as_ref() {
        let near = nearby(changes, directory);
        if let Ask::Patch { changes, .. } = ask.to_mut() {
            *changes = Some(near);
        }
    }
    ask
}

/// Is a change only wanted, or was it made?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// A request asks for it.
    Wanted,
    /// It was applied.
    Made,
}

/// Shows changes as lines.
pub(crate) fn show(changes: &[FileChange], amount: Amount, width: Option<usize>, paint: Paint) -> StyledText {
    let counted = changes.iter().map(|change| (change, counts(change)));
    show_counted(counted, Sign::Wanted, amount, width, paint)
}

/// The same for changes that were counted before: a long one may be truncated.
pub fn show_counted<'a>(
    changes: impl IntoIterator<Item = (&'a FileChange, Counts)>,
    sign: Sign,
    amount: Amount,
    width: Option<usize>,
    paint: Paint,
) -> StyledText {
    let room = width.map_or(usize::MAX, |width| width.saturating_sub(INDENT_COLUMNS + 1).max(8));
    let mut out = StyledText::default();
    let mut left = match amount {
        Amount::All => usize::MAX,
        Amount::Lines(lines) | Amount::Folded(lines) => lines,
    };
    let mut missing = 0;
    for (change, counts) in changes {
        out.push_line(header(change, counts, sign, paint));
        out.end_line();
        for (style, mark, text) in rows(change) {
            if left == 0 {
                missing += 1;
                continue;
            }
            left -= 1;
            let line = format!("{mark}{}", reveal(text));
            // A row that the terminal broke would begin at its edge, where our own lines do.
            for (at, row) in break_anywhere(&line, room).into_iter().enumerate() {
                out.push_plain(if at == 0 { "  " } else { paint.sign("  ⋮", "  :") });
                paint.push(&mut out, style, row);
                out.end_line();
            }
        }
    }
    if missing > 0 {
        let key = if matches!(amount, Amount::Folded(_)) { " (Ctrl-O)" } else { "" };
        let plural = if missing == 1 { "" } else { "s" };
        let note = format!("  {} {missing} more line{plural}{key}", paint.sign("…", "..."));
        paint.push(&mut out, Style::DIM, &note);
        out.end_line();
    }
    out
}

/// The files of a long patch, a line each below their number and what they add up to.
pub fn file_list(changes: &[FileChange], paint: Paint) -> StyledText {
    let each: Vec<Counts> = changes.iter().map(counts).collect();
    let added: usize = each.iter().map(|counts| counts.added).sum();
    let removed: usize = each.iter().map(|counts| counts.removed).sum();
    let plural = if changes.len() == 1 { "" } else { "s" };
    let mut out = StyledText::default();
    let total =
        format!("  {} file{plural}, +{added} {}{removed} lines:", changes.len(), paint.sign("−", "-"));
    paint.push(&mut out, Style::BOLD, &total);
    out.end_line();
    for (change, counts) in changes.iter().zip(each) {
        out.push_plain(&format!("    {}", file(change, counts, paint)));
        out.end_line();
    }
    out
}

/// One line about all files: `src/a.rs (+3 −1), b.rs (new, +2)`.
pub(crate) fn summary(changes: &[FileChange], paint: Paint) -> String {
    summary_counted(changes.iter().map(|change| (change, counts(change))), paint)
}

/// The same for changes that were counted before.
pub fn summary_counted<'a>(
    changes: impl IntoIterator<Item = (&'a FileChange, Counts)>,
    paint: Paint,
) -> String {
    let files: Vec<String> =
        changes.into_iter().map(|(change, counts)| file(change, counts, paint)).collect();
    if files.is_empty() { "no files".to_owned() } else { files.join(", ") }
}

fn header(change: &FileChange, counts: Counts, sign: Sign, paint: Paint) -> StyledLine {
    let mut line = match sign {
        Sign::Wanted => paint.line(Style::BOLD, paint.sign("✎", "*")),
        Sign::Made => paint.line(Style::BOLD.color(Color::Green), paint.sign("✓", "+")),
    };
    line.push(Style::PLAIN, " ");
    line.push(paint.seen(Style::BOLD), &file(change, counts, paint));
    line
}

fn file(change: &FileChange, Counts { added, removed }: Counts, paint: Paint) -> String {
    let path = reveal_line(&change.path);
    let minus = paint.sign("−", "-");
    let place = match &change.move_to {
        Some(to) => format!("{path} {} {}", paint.sign("→", "->"), reveal_line(to)),
        None => path.into_owned(),
    };
    match change.action {
        FileAction::Add => format!("{place} (new, +{added})"),
        FileAction::Delete => format!("{place} (deleted, {minus}{removed})"),
        FileAction::Update => format!("{place} (+{added} {minus}{removed})"),
    }
}

/// How many lines a change is shown with.
pub fn line_count(change: &FileChange) -> usize {
    rows(change).count()
}

/// The lines of a change with their look and the mark that their text lacks.
fn rows(change: &FileChange) -> impl Iterator<Item = (Style, &'static str, &str)> {
    const ADDED: Style = Style::PLAIN.color(Color::Green);
    const REMOVED: Style = Style::PLAIN.color(Color::Red);
    let action = change.action;
    let mut is_in_hunk = false;
    change.diff.split_terminator('\n').filter_map(move |line| match action {
        FileAction::Add => Some((ADDED, "+", line)),
        FileAction::Delete => Some((REMOVED, "-", line)),
        FileAction::Update => {
            is_in_hunk |= line.starts_with("@@");
            // Before the first hunk these name the file, which the header does; inside one they are content.
            if !is_in_hunk && (line.starts_with("---") || line.starts_with("+++")) {
                return None;
            }
            let style = match line.as_bytes().first() {
                Some(b'+') => ADDED,
                Some(b'-') => REMOVED,
                Some(b'@') => Style::PLAIN.color(Color::Cyan),
                _ => Style::DIM,
            };
            Some((style, "", line))
        }
    })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::super::sample;
    use super::*;

    #[test]
    fn each_file_has_a_header_and_its_lines() {
        let shown = show(&sample::changes(), Amount::All, None, Paint::new(sample::PIPE)).text();
        expect![[r#"
            ✎ src/a.rs (+2 −1)
              @@ -1,3 +1,4 @@
               fn a() {
              -    old();
              +    new();
              +    newer();
               }
            ✎ notes.md (new, +2)
              +# Notes
              +    tabbed
            ✎ gone.txt (deleted, −1)
              -bye
        "#]]
        .assert_eq(&shown);
    }

    #[test]
    fn long_changes_are_cut_unless_they_are_to_be_approved() {
        let diff: String = (0..300).map(|n| format!("{n}\n")).collect();
        let change = FileChange { path: "long".into(), action: FileAction::Add, move_to: None, diff };
        let paint = Paint::new(sample::PIPE);
        let cut = show(std::slice::from_ref(&change), Amount::Lines(200), None, paint).text();
        assert!(cut.ends_with("  +199\n  … 100 more lines\n"), "{cut}");
        assert!(show(&[change], Amount::All, None, paint).text().ends_with("  +299\n"));
    }

    #[test]
    fn nothing_in_a_change_is_hidden() {
        let change = FileChange {
            path: "a\n\u{1b}[8mb".into(),
            action: FileAction::Update,
            move_to: Some("c".into()),
            diff: "@@ -1 +1 @@\n--- x\r\n+\u{202e}y".into(),
        };
        expect![[r#"
            ✎ a␊␛[8mb → c (+1 −1)
              @@ -1 +1 @@
              --- x␍
              +⟨U+202E⟩y
        "#]]
        .assert_eq(&show(&[change], Amount::All, None, Paint::new(sample::PIPE)).text());
    }

    #[test]
    fn a_long_line_is_broken_so_that_it_cannot_look_like_one_of_ours() {
        let diff = format!("x{}[y] yes", " ".repeat(40));
        let change = FileChange { path: "a".into(), action: FileAction::Add, move_to: None, diff };
        let shown = show(&[change], Amount::All, Some(24), Paint::new(sample::PIPE)).text();
        assert!(shown.lines().skip(1).all(|row| row.starts_with("  ")), "{shown}");
        assert_eq!(shown.lines().count(), 4, "{shown}");
    }
}
