//! `talaria audit`: every answer, start and refusal, with who it was and how that was established.

use jiff::Timestamp;
use talaria_core::api::{AuditEntry, AuditQuery};
use talaria_core::ids::short_id;
use talaria_render::Look;
use talaria_render::sheet::Sheet;
use talaria_server::client::{Client, ClientError};

use crate::amounts::ago;
use crate::args::Audit;
use crate::engine::{self, refused};
use crate::look;
use crate::output::{encoded, print};
use crate::progress::with_progress;
use crate::sessions::json_lines;
use crate::settings::Settings;
use crate::trouble::Trouble;

/// How many rows are asked for at a time.
const PAGE: usize = 1000;

pub(crate) async fn run(options: &Audit) -> Result<u8, Trouble> {
    let settings = Settings::load()?.accept()?;
    let client = engine::reach(&settings.home).await?;
    let wanted = usize::try_from(options.limit).unwrap_or(usize::MAX);
    let rows = with_progress("asking the engine", read(&client, wanted, options.refused)).await;
    let rows = rows.map_err(|error| refused("cannot read the audit log", &error))?;
    print(&match (options.json, rows.is_empty()) {
        (true, _) => json_lines(&rows),
        (false, true) if options.refused => "nothing was refused\n".to_owned(),
        (false, true) => "the audit log is empty\n".to_owned(),
        (false, false) => {
            let look = look::of_stdout();
            encoded(&table(&rows, Timestamp::now(), look).show(look))
        }
    })?;
    Ok(0)
}

/// Reads the newest rows that are wanted, page by page.
async fn read(client: &Client, wanted: usize, only_refused: bool) -> Result<Vec<AuditEntry>, ClientError> {
    let mut rows: Vec<AuditEntry> = Vec::new();
    let mut before = None;
    while rows.len() < wanted {
        let page = client.audit(&AuditQuery { before, limit: PAGE }).await?;
        let Some(last) = page.last() else { break };
        before = Some(last.id);
        let fit = page.into_iter().filter(|row| row.refused || !only_refused);
        rows.extend(fit.take(wanted - rows.len()));
    }
    Ok(rows)
}

fn table(rows: &[AuditEntry], now: Timestamp, look: Look) -> Sheet {
    let mut sheet = Sheet::new(&["when", "what", "who", "about", "established"], "established").to_be_read();
    for row in rows {
        let what = match (&row.decision, row.refused) {
            (_, true) => format!("{} refused", row.action),
            (Some(decision), false) => format!("{} {decision}", row.action),
            (None, false) => row.action.clone(),
        };
        let session = row.session.as_deref().map(|id| if look.live { short_id(id) } else { id });
        let about = row.request.as_deref().or(session).unwrap_or_default().to_owned();
        let established = match &row.reason {
            Some(reason) => format!("{}; {reason}", row.established),
            None => row.established.clone(),
        };
        sheet.row([ago(row.at, now), what, row.principal.clone(), about, established]);
    }
    sheet
}

#[cfg(test)]
mod tests {
    use super::*;
    use talaria_core::access::PeerEvidence;
    use talaria_render::Look;

    #[test]
    fn an_answer_and_a_refusal_read_plainly() {
        let now: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
        let answer = AuditEntry {
            id: 2,
            at: now,
            action: "answer".to_owned(),
            refused: false,
            principal: "person:ada".to_owned(),
            established: "/dev/pts/1, process 7".to_owned(),
            peer: PeerEvidence::default(),
            session: Some("s".to_owned()),
            request: Some("req-1".to_owned()),
            digest: None,
            decision: Some("accept".to_owned()),
            reason: None,
        };
        let refusal = AuditEntry {
            refused: true,
            principal: "model:sandboxed-command".to_owned(),
            established: "no terminal, process 9".to_owned(),
            decision: None,
            reason: Some("it runs in a sandbox".to_owned()),
            ..answer.clone()
        };
        let look = Look { color: false, width: Some(120), live: false, unicode: true };
        expect_test::expect![[r#"
            WHEN  WHAT            WHO                      ABOUT  ESTABLISHED
            now   answer accept   person:ada               req-1  /dev/pts/1, process 7
            now   answer refused  model:sandboxed-command  req-1  no terminal, process 9; it runs in a sandbox
        "#]]
        .assert_eq(&table(&[answer, refusal], now, look).show(look).text());
    }
}
