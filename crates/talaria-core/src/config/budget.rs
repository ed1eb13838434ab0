//! The section `[budget]`: what conversations, tasks, providers and days may spend. Read by the engine before every request.

use toml_edit::Item;

use super::keys::{Wrong, wrong_type};
use super::{Config, start_of};
use crate::budget::BudgetAmount;

/// What may follow the amount of a provider.
const PER_DAY: &str = "per day";
/// A provider that no budget counts.
const UNLIMITED: &str = "unlimited";

/// The section `[budget]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BudgetConfig {
    /// What a conversation may spend, with the tasks that it delegates.
    pub conversation: Option<BudgetAmount>,
    /// What a task may spend, with those that it delegates.
    pub task: Option<BudgetAmount>,
    /// What everything together may spend in a day (UTC).
    pub day: Option<BudgetAmount>,
    /// What a provider may cost in a day (UTC), by its name; none if no budget counts it.
    pub providers: Vec<(String, Option<BudgetAmount>)>,
}

impl BudgetConfig {
    /// Whether any limit is set.
    pub fn is_set(&self) -> bool {
        let own = [self.conversation, self.task, self.day];
        own.iter().any(Option::is_some) || self.providers.iter().any(|(_, limit)| limit.is_some())
    }

    /// The limit of a provider for a day.
    pub fn of_provider(&self, name: &str) -> Option<BudgetAmount> {
        self.providers.iter().find(|(known, _)| known == name).and_then(|(_, limit)| *limit)
    }

    /// The providers that no budget counts.
    pub fn uncounted(&self) -> Vec<String> {
        self.providers.iter().filter(|(_, limit)| limit.is_none()).map(|(name, _)| name.clone()).collect()
    }

    /// Whether no budget counts this provider.
    pub fn leaves_out(&self, name: &str) -> bool {
        self.providers.iter().any(|(known, limit)| known == name && limit.is_none())
    }
}

/// Reads an amount.
pub(super) fn amount(item: &Item) -> Result<BudgetAmount, Wrong> {
    let wanted = "an amount such as \"$5\" or \"200k tokens\"";
    let text = item.as_str().ok_or_else(|| wrong_type(item, wanted))?;
    read(text)
}

/// Reads `budget.providers`.
pub(super) fn providers(item: &Item, config: &mut Config) -> Vec<Wrong> {
    let Some(table) = item.as_table_like() else {
        return vec![wrong_type(item, "a table of providers, each with an amount such as \"$10 per day\"")];
    };
    let mut wrong = Vec::new();
    for (name, item) in table.iter() {
        match provider(item) {
            Ok(limit) => config.budget.providers.push((name.to_owned(), limit)),
            Err(mistake) => wrong.push(Wrong {
                message: format!("{name} {}", mistake.message),
                start: start_of(table, name, item),
                ..mistake
            }),
        }
    }
    wrong
}

/// The limit of a provider; none if it has no limit and no budget counts it.
fn provider(item: &Item) -> Result<Option<BudgetAmount>, Wrong> {
    let wanted = "an amount such as \"$10 per day\" or \"2M tokens per day\", or \"unlimited\"";
    let text = item.as_str().ok_or_else(|| wrong_type(item, wanted))?.trim();
    if text == UNLIMITED {
        return Ok(None);
    }
    read(text.strip_suffix(PER_DAY).unwrap_or(text)).map(Some)
}

fn read(text: &str) -> Result<BudgetAmount, Wrong> {
    text.parse().map_err(|error: crate::budget::NoBudgetAmount| Wrong {
        message: format!("{error}, not {text:?}"),
        hint: None,
        start: None,
    })
}

#[cfg(test)]
mod tests {
    use crate::config::{assign, parse};

    use super::*;

    #[test]
    fn limits_are_read_in_dollars_and_tokens() {
        let text = "[budget]\nconversation = \"$5\"\ntask = \"200k tokens\"\nday = \"$20\"\n\
                    [budget.providers]\nopenrouter = \"$10 per day\"\ngroq = \"1M tokens\"\ncodex = \"unlimited\"\n";
        let parsed = parse(text).unwrap();
        assert!(parsed.problems.is_empty(), "{:?}", parsed.problems);
        let budget = parsed.config.budget;
        let dollars = |number: u64| Some(BudgetAmount::Money(number * 1_000_000_000));
        assert_eq!((budget.conversation, budget.day), (dollars(5), dollars(20)));
        assert_eq!(budget.task, Some(BudgetAmount::Tokens(200_000)));
        assert_eq!(budget.of_provider("openrouter"), dollars(10));
        assert_eq!(budget.of_provider("groq"), Some(BudgetAmount::Tokens(1_000_000)));
        assert_eq!((budget.uncounted(), budget.leaves_out("codex")), (vec!["codex".to_owned()], true));
        assert!(budget.is_set() && !BudgetConfig::default().is_set());
    }

    #[test]
    fn what_is_no_amount_is_refused_with_its_line() {
        for (text, line) in [
            ("[budget]\nconversation = 5\n", 2),
            ("[budget]\nday = \"20\"\n", 2),
            ("[budget]\ntask = \"$0\"\n", 2),
            ("[budget]\nproviders = \"$3\"\n", 2),
            ("[budget.providers]\ngroq = \"$3 per day\"\nopenai = \"much\"\n", 3),
        ] {
            let problems = parse(text).unwrap().problems;
            assert_eq!(problems.iter().map(|one| one.line).collect::<Vec<_>>(), [Some(line)], "{text}");
            assert!(problems[0].is_error());
        }
    }

    #[test]
    fn a_limit_is_set_by_a_command() {
        let set = |key: &str, typed: &str| assign("", &key.parse().unwrap(), typed);
        assert_eq!(set("budget.day", "$20").unwrap(), "[budget]\nday = \"$20\"\n");
        assert!(set("budget.providers.groq", "$3 per day").is_ok());
        assert!(set("budget.day", "20").is_err());
    }
}
