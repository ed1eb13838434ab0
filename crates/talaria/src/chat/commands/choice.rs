//! `/model` and `/reasoning`: the choices of Codex, or of the providers of the built-in loop, and the request for later turns.
//! An event reports the values in force, once the runtime has confirmed them.

mod own_loop;

use talaria_core::api::{ModelOffer, Offers};
use talaria_core::model_choice::{ModelChoice, check_choice};
use talaria_core::nearest::nearest;
use talaria_core::provider::{CODEX_PROVIDER, OPENAI_PROVIDER};
use talaria_core::runtime::{Runtime, is_rerouted};
use talaria_render::plain_line;
use talaria_tui::chat::commands::SlashCommand;
use talaria_tui::chat::contract::News;

use super::super::chat_context::{Chosen, refused_choice};
use super::super::errand::{Done, Place};
use crate::engine::refused;
use crate::trouble::{Trouble, exit};

/// Lists models, or chooses one: a model of what is in use, or a provider and its model.
pub(super) async fn model(words: Vec<String>, place: &Place) -> Result<Vec<Done>, Trouble> {
    let used = in_use(place).await?;
    match (&words[..], used.runtime) {
        ([], Runtime::OwnLoop) => Ok(own_loop::list(place, &used)),
        ([], Runtime::CodexAppServer) => codex_models(place, &used).await,
        ([model], Runtime::CodexAppServer) => codex_model(model.clone(), place).await,
        ([model], Runtime::OwnLoop) => own_loop::choose(None, model.clone(), place, &used),
        ([provider, model], Runtime::CodexAppServer) if is_rerouted(Some(provider)) => {
            codex_model(model.clone(), place).await
        }
        ([provider, model], Runtime::OwnLoop) if provider.eq_ignore_ascii_case(CODEX_PROVIDER) => {
            let mut done = codex_model(model.clone(), place).await?;
            for done in &mut done {
                if let Done::Chosen(chosen, reply) = done {
                    chosen.provider = Some(CODEX_PROVIDER.to_owned());
                    if place.session.is_some() {
                        *reply +=
                            "this conversation then continues on Codex, with a digest of what was said\n";
                    }
                }
            }
            Ok(done)
        }
        ([provider, model], _) => own_loop::choose(Some(provider), model.clone(), place, &used),
        _ => Err(Trouble::new(exit::USAGE, "/model takes a model, or a provider and its model")
            .try_this("/model anthropic claude-sonnet-4-5")),
    }
}

/// Who would run the next turn, with what.
#[derive(Debug)]
struct InUse {
    runtime: Runtime,
    /// The provider of the built-in loop.
    provider: Option<String>,
    model: Option<String>,
}

/// What the next turn would use, as far as that is known without asking Codex.
async fn in_use(place: &Place) -> Result<InUse, Trouble> {
    let (context, chosen) = (&place.context, &place.chosen);
    let (runtime, provider, model) = match &place.session {
        Some(id) => {
            let detail = context.client.session(id.as_str()).await;
            let info = detail.map_err(|error| refused("cannot ask the engine", &error))?.info;
            let runtime = Runtime::named(&info.runtime).unwrap_or(Runtime::CodexAppServer);
            (runtime, info.provider, info.model)
        }
        None => {
            let model = context.wanted.model.clone().or_else(|| context.usual_model(chosen));
            let provider = context.new_provider(chosen).or_else(|| Some(OPENAI_PROVIDER.to_owned()));
            (context.new_runtime(chosen).await, provider, model)
        }
    };
    let provider = chosen.provider.clone().or(provider);
    // A choice for the next turn may bring the other runtime.
    let runtime = match chosen.provider.as_deref() {
        Some(name) if !is_rerouted(Some(name)) => Runtime::OwnLoop,
        Some(name) if name.eq_ignore_ascii_case(CODEX_PROVIDER) => Runtime::CodexAppServer,
        _ => runtime,
    };
    Ok(InUse { runtime, provider, model: chosen.model.clone().or(model) })
}

/// Codex's models; where no conversation has begun, those of the providers of the built-in loop too.
async fn codex_models(place: &Place, used: &InUse) -> Result<Vec<Done>, Trouble> {
    let further = match place.session {
        Some(_) => Vec::new(),
        None => own_loop::rows(place, used),
    };
    // OpenAI's are Codex's here.
    let is_other = |(_, command): &own_loop::Row| match command {
        SlashCommand::Model(words) => !is_rerouted(words.first().map(String::as_str)),
        _ => false,
    };
    let further: Vec<own_loop::Row> = further.into_iter().filter(is_other).collect();
    let mut rows = match place.context.offers(&place.cwd).await {
        Ok(offers) => {
            let used = used_model(&offers, place).await;
            codex_rows(&offers, &place.chosen, used.as_deref())
        }
        Err(trouble) if further.is_empty() => return Err(trouble),
        Err(_) => Vec::new(),
    };
    rows.extend(further);
    Ok(vec![Done::News(News::Pick { title: "Model, from the next turn".to_owned(), rows })])
}

/// Chooses a model of Codex.
async fn codex_model(wanted: String, place: &Place) -> Result<Vec<Done>, Trouble> {
    let offers = place.context.offers(&place.cwd).await?;
    let (model, mut reply) = match find(&offers, &wanted) {
        Some(model) => (model.id.clone(), format!("{} is requested from the next turn on\n", model.id)),
        None => {
            let unlisted = place.context.unlisted_model();
            let choice = ModelChoice { model: Some(&wanted), unlisted, ..ModelChoice::default() };
            check_choice(&offers, choice).map_err(|problem| refused_choice(&problem))?;
            let mut reply =
                format!("{wanted} is requested from the next turn on, although Codex does not list it\n");
            if let Some(near) = nearest(&wanted, offers.models.iter().map(|model| model.id.as_str())) {
                reply += &format!("did you mean {near}?\n");
            }
            (wanted, reply)
        }
    };
    let asked = place.chosen.effort.clone().or_else(|| place.context.settings.config.model.effort.clone());
    let mut chosen = Chosen { model: Some(model), ..place.chosen.clone() };
    let offer = chosen.model.as_deref().and_then(|model| find(&offers, model));
    if let (Some(asked), Some(offer)) = (asked, offer)
        && let Some(own) = instead(offer, &asked)
    {
        reply += &format!("it does not support the effort {asked}; {own} is requested\n");
        chosen.effort = Some(own);
    }
    Ok(vec![Done::Chosen(chosen, plain_lines(&reply))])
}

/// Lists efforts, or chooses one.
pub(super) async fn effort(wanted: Option<String>, place: &Place) -> Result<Vec<Done>, Trouble> {
    let used = in_use(place).await?;
    if used.runtime == Runtime::OwnLoop {
        return own_loop::effort(wanted, place, &used);
    }
    let offers = place.context.offers(&place.cwd).await?;
    let used = used_model(&offers, place).await;
    let offer = used.as_deref().and_then(|model| find(&offers, model));
    let Some(wanted) = wanted else {
        return match offer {
            Some(offer) => Ok(vec![Done::News(efforts(offer, &place.chosen))]),
            None => Err(Trouble::new(exit::USAGE, "Codex does not list the reasoning efforts of this model")
                .try_this("name it: /reasoning low, medium, high, …")),
        };
    };
    let wanted = wanted.to_lowercase();
    let choice = ModelChoice { effort: Some(&wanted), in_use: used.as_deref(), ..ModelChoice::default() };
    check_choice(&offers, choice).map_err(|problem| refused_choice(&problem))?;
    let reply = format!("reasoning {wanted} is requested from the next turn on\n");
    let chosen = Chosen { effort: Some(wanted), ..place.chosen.clone() };
    Ok(vec![Done::Chosen(chosen, plain_lines(&reply))])
}

/// The model that the next turn would use, as far as that is known.
async fn used_model(offers: &Offers, place: &Place) -> Option<String> {
    if let Some(model) = &place.chosen.model {
        return Some(model.clone());
    }
    if let Some(session) = &place.session {
        let detail = place.context.client.session(session.as_str()).await.ok()?;
        if detail.info.model.is_some() {
            return detail.info.model;
        }
    }
    let config = &place.context.settings.config;
    let default = || offers.models.iter().find(|model| model.is_default).map(|model| model.id.clone());
    config.model.default.clone().or_else(|| offers.model.clone()).or_else(default)
}

fn find<'a>(offers: &'a Offers, model: &str) -> Option<&'a ModelOffer> {
    offers.models.iter().find(|offer| offer.id.eq_ignore_ascii_case(model))
}

/// The effort to ask for where the model does not know the one that would be: that would make its first turn fail.
fn instead(offer: &ModelOffer, asked: &str) -> Option<String> {
    if offer.efforts.iter().any(|known| known.effort == asked) {
        return None;
    }
    // One that is not named would be the configured one again.
    let first = offer.efforts.first().map(|known| known.effort.clone())?;
    Some(offer.default_effort.clone().unwrap_or(first))
}

/// The models; a requested one is distinguished from the one in force.
fn codex_rows(offers: &Offers, chosen: &Chosen, used: Option<&str>) -> Vec<own_loop::Row> {
    let row = |model: &ModelOffer| {
        let efforts: Vec<&str> = model.efforts.iter().map(|effort| effort.effort.as_str()).collect();
        let mark = match &chosen.model {
            Some(chosen) if *chosen == model.id => " (chosen)",
            None if used == Some(model.id.as_str()) => " (current)",
            _ => "",
        };
        let usual = if model.is_default { " (default)" } else { "" };
        let thinks = if efforts.is_empty() { String::new() } else { format!(" [{}]", efforts.join(", ")) };
        let text = format!("{}{mark}{usual}{thinks}  {}", model.id, model.description);
        (plain_line(&text).into_owned(), SlashCommand::Model(vec![model.id.clone()]))
    };
    offers.models.iter().map(row).collect()
}

fn efforts(offer: &ModelOffer, chosen: &Chosen) -> News {
    let rows = offer.efforts.iter().map(|effort| {
        let mark = if chosen.effort.as_ref() == Some(&effort.effort) { " (chosen)" } else { "" };
        let usual = if offer.default_effort.as_ref() == Some(&effort.effort) { " (default)" } else { "" };
        let text = format!("{}{mark}{usual}  {}", effort.effort, effort.description);
        (plain_line(&text).into_owned(), SlashCommand::Reasoning(Some(effort.effort.clone())))
    });
    News::Pick {
        title: format!("Reasoning of {}, from the next turn", plain_line(&offer.id)),
        rows: rows.collect(),
    }
}

fn plain_lines(text: &str) -> String {
    talaria_render::plain(text).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_effort_that_a_model_does_not_know_is_replaced_by_its_usual_one() {
        let effort = |effort: &str| json!({ "effort": effort, "description": "" });
        let offer: ModelOffer = serde_json::from_value(json!({ "id": "m", "name": "m", "description": "",
            "is_default": true, "default_effort": "medium", "efforts": [effort("low"), effort("medium")] }))
        .unwrap();
        assert_eq!(instead(&offer, "low"), None);
        assert_eq!(instead(&offer, "xhigh").as_deref(), Some("medium"));
        let silent = ModelOffer { efforts: Vec::new(), ..offer };
        assert_eq!(instead(&silent, "xhigh"), None, "nothing is known against it");
    }
}
