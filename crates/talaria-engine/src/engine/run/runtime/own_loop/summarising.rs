//! Who summarises a conversation that is compacted, and what is known of its size: from configuration and the rows of its
//! requests. The decisions are in `talaria_agent::compaction`.

use talaria_agent::compaction::{
    CompactionSettings, CompactionSetup, LEAST_SUMMARISER_WINDOW, MeasuredPrompt, Summariser,
};
use talaria_agent::encode::RequestHead;
use talaria_agent::history::ModelIssuer;
use talaria_core::config::{CompressionConfig, Config};
use talaria_core::usage::Usage;
use talaria_store::{AttemptEnding, UsagePurpose, UsageSource};

use super::log::StoredLog;
use super::{LoopProvider, LoopRuntime};
use crate::engine::journal::Journal;
use crate::engine::run::providers::find_provider;

/// The models that can summarise besides that of the conversation, and what a person should know about them.
#[derive(Default)]
pub(super) struct Summarisers {
    pub(super) providers: Vec<LoopProvider>,
    pub(super) warning: Option<String>,
}

impl Summarisers {
    /// Reads `auxiliary.compression`. Its context is compared with the size at which the conversation is compacted.
    pub(super) fn configured(config: &Config, own: &LoopProvider) -> Self {
        let Some(wanted) = &config.auxiliary.compression else { return Self::default() };
        let name = wanted.provider.as_deref().unwrap_or(&own.found.profile.name);
        let found = match find_provider(name, config) {
            Ok(found) => found,
            Err(problem) => {
                let why = problem.message;
                let warning = format!("auxiliary.compression has no effect: {why}");
                return Self { providers: Vec::new(), warning: Some(warning) };
            }
        };
        if found.profile.name == own.found.profile.name && wanted.model == own.model {
            return Self::default();
        }
        let window = found.profile.model(&wanted.model).window;
        let summariser =
            LoopProvider { found, model: wanted.model.clone(), surroundings: own.surroundings.clone() };
        if summariser.lacks_price(&config.budget) {
            let model = &summariser.model;
            let warning = format!(
                "auxiliary.compression has no effect: a budget is in dollars, and the price of {model} is not known"
            );
            return Self { providers: Vec::new(), warning: Some(warning) };
        }
        let facts = own.found.profile.model(&own.model);
        let head = RequestHead::new(&own.model, Vec::new(), Vec::new(), "");
        let output = head.output_limit(&own.found.profile).or(facts.max_output);
        let limit = facts.window.map(|window| settings(&config.compression).limit(window, output));
        match (window, limit) {
            (Some(window), _) if window < LEAST_SUMMARISER_WINDOW => {
                let model = &summariser.model;
                let warning = format!(
                    "auxiliary.compression has no effect: the context of {model} has {window} tokens, and a summary needs \
                     {LEAST_SUMMARISER_WINDOW}"
                );
                Self { providers: Vec::new(), warning: Some(warning) }
            }
            (Some(window), Some(limit)) if window < limit => {
                let model = &summariser.model;
                let warning = format!(
                    "the context of {model} (auxiliary.compression) has {window} tokens, and this conversation is shortened at \
                     {limit}: its oldest steps may have no room in the summary"
                );
                Self { providers: vec![summariser], warning: Some(warning) }
            }
            _ => Self { providers: vec![summariser], warning: None },
        }
    }
}

impl LoopRuntime {
    /// What the machine of a turn needs to compact the conversation. `request` is the entry with the words of the turn.
    pub(super) async fn compaction(
        &self,
        provider: &LoopProvider,
        log: &StoredLog,
        request: Option<u64>,
        journal: &Journal,
    ) -> (CompactionSetup, Summarisers) {
        let config = self.engine.config();
        let summarisers = Summarisers::configured(&config, provider);
        let as_data = |one: &LoopProvider| {
            let profile = one.found.profile.clone();
            let issuer = ModelIssuer {
                provider: profile.name.clone(),
                base_url: profile.base_url.clone(),
                account: None,
            };
            Summariser { profile, issuer, model: one.model.clone() }
        };
        let setup = CompactionSetup {
            settings: settings(&config.compression),
            summarisers: summarisers.providers.iter().map(as_data).collect(),
            request,
            measured: self.measured(provider, log, journal).await,
        };
        (setup, summarisers)
    }

    /// The size of the last request as the same model reported it. A compaction since makes it worthless.
    async fn measured(
        &self,
        provider: &LoopProvider,
        log: &StoredLog,
        journal: &Journal,
    ) -> Option<MeasuredPrompt> {
        let (turn, attempt, from) = log.last_answer()?;
        // What cannot be read is estimated.
        let rows = journal.services().store.model_attempts(&self.session, turn).await.ok()?;
        let number = i64::try_from(attempt).ok()?;
        let row = rows.into_iter().find(|row| row.key.number == number)?;
        let is_same = row.purpose == UsagePurpose::Turn
            && row.asked_model == provider.model
            && row.provider == provider.found.profile.name
            && row.usage_source == UsageSource::Provider
            && matches!(row.ending, Some(AttemptEnding::Completed | AttemptEnding::Incomplete));
        let usage: Usage = serde_json::from_str(row.usage.as_deref().filter(|_| is_same)?).ok()?;
        (usage.input > 0).then_some(MeasuredPrompt { tokens: usage.input, from })
    }
}

fn settings(config: &CompressionConfig) -> CompactionSettings {
    let (first, last) = config.protected();
    CompactionSettings {
        is_automatic: config.enabled != Some(false),
        threshold: config.threshold,
        protect_first: usize::try_from(first).unwrap_or(usize::MAX),
        protect_last: usize::try_from(last).unwrap_or(usize::MAX),
    }
}
