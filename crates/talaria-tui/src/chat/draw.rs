//! A frame onto the cells of a window. The one place that knows ratatui's buffer.

use ratatui_core::buffer::Buffer;
use talaria_core::config::Theme;

use super::frame::ChatFrame;
use super::theme;

/// Draws a frame over the buffer. Rows that do not fit are left out.
pub fn draw(frame: &ChatFrame, theme: Theme, buffer: &mut Buffer) {
    buffer.reset();
    let area = buffer.area;
    for (line, y) in frame.lines.iter().zip(area.top()..area.bottom()) {
        let mut x = area.left();
        for span in &line.spans {
            let room = usize::from(area.right().saturating_sub(x));
            (x, _) = buffer.set_stringn(x, y, &span.text, room, theme::terminal_style(theme, span.style));
        }
    }
}

#[cfg(test)]
mod tests {
    use ratatui_core::layout::Rect;
    use ratatui_core::style::{Color as Hue, Modifier};

    use super::*;
    use talaria_render::{Color, Style, StyledLine};

    #[test]
    fn rows_are_drawn_where_they_belong_and_nothing_of_before_stays() {
        let mut wide = StyledLine::of(Style::PLAIN, "世界");
        wide.push(Style::BOLD.color(Color::Red), "red and more");
        let frame = ChatFrame {
            lines: vec![wide, StyledLine::of(Style::PLAIN, "b"), StyledLine::default()],
            cursor: None,
        };
        let mut buffer = Buffer::filled(Rect::new(0, 0, 8, 2), ratatui_core::buffer::Cell::new("#"));
        draw(&frame, Theme::Terminal, &mut buffer);
        let row = |y: u16| -> String { (0..8).map(|x| buffer[(x, y)].symbol()).collect() };
        assert_eq!((row(0).as_str(), row(1).as_str()), ("世 界 red ", "b       "));
        assert_eq!((buffer[(4, 0)].fg, buffer[(4, 0)].modifier), (Hue::Red, Modifier::BOLD));
        assert_eq!(buffer[(0, 0)].fg, Hue::Reset);
    }
}
