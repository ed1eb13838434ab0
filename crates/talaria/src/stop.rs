//! `talaria stop`: ends the engine, and by default everything that it runs. Starts nothing.
//!
//! Without a living engine the leftovers of a dead one are still ended: Codex and the commands of its turns would continue
//! without an engine. An engine that holds the home and does not answer yet is awaited.

use std::time::Duration;

use talaria_core::api::{Stop, Stopped};
use talaria_engine::engine::Holder;
use talaria_engine::engine::leftovers::{self, LeftEnded};
use talaria_home::home::TalariaHome;
use talaria_server::client::launch::is_running;
use talaria_server::client::{Client, ClientError};

use crate::engine::{self, not_done, refused};
use crate::output::print;
use crate::progress::with_progress;
use crate::settings::Settings;
use crate::trouble::{Trouble, exit};
use crate::{args, leftover_text};

/// How long the engine may take to be gone after it said that it ends.
const LIMIT: Duration = Duration::from_secs(15);
/// How long an engine that holds the home may take to answer, or to release it.
const UNANSWERED: Duration = Duration::from_secs(5);
/// How often is looked whether it is.
const LOOK: Duration = Duration::from_millis(20);

pub(crate) async fn run(options: &args::Stop) -> Result<u8, Trouble> {
    let settings = Settings::load()?;
    let cannot = |error: &ClientError| refused("cannot stop the engine", error);
    let Some(client) = find_or_wait(&settings.home).await.map_err(|error| cannot(&error))? else {
        return end_leftovers(&settings.home, options.keep_turns).await;
    };
    let stopping = async {
        let stopped =
            client.stop(Stop { keep_turns: options.keep_turns, stay_down: true }).await.map_err(|error| {
                not_done("cannot stop the engine", &error, "`talaria status` shows whether it runs")
            })?;
        Ok((stopped, wait_until_gone(&client).await))
    };
    let (stopped, end): (Stopped, End) = with_progress("stopping the engine", stopping).await?;
    let pid = client.engine().pid;
    if end == End::Late {
        return Err(Trouble::new(exit::FAILED, format!("the engine (process {pid}) does not end"))
            .because("it confirmed the stop, but is still running")
            .try_this(format!("kill {pid}")));
    }
    print(&words(pid, stopped))?;
    Ok(0)
}

/// Finds the engine. One that is starting or stopping holds the home without answering for a moment.
async fn find_or_wait(home: &TalariaHome) -> Result<Option<Client>, ClientError> {
    let until = tokio::time::Instant::now() + UNANSWERED;
    loop {
        let found = engine::find_any(home).await?;
        if found.is_some() || !leftovers::is_held(home) || tokio::time::Instant::now() >= until {
            return Ok(found);
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Ends what an engine left that is gone.
async fn end_leftovers(home: &TalariaHome, keep_turns: bool) -> Result<u8, Trouble> {
    if leftovers::is_held(home) {
        let holder = talaria_engine::engine::holder(&home.lock_file());
        let process = holder.as_ref().map(|holder| format!(" (process {})", holder.pid)).unwrap_or_default();
        let trouble = Trouble::new(exit::FAILED, format!("the engine{process} does not answer"))
            .because("it holds this home, but does not listen on its socket");
        let hint = holder.map_or_else(
            || "find the process that has engine.lock open, and end it".to_owned(),
            |holder| format!("kill {}, then run `talaria stop` again", holder.pid),
        );
        return Err(trouble.try_this(hint));
    }
    let found = leftovers::find(home);
    if found.is_empty() {
        print(&match leftovers::original_in_use(home) {
            Some(original) => format!(
                "no engine is running; this home is a copy of {}, whose processes are left alone\n",
                original.display()
            ),
            None => "no engine is running\n".to_owned(),
        })?;
        return Ok(0);
    }
    if keep_turns {
        print(&format!(
            "no engine is running; still running from the last one: {}\n{}the next command that needs the engine resumes it\n",
            leftover_text::count(&found),
            leftover_text::lines(&found)
        ))?;
        return Ok(0);
    }
    let holder = Holder { pid: std::process::id(), version: env!("CARGO_PKG_VERSION").to_owned() };
    let ending = with_progress("ending the processes of the last engine", leftovers::end(home, &holder));
    let LeftEnded { ended, survivors } = ending.await.map_err(|error| {
        Trouble::new(exit::FAILED, "cannot end the processes of the last engine")
            .because(error)
            .try_this("talaria stop")
    })?;
    if !ended.is_empty() {
        print(&format!(
            "no engine was running; ended {} of the last one:\n{}the next engine reports the outcome of their turns\n",
            leftover_text::count(&ended),
            leftover_text::lines(&ended)
        ))?;
    }
    if survivors.is_empty() {
        return Ok(0);
    }
    let trouble =
        Trouble::new(exit::FAILED, format!("{} could not be ended", leftover_text::count(&survivors)));
    Err(trouble
        .because(format!("killed, but still running:\n{}", leftover_text::lines(&survivors).trim_end())))
}

fn words(pid: u32, stopped: Stopped) -> String {
    let turns = |count: usize| if count == 1 { "1 turn".to_owned() } else { format!("{count} turns") };
    let mut text = format!("the engine (process {pid}) has ended\n");
    if stopped.interrupted > 0 {
        text += &format!("{} interrupted\n", turns(stopped.interrupted));
    }
    if stopped.unsettled > 0 {
        let what = turns(stopped.unsettled);
        text += &format!("{what} did not stop in time; the next engine reports the outcome\n");
    }
    if stopped.kept > 0 {
        let (go_on, them) = if stopped.kept == 1 { ("continues", "it") } else { ("continue", "them") };
        text += &format!("{} {go_on} without it; the next command resumes {them}\n", turns(stopped.kept));
    }
    text
}

/// Is the engine gone?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Yes: nothing answers any more.
    Gone,
    /// Not in time.
    Late,
}

/// Waits until an engine that was asked to end is gone.
pub(crate) async fn wait_until_gone(client: &Client) -> End {
    let gone = async {
        // An engine is gone when its process has ended: it keeps its lock until then.
        while is_running(client.engine().pid) {
            tokio::time::sleep(LOOK).await;
        }
    };
    match tokio::time::timeout(LIMIT, gone).await {
        Ok(()) => End::Gone,
        Err(_) => End::Late,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_said_what_became_of_the_turns() {
        let told = |interrupted, kept| words(7, Stopped { interrupted, unsettled: 0, kept });
        let late = words(7, Stopped { interrupted: 1, unsettled: 1, kept: 0 });
        assert!(late.contains("1 turn interrupted\n1 turn did not stop in time; "), "{late}");
        assert_eq!(told(0, 0), "the engine (process 7) has ended\n");
        assert_eq!(told(2, 0), "the engine (process 7) has ended\n2 turns interrupted\n");
        let kept =
            "the engine (process 7) has ended\n1 turn continues without it; the next command resumes it\n";
        assert_eq!(told(0, 1), kept);
    }
}
