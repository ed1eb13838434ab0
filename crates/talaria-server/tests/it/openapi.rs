//! `docs/openapi.json` is what the table of routes and the types of the API say, and what the server answers fits it.
//!
//! After a change: `UPDATE_EXPECT=1 cargo test -p talaria-server openapi`, and read the diff.

use std::collections::BTreeMap;

use expect_test::expect_file;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};
use talaria_core::api::{
    AnswerRequest, Answered, Applied, AuditEntry, AuditQuery, BackgroundInfo, BackgroundStopped, Compact,
    Discard, Discarded, EngineInfo, Import, Imported, Interrupt, Kind, LookAt, NewSession, NewTask, NewTurn,
    NoticeInfo, Notify, Numbered, Offers, Problem, Prune, Pruned, RequestInfo, Said, Say, SearchHit,
    SessionDetail, SessionInfo, SessionQuery, SessionStarted, Shell, ShellNews, Status, Stop, StopBackground,
    Stopped, StoredMessage, TaskDiff, TaskInfo, TaskLine, TaskQuery, TaskSent, TaskStarted,
};
use talaria_server::route::{self, Route, Verb};

use crate::scene::{Scene, asked};

/// What a route takes and gives.
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
    let page = || vec![number("after", "Only greater numbers."), number("limit", "At most so many.")];
    match route.name {
        "info" => schemas.gives::<EngineInfo>(),
        "status" => schemas.gives::<Status>(),
        "stop" => schemas.takes::<Stop, Stopped>(),
        "start_session" => schemas.takes::<NewSession, SessionStarted>(),
        "sessions" => {
            Shape { query: fields_of::<SessionQuery>(schemas), ..schemas.gives::<Vec<SessionInfo>>() }
        }
        "session" => schemas.gives::<SessionDetail>(),
        "start_turn" => schemas.takes::<NewTurn, SessionStarted>(),
        "say" => schemas.takes::<Say, Said>(),
        "compact" => schemas.takes::<Compact, SessionStarted>(),
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
            let mut words = parameter("words", &words, "What is looked for.");
            words["required"] = json!(true);
            Shape {
                query: vec![words, number("limit", "At most so many.")],
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
    let is_stream = [route::FOLLOW, route::SHELL].contains(route);
    let kind = if is_stream { "text/event-stream" } else { "application/json" };
    let (code, done) = match shape.answer {
        Some(schema) if route == &route::FOLLOW => {
            let means = "For each event its number as `id` and this as `data`, until the engine ends.";
            ("200", json!({"description": means, "content": {kind: {"schema": schema}}}))
        }
        Some(schema) if route == &route::SHELL => {
            let means =
                "Each piece as `data`, until `ended`. Whoever closes the connection ends the command.";
            ("200", json!({"description": means, "content": {kind: {"schema": schema}}}))
        }
        Some(schema) => ("200", json!({"description": "Done.", "content": {kind: {"schema": schema}}})),
        None => ("204", json!({"description": "Done."})),
    };
    let problem = json!({"$ref": "#/components/responses/Problem"});
    let mut operation = json!({
        "operationId": route.name, "summary": route.does, "parameters": parameters,
        "responses": {code: done, "default": problem},
    });
    if let Some(schema) = shape.body {
        let content = json!({"application/json": {"schema": schema}});
        operation["requestBody"] = json!({"required": true, "content": content});
    }
    operation
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
            "description": "HTTP and JSON on the unix socket `run/engine.sock` in Talaria's home, for its owner alone."
        },
        "paths": paths,
        "components": {
            "schemas": schemas.named(),
            "responses": {"Problem": {
                "description": "It was not done; `code` says what to do next.",
                "content": {"application/json": {"schema": problem}}
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

#[tokio::test]
async fn what_the_server_answers_fits_the_openapi_document() {
    let scene = Scene::asking().await;
    let client = scene.client().await;
    let started = client.start_task(&scene.new_task("ask")).await.unwrap();
    asked(&client, &started.session, started.after).await;
    let document = document();
    let fits = |name: &str, schema: &Value, value: &Value| {
        let mut schema = schema.clone();
        schema["components"] = document["components"].clone();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let errors: Vec<String> = validator.iter_errors(value).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{name}: {errors:?} in {value}");
    };
    let schema_of = |path: &str, code: &str| {
        document["paths"][path]["get"]["responses"][code]["content"]["application/json"]["schema"].clone()
    };
    let get = async |path: &str| -> (String, Value) {
        let call = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
        let answer = scene.raw_to_end(call.as_bytes()).await;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head[9..12].to_owned(), serde_json::from_str(body).unwrap())
    };
    // A stream has no end, and this task no worktree.
    let read_at_once =
        |route: &&Route| route.verb == Verb::Get && ![route::FOLLOW, route::DIFF].contains(route);
    for route in route::ALL.iter().filter(read_at_once) {
        let id = if *route == route::REQUEST { "req-" } else { started.id.as_str() };
        let (code, value) = get(&(route.path.replace("{id}", id) + "?words=ask")).await;
        assert_eq!(code, "200", "{}", route.name);
        // Nothing runs in the background here; its shape is tested with the program.
        let is_empty = value.as_array().is_some_and(Vec::is_empty);
        assert_eq!(is_empty, *route == route::BACKGROUND, "{} shows nothing", route.name);
        fits(route.name, &schema_of(route.path, "200"), &value);
    }
    let (code, problem) = get("/v1/sessions/none").await;
    assert_eq!(code, "404");
    let schema = &document["components"]["responses"]["Problem"]["content"]["application/json"]["schema"];
    fits("problem", schema, &problem);
    for (name, value) in
        [("TaskStarted", json!(started)), ("NewSession", json!(scene.new_session(Kind::Exec, "x")))]
    {
        fits(name, &json!({"$ref": format!("#/components/schemas/{name}")}), &value);
    }
}
