//! The question to a person when a budget is reached, and what they answer.

use super::{BudgetAmount, BudgetShortfall};
use crate::ids::{ItemId, ThreadId};
use crate::request::{Answer, Ask, Content, Question, QuestionOption};

const ID: &str = "budget";
const STOP: &str = "Stop";
const ALLOW: &str = "Allow ";
const MORE: &str = " more";
const ANOTHER: &str = "Continue with ";
/// The small step that is offered, as a part of the limit.
const SMALL_PART: u64 = 5;

/// What a person decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BudgetReply {
    /// This much more may be spent.
    Allow(BudgetAmount),
    /// The next model of the fallback chain continues.
    AnotherModel,
    /// The turn ends.
    Stop,
    /// Words that are no amount of the unit of the budget.
    Unreadable,
}

/// The question. `another` is the model that could continue instead.
pub fn ask_for_more(
    thread: &ThreadId,
    item: &ItemId,
    shortfall: &BudgetShortfall,
    another: Option<&str>,
) -> Ask {
    let (state, limit) = (&shortfall.state, shortfall.state.limit);
    let show = |number: u64| limit.with(number);
    let mut text =
        format!("The budget {} is {limit}, and {} is spent", state.scope.words(), show(state.spent));
    if state.uncertain > 0 {
        text += &format!(" (up to {} of it is not known for certain)", show(state.uncertain));
    }
    if state.reserved > 0 {
        text += &format!("; {} is reserved for requests that run", show(state.reserved));
    }
    match shortfall.wanted {
        Some(wanted) if wanted > 0 => {
            text += &format!(". The next request can cost up to {}", show(wanted));
        }
        _ => {}
    }
    text += ". How much more may be spent?";
    // The whole limit again, and the least round part of it that is enough.
    let missing = shortfall.wanted.unwrap_or_default().saturating_sub(state.room());
    let small = (limit.number() / SMALL_PART).max(missing).max(1);
    let large = limit.number().max(missing.saturating_mul(2));
    let option =
        |label: String, description: &str| QuestionOption { label, description: description.to_owned() };
    let allow = |number: u64| format!("{ALLOW}{}{MORE}", exact(show(number)));
    let mut options = vec![option(allow(small), "The turn continues")];
    if large > small {
        options.push(option(allow(large), "The turn continues"));
    }
    options
        .extend(another.map(|model| {
            option(format!("{ANOTHER}{model}"), "The next model of the fallback chain answers")
        }));
    options.push(option(STOP.to_owned(), "End the turn; what it did so far is done"));
    let question = Question {
        id: ID.to_owned(),
        header: String::new(),
        question: text,
        options,
        other: true,
        secret: false,
    };
    Ask::Input {
        thread: thread.clone(),
        item: Some(item.clone()),
        questions: vec![question],
        blocking: Some(true),
    }
}

/// An amount that is read back as at least the same number.
fn exact(amount: BudgetAmount) -> BudgetAmount {
    match amount {
        // The form for people has ten-thousandths.
        BudgetAmount::Money(number) => BudgetAmount::Money(number.div_ceil(100_000).saturating_mul(100_000)),
        BudgetAmount::Tokens(_) => amount,
    }
}

/// Reads an answer; `limit` has the unit that is asked for. A person may type another amount.
pub fn read_reply(answer: &Answer, limit: BudgetAmount) -> BudgetReply {
    if !answer.decision.is_yes() || !matches!(answer.content, Content::Answers(_)) {
        return BudgetReply::Stop;
    }
    let revealed = answer.revealed();
    let given = revealed["content"]["given"][ID].as_array().and_then(|given| given.first()?.as_str());
    let Some(words) = given.map(str::trim).filter(|words| !words.is_empty()) else {
        return BudgetReply::Stop;
    };
    if words.eq_ignore_ascii_case(STOP) {
        return BudgetReply::Stop;
    }
    if words.starts_with(ANOTHER) {
        return BudgetReply::AnotherModel;
    }
    let amount = words.strip_prefix(ALLOW).and_then(|rest| rest.strip_suffix(MORE)).unwrap_or(words);
    match amount.parse::<BudgetAmount>() {
        Ok(amount) if amount.unit() == limit.unit() => BudgetReply::Allow(amount),
        _ => BudgetReply::Unreadable,
    }
}
