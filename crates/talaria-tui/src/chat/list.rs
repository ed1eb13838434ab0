//! A list to choose from: type to filter, arrows to move, Enter to choose, Esc to leave.
//!
//! The caller handles a choice. The rows may contain foreign text: it is made harmless.

use talaria_guard::plain::one_line;

use super::contract::{Code, KeyPress};
use talaria_render::{Color, Paint, Style, StyledLine, cut};

/// More rows than this are never shown at once.
const MOST_ROWS: usize = 14;

/// A list, and where in it the person is.
#[derive(Debug)]
pub(super) struct List<T> {
    title: String,
    rows: Vec<(String, T)>,
    filter: String,
    /// The row that is in force; it is marked.
    current: Option<usize>,
    /// Among the rows that pass the filter.
    at: usize,
}

/// Effect of a key.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Picked<T> {
    /// The list stays open.
    Nothing,
    /// This was chosen.
    Chosen(T),
    /// Nothing was chosen.
    Left,
}

impl<T: Clone> List<T> {
    pub(super) fn new(title: &str, rows: Vec<(String, T)>) -> Self {
        let rows = rows.into_iter().map(|(text, value)| (one_line(&text).into_owned(), value)).collect();
        Self { title: one_line(title).into_owned(), rows, filter: String::new(), current: None, at: 0 }
    }

    /// Begins at this row and marks it.
    pub(super) fn beginning_at(self, row: Option<usize>) -> Self {
        Self { current: row, at: row.unwrap_or(0), ..self }
    }

    /// Takes a key; all keys are for the list while it is open.
    pub(super) fn key(&mut self, key: KeyPress) -> Picked<T> {
        let count = self.passing().count();
        match key.code {
            Code::Esc => return Picked::Left,
            Code::Enter => {
                return match self.passing().nth(self.at) {
                    Some((_, (_, value))) => Picked::Chosen(value.clone()),
                    None => Picked::Nothing,
                };
            }
            Code::Up => self.at = self.at.saturating_sub(1),
            Code::Down | Code::Tab => self.at = (self.at + 1).min(count.saturating_sub(1)),
            Code::PageUp => self.at = self.at.saturating_sub(MOST_ROWS),
            Code::PageDown => self.at = (self.at + MOST_ROWS).min(count.saturating_sub(1)),
            Code::Home => self.at = 0,
            Code::End => self.at = count.saturating_sub(1),
            Code::Backspace => {
                self.filter.pop();
                self.at = 0;
            }
            Code::Char('u') if key.ctrl => {
                self.filter.clear();
                self.at = 0;
            }
            Code::Char(c) if !key.ctrl && !key.alt => {
                self.filter.push(c);
                self.at = 0;
            }
            _ => {}
        }
        Picked::Nothing
    }

    /// Adds pasted text to the filter.
    pub(super) fn paste(&mut self, text: &str) {
        self.filter.push_str(&one_line(text));
        self.at = 0;
    }

    /// The rows of the list, at most `height`, the title first.
    pub(super) fn rows(&self, width: usize, height: usize, paint: Paint) -> Vec<StyledLine> {
        let room = height.saturating_sub(1).min(MOST_ROWS);
        let passing: Vec<(usize, &str)> =
            self.passing().map(|(row, (text, _))| (row, text.as_str())).collect();
        let top = (self.at + 1).saturating_sub(room);
        let place = match passing.len() {
            0 => "no match".to_owned(),
            count => format!("{}/{count}", self.at + 1),
        };
        let filter = if self.filter.is_empty() {
            "type to filter".to_owned()
        } else {
            format!("\"{}\"", one_line(&self.filter))
        };
        let title = format!("{} ({place}, {filter}; Enter chooses, Esc closes)", self.title);
        let mut lines = vec![StyledLine::of(Style::BOLD, cut(&title, width, paint))];
        for (index, (row, text)) in passing.iter().enumerate().skip(top).take(room) {
            let (sign, style) = if index == self.at {
                (paint.sign("› ", "> "), Style::BOLD.color(Color::Cyan))
            } else {
                ("  ", Style::PLAIN)
            };
            let mark = match self.current {
                Some(current) if current == *row => paint.sign("✓ ", "* "),
                Some(_) => "  ",
                None => "",
            };
            lines.push(StyledLine::of(style, cut(&format!("{sign}{mark}{text}"), width, paint)));
        }
        lines.truncate(height);
        lines
    }

    /// The rows that contain every word of the filter, each with its index.
    fn passing(&self) -> impl Iterator<Item = (usize, &(String, T))> {
        let words: Vec<String> = self.filter.split_whitespace().map(str::to_lowercase).collect();
        self.rows.iter().enumerate().filter(move |(_, (text, _))| {
            let text = text.to_lowercase();
            words.iter().all(|word| text.contains(word))
        })
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use talaria_render::Look;

    fn press(list: &mut List<usize>, code: Code) -> Picked<usize> {
        list.key(KeyPress { code, ctrl: false, alt: false, shift: false })
    }

    fn shown(list: &List<usize>, height: usize) -> String {
        let paint = Paint::new(Look { color: true, width: None, live: true, unicode: true });
        list.rows(60, height, paint).iter().map(|line| line.text() + "\n").collect()
    }

    fn list() -> List<usize> {
        let rows = ["gpt-5.5 high", "gpt-5.5 low", "o4\u{1b}[2J mini", "other"];
        List::new("model", rows.iter().enumerate().map(|(at, text)| ((*text).to_owned(), at)).collect())
    }

    #[test]
    fn typing_filters_and_enter_chooses_what_is_marked() {
        let mut list = list();
        expect![[r#"
            model (1/4, type to filter; Enter chooses, Esc closes)
            › gpt-5.5 high
              gpt-5.5 low
              o4␛[2J mini
              other
        "#]]
        .assert_eq(&shown(&list, 20));
        for c in "LOW 5".chars() {
            press(&mut list, Code::Char(c));
        }
        assert_eq!(press(&mut list, Code::Enter), Picked::Chosen(1));
        press(&mut list, Code::Char('z'));
        assert_eq!(press(&mut list, Code::Enter), Picked::Nothing);
        expect![[r#"
            model (no match, "LOW 5z"; Enter chooses, Esc closes)
        "#]]
        .assert_eq(&shown(&list, 20));
        assert_eq!(press(&mut list, Code::Esc), Picked::Left);
    }

    #[test]
    fn what_is_in_force_is_marked_and_where_the_list_begins() {
        let mut list = list().beginning_at(Some(2));
        expect![[r#"
            model (3/4, type to filter; Enter chooses, Esc closes)
                gpt-5.5 low
            › ✓ o4␛[2J mini
        "#]]
        .assert_eq(&shown(&list, 3));
        press(&mut list, Code::Char('o'));
        expect![[r#"
            model (1/3, "o"; Enter chooses, Esc closes)
            ›   gpt-5.5 low
              ✓ o4␛[2J mini
                other
        "#]]
        .assert_eq(&shown(&list, 9));
    }

    #[test]
    fn the_marked_row_is_always_seen() {
        let mut list = list();
        for _ in 0..9 {
            press(&mut list, Code::Down);
        }
        expect![[r#"
            model (4/4, type to filter; Enter chooses, Esc closes)
              o4␛[2J mini
            › other
        "#]]
        .assert_eq(&shown(&list, 3));
        press(&mut list, Code::Home);
        assert_eq!(press(&mut list, Code::Enter), Picked::Chosen(0));
    }
}
