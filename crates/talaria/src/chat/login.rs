//! `/login`: Codex's own login from the chat. What a person has to do is shown at once, and the end when it is there.

use std::sync::atomic::{AtomicBool, Ordering};

use talaria_codex_proto::wire::call::LoginStart;
use talaria_tui::chat::contract::News;
use tokio::sync::{Notify, mpsc};

use super::errand::{Done, Place};
use super::words;
use crate::login::Attempt;
use crate::trouble::{Trouble, exit};

/// The words of `/login`.
const DEVICE: &str = "device";
const CANCEL: &str = "cancel";

/// The one login of a chat.
#[derive(Debug, Default)]
pub(super) struct LoginSlot {
    is_taken: AtomicBool,
    canceled: Notify,
}

/// Logs in, or cancels the login that runs.
pub(super) async fn run(word: Option<&str>, place: &Place, teller: &mpsc::Sender<Done>) -> Vec<Done> {
    let done = match word {
        Some(CANCEL) => cancel(&place.login),
        None => log_in(&LoginStart::Chatgpt, place, teller).await,
        Some(DEVICE) => log_in(&LoginStart::ChatgptDeviceCode, place, teller).await,
        // A key typed here would be in the history of the input.
        Some(_) => Err(Trouble::new(exit::USAGE, "/login takes device or cancel")
            .try_this("with an API key: `talaria login --api-key` in a shell")),
    };
    vec![Done::News(match done {
        Ok(text) => News::Reply(text.into()),
        Err(trouble) => words::refused(&trouble),
    })]
}

fn cancel(slot: &LoginSlot) -> Result<String, Trouble> {
    if !slot.is_taken.load(Ordering::Acquire) {
        return Err(Trouble::new(exit::USAGE, "no login is running"));
    }
    slot.canceled.notify_one();
    Ok("canceling the login\n".to_owned())
}

async fn log_in(start: &LoginStart, place: &Place, teller: &mpsc::Sender<Done>) -> Result<String, Trouble> {
    let slot = &place.login;
    if slot.is_taken.swap(true, Ordering::AcqRel) {
        return Err(Trouble::new(exit::USAGE, "a login is running already").try_this("/login cancel"));
    }
    let _held = Held(slot);
    let attempt = Attempt::begin(&place.context.settings, start).await?;
    if let Some(text) = attempt.words() {
        let text = format!("{text}waiting for you; /login cancel stops it\n");
        let _ = teller.send(Done::News(News::Reply(text.into()))).await;
    }
    let done = tokio::select! {
        done = attempt.completed() => done,
        () = slot.canceled.notified() => {
            attempt.cancel().await;
            return Err(Trouble::new(exit::INTERRUPTED, "the login was canceled"));
        }
    };
    attempt.close().await;
    place.look_again.notify_one();
    Ok(format!("logged in: {}\n", done?))
}

/// The slot is free again, however the login ends.
struct Held<'a>(&'a LoginSlot);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.is_taken.store(false, Ordering::Release);
    }
}
