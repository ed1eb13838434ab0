//! The offered tools and resources: `codex_bridge`, if there is a Codex for it, Talaria's own tools, and the transcripts of
//! its tasks.

use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, Implementation,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Resource, ResourceContents,
    ResourceTemplate, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use talaria_core::api::{ProblemCode, TaskQuery};
use talaria_core::bridge::{
    BridgeCall, BridgeReply, DESCRIPTION, INSTRUCTIONS, TOOL, TRANSCRIPT_TEMPLATE, input_schema,
    transcript_of, transcript_uri,
};
use talaria_guard::plain;
use tokio_util::sync::CancellationToken;

use super::calls::Caller;
use super::door::Door;
use super::own_tools;
use super::transcript;
use super::waiting::{Progress, Told};
use crate::client::{Client, ClientError};

/// How many resources one answer names.
const PAGE: usize = 100;
/// What transcripts are written in.
const MARKDOWN: &str = "text/markdown";

/// What serves one client.
pub(super) struct Bridge {
    door: Door,
    told: Told,
    gone: CancellationToken,
}

impl Bridge {
    pub(super) fn new(door: Door, gone: CancellationToken) -> Self {
        Self { door, told: Told::default(), gone }
    }

    async fn engine(&self, context: &RequestContext<RoleServer>) -> Result<Client, ClientError> {
        let client = context.client_info();
        self.door.engine(client.as_ref().map(|client| client.name.as_str())).await
    }

    async fn call(
        &self,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> BridgeReply {
        let (call, ignored) = match BridgeCall::read(&request.arguments.unwrap_or_default()) {
            Ok(read) => read,
            Err(mistake) => return BridgeReply::mistake(&mistake),
        };
        let engine = match self.engine(context).await {
            Ok(engine) => engine,
            Err(error) => return refused(&error),
        };
        let progress = Progress::new(context.peer.clone(), context.meta.get_progress_token());
        let stops = [self.gone.clone(), context.ct.clone()];
        let caller = Caller { engine, door: &self.door, told: &self.told, progress, stops };
        let (Ok(reply) | Err(reply)) = caller.run(call).await;
        reply.ignoring(&ignored)
    }
}

impl ServerHandler for Bridge {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_resources().build();
        let own = Implementation::new("talaria", env!("CARGO_PKG_VERSION")).with_title("Talaria");
        ServerConfig::new(capabilities).with_server_info(own).with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        // Without a Codex and a model provider there is nothing that `codex_bridge` could do.
        let bridge = match self.door.can_start_tasks().await {
            true => Some(Tool::new(TOOL, DESCRIPTION, Arc::new(input_schema()))),
            false => None,
        };
        Ok(ListToolsResult::with_all_items(bridge.into_iter().chain(own_tools::listed(&self.door)).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if own_tools::is_one(&request.name) {
            return Ok(own_tools::call(self.engine(&context).await, request, &context).await.into());
        }
        if request.name != TOOL {
            let name = plain::reveal_line(&request.name).chars().take(80).collect::<String>();
            return Err(ErrorData::invalid_params(
                format!("there is no tool {name:?}; tools/list names them"),
                None,
            ));
        }
        let reply = self.call(request, &context).await;
        let content = vec![ContentBlock::text(reply.text())];
        let mut result =
            if reply.is_error { CallToolResult::error(content) } else { CallToolResult::success(content) };
        result.structured_content = Some(reply.value);
        Ok(result.into())
    }

    async fn list_resources(
        &self,
        page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let before = page.and_then(|page| page.cursor);
        let query = TaskQuery { limit: PAGE, before, ..TaskQuery::default() };
        let engine = self.engine(&context).await.map_err(|error| internal(&error))?;
        let tasks = engine.tasks(&query).await.map_err(|error| match &error {
            ClientError::Problem(problem) if problem.code == ProblemCode::Unknown => {
                ErrorData::invalid_params("there is no such cursor", None)
            }
            _ => internal(&error),
        })?;
        let resource = |task: &talaria_core::api::TaskLine| {
            let title = plain::one_line(&task.title);
            Resource::new(transcript_uri(&task.id), format!("transcript of {}", task.id))
                .with_title(title.chars().take(120).collect::<String>())
                .with_description(format!("Transcript; the task is {}", task.status.word()))
                .with_mime_type(MARKDOWN)
        };
        let mut listed = ListResourcesResult::with_all_items(tasks.iter().map(resource).collect());
        listed.next_cursor = tasks.last().filter(|_| tasks.len() >= PAGE).map(|last| last.id.clone());
        Ok(listed)
    }

    async fn list_resource_templates(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let template = ResourceTemplate::new(TRANSCRIPT_TEMPLATE, "transcript of a task")
            .with_description("Transcript of a task, as Markdown")
            .with_mime_type(MARKDOWN);
        Ok(ListResourceTemplatesResult::with_all_items(vec![template]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let unknown = || ErrorData::resource_not_found("there is no such transcript", None);
        let task = transcript_of(&request.uri).ok_or_else(unknown)?;
        let read = async {
            let engine = self.engine(&context).await?;
            transcript::read(&engine, task).await
        };
        let text = read.await.map_err(|error| match &error {
            ClientError::Problem(problem)
                if matches!(problem.code, ProblemCode::Unknown | ProblemCode::Ambiguous) =>
            {
                unknown()
            }
            _ => internal(&error),
        })?;
        let contents = ResourceContents::text(text, request.uri.clone()).with_mime_type(MARKDOWN);
        Ok(ReadResourceResult::new(vec![contents]).into())
    }
}

/// The response to a model if the engine refused or failed.
pub(super) fn refused(error: &ClientError) -> BridgeReply {
    match error {
        ClientError::Problem(problem) => BridgeReply::problem(problem),
        ClientError::Broken(_) => BridgeReply::failed(
            &error.to_string(),
            Some("it is not known whether this was done: look with `list` before you do it again"),
        ),
        error => {
            BridgeReply::failed(&error.to_string(), error.next_step().map(|step| step.in_shell()).as_deref())
        }
    }
}

fn internal(error: &ClientError) -> ErrorData {
    let hint = error.next_step().map(|step| format!("; {}", step.in_shell())).unwrap_or_default();
    ErrorData::internal_error(plain::sanitize(&format!("{error}{hint}")).into_owned(), None)
}
