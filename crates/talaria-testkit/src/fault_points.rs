//! The other end of the engine's fault points: a socket at which a test waits until the engine reaches a point, and
//! holds it there while it kills a process.
//!
//! An engine with the feature `faults` connects at every named point, writes the name, and waits until it is
//! released. A point without a trap continues at once.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// The variable that names the socket to the engine.
pub const VARIABLE: &str = "TALARIA_FAULTS";

/// How the names of the points begin that an engine passes before it answers.
const START: &str = "open:";

/// All points of all engines that were given this socket.
#[derive(Debug)]
pub struct FaultPoints {
    socket: PathBuf,
    shared: Arc<Mutex<Shared>>,
    listener: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct Shared {
    traps: Vec<Set>,
    passed: Vec<String>,
}

#[derive(Debug)]
struct Set {
    name: String,
    /// How many more are let pass before.
    skip: usize,
    caught: oneshot::Sender<HeldEngine>,
}

/// Waits for an engine at a point.
#[derive(Debug)]
pub struct Trap(oneshot::Receiver<HeldEngine>);

/// An engine that is held at a point. It continues when this is dropped.
#[derive(Debug)]
pub struct HeldEngine {
    _stream: UnixStream,
}

impl FaultPoints {
    /// Listens at `socket`.
    pub fn listen(socket: &Path) -> Self {
        let listener = match UnixListener::bind(socket) {
            Ok(listener) => listener,
            Err(cause) => panic!("cannot listen for fault points at {}: {cause}", socket.display()),
        };
        let shared = Arc::<Mutex<Shared>>::default();
        let accepting = Arc::clone(&shared);
        let listener = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(take(stream, Arc::clone(&accepting)));
            }
        });
        Self { socket: socket.to_owned(), shared, listener }
    }

    /// Where engines find it.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Holds the next engine at the point `name`, or at any but those of its start for `*`, after `skip` others
    /// have passed.
    pub fn trap(&self, name: &str, skip: usize) -> Trap {
        let (caught, trap) = oneshot::channel();
        lock(&self.shared).traps.push(Set { name: name.to_owned(), skip, caught });
        Trap(trap)
    }

    /// Removes every trap that has caught no engine.
    pub fn clear(&self) {
        lock(&self.shared).traps.clear();
    }

    /// The points that were reached since the last call, in order.
    pub fn passed(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.shared).passed)
    }
}

impl Drop for FaultPoints {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

impl Trap {
    /// Waits until an engine is held; `None` if the trap was cleared.
    pub async fn reached(&mut self) -> Option<HeldEngine> {
        (&mut self.0).await.ok()
    }
}

async fn take(stream: UnixStream, shared: Arc<Mutex<Shared>>) {
    let (mut reader, mut name) = (BufReader::new(stream), String::new());
    // An engine that was killed meanwhile says nothing.
    if reader.read_line(&mut name).await.is_err() || !name.ends_with('\n') {
        return;
    }
    let name = name.trim_end();
    let mut shared = lock(&shared);
    shared.passed.push(name.to_owned());
    // Not while an engine starts: it cannot be reached then.
    let is_any = |set: &Set| set.name == "*" && !name.starts_with(START);
    let Some(at) = shared.traps.iter().position(|set| set.name == name || is_any(set)) else { return };
    match &mut shared.traps[at].skip {
        0 => {
            let set = shared.traps.swap_remove(at);
            // The trap was dropped: it continues.
            let _ = set.caught.send(HeldEngine { _stream: reader.into_inner() });
        }
        skip => *skip -= 1,
    }
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    async fn reach(points: &FaultPoints, name: &str) -> UnixStream {
        let mut stream = UnixStream::connect(points.socket()).await.unwrap();
        stream.write_all(format!("{name}\n").as_bytes()).await.unwrap();
        stream
    }

    #[tokio::test]
    async fn only_the_trapped_point_holds_and_the_others_pass() {
        let folder = tempfile::tempdir().unwrap();
        let points = FaultPoints::listen(&folder.path().join("points"));
        let mut trap = points.trap("b", 1);
        let mut end = Vec::new();
        for name in ["a", "open:lock", "b"] {
            assert_eq!(reach(&points, name).await.read_to_end(&mut end).await.unwrap(), 0);
        }
        let mut held_up = reach(&points, "b").await;
        let held = trap.reached().await.unwrap();
        assert_eq!(points.passed(), ["a", "open:lock", "b", "b"]);
        drop(held);
        assert_eq!(held_up.read_to_end(&mut end).await.unwrap(), 0);
        let _trap = points.trap("*", 0);
        assert_eq!(reach(&points, "open:lock").await.read_to_end(&mut end).await.unwrap(), 0);
    }
}
