//! Messages received by the Codex of this bench, with times: lines of a file that it writes and this side
//! reads.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// There is no notification when a file grows: polling is the only way. Times are in the file, so that this adds
/// nothing.
const LOOK: Duration = Duration::from_millis(1);
/// After this the bench gives up.
const PATIENCE: Duration = Duration::from_secs(120);

/// Something that arrived.
#[derive(Debug)]
pub(crate) struct Arrival {
    /// When.
    pub(crate) at: i64,
    /// When the answer to it was written.
    pub(crate) answered: i64,
    /// Its method, or what it was.
    pub(crate) what: String,
}

/// The clock of both sides, in nanoseconds.
pub(crate) fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos().try_into().unwrap()
}

impl fmt::Display for Arrival {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} {} {}", self.at, self.answered, self.what)
    }
}

/// The end that writes.
pub(crate) struct Log(File);

impl Log {
    pub(crate) fn open(path: &Path) -> Self {
        Self(OpenOptions::new().create(true).append(true).open(path).unwrap())
    }

    pub(crate) fn note(&mut self, arrival: &Arrival) {
        self.0.write_all(arrival.to_string().as_bytes()).unwrap();
    }
}

/// The end that reads, each line once.
pub(crate) struct Arrivals {
    file: BufReader<File>,
    line: String,
}

impl Arrivals {
    pub(crate) fn open(path: &Path) -> Self {
        drop(Log::open(path));
        Self { file: BufReader::new(File::open(path).unwrap()), line: String::new() }
    }

    /// Waits for a message and returns everything that arrived until then, with it at the end.
    pub(crate) async fn until(&mut self, what: &str) -> Vec<Arrival> {
        let arrives = async {
            let mut arrived: Vec<Arrival> = Vec::new();
            while arrived.last().is_none_or(|last| last.what != what) {
                match self.next() {
                    Some(arrival) => arrived.push(arrival),
                    None => tokio::time::sleep(LOOK).await,
                }
            }
            arrived
        };
        tokio::time::timeout(PATIENCE, arrives).await.unwrap()
    }

    fn next(&mut self) -> Option<Arrival> {
        self.file.read_line(&mut self.line).unwrap();
        // The last line may be half written.
        let line = self.line.strip_suffix('\n')?;
        let mut words = line.splitn(3, ' ');
        let mut time = || words.next().unwrap().parse().unwrap();
        let (at, answered) = (time(), time());
        let arrival = Arrival { at, answered, what: words.next().unwrap().to_owned() };
        self.line.clear();
        Some(arrival)
    }
}
