//! Many messages in few characters: the history for a fresh thread when the old one cannot be resumed.
//!
//! The newest exchanges are kept whole as long as they fit. An older one that does not fit loses its steps, then the
//! middle of its texts; still older ones are only counted. Never longer than the budget; cut between characters.

use std::ops::Range;

use super::message::{Message, Role};

/// Maximum size of an exchange that does not fit; the newest one may use the whole budget.
const SHORTENED: usize = 600;
/// With less room than this nothing of an exchange is worth keeping.
const LEAST: usize = 60;
/// The separator between exchanges.
const GAP: &str = "\n\n";

/// Renders messages into at most `budget` characters of plain text, oldest first.
pub fn digest(messages: &[Message], budget: usize) -> String {
    let exchanges = exchanges(messages);
    let mut kept: Vec<String> = Vec::new();
    let mut room = budget;
    for (older, exchange) in exchanges.iter().enumerate().rev() {
        let gap = if kept.is_empty() { 0 } else { GAP.len() };
        // Omitted messages must still be counted.
        let count = if older == 0 { 0 } else { left_out(older).len() + GAP.len() };
        let space = room.saturating_sub(gap + count);
        let most = if kept.is_empty() { space } else { space.min(SHORTENED) };
        let messages = messages.get(exchange.clone()).unwrap_or_default();
        let Some(text) = whole(messages, space).or_else(|| shortened(messages, most)) else {
            kept.push(left_out(older + 1));
            break;
        };
        room -= gap + characters(&text);
        kept.push(text);
    }
    kept.reverse();
    let text = kept.join(GAP);
    // Only the count of what was left out can be longer than the budget, when that is tiny.
    cut(&text, budget).to_owned()
}

/// An exchange is a message of the user's with everything up to the next one.
fn exchanges(messages: &[Message]) -> Vec<Range<usize>> {
    let is_first =
        |(index, message): (usize, &Message)| (index == 0 || message.role == Role::User).then_some(index);
    let starts: Vec<usize> = messages.iter().enumerate().filter_map(is_first).collect();
    let ends = starts.iter().skip(1).copied().chain([messages.len()]);
    starts.iter().copied().zip(ends).map(|(start, end)| start..end).collect()
}

/// Returns an exchange with all its steps, if it fits.
fn whole(messages: &[Message], space: usize) -> Option<String> {
    let mut out = String::new();
    for message in messages {
        let content = message.content.as_deref().unwrap_or_default();
        match message.role {
            Role::User => push(&mut out, "User: ", content),
            Role::Tool => push(&mut out, "Result: ", content),
            Role::Assistant if !content.is_empty() => push(&mut out, "Assistant: ", content),
            Role::Assistant => {}
        }
        for call in &message.tool_calls {
            push(&mut out, "Call: ", &format!("{} {}", call.function.name, call.function.arguments));
        }
        // Bytes are never fewer than characters: stop before a long text is counted again and again.
        if out.len() > space && characters(&out) > space {
            return None;
        }
    }
    Some(out)
}

/// Returns what was asked and what was answered last, each without its middle if need be; nothing, if it is not worth it.
fn shortened(messages: &[Message], space: usize) -> Option<String> {
    let question = messages.first().filter(|message| message.role == Role::User);
    let question = question.and_then(|message| message.content.as_deref()).unwrap_or_default();
    let mut answers = messages.iter().rev().filter(|message| message.role == Role::Assistant);
    let answer = answers.find_map(|message| message.content.as_deref()).unwrap_or_default();
    let calls: usize = messages.iter().map(|message| message.tool_calls.len()).sum();
    let steps = match calls {
        0 => String::new(),
        1 => "[1 step left out]\n".to_owned(),
        _ => format!("[{calls} steps left out]\n"),
    };
    let frame = "User: \n".len() + steps.len() + "Assistant: ".len();
    let space = space.checked_sub(frame).filter(|space| *space >= LEAST)?;
    // The question gets a third, and what the answer does not need.
    let for_question = characters(question).min((space / 3).max(space.saturating_sub(characters(answer))));
    let question = without_middle(question, for_question);
    let answer = without_middle(answer, space - characters(&question));
    Some(format!("User: {question}\n{steps}Assistant: {answer}"))
}

fn push(out: &mut String, label: &str, text: &str) {
    if !out.is_empty() {
        out.push('\n');
    }
    out.push_str(label);
    out.push_str(text.trim_end());
}

fn left_out(count: usize) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("[{count} earlier exchange{plural} left out]")
}

/// Keeps the beginning and the end of a text in at most `space` characters.
fn without_middle(text: &str, space: usize) -> String {
    let length = characters(text);
    if length <= space {
        return text.to_owned();
    }
    let sign = |left_out: usize| format!("[… {left_out} characters left out …]");
    match space.checked_sub(characters(&sign(length))) {
        Some(rest) => {
            let (head, tail) = (cut(text, rest - rest / 2), after(text, length - rest / 2));
            format!("{head}{}{tail}", sign(length - rest))
        }
        None => cut(text, space).to_owned(),
    }
}

/// The beginning of a text, at most this many characters.
fn cut(text: &str, characters: usize) -> &str {
    text.get(..boundary(text, characters)).unwrap_or(text)
}

/// The end of a text, without this many characters at its beginning.
fn after(text: &str, characters: usize) -> &str {
    text.get(boundary(text, characters)..).unwrap_or_default()
}

fn boundary(text: &str, characters: usize) -> usize {
    text.char_indices().nth(characters).map_or(text.len(), |(at, _)| at)
}

fn characters(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use proptest::prelude::*;

    use super::super::message::ToolCall;
    use super::*;

    fn exchange(question: &str, answer: &str) -> Vec<Message> {
        let call = ToolCall::new("c", "exec_command", r#"{"command":"ls"}"#.to_owned());
        let calling = Message { content: None, tool_calls: vec![call], ..Message::assistant("") };
        vec![Message::user(question), calling, Message::tool("c", "a\nb\n"), Message::assistant(answer)]
    }

    fn conversation() -> Vec<Message> {
        let questions = ["What is here?", "And there?", "Why?", "Since when?"];
        let long = "word ".repeat(60);
        questions.iter().flat_map(|question| exchange(question, &format!("Because. {long}Really."))).collect()
    }

    #[test]
    fn what_fits_is_kept_whole() {
        expect![[r#"
            User: What is here?
            Call: exec_command {"command":"ls"}
            Result: a
            b
            Assistant: Two files."#]]
        .assert_eq(&digest(&exchange("What is here?", "Two files."), 1000));
        assert_eq!(digest(&[], 1000), "");
    }

    #[test]
    fn newer_exchanges_are_whole_and_older_ones_short_or_counted() {
        expect![[r#"
            [1 earlier exchange left out]

            User: And there?
            [1 step left out]
            Assistant: Because. word word word word wo[… 255 characters left out …]rd word word word word Really.

            User: Why?
            Call: exec_command {"command":"ls"}
            Result: a
            b
            Assistant: Because. word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word Really.

            User: Since when?
            Call: exec_command {"command":"ls"}
            Result: a
            b
            Assistant: Because. word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word Really."#]].assert_eq(&digest(&conversation(), 950));
    }

    #[test]
    fn an_exchange_that_is_too_long_keeps_both_ends_of_both_texts() {
        let question = format!("first {} last", "x".repeat(300));
        let answer = format!("begin {} end", "y".repeat(3000));
        expect![[r#"
            User: first xxxxxxxxxxxxxxxxxxxxxxxx[… 252 characters left out …]xxxxxxxxxxxxxxxxxxxxxxxx last
            [1 step left out]
            Assistant: begin yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy[… 2864 characters left out …]yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy end"#]].assert_eq(&digest(&exchange(&question, &answer), 300));
    }

    #[test]
    fn a_tiny_budget_gives_a_tiny_text() {
        let sizes: Vec<String> =
            [0, 1, 20, 60].iter().map(|budget| digest(&conversation(), *budget)).collect();
        expect![[r#"
            [
                "",
                "[",
                "[4 earlier exchanges",
                "[4 earlier exchanges left out]",
            ]"#]]
        .assert_eq(&format!("{sizes:#?}"));
    }

    fn any_message() -> impl Strategy<Value = Message> {
        let text = "[a-z \u{e9}\u{1f600}\n]{0,200}";
        prop_oneof![
            text.prop_map(Message::user),
            text.prop_map(Message::assistant),
            text.prop_map(|text| Message::tool("c", text)),
            text.prop_map(|text| exchange("", &text).remove(1)),
        ]
    }

    proptest! {
        #[test]
        fn it_is_never_longer_than_the_budget(
            messages in prop::collection::vec(any_message(), 0..30),
            budget in 0_usize..2000,
        ) {
            let text = digest(&messages, budget);
            prop_assert!(characters(&text) <= budget);
            prop_assert_eq!(text, digest(&messages, budget));
        }

        #[test]
        fn the_end_of_the_newest_answer_is_never_left_out(
            messages in prop::collection::vec(any_message(), 0..30),
            answer in "[a-z \u{e9}]{0,3000}END",
            budget in 200_usize..2000,
        ) {
            let messages = [messages, exchange("why?", &answer)].concat();
            prop_assert!(digest(&messages, budget).ends_with("END"));
        }

        #[test]
        fn with_room_for_everything_nothing_is_left_out(messages in prop::collection::vec(any_message(), 0..30)) {
            let text = digest(&messages, 1_000_000);
            prop_assert!(!text.contains("left out"));
            for message in &messages {
                let content = message.content.as_deref().unwrap_or_default();
                prop_assert!(text.contains(content.trim_end()));
            }
        }
    }
}
