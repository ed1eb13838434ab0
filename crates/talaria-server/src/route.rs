//! The routes of the engine: the one table from which the server, the client and the OpenAPI document are built.
//!
//! It also says what each of them needs of a caller, why it may be refused, and with which status.
//!
//! `INFO` and `STOP` keep their form in every version of the API: a newer command must be able to end an older engine.

use std::borrow::Cow;

use axum::http::StatusCode;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use talaria_core::access::RouteNeed;
use talaria_core::api::ProblemCode;

/// Characters that must be escaped in a path or a query.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The longest message to the engine, in bytes.
pub const BODY_LIMIT: usize = 16 * 1024 * 1024;

/// The header that says on whose behalf something is asked, percent-encoded.
pub const PRINCIPAL: &str = "talaria-principal";

/// How a route is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Changes nothing.
    Get,
    /// Does something.
    Post,
}

/// One thing that can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The name of the method, here and in the engine.
    pub name: &'static str,
    /// Its HTTP method.
    pub verb: Verb,
    /// What a caller needs; over TCP, which scope.
    pub needs: RouteNeed,
    /// The path; `{id}` is an id or the unique beginning of one.
    pub path: &'static str,
    /// Why it may be refused, besides what every route of its form may be refused for.
    own_refusals: &'static [ProblemCode],
    /// Its description.
    pub does: &'static str,
}

/// Why any route may be refused over TCP, besides.
pub const REMOTE_REFUSALS: [ProblemCode; 3] =
    [ProblemCode::Unauthenticated, ProblemCode::Misdirected, ProblemCode::TooMany];

impl Route {
    /// Does its response last as long as there is something to say?
    pub fn is_stream(&self) -> bool {
        [FOLLOW, SHELL].contains(self)
    }

    /// Every reason for which it may be refused, over the unix socket and over TCP.
    pub fn refusals(&self) -> Vec<ProblemCode> {
        use ProblemCode::{Ambiguous, BadRequest, Forbidden, Internal, Overloaded, Stopping, Store, Unknown};
        let mut all = vec![BadRequest, Overloaded, Stopping, Store, Internal];
        // A caller without any right may still ask which engine this is.
        if self != &INFO {
            all.push(Forbidden);
        }
        if self.path.contains("{id}") {
            all.extend([Unknown, Ambiguous]);
        }
        all.extend(self.own_refusals);
        all.extend(REMOTE_REFUSALS);
        all
    }

    /// Returns the path for this id.
    pub(crate) fn with(&self, id: &str) -> String {
        self.path.replace("{id}", &percent_encoded(id))
    }
}

/// The status of a refusal.
pub fn status(code: ProblemCode) -> StatusCode {
    match code {
        ProblemCode::Unknown => StatusCode::NOT_FOUND,
        ProblemCode::Ambiguous | ProblemCode::Conflict | ProblemCode::Busy => StatusCode::CONFLICT,
        ProblemCode::Misfit => StatusCode::UNPROCESSABLE_ENTITY,
        ProblemCode::BadRequest => StatusCode::BAD_REQUEST,
        ProblemCode::Forbidden => StatusCode::FORBIDDEN,
        ProblemCode::Unauthenticated => StatusCode::UNAUTHORIZED,
        ProblemCode::Misdirected => StatusCode::MISDIRECTED_REQUEST,
        ProblemCode::TooMany => StatusCode::TOO_MANY_REQUESTS,
        ProblemCode::Overloaded | ProblemCode::Stopping => StatusCode::SERVICE_UNAVAILABLE,
        ProblemCode::Codex => StatusCode::BAD_GATEWAY,
        ProblemCode::Store | ProblemCode::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// Finds the route that a request is for, and the id in its path.
pub(crate) fn find(verb: Verb, path: &str) -> Option<(&'static Route, Option<String>)> {
    ALL.iter().filter(|route| route.verb == verb).find_map(|route| {
        let (mut id, mut given) = (None, path.split('/'));
        for segment in route.path.split('/') {
            let here = given.next()?;
            match segment {
                "{id}" => id = Some(percent_decoded(here).unwrap_or_else(|| here.to_owned())),
                segment if segment == here => {}
                _ => return None,
            }
        }
        given.next().is_none().then_some((route, id))
    })
}

/// Writes text so that it can be in one segment of a path, or in a query.
pub(crate) fn percent_encoded(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

/// Reads text that was written so; `None` if it was not.
pub(crate) fn percent_decoded(text: &str) -> Option<String> {
    // The decoder leaves a sign without two digits as it is.
    let is_encoded = |rest: &str| matches!(rest.as_bytes(), [a, b, ..] if [a, b].iter().all(|digit| digit.is_ascii_hexdigit()));
    let is_whole = text.split('%').skip(1).all(is_encoded);
    percent_decode_str(text).decode_utf8().ok().filter(|_| is_whole).map(Cow::into_owned)
}

macro_rules! routes {
    ($($constant:ident $name:literal $verb:ident $needs:ident $path:literal [$($code:ident)*] $does:literal)*) => {
        $(
            #[doc = $does]
            pub const $constant: Route = Route {
                name: $name,
                verb: Verb::$verb,
                needs: RouteNeed::$needs,
                path: $path,
                own_refusals: &[$(ProblemCode::$code),*],
                does: $does,
            };
        )*

        /// Every route.
        pub const ALL: &[Route] = &[$($constant),*];
    };
}

routes! {
    INFO "info" Get Any "/v1/info" [] "Identifies the engine."
    STATUS "status" Get View "/v1/status" [] "Returns running turns, tasks and open requests."
    STOP "stop" Post Admin "/v1/stop" [] "Ends the engine."
    START_SESSION "start_session" Post Local "/v1/sessions" [Codex] "Starts a conversation with its first turn."
    SESSIONS "sessions" Get View "/v1/sessions" [Unknown Ambiguous] "Lists conversations, the newest first."
    SESSION "session" Get View "/v1/sessions/{id}" [] "Shows one conversation."
    CONTEXT "context" Get View "/v1/sessions/{id}/context" [] "Returns the token cost of every part of a conversation's prompt."
    START_TURN "start_turn" Post Start "/v1/sessions/{id}/turns" [Conflict Busy Codex] "Starts a further turn of a conversation."
    SAY "say" Post Start "/v1/sessions/{id}/say" [Conflict] "Sends further input to a conversation."
    INTERRUPT "interrupt" Post Start "/v1/sessions/{id}/interrupt" [Conflict] "Asks the running turn to stop."
    COMPACT "compact" Post Local "/v1/sessions/{id}/compact" [Conflict Busy Codex] "Compacts a conversation, in a separate turn."
    FORK "fork" Post Local "/v1/sessions/{id}/fork" [Conflict] "Begins another conversation with the turns of this one."
    UNDO "undo" Post Local "/v1/sessions/{id}/undo" [Conflict Busy] "Undoes the last turn of a conversation."
    RETRY "retry" Post Local "/v1/sessions/{id}/retry" [Conflict Busy Codex] "Undoes the last turn of a conversation and sends its input again."
    RENAME "rename" Post Local "/v1/sessions/{id}/title" [] "Changes the title of a conversation."
    PERMISSIONS "permissions" Get View "/v1/sessions/{id}/permissions" [] "Returns the permissions of a conversation: requested and in force."
    CHANGE_PERMISSIONS "change_permissions" Post Local "/v1/sessions/{id}/permissions" [Conflict] "Changes the permissions of a conversation from its next turn on."
    FOLLOW "follow" Get View "/v1/sessions/{id}/stream" [] "Streams the events of a conversation: the stored ones, then new ones."
    SHELL "shell" Post Shell "/v1/shell" [Unknown Ambiguous Conflict Codex] "Runs a command line in the sandbox of a conversation, and streams its output."
    EVENTS "events" Get View "/v1/sessions/{id}/events" [] "Reads stored events, a page at a time."
    MESSAGES "messages" Get View "/v1/sessions/{id}/messages" [] "Reads stored messages, a page at a time."
    SEARCH "search" Get View "/v1/search" [] "Searches the text of all conversations."
    PRUNE "prune" Post Admin "/v1/prune" [] "Deletes conversations, or lists those that it would delete."
    BACKGROUND "background" Get View "/v1/background" [] "Lists the commands that outlived their turns and still run."
    STOP_BACKGROUND "stop_background" Post Admin "/v1/background/{id}/stop" [Conflict Codex] "Stops a command that runs in the background."
    REQUESTS "requests" Get View "/v1/requests" [] "Lists the open requests."
    REQUEST "request" Get View "/v1/requests/{id}" [] "Shows one request."
    ANSWER "answer" Post Answer "/v1/requests/{id}/answer" [Misfit Conflict] "Answers a request."
    START_TASK "start_task" Post Start "/v1/tasks" [Conflict Codex] "Starts a task."
    TASKS "tasks" Get View "/v1/tasks" [Unknown Ambiguous] "Lists tasks, latest activity first."
    TASK "task" Get View "/v1/tasks/{id}" [] "Shows one task."
    SEND "send" Post Start "/v1/tasks/{id}/send" [Conflict Busy Codex] "Starts the next turn of a task."
    DIFF "diff" Get View "/v1/tasks/{id}/diff" [Conflict Busy] "Shows the changes of a task in its worktree."
    APPLY "apply" Post Start "/v1/tasks/{id}/apply" [Conflict Busy] "Applies the changes of a task to the user's checkout."
    DISCARD "discard" Post Start "/v1/tasks/{id}/discard" [Conflict Busy] "Discards the worktree of a task."
    OFFERS "offers" Post Local "/v1/offers" [Codex] "Returns the settings that a conversation in a folder would start with, and the choices."
    NOTIFY "notify" Post Local "/v1/notify" [] "Sends pending notifications, or lists those that it would send."
    MEMORY "memory" Get View "/v1/memory" [Unknown Ambiguous] "Lists the entries of the memory."
    CHANGE_MEMORY "change_memory" Post Admin "/v1/memory" [Unknown Conflict] "Adds, replaces or removes an entry of the memory, undoes a change, or decides a proposal."
    MEMORY_HISTORY "memory_history" Get View "/v1/memory/history" [] "Lists changes of the memory with who made them, newest first."
    IMPORT_MEMORY "import_memory" Post Local "/v1/memory/import" [Conflict] "Imports the memory of another agent, undoes that, or previews either."
    MEMORY_PENDING "memory_pending" Get View "/v1/memory/pending" [] "Lists pending changes of the memory."
    SKILLS "skills" Get View "/v1/skills" [] "Lists the skills for a directory, and those that were archived."
    CHANGE_SKILLS "change_skills" Post Admin "/v1/skills" [Unknown Conflict] "Accepts or rejects a proposal about a skill, archives a skill, or restores one."
    SKILL "skill" Get View "/v1/skills/text" [Unknown] "Shows a file of a skill, and what was proposed about the skill."
    SKILL_PROPOSALS "skill_proposals" Get View "/v1/skills/proposals" [] "Lists changes of skills that models proposed, newest first."
    CALL_TOOL "call_tool" Post Local "/v1/tools/call" [Unknown] "Runs one of Talaria's tools for a caller outside of a turn."
    USAGE "usage" Get Admin "/v1/usage" [] "Adds up what models cost, by day, model or conversation."
    CREATE_TOKEN "create_token" Post Admin "/v1/tokens" [Conflict] "Makes a token for the API over TCP; only this response has it."
    TOKENS "tokens" Get Admin "/v1/tokens" [] "Lists the tokens, the newest first."
    REVOKE_TOKEN "revoke_token" Post Admin "/v1/tokens/{id}/revoke" [Conflict] "Revokes a token at once, and ends its streams."
    AUDIT "audit" Get Admin "/v1/audit" [] "Lists who answered, started or was refused something, newest first."
    IMPORT "import" Post Local "/v1/import" [] "Imports another program's database, page by page, or undoes an import."
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_cannot_leave_its_segment() {
        assert_eq!(SESSION.with("a/b?c#d e%é"), "/v1/sessions/a%2Fb%3Fc%23d%20e%25%C3%A9");
    }

    #[test]
    fn what_was_encoded_is_read_back() {
        for text in ["", "model:claude-code", "person:Åse Ö %41\n"] {
            assert_eq!(percent_decoded(&percent_encoded(text)).as_deref(), Some(text));
        }
        for bad in ["%", "%4", "%zz", "%+4", "%ff"] {
            assert_eq!(percent_decoded(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_route_is_found_by_its_path() {
        let found = |verb, path| find(verb, path).map(|(route, id)| (route.name, id));
        assert_eq!(found(Verb::Get, "/v1/info"), Some(("info", None)));
        let answer = found(Verb::Post, "/v1/requests/req-1%2F/answer");
        assert_eq!(answer, Some(("answer", Some("req-1/".to_owned()))));
        assert_eq!(found(Verb::Post, "/v1/info"), None);
        assert_eq!(found(Verb::Get, "/v1/requests/req-1/answer/more"), None);
    }

    #[test]
    fn no_two_routes_are_the_same() {
        for (at, route) in ALL.iter().enumerate() {
            let others = &ALL[at + 1..];
            assert!(others.iter().all(|other| (other.verb, other.path) != (route.verb, route.path)));
            assert!(others.iter().all(|other| other.name != route.name));
        }
    }
}
