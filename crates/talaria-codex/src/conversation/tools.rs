//! Tools that this program brings into Codex's turns: the model calls them, and they run here.
//!
//! A tool is a description and a function. It runs beside the turn; if the turn ends first, it is dropped at its next
//! wait, so a tool must be able to be dropped. What it gives back goes to the model as it is.

use std::collections::BTreeMap;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::Value;
use talaria_codex_proto::wire::call::DynamicTool;
use talaria_codex_proto::wire::reply::ToolResult;

/// What a tool does while it is waited for.
pub type Work = Pin<Box<dyn Future<Output = ToolResult> + Send>>;

/// The tools of a session, by name.
#[derive(Clone, Default)]
pub struct Toolbox {
    tools: BTreeMap<String, Tool>,
}

#[derive(Clone)]
struct Tool {
    description: String,
    schema: Value,
    run: Arc<dyn Fn(Value) -> Work + Send + Sync>,
}

impl Toolbox {
    /// Adds a tool; one of the same name is replaced. `schema` describes the arguments as JSON schema.
    pub fn add(
        &mut self,
        name: impl Into<String>,
        description: impl Into<String>,
        schema: Value,
        run: impl Fn(Value) -> Work + Send + Sync + 'static,
    ) {
        let tool = Tool { description: description.into(), schema, run: Arc::new(run) };
        self.tools.insert(name.into(), tool);
    }

    /// What Codex is told about them.
    pub(crate) fn described(&self) -> Vec<DynamicTool> {
        let describe = |(name, tool): (&String, &Tool)| DynamicTool {
            kind: None,
            name: name.clone(),
            description: tool.description.clone(),
            input_schema: tool.schema.clone(),
        };
        self.tools.iter().map(describe).collect()
    }

    /// Is there a tool of this name?
    pub(crate) fn has(&self, name: &str) -> bool {
        self.tools.contains_key(name)
    }

    /// Calls a tool when it is waited for, not before: one that breaks must break there. One that is not here is a
    /// failure that the model is told.
    pub(crate) fn call(&self, name: &str, arguments: Value) -> Work {
        match self.tools.get(name) {
            Some(tool) => {
                let run = Arc::clone(&tool.run);
                Box::pin(async move { run(arguments).await })
            }
            None => {
                let result = ToolResult::failed(format!("this session has no tool {name}"));
                Box::pin(async move { result })
            }
        }
    }
}

impl fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.tools.keys()).finish()
    }
}
