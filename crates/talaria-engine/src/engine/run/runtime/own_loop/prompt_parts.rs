//! What every part of the next request of a conversation on the built-in loop takes: the head as it is stored, the tools, and the
//! history as it is rendered for the provider in force. Nothing here is estimated but by the reader.

use talaria_agent::encode::{RequestHead, RequestOmissions, RequestRenderer};
use talaria_agent::history::{ModelIssuer, in_force};
use talaria_core::api::ContextPart;
use talaria_core::memory::snapshot::MemorySnapshot;
use talaria_core::prompt_cost::part;
use talaria_core::tool::OfferedTool;
use talaria_store::{SessionRow, StoreError};
use talaria_tools::call::loop_tools;

use super::log::{self, LoopHead, StoredLog};
use crate::engine::Inner;
use crate::engine::run::providers::find_provider;
use crate::engine::run::settings::{Settings, Wanted};

/// The names of the tiers of a system prompt before memory and project.
const TIERS: [&str; 2] = ["system prompt", "settings"];

/// The parts of the next request, with their sizes.
pub(crate) async fn loop_prompt_parts(
    engine: &Inner,
    row: &SessionRow,
) -> Result<Vec<ContextPart>, StoreError> {
    let log = match log::read(&engine.shelf, &row.id).await {
        Ok(log) => log,
        Err(log::LogError::Store(error)) => return Err(error),
        Err(log::LogError::Sealed) => return Ok(vec![part("system prompt", None), part("history", None)]),
    };
    let mut parts = Vec::new();
    if let Some(head) = &log.head {
        let snapshot = engine.snapshot_in_force(&row.id).await?;
        head_parts(head, snapshot.as_ref().map(|snapshot| snapshot.text.as_str()), &mut parts);
    }
    let own = loop_tools();
    parts.extend(own.iter().map(|tool| {
        let OfferedTool { name, bytes } = OfferedTool::from(tool);
        part(name, Some(bytes))
    }));
    let further = row.tools.as_deref().and_then(|json| serde_json::from_str::<Vec<OfferedTool>>(json).ok());
    parts.extend(further.into_iter().flatten().map(|tool| part(tool.name, Some(tool.bytes))));
    parts.push(part("history", history_bytes(engine, row, log)));
    Ok(parts)
}

/// The tiers of the head. Memory and project instructions are one tier, which begins with the snapshot.
fn head_parts(head: &LoopHead, snapshot: Option<&str>, parts: &mut Vec<ContextPart>) {
    let named = TIERS.iter().zip(&head.system);
    parts.extend(named.map(|(name, text)| text_part(name, text)));
    let rest = head.system.get(TIERS.len()..).unwrap_or_default().join("\n\n");
    let project = match snapshot.and_then(|text| Some((text, rest.strip_prefix(text)?))) {
        Some((text, project)) => {
            let (persona, memory) = MemorySnapshot::divide(text);
            let texts = [("persona", persona), ("memory", memory)];
            parts.extend(
                texts.iter().filter(|(_, text)| !text.is_empty()).map(|(name, text)| text_part(name, text)),
            );
            project.trim_start()
        }
        None => rest.as_str(),
    };
    if !project.is_empty() {
        parts.push(text_part("project instructions", project));
    }
}

/// The bytes of the history in a request; none if the provider in force is no longer configured.
fn history_bytes(engine: &Inner, row: &SessionRow, log: StoredLog) -> Option<u64> {
    let settings = Settings::of_row(row)?;
    let found = find_provider(settings.provider().unwrap_or_default(), &engine.config()).ok()?;
    let wanted = Wanted::of_row(row);
    let model = settings.model().or_else(|| wanted.as_ref()?.model())?;
    let profile = found.profile;
    let issuer =
        ModelIssuer { provider: profile.name.clone(), base_url: profile.base_url.clone(), account: None };
    let system = log.head.map(|head| head.system).unwrap_or_default();
    let tools = loop_tools().into_iter().map(super::tool_spec).collect();
    let head = RequestHead::new(model, system, tools, row.id.as_str());
    let mut renderer = RequestRenderer::new(&profile, issuer, head, RequestOmissions::default());
    in_force(&log.entries).into_iter().for_each(|entry| renderer.push(entry));
    // Entries that share a message share its bytes.
    let mut end = 0;
    let mut bytes = 0;
    for span in renderer.render().spans {
        bytes += span.range.end.saturating_sub(end.max(span.range.start));
        end = end.max(span.range.end);
    }
    u64::try_from(bytes).ok()
}

fn text_part(name: &str, text: &str) -> ContextPart {
    part(name, u64::try_from(text.len()).ok())
}
