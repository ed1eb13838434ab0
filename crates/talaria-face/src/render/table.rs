//! A Markdown table laid out in columns, or cell by cell where the terminal is too narrow.

use unicode_width::UnicodeWidthStr;

use super::flow::Span;
use super::inline;
use super::style::{Paint, Style};

type Cell = Vec<Span>;

/// Where the text of a column stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Align {
    Left,
    Middle,
    Right,
}

/// Lays out the rows of a table as lines. `room` is the width, if there is one.
pub(crate) fn lay_out(rows: &[String], room: Option<usize>, base: Style, paint: Paint) -> Vec<String> {
    let has_head = rows.get(1).is_some_and(|row| is_separator(row));
    let grid: Vec<Vec<Cell>> = rows
        .iter()
        .enumerate()
        .filter(|(index, row)| !(*index == 1 && is_separator(row)))
        .map(|(index, row)| {
            let style = if has_head && index == 0 { base.bold() } else { base };
            cells(row).map(|cell| inline::spans(cell, style)).collect()
        })
        .collect();
    let columns = grid.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns)
        .map(|column| grid.iter().filter_map(|row| row.get(column)).map(width).max().unwrap_or(0))
        .collect();
    let total = widths.iter().sum::<usize>() + 3 * columns.saturating_sub(1);
    // Columns that do not fit would wrap into each other: then each cell only takes the room it needs.
    let widths = if room.is_some_and(|room| total > room) { vec![0; columns] } else { widths };
    let aligns: Vec<Align> =
        rows.get(1).filter(|_| has_head).map(|row| cells(row).map(align).collect()).unwrap_or_default();
    let bar = paint.text(base.dim(), paint.sign(" │ ", " | "));
    let mut lines: Vec<String> = grid.iter().map(|row| line(row, &widths, &aligns, &bar, paint)).collect();
    if has_head && !lines.is_empty() && widths.iter().any(|&width| width > 0) {
        let dashes: Vec<String> = widths.iter().map(|&width| paint.sign("─", "-").repeat(width)).collect();
        let joint = paint.sign("─┼─", "-+-");
        lines.insert(1, paint.text(base.dim(), &dashes.join(joint)));
    }
    lines
}

fn line(row: &[Cell], widths: &[usize], aligns: &[Align], bar: &str, paint: Paint) -> String {
    let mut out = String::new();
    for (column, cell) in row.iter().enumerate() {
        if column > 0 {
            out.push_str(bar);
        }
        let missing = widths.get(column).copied().unwrap_or(0).saturating_sub(width(cell));
        let before = match aligns.get(column) {
            None | Some(Align::Left) => 0,
            Some(Align::Middle) => missing / 2,
            Some(Align::Right) => missing,
        };
        out.extend(std::iter::repeat_n(' ', before));
        for span in cell {
            paint.push(&mut out, span.style, &span.text);
        }
        if column + 1 < row.len() {
            out.extend(std::iter::repeat_n(' ', missing - before));
        }
    }
    out
}

fn width(cell: &Cell) -> usize {
    cell.iter().map(|span| span.text.width()).sum()
}

/// Splits a row at its bars; one behind a backslash belongs to the text.
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

/// What a cell of the row below the head says about its column.
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

    use super::super::sample;
    use super::*;

    fn laid(room: usize) -> String {
        let rows = ["| name | what |", "|---|:-:|", "| a\\|b | `x` 世界 |", "| longer |"].map(str::to_owned);
        lay_out(&rows, Some(room), Style::PLAIN, Paint::new(sample::PIPE)).join("\n")
    }

    #[test]
    fn columns_line_up_where_they_fit() {
        expect![[r#"
            name   │  what
            ───────┼───────
            a|b    │ x 世界
            longer"#]]
        .assert_eq(&laid(40));
        expect![[r#"
            name │ what
            a|b │ x 世界
            longer"#]]
        .assert_eq(&laid(8));
    }

    #[test]
    fn columns_are_aligned_as_the_table_says() {
        let rows = [
            "| n | sum | what | end |",
            "|:--|--:|:-:|---:|",
            "| one | 1 | 世界 | 5 |",
            "| two | 12,000 | a | 70 |",
        ];
        let rows = rows.map(str::to_owned);
        let laid = |room| lay_out(&rows, Some(room), Style::PLAIN, Paint::new(sample::PIPE)).join("\n");
        expect![[r#"
            n   │    sum │ what │ end
            ────┼────────┼──────┼────
            one │      1 │ 世界 │   5
            two │ 12,000 │  a   │  70"#]]
        .assert_eq(&laid(40));
        expect![[r#"
            n │ sum │ what │ end
            one │ 1 │ 世界 │ 5
            two │ 12,000 │ a │ 70"#]]
        .assert_eq(&laid(12));
    }
}
