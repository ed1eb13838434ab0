//! `/usage`: what the conversation cost, and how much of the account's allowance is used.

use jiff::Timestamp;
use talaria_core::api::{SessionDetail, TurnInfo};
use talaria_core::event::{RateLimits, RateWindow, Usage};
use talaria_face::render::{Look, plain_line, tokens};
use talaria_face::sheet::Sheet;

use super::super::errand::Place;
use crate::engine::refused;
use crate::trouble::Trouble;

/// So many turns are listed.
const TURNS: usize = 15;

/// The whole page.
pub(super) async fn page(place: &Place) -> Result<String, Trouble> {
    let mut out = String::new();
    match &place.session {
        Some(session) => {
            let detail = place.desk.client.session(session.as_str()).await;
            out += &spent(
                &detail.map_err(|error| refused("cannot read what was spent", &error))?,
                place.desk.look(),
            );
        }
        None => out += "nothing was spent here yet\n",
    }
    // Without an account there is no allowance, and without Codex nobody to ask.
    if let Ok(offers) = place.desk.offers(&place.cwd).await
        && let Some(used) = &offers.limits
    {
        out += &limits(used, Timestamp::now());
    }
    Ok(out)
}

fn spent(detail: &SessionDetail, look: Look) -> String {
    let all = detail.turns.iter().filter_map(|turn| turn.usage).fold(Usage::default(), Usage::plus);
    let count = detail.turns.len();
    let turns = if count == 1 { "1 turn".to_owned() } else { format!("{count} turns") };
    let mut out = format!("this conversation  {turns}, {}\n", tokens(all));
    let mut sheet = Sheet::new(&["turn", "tokens", "prompt"], "prompt");
    let listed: Vec<&TurnInfo> = detail.turns.iter().filter(|turn| turn.usage.is_some()).collect();
    for turn in &listed[listed.len().saturating_sub(TURNS)..] {
        let cost = turn.usage.map(tokens).unwrap_or_default();
        sheet.row([turn.turn.to_string(), cost, turn.prompt.clone()]);
    }
    if !listed.is_empty() {
        out += &sheet.show(look);
    }
    out
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
        let resets = resets.map(|at| format!(", anew in {}", crate::amounts::since(now, at)));
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
            allowance          12% of the window of 5 hours is used, anew in 1 hour
            allowance          100% of the window of 7 days is used, anew in 1 hour
            plan               pro␛
        "#]]
        .assert_eq(&limits(&told, Timestamp::from_second(3600).unwrap()));
    }
}
