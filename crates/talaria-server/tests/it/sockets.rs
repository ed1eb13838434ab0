//! The socket is private, replaces only what is left over, and touches nothing else.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use talaria_server::client::{Client, ClientError};
use talaria_server::{BindError, bind};
use talaria_testkit::eventually;
use tokio::net::{UnixListener, UnixStream};

use crate::foreign::Foreign;
use crate::scene::{PATIENCE, Scene};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn the_socket_and_its_directory_are_for_their_owner_alone() {
    let base = tempfile::tempdir().unwrap();
    let socket = base.path().join("run/engine.sock");
    let _listener = bind(&socket).unwrap();
    assert_eq!((mode(&socket), mode(socket.parent().unwrap())), (0o600, 0o700));
}

#[tokio::test]
async fn a_directory_that_was_open_to_others_is_closed() {
    let base = tempfile::tempdir().unwrap();
    let directory = base.path().join("run");
    fs::create_dir(&directory).unwrap();
    fs::set_permissions(&directory, Permissions::from_mode(0o777)).unwrap();
    let _listener = bind(&directory.join("engine.sock")).unwrap();
    assert_eq!(mode(&directory), 0o700);
}

#[tokio::test]
async fn a_socket_that_was_left_over_is_replaced_and_one_in_use_is_not() {
    let base = tempfile::tempdir().unwrap();
    let socket = base.path().join("run/engine.sock");
    drop(bind(&socket).unwrap());
    assert!(socket.exists(), "dropping a listener leaves its file");
    left_over(&socket).await;
    let _listener = bind(&socket).unwrap();
    assert!(matches!(bind(&socket), Err(BindError::InUse(path)) if path == socket));
    UnixStream::connect(&socket).await.unwrap();
}

#[tokio::test]
async fn what_is_no_socket_is_left_alone() {
    let base = tempfile::tempdir().unwrap();
    let socket = base.path().join("run/engine.sock");
    fs::create_dir_all(&socket).unwrap();
    assert!(matches!(bind(&socket), Err(BindError::NotASocket(_))));
    assert!(socket.is_dir());
    fs::remove_dir(&socket).unwrap();
    fs::write(&socket, "mine").unwrap();
    let error = bind(&socket).unwrap_err();
    assert_eq!(error.to_string(), format!("{} is in the way: it is not a socket", socket.display()));
    assert_eq!(error.next_step().in_shell(), "move it away");
    assert_eq!(fs::read_to_string(&socket).unwrap(), "mine");
    let below = socket.join("engine.sock");
    assert!(matches!(bind(&below), Err(BindError::NotADirectory(path)) if path == socket));
}

#[tokio::test]
async fn what_belongs_to_somebody_else_is_refused() {
    let base = tempfile::tempdir().unwrap();
    let directory = base.path().join("run");
    fs::create_dir(&directory).unwrap();
    // Only the administrator can change an owner; other users test with the administrator's directories.
    let (directory, owner) = match std::os::unix::fs::chown(&directory, Some(65_534), None) {
        Ok(()) => (directory, 65_534),
        Err(_) => (Path::new("/usr").to_owned(), 0),
    };
    let error = bind(&directory.join("engine.sock")).unwrap_err();
    assert_eq!(error.to_string(), format!("{} belongs to user {owner}, not to you", directory.display()));
    assert!(!directory.join("engine.sock").exists());
}

#[tokio::test]
async fn a_home_that_cannot_be_written_is_said() {
    let error = bind(Path::new("/proc/talaria/engine.sock")).unwrap_err();
    assert!(matches!(error, BindError::System { .. }), "{error}");
}

#[tokio::test]
async fn where_nobody_listens_nobody_is_found() {
    let base = tempfile::tempdir().unwrap();
    let socket = base.path().join("engine.sock");
    assert!(matches!(Client::connect(&socket).await, Err(ClientError::NotRunning)));
    drop(UnixListener::bind(&socket).unwrap());
    left_over(&socket).await;
    assert!(matches!(Client::connect(&socket).await, Err(ClientError::NotRunning)));
}

/// Waits until nothing listens. What another test starts just now may have the listener until it is another program.
async fn left_over(socket: &Path) {
    eventually("nobody listens", async || UnixStream::connect(socket).await.err()).await;
}

#[tokio::test]
async fn an_engine_of_another_api_is_not_used() {
    let engine = Foreign::start("9.9.9", 99);
    let error = Client::connect(&engine.socket).await.unwrap_err();
    assert_eq!(error.to_string(), "the engine is Talaria 9.9.9 and speaks API 99; this command speaks 1");
}

#[tokio::test]
async fn a_socket_that_somebody_removed_is_made_again() {
    let scene = Scene::start().await;
    tokio::time::pause();
    scene.client().await;
    fs::remove_file(&scene.socket).unwrap();
    let again = async {
        while Client::connect(&scene.socket).await.is_err() {
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(PATIENCE, again).await.unwrap();
    assert_eq!(*scene.notices.lock().unwrap(), ["the socket was removed; it was created again"]);
}
