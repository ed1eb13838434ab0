//! Rate limits of the account, as the real Codex reports them from the responses of the model's server.

use talaria_core::event::{Event, RateLimits};
use talaria_core::outcome::FailureCode;
use talaria_scripted::{Gate, Reply};
use talaria_testkit::Codex;

use crate::stage::{Ended, Real, begin, both_versions};

both_versions!(
    limits_of_the_account_are_told_and_an_idle_conversation_does_not_repeat_old_ones;
    newest:
    a_limit_that_is_reached_says_until_when_to_wait,
);

fn saying(reply: Reply, used: u32, resets_at: i64) -> Reply {
    reply
        .header("x-codex-primary-used-percent", used.to_string())
        .header("x-codex-primary-window-minutes", "300")
        .header("x-codex-primary-reset-at", resets_at.to_string())
}

fn told(ended: &Ended) -> Vec<&RateLimits> {
    let limits = ended.events.iter().filter_map(|event| match event {
        Event::RateLimits(limits) => Some(&**limits),
        _ => None,
    });
    limits.collect()
}

fn used(ended: &Ended) -> Vec<f64> {
    told(ended).iter().filter_map(|limits| limits.primary.map(|window| window.used_percent)).collect()
}

async fn limits_of_the_account_are_told_and_an_idle_conversation_does_not_repeat_old_ones(codex: Codex) {
    let real = Real::start(&codex).await;
    real.model.push(Reply::say("nothing is said about limits"));
    let ended = begin(real.session().await, "go").end().await;
    assert_eq!(used(&ended), [] as [f64; 0]);
    let idle = ended.session;

    real.model.push(saying(Reply::say("some"), 40, 4_000_000_000));
    let ended = begin(real.session().await, "go").end().await;
    assert_eq!(used(&ended), [40.0], "{:#?}", ended.events);
    let window = told(&ended)[0].primary.unwrap();
    assert_eq!((window.minutes, window.resets_at), (Some(300), Some(4_000_000_000)));

    // The other one has received these too, and does not report them as current.
    let gate = Gate::new();
    real.model.push(saying(Reply::new().gate(&gate).text("more"), 50, 4_000_000_000));
    gate.open();
    let ended = begin(idle, "go on").end().await;
    assert_eq!(used(&ended), [50.0], "{:#?}", ended.events);
    drop(ended);
    real.close().await;
}

async fn a_limit_that_is_reached_says_until_when_to_wait(codex: Codex) {
    let real = Real::start(&codex).await;
    let body = serde_json::json!({ "error": { "type": "usage_limit_reached", "message": "no more" } });
    real.model.push(saying(Reply::status(429).body(body), 100, 4_000_000_000));
    let ended = begin(real.session().await, "go").end().await;
    assert_eq!(ended.report.code, Some(FailureCode::UsageLimit), "{:?}", ended.report);
    assert_eq!(ended.report.retry_at, Some(4_000_000_000), "{:#?}", ended.events);
    drop(ended);
    real.close().await;
}
