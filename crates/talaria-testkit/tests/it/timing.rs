//! The runner that measures the tests: it changes neither the output nor the exit code of a test binary.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn program(folder: &Path, script: &str) -> PathBuf {
    let path = folder.join("it-0123456789abcdef");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn time_tests(arguments: &[&Path]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_time-tests"));
    command
        .args(arguments)
        .env("CARGO_PKG_NAME", "talaria-some")
        .env_remove("RUSTC_BOOTSTRAP")
        .output()
        .unwrap()
}

#[test]
fn output_and_exit_code_are_those_of_the_test_binary_and_its_times_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let times = folder.path().join("times");
    let script = "echo \"arguments: $*, $RUSTC_BOOTSTRAP\"; echo 'test a::slow ... FAILED <12.500s>'; echo why >&2\n\
                  printf 'test a::quick'; printf ' ... ok <0.010s>\\nthe last line'; exit 101";
    let ran = time_tests(&[&times, &program(folder.path(), script), Path::new("a::")]);
    assert_eq!(ran.status.code(), Some(101));
    assert_eq!(
        String::from_utf8_lossy(&ran.stdout),
        "arguments: a:: -Zunstable-options --report-time, 1\n\
         test a::slow ... FAILED <12.500s>\ntest a::quick ... ok <0.010s>\nthe last line"
    );
    assert_eq!(String::from_utf8_lossy(&ran.stderr), "why\n");

    let report = time_tests(&[&times]);
    assert_eq!(report.status.code(), Some(0));
    let report = String::from_utf8_lossy(&report.stdout).into_owned();
    let slowest: Vec<Vec<&str>> =
        report.lines().skip(3).map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(slowest[0], ["12.5", "s", "talaria-some", "it", "a::slow"], "{report}");
    assert_eq!(slowest[1], ["0.0", "s", "talaria-some", "it", "a::quick"], "{report}");
    let kept = fs::read_to_string(times).unwrap();
    assert!(kept.lines().any(|line| line.ends_with("\ttalaria-some it\t")), "{kept}");
}

#[test]
fn a_test_binary_that_is_killed_fails_although_something_keeps_its_output_open() {
    let folder = tempfile::tempdir().unwrap();
    let script =
        "echo 'test a::b ... ok <1.000s>'; sleep 600 2>/dev/null & echo $! > \"$0.pid\"; kill -KILL $$";
    let (times, program) = (folder.path().join("times"), program(folder.path(), script));
    let ran = time_tests(&[&times, &program]);
    let left = fs::read_to_string(program.with_extension("pid")).unwrap();
    Command::new("kill").arg(left.trim()).status().unwrap();
    assert_eq!(ran.status.code(), Some(128 + 9));
    assert!(fs::read_to_string(times).unwrap().contains("1.000\ttalaria-some it\ta::b"));
}
