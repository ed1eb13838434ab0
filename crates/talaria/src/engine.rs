//! The way to the engine of this home: found, or started on demand; and its refusals in words for people.

use std::io;

use talaria_codex::identity::HomeRecord;
use talaria_core::api::{Problem, ProblemCode};
use talaria_core::next_step::NextStep;
use talaria_home::home::TalariaHome;
use talaria_render::plain_line;
use talaria_server::client::launch::{Build, ensure};
use talaria_server::client::{Client, ClientError};
use talaria_server::socket_path;

use crate::progress::with_progress;
use crate::trouble::{Trouble, complain, exit};

/// Finds the engine of this home, or starts it. If a person stops it later, this command starts no other; an interactive
/// caller uses [`Client::for_many_wishes`]. Reports a copied or moved home, if its engine just detected it.
pub(crate) async fn reach(home: &TalariaHome) -> Result<Client, Trouble> {
    let cannot =
        |cause: &dyn std::fmt::Display| Trouble::new(exit::FAILED, "cannot start the engine").because(cause);
    home.ensure().map_err(|error| cannot(&error).try_this(error.next_step()))?;
    let program = std::env::current_exe().map_err(|error| cannot(&error))?;
    let own = this_build().map_err(|error| cannot(&error))?;
    let started = with_progress("starting the engine", ensure(home.root(), &program, own)).await;
    let client = started.map(|client| client.for_one_wish());
    if let Ok(client) = &client {
        tell_notice(home, client);
    }
    client.map_err(|error| {
        let trouble = cannot(&error);
        match error.next_step() {
            Some(step) => trouble.try_this(step),
            None => trouble,
        }
    })
}

/// Says that the home is a copy or was moved, for as long as the engine lives that found it out.
fn tell_notice(home: &TalariaHome, client: &Client) {
    let notice = HomeRecord::read(home).and_then(|record| record.notice);
    if let Some(notice) = notice.filter(|notice| notice.engine == client.engine().pid) {
        complain(&format!("note: {}\n", plain_line(&notice.text)));
    }
}

/// Finds the engine of this home if one runs and is understood; none is started.
pub(crate) async fn find(home: &TalariaHome) -> Result<Option<Client>, ClientError> {
    match Client::connect(&socket_path(home.root())).await {
        Ok(client) => Ok(Some(client)),
        Err(ClientError::NotRunning) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Finds the engine of this home if one runs, whatever version it is: to be stopped.
pub(crate) async fn find_any(home: &TalariaHome) -> Result<Option<Client>, ClientError> {
    match Client::knock(&socket_path(home.root())).await {
        Ok(client) => Ok(Some(client)),
        Err(ClientError::NotRunning) => Ok(None),
        Err(error) => Err(error),
    }
}

/// What this program is.
pub(crate) fn this_build() -> io::Result<Build> {
    let made =
        std::env::current_exe().and_then(std::fs::metadata).and_then(|metadata| metadata.modified())?;
    let age = made.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let build = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
    Ok(Build { version: env!("CARGO_PKG_VERSION").to_owned(), build })
}

/// Says to a person why the engine did not do what it was asked.
pub(crate) fn refused(what: &str, error: &ClientError) -> Trouble {
    let trouble = match error {
        ClientError::Problem(problem) => {
            Trouble::new(exit_code(problem.code), what).because(&problem.message)
        }
        other => Trouble::new(exit::FAILED, what).because(other),
    };
    match error.next_step() {
        Some(step) => trouble.try_this(step),
        None => trouble,
    }
}

/// The same where something was to be done. If the connection broke, it is not known whether it was; `look` says how to find out.
pub(crate) fn not_done(what: &str, error: &ClientError, look: impl Into<NextStep>) -> Trouble {
    let trouble = refused(what, error);
    match error {
        ClientError::Broken(_) => not_known(&trouble, look),
        _ => trouble,
    }
}

/// It is not known whether the engine received it.
pub(crate) fn not_known(trouble: &Trouble, look: impl Into<NextStep>) -> Trouble {
    let what = "the connection dropped; the request may or may not have been applied";
    Trouble::new(trouble.exit, what).because(trouble.summary()).try_this(look)
}

/// The same for a typed id: suggests similar ones.
pub(crate) fn refused_id(what: &str, error: &ClientError) -> Trouble {
    let ClientError::Problem(problem) = error else { return refused(what, error) };
    let trouble = refused(what, error);
    match problem.code {
        ProblemCode::Unknown if problem.hint.is_none() => trouble.try_this(NextStep::ListSessions),
        _ => trouble,
    }
}

/// The exit code that suits a refusal.
fn exit_code(code: ProblemCode) -> u8 {
    match code {
        ProblemCode::Unknown | ProblemCode::Ambiguous | ProblemCode::BadRequest | ProblemCode::Misfit => {
            exit::USAGE
        }
        ProblemCode::Codex => exit::CODEX,
        _ => exit::FAILED,
    }
}

/// Whether to retry: the engine is restarting, or the connection broke in the middle of a request.
pub(crate) fn may_come_back(error: &ClientError) -> bool {
    match error {
        ClientError::NotRunning | ClientError::Broken(_) => true,
        ClientError::Problem(Problem { code, .. }) => {
            matches!(code, ProblemCode::Stopping | ProblemCode::Overloaded)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_has_the_engines_words_its_hint_and_an_exit_code() {
        let told = |code| {
            let problem = Problem::new(code, "no conversation begins with zz").try_this("look at the list");
            let trouble = refused("cannot show it", &ClientError::Problem(problem));
            (trouble.exit, trouble.summary(), trouble.hint())
        };
        let words = "cannot show it: no conversation begins with zz".to_owned();
        assert_eq!(told(ProblemCode::Unknown), (2, words.clone(), "look at the list".to_owned()));
        assert_eq!(told(ProblemCode::Codex).0, 6);
        assert_eq!(told(ProblemCode::Conflict).0, 1);
    }

    #[test]
    fn what_nobody_knows_is_not_told_as_not_done() {
        let told = |error| not_done("cannot start the task", &error, "look at the list");
        let broken = told(ClientError::Broken("it ended".to_owned()));
        assert_eq!(
            broken.summary(),
            "the connection dropped; the request may or may not have been applied: cannot start the task: the connection to the engine \
             broke: it ended"
        );
        assert_eq!(broken.hint(), "look at the list");
        let refused = told(ClientError::Problem(Problem::new(ProblemCode::Conflict, "no")));
        assert_eq!(refused.summary(), "cannot start the task: no");
    }

    #[test]
    fn only_a_pause_of_the_engine_is_waited_for() {
        let problem = |code| ClientError::Problem(Problem::new(code, "x"));
        assert!(may_come_back(&ClientError::NotRunning));
        assert!(may_come_back(&problem(ProblemCode::Stopping)));
        for code in [ProblemCode::Conflict, ProblemCode::Unknown, ProblemCode::Misfit, ProblemCode::Internal]
        {
            assert!(!may_come_back(&problem(code)), "{code:?}");
        }
    }
}
