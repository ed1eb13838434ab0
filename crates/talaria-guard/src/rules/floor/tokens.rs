//! Commands that print a key, a token or a password which they keep.
//!
//! Owns the table, and which variable names indicate a key. To add a program: a line in `is_credential`. Called by
//! `leak`.

use crate::shell::{SimpleCommand, Word, WordPiece};

/// Suffixes of the names of variables that contain keys.
const KEYS: &[&str] = &[
    "API_KEY",
    "APIKEY",
    "SECRET_KEY",
    "ACCESS_KEY",
    "PRIVATE_KEY",
    "_TOKEN",
    "_SECRET",
    "_PASSWORD",
    "_PASSWD",
];

/// Does the command print one?
pub(super) fn are_printed_by(command: &SimpleCommand, program: &str) -> bool {
    // `echo $OPENAI_API_KEY`: the variable alone, not as a part of something that is said.
    let echoes =
        matches!(program, "echo" | "printf" | "print") && command.words.iter().skip(1).any(is_key_alone);
    echoes || is_credential(command, program)
}

fn is_credential(command: &SimpleCommand, program: &str) -> bool {
    let texts: Vec<&str> = command.words.iter().skip(1).filter_map(Word::text).collect();
    let has = |wanted: &[&str]| wanted.iter().all(|wanted| texts.contains(wanted));
    let begins = |start: &str| texts.iter().any(|text| text.starts_with(start));
    match program {
        "gpg" | "gpg2" => begins("--export-secret"),
        "gh" | "glab" => has(&["auth", "token"]) || has(&["auth", "status"]) && begins("--show-token"),
        "gcloud" => has(&["auth"]) && begins("print-"),
        "az" => has(&["account", "get-access-token"]),
        "aws" => begins("get-session-token") || begins("export-credentials") || has(&["configure", "get"]),
        "heroku" => has(&["auth:token"]),
        "pass" | "gopass" => matches!(texts.first(), Some(&("show" | "cat"))),
        "op" => has(&["read"]) || has(&["item", "get"]),
        "bw" => has(&["get", "password"]) || has(&["export"]),
        "secret-tool" => has(&["lookup"]),
        "security" => begins("find-") && has(&["-w"]),
        "vault" => has(&["kv", "get"]) || has(&["print", "token"]),
        "git" => has(&["credential", "fill"]),
        "kubectl" | "oc" => has(&["get", "secret"]) || has(&["get", "secrets"]),
        "printenv" => texts.iter().any(|text| is_key_name(text)),
        _ => false,
    }
}

/// Whether the word is only the value of a variable whose name denotes a key.
pub(super) fn is_key_alone(word: &Word) -> bool {
    let is_blank = |piece: &&WordPiece| matches!(piece, WordPiece::Text(text) if text.trim().is_empty());
    let mut pieces = word.pieces().iter().filter(|piece| !is_blank(piece));
    let only = (pieces.next(), pieces.next());
    matches!(only, (Some(WordPiece::Variable(name)), None) if is_key_name(name))
}

fn is_key_name(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    KEYS.iter().any(|end| name.ends_with(end)) || ["TOKEN", "PASSWORD", "SECRET"].contains(&name.as_str())
}
