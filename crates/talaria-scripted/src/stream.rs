//! Plays the steps of a reply: waits where they wait, and writes what the rendering makes of them.
//!
//! Cuts and pieces are counted in bytes of the body here, so that they fall anywhere, also inside a character.

use std::io::Result;

use serde_json::Value;
use tokio::io::{AsyncWrite, AsyncWriteExt};

use crate::frame::StreamFrame;
use crate::http;
use crate::rendering::Rendering;
use crate::step::{ReplyEnd, Step, StreamAnswer, StreamCut};

/// Streams a reply.
pub(crate) async fn play<W: AsyncWrite + Unpin>(
    writer: &mut W,
    mut rendering: Rendering,
    answer: &StreamAnswer,
) -> Result<()> {
    let mut body = Body { writer, answer, sent: 0 };
    if answer.framing.bom && body.send(b"\xef\xbb\xbf").await? == Progress::Over {
        return Ok(());
    }
    let begun = rendering.begin();
    if body.send_frames(&begun).await? == Progress::Over {
        return Ok(());
    }
    let mut is_finished = false;
    for step in &answer.steps {
        let frames = match step {
            Step::Text(chunk) => rendering.text(chunk),
            Step::Refusal(chunk) => rendering.refusal(chunk),
            Step::StartMessage(phase) => rendering.start_message(*phase),
            Step::Reasoning(chunk) => rendering.reasoning(chunk),
            Step::RawReasoning(chunk) => rendering.raw_reasoning(chunk),
            Step::Seal(seal) => rendering.seal(seal),
            Step::Call(call) => rendering.call(call),
            Step::Event(event) => vec![StreamFrame::typed(event.clone())],
            Step::Comment(text) => vec![StreamFrame::Comment(text.clone())],
            Step::Ping => rendering.ping(),
            Step::Finish(end) => {
                is_finished = true;
                rendering.finish(*end)
            }
            Step::Bytes(bytes) => match body.send(bytes).await? {
                Progress::More => continue,
                Progress::Over => return Ok(()),
            },
            Step::Gate(gate) => {
                gate.pass().await;
                continue;
            }
            Step::Pause(time) => {
                tokio::time::sleep(*time).await;
                continue;
            }
            Step::Failed { code, message } => return body.end_with(&rendering.failed(code, message)).await,
            Step::ErrorFrame { code, message } => {
                return body.end_with(&rendering.error(code, message)).await;
            }
            Step::End => return http::end_stream(body.writer).await,
            Step::Drop => return Ok(()),
            Step::Stall => std::future::pending().await,
            Step::StallWithPings(every) => loop {
                tokio::time::sleep(*every).await;
                if body.send_frames(&rendering.ping()).await? == Progress::Over {
                    return Ok(());
                }
            },
        };
        if body.send_frames(&frames).await? == Progress::Over {
            return Ok(());
        }
    }
    let last = match is_finished {
        true => Vec::new(),
        false => rendering.finish(ReplyEnd::Natural),
    };
    body.end_with(&last).await
}

/// The same reply as one value, for a request without a stream; waits and faults are left out.
pub(crate) fn whole(mut rendering: Rendering, answer: &StreamAnswer) -> Value {
    rendering.begin();
    let mut end = ReplyEnd::Natural;
    for step in &answer.steps {
        match step {
            Step::Text(chunk) => drop(rendering.text(chunk)),
            Step::Refusal(chunk) => drop(rendering.refusal(chunk)),
            Step::StartMessage(phase) => drop(rendering.start_message(*phase)),
            Step::Reasoning(chunk) => drop(rendering.reasoning(chunk)),
            Step::RawReasoning(chunk) => drop(rendering.raw_reasoning(chunk)),
            Step::Seal(seal) => drop(rendering.seal(seal)),
            Step::Call(call) => drop(rendering.call(call)),
            Step::Finish(how) => end = *how,
            _ => {}
        }
    }
    rendering.finish_whole(end)
}

/// Writes an answer whose every byte is in the steps.
pub(crate) async fn play_raw<W: AsyncWrite + Unpin>(writer: &mut W, steps: &[Step]) -> Result<()> {
    for step in steps {
        match step {
            Step::Bytes(bytes) => {
                writer.write_all(bytes).await?;
                writer.flush().await?;
            }
            Step::Gate(gate) => gate.pass().await,
            Step::Pause(time) => tokio::time::sleep(*time).await,
            Step::Stall => std::future::pending().await,
            _ => break,
        }
    }
    writer.shutdown().await
}

#[derive(PartialEq, Eq)]
enum Progress {
    More,
    /// The cut was reached, and the body has ended as it says.
    Over,
}

struct Body<'a, W> {
    writer: &'a mut W,
    answer: &'a StreamAnswer,
    sent: usize,
}

impl<W: AsyncWrite + Unpin> Body<'_, W> {
    async fn send_frames(&mut self, frames: &[StreamFrame]) -> Result<Progress> {
        let bytes = self.answer.framing.encode(frames);
        self.send(&bytes).await
    }

    async fn send(&mut self, bytes: &[u8]) -> Result<Progress> {
        let room = self.answer.cut.map_or(usize::MAX, |(at, _)| at - self.sent);
        let allowed = &bytes[..bytes.len().min(room)];
        for piece in allowed.chunks(self.answer.framing.piece.unwrap_or(usize::MAX).max(1)) {
            http::send_chunk(self.writer, piece).await?;
            if let Some(pace) = self.answer.framing.pace {
                tokio::time::sleep(pace).await;
            }
        }
        self.sent += allowed.len();
        match self.answer.cut {
            Some((at, how)) if self.sent == at => {
                if how == StreamCut::Clean {
                    http::end_stream(self.writer).await?;
                }
                Ok(Progress::Over)
            }
            _ => Ok(Progress::More),
        }
    }

    async fn end_with(&mut self, frames: &[StreamFrame]) -> Result<()> {
        match self.send_frames(frames).await? {
            Progress::More => http::end_stream(self.writer).await,
            Progress::Over => Ok(()),
        }
    }
}
