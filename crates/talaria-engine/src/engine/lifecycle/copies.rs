//! Finds out whether this home is the one that its database was written in, and does what follows: a home that was moved
//! or restored is adopted, a copy of a home that is in use leaves everything unfinished to the original.
//!
//! A copy must not touch a process of the original, must not answer for its turns, and must not send the notifications of
//! the original. So its turns in flight end here with the reason that the original continues them, their requests are
//! void, notifications are abandoned, kept answers expire. Called once, by `recovery`, before any host is examined.

use std::path::Path;
use std::sync::Arc;

use talaria_core::api::{Problem, ProblemCode};
use talaria_core::event::{Event, Usage};
use talaria_core::outcome::{Outcome, Report};
use talaria_store::{Batch, Change, NewEvent, SessionRow, Store, StoreError};

use crate::engine::Inner;
use crate::engine::Takeover;
use crate::engine::journal::rows;
use crate::engine::lifecycle::leftovers;
use crate::engine::lifecycle::recovery::OpenError;
use crate::engine::queries::views;
use talaria_codex::directory;
use talaria_codex::identity::{self, HomeNotice, HomeRecord, Relation, is_in_use};
use talaria_home::clock::now_ms;
use talaria_home::home::TalariaHome;

/// Why a turn of a copy was settled, as its row says it.
const LEFT: &str = "left_to_original";

/// Result of examining a home.
pub(crate) struct Identified {
    relation: Relation,
    /// The id under which its hosts were started.
    former: Option<String>,
    pub(crate) record: HomeRecord,
}

/// Compares a home with the record in its database, or in its file if that has none. When this returns, the file names
/// the id under which hosts are started from now on.
pub(crate) async fn identify(
    home: &TalariaHome,
    store: &Store,
    engine: u32,
) -> Result<Identified, OpenError> {
    let failed = |cause| OpenError::Identity { path: home.identity_file(), cause };
    let of_file = HomeRecord::read(home);
    let of_database = store.home_record().await?.and_then(|json| serde_json::from_str(&json).ok());
    let recorded: Option<HomeRecord> = of_database.or_else(|| of_file.clone());
    let relation = match &recorded {
        None => Relation::New,
        Some(record) => record.compare(home).map_err(failed)?,
    };
    let is_own = |record: &HomeRecord| {
        matches!(record.compare(home), Ok(Relation::Same | Relation::Moved { is_renamed: true, .. }))
    };
    // The file of a home may have been here before a database of another one was.
    let id = of_file.as_ref().or(recorded.as_ref()).filter(|record| is_own(record));
    let id = id.map_or_else(identity::mint, |record| record.id.clone());
    let mut record = HomeRecord::of(home, id).map_err(failed)?;
    record.copy_of = match &relation {
        Relation::Copy { of } => Some(of.to_string_lossy().into_owned()),
        Relation::New | Relation::Adopted { .. } => None,
        _ => recorded.as_ref().and_then(|record| record.copy_of.clone()),
    };
    record.notice = words(&relation).map(|text| HomeNotice { engine, text });
    record.write(home).map_err(failed)?;
    Ok(Identified { relation, former: recorded.map(|record| record.id), record })
}

/// Note for the user about a copied or moved home.
fn words(relation: &Relation) -> Option<String> {
    Some(match relation {
        Relation::New | Relation::Same | Relation::Restored => return None,
        Relation::Copy { of } => format!(
            "this home is a copy of {0}, which is in use: the unfinished turns and notifications in it are left to {0}",
            of.display()
        ),
        Relation::Adopted { from } => format!(
            "this home was copied from {0}, where nothing runs: unfinished work is resumed here; do not use {0} any \
             more, or it is done twice",
            from.display()
        ),
        Relation::Moved { from, .. } => {
            format!("this home was moved here from {}; unfinished work is resumed", from.display())
        }
    })
}

impl Inner {
    /// Does what follows from where this home is, and records it in the database. If the engine is killed before that is
    /// written, the next one does the rest.
    pub(crate) async fn act_on_identity(self: &Arc<Self>, found: &Identified) -> Result<(), StoreError> {
        let store = &self.shelf.store;
        if let Some(notice) = &found.record.notice {
            tracing::warn!("{}", notice.text);
        }
        match &found.relation {
            Relation::New
            | Relation::Same
            | Relation::Restored
            | Relation::Moved { is_renamed: true, .. } => {}
            Relation::Moved { is_renamed: false, .. } => {
                if let Some(former) = &found.former {
                    let ended = leftovers::end_of_former(&self.home, former).await;
                    if ended > 0 {
                        tracing::warn!("ended {ended} processes of the home that was moved here");
                    }
                }
                directory::remove_copies(&self.hosts_dir);
            }
            Relation::Adopted { .. } => {
                store.mark_owed_as_repeats().await?;
                directory::remove_copies(&self.hosts_dir);
            }
            Relation::Copy { of } => {
                self.leave_turns_to(of).await?;
                let why = format!("this home is a copy: {} continues it", of.display());
                store.leave_to_original(&why, now_ms()).await?;
                directory::remove_copies(&self.hosts_dir);
            }
        }
        let json = serde_json::to_string(&found.record).unwrap_or_default();
        store.set_home_record(&json).await
    }

    /// Settles every turn that the original continues: its outcome will not be known here.
    async fn leave_turns_to(self: &Arc<Self>, original: &Path) -> Result<(), StoreError> {
        let store = &self.shelf.store;
        for (session, turn) in store.unsettled().await? {
            let original = original.display();
            let why = format!(
                "this home is a copy of {original}, which continues this turn; its outcome is known there"
            );
            let report = Report::new(Outcome::Lost { why }, None, Usage::default(), 0);
            let look = format!("TALARIA_HOME={original} talaria sessions show {}", session.id.short());
            let event = Event::Outcome(Box::new(report.with_hint(look)));
            let json = serde_json::to_string(&event).unwrap_or_default();
            store.take_lease(self.lease(&session.id), Takeover::Older).await?;
            let mut changes = rows::changes(turn.ordinal, &event);
            for change in &mut changes {
                if let Change::Turn(patch) = change {
                    patch.code = Some(LEFT.to_owned());
                }
            }
            // Not through a journal: the original sends the notifications for the end of a turn.
            let batch = Batch {
                session: session.id.clone(),
                epoch: self.shelf.epoch,
                at: now_ms(),
                events: vec![NewEvent { turn: Some(turn.ordinal), kind: rows::type_of(&json), json }],
                changes,
            };
            store.append(batch).await?;
        }
        self.void_orphans(&[]).await
    }

    /// Refuses a further turn of a conversation for as long as the original may be working on it: Codex lets only one
    /// process write to a thread.
    pub(crate) async fn check_not_left(&self, session: &SessionRow, ordinal: i64) -> Result<(), Problem> {
        let Some(original) = &self.identity.copy_of else { return Ok(()) };
        let last = self.shelf.store.turn(&session.id, ordinal - 1).await;
        let last = last.map_err(|error| views::problem(&error))?;
        if last.is_none_or(|last| last.code.as_deref() != Some(LEFT)) || !is_in_use(Path::new(original)) {
            return Ok(());
        }
        let message = format!("this home is a copy, and {original} may be working on this conversation");
        let hint =
            format!("continue there (TALARIA_HOME={original}), end its engine, or start a new conversation");
        Err(Problem::new(ProblemCode::Conflict, message).try_this(hint))
    }
}
