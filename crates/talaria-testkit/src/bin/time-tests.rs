//! Runs test binaries for cargo and keeps how long each and its tests took; `./test` prints the report at the end.
//!
//! `time-tests FILE PROGRAM ARGUMENTS…` runs a test binary, as a `runner` of cargo's configuration: its output is
//! passed on, its exit code is returned, and its times are added to the file. `time-tests FILE` prints the report.
//!
//! Durations of single tests need an unstable option of libtest; the variable that allows it on a stable compiler is set
//! for the test binary alone, because cargo would build the dependencies again for it.

#![allow(clippy::print_stdout, reason = "a program for people and scripts")]

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use talaria_testkit::timing::{TestTime, report};

/// How long the last lines may take after the end of the test binary: a process that a test left keeps its output open.
const LAST_LINES: Duration = Duration::from_secs(1);

fn main() -> Result<ExitCode> {
    let mut arguments = env::args_os().skip(1);
    let file = arguments.next().context("usage: time-tests FILE [PROGRAM ARGUMENTS…]")?;
    let Some(program) = arguments.next() else {
        let kept = fs::read_to_string(&file).with_context(|| format!("read {}", file.display()))?;
        print!("{}", report(&kept.lines().filter_map(TestTime::of_kept_line).collect::<Vec<_>>()));
        return Ok(ExitCode::SUCCESS);
    };
    run(Path::new(&file), &program, arguments)
}

fn run(file: &Path, program: &OsString, arguments: impl Iterator<Item = OsString>) -> Result<ExitCode> {
    let binary = name(Path::new(program));
    let began = Instant::now();
    let mut child = Command::new(program)
        .args(arguments)
        .args(["-Zunstable-options", "--report-time"])
        .env("RUSTC_BOOTSTRAP", "1")
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("run {}", program.display()))?;
    let output = child.stdout.take().context("the output of the test binary")?;
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || pass_on(output, &sender));
    let status = child.wait().context("wait for the test binary")?;
    let seconds = began.elapsed().as_secs_f64();
    let mut kept = TestTime { binary: binary.clone(), test: None, seconds }.to_kept_line();
    while let Ok(line) = lines.recv_timeout(LAST_LINES) {
        if let Some(time) = TestTime::of_printed_line(&binary, &line) {
            kept.push_str(&time.to_kept_line());
        }
    }
    let written = File::options().create(true).append(true).open(file);
    written
        .and_then(|mut file| file.write_all(kept.as_bytes()))
        .with_context(|| format!("write {}", file.display()))?;
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    Ok(code.and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}

/// Copies the output immediately, and sends it on line by line.
fn pass_on(mut output: impl Read, lines: &mpsc::Sender<String>) {
    let (mut buffer, mut line) = (vec![0; 64 * 1024], Vec::new());
    while let Ok(length @ 1..) = output.read(&mut buffer) {
        let mut stdout = io::stdout().lock();
        // The output is closed: the tests continue, and their result is the exit code.
        let _ = stdout.write_all(&buffer[..length]).and_then(|()| stdout.flush());
        let mut rest = BufReader::new(&buffer[..length]);
        while rest.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) && line.ends_with(b"\n") {
            let _ = lines.send(String::from_utf8_lossy(&line).into_owned());
            line.clear();
        }
    }
}

/// Returns the package that cargo names, and the binary without the hash in its file name.
fn name(program: &Path) -> String {
    let stem = program.file_stem().unwrap_or_default().to_string_lossy();
    let target = stem.rsplit_once('-').map_or(&*stem, |(target, _)| target);
    let package = env::var("CARGO_PKG_NAME").unwrap_or_default();
    let target = if target == package.replace('-', "_") { "unit" } else { target };
    format!("{package} {target}").trim_start().to_owned()
}
