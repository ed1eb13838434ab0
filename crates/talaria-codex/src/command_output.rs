//! Routes what the person's own commands print from a connection to the code that started them.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use talaria_codex_proto::wire::notification::CommandPrintedParams;
use tokio::sync::mpsc;

/// How many commands may run on one host: each occupies one request in flight, and Codex accepts a limited number.
const AT_ONCE: usize = 16;

/// Subscribers to the output of a connection's commands.
#[derive(Debug, Default)]
pub(crate) struct CommandOutputs(Mutex<HashMap<String, mpsc::UnboundedSender<CommandPrintedParams>>>);

impl CommandOutputs {
    /// Delivers output to the code that started the command; output without a subscriber is dropped.
    pub(crate) fn deliver(&self, printed: CommandPrintedParams) {
        if let Some(listener) = self.lock().get(&printed.process_id) {
            let _ = listener.send(printed);
        }
    }

    /// Registers a command; `None` if too many run already.
    pub(crate) fn listen(&self, name: &str) -> Option<mpsc::UnboundedReceiver<CommandPrintedParams>> {
        let mut commands = self.lock();
        if commands.len() >= AT_ONCE {
            return None;
        }
        // Unbounded in type, bounded by use: Codex sends at most `MOST_PRINTED` bytes of each stream.
        let (sender, receiver) = mpsc::unbounded_channel();
        commands.insert(name.to_owned(), sender);
        Some(receiver)
    }

    /// Forgets a command.
    pub(crate) fn forget(&self, name: &str) {
        self.lock().remove(name);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, mpsc::UnboundedSender<CommandPrintedParams>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
