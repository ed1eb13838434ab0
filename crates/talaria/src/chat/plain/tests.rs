//! Messages about a question in plain mode, at a terminal, without an engine.

use std::sync::{Arc, Mutex};

use serde_json::json;
use talaria_core::event::Event;
use talaria_render::Look;
use talaria_tui::chat::contract::News;

use super::*;
use crate::chat::driver::tests::driver;
use crate::line_reader::{LineText, TypedLine};

#[derive(Clone, Debug, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A person at a terminal.
struct Sitting {
    plain: Plain<Written>,
    written: Written,
    _home: tempfile::TempDir,
}

impl Sitting {
    async fn begin() -> Self {
        let (driver, home) = driver(None).await;
        let written = Written::default();
        let look = Look { color: false, width: None, live: false, unicode: true };
        let page = Page::new(written.clone(), look);
        let lines = LineReader::of(io::empty(), Reading::Ahead);
        Self { plain: Plain::new(driver, Input::Terminal, lines, page), written, _home: home }
    }

    /// An event comes, and a question is put if it is time for one.
    fn event(&mut self, event: serde_json::Value) {
        self.plain.learn(&serde_json::from_value::<Event>(event).unwrap()).unwrap();
        self.rest();
    }

    fn rest(&mut self) {
        assert_eq!(self.plain.rest().unwrap(), Flow::Continue(()));
    }

    /// A line is typed for the question that is on the page, if one is.
    fn types(&mut self, text: &str) {
        let line =
            TypedLine { text: LineText::Line(text.to_owned()), asked: self.plain.asked.unwrap_or_default() };
        assert_eq!(self.plain.take_line(line).unwrap(), Flow::Continue(()));
        self.rest();
    }

    /// The output since the last call.
    fn reads(&self) -> String {
        String::from_utf8(std::mem::take(&mut self.written.0.lock().unwrap())).unwrap()
    }
}

fn opened(id: &str) -> serde_json::Value {
    json!({ "type": "request_opened", "id": id, "digest": "d-1", "kind": "permissions", "thread": "t", "item": "i",
        "cwd": null, "reason": null, "permissions": { "network": true, "files": [] } })
}

fn closed(id: &str) -> serde_json::Value {
    json!({ "type": "request_closed", "id": id, "decision": "decline", "by": "user" })
}

#[test]
fn a_pipe_waits_when_enough_of_it_is_held() {
    let mut held = VecDeque::from(["x".repeat(MOST_HELD / 2)]);
    assert!(has_room(&held));
    held.push_back("x".repeat(MOST_HELD / 2));
    assert!(!has_room(&held));
    assert!(!has_room(&vec![String::new(); MOST_HELD / 8].into()));
}

#[tokio::test]
async fn a_question_of_a_conversation_that_is_left_is_not_said_to_be_closed() {
    let thrown_away = "; Enter discards your draft answer\n";
    let mut sitting = Sitting::begin().await;
    sitting.event(opened("req-1"));
    assert!(sitting.reads().contains("[y] yes"), "it is put");
    sitting.plain.show(News::Opened(None)).unwrap();
    let read = sitting.reads();
    assert!(read.contains(&format!("the question was not answered{thrown_away}")), "{read}");
    assert!(!read.contains("no longer open"), "it still waits there: {read}");

    let mut sitting = Sitting::begin().await;
    sitting.event(opened("req-1"));
    sitting.reads();
    sitting.event(closed("req-1"));
    let read = sitting.reads();
    assert!(read.contains(&format!("the question is no longer open{thrown_away}")), "{read}");
}

#[tokio::test]
async fn nothing_is_said_to_wait_for_nobody_while_an_answer_is_not_confirmed() {
    let nothing = "no request is open here; /requests lists those elsewhere\n";
    let unconfirmed = "not decided: your previous answer is not confirmed yet; wait for the next question\n";
    for has_second in [false, true] {
        let mut sitting = Sitting::begin().await;
        sitting.types("/approve");
        assert!(sitting.reads().contains(nothing), "no question was put");
        sitting.event(opened("req-1"));
        if has_second {
            sitting.event(opened("req-2"));
        }
        sitting.types("/approve");
        sitting.reads();
        sitting.types("/approve");
        let read = sitting.reads();
        assert!(read.contains(unconfirmed) && !read.contains(nothing), "{has_second}: {read}");
        assert_eq!(sitting.plain.code, exit::USAGE);
        sitting.event(closed("req-1"));
        let read = sitting.reads();
        assert_eq!(read.contains("[y] yes"), has_second, "{read}");
        sitting.types("/deny");
        let read = sitting.reads();
        assert_eq!(read.contains(nothing), !has_second, "{read}");
        assert!(!read.contains(unconfirmed), "{read}");
        assert_eq!(sitting.plain.questions.is_answering(), has_second);
    }
}
