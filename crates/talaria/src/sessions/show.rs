//! One conversation for people: properties, turns, transcript.

use jiff::Timestamp;
use talaria_core::api::{ForkOrigin, SessionDetail, SessionOrigin, TurnInfo};
use talaria_core::event::Stage;
use talaria_core::outcome::Outcome;
use talaria_core::transcript::{Message, Role};

use crate::amounts::{ago, since};
use crate::look;
use talaria_render::sheet::Sheet;
use talaria_render::{Color, Look, Paint, Style, StyledText, field, plain, plain_line};

/// At most this many lines of a tool's output are shown; the rest is in the export.
const TOOL_LINES: usize = 12;

/// The whole page.
pub(super) fn page(detail: &SessionDetail, now: Timestamp, look: Look) -> StyledText {
    let paint = Paint::new(look);
    let info = &detail.info;
    let mut out = paint.text(Style::BOLD, &plain_line(info.title.trim())) + "\n";
    let codex = detail.codex.as_ref().map(|codex| format!(", Codex {codex}")).unwrap_or_default();
    let provider = info.provider.as_ref().map(|provider| format!(", {provider}")).unwrap_or_default();
    let model = info.model.as_ref().map(|model| format!(", {model}")).unwrap_or_default();
    let fields = [
        ("session", Some(look::session_id(&info.id, look).to_owned())),
        ("task", info.task.clone()),
        ("where", Some(info.cwd.clone())),
        ("runtime", Some(format!("{}{codex}{provider}{model}", info.runtime))),
        ("thread", detail.thread.clone()),
        ("from", detail.origin.as_ref().map(|from| origin(from, look))),
        ("forked", detail.forked_from.as_ref().map(|from| forked(from, look))),
        ("began", Some(ago(info.created_at, now))),
        ("updated", Some(ago(info.updated_at, now))),
    ];
    for (name, value) in fields {
        if let Some(value) = value {
            out += field(&format!("{name:<9}"), &plain_line(&value), look);
        }
    }
    if !detail.turns.is_empty() {
        out += "\n";
        out += turns(&detail.turns, now).show(look);
    }
    if let Some(review) = detail.reviews.last() {
        out += "\n";
        out += field("review   ", &plain_line(&review.line()), look);
    }
    if detail.older_messages > 0 {
        let older = format!("({} older messages; `talaria sessions export` has all)", detail.older_messages);
        out += "\n";
        out += paint.text(Style::DIM, &older) + "\n";
    }
    let mut is_marked = false;
    for (place, message) in detail.messages.iter().enumerate() {
        let is_undone = detail.undone_messages.contains(&place);
        if is_undone != is_marked {
            let mark = if is_undone {
                "(undone: the model does not know this any more)"
            } else {
                "(end of what was undone)"
            };
            out += StyledText::plain("\n") + paint.text(Style::DIM, mark) + "\n";
            is_marked = is_undone;
        }
        out += message_text(message, paint);
    }
    let next = match (&info.task, info.id.short(), info.running) {
        (_, id, _) if detail.origin.is_some() => {
            format!("it is read-only; export its text with: talaria sessions export {id} -o past.md")
        }
        (Some(id), _, true) => format!("follow it: talaria task watch {id}"),
        (Some(id), _, false) => format!("continue it: talaria task send {id} \"…\""),
        (None, id, true) => format!("follow it: talaria exec --attach {id}"),
        (None, id, false) => format!("continue it: talaria exec --resume {id} \"…\""),
    };
    out + "\n" + paint.text(Style::DIM, &next) + "\n"
}

/// Origin of a conversation.
fn origin(origin: &SessionOrigin, look: Look) -> String {
    let parent = match (&origin.parent_session, &origin.parent) {
        (Some(id), _) => format!(", which continued from {}", look::session_id(id, look)),
        (None, Some(name)) => format!(", which continued from {name}"),
        (None, None) => String::new(),
    };
    format!("{} {}{parent}", origin.program, origin.name)
}

/// The original of a fork.
fn forked(from: &ForkOrigin, look: Look) -> String {
    format!("from {} after turn {}", look::session_id(&from.session, look), from.turn)
}

fn turns(turns: &[TurnInfo], now: Timestamp) -> Sheet {
    let mut sheet = Sheet::new(&["turn", "outcome", "began", "took", "prompt"], "prompt");
    for turn in turns {
        // What waited before it was sent is no part of how long it took.
        let began = match (turn.sent_at, turn.settled_at) {
            (Some(at), _) => ago(at, now),
            (None, Some(_)) => "never".to_owned(),
            (None, None) => "not yet".to_owned(),
        };
        let took = turn.sent_at.zip(turn.settled_at).map(|(sent, ended)| since(sent, ended));
        sheet.row([
            turn.turn.to_string(),
            standing(turn),
            began,
            took.unwrap_or_default(),
            turn.prompt.clone(),
        ]);
    }
    sheet
}

/// State of a turn, in a word or two.
fn standing(turn: &TurnInfo) -> String {
    if turn.undone_at.is_some() {
        return "undone".to_owned();
    }
    match (&turn.outcome, turn.stage) {
        (Some(report), _) => match &report.outcome {
            Outcome::Failed { code, .. } => format!("failed ({code})"),
            Outcome::Interrupted { by } => format!("interrupted by {by}"),
            outcome => outcome.word().to_owned(),
        },
        (None, Stage::Prepared) => "not sent yet".to_owned(),
        (None, Stage::Unknown) => "not known yet".to_owned(),
        (None, _) => "running".to_owned(),
    }
}

fn message_text(message: &Message, paint: Paint) -> StyledText {
    let mut out = StyledText::default();
    let content = message.content.as_deref().map(str::trim).filter(|text| !text.is_empty());
    match message.role {
        Role::User => {
            let text = content.unwrap_or_default();
            let mark = paint.text(Style::BOLD.color(Color::Cyan), ">");
            for line in plain(text).lines() {
                out += mark.clone() + format!(" {line}\n");
            }
        }
        Role::Assistant => {
            out += content.map(|text| format!("{}\n", plain(text))).unwrap_or_default();
            for call in &message.tool_calls {
                let call = format!("{} {}", call.function.name, call.function.arguments);
                let sign = paint.sign("•", "*");
                out += paint.text(Style::DIM, &format!("{sign} {}", plain_line(&call))) + "\n";
            }
        }
        Role::Tool => {
            let text = plain(content.unwrap_or_default());
            let lines: Vec<&str> = text.lines().collect();
            for line in lines.iter().take(TOOL_LINES) {
                out += paint.text(Style::DIM, &format!("  {line}")) + "\n";
            }
            let rest = lines.len().saturating_sub(TOOL_LINES);
            if rest > 0 {
                out += paint.text(Style::DIM, &format!("  ({rest} more lines)")) + "\n";
            }
            return out;
        }
    }
    if out.is_empty() { out } else { StyledText::plain("\n") + out }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use talaria_core::api::{Kind, ReviewInfo, SessionInfo};
    use talaria_core::event::Usage;
    use talaria_core::ids::SessionId;
    use talaria_core::outcome::Report;
    use talaria_core::request::Who;
    use talaria_core::review::ReviewState;
    use talaria_core::transcript::ToolCall;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn turn(number: i64, outcome: Option<Outcome>, stage: Stage) -> TurnInfo {
        TurnInfo {
            turn: number,
            stage,
            outcome: outcome.map(|outcome| Report::new(outcome, None, Usage::default(), 0)),
            prompt: "count the words".to_owned(),
            created_at: at(400),
            sent_at: (stage != Stage::Prepared).then(|| at(1000)),
            settled_at: (stage == Stage::Settled).then(|| at(1042)),
            usage: None,
            undone_at: None,
        }
    }

    #[test]
    fn a_conversation_is_shown_whole_and_harmless() {
        let info = SessionInfo {
            id: SessionId::new("0199a000"),
            title: "count the words".to_owned(),
            runtime: "codex_app_server".to_owned(),
            updated_at: at(1050),
            running: false,
            queued: false,
            kind: Kind::Exec,
            task: None,
            cwd: "/work".to_owned(),
            provider: None,
            model: Some("gpt-5.5".to_owned()),
            created_at: at(1000),
            last_seq: 9,
        };
        let call = ToolCall::new("c", "exec_command", r#"{"command":"wc -w a"}"#.to_owned());
        let calling = Message { content: None, tool_calls: vec![call], ..Message::assistant("") };
        let long: String = (1..=14).map(|n| format!("line {n}\n")).collect();
        let messages = vec![
            Message::user("count the words\nplease"),
            calling,
            Message::tool("c", long),
            Message::assistant("There are \u{1b}[31m5 words."),
        ];
        let turns = vec![
            turn(1, Some(Outcome::Completed), Stage::Settled),
            turn(2, Some(Outcome::Interrupted { by: Who::User }), Stage::Settled),
            turn(3, None, Stage::Accepted),
            turn(4, None, Stage::Prepared),
            TurnInfo { undone_at: Some(at(1045)), ..turn(5, Some(Outcome::Completed), Stage::Settled) },
        ];
        let (thread, codex) = (Some("t-1".to_owned()), Some("0.166.0".to_owned()));
        let reviews = vec![ReviewInfo {
            first_turn: 1,
            last_turn: 2,
            state: ReviewState::Running,
            attempts: 1,
            due_at: at(1042),
            ended_at: None,
            usage: None,
            report: None,
        }];
        let detail = SessionDetail {
            info,
            thread,
            codex,
            origin: None,
            forked_from: Some(ForkOrigin { session: SessionId::new("0199bfff"), turn: 1 }),
            turns,
            reviews,
            budgets: Vec::new(),
            messages,
            undone_messages: vec![3],
            older_messages: 3,
        };
        let look = Look { color: false, width: Some(90), live: true, unicode: true };
        expect![[r#"
            count the words
            session  0199a000
            where    /work
            runtime  codex_app_server, Codex 0.166.0, gpt-5.5
            thread   t-1
            forked   from 0199bfff after turn 1
            began    1 hour ago
            updated  1 hour ago

            TURN  OUTCOME             BEGAN       TOOK        PROMPT
            1     completed           1 hour ago  42 seconds  count the words
            2     interrupted by you  1 hour ago  42 seconds  count the words
            3     running             1 hour ago              count the words
            4     not sent yet        not yet                 count the words
            5     undone              1 hour ago  42 seconds  count the words

            review   turns 1 to 2: a review is running

            (3 older messages; `talaria sessions export` has all)

            > count the words
            > please

            • exec_command {"command":"wc -w a"}
              line 1
              line 2
              line 3
              line 4
              line 5
              line 6
              line 7
              line 8
              line 9
              line 10
              line 11
              line 12
              (2 more lines)

            (undone: the model does not know this any more)

            There are ␛[31m5 words.

            continue it: talaria exec --resume 0199a000 "…"
        "#]]
        .assert_eq(&page(&detail, at(4700), look).text());
    }
}
