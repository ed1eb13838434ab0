//! Changes of skills that wait for a person. The same change waits once, a review proposes once, and a proposal is decided once.

use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use crate::error::StoreError;
use crate::model::skill::{
    SkillDecision, SkillDecisionResult, SkillOrigin, SkillProposalRow, SkillProposeResult, SkillReviewResult,
};
use crate::model::words::SkillProposalState;
use crate::sqlite::SqliteStore;
use crate::sqlite::proposal::{ProposalTable, bind_origin};
use crate::sqlite::rows::{self, FromRow};

impl FromRow for SkillProposalRow {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.try_get("id")?,
            state: rows::word(row, "state")?,
            name: row.try_get("name")?,
            folder: row.try_get("folder")?,
            file: row.try_get("file")?,
            edit: row.try_get("edit")?,
            diff: row.try_get("diff")?,
            base_digest: row.try_get("base_digest")?,
            after_digest: row.try_get("after_digest")?,
            warning: row.try_get("warning")?,
            reason: row.try_get("reason")?,
            origin: SkillOrigin::from_row(row)?,
            at: row.try_get("at")?,
            decided_at: row.try_get("decided_at")?,
        })
    }
}

impl SqliteStore {
    pub(crate) async fn propose_skill(
        &self,
        proposal: SkillProposalRow,
        most: i64,
    ) -> Result<SkillProposeResult, StoreError> {
        self.write(move |conn| Box::pin(async move { propose(conn, proposal, most).await })).await
    }

    pub(crate) async fn propose_reviewed_skills(
        &self,
        review: &str,
        proposals: Vec<SkillProposalRow>,
        most: i64,
    ) -> Result<SkillReviewResult, StoreError> {
        let review = review.to_owned();
        self.write(move |conn| Box::pin(async move { propose_reviewed(conn, review, proposals, most).await }))
            .await
    }

    pub(crate) async fn skill_proposal(&self, id: &str) -> Result<Option<SkillProposalRow>, StoreError> {
        let found = sqlx::query("select * from skill_proposal where id = $1")
            .bind(id)
            .fetch_optional(self.readers())
            .await?;
        rows::one(found.as_ref())
    }

    pub(crate) async fn skill_proposals(
        &self,
        state: Option<SkillProposalState>,
        limit: u32,
    ) -> Result<Vec<SkillProposalRow>, StoreError> {
        let found = sqlx::query(
            "select * from skill_proposal where ($1 is null or state = $1) order by at desc, id limit $2",
        )
        .bind(state.map(SkillProposalState::as_str))
        .bind(limit)
        .fetch_all(self.readers())
        .await?;
        rows::all(&found)
    }

    pub(crate) async fn decide_skill(
        &self,
        decision: SkillDecision,
    ) -> Result<SkillDecisionResult, StoreError> {
        self.write(move |conn| Box::pin(async move { decide(conn, decision).await })).await
    }
}

async fn propose(
    conn: &mut SqliteConnection,
    proposal: SkillProposalRow,
    most: i64,
) -> Result<SkillProposeResult, StoreError> {
    let same = sqlx::query(
        "select id from skill_proposal
         where state = 'pending' and folder = $1 and file = $2 and edit = $3 and base_digest is $4 limit 1",
    )
    .bind(proposal.folder.as_str())
    .bind(proposal.file.as_str())
    .bind(proposal.edit.as_str())
    .bind(proposal.base_digest.as_deref())
    .fetch_optional(&mut *conn)
    .await?;
    if let Some(same) = same {
        return Ok(SkillProposeResult::Same { id: same.try_get("id")? });
    }
    let pending = count_pending(conn).await?;
    if pending >= most {
        return Ok(SkillProposeResult::Full { pending });
    }
    insert(conn, proposal).await?;
    Ok(SkillProposeResult::Added)
}

/// Keeps what a review proposes, once: proposals that have its name are all that it ever makes.
async fn propose_reviewed(
    conn: &mut SqliteConnection,
    review: String,
    proposals: Vec<SkillProposalRow>,
    most: i64,
) -> Result<SkillReviewResult, StoreError> {
    let mut result = SkillReviewResult { proposals: made_by(conn, &review).await?, refused: 0 };
    if !result.proposals.is_empty() {
        return Ok(result);
    }
    for proposal in proposals {
        // A file that a person has not decided about waits for that; what they rejected is not proposed again.
        let before = sqlx::query(
            "select id from skill_proposal
             where folder = $1 and file = $2 and (state = 'pending' or state = 'rejected' and edit = $3) limit 1",
        )
        .bind(proposal.folder.as_str())
        .bind(proposal.file.as_str())
        .bind(proposal.edit.as_str())
        .fetch_optional(&mut *conn)
        .await?;
        if before.is_some() {
            continue;
        }
        match count_pending(conn).await? >= most {
            true => result.refused += 1,
            false => insert(conn, proposal).await?,
        }
    }
    result.proposals = made_by(conn, &review).await?;
    Ok(result)
}

async fn made_by(conn: &mut SqliteConnection, review: &str) -> Result<Vec<SkillProposalRow>, StoreError> {
    let found =
        sqlx::query("select * from skill_proposal where call = $1 and author = 'review' order by at, id")
            .bind(review)
            .fetch_all(conn)
            .await?;
    rows::all(&found)
}

async fn count_pending(conn: &mut SqliteConnection) -> Result<i64, StoreError> {
    let count = sqlx::query("select count(*) as pending from skill_proposal where state = 'pending'")
        .fetch_one(conn)
        .await?;
    Ok(count.try_get("pending")?)
}

async fn insert(conn: &mut SqliteConnection, proposal: SkillProposalRow) -> Result<(), StoreError> {
    let insert = sqlx::query(
        "insert into skill_proposal (id, state, name, folder, file, edit, diff, base_digest, after_digest, warning,
                                     reason, author, session, turn, call, at, decided_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)",
    )
    .bind(proposal.id)
    .bind(proposal.state.as_str())
    .bind(proposal.name)
    .bind(proposal.folder)
    .bind(proposal.file)
    .bind(proposal.edit)
    .bind(proposal.diff)
    .bind(proposal.base_digest)
    .bind(proposal.after_digest)
    .bind(proposal.warning)
    .bind(proposal.reason);
    bind_origin(insert, &proposal.origin).bind(proposal.at).bind(proposal.decided_at).execute(conn).await?;
    Ok(())
}

async fn decide(
    conn: &mut SqliteConnection,
    decision: SkillDecision,
) -> Result<SkillDecisionResult, StoreError> {
    let state = ProposalTable::Skill.state(conn, &decision.proposal).await?;
    if state != SkillProposalState::Pending {
        return Ok(SkillDecisionResult::Decided { state });
    }
    ProposalTable::Skill.decide(conn, &decision.proposal, decision.state, decision.at).await?;
    if decision.makes_skill {
        let proposed = sqlx::query("select * from skill_proposal where id = $1")
            .bind(decision.proposal.as_str())
            .fetch_one(&mut *conn)
            .await?;
        let row = SkillProposalRow::from_row(&proposed)?;
        let insert = sqlx::query(
            "insert into skill_source (folder, proposal, author, session, turn, call, at)
             values ($1, $2, $3, $4, $5, $6, $7)
             on conflict (folder) do update set
                 proposal = excluded.proposal, author = excluded.author, session = excluded.session,
                 turn = excluded.turn, call = excluded.call, at = excluded.at",
        )
        .bind(row.folder)
        .bind(decision.proposal);
        bind_origin(insert, &row.origin).bind(decision.at).execute(conn).await?;
    }
    Ok(SkillDecisionResult::Recorded)
}
