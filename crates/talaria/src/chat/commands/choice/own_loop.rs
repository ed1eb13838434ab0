//! `/model` and `/reasoning` of conversations on the built-in loop: every provider that can be asked from here, with the models
//! that are known by name. A model that is not known is sent all the same: the provider says what it has.

use talaria_agent::profile::ProviderProfile;
use talaria_core::nearest::nearest;
use talaria_core::next_step::NextStep;
use talaria_core::runtime::Runtime;
use talaria_render::plain_line;
use talaria_tui::chat::commands::SlashCommand;
use talaria_tui::chat::contract::News;

use super::super::super::chat_context::Chosen;
use super::super::super::errand::{Done, Place};
use super::super::super::loop_offers::{find, lack, providers};
use super::{InUse, plain_lines};
use crate::providers::KeyedProvider;
use crate::trouble::{Trouble, exit};

/// The efforts that providers know.
const EFFORTS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/// A row of a list, and its command.
pub(super) type Row = (String, SlashCommand);

/// The models of every provider that can be asked; those of the provider in use first.
pub(super) fn rows(place: &Place, used: &InUse) -> Vec<Row> {
    let providers = providers(&place.context);
    let mut usable: Vec<&KeyedProvider> = providers.iter().filter(|known| known.is_usable()).collect();
    usable.sort_by_key(|known| used.provider.as_deref() != Some(known.provider.profile.name.as_str()));
    usable.into_iter().flat_map(|known| rows_of(&known.provider.profile, place, used)).collect()
}

fn rows_of(profile: &ProviderProfile, place: &Place, used: &InUse) -> Vec<Row> {
    let is_own = used.provider.as_deref() == Some(profile.name.as_str());
    let mut models = profile.known_models();
    if let Some(model) = used.model.as_ref().filter(|model| is_own && !models.contains(model)) {
        models.insert(0, model.clone());
    }
    let row = |model: String| {
        let is_used = is_own && used.model.as_ref() == Some(&model);
        let mark = match (is_used, place.chosen.model.is_some()) {
            (true, true) => " (chosen)",
            (true, false) => " (current)",
            (false, _) => "",
        };
        let text = format!("{}  {model}{mark}", profile.name);
        (plain_line(&text).into_owned(), SlashCommand::Model(vec![profile.name.clone(), model]))
    };
    models.into_iter().map(row).collect()
}

/// Lists models of every provider.
pub(super) fn list(place: &Place, used: &InUse) -> Vec<Done> {
    let rows = rows(place, used);
    vec![Done::News(match rows.is_empty() {
        false => News::Pick { title: "Model, from the next turn".to_owned(), rows },
        true => News::Reply(
            "no model is known by name: /model PROVIDER MODEL names one; `talaria providers list` has the providers\n"
                .into(),
        ),
    })]
}

/// Chooses a model, and with it a provider if one is named.
pub(super) fn choose(
    provider: Option<&str>,
    model: String,
    place: &Place,
    used: &InUse,
) -> Result<Vec<Done>, Trouble> {
    let name = provider.or(used.provider.as_deref()).unwrap_or_default();
    let providers = providers(&place.context);
    let Some(known) = find(&providers, name) else {
        return Err(Trouble::new(exit::USAGE, format!("there is no provider {name:?}")).try_this(
            match nearest(name, providers.iter().map(|known| known.provider.profile.name.as_str())) {
                Some(near) => {
                    NextStep::from(format!("did you mean {near}? `talaria providers list` has all"))
                }
                None => NextStep::ListProviders,
            },
        ));
    };
    let profile = &known.provider.profile;
    let mut reply = format!("{model} of {} is requested from the next turn on\n", profile.name);
    if place.session.is_some() && used.runtime == Runtime::CodexAppServer {
        reply += "this conversation then continues on the built-in loop, with a digest of what was said\n";
    }
    let models = profile.known_models();
    if !models.is_empty() && !models.contains(&model) {
        let near = nearest(&model, models.iter().map(String::as_str));
        reply += &near.map(|near| format!("did you mean {near}?\n")).unwrap_or_default();
    }
    if let Some((what, remedy)) = lack(&providers, &profile.name) {
        reply += &format!("{what}; {remedy}\n");
    }
    let chosen = Chosen { provider: Some(profile.name.clone()), model: Some(model), ..place.chosen.clone() };
    Ok(vec![Done::Chosen(chosen, plain_lines(&reply))])
}

/// Lists efforts, or chooses one.
pub(super) fn effort(wanted: Option<String>, place: &Place, used: &InUse) -> Result<Vec<Done>, Trouble> {
    let providers = providers(&place.context);
    let profile = used.provider.as_deref().and_then(|name| find(&providers, name));
    let profile = profile.map(|known| &known.provider.profile);
    if let Some(profile) = profile.filter(|profile| !profile.takes_effort()) {
        let message = format!("{} has no setting for the reasoning effort that Talaria knows", profile.name);
        return Err(Trouble::new(exit::USAGE, message).try_this("choose another model with /model"));
    }
    let facts = profile.zip(used.model.as_ref()).map(|(profile, model)| profile.model(model));
    let known = facts.and_then(|facts| facts.efforts);
    let known = known.unwrap_or_else(|| EFFORTS.map(str::to_owned).to_vec());
    let Some(wanted) = wanted.map(|wanted| wanted.to_lowercase()) else {
        let rows = known.into_iter().map(|effort| {
            let mark = if place.chosen.effort.as_ref() == Some(&effort) { " (chosen)" } else { "" };
            (plain_line(&format!("{effort}{mark}")).into_owned(), SlashCommand::Reasoning(Some(effort)))
        });
        let title = "Reasoning, from the next turn".to_owned();
        return Ok(vec![Done::News(News::Pick { title, rows: rows.collect() })]);
    };
    if !known.contains(&wanted) {
        let near = nearest(&wanted, known.iter().map(String::as_str));
        let near = near.map(|near| format!("did you mean {near}? ")).unwrap_or_default();
        return Err(Trouble::new(exit::USAGE, format!("there is no effort {wanted:?}"))
            .try_this(format!("{near}use one of {}", known.join(", "))));
    }
    let reply = format!("reasoning {wanted} is requested from the next turn on\n");
    let chosen = Chosen { effort: Some(wanted), ..place.chosen.clone() };
    Ok(vec![Done::Chosen(chosen, plain_lines(&reply))])
}
