//! Token cost of a conversation's prompt: Talaria's own parts as recorded, the rest attributed to Codex. On the built-in loop every
//! part is Talaria's.

use talaria_core::api::{ContextPart, ContextReport, Problem};
use talaria_core::event::Event;
use talaria_core::memory::snapshot::MemorySnapshot;
use talaria_core::prompt_cost::{account, part};
use talaria_core::runtime::Runtime;
use talaria_core::tool::{OfferedTool, contract};
use talaria_store::{SessionRow, StoreError};

use crate::engine::Engine;
use crate::engine::queries::views;
use crate::engine::run::runtime::{loop_prompt_parts, runtime_of};
use crate::engine::run::settings::Wanted;

impl Engine {
    /// What every part of a conversation's prompt costs.
    pub async fn context(&self, id: &str) -> Result<ContextReport, Problem> {
        let row = self.find(id).await?;
        let runtime = runtime_of(&row);
        let read = async {
            let parts = match runtime {
                Some(Runtime::OwnLoop) => loop_prompt_parts(&self.inner, &row).await?,
                _ => self.context_parts(&row).await?,
            };
            let usage = self.inner.shelf.store.last_event_of(&row.id, "usage_updated").await?;
            Ok::<_, StoreError>((parts, usage))
        };
        let (parts, usage) = read.await.map_err(|error| views::problem(&error))?;
        let usage = usage.and_then(|event| serde_json::from_str::<Event>(&event.json).ok());
        let (input, window) = match usage {
            Some(Event::UsageUpdated { input, window, .. }) => (input, window),
            _ => (None, None),
        };
        let report = account(row.id.to_string(), parts, input, window);
        // All of a prompt of the loop is listed: what is left is only how the provider counts.
        let rest = report.rest.filter(|_| runtime != Some(Runtime::OwnLoop));
        Ok(ContextReport { runtime: row.runtime, rest, ..report })
    }

    async fn context_parts(&self, row: &SessionRow) -> Result<Vec<ContextPart>, StoreError> {
        let mut parts = Vec::new();
        if let Some(snapshot) = self.inner.snapshot_in_force(&row.id).await? {
            let (persona, memory) = MemorySnapshot::divide(&snapshot.text);
            let texts = [("persona", persona), ("memory", memory)];
            parts.extend(texts.into_iter().filter(|(_, text)| !text.is_empty()).map(text_part));
        }
        let words = Wanted::of_row(row).and_then(|wanted| wanted.thread().developer_instructions);
        parts.extend(words.as_deref().map(|words| text_part(("task", words))));
        let tools = row.tools.as_deref().and_then(|json| serde_json::from_str::<Vec<OfferedTool>>(json).ok());
        match tools {
            Some(tools) => parts.extend(tools.into_iter().map(|tool| part(tool.name, Some(tool.bytes)))),
            None if row.contract == Some(contract::NO_TOOLS) => {}
            None => parts.push(part("tools", None)),
        }
        Ok(parts)
    }
}

fn text_part((name, text): (&str, &str)) -> ContextPart {
    part(name, Some(u64::try_from(text.len()).unwrap_or(u64::MAX)))
}
