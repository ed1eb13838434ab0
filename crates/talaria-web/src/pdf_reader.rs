//! Has PDF files parsed by a process of their own, with limits of time, input and output.
//!
//! A parser of hostile files may panic, overflow its stack or never end; none of that may reach the engine. So the bytes go
//! to a program on its standard input, and one JSON object comes back. A process that ends without it, answers
//! with too much or takes too long is killed, and the file counts as not readable. No byte of the file is parsed here.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use tokio::time::timeout;

use crate::fetch::FetchedBody;

/// How long a file may take.
const TIME: Duration = Duration::from_secs(8);
/// The longest answer of the process, in bytes: a text of 2 MB, each letter of it escaped.
const MOST_OUTPUT: u64 = 16_000_000;

/// The text read from a PDF file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PdfText {
    /// The title in the file's own information.
    pub title: Option<String>,
    /// The text, each page after a line with its number.
    pub text: String,
    /// How many pages have text that cannot be read, or none.
    pub unread: usize,
    /// There is more text than the limit.
    pub is_cut: bool,
}

/// The answer of the process that parses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PdfReading {
    /// The text.
    Text(PdfText),
    /// The bytes are something else.
    NotPdf,
    /// It needs a password.
    Encrypted,
    /// Its structure cannot be read.
    Damaged,
    /// There is no letter in it.
    NoText,
}

/// Why there is no text.
#[derive(Debug, thiserror::Error)]
pub enum PdfFailure {
    /// The file was cut.
    #[error("the PDF file is longer than 20 MB, and a part of one cannot be read")]
    TooLong,
    /// It is something else.
    #[error("its server says that it is a PDF file, and it is not one")]
    NotPdf,
    /// It needs a password.
    #[error("the PDF file is encrypted with a password")]
    Encrypted,
    /// Its structure cannot be read.
    #[error("the PDF file is damaged or incomplete")]
    Damaged,
    /// There is no letter in it.
    #[error("the PDF file has no text; its pages may be pictures")]
    NoText,
    /// The parser failed, or reached one of its limits.
    #[error("the PDF file cannot be read: its parser ended without a result")]
    Failed,
    /// It takes too long.
    #[error("the PDF file was not read within {} s", .0.as_secs())]
    TooSlow(Duration),
    /// The process cannot be started.
    #[error("PDF files cannot be read: the parser does not start: {0}")]
    NotStarted(io::Error),
}

/// Starts a process for each file.
#[derive(Clone, Debug)]
pub struct PdfReader {
    program: PathBuf,
    arguments: Vec<OsString>,
    /// How long a file may take.
    time: Duration,
}

impl PdfReader {
    /// Uses this program, which reads a file on standard input and prints a [`PdfReading`] as JSON.
    pub fn new(program: PathBuf, arguments: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        Self { program, arguments: arguments.into_iter().map(Into::into).collect(), time: TIME }
    }

    /// Reads a file. Dropping the future kills the process.
    pub async fn read(&self, fetched: &FetchedBody) -> Result<PdfText, PdfFailure> {
        if fetched.is_cut {
            return Err(PdfFailure::TooLong);
        }
        let output = timeout(self.time, self.run(&fetched.bytes)).await;
        let output = output.map_err(|_| PdfFailure::TooSlow(self.time))??;
        match serde_json::from_slice(&output).map_err(|_| PdfFailure::Failed)? {
            PdfReading::Text(text) => Ok(text),
            PdfReading::NotPdf => Err(PdfFailure::NotPdf),
            PdfReading::Encrypted => Err(PdfFailure::Encrypted),
            PdfReading::Damaged => Err(PdfFailure::Damaged),
            PdfReading::NoText => Err(PdfFailure::NoText),
        }
    }

    /// Feeds the process and collects its answer, both at once: neither waits for the other. Its answer ends the feeding.
    async fn run(&self, bytes: &[u8]) -> Result<Vec<u8>, PdfFailure> {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).env_clear().current_dir("/").kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(PdfFailure::NotStarted)?;
        let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(PdfFailure::Failed);
        };
        let feed = async move {
            // One that has seen enough closes the pipe.
            let _ = stdin.write_all(bytes).await;
            drop(stdin);
            std::future::pending::<()>().await;
        };
        let mut output = Vec::new();
        let mut stdout = stdout.take(MOST_OUTPUT);
        let read = tokio::select! {
            read = stdout.read_to_end(&mut output) => read,
            () = feed => return Err(PdfFailure::Failed),
        };
        read.map_err(|_| PdfFailure::Failed)?;
        // Its end is waited for, so that no process is left; one that still writes beyond the limit gets no reader.
        drop(stdout);
        let ended = child.wait().await.map_err(|_| PdfFailure::Failed)?;
        if ended.success() { Ok(output) } else { Err(PdfFailure::Failed) }
    }
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::*;

    fn fetched(bytes: &[u8]) -> FetchedBody {
        FetchedBody {
            url: Url::parse("https://example.org/a.pdf").unwrap(),
            status: 200,
            content_type: Some("application/pdf".to_owned()),
            bytes: bytes.to_vec(),
            is_cut: false,
        }
    }

    /// A shell script in the place of the parser.
    fn parser(script: &str) -> PdfReader {
        PdfReader::new("/bin/sh".into(), ["-c", script])
    }

    async fn failure(script: &str) -> PdfFailure {
        parser(script).read(&fetched(&vec![b'x'; 300_000])).await.unwrap_err()
    }

    #[tokio::test]
    async fn a_parser_that_fails_in_any_way_is_a_file_that_cannot_be_read() {
        for script in ["exit 3", "kill -SEGV $$", "cat >/dev/null; echo '{'", "echo '\"unknown\"'", "yes"] {
            assert!(matches!(failure(script).await, PdfFailure::Failed), "{script}");
        }
        let missing = PdfReader::new("/nowhere/parser".into(), ["x"]).read(&fetched(b"")).await;
        assert!(matches!(missing, Err(PdfFailure::NotStarted(_))), "{missing:?}");
    }

    #[tokio::test]
    async fn a_parser_that_never_ends_is_killed_after_the_limit() {
        let directory = std::env::temp_dir().join(format!("talaria-pdf-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let held = directory.join("held");
        assert!(std::process::Command::new("mkfifo").arg(&held).status().unwrap().success());
        // Its only end is to be killed, which closes the pipe.
        let script = format!("exec 9>{}; cat >/dev/null; exec sleep 1000", held.display());
        let reader = PdfReader { time: Duration::from_millis(500), ..parser(&script) };
        // With a writer of our own, opening does not wait for the other one.
        let own = std::fs::File::options().read(true).write(true).open(&held).unwrap();
        let watched = std::fs::File::open(&held).unwrap();
        assert!(matches!(reader.read(&fetched(b"x")).await, Err(PdfFailure::TooSlow(_))));
        drop(own);
        let closed = tokio::task::spawn_blocking(move || io::read_to_string(watched));
        assert_eq!(timeout(Duration::from_secs(60), closed).await.unwrap().unwrap().unwrap(), "");
        std::fs::remove_dir_all(&directory).unwrap();
    }

    #[tokio::test]
    async fn the_answers_of_a_parser_are_distinguished() {
        let say = |reading: &PdfReading| {
            format!("cat >/dev/null; echo '{}'", serde_json::to_string(reading).unwrap())
        };
        let text = PdfText { text: "hello".to_owned(), ..PdfText::default() };
        let read = parser(&say(&PdfReading::Text(text.clone()))).read(&fetched(b"x")).await;
        assert_eq!(read.unwrap(), text);
        assert!(matches!(failure(&say(&PdfReading::NotPdf)).await, PdfFailure::NotPdf));
        assert!(matches!(failure(&say(&PdfReading::Encrypted)).await, PdfFailure::Encrypted));
        assert!(matches!(failure(&say(&PdfReading::Damaged)).await, PdfFailure::Damaged));
        assert!(matches!(failure(&say(&PdfReading::NoText)).await, PdfFailure::NoText));
        let cut = FetchedBody { is_cut: true, ..fetched(b"x") };
        assert!(matches!(parser("exit 0").read(&cut).await, Err(PdfFailure::TooLong)));
    }
}
