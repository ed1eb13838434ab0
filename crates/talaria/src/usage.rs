//! `talaria usage`: what models cost, by day, model or conversation. Tokens are those that were reported, or estimated where the
//! page says so. A price is that of a request of the built-in loop whose provider or price list names one; Codex reports none.
//! An unknown figure is never shown as 0.

use talaria_core::api::{UsageBy, UsageQuery, UsageSum};
use talaria_core::event::Usage;
use talaria_core::ids::short_id;
use talaria_render::sheet::Sheet;
use talaria_render::{Look, StyledText, plain_line};

use crate::args::{UsageByOption, UsageOptions};
use crate::engine::{self, refused};
use crate::look;
use crate::output::{encoded, print};
use crate::progress::with_progress;
use crate::sessions::json_lines;
use crate::settings::Settings;
use crate::status;
use crate::trouble::Trouble;

/// Runs the command.
pub(crate) async fn run(options: &UsageOptions) -> Result<u8, Trouble> {
    let settings = Settings::load()?.accept()?;
    let client = engine::reach(&settings.home).await?;
    let by = match options.by {
        UsageByOption::Day => UsageBy::Day,
        UsageByOption::Model => UsageBy::Model,
        UsageByOption::Session => UsageBy::Session,
    };
    let asked = UsageQuery { by, days: options.days };
    let sums = with_progress("asking the engine", client.usage(&asked)).await;
    let sums = sums.map_err(|error| refused("cannot read the usage", &error))?;
    let budgets = match options.json {
        true => Vec::new(),
        false => client.status().await.map_err(|error| refused("cannot read the budgets", &error))?.budgets,
    };
    print(&match (options.json, sums.is_empty()) {
        (true, _) => json_lines(&sums),
        (false, true) => {
            format!("no tokens were used in {}\n{}", span(options.days), status::budgets(&budgets))
        }
        (false, false) => {
            let look = look::of_stdout();
            encoded(&(page(&sums, &asked, look) + status::budgets(&budgets)))
        }
    })?;
    Ok(0)
}

fn span(days: u32) -> String {
    if days == 1 { "the last day".to_owned() } else { format!("the last {days} days") }
}

fn page(sums: &[UsageSum], asked: &UsageQuery, look: Look) -> StyledText {
    let (head, wide) = match asked.by {
        UsageBy::Day => ("day", "day"),
        UsageBy::Model => ("model", "model"),
        UsageBy::Session => ("conversation", "title"),
    };
    let mut columns = vec![head, "requests", "input", "cached", "output", "reasoning", "total", "price"];
    columns.extend((asked.by == UsageBy::Session).then_some("title"));
    let mut sheet = Sheet::new(&columns, wide);
    for sum in sums {
        let key = match (&sum.key, asked.by) {
            (Some(id), UsageBy::Session) if look.live => short_id(id).to_owned(),
            (Some(key), _) => plain_line(key).into_owned(),
            (None, _) => "unknown".to_owned(),
        };
        let title = sum.title.as_deref().map(|title| plain_line(title).into_owned());
        let title = title.unwrap_or_else(|| "(removed)".to_owned());
        let mut cells = cells(key, sum.requests, sum.usage, price(sum.amount, sum.unpriced));
        cells.extend((asked.by == UsageBy::Session).then_some(title));
        sheet.row(cells);
    }
    let usage = sums.iter().fold(Usage::default(), |all, sum| all.plus(sum.usage));
    let amount = sums.iter().filter_map(|sum| sum.amount).reduce(u64::saturating_add);
    let unpriced = sums.iter().map(|sum| sum.unpriced).sum();
    let requests = sums.iter().map(|sum| sum.requests).sum();
    let mut total = cells("total".to_owned(), requests, usage, price(amount, unpriced));
    total.extend((asked.by == UsageBy::Session).then(String::new));
    sheet.row(total);
    let mut out = sheet.show(look);
    let unreported: u64 = sums.iter().map(|sum| sum.unreported).sum();
    if unreported > 0 {
        out += format!("{unreported} of the requests reported no tokens; what they cost is unknown\n");
    }
    let estimated: u64 = sums.iter().map(|sum| sum.estimated).sum();
    if estimated > 0 {
        out += format!("the tokens of {estimated} of the requests are estimated from bytes\n");
    }
    for sum in sums.iter().filter(|_| asked.by == UsageBy::Model) {
        for model in &sum.asked {
            let (key, model) =
                (plain_line(sum.key.as_deref().unwrap_or("unknown")).into_owned(), plain_line(model));
            out += format!("{key} answered where {model} was asked\n");
        }
    }
    out
}

/// A price in dollars: a lower bound where that of some requests is not known.
fn price(amount: Option<u64>, unpriced: u64) -> String {
    match amount {
        None => "unknown".to_owned(),
        Some(amount) => {
            let least = if unpriced > 0 { "≥ " } else { "" };
            // Ten-thousandths of a dollar, rounded up: a price is never shown as nothing.
            let parts = amount.div_ceil(100_000);
            format!("{least}${}.{:04}", parts / 10_000, parts % 10_000)
        }
    }
}

fn cells(key: String, requests: u64, usage: Usage, price: String) -> Vec<String> {
    let least = if usage.partial { "≥ " } else { "" };
    let counts = [usage.input, usage.cached, usage.output, usage.reasoning, usage.total];
    let mut cells = vec![key, requests.to_string()];
    cells.extend(counts.map(|count| format!("{least}{count}")));
    cells.push(price);
    cells
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    fn sum(key: Option<&str>, title: Option<&str>, total: u64) -> UsageSum {
        UsageSum {
            key: key.map(str::to_owned),
            title: title.map(str::to_owned),
            requests: 2,
            unreported: 0,
            estimated: 0,
            asked: Vec::new(),
            amount: None,
            unpriced: 2,
            usage: Usage { input: total - 20, cached: 10, output: 20, reasoning: 5, total, partial: false },
            last_at: Timestamp::UNIX_EPOCH,
        }
    }

    const LOOK: Look = Look { color: false, width: Some(100), live: false, unicode: true };

    #[test]
    fn costs_are_listed_with_their_sum_and_what_is_not_known() {
        let mut unknown = sum(None, None, 100);
        unknown.unreported = 1;
        unknown.usage.partial = true;
        let mut own = sum(Some("claude-2026"), None, 300);
        (own.amount, own.unpriced, own.estimated, own.asked) =
            (Some(12_345_678), 0, 1, vec!["claude".to_owned()]);
        let asked = UsageQuery { by: UsageBy::Model, days: 30 };
        expect_test::expect![[r#"
            MODEL        REQUESTS  INPUT    CACHED  OUTPUT  REASONING  TOTAL    PRICE
            gpt-5.5      2         11980    10      20      5          12000    unknown
            claude-2026  2         280      10      20      5          300      $0.0124
            unknown      2         ≥ 80     ≥ 10    ≥ 20    ≥ 5        ≥ 100    unknown
            total        6         ≥ 12340  ≥ 30    ≥ 60    ≥ 15       ≥ 12400  ≥ $0.0124
            1 of the requests reported no tokens; what they cost is unknown
            the tokens of 1 of the requests are estimated from bytes
            claude-2026 answered where claude was asked
        "#]]
        .assert_eq(&page(&[sum(Some("gpt-5.5"), None, 12_000), own, unknown], &asked, LOOK).text());
        let asked = UsageQuery { by: UsageBy::Session, days: 30 };
        expect_test::expect![[r#"
            CONVERSATION  REQUESTS  INPUT  CACHED  OUTPUT  REASONING  TOTAL  PRICE    TITLE
            s-1           2         80     10      20      5          100    unknown  fix␛ it
            s-2           2         20     10      20      5          40     unknown  (removed)
            total         4         100    20      40      10         140    unknown
        "#]]
        .assert_eq(
            &page(&[sum(Some("s-1"), Some("fix\u{1b} it"), 100), sum(Some("s-2"), None, 40)], &asked, LOOK)
                .text(),
        );
    }
}
