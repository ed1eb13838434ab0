//! `cargo bench -p talaria-guard`: how fast secrets are taken out of text, against a limit. Prints; fails nothing.
//!
//! Three kinds of text: logs of builds, which have no secrets; lines that have little else; and texts made to be slow. For
//! the last the time for twice the text is compared with the time for the text, which shows work that is not linear.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench stops at the first surprise and prints"
)]

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::{Duration, Instant};

use serde_json::value::RawValue;
use talaria_guard::redact::{Stream, redact, redact_json};

const MEGABYTE: usize = 1_000_000;

fn main() {
    println!("{:<58} {:>12} {:>12}", "figure", "measured", "aim");
    let log = build_log(MEGABYTE / 2);
    assert!(matches!(redact(&log), std::borrow::Cow::Borrowed(_)), "a build log has no secrets");
    speed("logs of builds", &log, ">= 150 MB/s", |text| drop(black_box(redact(text))));
    speed("  in pieces of 4000 bytes", &log, "-", |text| in_pieces(text, 4000));
    speed("  in pieces of 40 bytes", &log, "-", |text| in_pieces(text, 40));
    let document = serde_json::json!({ "items": log.lines().collect::<Vec<_>>() }).to_string();
    speed("  as a JSON document", &document, "-", |text| {
        drop(black_box(redact_json(serde_json::from_str::<&RawValue>(text).unwrap())));
    });
    let secrets = dense_secrets(MEGABYTE / 4);
    speed("dense secrets", &secrets, ">= 20 MB/s", |text| drop(black_box(redact(text))));
    speed("  in pieces of 40 bytes", &secrets, "-", |text| in_pieces(text, 40));
    println!();
    println!(
        "{:<58} {:>12} {:>12}",
        "made to be slow: MB/s, in pieces, time for twice the text", "measured", "aim"
    );
    for (name, unit) in HOSTILE {
        hostile(name, unit);
    }
}

fn row(figure: &str, measured: &str, aim: &str) {
    println!("{figure:<58} {measured:>12} {aim:>12}");
}

fn time(mut work: impl FnMut()) -> Duration {
    // Everything that disturbs a run makes it slower; a short one is left in peace now and then on a busy machine.
    let once = || {
        let begun = Instant::now();
        work();
        begun.elapsed()
    };
    std::iter::repeat_with(once).take(40).min().unwrap_or_default()
}

fn rate(bytes: usize, time: Duration) -> f64 {
    bytes as f64 / time.as_secs_f64() / MEGABYTE as f64
}

fn speed(figure: &str, text: &str, aim: &str, work: impl Fn(&str)) {
    let rate = rate(text.len(), time(|| work(text)));
    row(figure, &format!("{rate:.0} MB/s"), aim);
}

fn in_pieces(text: &str, size: usize) {
    let mut stream = Stream::new();
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(size.min(rest.len())));
        stream.push(piece, &mut out);
        rest = after;
    }
    stream.finish(&mut out);
    black_box(out);
}

/// Text of at least `size` bytes, made of what `line` returns for a number.
fn repeated(size: usize, line: impl Fn(&mut String, usize)) -> String {
    let mut text = String::with_capacity(size + 1000);
    let mut number = 0;
    while text.len() < size {
        line(&mut text, number);
        number += 1;
    }
    text
}

/// What cargo, npm, pytest, git and a server print.
fn build_log(size: usize) -> String {
    const CRATES: &[&str] =
        &["serde", "proc-macro2", "unicode-ident", "tokio-util", "regex-automata", "talaria-core"];
    repeated(size, |out, n| {
        let name = CRATES[n % CRATES.len()];
        let hash = (n as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        match n % 12 {
            0 | 1 => writeln!(out, "   Compiling {name} v1.{}.{} (/home/me/project/crates/{name})", n % 90, n % 7),
            2 => writeln!(out, "warning: unused variable: `token_{n}`\n  --> crates/{name}/src/lexer/token.rs:{}:{}\n   |", n % 900, n % 80),
            3 => writeln!(out, "{n:>4} |     let token = self.lexer.next_token()?; // {name}\n     |         ^^^^^ help: prefix it with an underscore"),
            4 => writeln!(out, "test {}::tests::parses_the_value_of_case_{n} ... ok", name.replace('-', "_")),
            5 => writeln!(out, "npm warn deprecated {name}@{}.{}.2: this package is no longer supported, see https://example.com/{name}", n % 20, n % 9),
            6 => writeln!(out, "tests/test_{}.py::test_login[case-{n}] PASSED{:>30}%]", name.replace('-', "_"), n % 100),
            7 => writeln!(out, "    \"node_modules/{name}\": {{ \"version\": \"{}.0.1\", \"integrity\": \"sha512-{hash:x}{hash:x}{hash:x}==\" }},", n % 20),
            8 => writeln!(out, "commit {hash:016x}{hash:016x}{:08x}\nAuthor: Jane Doe <jane@example.com>", hash as u32),
            9 => writeln!(out, "2026-11-15T10:{:02}:{:02}.{:03}Z  INFO {name}: request finished method=GET path=/api/v1/items/{n} status=200 took={}ms", n % 60, n % 59, n % 1000, n % 300),
            10 => writeln!(out, "@@ -{n},7 +{n},9 @@ impl Parser {{\n+        self.tokens.push(Token {{ kind: Kind::Word, span: {n}..{} }});\n-        return None;", n + 5),
            _ => writeln!(out, "    Running `rustc --crate-name {} --edition=2024 src/lib.rs -C metadata={hash:x} --out-dir target/debug/deps`", name.replace('-', "_")),
        }
        .unwrap();
    })
}

/// Lines with one secret each, of many kinds.
fn dense_secrets(size: usize) -> String {
    let made_up: String = "Fake4Material7NotReal2".repeat(20);
    repeated(size, |out, n| {
        let body = |from: usize, count: usize| &made_up[from % 22..from % 22 + count];
        match n % 16 {
            0 => writeln!(out, "export GITHUB_TOKEN=ghp_{}", body(n, 36)),
            1 => writeln!(out, "Authorization: Bearer {}", body(n, 40)),
            2 => writeln!(out, "key sk-proj-{} used", body(n, 80)),
            3 => writeln!(out, "{{\"password\":\"{}\",\"user\":\"me\"}}", body(n, 12)),
            4 => writeln!(out, "postgres://app:{}@db.example.com/main", body(n, 16)),
            5 => writeln!(out, "https://example.com/cb?access_token={}&state={n}", body(n, 30)),
            6 => writeln!(out, "eyJ{}.eyJ{}.{}", body(n, 33), body(n, 90), body(n, 43)),
            7 => writeln!(out, "Cookie: sid={}; theme=dark", body(n, 32)),
            8 => writeln!(out, "aws_secret_access_key = {}", body(n, 40)),
            9 => writeln!(out, "{}FAKE7NEVER2REALX", ["AK", "IA"].concat()),
            10 => writeln!(out, "password: {}", body(n, 10)),
            11 => writeln!(
                out,
                "-----BEGIN PRIVATE KEY-----\n{}\n{}\n-----END PRIVATE KEY-----",
                body(n, 64),
                body(n, 64)
            ),
            12 => writeln!(out, "xoxb-{n:012}-{n:012}-{}", body(n, 24)),
            13 => writeln!(out, "{{\\\"api_key\\\":\\\"{}\\\"}}", body(n, 32)),
            14 => writeln!(out, "--password={} -u me:{}", body(n, 9), body(n + 3, 9)),
            _ => writeln!(out, "{n:010}:{}", body(n, 35)),
        }
        .unwrap();
    })
}

/// Units that are repeated to make a text on which a careless redactor spends minutes.
const HOSTILE: &[(&str, &str)] = &[
    ("one letter", "a"),
    ("dots", "."),
    ("a dotted word", "ab."),
    ("heads of JWTs", "eyJ."),
    ("heads of JWTs with dashes", "eyJ-"),
    ("JWTs", "eyJhbGciOiJIUzI1NiJ9."),
    ("equals signs", "="),
    ("ampersands", "&"),
    ("quotation marks", "\""),
    ("backslashes", "\\"),
    ("escaped quotation marks", "\\\\\\\""),
    ("beginnings of keys", "-----BEGIN "),
    ("keys without a body", "-----BEGIN PRIVATE KEY-----"),
    ("keys with short lines", "-----BEGIN PRIVATE KEY-----\na\n"),
    ("names", "password="),
    ("names of parameters", "key="),
    ("names with quotation marks", "password=\""),
    ("names with escaped quotation marks", "password=\\\""),
    ("names with blanks", "token    "),
    ("names with types", "password: a"),
    ("fields", "\"token\":"),
    ("headers", "Authorization: "),
    ("cookies", "Cookie: a="),
    ("URLs", "a://"),
    ("users", "a:@"),
    ("URLs of databases", "redis://a:b/"),
    ("prefixes", "sk-"),
    ("prefixes of many kinds", "ghp_.xoxb-SG."),
    ("markers", "[redacted:"),
    ("values that are names", "token=token,"),
    ("values with separators", "secret=a&"),
    ("colours", "\x1b["),
    ("percent signs", "%"),
    ("pluses", "+1"),
    ("options", "-u a:"),
    ("letters that are not ASCII", "é"),
];

fn hostile(name: &str, unit: &str) {
    let text = |size: usize| unit.repeat(size / unit.len());
    let (one, two) = (text(MEGABYTE / 20), text(MEGABYTE / 10));
    let (first, second) = (time(|| drop(black_box(redact(&one)))), time(|| drop(black_box(redact(&two)))));
    let pieces = time(|| in_pieces(&one, 4));
    let measured = format!(
        "{:.0} {:.0} {:.1}x",
        rate(two.len(), second),
        rate(one.len(), pieces),
        second.as_secs_f64() / first.as_secs_f64()
    );
    row(name, &measured, "~ 2.0x");
}
