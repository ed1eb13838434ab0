//! The captured frames of both Codex versions, one conversation a file: `fixtures/wire/<version>/<scenario>.jsonl`.
//!
//! They were recorded from the real programs against a scripted model, and thinned: long captures keep their beginning,
//! their end and one frame of every distinct shape; the twin of a `unix_` capture over `ws://` was left out.

use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::value::RawValue;

/// Who sent a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
pub enum Direction {
    /// From the client to Codex.
    #[serde(rename = "->")]
    ToCodex,
    /// From Codex to the client.
    #[serde(rename = "<-")]
    FromCodex,
}

/// One captured message.
#[derive(Clone, Debug)]
pub struct CapturedFrame {
    /// The version of Codex that took part.
    pub version: String,
    /// The name of the capture.
    pub scenario: String,
    /// Its line in the capture, from 1: where to look when a test fails.
    pub line: usize,
    /// Who sent it.
    pub direction: Direction,
    /// The message as JSON text.
    pub text: String,
}

#[derive(Deserialize)]
struct Line<'a> {
    dir: Direction,
    #[serde(borrow)]
    msg: &'a RawValue,
}

/// Returns every captured frame, in the order of version, scenario and time.
pub fn frames() -> impl Iterator<Item = CapturedFrame> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/wire");
    let versions = names(&root).into_iter();
    versions.flat_map(move |version| {
        let folder = root.join(&version);
        names(&folder).into_iter().flat_map(move |file| read(&folder.join(&file), &version, &file))
    })
}

fn read(path: &Path, version: &str, file: &str) -> Vec<CapturedFrame> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(cause) => panic!("cannot read {}: {cause}", path.display()),
    };
    let frame = |(index, line)| match serde_json::from_str::<Line<'_>>(line) {
        Ok(Line { dir, msg }) => CapturedFrame {
            version: version.to_owned(),
            scenario: file.trim_end_matches(".jsonl").to_owned(),
            line: index + 1,
            direction: dir,
            text: msg.get().to_owned(),
        },
        Err(cause) => panic!("{}:{}: {cause}", path.display(), index + 1),
    };
    text.lines().enumerate().map(frame).collect()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(cause) => panic!("cannot list {}: {cause}", folder.display()),
    };
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
