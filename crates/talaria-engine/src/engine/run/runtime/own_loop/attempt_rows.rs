//! The row of a model request: what is written before its first byte and with its end. The same for turns and for questions beside
//! them, so that what they cost is counted in one way. The store counts an attempt with its end.

use talaria_agent::attempt::AttemptEnd;
use talaria_agent::loop_turn::{EndedAttempt, PlannedAttempt};
use talaria_agent::spending::{TokenCount, TokenSource};
use talaria_core::budget::BudgetCharge;
use talaria_core::usage::Usage;
use talaria_guard::redact::redact;
use talaria_store::{
    AttemptEnding, AttemptState, Change, ModelAttemptEnd, ModelAttemptFacts, ModelAttemptKey,
    NewModelAttempt, UsagePurpose, UsageSource,
};

use super::LoopProvider;

/// Names an attempt of a turn.
pub(super) fn key(ordinal: i64, number: u64) -> ModelAttemptKey {
    ModelAttemptKey { ordinal, number: i64::try_from(number).unwrap_or(i64::MAX) }
}

/// Marks an attempt as sent. Written before its first byte: without the mark it is certain that nothing was sent.
pub(super) fn sent(key: ModelAttemptKey) -> Change {
    Change::AttemptStage(key, AttemptState::Sent, ModelAttemptFacts::default())
}

/// An attempt that is about to be sent, or waits for its key.
pub(super) fn planned(
    ordinal: i64,
    purpose: UsagePurpose,
    provider: &LoopProvider,
    planned: &PlannedAttempt,
) -> NewModelAttempt {
    NewModelAttempt {
        key: key(ordinal, planned.number),
        purpose,
        provider: provider.found.profile.name.clone(),
        asked_model: planned.model.clone(),
        request_digest: planned.request.to_string(),
        prefix_digest: planned.prefix.to_string(),
    }
}

/// The end of an attempt, without what it adds to the history.
pub(super) fn ended(provider: &LoopProvider, ended: &EndedAttempt) -> ModelAttemptEnd {
    let EndedAttempt { end, tokens, price, bound, diary, shown_chars, .. } = ended;
    let (ending, class, text) = match end {
        AttemptEnd::Completed(_) => (AttemptEnding::Completed, None, None),
        AttemptEnd::Incomplete(why) => (AttemptEnding::Incomplete, None, Some(why.to_string())),
        AttemptEnd::Refused { category, text } => {
            (AttemptEnding::Refused, category.clone(), Some(text.clone()))
        }
        AttemptEnd::Failed(failure) => {
            (AttemptEnding::Failed, Some(failure.class.as_str().to_owned()), Some(failure.text.clone()))
        }
        AttemptEnd::Cut { why } => (AttemptEnding::Cut, None, Some(why.clone())),
        AttemptEnd::Cancelled { by } => (AttemptEnding::Cancelled, None, Some(by.to_string())),
    };
    let usage_source = match tokens.source {
        TokenSource::Unknown => UsageSource::Unknown,
        TokenSource::Estimated => UsageSource::Estimated,
        TokenSource::Provider => UsageSource::Provider,
    };
    ModelAttemptEnd {
        failure_class: class,
        failure_text: text.map(|text| redact(&text).into_owned()),
        usage: serde_json::to_string(&usage(*tokens, end)).ok(),
        usage_source,
        amount: *price,
        bound: bound.map(|(tokens, amount)| BudgetCharge { tokens: tokens.usage().total, amount }),
        price_as_of: price.and_then(|_| provider.found.profile.model(&provider.model).as_of),
        facts: ModelAttemptFacts {
            said_model: diary.said_model.clone(),
            request_id: diary.request_id.clone(),
            first_byte_ms: diary.first_byte_ms,
            bytes: diary.bytes,
            events: diary.events,
            shown_chars: *shown_chars,
        },
        ..ModelAttemptEnd::new(ending)
    }
}

/// The tokens of an attempt. One that the provider refused, or never had, cost nothing, and that is known. Without the provider's
/// last word what it reported is a lower bound.
fn usage(tokens: TokenCount, end: &AttemptEnd) -> Usage {
    let usage = tokens.usage();
    if tokens.source == TokenSource::Unknown && usage.total == 0 {
        return Usage::default();
    }
    let has_last_word =
        matches!(end, AttemptEnd::Completed(_) | AttemptEnd::Incomplete(_) | AttemptEnd::Refused { .. });
    Usage { partial: usage.partial || !has_last_word, ..usage }
}

#[cfg(test)]
mod tests {
    use talaria_agent::fold::StopReason;

    use super::*;

    fn reported(input: u64) -> TokenCount {
        let source = TokenSource::Provider;
        TokenCount { input: Some(input), output: Some(1), source, ..TokenCount::default() }
    }

    #[test]
    fn a_refused_request_costs_nothing_and_a_cut_one_at_least_what_was_reported() {
        let refused = TokenCount { input: Some(0), output: Some(0), ..TokenCount::default() };
        let cut = AttemptEnd::Cut { why: "cut".to_owned() };
        assert_eq!(usage(refused, &cut), Usage::default());
        assert!(usage(reported(5), &cut).partial);
        let whole = usage(reported(5), &AttemptEnd::Completed(StopReason::Finished));
        assert_eq!((whole.total, whole.partial), (6, false));
        assert!(usage(TokenCount::estimate(8, 0), &cut).partial, "an estimate is never exact");
    }
}
