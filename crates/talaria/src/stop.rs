//! `talaria stop`: ends the engine, and unless told otherwise everything that it runs. Starts nothing.

use std::time::Duration;

use talaria_core::api::{Stop, Stopped};
use talaria_server::client::{Client, ClientError};
use talaria_server::launch::is_running;

use crate::args;
use crate::engine::{self, refused};
use crate::output::print;
use crate::patience::patiently;
use crate::settings::Settings;
use crate::trouble::{Trouble, exit};

/// How long the engine may take to be gone after it said that it ends.
const LIMIT: Duration = Duration::from_secs(15);
/// How often is looked whether it is.
const LOOK: Duration = Duration::from_millis(20);

/// Runs the command.
pub(crate) async fn run(options: &args::Stop) -> Result<u8, Trouble> {
    let settings = Settings::load()?;
    let cannot = |error: &ClientError| refused("cannot stop the engine", error);
    let Some(client) = engine::find_any(&settings.home).await.map_err(|error| cannot(&error))? else {
        print("no engine is running\n")?;
        return Ok(0);
    };
    let stopping = async {
        let stopped = client
            .stop(Stop { keep_turns: options.keep_turns, stay_down: true })
            .await
            .map_err(|error| cannot(&error))?;
        Ok((stopped, wait_until_gone(&client).await))
    };
    let (stopped, end): (Stopped, End) = patiently("stopping the engine", stopping).await?;
    let pid = client.engine().pid;
    if end == End::Late {
        return Err(Trouble::new(exit::FAILED, format!("the engine (process {pid}) does not end"))
            .because("it said that it would, and is still there")
            .try_this(format!("kill {pid}")));
    }
    print(&words(pid, stopped))?;
    Ok(0)
}

fn words(pid: u32, stopped: Stopped) -> String {
    let turns = |count: usize| if count == 1 { "1 turn".to_owned() } else { format!("{count} turns") };
    let mut text = format!("the engine (process {pid}) has ended\n");
    if stopped.interrupted > 0 {
        text += &format!("{} interrupted\n", turns(stopped.interrupted));
    }
    if stopped.kept > 0 {
        let go = if stopped.kept == 1 { "goes" } else { "go" };
        text += &format!("{} {go} on without it; the next command takes up what runs\n", turns(stopped.kept));
    }
    text
}

/// Is the engine gone?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Yes: nobody answers any more.
    Gone,
    /// Not in time.
    Late,
}

/// Waits until an engine that was asked to end is gone.
pub(crate) async fn wait_until_gone(client: &Client) -> End {
    let gone = async {
        // Gone is whose process is gone: what it holds, it holds until then.
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
        let told = |interrupted, kept| words(7, Stopped { interrupted, kept });
        assert_eq!(told(0, 0), "the engine (process 7) has ended\n");
        assert_eq!(told(2, 0), "the engine (process 7) has ended\n2 turns interrupted\n");
        let kept = "the engine (process 7) has ended\n1 turn goes on without it; the next command takes up what runs\n";
        assert_eq!(told(0, 1), kept);
    }
}
