//! A register of kept hosts in memory, for tests: the state of a store after each step, and a step that can fail.

use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use rustix::process::{Pid, Signal, kill_process_group};
use talaria_codex::host::{Host, HostSpec};
use talaria_codex::host_register::{HostIntent, HostRecord, HostRegister, RegisterError, StartedProcess};
use tokio_util::sync::CancellationToken;

/// Recorded hosts.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    records: Mutex<Vec<HostRecord>>,
    ended: Mutex<Vec<(String, String)>>,
    /// Which step cannot be written down.
    broken: Option<Step>,
}

/// A step that can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Intend,
    Complete,
}

impl Ledger {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    pub(crate) fn broken(step: Step) -> Arc<Self> {
        let mut ledger = Self::default();
        ledger.broken = Some(step);
        Arc::new(ledger)
    }

    /// The hosts that are written down as running or intended.
    pub(crate) fn records(&self) -> Vec<HostRecord> {
        self.records.lock().unwrap().clone()
    }

    /// The only one.
    pub(crate) fn record(&self) -> HostRecord {
        let records = self.records();
        assert_eq!(records.len(), 1, "{records:?}");
        records.into_iter().next().unwrap()
    }

    /// Why hosts ended.
    pub(crate) fn ends(&self) -> Vec<String> {
        self.ended.lock().unwrap().iter().map(|(_, why)| why.clone()).collect()
    }

    pub(crate) async fn start(self: &Arc<Self>, spec: HostSpec) -> Arc<Host> {
        let register = Arc::clone(self) as Arc<dyn HostRegister>;
        Arc::new(Host::start_kept(spec, register, CancellationToken::new()).await.unwrap())
    }

    fn step(&self, step: Step) -> Result<(), RegisterError> {
        match self.broken {
            Some(broken) if broken == step => Err(RegisterError("the disk is full".to_owned())),
            _ => Ok(()),
        }
    }
}

impl Drop for Ledger {
    /// A test that fails half-way leaves no process: a kept host would outlive it by design.
    fn drop(&mut self) {
        for record in self.records.get_mut().unwrap() {
            let Some(birth) = &record.birth else { continue };
            let environment = std::fs::read(format!("/proc/{}/environ", birth.pid)).unwrap_or_default();
            if String::from_utf8_lossy(&environment).contains(&record.intent.nonce) {
                let _ = kill_process_group(Pid::from_raw(birth.pid).unwrap(), Signal::KILL);
            }
        }
    }
}

impl HostRegister for Ledger {
    fn intend<'a>(&'a self, intent: &'a HostIntent) -> BoxFuture<'a, Result<(), RegisterError>> {
        async move {
            self.step(Step::Intend)?;
            assert!(!intent.directory.exists(), "nothing is there before the intent is written down");
            self.records.lock().unwrap().push(HostRecord { intent: intent.clone(), birth: None });
            Ok(())
        }
        .boxed()
    }

    fn complete<'a>(
        &'a self,
        nonce: &'a str,
        birth: &'a StartedProcess,
    ) -> BoxFuture<'a, Result<(), RegisterError>> {
        async move {
            self.step(Step::Complete)?;
            let mut records = self.records.lock().unwrap();
            let record = records.iter_mut().find(|record| record.intent.nonce == nonce).unwrap();
            record.birth = Some(birth.clone());
            Ok(())
        }
        .boxed()
    }

    fn ended<'a>(&'a self, nonce: &'a str, why: &'a str) -> BoxFuture<'a, ()> {
        async move {
            self.records.lock().unwrap().retain(|record| record.intent.nonce != nonce);
            self.ended.lock().unwrap().push((nonce.to_owned(), why.to_owned()));
        }
        .boxed()
    }
}
