//! `cargo bench -p talaria --bench keeper`: how much later a command starts below a keeper than in `codex sandbox` alone.
//! Prints; fails nothing.
//!
//! The command prints the time at which it runs, so that only the start counts. Both ways in turns, in one run.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a bench stops at the first surprise and prints"
)]

use std::ffi::OsString;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use talaria_core::policy::Sandbox;
use talaria_guard::place::Place;
use talaria_testkit::{Codex, CodexHome};
use talaria_tools::keeper::{
    CommandInput, CommandRoom, CommandState, KeeperProgram, KeptCommandSpec, SpoolLimits,
};
use talaria_tools::sandbox::{
    ExcludedTemporary, NetworkAccess, SandboxBounds, SandboxLeave, SandboxProgram, launch,
};

const TALARIA: &str = env!("CARGO_BIN_EXE_talaria");
const RUNS: usize = 40;

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap()
}

/// What the command printed: nanoseconds since 1970.
fn printed(bytes: &[u8]) -> Duration {
    let text = std::str::from_utf8(bytes).unwrap();
    Duration::from_nanos(text.trim().parse().unwrap_or_else(|_| panic!("printed {text:?}")))
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    println!(
        "{:<44} {:>12} {:>12} {:>10}",
        "from the wish to the running command", "alone", "with keeper", "aim"
    );
    for codex in Codex::both() {
        for mode in [Sandbox::WorkspaceWrite, Sandbox::DangerFullAccess] {
            measure(&codex, mode).await;
        }
    }
}

async fn measure(codex: &Codex, mode: Sandbox) {
    let home = CodexHome::with_config("");
    let program = SandboxProgram { binary: codex.native.clone(), version: codex.version.parse().unwrap() };
    let bounds = SandboxBounds {
        mode,
        writable_roots: Vec::new(),
        excluded: ExcludedTemporary::default(),
        network: NetworkAccess::Off,
        hiding: None,
    };
    let command = ["date", "+%s%N"].map(str::to_owned);
    let argv = launch(Some(&program), &bounds, &home.work(), SandboxLeave::Stay, &command).unwrap().argv;
    let mut environment: Vec<(OsString, OsString)> = vec![("PATH".into(), std::env::var_os("PATH").unwrap())];
    environment.extend(home.environment().into_iter().map(|(name, value)| (name.into(), value)));
    let keeper = KeeperProgram { program: TALARIA.into(), arguments: vec!["keep-command".into()] };
    let room = CommandRoom::new(&home.root().join("commands"), keeper);
    let spec = KeptCommandSpec {
        argv: argv.clone(),
        cwd: home.work().display().to_string(),
        input: CommandInput::Nothing,
        place: Place::Inside,
        limits: SpoolLimits::default(),
    };
    let (mut alone, mut kept) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let began = now();
        let mut plain = Command::new(&argv[0]);
        plain.args(&argv[1..]).current_dir(home.work()).env_clear().envs(environment.iter().cloned());
        let output = plain.stderr(Stdio::null()).output().unwrap();
        alone.push(printed(&output.stdout) - began);

        let began = now();
        let id = room.prepare(&spec).unwrap();
        let command = room.start(&id, &environment).unwrap();
        let CommandState::Ended(_) = command.wait(Duration::from_secs(60)).await.unwrap() else {
            panic!("it did not end")
        };
        kept.push(printed(&command.output(0).read(1000).unwrap().bytes) - began);
        command.remove().await.unwrap();
    }
    let (alone, kept) = (median(alone), median(kept));
    let figure = format!("codex {} {}", codex.version, mode.as_str());
    println!(
        "{figure:<44} {:>9.1} ms {:>9.1} ms {:>10}",
        alone.as_secs_f64() * 1e3,
        kept.as_secs_f64() * 1e3,
        "+10 ms"
    );
}
