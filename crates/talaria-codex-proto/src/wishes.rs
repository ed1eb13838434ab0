//! The sandbox permissions that the model requested for each of its calls.
//!
//! Read from the raw calls, which arrive before Codex's request about them. A model can write anything: an ambiguous
//! request is `Unclear`, and so is an id that two different calls have.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::wire::raw_call::RawItem;
use talaria_core::bounds::SandboxWish;
use talaria_core::ids::ItemId;

/// The permissions requested by the calls of one turn, by the id that Codex's request will name as its item.
#[derive(Debug, Clone, Default)]
pub struct Wishes(HashMap<ItemId, SandboxWish>);

impl Wishes {
    /// Remembers the permissions that a raw item requests, if it is a call.
    pub fn note(&mut self, item: &RawItem) {
        let Some(call_id) = &item.call_id else { return };
        if item.kind.ends_with("_output") {
            return;
        }
        let wish = read_wish(item);
        match self.0.entry(call_id.clone()) {
            Entry::Vacant(place) => {
                place.insert(wish);
            }
            Entry::Occupied(mut known) if *known.get() != wish => {
                known.insert(SandboxWish::Unclear);
            }
            Entry::Occupied(_) => {}
        }
    }

    /// The wish of a call that was seen.
    pub fn of(&self, item: &ItemId) -> Option<SandboxWish> {
        self.0.get(item).copied()
    }
}

fn read_wish(item: &RawItem) -> SandboxWish {
    /// A duplicate name does not parse, in Codex as here.
    #[derive(Deserialize)]
    struct Arguments {
        #[serde(default)]
        sandbox_permissions: Option<String>,
        #[serde(default)]
        additional_permissions: Option<IgnoredAny>,
    }
    if item.kind != "function_call" || item.name.as_deref() != Some("exec_command") {
        return SandboxWish::Unclear;
    }
    // A list would be taken for the fields in order, which are not the same here and there.
    let object = item.arguments.as_deref().filter(|text| text.trim_start().starts_with('{'));
    let Some(Arguments { sandbox_permissions, additional_permissions }) =
        object.and_then(|text| serde_json::from_str(text).ok())
    else {
        return SandboxWish::Unclear;
    };
    match (sandbox_permissions.as_deref(), additional_permissions) {
        (None | Some("use_default"), None) => SandboxWish::Ordinary,
        (Some("require_escalated"), _) => SandboxWish::Escalated,
        (Some("with_additional_permissions"), _) => SandboxWish::Widened,
        _ => SandboxWish::Unclear,
    }
}
