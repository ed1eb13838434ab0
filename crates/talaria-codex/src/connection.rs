//! The connection to one running Codex: one task reads and never blocks on a consumer, one task writes.
//!
//! When Codex exits, every pending call and every session gets the reason.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::value::RawValue;
use talaria_codex_proto::frame::{Decoded, Frame};
use talaria_codex_proto::wire::call::{Capabilities, ClientInfo, Initialize, InitializeReply};
use talaria_codex_proto::wire::notification::Notification;
use talaria_codex_proto::wire::reply;
use talaria_codex_proto::wire::rpc_error::RpcError;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;

use super::client::{CallError, Client, Outbound};
use super::command_output::CommandOutputs;
use super::process::{CodexProcess, EXIT_GRACE};
use super::queue::Delivery;
use super::router::Router;
use super::transport::{Incoming, Outgoing};
use talaria_home::faults;

/// How long an ordinary request may take.
pub(crate) const CALL_LIMIT: Duration = Duration::from_secs(30);

/// The connection to one running Codex.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) process: CodexProcess,
    pub(crate) client: Client,
    pub(crate) router: Router,
    pub(crate) commands: CommandOutputs,
    tally: Tally,
    gone: OnceLock<String>,
    hang_up: Notify,
}

/// Counts of unusable messages.
#[derive(Debug, Default)]
struct Tally {
    unknown: AtomicU64,
    corrupt: AtomicU64,
}

impl Connection {
    /// Starts reading and writing, and initializes Codex. A Codex that does not respond within `limit` is ended.
    pub(crate) async fn open(
        process: CodexProcess,
        incoming: Incoming,
        outgoing: Outgoing,
        limit: Duration,
    ) -> Result<(Arc<Self>, InitializeReply), CallError> {
        // Unbounded in type, bounded by use: see `Client::outgoing`.
        let (sender, receiver) = mpsc::unbounded_channel();
        let connection = Arc::new(Self {
            process,
            client: Client::new(sender),
            router: Router::default(),
            commands: CommandOutputs::default(),
            tally: Tally::default(),
            gone: OnceLock::new(),
            hang_up: Notify::new(),
        });
        let writer = tokio::spawn(write(outgoing, receiver, Arc::clone(&connection)));
        tokio::spawn(read(incoming, writer, Arc::clone(&connection)));
        let mut unfinished = Unfinished(Some(Arc::clone(&connection)));
        match greet(&connection.client, limit).await {
            Ok(greeting) => {
                unfinished.0 = None;
                connection.process.stderr().stop_quoting();
                Ok((connection, greeting))
            }
            Err(error) => {
                connection.process.end().await;
                Err(error)
            }
        }
    }

    /// Why Codex is gone, if it is.
    pub(crate) fn end_reason(&self) -> Option<&str> {
        self.gone.get().map(String::as_str)
    }

    /// Marks Codex as gone, for this reason: nothing more is sent, and pending calls fail.
    pub(crate) fn give_up(&self, why: &str) {
        let why = self.gone.get_or_init(|| why.to_owned());
        self.client.fail_all(why);
    }

    /// Closes the connection and leaves Codex running. Sessions and callers are not notified, since Codex still runs:
    /// they must be dropped before.
    pub(crate) fn hang_up(&self) {
        self.gone.get_or_init(|| "Talaria let go of Codex".to_owned());
        self.hang_up.notify_one();
    }

    /// Returns the number of unknown messages and the number of corrupt ones.
    pub(crate) fn unknown_messages(&self) -> (u64, u64) {
        (self.tally.unknown.load(Ordering::Relaxed), self.tally.corrupt.load(Ordering::Relaxed))
    }
}

/// Ends an abandoned start: the tasks hold the process, so nothing else would end it.
struct Unfinished(Option<Arc<Connection>>);

impl Drop for Unfinished {
    fn drop(&mut self) {
        match self.0.take() {
            Some(connection) if connection.process.is_kept() => connection.hang_up(),
            Some(connection) => connection.process.kill_all(),
            None => {}
        }
    }
}

async fn greet(client: &Client, limit: Duration) -> Result<InitializeReply, CallError> {
    let greeting = Initialize {
        client_info: ClientInfo {
            name: "talaria".to_owned(),
            title: "Talaria".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        },
        capabilities: Capabilities { experimental_api: true },
    };
    let reply = client.call(&greeting, limit).await?;
    client.notify("initialized");
    Ok(reply)
}

/// Reads to the end of the connection. Nothing in the loop waits for a consumer. A connection that can no longer be
/// written to has ended as well, and one that can no longer be read from is closed on both sides.
async fn read(mut incoming: Incoming, mut writer: JoinHandle<()>, connection: Arc<Connection>) {
    let end = loop {
        tokio::select! {
            arrival = incoming.next() => match arrival {
                Ok(message) => connection.take(message.decode()),
                Err(why) => break why,
            },
            _ = &mut writer => break "Codex no longer accepts input".to_owned(),
            () = connection.hang_up.notified() => {
                writer.abort();
                return;
            }
        }
    };
    // Read before our side is closed: a Codex that ends because of that did not end by itself.
    connection.process.wait(EXIT_GRACE).await;
    let why = match connection.process.end_seen() {
        Some(_) => connection.process.last_words().await,
        None => end,
    };
    writer.abort();
    drop(incoming);
    let why = connection.gone.get_or_init(|| why).clone();
    connection.client.fail_all(&why);
    connection.router.deliver(Delivery::Gone(why));
}

impl Connection {
    fn take(&self, message: Decoded<'_>) {
        match message {
            Decoded::Known(Frame::Response { id, result }) => {
                self.client.resolve(&id, result.map(RawValue::to_owned));
            }
            Decoded::Known(Frame::Notification(Notification::CommandPrinted(printed))) => {
                self.commands.deliver(*printed);
            }
            Decoded::Known(Frame::Notification(notification)) => {
                self.router.deliver(Delivery::Notification(notification));
            }
            Decoded::Known(Frame::Request { id, request }) => {
                // Here and at once: such a request may belong to no conversation, or to several.
                if let Some(error) = reply::refusal(&request) {
                    self.client.refuse(&id, &error);
                }
                self.router.deliver(Delivery::Request { id, request });
            }
            Decoded::Unknown(unknown) => {
                self.tally.unknown.fetch_add(1, Ordering::Relaxed);
                if let Some(id) = &unknown.id {
                    self.client.refuse(id, &RpcError::unknown_method(&unknown.method));
                }
                self.router.deliver(Delivery::Unknown(unknown));
            }
            Decoded::Corrupt(corrupt) => {
                self.tally.corrupt.fetch_add(1, Ordering::Relaxed);
                self.router.deliver(Delivery::Corrupt(corrupt));
            }
        }
    }
}

/// Writes until all senders are dropped or a write fails.
async fn write(
    mut outgoing: Outgoing,
    mut messages: mpsc::UnboundedReceiver<Outbound>,
    connection: Arc<Connection>,
) {
    while let Some(Outbound { text, permit, point }) = messages.recv().await {
        let point = if permit.is_some() { Some("written") } else { point };
        if let Some(point) = point {
            faults::point(&format!("before:{point}")).await;
        }
        if let Some((permit, request)) = permit {
            // Nothing may come between this and the write: an engine that dies in between leaves a turn that has to be
            // looked up in the thread.
            if !permit.redeem() {
                connection.client.resolve(&request, Err(not_permitted()));
                continue;
            }
        }
        if outgoing.send(text).await.is_err() {
            // The reader notices that this task has ended.
            return;
        }
        if let Some(point) = point {
            faults::point(&format!("after:{point}")).await;
        }
    }
}

/// The error for input whose permit was already redeemed.
fn not_permitted() -> RpcError {
    let message =
        "nothing was written: another engine has sent this input, or the file that permits it was removed";
    RpcError { code: RpcError::NOT_WRITTEN, message: message.to_owned(), data: None }
}
