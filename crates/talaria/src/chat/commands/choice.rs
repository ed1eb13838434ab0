//! `/model` and `/reasoning`: the choices of Codex, and the request for later turns. An event reports the values in force,
//! once Codex has confirmed them.

use talaria_core::api::{ModelOffer, Offers};
use talaria_core::model_choice::{ModelChoice, check_choice};
use talaria_core::nearest::nearest;
use talaria_render::plain_line;
use talaria_tui::chat::commands::SlashCommand;
use talaria_tui::chat::contract::News;

use super::super::desk::{Chosen, refused_choice};
use super::super::errand::{Done, Place};
use crate::trouble::{Trouble, exit};

/// Lists models, or chooses one.
pub(super) async fn model(wanted: Option<String>, place: &Place) -> Result<Vec<Done>, Trouble> {
    let offers = place.desk.offers(&place.cwd).await?;
    let Some(wanted) = wanted else {
        let used = used_model(&offers, place).await;
        return Ok(vec![Done::News(models(&offers, &place.chosen, used.as_deref()))]);
    };
    let (model, mut reply) = match find(&offers, &wanted) {
        Some(model) => (model.id.clone(), format!("{} is requested from the next turn on\n", model.id)),
        None => {
            let unlisted = place.desk.unlisted_model();
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
    let asked = place.chosen.effort.clone().or_else(|| place.desk.settings.config.model.effort.clone());
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
    let offers = place.desk.offers(&place.cwd).await?;
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
        let detail = place.desk.client.session(session.as_str()).await.ok()?;
        if detail.info.model.is_some() {
            return detail.info.model;
        }
    }
    let config = &place.desk.settings.config;
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
fn models(offers: &Offers, chosen: &Chosen, used: Option<&str>) -> News {
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
        (plain_line(&text).into_owned(), SlashCommand::Model(Some(model.id.clone())))
    };
    News::Pick {
        title: "Model, from the next turn".to_owned(),
        rows: offers.models.iter().map(row).collect(),
    }
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
