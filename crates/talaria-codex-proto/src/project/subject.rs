//! Converts Codex's requests into neutral subjects, about which gate and escrow decide.

use talaria_core::escrow::Binding;
use talaria_core::ids::ThreadId;
use talaria_core::item::FileChange;
use talaria_core::subject::{CommandSubject, CommandUse, FormSubject, Subject, WordsSubject};
use talaria_guard::shell::CommandText;

use super::ask::question;
use crate::wire::server_request::{CommandApproval, Elicitation, ServerRequest};

/// Converts what is asked; `None` for what is no question to a person. `changes` are those of the item that a patch
/// belongs to, if it was announced.
pub fn subject<'a>(request: &'a ServerRequest, changes: Option<&'a [FileChange]>) -> Option<Subject<'a>> {
    Some(match request {
        ServerRequest::Command(p) => command(p),
        ServerRequest::Patch(p) => Subject::Patch { changes, grant_root: p.grant_root.as_deref() },
        ServerRequest::Permissions(p) => {
            Subject::Permissions { cwd: p.cwd.as_deref(), wanted: &p.permissions }
        }
        ServerRequest::UserInput(p) => {
            Subject::Words(WordsSubject::Questions(p.questions.iter().map(question).collect()))
        }
        ServerRequest::Elicitation(p) if p.is_tool_approval() => {
            Subject::Tool { tool: tool_name(p), form: form(p) }
        }
        ServerRequest::Elicitation(p) => Subject::Words(WordsSubject::Form(form(p))),
        ServerRequest::ToolCall(_)
        | ServerRequest::TokenRefresh(_)
        | ServerRequest::Attestation(_)
        | ServerRequest::CurrentTime(_) => return None,
    })
}

/// The binding of an answer to this request, which is about `subject`; `None` if no answer can be kept for it.
pub fn binding(request: &ServerRequest, subject: Option<&Subject<'_>>) -> Option<Binding> {
    Binding::of(request.method(), &ThreadId::new(request.scope().thread?), subject?)
}

fn command(p: &CommandApproval) -> Subject<'_> {
    let command = CommandSubject {
        action: match p.kind.as_deref() {
            None | Some("command") => CommandUse::Run,
            Some("writeStdin") => CommandUse::Input,
            Some(other) => CommandUse::Other(other),
        },
        line: p.command.as_deref().filter(|line| !line.trim().is_empty()).map(CommandText::new),
        cwd: p.cwd.as_deref(),
        is_nested: p.approval_id.is_some(),
        wider: p.additional_permissions.as_ref(),
        always: p.exec_amendment().unwrap_or_default(),
        always_host: p.network_amendment().map(|rule| rule.host),
    };
    match &p.network_approval_context {
        Some(network) => Subject::Network { host: &network.host, protocol: &network.protocol, command },
        None => Subject::Command(command),
    }
}

fn form(p: &Elicitation) -> FormSubject<'_> {
    FormSubject {
        server: &p.server_name,
        mode: p.mode.as_deref(),
        message: &p.message,
        schema: &p.requested_schema,
        url: p.url.as_deref(),
        meta: p.meta.as_ref(),
    }
}

/// The tool that Codex asks about. Only its own sentence names it; a sentence that is not exactly that names nothing.
fn tool_name(request: &Elicitation) -> Option<&str> {
    let rest = request.message.strip_prefix("Allow the ")?.strip_prefix(request.server_name.as_str())?;
    let tool = rest.strip_prefix(" MCP server to run tool \"")?.strip_suffix("\"?")?;
    (!tool.is_empty() && !tool.contains('"')).then_some(tool)
}

#[cfg(test)]
mod tests;
