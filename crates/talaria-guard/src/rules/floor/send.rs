//! Programs that send: which of their words are files that leave, and whether their input does.
//!
//! Owns the table. A file that a program merely uses (an identity, a certificate, its configuration) is not sent.
//! Called by `leak`.

use crate::shell::{SimpleCommand, Word, WordPiece};

/// How a program sends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sender {
    /// `@file`, and its input where an option says so.
    Curl,
    /// `--post-file`.
    Wget,
    /// Copies files to another machine, if one of the operands is remote.
    Copy,
    /// Copies its operands away.
    Upload,
    /// Sends its input.
    Pipe,
    /// Sends its input to a shell of the user's own.
    Shell,
    /// Sends what it is asked about.
    Ask,
}

const SENDERS: &[(&str, Sender)] = &[
    ("curl", Sender::Curl),
    ("curlie", Sender::Curl),
    ("http", Sender::Curl),
    ("https", Sender::Curl),
    ("xh", Sender::Curl),
    ("xhs", Sender::Curl),
    ("wget", Sender::Wget),
    ("wget2", Sender::Wget),
    ("scp", Sender::Copy),
    ("rsync", Sender::Copy),
    ("sftp", Sender::Upload),
    ("rclone", Sender::Upload),
    ("aws", Sender::Upload),
    ("gsutil", Sender::Upload),
    ("gcloud", Sender::Upload),
    ("azcopy", Sender::Upload),
    ("s3cmd", Sender::Upload),
    ("kubectl", Sender::Upload),
    ("gh", Sender::Upload),
    ("croc", Sender::Upload),
    ("wormhole", Sender::Upload),
    ("tailscale", Sender::Upload),
    ("ftp", Sender::Upload),
    ("lftp", Sender::Upload),
    ("ncftpput", Sender::Upload),
    ("mail", Sender::Upload),
    ("mailx", Sender::Upload),
    ("mutt", Sender::Upload),
    ("nc", Sender::Pipe),
    ("ncat", Sender::Pipe),
    ("netcat", Sender::Pipe),
    ("socat", Sender::Pipe),
    ("websocat", Sender::Pipe),
    ("telnet", Sender::Pipe),
    ("ssh", Sender::Shell),
    ("sendmail", Sender::Pipe),
    ("openssl", Sender::Pipe),
    ("mosquitto_pub", Sender::Pipe),
    ("dig", Sender::Ask),
    ("nslookup", Sender::Ask),
    ("host", Sender::Ask),
    ("drill", Sender::Ask),
    ("ping", Sender::Ask),
];

/// Options whose value is a file that is used, not sent.
const USED: &[&str] = &[
    "-i",
    "-F",
    "-o",
    "-e",
    "-S",
    "-P",
    "-J",
    "-c",
    "--rsh",
    "--kubeconfig",
    "--config",
    "--password-file",
    "--exclude",
    "--exclude-from",
    "--include",
    "--include-from",
    "--filter",
    "--profile",
];

/// How the command sends, if it does.
pub(super) fn sender(command: &SimpleCommand) -> Option<Sender> {
    let program = command.program()?;
    let kind = SENDERS.iter().find(|(name, _)| *name == program).map(|(_, kind)| *kind)?;
    let has = |verbs: &[&str]| command.words.iter().any(|word| verbs.iter().any(|verb| word.is(verb)));
    let sends = match program.as_str() {
        "openssl" => has(&["s_client"]),
        "aws" => has(&["s3", "s3api"]),
        "gcloud" => has(&["storage", "scp"]),
        "kubectl" => has(&["cp"]),
        "gh" => has(&["gist", "release"]),
        "tailscale" => has(&["file"]),
        _ => true,
    };
    sends.then_some(kind)
}

impl Sender {
    /// Does the input of the command leave?
    pub(super) fn takes_input(self, command: &SimpleCommand) -> bool {
        let ends_in = |word: &Word, ends: &[&str]| {
            word.text().is_some_and(|text| ends.iter().any(|end| text.ends_with(end)))
        };
        match self {
            Self::Pipe | Self::Shell => true,
            Self::Curl => {
                let asked = command.words.iter().any(|word| ends_in(word, &["@-", "@/dev/stdin", "=<-"]));
                asked
                    || values_of(&command.words, &["-T", "--upload-file"]).iter().any(is_input)
                    || !command.program().is_some_and(|name| name.starts_with("curl"))
            }
            Self::Wget => values_of(&command.words, &["--post-file", "--body-file"]).iter().any(is_input),
            Self::Upload => true,
            Self::Copy | Self::Ask => false,
        }
    }

    /// The words that the command sends as they are.
    pub(super) fn data(self, words: &[Word]) -> Vec<Word> {
        match self {
            Self::Curl => values_of(
                words,
                &[
                    "-d",
                    "--data",
                    "--data-ascii",
                    "--data-raw",
                    "--data-binary",
                    "--data-urlencode",
                    "--json",
                ],
            ),
            Self::Wget => values_of(words, &["--post-data", "--body-data"]),
            Self::Copy | Self::Upload | Self::Pipe | Self::Shell | Self::Ask => Vec::new(),
        }
    }

    /// The files that the command sends.
    pub(super) fn files(self, words: &[Word]) -> Vec<Word> {
        let arguments = words.get(1..).unwrap_or_default();
        match self {
            Self::Curl => {
                let marked = arguments.iter().flat_map(|word| [after(word, '@'), after(word, '<')]).flatten();
                marked.chain(values_of(words, &["-T", "--upload-file"])).collect()
            }
            Self::Wget => values_of(words, &["--post-file", "--body-file"]),
            Self::Upload => operands(arguments),
            Self::Copy => {
                let (remote, local): (Vec<Word>, Vec<Word>) =
                    operands(arguments).into_iter().partition(is_remote);
                if remote.is_empty() { Vec::new() } else { local }
            }
            Self::Pipe | Self::Shell => arguments.iter().filter_map(|word| after(word, ':')).collect(),
            Self::Ask => Vec::new(),
        }
    }
}

/// The rest of a word after the first `sign` in a part of it that is known.
pub(super) fn after(word: &Word, sign: char) -> Option<Word> {
    let pieces = word.pieces();
    let (index, rest) = pieces.iter().enumerate().find_map(|(index, piece)| match piece {
        WordPiece::Text(text) => text.split_once(sign).map(|(_, rest)| (index, rest)),
        _ => None,
    })?;
    let mut after = vec![WordPiece::Text(rest.to_owned())];
    after.extend(pieces[index + 1..].iter().cloned());
    Some(Word::new(after, word.extent()))
}

/// The values of options, in the next word, after a `=`, or glued to a short one.
pub(super) fn values_of(words: &[Word], options: &[&str]) -> Vec<Word> {
    let mut found = Vec::new();
    for (index, word) in words.iter().enumerate() {
        let start = word.start();
        for option in options {
            let is_short = option.len() == 2;
            if word.is(option) {
                found.extend(words.get(index + 1).cloned());
            } else if let Some(rest) = start.strip_prefix(option)
                && (is_short || rest.starts_with('='))
            {
                found.push(word.without_start(option.len() + usize::from(!is_short)));
            }
        }
    }
    found
}

fn operands(arguments: &[Word]) -> Vec<Word> {
    let mut found = Vec::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if USED.iter().any(|option| word.is(option)) {
            words.next();
        } else if !word.start().starts_with('-') {
            found.push(word.clone());
        }
    }
    found
}

/// `host:path`, or a URL.
fn is_remote(word: &Word) -> bool {
    let text: String = word.marked();
    match text.split_once(':') {
        Some((host, _)) => !host.contains('/'),
        None => false,
    }
}

fn is_input(word: &Word) -> bool {
    word.is("-") || word.is(".") || word.is("/dev/stdin")
}
