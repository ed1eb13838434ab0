//! Engines as real processes: started on demand, once, replaced by a newer build, explained when they do not come up.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use talaria_core::api::Stop;
use talaria_engine::engine::{LockError, OpenError};
use talaria_server::client::launch::{Build, HELD, LaunchError, Launcher};
use talaria_server::client::{Client, ClientError};
use talaria_server::{bind, serve, socket_path};
use talaria_testkit::eventually;
use tempfile::TempDir;

use crate::foreign::Foreign;
use crate::scene::{PATIENCE, Scene, try_open};

/// Self-description of the started engine: `version build`, or its failure.
const ROLE: &str = "role";

#[tokio::test]
#[ignore = "the program that the tests here start"]
async fn engine_process() {
    let home = PathBuf::from(std::env::var_os("TALARIA_HOME").unwrap());
    let role = fs::read_to_string(home.join(ROLE)).unwrap();
    let Some((version, build)) = role.split_once(' ').filter(|(version, _)| *version != "broken") else {
        eprintln!("error: the database is not one");
        std::process::exit(3);
    };
    let engine = match try_open(&home, version, build.parse().unwrap()).await {
        Err(OpenError::Lock(LockError::Held(_))) => {
            fs::write(home.join("held"), "").unwrap();
            std::process::exit(HELD.into());
        }
        opened => opened.unwrap(),
    };
    let mut starts = File::options().create(true).append(true).open(home.join("starts")).unwrap();
    writeln!(starts, "{role}").unwrap();
    let listener = bind(&socket_path(&home)).unwrap();
    // Whatever becomes of the test, this ends.
    let served = serve(engine, listener, |notice| eprintln!("{notice}"));
    let _ = tokio::time::timeout(Duration::from_secs(60), served).await;
    std::process::exit(0);
}

struct Home(TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn launcher(&self, version: &str, build: i64) -> Launcher {
        fs::write(self.0.path().join(ROLE), format!("{version} {build}")).unwrap();
        launcher(self.0.path(), version, build)
    }

    fn starts(&self) -> Vec<String> {
        let starts = fs::read_to_string(self.0.path().join("starts")).unwrap_or_default();
        starts.lines().map(str::to_owned).collect()
    }
}

fn launcher(home: &Path, version: &str, build: i64) -> Launcher {
    let arguments = ["--exact", "launch::engine_process", "--ignored", "--nocapture"].map(OsString::from);
    let own = Build { version: version.to_owned(), build };
    Launcher::new(home, &std::env::current_exe().unwrap(), own).with_arguments(arguments)
}

async fn end(client: &Client) {
    client.stop(Stop::default()).await.unwrap();
}

#[tokio::test]
async fn an_engine_is_started_once_and_then_used() {
    let home = Home::new();
    let launcher = home.launcher("0.1.0", 5);
    let first = launcher.ensure().await.unwrap();
    let second = launcher.ensure().await.unwrap();
    assert_eq!(first.engine(), second.engine());
    assert_ne!(first.engine().pid, std::process::id());
    assert_eq!(home.starts(), ["0.1.0 5"]);
    end(&first).await;
}

#[tokio::test]
async fn many_commands_at_once_end_up_with_one_engine() {
    let home = Home::new();
    let launcher = home.launcher("0.1.0", 5);
    let all = futures_util::future::join_all((0..6).map(|_| launcher.ensure())).await;
    let clients: Vec<Client> = all.into_iter().map(Result::unwrap).collect();
    assert!(clients.iter().all(|client| client.engine() == clients[0].engine()));
    assert_eq!(home.starts(), ["0.1.0 5"]);
    end(&clients[0]).await;
}

/// Waits until an engine has found the home taken.
async fn held(home: &Path) {
    let seen = async {
        while !home.join("held").exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, seen).await.unwrap();
}

#[tokio::test]
async fn a_command_whose_engine_finds_the_home_taken_waits_for_the_other() {
    let home = Home::new();
    let path = home.0.path().to_owned();
    let launcher = home.launcher("0.1.0", 5);
    // It has the home, and does not listen yet.
    let engine = try_open(&path, "0.1.0", 5).await.unwrap();
    let late = async {
        held(&path).await;
        Scene::serving(home.0, engine)
    };
    let (client, _scene) = tokio::join!(launcher.ensure(), late);
    assert_eq!(client.unwrap().engine().pid, std::process::id());
}

#[tokio::test]
async fn a_command_whose_engine_finds_the_home_taken_starts_one_when_it_is_free() {
    let home = Home::new();
    let launcher = home.launcher("0.1.0", 5);
    let lock = File::create(home.0.path().join("engine.lock")).unwrap();
    lock.lock().unwrap();
    let free = async {
        held(home.0.path()).await;
        drop(lock);
    };
    let (client, ()) = tokio::join!(launcher.ensure(), free);
    let client = client.unwrap();
    assert_ne!(client.engine().pid, std::process::id());
    end(&client).await;
}

#[tokio::test]
async fn a_newer_command_replaces_the_engine_and_an_older_one_uses_it() {
    let home = Home::new();
    let mut client = home.launcher("0.1.0", 5).ensure().await.unwrap();
    for (version, build, engine) in [
        ("0.1.0", 4, "0.1.0 5"),
        ("0.1.0", 6, "0.1.0 6"),
        ("0.2.0", 1, "0.2.0 1"),
        ("0.1.0", 9, "0.2.0 1"),
        ("0.10.0", 0, "0.10.0 0"),
        ("0.9.0", 7, "0.10.0 0"),
    ] {
        client = home.launcher(version, build).ensure().await.unwrap();
        let info = client.engine();
        assert_eq!(format!("{} {}", info.version, info.build), engine, "{version} {build}");
    }
    end(&client).await;
}

#[tokio::test]
async fn a_passive_client_starts_an_engine_that_died_and_none_that_was_stopped() {
    let home = Home::new();
    let client = home.launcher("0.1.0", 5).ensure().await.unwrap();
    let onlooker = client.looking_on();
    let stop = async |client: &Client, stay_down| {
        let engine = Client::knock(client.socket()).await.unwrap();
        engine.stop(Stop { keep_turns: false, stay_down }).await.unwrap();
        eventually("no engine listens", async || {
            matches!(Client::knock(client.socket()).await, Err(ClientError::NotRunning)).then_some(())
        })
        .await;
    };
    stop(&client, true).await;
    for _ in 0..2 {
        assert!(matches!(onlooker.status().await, Err(ClientError::Stopped)));
        assert!(matches!(onlooker.follow("0", 0).await, Err(ClientError::Stopped)));
    }
    assert_eq!(home.starts().len(), 1, "{:?}", home.starts());
    client.status().await.unwrap();
    stop(&client, false).await;
    onlooker.status().await.unwrap();
    assert_eq!(home.starts().len(), 3, "{:?}", home.starts());
    end(&Client::knock(client.socket()).await.unwrap()).await;
}

#[tokio::test]
async fn a_command_goes_on_when_its_engine_was_killed() {
    let home = Home::new();
    let client = home.launcher("0.1.0", 5).ensure().await.unwrap();
    let pid = client.engine().pid;
    kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), Signal::KILL).unwrap();
    // The socket may accept for as long as the process is dying.
    let status = eventually("another engine answers", async || match client.status().await {
        Err(ClientError::Broken(_)) => None,
        status => Some(status.unwrap()),
    })
    .await;
    assert_ne!(status.engine.pid, pid);
    end(&client).await;
}

#[tokio::test]
async fn an_engine_that_does_not_come_up_is_quoted() {
    let home = Home::new();
    let launcher = home.launcher("broken", 0);
    let error = launcher.ensure().await.unwrap_err();
    let LaunchError::Ended { status, .. } = &error else { panic!("{error:?}") };
    assert_eq!(status.code(), Some(3));
    assert!(error.to_string().ends_with("\n  error: the database is not one"), "{error}");
    assert!(error.next_step().unwrap().in_shell().contains("engine.log"));
}

#[tokio::test]
async fn a_program_that_cannot_be_run_is_said() {
    let home = Home::new();
    let own = Build { version: "0.1.0".to_owned(), build: 1 };
    let error = Launcher::new(home.0.path(), Path::new("/no/such/program"), own).ensure().await.unwrap_err();
    assert!(matches!(error, LaunchError::Start { .. }), "{error}");
}

#[tokio::test]
async fn a_newer_engine_of_another_api_is_left_alone() {
    let engine = Foreign::start("9.0.0", 2);
    let error = launcher(engine.home.path(), "0.1.0", 5).ensure().await.unwrap_err();
    assert!(matches!(error, LaunchError::OtherApi { api: 2, own: 1, .. }), "{error}");
    assert_eq!(
        error.next_step().unwrap().in_shell(),
        "use Talaria 9.0.0, or end that engine with it: talaria stop"
    );
    Client::connect(&engine.socket).await.unwrap_err();
    assert!(engine.socket.exists());
}
