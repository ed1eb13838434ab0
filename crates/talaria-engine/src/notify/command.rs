//! A program of the user's: it gets the notice as JSON on standard input, and its exit code is the answer.

use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::time::Duration;

use futures_util::future::BoxFuture;

use super::{Deliver, NotifyError, Parcel, Receipt, json};
use crate::program::{Program, Ran, find};

/// The way to one program.
#[derive(Debug)]
pub(super) struct Command<'a> {
    /// The program and its arguments.
    pub(super) words: &'a [String],
    pub(super) environment: &'a [(OsString, OsString)],
    pub(super) limit: Duration,
}

impl Deliver for Command<'_> {
    fn deliver<'a>(&'a self, parcel: &'a Parcel) -> BoxFuture<'a, Result<Receipt, NotifyError>> {
        Box::pin(async move {
            let (program, arguments) = self.words.split_first().unwrap_or((const { &String::new() }, &[]));
            let path = find(program, self.environment)
                .ok_or_else(|| NotifyError::permanent(format!("there is no program {program}")))?;
            let input = json(&parcel.notice);
            let arguments = arguments.iter().map(OsStr::new).collect();
            let (environment, limit) = (self.environment, self.limit);
            let ran = Program { path: &path, arguments, environment, input: &input, limit, reads: None }
                .run()
                .await;
            match ran {
                Ran::Ended { status, .. } if status.success() => {
                    Ok(Receipt { note: "exit code 0".to_owned() })
                }
                Ran::Ended { status, said, .. } => {
                    let last = said.lines().rev().find(|line| !line.trim().is_empty());
                    let last = last.map_or_else(String::new, |line| format!(": {}", line.trim()));
                    Err(NotifyError::passing(format!("{program} ended with {status}{last}")))
                }
                Ran::TooSlow => Err(NotifyError::passing(format!("{program} took longer than {limit:?}"))),
                Ran::NotStarted(why) if is_hopeless(why.kind()) => {
                    Err(NotifyError::permanent(format!("{program} cannot be started: {why}")))
                }
                Ran::NotStarted(why) => {
                    Err(NotifyError::passing(format!("{program} cannot be started: {why}")))
                }
            }
        })
    }
}

fn is_hopeless(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::PermissionDenied | ErrorKind::NotADirectory)
}
