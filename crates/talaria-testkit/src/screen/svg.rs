//! A screen as a picture: every character at its column, whatever font the reader has.
//!
//! Each run of characters of one style is a `<text>` that is stretched to the columns it takes; a character that fonts
//! disagree about (wide ones, symbols, lines of a frame) is a separate run. The window brings its own background, so
//! the picture reads on light and dark pages alike. Nothing in it depends on time or machine.

use std::fmt::Write;

use super::{CellStyle, Color, Screen, ScreenCell};

/// One column and one row, in pixels.
const CELL: (u32, u32) = (9, 20);
/// The space around the text, and the height of the bar with the title.
const MARGIN: u32 = 14;
const BAR: u32 = 34;
/// From the upper edge of a row to the baseline.
const BASELINE: u32 = 15;

const BACKGROUND: &str = "#1b1f27";
const FOREGROUND: &str = "#d7dce4";

/// The sixteen colours that a terminal names: normal, then bright.
const PALETTE: [&str; 16] = [
    "#3b4252", "#f07178", "#8fc97a", "#e5c07b", "#6fb1f0", "#c792ea", "#5fc9c9", "#c8ced8", "#7f8a9b",
    "#ff8b92", "#a9e294", "#f5d58f", "#8cc6ff", "#dbaaf7", "#7fe3e3", "#f4f6f9",
];

/// Draws the screen in a window.
pub(super) fn draw(screen: &Screen, title: &str) -> String {
    let (rows, columns) = screen.size();
    let width = u32::from(columns) * CELL.0 + 2 * MARGIN;
    let height = u32::from(rows) * CELL.1 + BAR + MARGIN;
    let mut svg = String::new();
    // Writing to a string cannot fail.
    let _ = write!(
        svg,
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" xml:space="preserve" role="img" aria-label="{label}">
<style>text{{font:15px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;white-space:pre;fill:{FOREGROUND}}}.b{{font-weight:bold}}.i{{font-style:italic}}.d{{opacity:.6}}</style>
<rect x=".5" y=".5" width="{inner_width}" height="{inner_height}" rx="9" fill="{BACKGROUND}" stroke="#6b7280"/>
<circle cx="20" cy="17" r="6" fill="#f07178"/><circle cx="40" cy="17" r="6" fill="#e5c07b"/><circle cx="60" cy="17" r="6" fill="#8fc97a"/>
<text x="{middle}" y="22" text-anchor="middle" class="d">{label}</text>
"##,
        label = escaped(title),
        inner_width = width - 1,
        inner_height = height - 1,
        middle = width / 2,
    );
    for (row, cells) in screen.rows.iter().enumerate() {
        let top = u32::try_from(row).unwrap_or(0) * CELL.1 + BAR;
        draw_row(&mut svg, cells, top);
    }
    if !screen.modes.is_cursor_hidden {
        let (row, column) = screen.cursor;
        let (left, top) = (u32::from(column) * CELL.0 + MARGIN, u32::from(row) * CELL.1 + BAR);
        let _ = writeln!(
            svg,
            r#"<rect x="{left}" y="{top}" width="{}" height="{}" fill="{FOREGROUND}" opacity=".55"/>"#,
            CELL.0, CELL.1
        );
    }
    svg.push_str("</svg>\n");
    svg
}

/// Cells that are drawn as one text.
struct Run {
    column: u32,
    columns: u32,
    text: String,
    style: CellStyle,
}

fn draw_row(svg: &mut String, cells: &[ScreenCell], top: u32) {
    let mut runs: Vec<Run> = Vec::new();
    let mut column = 0;
    for cell in cells {
        let width = u32::from(cell.width);
        match runs.last_mut() {
            Some(run) if run.style == cell.style && belongs(run, cell) => {
                run.columns += width;
                run.text.push_str(&cell.text);
            }
            _ => runs.push(Run { column, columns: width, text: cell.text.clone(), style: cell.style }),
        }
        column += width;
    }
    // Backgrounds first: a glyph may reach into its neighbour.
    runs.iter().for_each(|run| draw_background(svg, run, top));
    runs.iter().for_each(|run| draw_text(svg, run, top));
}

/// Whether a cell can be drawn with the run before it: letters with letters, a line with its own character.
fn belongs(run: &Run, cell: &ScreenCell) -> bool {
    let is_same = || run.text.chars().next().is_some_and(|char| cell.text == char.to_string());
    is_letter(&cell.text) && is_letter(&run.text) || cell.width == 1 && is_same()
}

/// Whether every monospaced font has it, in one column.
fn is_letter(text: &str) -> bool {
    text.chars().all(|char| (' '..='~').contains(&char) || ('\u{a1}'..='\u{17f}').contains(&char))
}

fn draw_background(svg: &mut String, run: &Run, top: u32) {
    let (_, background) = colours(run.style);
    let Some(background) = background else { return };
    let (left, width) = (run.column * CELL.0 + MARGIN, run.columns * CELL.0);
    let _ = writeln!(
        svg,
        r#"<rect x="{left}" y="{top}" width="{width}" height="{}" fill="{background}"/>"#,
        CELL.1
    );
}

fn draw_text(svg: &mut String, run: &Run, top: u32) {
    let blank = run.text.chars().take_while(|char| *char == ' ').count();
    let (skipped, shown) =
        if run.style.is_underlined { (0, &run.text[..]) } else { (blank, run.text.trim_matches(' ')) };
    if shown.is_empty() {
        return;
    }
    let columns =
        if is_letter(shown) { u32::try_from(shown.chars().count()).unwrap_or(0) } else { run.columns };
    let left = (run.column + u32::try_from(skipped).unwrap_or(0)) * CELL.0 + MARGIN;
    let (foreground, _) = colours(run.style);
    let classes: String = [(run.style.is_bold, "b"), (run.style.is_italic, "i"), (run.style.is_dim, "d")]
        .iter()
        .filter(|(is_so, _)| *is_so)
        .map(|(_, class)| *class)
        .collect::<Vec<_>>()
        .join(" ");
    let mut look = String::new();
    if !classes.is_empty() {
        let _ = write!(look, r#" class="{classes}""#);
    }
    if foreground != FOREGROUND {
        let _ = write!(look, r#" style="fill:{foreground}""#);
    }
    if run.style.is_underlined {
        look.push_str(r#" text-decoration="underline""#);
    }
    let _ = writeln!(
        svg,
        r#"<text x="{left}" y="{}" textLength="{}" lengthAdjust="spacingAndGlyphs"{look}>{}</text>"#,
        top + BASELINE,
        columns * CELL.0,
        escaped(shown)
    );
}

/// The foreground colour, and the background colour if it is not that of the window.
fn colours(style: CellStyle) -> (String, Option<String>) {
    let foreground = colour(style.foreground);
    let background = colour(style.background);
    if style.is_inverse {
        let letters = background.unwrap_or_else(|| BACKGROUND.to_owned());
        return (letters, Some(foreground.unwrap_or_else(|| FOREGROUND.to_owned())));
    }
    (foreground.unwrap_or_else(|| FOREGROUND.to_owned()), background)
}

fn colour(colour: Color) -> Option<String> {
    /// The steps of the cube of 6×6×6 colours.
    const STEPS: [u8; 6] = [0, 95, 135, 175, 215, 255];
    match colour {
        Color::Default => None,
        Color::Rgb(red, green, blue) => Some(format!("#{red:02x}{green:02x}{blue:02x}")),
        Color::Idx(index @ 0..16) => Some(PALETTE[usize::from(index)].to_owned()),
        Color::Idx(index @ 16..232) => {
            let [red, green, blue] = [36, 6, 1].map(|unit| STEPS[usize::from((index - 16) / unit % 6)]);
            Some(format!("#{red:02x}{green:02x}{blue:02x}"))
        }
        Color::Idx(index) => Some(format!("#{0:02x}{0:02x}{0:02x}", 8 + (index - 232) * 10)),
    }
}

/// The text escaped for XML; characters that XML does not permit are left out.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            char if char.is_control() || matches!(char, '\u{fffe}' | '\u{ffff}') => {}
            char => escaped.push(char),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    /// The footer below the frame of the window.
    fn body(rows: u16, columns: u16, bytes: &str) -> String {
        let svg = Screen::drawn(rows, columns, bytes.as_bytes()).to_svg("talaria");
        svg.lines().skip(5).map(|line| format!("{line}\n")).collect()
    }

    #[test]
    fn text_stands_at_its_column_with_its_look() {
        let drawn = body(2, 20, "a <b> \x1b[1;31mred\x1b[0m  x\r\n\x1b[2;3;4mdim it\x1b[0m\x1b[?25l");
        expect![[r#"
            <text x="14" y="49" textLength="45" lengthAdjust="spacingAndGlyphs">a &lt;b&gt;</text>
            <text x="68" y="49" textLength="27" lengthAdjust="spacingAndGlyphs" class="b" style="fill:#f07178">red</text>
            <text x="113" y="49" textLength="9" lengthAdjust="spacingAndGlyphs">x</text>
            <text x="14" y="69" textLength="54" lengthAdjust="spacingAndGlyphs" class="i d" text-decoration="underline">dim it</text>
            </svg>
        "#]].assert_eq(&drawn);
    }

    #[test]
    fn wide_characters_and_lines_are_runs_of_their_own() {
        expect![[r#"
            <text x="14" y="49" textLength="9" lengthAdjust="spacingAndGlyphs">é</text>
            <text x="23" y="49" textLength="18" lengthAdjust="spacingAndGlyphs">日</text>
            <text x="41" y="49" textLength="18" lengthAdjust="spacingAndGlyphs">本</text>
            <text x="59" y="49" textLength="18" lengthAdjust="spacingAndGlyphs">──</text>
            <text x="77" y="49" textLength="9" lengthAdjust="spacingAndGlyphs">x</text>
            </svg>
        "#]]
        .assert_eq(&body(1, 10, "é日本──x\x1b[?25l"));
    }

    #[test]
    fn backgrounds_and_the_cursor_are_boxes() {
        expect![[r##"
            <rect x="14" y="34" width="27" height="20" fill="#d7dce4"/>
            <rect x="41" y="34" width="9" height="20" fill="#005f00"/>
            <rect x="50" y="34" width="9" height="20" fill="#010203"/>
            <text x="14" y="49" textLength="27" lengthAdjust="spacingAndGlyphs" style="fill:#1b1f27">inv</text>
            <text x="41" y="49" textLength="9" lengthAdjust="spacingAndGlyphs">g</text>
            <text x="50" y="49" textLength="9" lengthAdjust="spacingAndGlyphs">h</text>
            <rect x="59" y="34" width="9" height="20" fill="#d7dce4" opacity=".55"/>
            </svg>
        "##]].assert_eq(&body(1, 12, "\x1b[7minv\x1b[0m\x1b[48;5;22mg\x1b[48;2;1;2;3mh\x1b[0m"));
    }

    #[test]
    fn a_picture_is_whole_and_always_the_same() {
        let screen = Screen::drawn(3, 30, "\"quoted\" & <tagged> \u{7f}\u{1b}[38;5;250mgrey".as_bytes());
        let svg = screen.to_svg("a & b");
        assert_eq!(svg, screen.to_svg("a & b"));
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
        assert!(svg.contains(r#"aria-label="a &amp; b""#) && svg.contains("#bcbcbc"));
        assert_eq!(svg.matches("<text").count(), svg.matches("</text>").count());
    }
}
