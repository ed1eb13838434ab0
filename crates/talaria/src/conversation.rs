//! One turn with a person around it: events are shown, questions asked, Ctrl-C interrupts. `exec` and `demo` use it.

use std::io;
use std::sync::Mutex;
use std::time::Duration;

use talaria_core::event::Event;
use talaria_core::outcome::Report;
use talaria_core::request::Who;
use talaria_core::wire::call::UserInput;
use talaria_engine::session::{Command, Session};
use tokio::sync::mpsc;

use crate::face::{Answerer, Face, Shared, TICK};
use crate::keyboard::{Lines, Typed};
use crate::render::Renderer;
use crate::stops::Stops;
use crate::trouble::{Trouble, exit};

/// What is said, and for how long.
#[derive(Debug)]
pub(crate) struct Say {
    pub(crate) input: Vec<UserInput>,
    pub(crate) limit: Option<Duration>,
}

/// Runs one turn. A turn that the person left before its end is `lost`. `Err` means that nothing can be shown any more.
pub(crate) async fn run(
    session: &mut Session,
    say: Say,
    renderer: Box<dyn Renderer + Send>,
    answerer: Answerer,
    mut lines: Option<Lines>,
    stops: &mut Stops,
) -> Result<Report, Trouble> {
    let (commands, mut wishes) = mpsc::unbounded_channel();
    let face = Mutex::new(Face::new(renderer, answerer, commands.clone()));
    let shared = Shared(&face);
    let started = Event::SessionStarted(Box::new(session.started().clone()));
    shared.with(|face| face.show(&started));
    let mut watcher = Shared(&face);
    let turn = session.run_turn(say.input, say.limit, &mut wishes, &mut watcher);
    tokio::pin!(turn);
    let mut ticks = tokio::time::interval(TICK);
    let mut asked_to_stop = false;
    let report = loop {
        tokio::select! {
            report = &mut turn => break report,
            _ = ticks.tick() => shared.with(Face::tick),
            typed = next_line(&mut lines) => shared.with(|face| face.take_line(typed)),
            () = stops.next() => {
                if asked_to_stop {
                    break shared.with(Face::leave);
                }
                asked_to_stop = true;
                // A session that takes no commands any more has ended.
                let _ = commands.send(Command::Interrupt { by: Who::User });
            }
        }
    };
    shared.with(|face| match face.broken() {
        // Whoever read our output has seen enough.
        Some(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Trouble::new(exit::FAILED, "cannot write the output").because(error))
        }
        _ => Ok(report),
    })
}

/// The next line that was typed. The reader says why it ends before it does; then nothing comes any more.
async fn next_line(lines: &mut Option<Lines>) -> Typed {
    if let Some(receiver) = lines
        && let Some(typed) = receiver.recv().await
    {
        return typed;
    }
    std::future::pending().await
}
