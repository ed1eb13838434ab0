//! `talaria usage`: what models cost, by day, model or conversation. Tokens are those that the runtime reported; a price
//! is not computed, because Codex reports none.

use talaria_core::api::{UsageBy, UsageQuery, UsageSum};
use talaria_core::event::Usage;
use talaria_core::ids::short_id;
use talaria_render::sheet::Sheet;
use talaria_render::{Look, StyledText, plain_line};

use crate::args::{UsageByOption, UsageOptions};
use crate::engine::{self, refused};
use crate::look;
use crate::output::{encoded, print};
use crate::patience::patiently;
use crate::sessions::json_lines;
use crate::settings::Settings;
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
    let sums = patiently("asking the engine", client.usage(&asked)).await;
    let sums = sums.map_err(|error| refused("cannot read the usage", &error))?;
    print(&match (options.json, sums.is_empty()) {
        (true, _) => json_lines(&sums),
        (false, true) => format!("no tokens were used in {}\n", span(options.days)),
        (false, false) => {
            let look = look::of_stdout();
            encoded(&page(&sums, &asked, look))
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
    let mut columns = vec![head, "requests", "input", "cached", "output", "reasoning", "total"];
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
        let mut cells = cells(key, sum.requests, sum.usage);
        cells.extend((asked.by == UsageBy::Session).then_some(title));
        sheet.row(cells);
    }
    let usage = sums.iter().fold(Usage::default(), |all, sum| all.plus(sum.usage));
    let mut total = cells("total".to_owned(), sums.iter().map(|sum| sum.requests).sum(), usage);
    total.extend((asked.by == UsageBy::Session).then(String::new));
    sheet.row(total);
    let mut out = sheet.show(look);
    let unreported: u64 = sums.iter().map(|sum| sum.unreported).sum();
    if unreported > 0 {
        out += format!("{unreported} of the requests reported no tokens; what they cost is unknown\n");
    }
    out
}

fn cells(key: String, requests: u64, usage: Usage) -> Vec<String> {
    let least = if usage.partial { "≥ " } else { "" };
    let counts = [usage.input, usage.cached, usage.output, usage.reasoning, usage.total];
    let mut cells = vec![key, requests.to_string()];
    cells.extend(counts.map(|count| format!("{least}{count}")));
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
        let asked = UsageQuery { by: UsageBy::Model, days: 30 };
        expect_test::expect![[r#"
            MODEL    REQUESTS  INPUT    CACHED  OUTPUT  REASONING  TOTAL
            gpt-5.5  2         11980    10      20      5          12000
            unknown  2         ≥ 80     ≥ 10    ≥ 20    ≥ 5        ≥ 100
            total    4         ≥ 12060  ≥ 20    ≥ 40    ≥ 10       ≥ 12100
            1 of the requests reported no tokens; what they cost is unknown
        "#]]
        .assert_eq(&page(&[sum(Some("gpt-5.5"), None, 12_000), unknown], &asked, LOOK).text());
        let asked = UsageQuery { by: UsageBy::Session, days: 30 };
        expect_test::expect![[r#"
            CONVERSATION  REQUESTS  INPUT  CACHED  OUTPUT  REASONING  TOTAL  TITLE
            s-1           2         80     10      20      5          100    fix␛ it
            s-2           2         20     10      20      5          40     (removed)
            total         4         100    20      40      10         140
        "#]]
        .assert_eq(
            &page(&[sum(Some("s-1"), Some("fix\u{1b} it"), 100), sum(Some("s-2"), None, 40)], &asked, LOOK)
                .text(),
        );
    }
}
