//! `talaria setup` installs the tested Codex with npm, and says what npm says.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use talaria_testkit::{AppServer, Codex};

use crate::scene::{Scene, names};

/// Where the test harness keeps Codex 0.166.0, as npm left it.
fn installed() -> PathBuf {
    let launcher = Codex::v0_166().launcher;
    launcher.ancestors().nth(3).unwrap().to_owned()
}

#[tokio::test]
async fn npm_that_fails_is_quoted() {
    let mut scene = Scene::empty().await;
    let npm = "echo 'npm error code E404' >&2\necho 'npm error 404 no such package' >&2\nexit 1";
    scene.only_programs(&[("npm", npm)]);
    let ended = scene.run(&["setup"]).await.exits(6);
    assert_eq!(ended.stdout, "");
    ended.complains(&[
        "Codex 0.166.0: asking npm\n",
        "error: cannot install Codex 0.166.0\ncause: npm could not install codex (exit status: 1)",
        "npm error 404 no such package",
        "hint: correct what npm says, then run talaria setup again",
    ]);
    let left: Vec<String> =
        names(&scene.home().join("codex")).into_iter().filter(|name| name != ".lock").collect();
    assert_eq!(left, [""; 0], "no half of an installation is left");
    scene.close().await;
}

#[tokio::test]
async fn without_npm_there_is_a_hint() {
    let mut scene = Scene::empty().await;
    scene.only_programs(&[]);
    let ended = scene.run(&["setup"]).await.exits(6);
    ended.complains(&[
        "error: cannot install Codex 0.166.0\ncause: npm was not found on PATH\nhint: install Node.js",
    ]);
    scene.close().await;
}

#[tokio::test]
async fn what_npm_brings_is_installed_once_and_then_used() {
    let mut scene = Scene::empty().await;
    // Installs the package at --prefix; `npm view` reports no size.
    let bring = format!(
        "test \"$1\" = install || exit 1\necho once >> \"$HOME/npm-runs\"\nwhile test \"$1\" != --prefix; do shift; done\n\
         /bin/ln -s {:?}/node_modules \"$2/node_modules\"",
        installed()
    );
    scene.only_programs(&[("npm", &bring)]);
    let path = scene.home().join("codex/0.166.0");
    let first = scene.run(&["setup"]).await.exits(0);
    first.complains(&["Codex 0.166.0 is installed: ", "Next: run `talaria login`, then `talaria doctor`"]);
    assert!(path.join("node_modules").exists());
    let again = scene.run(&["setup"]).await.exits(0);
    again.complains(&["Codex 0.166.0 is already installed: "]);
    assert_eq!(fs::read_to_string(scene.user_home().join("npm-runs")).unwrap(), "once\n");
    scene.run(&["doctor"]).await.prints(&["(installed by talaria setup)"]);
    scene.close().await;
}

#[tokio::test]
async fn another_codex_that_is_used_instead_is_named() {
    let mut scene = Scene::empty().await;
    scene.only_programs(&[]);
    fs::create_dir(scene.home().join("codex")).unwrap();
    symlink(installed(), scene.home().join("codex/0.166.0")).unwrap();
    let other =
        AppServer::script([]).version("0.140.0").install(&scene.codex_home.root().join("other")).codex;
    scene.use_codex(&other);
    let ended = scene.run(&["setup"]).await.exits(0);
    ended.complains(&["Codex 0.166.0 is already installed: ", "(0.140.0) instead, because codex.bin in"]);
    scene.close().await;
}
