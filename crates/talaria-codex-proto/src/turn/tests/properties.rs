//! Invariants under any mix of frames of two turns on two threads, answers, interrupts, ticks and time.
//!
//! A case is a script in the language of the transcripts, so a failing one can be pasted into a test as it is.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::sample::select;

use super::super::*;
use super::script::Run;

/// Steps in time. Our turn is `u` on `t`; `v` on `t` and everything on `other` is foreign.
/// Codex says what is in force.
const SETTINGS: &str = "< {\"method\":\"thread/settings/updated\",\"params\":{\"threadId\":\"t\",\"threadSettings\":{\"sandboxPolicy\":{\"type\":\"readOnly\"},\"approvalPolicy\":\"on-request\",\"model\":\"m\",\"effort\":\"low\",\"cwd\":\"/w\"}}}";

fn scripts() -> impl Strategy<Value = Vec<String>> {
    let limit = prop::option::of(select(vec![1u32, 100, 1000]));
    let quiet = prop::option::of(select(vec![50u32, 5000]));
    let steps = prop::collection::vec((wait(), step()), 0..40);
    let wants = prop::option::of(select(vec!["wants m high", "file"]));
    (limit, quiet, wants, steps).prop_map(|(limit, quiet, wants, steps)| {
        let mut script: Vec<String> = limit.map(|ms| format!("limit {ms}ms")).into_iter().collect();
        script.extend(quiet.map(|ms| format!("quiet {ms}ms")));
        if let Some(wants) = wants {
            script.extend(["wants m high".to_owned(), wants.to_owned()]);
        }
        let mut now = 0;
        let mut is_named = false;
        for (wait, step) in steps {
            // Whatever begins first on this thread is our turn: a foreign one may only begin later.
            is_named |= step == "accepted u" || step == "< u begins";
            if !is_named && step == "< v begins" {
                continue;
            }
            now += wait;
            script.extend([format!("at {now}ms"), step]);
        }
        script
    })
}

/// Output before the first input.
fn is_setting(line: &str) -> bool {
    ["limit ", "quiet ", "wants ", "file"].iter().any(|word| line.starts_with(word))
}

fn wait() -> impl Strategy<Value = u32> {
    prop_oneof![6 => Just(0u32), 3 => 1..60u32, 1 => select(vec![400u32, 10_000])]
}

/// What happens. A thread called `child` is a sub-agent once an item names it, and foreign before.
pub(super) fn step() -> impl Strategy<Value = String> {
    let scope = || select(vec!["u", "u", "u", "u", "v", "other/u", "other/v", "child/x"]);
    let item = || select(vec!["i1", "i2", "i3"]);
    let kind = select(vec!["command", "message", "final", "patch", "user", "teleport"]);
    let edge = select(vec!["started", "completed"]);
    let question = || {
        let people = [
            "command i1",
            "patch i1",
            "patch i2",
            "tool",
            "form",
            "url",
            "network",
            "permissions",
            "questions",
        ];
        let nobody = ["vague form", "vague permissions", "vague questions", "tokens"];
        select([&people[..], &nobody[..]].concat())
    };
    let number = || select(vec!["0", "1", "2", "\"0\""]);
    let decision = select(vec!["accept", "accept-for-session", "accept-always", "decline", "cancel", "void"]);
    let why = select(vec!["decline by user because no", "cancel by user because no", "give c red by user"]);
    let who = select(vec!["user", "nobody", "demo"]);
    let status = select(vec!["completed", "failed", "failed boom", "interrupted", "levitated"]);
    prop_oneof![
        4 => select(vec!["accepted u", "< u begins", "< v begins", "< other/u begins", "tick"]).prop_map(str::to_owned),
        10 => (scope(), edge, kind, item()).prop_map(|(scope, edge, kind, item)| format!("< {scope} item {edge} {kind} {item}")),
        2 => (scope(), item()).prop_map(|(scope, item)| format!("< {scope} delta {item} text")),
        1 => (scope(), 0..900u32).prop_map(|(scope, total)| format!("< {scope} usage {total}")),
        5 => (scope(), number(), question()).prop_map(|(scope, id, what)| format!("< {scope} asks {id} {what}")),
        3 => (scope(), number()).prop_map(|(scope, id)| format!("< {scope} resolved {id}")),
        5 => (1..6u32, decision, who).prop_map(|(ticket, decision, who)| format!("answer req-{ticket} {decision} by {who}")),
        1 => (1..6u32, why).prop_map(|(ticket, why)| format!("answer req-{ticket} {why}")),
        2 => (scope(), status).prop_map(|(scope, status)| format!("< {scope} ends {status}")),
        1 => select(vec!["< u item completed agents a1 child", "< child/x begins"]).prop_map(str::to_owned),
        1 => select(vec![
            "found absent",
            "found running u",
            "found ended u completed read",
            "found ended v completed read",
            "found ended u interrupted",
            "found unreadable no",
            "escalated host_ended",
            "escalated abandoned",
            "terminals gone",
            "background c1",
            "unanswered late",
            "taken",
            "settings m high",
            "settings unknown",
            SETTINGS,
            "send",
        ]).prop_map(str::to_owned),
        1 => select(vec![
            "interrupt by user",
            "interrupt by user",
            "gone killed",
            "refused -32602 input_too_large",
            "< {\"method\":\"thread/levitated\",\"params\":{}}",
            "< {nonsense",
        ]).prop_map(str::to_owned),
    ]
}

fn run(script: &[String]) -> Run {
    let mut run = Run::new();
    for line in script {
        run.step(line);
    }
    run
}

/// Possible next inputs, according to the outputs so far.
#[derive(Default)]
pub(super) struct Ledger {
    turn: Option<TurnId>,
    items: BTreeSet<ItemId>,
    requests: BTreeSet<TicketId>,
    /// Ids that were opened and have not been answered.
    unanswered: BTreeSet<RequestId>,
    /// Answers that were written, or are about to be, and not confirmed.
    unconfirmed: BTreeSet<TicketId>,
    /// The same, by an engine that is gone: they may be written again.
    carried: BTreeSet<TicketId>,
    has_outcome: bool,
    interrupts: usize,
    is_over: bool,
    /// Another engine has gone on with it.
    is_taken_up: bool,
    /// Requests that were answered after that. The answer is reported only when Codex has repeated its request.
    spoken: BTreeSet<TicketId>,
}

impl Ledger {
    /// Takes what is about to happen.
    pub(super) fn hear(&mut self, line: &str, tickets: &[(TicketId, RequestId)]) {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("restart") => self.restart(tickets),
            Some("answer") if !self.is_taken_up => {}
            Some("answer" | "stored") => self.spoken.extend(words.next().map(TicketId::new)),
            _ => {}
        }
    }

    /// Another engine continues. Unconfirmed writes may be repeated.
    fn restart(&mut self, tickets: &[(TicketId, RequestId)]) {
        self.is_taken_up = true;
        self.carried.append(&mut self.unconfirmed);
        let carried = tickets.iter().filter(|(ticket, _)| self.carried.contains(ticket));
        self.unanswered.extend(carried.map(|(_, wire)| wire.clone()));
    }

    pub(super) fn take(&mut self, output: &Output, tickets: &[(TicketId, RequestId)]) {
        assert!(!self.is_over, "after the end: {output:?}");
        match output {
            Output::Emit(event) => {
                assert!(!self.has_outcome, "after the outcome: {event:?}");
                self.take_event(event, tickets);
            }
            Output::Reply { id, .. } => {
                assert!(self.unanswered.remove(id), "answered twice or never asked: {id}");
            }
            // A reason is sent before its answer.
            Output::Steer { .. } => assert!(!self.unanswered.is_empty(), "a reason for nothing: {output:?}"),
            Output::Interrupt { thread, turn } if thread.as_str() == "t" => {
                assert_eq!(Some(turn), self.turn.as_ref(), "not the turn that was told");
                self.interrupts += 1;
            }
            Output::Interrupt { .. }
            | Output::CallTool { .. }
            | Output::Consult { .. }
            | Output::Record(Record::EscrowUsed { .. })
            | Output::Heard(_)
            | Output::Start
            | Output::Read
            | Output::LookUpSettings
            | Output::LookUpUntold
            | Output::Escalate
            | Output::EndTerminals { .. }
            | Output::FindTerminals { .. } => {}
            Output::Record(Record::Opened(opened)) => {
                self.carried.remove(&opened.ticket);
            }
            Output::Record(Record::Delivering { ticket, .. }) => {
                assert!(!self.requests.contains(ticket), "written before it was told: {ticket}");
                self.carried.remove(ticket);
                assert!(self.unconfirmed.insert(ticket.clone()), "written twice: {ticket}");
            }
            Output::Record(Record::Fate { ticket, fate }) => {
                let was_written = self.unconfirmed.remove(ticket) || self.carried.remove(ticket);
                let is_of_written = matches!(fate, Fate::Delivered | Fate::Unknown);
                assert_eq!(was_written, is_of_written, "{ticket}: {fate:?}");
            }
            Output::Finish(..) => {
                let open = [&self.unconfirmed, &self.carried];
                assert!(open.iter().all(|open| open.is_empty()), "nobody knows what became of {open:?}");
                assert!(self.has_outcome, "an end without an outcome");
                assert!(self.items.is_empty(), "left open: {:?}", self.items);
                assert!(self.requests.is_empty(), "left open: {:?}", self.requests);
                self.is_over = true;
            }
        }
    }

    fn take_event(&mut self, event: &Event, tickets: &[(TicketId, RequestId)]) {
        match event {
            Event::TurnStarted { turn } => {
                assert!(self.turn.is_none(), "began twice: {turn}");
                self.turn = Some(turn.clone());
            }
            Event::ItemStarted { item } => {
                self.items.insert(item.id.clone());
            }
            // An item may complete without ever having begun.
            Event::ItemCompleted { item } => {
                self.items.remove(&item.id);
            }
            Event::ItemAbandoned { item, .. } => {
                assert!(self.items.remove(item), "abandoned, not open: {item}");
            }
            Event::BackgroundStarted(command) => {
                assert!(self.items.remove(&command.item), "in the background, not open: {}", command.item);
            }
            Event::RequestOpened { id, .. } => {
                let (_, wire) = tickets.iter().find(|(ticket, _)| ticket == id).expect("a ticket of ours");
                assert!(self.requests.insert(id.clone()), "opened twice: {id}");
                self.unanswered.insert(wire.clone());
            }
            Event::RequestClosed { id, .. } => assert!(self.requests.remove(id), "closed, not open: {id}"),
            Event::Interrupting { by: Who::Deadline } => {
                let asked: Vec<_> = self.requests.difference(&self.spoken).collect();
                assert!(asked.is_empty(), "the deadline fired while a person was asked: {asked:?}");
            }
            Event::Outcome(_) => self.has_outcome = true,
            _ => {}
        }
    }
}

fn is_foreign(line: &str) -> bool {
    let is_theirs = line.starts_with("< v ") || line.starts_with("< other/");
    // Every request is answered, and request ids are one series for all threads of a process. A sub-agent's
    // patch is remembered, because it may ask about it.
    let is_patch = line.starts_with("< other/") && line.contains(" started patch ");
    is_theirs && !is_patch && !line.contains(" asks ") && !line.contains(" resolved ")
}

proptest! {
    #[test]
    fn a_turn_ends_at_most_once_and_leaves_nothing_open(script in scripts()) {
        let run = run(&script);
        let mut ledger = Ledger::default();
        for output in &run.outputs {
            ledger.take(output, &run.tickets);
        }
        prop_assert!(ledger.interrupts <= 1, "{} interrupts", ledger.interrupts);
        prop_assert_eq!(ledger.has_outcome, ledger.is_over);
        prop_assert_eq!(ledger.is_over, matches!(run.turn.phase, Phase::Done));
    }

    #[test]
    fn a_turn_that_is_taken_up_anywhere_keeps_the_same_promises(
        script in scripts(),
        restarts in prop::collection::vec((any::<prop::sample::Index>(), select(vec!["restart", "restart without codex"])), 1..4),
    ) {
        let mut script = script;
        for (at, restart) in restarts {
            let at = at.index(script.len() + 1);
            // Settings come before anything else.
            let at = at.max(script.iter().take_while(|line| is_setting(line)).count());
            script.insert(at, restart.to_owned());
        }
        let (mut run, mut ledger) = (Run::new(), Ledger::default());
        for line in &script {
            ledger.hear(line, &run.tickets);
            run.step(line);
            for output in run.outputs.drain(..) {
                ledger.take(&output, &run.tickets);
            }
        }
        run.step("interrupt by user");
        for _ in 0..12 {
            run.now = run.turn.wake_at().unwrap_or(run.now);
            run.step("tick");
        }
        for output in run.outputs.drain(..) {
            ledger.take(&output, &run.tickets);
        }
        prop_assert!(ledger.is_over && ledger.has_outcome);
    }

    #[test]
    fn frames_of_others_are_no_more_than_the_passing_of_time(mut script in scripts()) {
        // A frame of this thread is a sign of life, whatever its turn.
        script.retain(|line| !line.starts_with("quiet"));
        let mut without = script.clone();
        for line in without.iter_mut().filter(|line| is_foreign(line)) {
            *line = "tick".to_owned();
        }
        prop_assert_eq!(run(&script).shown, run(&without).shown);
    }

    #[test]
    fn what_is_told_twice_counts_once(script in scripts()) {
        let is_told = |line: &String| {
            let words = [" item ", " begins", " ends ", " resolved "];
            line.starts_with("< ") && words.iter().any(|word| line.contains(word))
        };
        let doubled: Vec<String> = script.iter().flat_map(|line| {
            std::iter::once(line.clone()).chain(is_told(line).then(|| line.clone()))
        }).collect();
        prop_assert_eq!(run(&script).shown, run(&doubled).shown);
    }

    #[test]
    fn what_is_not_told_breaks_no_promise(script in scripts(), dropped in prop::collection::vec(any::<bool>(), 40)) {
        let is_kept = |(line, dropped): (&String, bool)| !(dropped && line.starts_with("< "));
        let kept: Vec<String> = script.iter().zip(dropped.into_iter().cycle())
            .filter(|(line, dropped)| is_kept((line, *dropped))).map(|(line, _)| line.clone()).collect();
        let run = run(&kept);
        let mut ledger = Ledger::default();
        for output in &run.outputs {
            ledger.take(output, &run.tickets);
        }
    }

    #[test]
    fn a_tick_after_every_step_changes_nothing(script in scripts()) {
        let ticked: Vec<String> = script.iter().flat_map(|line| {
            // A tick at a new time is the passing of time; one after something happened at that time is not.
            let is_input = !line.starts_with("at ") && !is_setting(line);
            std::iter::once(line.clone()).chain(is_input.then(|| "tick".to_owned()))
        }).collect();
        prop_assert_eq!(run(&script).shown, run(&ticked).shown);
    }

    #[test]
    fn the_machine_never_asks_to_be_woken_in_the_past(script in scripts()) {
        let mut run = Run::new();
        for line in &script {
            run.step(line);
            let is_input = !line.starts_with("at ") && !is_setting(line);
            prop_assert!(!is_input || run.turn.wake_at().is_none_or(|at| at > run.now), "after {}", line);
        }
    }

    #[test]
    fn an_interrupt_ends_the_turn_even_if_codex_never_speaks_again(script in scripts()) {
        let mut run = run(&script);
        run.step("interrupt by user");
        for _ in 0..8 {
            run.now = run.turn.wake_at().unwrap_or(run.now);
            run.step("tick");
        }
        prop_assert!(matches!(run.turn.phase, Phase::Done), "{:?}", run.turn.phase);
    }
}
