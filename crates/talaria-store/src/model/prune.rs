//! Which whole sessions are removed, by age, by number and by size. `choose` is pure; a backend removes what it chose.

use talaria_core::ids::SessionId;

/// What to forget. `None` forgets nothing for that reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrunePolicy {
    /// Sessions that were last written to before this time.
    pub older_than: Option<i64>,
    /// Keeps this many of the newest sessions.
    pub keep: Option<usize>,
    /// The oldest sessions, until the database is about this small.
    pub max_bytes: Option<i64>,
}

/// A session that would be forgotten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrunableSession {
    pub id: SessionId,
    pub title: Option<String>,
    /// When it was last written to.
    pub updated_at: i64,
    /// How many events it has.
    pub events: i64,
    /// What its events and messages take, about.
    pub bytes: i64,
}

/// Sessions that would be removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrunePreview {
    /// The sessions, oldest first.
    pub sessions: Vec<PrunableSession>,
    pub events: i64,
    /// Their approximate size in the file.
    pub bytes: i64,
}

/// Removed sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PruneResult {
    pub sessions: i64,
    pub events: i64,
    /// By how much the files on the disk are smaller.
    pub freed_bytes: i64,
}

/// A session as the choice sees it.
pub(crate) struct PruneCandidate {
    pub(crate) doomed: PrunableSession,
    pub(crate) is_protected: bool,
}

/// Which sessions go, oldest first. `candidates` are all sessions, newest first.
pub(crate) fn choose(candidates: Vec<PruneCandidate>, policy: &PrunePolicy, used: i64) -> PrunePreview {
    let total: i64 = candidates.iter().map(|candidate| candidate.doomed.bytes).sum();
    // The overhead of index and pages is distributed by size.
    let share = |bytes: i64| {
        let share = i128::from(bytes) * i128::from(used) / i128::from(total.max(1));
        i64::try_from(share).unwrap_or(i64::MAX)
    };
    let is_out = |rank: usize, doomed: &PrunableSession| {
        policy.older_than.is_some_and(|time| doomed.updated_at < time)
            || policy.keep.is_some_and(|keep| rank >= keep)
    };
    let mut left = used;
    let mut spared = Vec::new();
    let mut chosen = PrunePreview { sessions: Vec::new(), events: 0, bytes: 0 };
    let mut take = |doomed: PrunableSession, left: &mut i64| {
        let bytes = share(doomed.bytes);
        *left -= bytes;
        chosen.events += doomed.events;
        chosen.bytes += bytes;
        chosen.sessions.push(doomed);
    };
    for (rank, candidate) in candidates.into_iter().enumerate().rev() {
        match candidate {
            PruneCandidate { is_protected: true, .. } => {}
            PruneCandidate { doomed, .. } if is_out(rank, &doomed) => take(doomed, &mut left),
            PruneCandidate { doomed, .. } => spared.push(doomed),
        }
    }
    for doomed in spared {
        if policy.max_bytes.is_some_and(|most| left > most) {
            take(doomed, &mut left);
        }
    }
    chosen
}
