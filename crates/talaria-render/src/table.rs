//! A Markdown table: in columns, whose cells are broken between words where they have to be; or a line for each cell,
//! where words would have to be broken.

use unicode_width::UnicodeWidthStr;

use super::columns::{self, HANG, NARROW, broken};
use super::inline;
use super::paint::Paint;
use super::style::Style;
use super::styled::{StyledLine, StyledSpan};

type Cell = Vec<StyledSpan>;

/// The alignment of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Align {
    Left,
    Middle,
    Right,
}

/// A table as it was read.
struct Table {
    has_head: bool,
    rows: Vec<Vec<Cell>>,
    aligns: Vec<Align>,
    base: Style,
    paint: Paint,
}

/// Lays out the rows of a table as lines. `room` is the width, if there is one.
pub(crate) fn lay_out(rows: &[String], room: Option<usize>, base: Style, paint: Paint) -> Vec<StyledLine> {
    let table = Table::read(rows, base, paint);
    match table.widths(room.unwrap_or(usize::MAX)) {
        Some(widths) => table.in_columns(&widths),
        None => table.cell_by_cell(room.unwrap_or(usize::MAX)),
    }
}

impl Table {
    fn read(lines: &[String], base: Style, paint: Paint) -> Self {
        let below = lines.get(1).filter(|line| is_separator(line));
        let style = |index| if below.is_some() && index == 0 { base.bold() } else { base };
        let rows = lines.iter().enumerate().filter(|(index, line)| !(*index == 1 && is_separator(line)));
        Self {
            has_head: below.is_some(),
            rows: rows
                .map(|(index, line)| cells(line).map(|cell| inline::spans(cell, style(index))).collect())
                .collect(),
            aligns: below.map(|line| cells(line).map(align).collect()).unwrap_or_default(),
            base,
            paint,
        }
    }

    /// Widths of the columns: the preferred ones if there is room, else the wide ones shrink, but not so far that a word
    /// would be broken. `None` if that is not enough.
    fn widths(&self, room: usize) -> Option<Vec<usize>> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let room = room.checked_sub(3 * columns.saturating_sub(1))?;
        let widest = |of: fn(&Cell) -> usize| -> Vec<usize> {
            let column = |at| self.rows.iter().filter_map(move |row| row.get(at)).map(of).max().unwrap_or(0);
            (0..columns).map(column).collect()
        };
        let wanted = widest(width);
        let longest = widest(longest_word);
        let least: Vec<usize> = longest.into_iter().map(|word| word.max(NARROW)).collect();
        columns::share(&wanted, &least, room)
    }

    fn in_columns(&self, widths: &[usize]) -> Vec<StyledLine> {
        let bar = self.paint.line(self.base.dim(), self.paint.sign(" │ ", " | "));
        let dashes: Vec<String> =
            widths.iter().map(|&width| self.paint.sign("─", "-").repeat(width)).collect();
        let rule = self.paint.line(self.base.dim(), &dashes.join(self.paint.sign("─┼─", "-+-")));
        let rows: Vec<Vec<StyledLine>> = self.rows.iter().map(|row| self.row(row, widths, &bar)).collect();
        // Where rows are higher than a line, it must be seen where one ends.
        let is_high = rows.iter().any(|row| row.len() > 1);
        let mut lines = Vec::new();
        for (index, row) in rows.into_iter().enumerate() {
            if index > 0 && (is_high || self.has_head && index == 1) {
                lines.push(rule.clone());
            }
            lines.extend(row);
        }
        lines
    }

    /// The lines of one row.
    fn row(&self, row: &[Cell], widths: &[usize], bar: &StyledLine) -> Vec<StyledLine> {
        let cells: Vec<Vec<StyledLine>> =
            row.iter().zip(widths).map(|(cell, width)| broken(cell, *width, 0, self.paint)).collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(1);
        (0..height).map(|at| self.line(&cells, at, widths, bar)).collect()
    }

    fn line(&self, cells: &[Vec<StyledLine>], at: usize, widths: &[usize], bar: &StyledLine) -> StyledLine {
        let mut out = StyledLine::default();
        for (column, cell) in cells.iter().enumerate() {
            if column > 0 {
                out.append(bar.clone());
            }
            let text = cell.get(at).cloned().unwrap_or_default();
            let is_last = column + 1 == cells.len();
            let missing = widths.get(column).copied().unwrap_or(0).saturating_sub(text.width());
            let before = match self.aligns.get(column) {
                _ if is_last && text.is_empty() => 0,
                None | Some(Align::Left) => 0,
                Some(Align::Middle) => missing / 2,
                Some(Align::Right) => missing,
            };
            out.push_spaces(before);
            out.append(text);
            if !is_last {
                out.push_spaces(missing - before);
            }
        }
        out
    }

    /// Every cell in its own lines, after the head of its column.
    fn cell_by_cell(&self, room: usize) -> Vec<StyledLine> {
        let (head, rows) = match self.rows.split_first() {
            Some((head, rows)) if self.has_head && !rows.is_empty() => (head.as_slice(), rows),
            _ => (&[][..], self.rows.as_slice()),
        };
        let rule = columns::rule(room, self.paint);
        let mut lines = Vec::new();
        for (index, row) in rows.iter().enumerate() {
            if index > 0 {
                lines.push(self.paint.line(self.base.dim(), &rule));
            }
            for column in 0..row.len().max(head.len()) {
                let mut told = head.get(column).cloned().unwrap_or_default();
                if width(&told) > 0 {
                    told.push(StyledSpan { text: ": ".to_owned(), style: self.base });
                }
                told.extend(row.get(column).into_iter().flatten().cloned());
                if width(&told) > 0 {
                    lines.extend(broken(&told, room, HANG, self.paint));
                }
            }
        }
        lines
    }
}

fn width(cell: &Cell) -> usize {
    cell.iter().map(|span| span.text.width()).sum()
}

/// Words that touch are one, also if they look different.
fn longest_word(cell: &Cell) -> usize {
    let text: String = cell.iter().map(|span| span.text.as_str()).collect();
    columns::longest_word(&text)
}

/// Splits a row at its bars; one after a backslash belongs to the text.
fn cells(row: &str) -> impl Iterator<Item = &str> {
    let row = row.trim();
    let row = row.strip_prefix('|').unwrap_or(row);
    let row = if row.ends_with("\\|") { row } else { row.strip_suffix('|').unwrap_or(row) };
    let mut is_escaped = false;
    row.split(move |c| {
        let is_bar = c == '|' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        is_bar
    })
    .map(str::trim)
}

/// Alignment of a column, from the row below the head.
fn align(cell: &str) -> Align {
    match (cell.starts_with(':'), cell.ends_with(':')) {
        (true, true) => Align::Middle,
        (false, true) => Align::Right,
        (_, false) => Align::Left,
    }
}

fn is_separator(row: &str) -> bool {
    row.contains('-') && row.chars().all(|c| matches!(c, '|' | '-' | ':' | ' '))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use proptest::prelude::*;

    use super::super::sample;
    use super::*;

    fn laid(rows: &[&str], room: usize) -> String {
        let rows: Vec<String> = rows.iter().map(|row| (*row).to_owned()).collect();
        let lines = lay_out(&rows, Some(room), Style::PLAIN, Paint::new(sample::PIPE));
        lines.iter().map(StyledLine::text).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn columns_line_up_where_they_fit() {
        let rows = ["| name | what |", "|---|:-:|", "| a\\|b | `x` 世界 |", "| longer |"];
        expect![[r#"
            name   │  what
            ───────┼───────
            a|b    │ x 世界
            longer"#]]
        .assert_eq(&laid(&rows, 40));
    }

    #[test]
    fn columns_are_aligned_as_the_table_says() {
        let rows = [
            "| n | sum | what | end |",
            "|:--|--:|:-:|---:|",
            "| one | 1 | 世界 | 5 |",
            "| two | 12,000 | a | 70 |",
        ];
        expect![[r#"
            n   │    sum │ what │ end
            ────┼────────┼──────┼────
            one │      1 │ 世界 │   5
            two │ 12,000 │  a   │  70"#]]
        .assert_eq(&laid(&rows, 40));
    }

    const WIDE: [&str; 4] = [
        "| option | what it does | default |",
        "|---|---|--:|",
        "| `--worktree` | a git worktree and a branch of its own for the task | off |",
        "| `--deadline` | ends **what takes longer**, without the time you take | none |",
    ];

    #[test]
    fn wide_columns_give_way_and_break_between_words() {
        expect![[r#"
            option     │ what it does                          │ default
            ───────────┼───────────────────────────────────────┼────────
            --worktree │ a git worktree and a branch of its    │     off
                       │ own for the task                      │ 
            ───────────┼───────────────────────────────────────┼────────
            --deadline │ ends what takes longer, without the   │    none
                       │ time you take                         │ "#]]
        .assert_eq(&laid(&WIDE, 60));
    }

    #[test]
    fn where_words_would_be_broken_every_cell_has_its_own_lines() {
        expect![[r#"
            option: --worktree
            what it does: a git worktree and
              a branch of its own for the
              task
            default: off
            ────────────────────────
            option: --deadline
            what it does: ends what takes
              longer, without the time you
              take
            default: none"#]]
        .assert_eq(&laid(&WIDE, 32));
        let bare = ["| one | two words of a cell |", "| | three |"];
        expect![[r#"
            one
            two words of
              a cell
            ────────────
            three"#]]
        .assert_eq(&laid(&bare, 12));
        let alone = ["| a head that is alone | and wide |", "|---|---|"];
        expect![[r#"
            a head that
              is alone
            and wide"#]]
        .assert_eq(&laid(&alone, 12));
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_nothing_is_too_wide(
            cells in proptest::collection::vec(proptest::collection::vec("[a-z世`* ]{0,30}", 1..5), 1..6),
            room in 8..60usize,
            has_head: bool,
        ) {
            let row = |cells: &Vec<String>| format!("| {} |", cells.join(" | "));
            let mut rows: Vec<String> = cells.iter().map(row).collect();
            if has_head {
                rows.insert(1, "|---|---|---|---|".to_owned());
            }
            let paint = Paint::new(sample::PIPE);
            let lines = lay_out(&rows, Some(room), Style::PLAIN, paint);
            prop_assert!(lines.iter().all(|line| line.width() <= room), "{lines:?}");
            let letters = |lines: &[StyledLine]| {
                let text: String = lines.iter().map(StyledLine::text).collect();
                let mut letters: Vec<char> = text.chars().filter(|c| c.is_alphanumeric()).collect();
                letters.sort_unstable();
                letters
            };
            // Cell by cell the heads come again with every row.
            let whole = letters(&lay_out(&rows, None, Style::PLAIN, paint));
            let mut told = letters(&lines).into_iter().peekable();
            for letter in whole {
                prop_assert!(told.any(|one| one == letter), "{letter} is missing in {lines:?}");
            }
        }
    }
}
