//! `talaria task notify`: notifications, their targets and results.

use jiff::Timestamp;
use talaria_core::api::{NoticeInfo, NoticeState, Notify};
use talaria_server::client::Client;

use crate::amounts::{ago, since};
use crate::args::NotifyTasks;
use crate::engine::refused;
use crate::progress::with_progress;
use crate::sessions::json_lines;
use crate::trouble::Trouble;
use talaria_render::sheet::Sheet;
use talaria_render::{Look, Paint, Style, StyledText, plain};

/// Sends what is owed, or says what would be sent.
pub(super) async fn send(options: &NotifyTasks, client: &Client, look: Look) -> Result<StyledText, Trouble> {
    let notify = Notify { limit: options.limit as usize, dry_run: options.dry_run };
    let notices = with_progress("telling", client.notify(notify)).await;
    let notices = notices.map_err(|error| refused("cannot send notifications", &error))?;
    Ok(if options.json { json_lines(&notices).into() } else { page(&notices, Timestamp::now(), look) })
}

fn page(notices: &[NoticeInfo], now: Timestamp, look: Look) -> StyledText {
    if notices.is_empty() {
        return "no pending notifications\n".into();
    }
    let paint = Paint::new(look);
    let mut out = table(notices, now).show(look);
    for notice in notices {
        if let Some(message) = notice.message.as_deref().map(str::trim) {
            let whom = notice.target.as_deref().unwrap_or("nobody");
            out += "\n";
            out += paint.text(Style::BOLD, &plain(&format!("to {whom}:")));
            out += format!("\n{}\n", plain(message));
        }
    }
    out
}

/// Notifications as a table.
pub(super) fn table(notices: &[NoticeInfo], now: Timestamp) -> Sheet {
    let mut sheet = Sheet::new(&["task", "about", "to", "state"], "state").to_be_read();
    for notice in notices {
        sheet.row([
            notice.task.clone(),
            notice.kind.clone(),
            notice.target.clone().unwrap_or_else(|| "nobody".to_owned()),
            state(notice, now),
        ]);
    }
    sheet
}

fn state(notice: &NoticeInfo, now: Timestamp) -> String {
    let why = notice.error.as_ref().map(|error| format!(": {error}")).unwrap_or_default();
    let tries = match notice.attempts {
        1 => "after 1 try".to_owned(),
        count => format!("after {count} tries"),
    };
    let words = match notice.state {
        NoticeState::Pending if notice.message.is_some() => "would be sent".to_owned(),
        NoticeState::Pending => "to be sent".to_owned(),
        NoticeState::Sending => "is being sent".to_owned(),
        NoticeState::Sent => {
            let when = notice.sent_at.map(|at| format!(" {}", ago(at, now))).unwrap_or_default();
            format!("sent{when}")
        }
        NoticeState::Failed => {
            let again = notice.due_at.filter(|at| *at > now);
            let again = again.map(|at| format!(", again in {}", since(now, at))).unwrap_or_default();
            format!("failed {tries}{again}{why}")
        }
        NoticeState::Abandoned => format!("given up {tries}{why}"),
        NoticeState::NoTarget => "no target".to_owned(),
    };
    if notice.repeat { format!("{words} (perhaps twice)") } else { words }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::super::sample::{LOOK, at, notice};
    use super::*;

    #[test]
    fn what_is_owed_and_what_came_of_it_is_told() {
        let failed = NoticeInfo {
            target: Some("webhook:https://example.org/\u{1b}[2J".to_owned()),
            attempts: 3,
            error: Some("no answer\nin time".to_owned()),
            due_at: Some(at(160)),
            ..notice(NoticeState::Failed)
        };
        let notices = [
            NoticeInfo { repeat: true, ..notice(NoticeState::Sent) },
            failed.clone(),
            NoticeInfo { state: NoticeState::Abandoned, ..failed },
            NoticeInfo { target: None, ..notice(NoticeState::NoTarget) },
        ];
        expect![[r#"
            TASK                ABOUT    TO                                STATE
            codex-1a2b3c4d5e6f  outcome  local                             sent 24 seconds ago (perhaps twice)
            codex-1a2b3c4d5e6f  outcome  webhook:https://example.org/␛[2J  failed after 3 tries, again in 1 minute: no answer␊in time
            codex-1a2b3c4d5e6f  outcome  webhook:https://example.org/␛[2J  given up after 3 tries: no answer␊in time
            codex-1a2b3c4d5e6f  outcome  nobody                            no target
        "#]].assert_eq(&page(&notices, at(100), Look { width: Some(160), ..LOOK }).text());
        assert_eq!(page(&[], at(0), LOOK).text(), "no pending notifications\n");
    }

    #[test]
    fn a_dry_run_shows_what_would_be_sent() {
        let message = Some("codex-1a2b3c4d5e6f completed\n\u{1b}]0;x\u{7}It is the linker.\n".to_owned());
        let notices = [NoticeInfo { message, ..notice(NoticeState::Pending) }];
        expect![[r#"
            TASK                ABOUT    TO     STATE
            codex-1a2b3c4d5e6f  outcome  local  would be sent

            to local:
            codex-1a2b3c4d5e6f completed
            ␛]0;x␇It is the linker.
        "#]]
        .assert_eq(&page(&notices, at(100), LOOK).text());
    }
}
