//! The captured frames are complete and reveal nothing about the machine that recorded them.

use std::collections::BTreeSet;

use serde_json::Value;
use talaria_testkit::wire::{Direction, frames};

#[test]
fn every_frame_is_json_of_a_known_version() {
    let (mut count, mut methods) = (0, BTreeSet::new());
    for frame in frames() {
        let message: Value = serde_json::from_str(&frame.text).unwrap();
        assert!(talaria_testkit::codex::VERSIONS.contains(&frame.version.as_str()), "{frame:?}");
        if let Some(method) = message["method"].as_str() {
            methods.insert((frame.direction == Direction::ToCodex, method.to_owned()));
        }
        count += 1;
    }
    assert!(count > 2000 && methods.len() > 60, "{count} frames, {} methods", methods.len());
}

#[test]
fn no_path_of_a_machine_is_in_a_frame() {
    // Paths were replaced when the frames were recorded; these are what may be left at the beginning of a string.
    let known = ["/home/dev/", "/bin/", "/usr/bin", "/etc/codex", "/opt/probe", "/tmp", "/dev/", "/proc/"];
    for frame in frames() {
        for (at, _) in frame.text.match_indices("\"/") {
            let path = &frame.text[at + 1..];
            let path = &path[..path.find('"').unwrap_or(path.len())];
            // A slash with a single word is a command or a pattern, and reports nothing.
            let is_known = known.iter().any(|known| path.starts_with(known)) || !path[1..].contains('/');
            assert!(is_known, "{} {} line {}: {path}", frame.version, frame.scenario, frame.line);
        }
    }
}
