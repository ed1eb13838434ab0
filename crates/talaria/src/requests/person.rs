//! Asks the person at the terminal about one request, like a running turn does.

use std::io;

use talaria_core::api::{Numbered, RequestInfo};
use talaria_core::event::Event;
use talaria_core::next_step::NextStep;
use talaria_core::request::{Answer, Ask};
use tokio::sync::mpsc;

use crate::exec::person_or;
use crate::face::{Answerer, Face, TICK, Wish};
use crate::look;
use crate::stops::Stops;
use crate::trouble::{Trouble, exit};
use talaria_render::TerminalRenderer;

/// Asks the person; `None` where there is no terminal.
pub(super) async fn ask(request: &RequestInfo, ask: &Ask) -> Result<Option<Answer>, Trouble> {
    let renderer = Box::new(TerminalRenderer::new(io::stdout(), look::of_stdout()));
    let (answerer, Some(mut lines)) = person_or(Answerer::Elsewhere, renderer.as_ref()) else {
        return Ok(None);
    };
    let mut stops = Stops::listen()?;
    // Unbounded in type, bounded by use: the first wish ends it.
    let (wishes, mut wanted) = mpsc::unbounded_channel();
    let mut face = Face::new(renderer, answerer, 0, wishes);
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
    let mut ticks = tokio::time::interval(TICK);
    loop {
        tokio::select! {
            _ = ticks.tick() => face.tick(),
            Some(typed) = lines.recv() => face.take_line(typed),
            wish = wanted.recv() => return match wish {
                Some(Wish::Answer { answer, .. }) => Ok(Some(answer)),
                _ => Err(given_up()),
            },
            stop = stops.next() => return Err(given_up().exiting(stop.exit())),
        }
    }
}

fn given_up() -> Trouble {
    Trouble::new(exit::INTERRUPTED, "you did not answer").try_this(NextStep::ListRequests)
}
