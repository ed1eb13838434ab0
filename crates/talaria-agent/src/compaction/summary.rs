//! The text that takes the place of messages: the model's summary, the user's own words, and the plan.
//!
//! The words and the plan are taken from the history and not from the model, so that no number of compactions wears them
//! away.

use std::fmt::Write;

use super::size::text_tokens;
use super::{CompactionPlan, USER_WORDS, text_of_item};
use crate::history::{LogEntry, LogItem};

/// The heading of the user's own words.
const WORDS: &str = "## What the user said, word for word";
const PLAN: &str = "## The plan";
/// The headings that a summary has.
const HEADINGS: [&str; 4] = ["## Goal", "## Done", "## State", "## Next"];
/// A shorter answer is no summary.
const LEAST: usize = 40;

/// Reads the answer of the model that summarises. The error says why it is no summary.
pub(crate) fn read_summary(answer: &str, most: u64) -> Result<&str, String> {
    let text = match answer.split_once("<summary>") {
        Some((_, rest)) => {
            let end = rest.rfind("</summary>").ok_or("its summary has no end")?;
            rest[..end].trim()
        }
        None if HEADINGS.iter().filter(|heading| answer.contains(*heading)).count() >= 2 => answer.trim(),
        None => return Err("its answer is no summary".to_owned()),
    };
    if text.chars().count() < LEAST {
        return Err("its summary is empty".to_owned());
    }
    let tokens = text_tokens(text);
    if tokens > most {
        return Err(format!("its summary is too long (about {tokens} tokens)"));
    }
    Ok(text)
}

/// A composed text.
pub(crate) struct ComposedSummary {
    pub(crate) text: String,
    /// Tokens of the user's words in it.
    pub(crate) words: u64,
    pub(crate) has_plan: bool,
}

/// Adds to a summary what is not left to a model. `left_out` steps had no room in front of it; `recall` names the tool
/// that finds them.
pub(crate) fn compose(
    log: &[LogEntry],
    plan: &CompactionPlan,
    summary: &str,
    (left_out, recall): (u64, Option<&str>),
    limit: u64,
) -> ComposedSummary {
    let mut text = summary.to_owned();
    // Writing to a string cannot fail.
    if left_out > 0 {
        let _ = write!(text, "\n\n{left_out} earlier steps were too long to be summarised.");
    }
    if let Some(recall) = recall {
        let _ = write!(text, "\n\nThe messages themselves are not shown any more; {recall} finds them.");
    }
    let (words, tokens) = own_words(log, plan, USER_WORDS.min(limit / 4));
    if !words.is_empty() {
        let _ = write!(text, "\n\n{WORDS}\n{words}");
    }
    let steps = current_plan(log);
    if let Some(steps) = &steps {
        let _ = write!(text, "\n\n{PLAN}\n{steps}");
    }
    ComposedSummary { text, words: tokens, has_plan: steps.is_some() }
}

/// An earlier text without what is added again.
pub(super) fn without_own_words(text: &str) -> &str {
    let ends = [WORDS, PLAN].iter().filter_map(|heading| text.find(heading));
    text[..ends.min().unwrap_or(text.len())].trim_end()
}

/// What the user said, apart from what stays anyway: the newest words that fit, the oldest of them first.
fn own_words(log: &[LogEntry], plan: &CompactionPlan, most: u64) -> (String, u64) {
    let (mut words, mut used) = (Vec::new(), 0);
    let said = log.iter().rev().filter(|entry| matches!(entry.item, LogItem::User { .. }));
    for entry in said.filter(|entry| !plan.keeps(entry.seq)) {
        let text = text_of_item(&entry.item);
        let text = text.trim();
        if text.is_empty() {
            continue;
        }
        let room = most.saturating_sub(used);
        let tokens = text_tokens(text);
        if tokens > room {
            // The beginning of a long message is worth more than the whole of older ones.
            let bytes = usize::try_from(room).unwrap_or(usize::MAX).saturating_mul(4);
            let cut = text.floor_char_boundary(bytes.min(text.len()));
            if cut > 0 {
                words.push(format!("- {} [… cut]", &text[..cut]));
                used += room;
            }
            break;
        }
        used += tokens;
        words.push(format!("- {text}"));
    }
    words.reverse();
    (words.join("\n"), used)
}

/// The plan as the model sent it last, unless all of it is done.
fn current_plan(log: &[LogEntry]) -> Option<String> {
    let arguments = log.iter().rev().find_map(|entry| match &entry.item {
        LogItem::Call { name, input, .. } if name == "plan" => input.arguments(),
        _ => None,
    })?;
    let steps = arguments.get("steps")?.as_array()?;
    let lines = steps.iter().filter_map(|step| {
        let (text, status) = (step.get("step")?.as_str()?, step.get("status")?.as_str()?);
        Some((format!("- [{status}] {text}"), status != "completed"))
    });
    let (lines, is_open): (Vec<String>, Vec<bool>) = lines.unzip();
    is_open.contains(&true).then(|| lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{CallId, CallInput, LogPart};

    fn said(seq: u64, text: &str) -> LogEntry {
        LogEntry::own(seq, LogItem::User { parts: vec![LogPart::text(text)] })
    }

    #[test]
    fn only_a_whole_summary_is_one() {
        let good = "## Goal\nBuild the bird table before the winter comes.\n## Next\nSaw the boards.";
        assert_eq!(read_summary(&format!("Sure!\n<summary>\n{good}\n</summary>\nDone."), 1_000), Ok(good));
        assert_eq!(read_summary(good, 1_000), Ok(good), "the headings are enough");
        for (answer, why) in [
            ("I cannot do that, but I can tell you a joke about three herons.", "its answer is no summary"),
            ("", "its answer is no summary"),
            ("<summary></summary>", "its summary is empty"),
            (&format!("<summary>{good}"), "its summary has no end"),
        ] {
            assert_eq!(read_summary(answer, 1_000), Err(why.to_owned()));
        }
        let long = format!("<summary>{}</summary>", "word ".repeat(1_000));
        assert!(read_summary(&long, 1_000).unwrap_err().contains("too long"));
    }

    #[test]
    fn the_newest_words_of_the_user_are_kept_and_those_that_stay_are_not_repeated() {
        let log = [said(0, "first"), said(1, &"long ".repeat(100)), said(2, "last"), said(3, "request")];
        let plan = CompactionPlan { after: vec![3], ..CompactionPlan::default() };
        let composed = compose(&log, &plan, "S", (0, None), 400_000);
        assert!(composed.text.starts_with("S\n\n## What the user said") && composed.text.contains("- first"));
        assert!(!composed.text.contains("request"), "{}", composed.text);
        let composed = compose(&log, &plan, "S", (3, Some("talaria_recall")), 80);
        assert!(composed.text.contains("- last") && composed.text.contains("[… cut]"), "{}", composed.text);
        assert!(!composed.text.contains("- first") && composed.words <= 20, "{}", composed.text);
        assert!(
            composed.text.contains("3 earlier steps") && composed.text.contains("talaria_recall finds them")
        );
        assert_eq!(without_own_words(&composed.text).lines().next(), Some("S"));
        assert!(!without_own_words(&composed.text).contains("last"));
    }

    #[test]
    fn a_plan_stays_until_it_is_done() {
        let plan = |status: &str| {
            let input = serde_json::json!({"steps": [
                {"step": "count", "status": "completed"}, {"step": "feed", "status": status}]});
            let input = CallInput::Json(input.to_string());
            let call = LogItem::Call { call: CallId::new("c"), name: "plan".to_owned(), input };
            compose(&[LogEntry::own(0, call)], &CompactionPlan::default(), "S", (0, None), 1_000)
        };
        let open = plan("in_progress");
        assert!(
            open.has_plan && open.text.ends_with("## The plan\n- [completed] count\n- [in_progress] feed")
        );
        assert!(!plan("completed").has_plan);
    }
}
