//! The model and the effort of a turn, as chosen and as found in force.

/// A model and an effort.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelSettings {
    /// The model.
    pub model: Option<String>,
    /// The reasoning effort.
    pub effort: Option<String>,
}

impl ModelSettings {
    /// Whether neither is named.
    pub fn is_empty(&self) -> bool {
        self.model.is_none() && self.effort.is_none()
    }
}
