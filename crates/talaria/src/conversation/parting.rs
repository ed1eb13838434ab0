//! The last words to a person who leaves a turn before its end: that it continues, and how to come back to it.

use talaria_core::event::Usage;
use talaria_core::outcome::{Outcome, Report};

use super::{Bond, Ended, Flow, Followed};
use crate::face::Face;
use crate::stops::EndSignal;
use crate::trouble::{complain, exit};

/// Why a turn is left before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parting {
    /// Ctrl-C, which has stopped what it could.
    CtrlC,
    /// A signal that means the command and not the turn.
    Signal { signal: EndSignal, asked_to_stop: bool },
    /// The terminal is gone, or the output has no reader: no words arrive.
    Unheard,
}

/// The person goes, the turn stays.
pub(super) fn leave(face: &mut Face, followed: &Followed<'_>, parting: Parting) -> Flow {
    let (who, exit) = match parting {
        Parting::Signal { signal, .. } => (format!("{} ended this command", signal.name()), signal.exit()),
        Parting::CtrlC | Parting::Unheard => ("you left".to_owned(), exit::INTERRUPTED),
    };
    let why = match (&followed.bond, parting) {
        (Bond::Demo, _) => format!("{who} before the turn ended; the demo ends with it"),
        // The first Ctrl-C asked the turn to stop.
        (Bond::Owner, Parting::CtrlC | Parting::Signal { asked_to_stop: true, .. }) => format!(
            "{who} before the turn ended; it was asked to stop, and continues until it does: {}",
            followed.again()
        ),
        (Bond::Owner | Bond::Onlooker(_), _) => {
            let questions = questions_left(face);
            format!("{who} before the turn ended; it continues{questions}: {}", followed.again())
        }
    };
    let report = Report::new(Outcome::Lost { why }, None, Usage::default(), 0);
    face.leave(&report, exit);
    if let Some(words) = parting_words(followed, &who, parting, questions_left(face)) {
        complain(&words);
    }
    Flow::Break(Ended { exit, report, has_left: true })
}

/// The fate of the questions of a turn that continues without this command, if that is not what was asked for: only the
/// command declined them.
fn questions_left(face: &Face) -> &'static str {
    if face.declines_all() {
        ", and questions that this command would have declined wait for an answer (talaria requests list)"
    } else {
        ""
    }
}

/// The line that says how to come back; none where it reaches no reader.
fn parting_words(
    followed: &Followed<'_>,
    who: &str,
    parting: Parting,
    questions: &'static str,
) -> Option<String> {
    let again = followed.again();
    Some(match (parting, &followed.bond) {
        (Parting::Unheard, _) => return None,
        (_, Bond::Demo) => format!("{who} before the turn ended; the demo ends, and the turn with it\n"),
        (Parting::CtrlC, Bond::Owner) => format!(
            "you left before the turn ended; it was asked to stop, and continues until it does\n\
             follow it: {again}\n\
             stop it, and everything else: talaria stop\n"
        ),
        (Parting::CtrlC, Bond::Onlooker(task)) => format!(
            "you left; the task continues\n\
             watch it: {again}\n\
             stop it:  talaria task interrupt {task}\n"
        ),
        (Parting::Signal { asked_to_stop: true, .. }, Bond::Owner) => {
            format!("{who}; the turn was asked to stop, and continues until it does. Follow it: {again}\n")
        }
        (Parting::Signal { .. }, Bond::Owner) => {
            format!(
                "{who}; the turn continues{questions}. Follow it, or stop it there with Ctrl-C: {again}\n"
            )
        }
        (Parting::Signal { .. }, Bond::Onlooker(task)) => {
            format!(
                "{who}; the task continues{questions}. Watch it: {again}; stop it: talaria task interrupt {task}\n"
            )
        }
    })
}

/// A person stopped the engine. The turn may continue without it; this command starts no other to find out.
pub(super) fn leave_stopped(face: &mut Face, followed: &Followed<'_>) -> Flow {
    let why = "the engine was stopped before the turn was seen to end";
    let report = Report::new(Outcome::Lost { why: why.to_owned() }, None, Usage::default(), 0);
    let again = followed.again();
    let report = report.with_hint(again.clone());
    face.leave(&report, exit::INTERRUPTED);
    complain(&format!(
        "{why}: it was ended with `talaria stop`, and this command does not start it again\n\
         see what happened to the turn: {again}\n"
    ));
    Flow::Break(Ended { exit: exit::INTERRUPTED, report, has_left: true })
}
