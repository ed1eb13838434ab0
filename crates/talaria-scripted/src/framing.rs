//! How frames become bytes: line endings, a byte-order mark, event names, pieces of any size. Pure.
//!
//! Everything here is legal in a stream of server-sent events, and a client must read the same from all of it.

use std::time::Duration;

use crate::frame::StreamFrame;

/// How the lines of an event stream end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum SseLineEnding {
    /// A line feed.
    #[default]
    Lf,
    /// A carriage return and a line feed.
    CrLf,
    /// A carriage return alone.
    Cr,
}

/// How an event stream is written. The default is how the services write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SseFraming {
    /// How lines end.
    pub ending: SseLineEnding,
    /// Begins with a byte-order mark.
    pub bom: bool,
    /// Writes the `event:` lines of the families that have them.
    pub names: bool,
    /// Writes a space after the colon of a field.
    pub space: bool,
    /// Spreads the data of an event over several `data:` lines.
    pub several_lines: bool,
    /// Sends at most this many bytes at once.
    pub piece: Option<usize>,
    /// Waits this long after each piece.
    pub pace: Option<Duration>,
}

impl Default for SseFraming {
    fn default() -> Self {
        Self {
            ending: SseLineEnding::Lf,
            bom: false,
            names: true,
            space: true,
            several_lines: false,
            piece: None,
            pace: None,
        }
    }
}

impl SseFraming {
    /// Writes frames as bytes; the byte-order mark is not among them.
    pub(crate) fn encode(&self, frames: &[StreamFrame]) -> Vec<u8> {
        let colon = if self.space { ": " } else { ":" };
        let mut lines = Vec::new();
        for frame in frames {
            match frame {
                StreamFrame::Event { name, data } => {
                    if let Some(name) = name.as_ref().filter(|_| self.names) {
                        lines.push(format!("event{colon}{name}"));
                    }
                    let text = match self.several_lines {
                        true => format!("{data:#}"),
                        false => data.to_string(),
                    };
                    lines.extend(text.lines().map(|line| format!("data{colon}{line}")));
                }
                StreamFrame::Done => lines.push(format!("data{colon}[DONE]")),
                StreamFrame::Comment(text) => lines.push(format!(":{text}")),
            }
            lines.push(String::new());
        }
        let ending = match self.ending {
            SseLineEnding::Lf => "\n",
            SseLineEnding::CrLf => "\r\n",
            SseLineEnding::Cr => "\r",
        };
        lines.iter().flat_map(|line| [line.as_bytes(), ending.as_bytes()].concat()).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text(framing: SseFraming, frames: &[StreamFrame]) -> String {
        String::from_utf8(framing.encode(frames)).unwrap()
    }

    #[test]
    fn each_option_changes_only_what_it_names() {
        let frames = [
            StreamFrame::typed(json!({ "type": "a" })),
            StreamFrame::Comment(" alive".into()),
            StreamFrame::Done,
        ];
        let usual = SseFraming::default();
        assert_eq!(text(usual, &frames), "event: a\ndata: {\"type\":\"a\"}\n\n: alive\n\ndata: [DONE]\n\n");
        let bare = SseFraming { names: false, space: false, ..usual };
        assert_eq!(text(bare, &frames[..1]), "data:{\"type\":\"a\"}\n\n");
        let windows = SseFraming { ending: SseLineEnding::CrLf, ..usual };
        assert_eq!(text(windows, &frames[2..]), "data: [DONE]\r\n\r\n");
        let spread = SseFraming { several_lines: true, ..usual };
        assert_eq!(text(spread, &frames[..1]), "event: a\ndata: {\ndata:   \"type\": \"a\"\ndata: }\n\n");
    }
}
