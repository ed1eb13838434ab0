//! Validates a model, an effort and images against what Codex lists, before a turn is paid for.
//!
//! Refuses only on evidence: a list that Codex did not return, or one that does not name every model of the provider,
//! says nothing against a name. Called by the engine for every turn, and by the chat for `/model` and `/reasoning`.

use crate::api::{ModelOffer, Offers, Problem, ProblemCode};
use crate::nearest::nearest;

/// Efforts that Codex knows for models without a list of their own.
const EFFORTS: [&str; 6] = ["none", "minimal", "low", "medium", "high", "xhigh"];

/// The choice of a turn.
#[derive(Clone, Copy, Debug, Default)]
pub struct ModelChoice<'a> {
    /// The model that was chosen.
    pub model: Option<&'a str>,
    /// The effort that was chosen.
    pub effort: Option<&'a str>,
    /// The model that the conversation uses where none was chosen.
    pub in_use: Option<&'a str>,
    /// What happens to a model that Codex does not list.
    pub unlisted: UnlistedModel,
}

/// What happens to a model that Codex does not list although its list is complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnlistedModel {
    /// It is refused: probably a typing error.
    #[default]
    Refuse,
    /// It is sent (`model.allow_unlisted`).
    Accept,
}

/// Returns why Codex would refuse this choice, with the most similar name.
pub fn check_choice(offers: &Offers, choice: ModelChoice<'_>) -> Result<(), Problem> {
    if let Some(model) = choice.model.filter(|_| choice.unlisted == UnlistedModel::Refuse) {
        check_model(offers, model)?;
    }
    choice.effort.map_or(Ok(()), |effort| check_effort(offers, effort, choice))
}

/// Refuses images that the model of this choice cannot see: Codex would leave them out. A model that Codex does not list
/// may see them.
pub fn check_images(offers: &Offers, choice: ModelChoice<'_>) -> Result<(), Problem> {
    let model = model_in_force(offers, choice).and_then(|model| listed(offers, model));
    let Some(blind) = model.filter(|offer| offer.takes_images == Some(false)) else { return Ok(()) };
    let sees = |offer: &&ModelOffer| offer.takes_images == Some(true);
    let usual = offers.models.iter().filter(sees).find(|offer| offer.is_default);
    let hint = match usual.or_else(|| offers.models.iter().find(sees)) {
        Some(other) => {
            format!("choose a model that can, such as {}: --model, or /model in the chat", other.id)
        }
        None => "send the prompt without images; Codex lists no model that can see them".to_owned(),
    };
    Err(Problem::new(ProblemCode::BadRequest, format!("{} cannot see images", blind.id)).try_this(hint))
}

/// Finds a model in the list by its exact name, also one that Codex does not show.
pub fn listed<'a>(offers: &'a Offers, model: &str) -> Option<&'a ModelOffer> {
    offers.models.iter().chain(&offers.hidden_models).find(|offer| offer.id == model)
}

fn check_model(offers: &Offers, model: &str) -> Result<(), Problem> {
    let is_known = listed(offers, model).is_some() || offers.model.as_deref() == Some(model);
    if is_known || !offers.lists_every_model {
        return Ok(());
    }
    let names: Vec<&str> = offers.models.iter().map(|offer| offer.id.as_str()).collect();
    let hint = format!(
        "{}Codex lists {}; if {model} exists all the same: `talaria config set model.allow_unlisted true`",
        did_you_mean(model, &names),
        names.join(", ")
    );
    Err(Problem::new(ProblemCode::BadRequest, format!("Codex does not list the model {model:?}"))
        .try_this(hint))
}

/// The model that a turn with this choice would run on, where that is known.
fn model_in_force<'a>(offers: &'a Offers, choice: ModelChoice<'a>) -> Option<&'a str> {
    let usual = || offers.models.iter().find(|offer| offer.is_default).map(|offer| offer.id.as_str());
    choice.model.or(choice.in_use).or(offers.model.as_deref()).or_else(|| {
        // Another provider has another usual model.
        usual().filter(|_| offers.lists_every_model)
    })
}

fn check_effort(offers: &Offers, effort: &str, choice: ModelChoice<'_>) -> Result<(), Problem> {
    let own = model_in_force(offers, choice)
        .and_then(|model| listed(offers, model))
        .filter(|offer| !offer.efforts.is_empty());
    let (message, known) = match own {
        Some(offer) => {
            let known: Vec<&str> = offer.efforts.iter().map(|known| known.effort.as_str()).collect();
            (format!("{} does not support the effort {effort:?}", offer.id), known)
        }
        None => (format!("there is no effort {effort:?}"), efforts_of_any(offers)),
    };
    if known.contains(&effort) {
        return Ok(());
    }
    let hint = format!("{}use one of {}", did_you_mean(effort, &known), known.join(", "));
    Err(Problem::new(ProblemCode::BadRequest, message).try_this(hint))
}

/// The efforts that Codex knows, and those that a newer one lists for any of its models.
fn efforts_of_any(offers: &Offers) -> Vec<&str> {
    let mut known = EFFORTS.to_vec();
    let models = offers.models.iter().chain(&offers.hidden_models);
    for effort in models.flat_map(|offer| &offer.efforts) {
        if !known.contains(&effort.effort.as_str()) {
            known.push(&effort.effort);
        }
    }
    known
}

fn did_you_mean(word: &str, known: &[&str]) -> String {
    nearest(word, known.iter().copied()).map(|near| format!("did you mean {near}? ")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::EffortOffer;

    fn offer(id: &str, efforts: &[&str]) -> ModelOffer {
        let effort = |effort: &&str| EffortOffer { effort: (*effort).to_owned(), description: String::new() };
        ModelOffer {
            id: id.to_owned(),
            name: id.to_owned(),
            description: String::new(),
            efforts: efforts.iter().map(effort).collect(),
            default_effort: None,
            takes_images: None,
            is_default: id == "gpt-5.5",
        }
    }

    /// What OpenAI's own provider offers.
    fn own() -> Offers {
        Offers {
            models: vec![offer("gpt-5.5", &["low", "medium", "high"]), offer("gpt-5.4-mini", &["ultra"])],
            hidden_models: vec![offer("gpt-hidden", &[])],
            model: Some("from-config".to_owned()),
            lists_every_model: true,
            ..Offers::default()
        }
    }

    fn told(offers: &Offers, choice: ModelChoice<'_>) -> String {
        in_words(check_choice(offers, choice))
    }

    fn in_words(checked: Result<(), Problem>) -> String {
        match checked {
            Ok(()) => "accepted".to_owned(),
            Err(Problem { code, message, hint, .. }) => {
                assert_eq!(code, ProblemCode::BadRequest);
                format!("{message}; hint: {}", hint.unwrap_or_default())
            }
        }
    }

    #[test]
    fn a_model_that_the_complete_list_does_not_name_is_refused_with_the_nearest() {
        let model = |model| ModelChoice { model: Some(model), ..ModelChoice::default() };
        for good in ["gpt-5.5", "gpt-hidden", "from-config"] {
            assert_eq!(told(&own(), model(good)), "accepted", "{good}");
        }
        expect_test::expect![[r#"Codex does not list the model "gpt-5.6"; hint: did you mean gpt-5.5? Codex lists gpt-5.5, gpt-5.4-mini; if gpt-5.6 exists all the same: `talaria config set model.allow_unlisted true`"#]]
            .assert_eq(&told(&own(), model("gpt-5.6")));
        assert!(!told(&own(), model("mistral")).contains("did you mean"));
        let allowed = ModelChoice { unlisted: UnlistedModel::Accept, ..model("gpt-5.6") };
        assert_eq!(told(&own(), allowed), "accepted");
    }

    #[test]
    fn another_provider_has_models_that_codex_does_not_list() {
        let offers = Offers { lists_every_model: false, model: None, ..own() };
        let choice = ModelChoice { model: Some("gpt-5.6"), effort: Some("xhigh"), ..ModelChoice::default() };
        assert_eq!(told(&offers, choice), "accepted");
        let effort = ModelChoice { effort: Some("xhigh"), ..ModelChoice::default() };
        assert_eq!(told(&offers, effort), "accepted", "its usual model is not known");
        assert_eq!(told(&Offers::default(), choice), "accepted", "nothing is known");
    }

    #[test]
    fn an_effort_is_one_of_the_model_that_is_used() {
        let with = |model, in_use, effort| ModelChoice {
            model,
            effort: Some(effort),
            in_use,
            ..ModelChoice::default()
        };
        let refused = "gpt-5.5 does not support the effort \"silly\"; hint: use one of low, medium, high";
        assert_eq!(told(&own(), with(Some("gpt-5.5"), None, "silly")), refused);
        assert_eq!(told(&own(), with(None, Some("gpt-5.5"), "silly")), refused);
        let usual = Offers { model: None, ..own() };
        assert_eq!(told(&usual, with(None, None, "silly")), refused, "the usual model");
        let near = told(&own(), with(Some("gpt-5.5"), None, "hihg"));
        assert!(near.contains("did you mean high? use one of"), "{near}");
        assert_eq!(told(&own(), with(Some("gpt-5.4-mini"), Some("gpt-5.5"), "ultra")), "accepted");
    }

    #[test]
    fn images_are_refused_only_where_codex_says_that_the_model_cannot_see_them() {
        let seeing = |id, takes_images| ModelOffer { takes_images, ..offer(id, &[]) };
        let mut offers = Offers {
            models: vec![
                seeing("blind", Some(false)),
                seeing("silent", None),
                seeing("other", Some(true)),
                seeing("gpt-5.5", Some(true)),
            ],
            hidden_models: vec![seeing("hidden", Some(false))],
            lists_every_model: true,
            ..Offers::default()
        };
        let told = |offers: &Offers, model, in_use| {
            in_words(check_images(offers, ModelChoice { model, in_use, ..ModelChoice::default() }))
        };
        let refused = |id: &str, hint: &str| format!("{id} cannot see images; hint: {hint}");
        let usual = "choose a model that can, such as gpt-5.5: --model, or /model in the chat";
        assert_eq!(told(&offers, Some("blind"), Some("gpt-5.5")), refused("blind", usual));
        assert_eq!(told(&offers, Some("hidden"), None), refused("hidden", usual));
        assert_eq!(told(&offers, None, Some("blind")), refused("blind", usual));
        for known in ["gpt-5.5", "silent", "unlisted"] {
            assert_eq!(told(&offers, Some(known), Some("blind")), "accepted", "{known}");
        }
        assert_eq!(told(&offers, None, None), "accepted", "the usual model sees them");
        offers.model = Some("blind".to_owned());
        assert_eq!(told(&offers, None, None), refused("blind", usual), "the configured model");
        assert_eq!(told(&Offers::default(), Some("blind"), None), "accepted", "nothing is known");

        offers.models.retain(|offer| offer.id != "gpt-5.5");
        let other = "choose a model that can, such as other: --model, or /model in the chat";
        assert_eq!(told(&offers, None, None), refused("blind", other));
        offers.models.retain(|offer| offer.id != "other");
        let none = "send the prompt without images; Codex lists no model that can see them";
        assert_eq!(told(&offers, None, None), refused("blind", none));
        offers.model = None;
        offers.models.push(seeing("gpt-5.5", Some(false)));
        assert_eq!(told(&offers, None, None), refused("gpt-5.5", none), "the usual model");
        offers.lists_every_model = false;
        assert_eq!(told(&offers, None, None), "accepted", "another provider has another usual model");
    }

    #[test]
    fn an_effort_that_is_no_word_is_refused_for_a_model_of_which_nothing_is_known() {
        let effort =
            |effort| ModelChoice { in_use: Some("llama"), effort: Some(effort), ..ModelChoice::default() };
        for known in EFFORTS.into_iter().chain(["ultra"]) {
            assert_eq!(told(&own(), effort(known)), "accepted");
        }
        let refused = "there is no effort \"mediun\"; hint: did you mean medium? \
                       use one of none, minimal, low, medium, high, xhigh, ultra";
        assert_eq!(told(&own(), effort("mediun")), refused);
    }
}
