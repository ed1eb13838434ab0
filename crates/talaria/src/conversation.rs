//! One turn with a person around it: events are shown, questions asked, Ctrl-C interrupts. `exec` and `demo` use it.

use std::io;
use std::sync::Mutex;
use std::time::Duration;

use talaria_core::event::Event;
use talaria_core::outcome::Report;
use talaria_core::request::Who;
use talaria_core::wire::call::UserInput;
use talaria_engine::session::{Command, Session};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

use crate::face::{Answerer, Face, Shared, TICK};
use crate::keyboard::TypedLine;
use crate::render::Renderer;
use crate::trouble::{Trouble, exit};

/// How many answers and wishes may wait for the session.
const COMMANDS: usize = 256;

/// What is said, and for how long.
#[derive(Debug)]
pub(crate) struct Say {
    pub(crate) input: Vec<UserInput>,
    pub(crate) limit: Option<Duration>,
}

/// Runs one turn. `Err` means that it was left before its end, or that nothing can be shown any more.
pub(crate) async fn run(
    session: &mut Session,
    say: Say,
    renderer: Box<dyn Renderer + Send>,
    answerer: Answerer,
    mut lines: Option<mpsc::UnboundedReceiver<TypedLine>>,
    stops: &mut Stops,
) -> Result<Report, Trouble> {
    let (commands, mut wishes) = mpsc::channel(COMMANDS);
    let face = Mutex::new(Face::new(renderer, answerer, commands.clone()));
    let shared = Shared(&face);
    let started = Event::SessionStarted(session.started().clone());
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
            line = next_line(&mut lines) => shared.with(|face| face.take_line(line)),
            () = stops.next() => {
                if asked_to_stop {
                    shared.with(Face::leave);
                    return Err(Trouble::new(exit::INTERRUPTED, "left before the turn ended")
                        .because("you pressed Ctrl-C twice; Codex was ended"));
                }
                asked_to_stop = true;
                // A full channel means that the session is being told so much already that this comes through later.
                let _ = commands.try_send(Command::Interrupt { by: Who::User });
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

async fn next_line(lines: &mut Option<mpsc::UnboundedReceiver<TypedLine>>) -> TypedLine {
    match lines {
        Some(receiver) => match receiver.recv().await {
            Some(line) => line,
            None => {
                // The reader is gone: as if the person had closed the input, once.
                *lines = None;
                None
            }
        },
        None => std::future::pending().await,
    }
}

/// The ways in which a person or the system says stop.
#[derive(Debug)]
pub(crate) struct Stops {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Stops {
    /// From now on signals no longer end the program by themselves.
    pub(crate) fn listen() -> Result<Self, Trouble> {
        let listen = |kind| {
            signal(kind)
                .map_err(|error| Trouble::new(exit::FAILED, "cannot listen for Ctrl-C").because(error))
        };
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hang_up: listen(SignalKind::hangup())?,
        })
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hang_up.recv() => {}
        }
    }
}

/// Does `work` unless somebody says stop first; then the work is dropped.
pub(crate) async fn unless_stopped<T>(
    stops: &mut Stops,
    work: impl Future<Output = Result<T, Trouble>>,
) -> Result<T, Trouble> {
    tokio::select! {
        done = work => done,
        () = stops.next() => Err(Trouble::new(exit::INTERRUPTED, "stopped before the turn began")),
    }
}
