//! Changes of skills that wait for a person. The same change waits once, and a proposal is decided once.

use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use crate::error::StoreError;
use crate::model::skill::{
    SkillDecision, SkillDecisionResult, SkillOrigin, SkillProposalRow, SkillProposeResult,
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
    let count = sqlx::query("select count(*) as pending from skill_proposal where state = 'pending'")
        .fetch_one(&mut *conn)
        .await?;
    let pending: i64 = count.try_get("pending")?;
    if pending >= most {
        return Ok(SkillProposeResult::Full { pending });
    }
    let insert = sqlx::query(
        "insert into skill_proposal (id, state, name, folder, file, edit, diff, base_digest, after_digest, warning,
                                     author, session, turn, call, at, decided_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)",
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
    .bind(proposal.warning);
    bind_origin(insert, &proposal.origin).bind(proposal.at).bind(proposal.decided_at).execute(conn).await?;
    Ok(SkillProposeResult::Added)
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
