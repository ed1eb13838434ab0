//! The queue of a thread that was resumed in the middle of a turn; a unit test, because the queue is private.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::json;
use talaria_codex_proto::wire::call::{ThreadStart, TurnStart, UserInput};
use talaria_codex_proto::wire::notification::{Notification, TurnStatus};
use talaria_core::ids::RequestId;
use talaria_core::policy::{ApprovalPolicy, Sandbox};
use talaria_core::version::Version;
use talaria_scripted::{Reply, ScriptedModel};
use talaria_testkit::{Codex, CodexHome};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::HostTransport;
use crate::host_register::{HostIntent, HostRecord, HostRegister, RegisterError, StartedProcess};
use crate::queue::{Delivery, ThreadQueue};
use crate::spec::{HostSpec, Surroundings};

/// Remembers one host.
#[derive(Debug, Default)]
struct Memory(Mutex<Option<HostRecord>>);

impl HostRegister for Memory {
    fn intend<'a>(&'a self, intent: &'a HostIntent) -> BoxFuture<'a, Result<(), RegisterError>> {
        *self.0.lock().unwrap() = Some(HostRecord { intent: intent.clone(), birth: None });
        std::future::ready(Ok(())).boxed()
    }

    fn complete<'a>(
        &'a self,
        _: &'a str,
        birth: &'a StartedProcess,
    ) -> BoxFuture<'a, Result<(), RegisterError>> {
        self.0.lock().unwrap().as_mut().unwrap().birth = Some(birth.clone());
        std::future::ready(Ok(())).boxed()
    }

    fn ended<'a>(&'a self, _: &'a str, _: &'a str) -> BoxFuture<'a, ()> {
        std::future::ready(()).boxed()
    }
}

/// Takes from a queue until something fits.
async fn until<T>(queue: &ThreadQueue, pick: impl Fn(Delivery<'static>) -> Option<T>) -> T {
    loop {
        if let Some(found) = queue.take().await.into_iter().find_map(&pick) {
            return found;
        }
    }
}

fn request(delivery: Delivery<'static>) -> Option<RequestId> {
    match delivery {
        Delivery::Request { id, .. } => Some(id),
        _ => None,
    }
}

fn end(delivery: Delivery<'static>) -> Option<TurnStatus> {
    match delivery {
        Delivery::Notification(Notification::TurnCompleted(end)) => Some(end.turn.status),
        _ => None,
    }
}

async fn an_open_request_comes_again_and_its_answer_ends_the_turn(codex: Codex) {
    let model = ScriptedModel::start().await.unwrap();
    let home = CodexHome::new(&model);
    model.play([Reply::new().command("touch made.txt"), Reply::say("done")]);
    let register = Arc::new(Memory::default());
    let spec = HostSpec {
        binary: codex.native.clone(),
        version: codex.version.parse::<Version>().unwrap(),
        codex_home: Some(home.path()),
        hosts: home.root().join("hosts"),
        home: None,
        transport: HostTransport::UnixSocket,
        path_dir: None,
        base: Surroundings::own(),
        environment: home.environment().into_iter().map(|(name, value)| (name.into(), value)).collect(),
        arguments: Vec::new(),
        referred: BTreeSet::new(),
    };
    let asked = ThreadStart {
        cwd: home.work().to_str().unwrap().to_owned(),
        sandbox: Some(Sandbox::DangerFullAccess),
        approval_policy: Some(ApprovalPolicy::Untrusted),
        ..ThreadStart::default()
    };
    let ledger = Arc::clone(&register) as Arc<dyn HostRegister>;
    let first = Host::start_kept(spec.clone(), ledger, CancellationToken::new()).await.unwrap();
    let opened = first.start_thread(&asked).await.unwrap();
    let thread = opened.started.thread.clone();
    let input = vec![UserInput::Text { text: "go".to_owned() }];
    let start = TurnStart {
        thread_id: thread.clone(),
        input,
        model: None,
        effort: None,
        additional_context: std::collections::BTreeMap::new(),
        client_user_message_id: None,
    };
    let turn = first.call(&start).await.unwrap().turn.id;
    let asked_first = until(&opened.queue, request).await;
    drop(first);

    let record = register.0.lock().unwrap().clone().unwrap();
    let second = Host::attach(&record, spec, register).await.unwrap();
    let attached = second.attach_thread(&thread).await.unwrap();
    assert_eq!(attached.history.turns.last().map(|running| &running.id), Some(&turn));
    assert_eq!((second.threads(), second.confinement(&thread).is_some()), (1, true));
    let asked_again = until(&attached.thread.queue, request).await;
    assert_eq!(asked_again, asked_first, "the same request, with the same id");
    second.respond(&asked_again, &json!({ "decision": "accept" }));
    assert_eq!(until(&attached.thread.queue, end).await, TurnStatus::Completed);
    assert!(home.work().join("made.txt").exists());
    second.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_request_comes_again_0_130() {
    an_open_request_comes_again_and_its_answer_ends_the_turn(Codex::v0_130()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_request_comes_again_0_166() {
    an_open_request_comes_again_and_its_answer_ends_the_turn(Codex::v0_166()).await;
}
