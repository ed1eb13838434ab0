//! The fuzz targets in an ordinary test run: the functions that they call compile, and hold for generated inputs.

use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use talaria_testkit::wire;

use crate::fuzz;

/// The source of a target with this name and input.
fn target(name: &str, input: &str) -> String {
    format!(
        "//! The fuzz target of `talaria_fuzz::{name}`.\n#![no_main]\n\n\
         libfuzzer_sys::fuzz_target!(|input: {input}| talaria_fuzz::{name}::check(input));\n"
    )
}

/// The names and inputs of targets; the compiler checks that their functions take such an input.
macro_rules! targets {
    ($($name:ident: $input:ty),*) => {{
        $(let _: fn($input) = fuzz::$name::check;)*
        [$((stringify!($name), stringify!($input))),*]
    }};
}

#[test]
fn every_fuzz_target_only_calls_the_function_that_is_tested_here() {
    let targets = targets! { codex_config: &str, redact: (&str, u8), shell: &str, turn: &[u8] };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let read = |path: &str| std::fs::read_to_string(folder.join(path)).unwrap();
    for (name, input) in targets {
        assert_eq!(read(&format!("fuzz_targets/{name}.rs")), target(name, input));
    }
    let files = std::fs::read_dir(folder.join("fuzz_targets")).unwrap();
    assert_eq!(files.count(), targets.len(), "a target is not listed above");
    let binaries = read("Cargo.toml").matches("[[bin]]").count();
    assert_eq!(binaries, targets.len(), "fuzz/Cargo.toml lists other targets");
}

/// Texts made of these pieces and of arbitrary characters.
fn text_of(pieces: &'static [&'static str]) -> impl Strategy<Value = String> {
    let known = select(pieces).prop_map(str::to_owned);
    let piece = prop_oneof![4 => known, 1 => any::<char>().prop_map(String::from)];
    vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

const SHELL: &[&str] = &[
    "rm -rf /",
    "git status",
    "echo",
    " ",
    "\n",
    ";",
    "&&",
    "|",
    "(",
    ")",
    "$(",
    "`",
    "'",
    "\"",
    "\\",
    "<<EOF",
    "EOF",
    ">",
    "/etc",
    "{",
    "}",
    "case",
    "esac",
    "for",
    "do",
    "done",
    "$x",
    "env -S",
    "sh -c",
    "#",
];

const TOML: &[&str] = &[
    "[a]",
    "[mcp_servers.server]",
    "[[a]]",
    "[plugins.\"plugin@market\"]",
    "enabled = true",
    "command = 'x'",
    "\n",
    "\r\n",
    "\"\"\"",
    "'''",
    "# >>> talaria",
    "# <<< talaria",
    "# mine",
    "default_permissions = \"x\"",
    "a.b = 1",
    " = ",
    "\u{feff}",
];

const SECRETS: &[&str] = &[
    "sk-ant-api03-",
    "ghp_",
    "AKIA",
    "0123456789abcdefghij0123456789ABCDEFGHIJ",
    "password=",
    "Authorization: Bearer ",
    " ",
    "\n",
    "\"",
    "https://me:pass@host/",
    "-----BEGIN PRIVATE KEY-----",
    "-----END PRIVATE KEY-----",
    "eyJ",
    ".",
    "=",
    "TOKEN",
];

const WORDS: &[&str] =
    &["", "interrupt", "gone", "tick", "absent", "running", "ended", "terminals", "{nonsense", r#"{"id":1}"#];

/// The captured messages of Codex, as messages of the thread and the turn that the target follows.
fn captured_lines() -> Vec<String> {
    let ours = |text: String| {
        let mut message: Value = serde_json::from_str(&text).unwrap();
        for (path, id) in [("/params/threadId", "t"), ("/params/turnId", "u"), ("/params/turn/id", "u")] {
            if let Some(value) = message.pointer_mut(path) {
                *value = json!(id);
            }
        }
        message.to_string()
    };
    let from_codex = wire::frames().filter(|frame| frame.direction == wire::Direction::FromCodex);
    from_codex.map(|frame| ours(frame.text)).filter(|line| line.contains("\"method\"")).collect()
}

proptest! {
    #[test]
    fn the_target_shell_holds_for_generated_lines(line in text_of(SHELL)) {
        fuzz::shell::check(&line);
    }

    #[test]
    fn the_target_codex_config_holds_for_generated_texts(text in text_of(TOML)) {
        fuzz::codex_config::check(&text);
    }

    #[test]
    fn the_target_redact_holds_for_generated_texts(text in text_of(SECRETS), size in any::<u8>()) {
        fuzz::redact::check((&text, size));
    }
}

#[test]
fn the_target_turn_holds_for_mixtures_of_captured_frames() {
    let captured = captured_lines();
    assert!(captured.len() > 100, "{} captured messages", captured.len());
    let line = prop_oneof![3 => select(captured), 1 => select(WORDS).prop_map(str::to_owned)];
    let held = TestRunner::default().run(&vec(line, 0..30), |lines| {
        fuzz::turn::check(lines.join("\n").as_bytes());
        Ok(())
    });
    held.unwrap();
}
