//! Asks the person at the terminal about one request, like a running turn does.

use std::io;
use std::ops::ControlFlow;

use talaria_core::api::{Numbered, RequestInfo};
use talaria_core::event::Event;
use talaria_core::next_step::NextStep;
use talaria_core::request::{Answer, Ask};

use crate::exec::person_or;
use crate::face::{Answerer, Face, Wish};
use crate::line_loop::{self, LineFrontEnd, NoNews};
use crate::line_reader::LineReader;
use crate::look;
use crate::stops::{Stop, Stops};
use crate::trouble::{Trouble, exit};
use talaria_render::TerminalRenderer;

/// Asks the person; `None` where there is no terminal.
pub(super) async fn ask(request: &RequestInfo, ask: &Ask) -> Result<Option<Answer>, Trouble> {
    let renderer = Box::new(TerminalRenderer::new(io::stdout(), look::of_stdout()));
    let answerer = person_or(Answerer::Elsewhere, renderer.as_ref());
    if !matches!(answerer, Answerer::Person(_)) {
        return Ok(None);
    }
    let mut stops = Stops::listen()?;
    let mut face = Face::new(renderer, answerer, 0);
    face.show(&Numbered {
        session: request.session.clone(),
        seq: 0,
        at: request.since,
        turn: None,
        event: Event::RequestOpened {
            id: request.id.clone(),
            ask: Box::new(ask.clone()),
            place: request.place,
            digest: request.digest.clone(),
        },
    });
    let mut asking = Asking { face, news: NoNews };
    line_loop::run(&mut asking, &mut stops).await.map(Some)
}

/// A request while it is put; its first answer ends it.
struct Asking {
    face: Face,
    news: NoNews,
}

type Flow = ControlFlow<Answer>;

impl LineFrontEnd for Asking {
    type News = NoNews;
    type Signals = Stops;
    type End = Answer;
    type Error = Trouble;

    fn inputs(&mut self) -> (&mut NoNews, Option<&mut LineReader>) {
        (&mut self.news, self.face.lines())
    }

    fn take_news(&mut self, news: std::convert::Infallible) -> Result<Flow, Trouble> {
        match news {}
    }

    fn rest(&mut self) -> Result<Flow, Trouble> {
        match self.face.take_wishes().into_iter().next() {
            None => Ok(Flow::Continue(())),
            Some(Wish::Answer { answer, .. }) => Ok(Flow::Break(answer)),
            Some(Wish::Interrupt | Wish::Leave) => Err(given_up()),
        }
    }

    fn take_signal(&mut self, stop: Stop) -> Result<Flow, Trouble> {
        Err(given_up().exiting(stop.exit()))
    }

    fn face(&mut self) -> Option<&mut Face> {
        Some(&mut self.face)
    }
}

fn given_up() -> Trouble {
    Trouble::new(exit::INTERRUPTED, "you did not answer").try_this(NextStep::ListRequests)
}
