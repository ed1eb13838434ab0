//! What a person reads about a failed model request: what happened, in whose words, and what to do next.
//!
//! Pure: the same for a turn of the loop and for `talaria providers test`. A status of 403 is never worded as a bad key.

use talaria_core::next_step::NextStep;

use super::{FailureClass, ModelFailure};
use crate::profile::ProviderProfile;

impl ModelFailure {
    /// Says what happened: the class in plain words, the status, the provider's own words.
    pub fn message(&self, provider: &str) -> String {
        let what = words_of(self.class);
        let status = self.status.map(|status| format!(" (status {status})")).unwrap_or_default();
        let upstream =
            self.upstream.as_deref().map(|name| format!(", asked through it: {name}")).unwrap_or_default();
        format!("{provider} {what}{status}{upstream}: {}", self.text)
    }

    /// What to do next. `retry_at` is the time before which trying again is of no use, in seconds since 1970.
    pub fn advice(&self, profile: &ProviderProfile, retry_at: Option<i64>) -> NextStep {
        let title = &profile.title;
        let name = &profile.name;
        let at = retry_at.and_then(|at| jiff::Timestamp::from_second(at).ok());
        let advice = match self.class {
            FailureClass::RateLimit | FailureClass::Overloaded | FailureClass::Server if at.is_some() => {
                format!("send the prompt again after {}, or choose another model", time_of(at))
            }
            FailureClass::Quota if at.is_some() => {
                format!("wait until {}, or choose another model or provider", time_of(at))
            }
            FailureClass::RateLimit | FailureClass::Overloaded => return NextStep::RetryLater,
            FailureClass::Server => return NextStep::Retry,
            FailureClass::ContextTooLong => return NextStep::BeginAnew,
            FailureClass::Auth => {
                let place = match profile.key_env.as_slice() {
                    [] => format!("the file that providers.{name}.key_file names"),
                    names => names.join(" or "),
                };
                format!("check the key in {place}; `talaria providers test {name}` tries it")
            }
            FailureClass::Entitlement => format!(
                "the key is not the problem: the account at {title}, its plan or its region may not use this; choose another \
                 model or provider, or change the account"
            ),
            FailureClass::Quota => format!("add credit at {title}, or choose another model or provider"),
            FailureClass::Transport => format!(
                "check the network, the proxy and the address {}; `talaria providers test {name}` tries it",
                profile.base_url
            ),
            FailureClass::Certificate => {
                "install the certificate of its issuer on this system, or name a file that has it in SSL_CERT_FILE; then \
                 restart the engine"
                    .to_owned()
            }
            FailureClass::OutputLimit => {
                format!("set max_output of the model lower, in [providers.{name}.models.MODEL]")
            }
            FailureClass::Image => "send a smaller image, or none".to_owned(),
            FailureClass::ReasoningRefused => "start a new conversation".to_owned(),
            FailureClass::InvalidRequest => {
                format!("check the model, its effort, and [providers.{name}] in the configuration")
            }
            FailureClass::ContentFilter => "change the prompt, or choose another model".to_owned(),
            FailureClass::ModelGone => {
                format!("choose another model; if every model fails, check the address {}", profile.base_url)
            }
        };
        NextStep::Advice { text: advice }
    }
}

fn words_of(class: FailureClass) -> &'static str {
    match class {
        FailureClass::Auth => "does not accept the key",
        FailureClass::Entitlement => "does not permit this to the account",
        FailureClass::RateLimit => "limits the requests",
        FailureClass::Quota => "has no credit or allowance left for the account",
        FailureClass::Overloaded => "is overloaded",
        FailureClass::Server => "had an error",
        FailureClass::Transport => "cannot be reached",
        FailureClass::ContextTooLong => "has a model whose context is too small for the conversation",
        FailureClass::OutputLimit => "allows less output than was asked for",
        FailureClass::Image => "cannot use an image",
        FailureClass::InvalidRequest => "refused the request",
        FailureClass::ReasoningRefused => "refused the reasoning of earlier answers",
        FailureClass::ContentFilter => "stopped this for its content",
        FailureClass::ModelGone => "does not have this model",
        FailureClass::Certificate => "has a certificate that is not trusted",
    }
}

fn time_of(at: Option<jiff::Timestamp>) -> String {
    at.map(|at| at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::classify_response;
    use crate::profile::builtin_profile;

    #[test]
    fn a_status_of_403_is_never_worded_as_a_bad_key() {
        let profile = builtin_profile("openai").unwrap();
        for body in [
            r#"{"error":{"message":"Country, region, or territory not supported","code":"unsupported_country_region_territory"}}"#,
            r#"{"error":{"message":"Your API key was rejected"}}"#,
            "<html><title>Attention Required</title></html>",
            "",
        ] {
            let failure = classify_response(403, &[], body.as_bytes());
            let message = failure.message("OpenAI");
            assert!(!message.contains("does not accept the key"), "{message}");
            assert!(message.contains("(status 403)"), "{message}");
            assert!(!failure.advice(&profile, None).in_shell().contains("check the key"), "{failure:?}");
        }
    }

    #[test]
    fn every_class_has_words_of_its_own_and_none_speaks_of_codex() {
        let profile = builtin_profile("anthropic").unwrap();
        let mut seen = std::collections::BTreeSet::new();
        for class in FailureClass::ALL {
            let failure = ModelFailure::transport(class, "why");
            assert!(seen.insert(words_of(class)), "{class}");
            let hint = failure.advice(&profile, None).in_shell();
            assert!(!hint.to_lowercase().contains("codex"), "{class}: {hint}");
        }
    }

    #[test]
    fn a_wait_that_is_not_slept_is_named_with_its_time() {
        let profile = builtin_profile("anthropic").unwrap();
        for class in [FailureClass::RateLimit, FailureClass::Overloaded, FailureClass::Quota] {
            let hint = ModelFailure::transport(class, "x").advice(&profile, Some(1_800_000_000)).in_shell();
            assert!(hint.contains("2027-01-15 08:00:00 UTC"), "{hint}");
        }
    }
}
