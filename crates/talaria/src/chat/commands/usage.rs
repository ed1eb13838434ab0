//! `/usage`: token usage of the conversation, and the account's rate limits.

use jiff::Timestamp;
use talaria_core::api::{SessionDetail, TurnInfo};
use talaria_core::event::{RateLimits, RateWindow, Stage, Usage};
use talaria_render::sheet::Sheet;
use talaria_render::{Look, StyledText, plain_line, tokens};

use super::super::errand::Place;
use crate::engine::refused;
use crate::status;
use crate::trouble::Trouble;

/// At most this many turns are listed.
const TURNS: usize = 15;

/// The whole page.
pub(super) async fn page(place: &Place) -> Result<StyledText, Trouble> {
    let mut out = StyledText::default();
    match &place.session {
        Some(session) => {
            let detail = place.context.client.session(session.as_str()).await;
            let detail = detail.map_err(|error| refused("cannot read the usage", &error))?;
            out += spent(&detail, place.context.look());
            out += status::budgets(&detail.budgets);
        }
        None => out += "no tokens were used here yet\n",
    }
    // Without an account there is no allowance, and without Codex none can be asked for.
    let asked = place.context.offers(&place.cwd).await.ok().and_then(|offers| offers.limits);
    let now = Timestamp::now();
    out += match (&asked, &place.reported.limits) {
        (Some(used), _) => limits(used, now),
        (None, Some(told)) => told_before(told, now),
        (None, None) => String::new(),
    };
    Ok(out)
}

fn spent(detail: &SessionDetail, look: Look) -> StyledText {
    let reviews = detail.reviews.iter().filter_map(|review| review.usage).fold(Usage::default(), Usage::plus);
    let turns = detail.turns.iter().filter_map(|turn| turn.usage);
    let all = turns.fold(reviews, Usage::plus);
    let queued = detail.turns.iter().filter(|turn| is_queued(turn)).count();
    let count = detail.turns.len() - queued;
    let turns = if count == 1 { "1 turn".to_owned() } else { format!("{count} turns") };
    let waiting = if queued > 0 { format!(" and {queued} queued") } else { String::new() };
    let head = format!("this conversation  {turns}{waiting}, {}\n", cost(all, "no tokens reported"));
    let mut out = StyledText::from(head);
    if reviews.total > 0 || reviews.partial {
        out += format!("of it for reviews  {}\n", tokens(reviews));
    }
    let mut sheet = Sheet::new(&["turn", "tokens", "prompt"], "prompt");
    let listed: Vec<&TurnInfo> = detail.turns.iter().filter(|turn| turn.usage.is_some()).collect();
    for turn in &listed[listed.len().saturating_sub(TURNS)..] {
        let cost = turn.usage.map(|usage| cost(usage, "none reported")).unwrap_or_default();
        sheet.row([turn.turn.to_string(), cost, turn.prompt.clone()]);
    }
    if listed.len() > TURNS {
        out += format!("the last {TURNS} of {}:\n", listed.len());
    }
    if !listed.is_empty() {
        out += sheet.show(look);
    }
    out
}

/// Was it asked for and not sent yet? It has spent nothing.
fn is_queued(turn: &TurnInfo) -> bool {
    turn.stage == Stage::Prepared && turn.settled_at.is_none()
}

/// A turn that ended before the model answered has no reported cost, which does not mean none.
fn cost(usage: Usage, untold: &str) -> String {
    if usage.total == 0 && !usage.partial { untold.to_owned() } else { tokens(usage) }
}

/// Limits as they were reported with an answer. A window that was reset since has another number, which was not reported.
fn told_before(told: &RateLimits, now: Timestamp) -> String {
    let is_over = |window: &RateWindow| window.resets_at.is_some_and(|at| at <= now.as_second());
    let open = |window: Option<RateWindow>| window.filter(|window| !is_over(window));
    let told = RateLimits { primary: open(told.primary), secondary: open(told.secondary), ..told.clone() };
    let text = limits(&told, now);
    if text.is_empty() { text } else { format!("last reported:\n{text}") }
}

fn limits(limits: &RateLimits, now: Timestamp) -> String {
    let window = |window: &RateWindow| {
        let length = match window.minutes {
            Some(minutes) if minutes % 1440 == 0 => format!(" of {} days", minutes / 1440),
            Some(minutes) if minutes % 60 == 0 => format!(" of {} hours", minutes / 60),
            Some(minutes) => format!(" of {minutes} minutes"),
            None => String::new(),
        };
        let resets = window.resets_at.and_then(|at| Timestamp::from_second(at).ok());
        let resets = resets.map(|at| format!(", resets in {}", crate::amounts::since(now, at)));
        format!("{:.0}% of the window{length} is used{}", window.used_percent, resets.unwrap_or_default())
    };
    let mut out = String::new();
    for found in [&limits.primary, &limits.secondary].into_iter().flatten() {
        out += &format!("allowance          {}\n", window(found));
    }
    if let Some(plan) = &limits.plan {
        out += &format!("plan               {}\n", plain_line(plan));
    }
    out
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::{Value as Json, json};

    use super::*;

    #[test]
    fn an_allowance_says_how_much_is_used_and_when_it_begins_anew() {
        let window = |used_percent, minutes| RateWindow { used_percent, minutes, resets_at: Some(7200) };
        let told = RateLimits {
            primary: Some(window(12.4, Some(300))),
            secondary: Some(window(100.0, Some(10_080))),
            plan: Some("pro\u{1b}".to_owned()),
            reached: None,
        };
        expect![[r#"
            allowance          12% of the window of 5 hours is used, resets in 1 hour
            allowance          100% of the window of 7 days is used, resets in 1 hour
            plan               pro␛
        "#]]
        .assert_eq(&limits(&told, Timestamp::from_second(3600).unwrap()));
        let told =
            RateLimits { secondary: Some(RateWindow { resets_at: Some(3600), ..window(7.0, None) }), ..told };
        expect![[r#"
            last reported:
            allowance          12% of the window of 5 hours is used, resets in 1 hour
            plan               pro␛
        "#]]
        .assert_eq(&told_before(&told, Timestamp::from_second(3600).unwrap()));
    }

    #[test]
    fn what_is_not_listed_or_was_not_told_is_said() {
        let at = "2026-01-01T00:00:00Z";
        let turn = |turn: u64, input: u64| {
            json!({ "turn": turn, "stage": "accepted", "outcome": null, "prompt": "go", "created_at": at, "settled_at": at,
                "usage": { "input": input, "cached": 0, "output": 0, "reasoning": 0, "total": input } })
        };
        let page = |turns: Vec<Json>| {
            let detail = json!({ "id": "s-1", "title": "go", "runtime": "codex", "updated_at": at, "running": false,
                "kind": "chat", "task": null, "cwd": "/", "model": null, "created_at": at, "last_seq": 1,
                "thread": null, "codex": null, "messages": [], "older_messages": 0, "turns": turns });
            let look = Look { color: false, live: false, width: Some(80), unicode: true };
            spent(&serde_json::from_value(detail).unwrap(), look).text()
        };
        expect![[r#"
            this conversation  1 turn, no tokens reported
            TURN  TOKENS         PROMPT
            1     none reported  go
        "#]]
        .assert_eq(&page(vec![turn(1, 0)]));
        let mut queued = turn(2, 0);
        queued["stage"] = json!("prepared");
        queued["settled_at"] = Json::Null;
        queued["usage"] = Json::Null;
        let with_queued = page(vec![turn(1, 0), queued]);
        assert!(with_queued.starts_with("this conversation  1 turn and 1 queued, no"), "{with_queued}");
        let many = page((1..=16).map(|number| turn(number, 5)).collect());
        assert!(many.contains("\nthe last 15 of 16:\n"), "{many}");
        assert!(!page((1..=15).map(|number| turn(number, 5)).collect()).contains("the last"));
    }
}
