//! Notices of one line: sub-agents, silence, limits, a Codex that was replaced.
//!
//! Pure: an event in, words out; the weight decides the style of the line. The text is raw: the stage makes it
//! harmless and joins it into one line.

use jiff::Timestamp;
use serde::Deserialize;
use serde::de::IgnoredAny;
use talaria_core::event::{AgentPhase, Escalation, Event, QueuedInput, RateLimits, RateWindow};
use talaria_core::ids::ThreadId;
use talaria_core::item::{Item, ItemBody};
use talaria_core::request::Who;

use super::paint::Paint;
use super::{shell_wrapper, step_note, tool_line};

/// From how many percent on a limit is worth a line.
const NEARLY_FULL: f64 = 80.0;

/// At most this many bytes of withdrawn input are shown.
const TAKEN_BACK: usize = 400;

/// One line of news.
#[derive(Debug, PartialEq, Eq)]
pub enum NewsLine {
    /// It is dimmed.
    Aside(String),
    /// It is worth a look.
    Warning(String),
}

/// The notice of an event, if it has one.
pub fn news(event: &Event, paint: Paint) -> Option<NewsLine> {
    use NewsLine::{Aside, Warning};
    Some(match event {
        Event::ToolProgress { message, .. } => Aside(message.clone()),
        Event::Retrying { message } => Warning(format!("{} retrying: {message}", paint.sign("↻", "!"))),
        Event::AttemptVoid { why, .. } => {
            Warning(format!("{} the text above does not count: {why}", paint.sign("✗", "x")))
        }
        Event::Warning { message } => Warning(format!("warning: {message}")),
        Event::Interrupting { by } => Warning(stopping(*by, paint)),
        Event::Corrupt { reason, bytes } => {
            Warning(format!("warning: Codex sent {bytes} bytes that are not a message: {reason}"))
        }
        Event::Reviewed(report) if report.not_done => Warning(report.line()?),
        Event::Reviewed(report) => Aside(report.line()?),
        Event::TurnUndone { undone } => Aside(undone_line(*undone)),
        Event::Compacted => Aside("the conversation was shortened".to_owned()),
        Event::ModelRerouted { from, to, reason, until } => {
            let why = reason.as_ref().map(|word| format!(" ({word})")).unwrap_or_default();
            let until = until.and_then(|until| Timestamp::from_second(until).ok());
            let until = until.map(|until| format!(" until {}", until.strftime("%Y-%m-%d %H:%M:%S UTC")));
            Warning(format!("{to} answers instead of {from}{}{why}", until.unwrap_or_default()))
        }
        Event::RateLimits(limits) => Warning(limits_line(limits)?),
        Event::AgentUpdated { thread, phase } => Aside(format!("{} {}", agent(thread), phase_word(*phase))),
        Event::AgentItemCompleted { thread, item } => {
            Aside(format!("{}: {}", agent(thread), agent_step(item, paint)?))
        }
        Event::ChildrenRunning { count: 0 } => return None,
        Event::ChildrenRunning { count: 1 } => {
            Aside("when the turn ended, 1 sub-agent was still running".to_owned())
        }
        Event::ChildrenRunning { count } => {
            Aside(format!("when the turn ended, {count} sub-agents were still running"))
        }
        Event::Quiet { seconds, open_items } => Warning(quiet_line(*seconds, open_items.len())),
        Event::Escalated { action: Escalation::HostEnded } => {
            Warning("Codex did not stop in time, so its process was ended".to_owned())
        }
        Event::Escalated { action: Escalation::Abandoned } => Warning(
            "Codex did not stop in time; its process runs other turns, so only this one was abandoned"
                .to_owned(),
        ),
        Event::BackgroundStarted(command) => Aside(format!(
            "still running in the background ({}; stop it with `talaria ps stop {}`): {}",
            command.id,
            command.id,
            shell_wrapper::unwrapped(&command.command)
        )),
        Event::BackgroundEnded { id, command, end, exit_code, .. } => Aside(format!(
            "background command {id} {}: {}",
            end.words(*exit_code),
            shell_wrapper::unwrapped(command)
        )),
        Event::TerminalsEnded { message } => Aside(message.clone()),
        Event::HostReplaced { message } => Warning(message.clone()),
        Event::Gap(gap) => Warning(gap.message.clone()),
        Event::DeliveryUnknown { id } => Warning(format!(
            "Codex was lost before it confirmed the answer to {id}; it may or may not have received it"
        )),
        // Whether the turn has read it is not said: it may have shown it before Codex confirmed it.
        Event::Steered { .. } => Aside("sent to the running turn".to_owned()),
        Event::Queued { waiting: 1, .. } => Aside("queued".to_owned()),
        Event::Unqueued { inputs, was_sent } => Aside(taken_back(inputs, *was_sent)),
        Event::Queued { waiting, .. } => Aside(format!("queued ({waiting} are waiting)")),
        _ => return None,
    })
}

/// That an answer does not count of which nothing was shown here.
pub fn unseen_void(why: &str) -> String {
    format!("an answer that was not shown here does not count: {why}")
}

/// That a turn was asked to stop, and by whom.
fn stopping(by: Who, paint: Paint) -> String {
    let more = paint.sign("…", "...");
    match by {
        Who::User => format!("stopping {more}"),
        Who::Deadline => format!("time limit reached, stopping {more}"),
        Who::Stop => format!("stopping {more} (`talaria stop`)"),
        by => format!("stopping {more} ({by} asked for it)"),
    }
}

/// Input that will not be run, and its words: no one else keeps them.
fn taken_back(inputs: &[QueuedInput], was_sent: bool) -> String {
    let what = match (was_sent, inputs.len()) {
        (false, 1) => "not sent".to_owned(),
        (false, many) => format!("{many} messages were not sent"),
        (true, 1) => "sent, but never read by the model".to_owned(),
        (true, many) => format!("{many} messages were sent, but never read by the model"),
    };
    let words: Vec<&str> = inputs.iter().map(|input| input.text.trim()).collect();
    let words = words.join("; ");
    let end = words.floor_char_boundary(TAKEN_BACK);
    let more = if end < words.len() { "…" } else { "" };
    format!("{what}: {}{more}", &words[..end])
}

/// Notice about an unknown message. Only a request matters to the user: Codex expected an answer, and the host has
/// refused it.
pub fn unknown(method: &str, raw: &str) -> NewsLine {
    #[derive(Deserialize)]
    struct Envelope {
        id: Option<IgnoredAny>,
    }
    match serde_json::from_str::<Envelope>(raw).is_ok_and(|envelope| envelope.id.is_some()) {
        true => NewsLine::Warning(format!(
            "Codex sent a request that this version does not know, and was refused: {method}"
        )),
        false => NewsLine::Aside(format!("Codex sent a message that this version does not know: {method}")),
    }
}

/// A sub-agent, by the end of its thread's id: the beginnings of ids that were made together are alike.
pub fn agent(thread: &ThreadId) -> String {
    let id = thread.as_str();
    let tail = id.char_indices().rev().nth(5).map_or(id, |(at, _)| &id[at..]);
    format!("agent {tail}")
}

/// That a turn was undone.
fn undone_line(turn: i64) -> String {
    format!("turn {turn} was undone: the conversation continues without it")
}

/// State of a sub-agent.
pub fn phase_word(phase: AgentPhase) -> &'static str {
    match phase {
        AgentPhase::Running => "is working",
        AgentPhase::Completed => "is done",
        AgentPhase::Failed => "failed",
        AgentPhase::Interrupted => "was stopped",
    }
}

/// Description of a sub-agent's step, if it is worth a line.
pub fn agent_step(item: &Item, paint: Paint) -> Option<String> {
    match &item.body {
        ItemBody::AgentMessage { text, .. } => Some(text.clone()),
        body => step_note::note(body).or_else(|| tool_line::label(body, paint)),
    }
}

fn quiet_line(seconds: u64, open: usize) -> String {
    let silence = tool_line::elapsed(seconds.saturating_mul(1000));
    let busy = match open {
        0 => "Codex is running".to_owned(),
        1 => "1 step is running".to_owned(),
        count => format!("{count} steps are running"),
    };
    format!("no message for {silence}; {busy}")
}

fn limits_line(limits: &RateLimits) -> Option<String> {
    if let Some(reached) = &limits.reached {
        return Some(format!("the account's limit is reached ({reached})"));
    }
    let windows = [("short", &limits.primary), ("long", &limits.secondary)];
    let full = |window: &&RateWindow| window.used_percent >= NEARLY_FULL;
    let (name, window) = windows
        .into_iter()
        .filter_map(|(name, window)| Some((name, window.as_ref().filter(full)?)))
        .max_by(|a, b| a.1.used_percent.total_cmp(&b.1.used_percent))?;
    let length = window.minutes.map(|minutes| format!(" of {}", window_length(minutes))).unwrap_or_default();
    Some(format!("{:.0} % of the account's {name} limit{length} is used", window.used_percent))
}

fn window_length(minutes: u64) -> String {
    match minutes {
        0..120 => format!("{minutes} minutes"),
        120..2880 => format!("{} hours", minutes / 60),
        _ => format!("{} days", minutes / 1440),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use talaria_core::ids::ItemId;

    use super::super::sample;
    use super::*;

    fn told(event: &Event) -> String {
        match news(event, Paint::new(sample::PIPE)) {
            Some(NewsLine::Aside(text)) => format!("  {text}\n"),
            Some(NewsLine::Warning(text)) => format!("! {text}\n"),
            None => "nothing\n".to_owned(),
        }
    }

    fn limits(percent: f64, reached: Option<&str>) -> Event {
        let window = |used_percent, minutes| {
            Some(RateWindow { used_percent, minutes: Some(minutes), resets_at: None })
        };
        let reached = reached.map(str::to_owned);
        Event::RateLimits(Box::new(RateLimits {
            primary: window(percent, 300),
            secondary: window(10.0, 10_080),
            plan: None,
            reached,
        }))
    }

    #[test]
    fn silence_says_what_is_known_and_what_one_can_do() {
        let quiet = |seconds, open: usize| Event::Quiet {
            seconds,
            open_items: (0..open).map(|n| ItemId::new(n.to_string())).collect(),
        };
        expect![[r#"
            ! no message for 2m 00s; Codex is running
            ! no message for 1h 00m; 1 step is running
            ! no message for 1h 00m; 2 steps are running
        "#]]
        .assert_eq(&[quiet(120, 0), quiet(3600, 1), quiet(3601, 2)].iter().map(told).collect::<String>());
    }

    #[test]
    fn an_answer_and_a_stop_are_not_ascribed_to_the_reader() {
        let stopping = |by| Event::Interrupting { by };
        let events = [
            Event::DeliveryUnknown { id: talaria_core::ids::TicketId::new("req-1") },
            stopping(Who::User),
            stopping(Who::Stop),
            stopping(Who::Model),
        ];
        expect![[r#"
            ! Codex was lost before it confirmed the answer to req-1; it may or may not have received it
            ! stopping …
            ! stopping … (`talaria stop`)
            ! stopping … (a model asked for it)
        "#]]
        .assert_eq(&events.iter().map(told).collect::<String>());
    }

    #[test]
    fn limits_are_told_when_they_come_near() {
        let events = [limits(40.0, None), limits(80.0, None), limits(100.0, Some("rate_limit_reached"))];
        expect![[r#"
            nothing
            ! 80 % of the account's short limit of 5 hours is used
            ! the account's limit is reached (rate_limit_reached)
        "#]]
        .assert_eq(&events.iter().map(told).collect::<String>());
    }

    #[test]
    fn a_sub_agent_is_named_by_the_end_of_its_thread() {
        let thread = |id: &str| ThreadId::new(id);
        let events = [
            Event::AgentUpdated { thread: thread("0198-abcdef"), phase: AgentPhase::Running },
            Event::AgentUpdated { thread: thread("é"), phase: AgentPhase::Failed },
            Event::ChildrenRunning { count: 2 },
            Event::ChildrenRunning { count: 0 },
        ];
        expect![[r#"
              agent abcdef is working
              agent é failed
              when the turn ended, 2 sub-agents were still running
            nothing
        "#]]
        .assert_eq(&events.iter().map(told).collect::<String>());
    }
}
