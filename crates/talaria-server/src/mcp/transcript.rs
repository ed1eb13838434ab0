//! A conversation as Markdown in a bounded size: its beginning and its end, with the size of what was left out.

use std::collections::VecDeque;

use talaria_core::export::{self, MarkdownWriter, PatchBook};
use talaria_core::transcript::cap;
use talaria_guard::plain;

use crate::client::{Client, ClientError};

/// How much is given at most, in bytes, apart from a line that says what was left out.
const LIMIT: usize = 512 * 1024;
/// How many messages are read at once.
const PAGE: usize = 200;

/// Reads the transcript of a task.
pub(super) async fn read(engine: &Client, task: &str) -> Result<String, ClientError> {
    let task = engine.task(task).await?;
    let id = task.session.as_str();
    let mut text = Bounded::new(LIMIT);
    let detail = engine.session(id).await?;
    text.push(&export::head(&detail));
    // A bounded text names the files of a patch; their content is too long for it.
    let (mut writer, mut patches) = (MarkdownWriter::new(&detail), PatchBook::default());
    // Text before the first event is at 0.
    let mut after = -1;
    loop {
        let page = engine.messages(id, after, PAGE).await?;
        let is_over = page.last().is_none_or(|last| last.seq <= after);
        if is_over {
            break;
        }
        for stored in page {
            after = stored.seq;
            text.push(&writer.message(&stored, &mut patches));
        }
    }
    Ok(text.finish())
}

/// The beginning and the end of a streamed text.
struct Bounded {
    half: usize,
    head: String,
    tail: VecDeque<String>,
    tail_bytes: usize,
    left_out: usize,
}

impl Bounded {
    fn new(limit: usize) -> Self {
        Self { half: limit / 2, head: String::new(), tail: VecDeque::new(), tail_bytes: 0, left_out: 0 }
    }

    fn push(&mut self, piece: &str) {
        let piece = plain::with_tabs(piece);
        // No piece fills more than a quarter, so that there is always a beginning and an end.
        let piece = cap(&piece, self.half / 2);
        if self.tail.is_empty() && self.head.len() + piece.len() <= self.half {
            self.head.push_str(&piece);
            return;
        }
        self.tail_bytes += piece.len();
        self.tail.push_back(piece.into_owned());
        while self.tail_bytes > self.half
            && let Some(oldest) = self.tail.pop_front()
        {
            self.tail_bytes -= oldest.len();
            self.left_out += oldest.len();
        }
    }

    fn finish(self) -> String {
        let mut text = self.head;
        if self.left_out > 0 {
            text.push_str(&format!("\n[{} bytes left out]\n", self.left_out));
        }
        text.extend(self.tail);
        text
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bounded(limit: usize, pieces: &[String]) -> String {
        let mut text = Bounded::new(limit);
        pieces.iter().for_each(|piece| text.push(piece));
        text.finish()
    }

    #[test]
    fn a_short_text_is_whole_and_harmless() {
        assert_eq!(bounded(100, &["one\n".to_owned(), "\ttwo \u{1b}[2J".to_owned()]), "one\n\ttwo ␛[2J");
    }

    proptest! {
        #[test]
        fn a_long_text_keeps_its_beginning_and_its_end(count in 100_usize..300, size in 1_usize..20) {
            let pieces: Vec<String> = (0..count).map(|n| format!("{n:0size$};")).collect();
            let text = bounded(200, &pieces);
            let whole: String = pieces.concat();
            let (head, rest) = text.split_once("\n[").unwrap();
            let (left_out, tail) = rest.split_once(" bytes left out]\n").unwrap();
            prop_assert!(whole.starts_with(head) && whole.ends_with(tail) && !head.is_empty() && !tail.is_empty());
            prop_assert_eq!(head.len() + tail.len() + left_out.parse::<usize>().unwrap(), whole.len());
            prop_assert!(head.len() + tail.len() <= 200);
        }
    }
}
