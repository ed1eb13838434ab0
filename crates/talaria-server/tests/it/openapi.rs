//! `docs/openapi.json` is what the table of routes and the types of the API say, and what the server answers fits it
//! (`values`), with the statuses that it names (`statuses`).
//!
//! After a change: `UPDATE_EXPECT=1 cargo test -p talaria-server openapi`, and read the diff.

use std::collections::{BTreeMap, BTreeSet};

use expect_test::expect_file;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};
use talaria_core::access::{RouteNeed, TokenScope};
use talaria_core::api::{
    AnswerRequest, Answered, Applied, AuditEntry, AuditQuery, BackgroundInfo, BackgroundStopped, Compact,
    ContextReport, Discard, Discarded, EngineInfo, EngineStatus, Fork, Import, Imported, Interrupt, LookAt,
    MemoryDone, MemoryHistoryQuery, MemoryImport, MemoryImported, MemoryList, MemoryProposal, MemoryQuery,
    MemoryRevision, MemoryWish, NewSession, NewTask, NewToken, NewTurn, NoticeInfo, Notify, Numbered, Offers,
    OutsideCall, OutsideResult, PermissionsChange, Problem, ProblemCode, Prune, Pruned, RenameSession,
    RequestInfo, Said, Say, SearchHit, SessionDetail, SessionInfo, SessionPermissions, SessionQuery,
    SessionStarted, Shell, ShellNews, SkillDone, SkillList, SkillProposal, SkillProposalQuery, SkillQuery,
    SkillText, SkillTextQuery, SkillWish, Stop, StopBackground, Stopped, StoredMessage, TaskDiff, TaskInfo,
    TaskLine, TaskQuery, TaskSent, TaskStarted, TokenInfo, TokenMade, Undo, Undone, UsageQuery, UsageSum,
};
use talaria_server::route::{self, Route, Verb};

pub(crate) mod statuses;
mod values;

/// Request and response of a route.
#[derive(Default)]
struct Shape {
    query: Vec<Value>,
    body: Option<Schema>,
    answer: Option<Schema>,
}

struct Schemas {
    taken: SchemaGenerator,
    given: SchemaGenerator,
}

impl Schemas {
    fn new() -> Self {
        let mut settings = SchemaSettings::draft2020_12();
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
        let taken = settings.clone().for_deserialize().into_generator();
        Self { taken, given: settings.for_serialize().into_generator() }
    }

    fn takes<T: JsonSchema, U: JsonSchema>(&mut self) -> Shape {
        Shape { body: Some(self.taken.subschema_for::<T>()), ..self.gives::<U>() }
    }

    fn gives<T: JsonSchema>(&mut self) -> Shape {
        Shape { answer: Some(self.given.subschema_for::<T>()), ..Shape::default() }
    }

    /// Everything that was named; a name means the same in both directions.
    fn named(mut self) -> BTreeMap<String, Value> {
        let mut all: BTreeMap<String, Value> = self.given.take_definitions(false).into_iter().collect();
        for (name, schema) in self.taken.take_definitions(false) {
            if let Some(given) = all.insert(name.clone(), schema.clone()) {
                assert_eq!(given, schema, "{name} is read otherwise than it is written");
            }
        }
        all
    }
}

fn shape(route: &Route, schemas: &mut Schemas) -> Shape {
    let number = |name: &str, means: &str| parameter(name, &json!({"type": "integer", "minimum": 0}), means);
    let page = || {
        vec![
            number("after", "Only greater numbers."),
            number("limit", "The largest number of entries to return."),
        ]
    };
    match route.name {
        "info" => schemas.gives::<EngineInfo>(),
        "status" => schemas.gives::<EngineStatus>(),
        "stop" => schemas.takes::<Stop, Stopped>(),
        "start_session" => schemas.takes::<NewSession, SessionStarted>(),
        "sessions" => {
            Shape { query: fields_of::<SessionQuery>(schemas), ..schemas.gives::<Vec<SessionInfo>>() }
        }
        "session" => schemas.gives::<SessionDetail>(),
        "start_turn" => schemas.takes::<NewTurn, SessionStarted>(),
        "say" => schemas.takes::<Say, Said>(),
        "compact" => schemas.takes::<Compact, SessionStarted>(),
        "permissions" => schemas.gives::<SessionPermissions>(),
        "change_permissions" => schemas.takes::<PermissionsChange, SessionPermissions>(),
        "fork" => schemas.takes::<Fork, SessionInfo>(),
        "undo" => schemas.takes::<Undo, Undone>(),
        "retry" => schemas.takes::<NewTurn, SessionStarted>(),
        "rename" => schemas.takes::<RenameSession, SessionInfo>(),
        "offers" => schemas.takes::<LookAt, Offers>(),
        "interrupt" => Shape { answer: None, ..schemas.takes::<Interrupt, ()>() },
        "follow" => Shape {
            query: vec![number("after", "Only greater numbers; the header `Last-Event-ID` goes before it.")],
            ..schemas.gives::<Numbered>()
        },
        "shell" => schemas.takes::<Shell, ShellNews>(),
        "events" => Shape { query: page(), ..schemas.gives::<Vec<Numbered>>() },
        "messages" => Shape { query: page(), ..schemas.gives::<Vec<StoredMessage>>() },
        "search" => {
            let words = json!({"type": "string"});
            let mut words = parameter("words", &words, "The words to search for.");
            words["required"] = json!(true);
            Shape {
                query: vec![words, number("limit", "The largest number of entries to return.")],
                ..schemas.gives::<Vec<SearchHit>>()
            }
        }
        "prune" => schemas.takes::<Prune, Pruned>(),
        "background" => schemas.gives::<Vec<BackgroundInfo>>(),
        "stop_background" => schemas.takes::<StopBackground, BackgroundStopped>(),
        "requests" => schemas.gives::<Vec<RequestInfo>>(),
        "request" => schemas.gives::<RequestInfo>(),
        "answer" => schemas.takes::<AnswerRequest, Answered>(),
        "start_task" => schemas.takes::<NewTask, TaskStarted>(),
        "tasks" => Shape { query: fields_of::<TaskQuery>(schemas), ..schemas.gives::<Vec<TaskLine>>() },
        "task" => schemas.gives::<TaskInfo>(),
        "send" => schemas.takes::<NewTurn, TaskSent>(),
        "diff" => schemas.gives::<TaskDiff>(),
        "apply" => schemas.gives::<Applied>(),
        "discard" => schemas.takes::<Discard, Discarded>(),
        "notify" => schemas.takes::<Notify, Vec<NoticeInfo>>(),
        "context" => schemas.gives::<ContextReport>(),
        "memory" => Shape { query: fields_of::<MemoryQuery>(schemas), ..schemas.gives::<MemoryList>() },
        "call_tool" => schemas.takes::<OutsideCall, OutsideResult>(),
        "change_memory" => schemas.takes::<MemoryWish, MemoryDone>(),
        "import_memory" => schemas.takes::<MemoryImport, MemoryImported>(),
        "memory_history" => Shape {
            query: fields_of::<MemoryHistoryQuery>(schemas),
            ..schemas.gives::<Vec<MemoryRevision>>()
        },
        "memory_pending" => schemas.gives::<Vec<MemoryProposal>>(),
        "skills" => Shape { query: fields_of::<SkillQuery>(schemas), ..schemas.gives::<SkillList>() },
        "change_skills" => schemas.takes::<SkillWish, SkillDone>(),
        "skill" => Shape { query: fields_of::<SkillTextQuery>(schemas), ..schemas.gives::<SkillText>() },
        "skill_proposals" => {
            Shape { query: fields_of::<SkillProposalQuery>(schemas), ..schemas.gives::<Vec<SkillProposal>>() }
        }
        "usage" => Shape { query: fields_of::<UsageQuery>(schemas), ..schemas.gives::<Vec<UsageSum>>() },
        "create_token" => schemas.takes::<NewToken, TokenMade>(),
        "tokens" => schemas.gives::<Vec<TokenInfo>>(),
        "revoke_token" => schemas.gives::<TokenInfo>(),
        "audit" => Shape { query: fields_of::<AuditQuery>(schemas), ..schemas.gives::<Vec<AuditEntry>>() },
        "import" => schemas.takes::<Import, Imported>(),
        other => panic!("nothing says what {other} takes and gives"),
    }
}

fn parameter(name: &str, schema: &Value, means: &str) -> Value {
    json!({"name": name, "in": "query", "required": false, "schema": schema, "description": means})
}

/// The fields of the query, each as a parameter.
fn fields_of<T: JsonSchema>(schemas: &mut Schemas) -> Vec<Value> {
    let query = T::json_schema(&mut schemas.taken).to_value();
    let fields = query["properties"].as_object().unwrap();
    let parameters = fields.iter().map(|(name, schema)| {
        let mut schema = schema.clone();
        let means = schema.as_object_mut().unwrap().remove("description").unwrap();
        parameter(name, &schema, means.as_str().unwrap())
    });
    parameters.collect()
}

fn operation(route: &Route, shape: Shape) -> Value {
    let mut parameters = shape.query;
    if route.path.contains("{id}") {
        parameters.push(json!({
            "name": "id", "in": "path", "required": true, "schema": {"type": "string"},
            "description": "An id, or the beginning of exactly one."
        }));
    }
    parameters.push(json!({"$ref": "#/components/parameters/principal"}));
    if route == &route::FOLLOW {
        parameters.push(json!({
            "name": "Last-Event-ID", "in": "header", "required": false, "schema": {"type": "string"},
            "description": "The number of the last event that was received; goes before `after`."
        }));
    }
    let is_stream = route.is_stream();
    let kind = if is_stream { "text/event-stream" } else { "application/json" };
    let means = match route {
        route if route == &route::FOLLOW => {
            "For each event its number as `id` and this as `data`, until the engine ends."
        }
        route if route == &route::SHELL => {
            "Each piece as `data`, until `ended`. Closing the connection ends the command."
        }
        _ => "Done.",
    };
    let (done, response) = match shape.answer {
        Some(schema) => ("200", json!({"description": means, "content": {kind: {"schema": schema}}})),
        None => ("204", json!({"description": means})),
    };
    let mut responses = json!({ done: response });
    for code in route.refusals() {
        let status = route::status(code).as_u16().to_string();
        responses[&status] = json!({"$ref": format!("#/components/responses/{status}")});
    }
    // The unix socket needs no token: the system says who calls.
    let over_tcp = match (route.needs, route.needs.scope()) {
        (RouteNeed::Local, _) => "Not possible over TCP.".to_owned(),
        (_, Some(TokenScope::Answer)) => {
            "Over TCP: a token with the scope `answer` or `answer:KIND`.".to_owned()
        }
        (_, Some(scope)) => format!("Over TCP: a token with the scope `{scope}`."),
        (_, None) => "Over TCP: any token.".to_owned(),
    };
    let security = match route.needs.scope() {
        _ if route.needs == RouteNeed::Local => json!([{}]),
        Some(scope) => json!([{}, { "token": [scope] }]),
        None => json!([{}, { "token": [] }]),
    };
    let mut operation = json!({
        "description": over_tcp, "security": security,
        "operationId": route.name, "summary": route.does, "parameters": parameters, "responses": responses,
    });
    if let Some(schema) = shape.body {
        let content = json!({"application/json": {"schema": schema}});
        operation["requestBody"] = json!({"required": true, "content": content});
    }
    operation
}

/// The message of each refusal status.
fn refusals(problem: &Schema) -> Value {
    let mut codes: BTreeMap<u16, BTreeSet<String>> = BTreeMap::new();
    for code in route::ALL.iter().flat_map(Route::refusals) {
        let word = json!(code).as_str().unwrap().to_owned();
        codes.entry(route::status(code).as_u16()).or_default().insert(format!("`{word}`"));
    }
    let response = |codes: &BTreeSet<String>| {
        let codes = codes.iter().map(String::as_str).collect::<Vec<_>>().join(" or ");
        let means = format!("It was not done; `code` is {codes}.");
        json!({"description": means, "content": {"application/json": {"schema": problem}}})
    };
    codes.iter().map(|(status, codes)| (status.to_string(), response(codes))).collect()
}

fn document() -> Value {
    let mut schemas = Schemas::new();
    let mut paths = json!({});
    for route in route::ALL {
        let verb = if route.verb == Verb::Get { "get" } else { "post" };
        let shape = shape(route, &mut schemas);
        paths[route.path][verb] = operation(route, shape);
    }
    let problem = schemas.given.subschema_for::<Problem>();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Talaria's engine",
            "version": talaria_core::api::VERSION.to_string(),
            "description": "HTTP and JSON on the unix socket `run/engine.sock` in Talaria's home, for its owner alone; and, if `[web] listen` is \
                            set, over TCP for holders of tokens. Over TCP a POST needs the content type `application/json`, \
                            `caller` is left out, and an answer needs the `digest` of the request."
        },
        "paths": paths,
        "components": {
            "schemas": schemas.named(),
            "responses": refusals(&problem),
            "securitySchemes": {"token": {
                "type": "http", "scheme": "bearer",
                "description": "A token of `talaria token create`, over TCP. The scopes that a route needs are listed with it."
            }},
            "parameters": {"principal": {
                "name": route::PRINCIPAL, "in": "header", "required": false, "schema": {"type": "string"},
                "description": "On whose behalf the caller asks, percent-encoded: `person:NAME`, `token:NAME`, `chat:NAME` or \
                                `model:NAME`. It can only lower the rights that the engine established for the caller's process."
            }},
        },
    })
}

/// The same with the keys of every object in order, whatever the features of `serde_json` are.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields: BTreeMap<String, Value> =
                fields.into_iter().map(|(key, one)| (key, sorted(one))).collect();
            Value::Object(fields.into_iter().collect())
        }
        Value::Array(all) => Value::Array(all.into_iter().map(sorted).collect()),
        other => other,
    }
}

#[test]
fn the_openapi_document_is_fresh() {
    let text = serde_json::to_string_pretty(&sorted(document())).unwrap() + "\n";
    expect_file!["../../../../docs/openapi.json"].assert_eq(&text);
}

/// Names that end in a digit are two types of one name: the second would be numbered.
#[test]
fn every_schema_has_a_name_of_its_own() {
    let document = document();
    let names: Vec<&String> = document["components"]["schemas"].as_object().unwrap().keys().collect();
    assert!(names.iter().all(|name| !name.ends_with(|last: char| last.is_ascii_digit())), "{names:?}");
}

#[test]
fn every_reason_for_a_refusal_is_one_that_some_route_has() {
    use ProblemCode as Code;
    let all = [
        Code::Unknown,
        Code::Ambiguous,
        Code::Conflict,
        Code::Misfit,
        Code::BadRequest,
        Code::Forbidden,
        Code::Unauthenticated,
        Code::Misdirected,
        Code::TooMany,
        Code::Busy,
        Code::Overloaded,
        Code::Stopping,
        Code::Codex,
        Code::Store,
        Code::Internal,
    ];
    for code in all {
        // A further reason does not compile before it is in the list above.
        match code {
            Code::Unknown | Code::Ambiguous | Code::Conflict | Code::Misfit | Code::BadRequest => {}
            Code::Forbidden | Code::Busy | Code::Overloaded | Code::Stopping => {}
            Code::Unauthenticated | Code::Misdirected | Code::TooMany => {}
            Code::Codex | Code::Store | Code::Internal => {}
        }
        assert!(
            route::ALL.iter().any(|route| route.refusals().contains(&code)),
            "no route refuses with {code:?}"
        );
    }
}
