//! A real Codex with a scripted model and the answers of a test; the answers are checked at the end.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use talaria_scripted::{Reply, ScriptedModel};
use talaria_testkit::client::thread_id;
use talaria_testkit::{Codex, CodexHome, RawCodex};

use crate::schema::{Schema, problems};

pub(super) struct Lab {
    pub(super) model: ScriptedModel,
    pub(super) home: CodexHome,
    pub(super) client: RawCodex,
    /// The parameters of `thread/start`.
    pub(super) start: Value,
    codex: Codex,
    /// Answers with the name of the schema that they must fit.
    given: Vec<(&'static str, Value)>,
}

/// A call of `exec_command` without a login shell, which is faster.
pub(super) fn command(command: &str) -> Reply {
    Reply::new().function("exec_command", json!({ "cmd": command, "login": false }))
}

impl Lab {
    /// Starts Codex; `config` overrides its configuration on every thread.
    pub(super) async fn new(codex: &Codex, config: Value) -> Self {
        Self::with_settings(codex, config, "").await
    }

    /// Starts Codex with further tables in its `config.toml`.
    pub(super) async fn with_settings(codex: &Codex, config: Value, settings: &str) -> Self {
        let model = ScriptedModel::start().await.unwrap();
        let home = CodexHome::new(&model);
        home.append_config(settings);
        fs::create_dir(home.root().join("outside")).unwrap();
        let client = RawCodex::connect(&codex.native, &home).await;
        let start = json!({ "cwd": home.work(), "sandbox": "workspace-write", "config": config });
        Self { model, home, client, start, codex: codex.clone(), given: Vec::new() }
    }

    /// A directory that the sandbox keeps from being written.
    pub(super) fn outside(&self) -> PathBuf {
        self.home.root().join("outside")
    }

    pub(super) fn model_port(&self) -> u16 {
        let url = self.model.base_url();
        url.trim_start_matches("http://127.0.0.1:").trim_end_matches("/v1").parse().unwrap()
    }

    pub(super) async fn thread(&mut self, policy: &str) -> String {
        self.start["approvalPolicy"] = json!(policy);
        thread_id(&self.client.call("thread/start", self.start.clone()).await)
    }

    /// Runs a turn with these answers; returns the requests and the tool results so far.
    pub(super) async fn turn(
        &mut self,
        thread: &str,
        schema: &'static str,
        answer: impl Fn(&Value) -> Value,
    ) -> (Vec<Value>, Vec<String>) {
        let (mut requests, given) = (Vec::new(), &mut self.given);
        let turn = self.client.turn_with(thread, "go", |request| {
            requests.push(request.clone());
            let answer = answer(request);
            given.push((schema, answer.clone()));
            answer
        });
        let (_, turn) = turn.await;
        assert_eq!(turn["status"], "completed", "{turn}");
        (requests, self.told())
    }

    /// The tool results in the model's last request.
    pub(super) fn told(&self) -> Vec<String> {
        self.model.requests().last().unwrap().tool_outputs()
    }

    /// Answers a request and remembers the answer.
    pub(super) async fn answer(&mut self, schema: &'static str, request: &Value, answer: Value) {
        self.given.push((schema, answer.clone()));
        self.client.answer(request, answer).await;
    }

    /// A text without the paths of this run.
    pub(super) fn plain(&self, text: &str) -> String {
        text.replace(self.home.root().to_str().unwrap(), "$ROOT")
    }

    /// Ends Codex and checks that every proper answer has the shape that it says it reads.
    pub(super) async fn close(self) {
        self.client.end().await;
        let schema = Schema::generate(&self.codex);
        for (name, answer) in &self.given {
            if answer.get("error").is_none() {
                let found = problems(&schema.file(name), answer);
                assert!(found.is_empty(), "{name}: {answer}: {found:#?}");
            }
        }
        assert_eq!(
            (self.model.unscripted().len(), self.model.unused()),
            (0, 0),
            "the script was played to its end"
        );
    }
}
