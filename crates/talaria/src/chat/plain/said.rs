//! Input sent from here that has not returned as an event: other input was sent elsewhere, and is shown. Pure.
//!
//! Events contain texts with masked secrets, so texts are compared in that form.

use talaria_guard::redact::redact;

/// Maximum number of remembered inputs: a refused one never returns.
const MOST: usize = 100;

/// Input sent from here.
#[derive(Debug, Default)]
pub(super) struct Said(Vec<String>);

impl Said {
    /// Remembers what is on its way.
    pub(super) fn note(&mut self, text: &str) {
        self.0.push(redact(text).trim().to_owned());
        let over = self.0.len().saturating_sub(MOST);
        self.0.drain(..over);
    }

    /// Was this said from here? Each is recognised once.
    pub(super) fn takes(&mut self, text: &str) -> bool {
        let found = self.0.iter().position(|said| said == text.trim());
        found.map(|at| self.0.remove(at)).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_here_is_recognised_once_and_by_its_masked_form() {
        let secret = format!("sk-{}", "proj-a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6");
        let mut said = Said::default();
        said.note("go\n");
        said.note(&format!("use {secret}"));
        assert!(said.takes(&redact(&format!("use {secret}"))));
        assert!(said.takes("go") && !said.takes("go"), "the second one came from elsewhere");
        (0..=MOST).for_each(|n| said.note(&n.to_string()));
        assert!(!said.takes("0") && said.takes("1"));
    }
}
