//! `talaria service` writes one file, shows it, and takes it away again.

use std::fs;

use crate::scene::{Scene, names};

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_service_is_installed_shown_and_removed() {
    let mut scene = Scene::empty().await;
    let configuration = scene.user_home().join("configuration");
    scene.set("XDG_CONFIG_HOME", &configuration);
    let file = configuration.join("systemd/user/talaria.service");
    let home = format!("TALARIA_HOME={}", scene.home().display());

    scene.run(&["service", "show"]).await.exits(0).prints(&["not installed", "KillMode=process"]);
    let preview = scene.run(&["service", "install", "--dry-run"]).await.exits(0);
    preview.prints(&["Would write", &home, " serve\n"]);
    assert_eq!(names(&scene.user_home()), [""; 0], "a preview writes nothing");

    let installed = scene.run(&["service", "install"]).await.exits(0);
    installed.prints(&["Wrote ", "systemctl --user enable --now talaria", "talaria service uninstall"]);
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("KillMode=process") && text.contains(&home), "{text}");
    scene.run(&["service", "show"]).await.exits(0).prints(&["installed: ", "KillMode=process"]);

    fs::write(&file, text.replace("RestartSec=2", "RestartSec=5")).unwrap();
    for preview in [["service", "install", "--dry-run"], ["service", "uninstall", "--dry-run"]] {
        scene.run(&preview).await.exits(1).complains(&["was changed by hand"]);
    }
    let preview = scene.run(&["service", "install", "--dry-run", "--force"]).await.exits(0);
    preview.prints(&["Would write "]);
    let refused = scene.run(&["service", "uninstall"]).await.exits(1);
    refused.complains(&["was changed by hand", "hint: keep a copy, then use --force"]);
    scene.run(&["service", "uninstall", "--force"]).await.exits(0).prints(&["Removed "]);
    assert!(!file.exists());
    scene.run(&["service", "uninstall"]).await.exits(0).prints(&["does not exist"]);
    assert_eq!(scene.engine_pid().await, None, "no engine is started");
    scene.close().await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn now_runs_the_service_manager_and_tells_when_it_fails() {
    let mut scene = Scene::empty().await;
    let told = scene.user_home().join("told");
    scene.only_programs(&[(
        "systemctl",
        &format!("echo \"$@\" >> {}\n[ \"$2\" != disable ]", told.display()),
    )]);
    scene.run(&["service", "install", "--now"]).await.exits(0).prints(&["Done:"]);
    assert_eq!(fs::read_to_string(&told).unwrap(), "--user daemon-reload\n--user enable --now talaria\n");
    let ended = scene.run(&["service", "uninstall", "--now"]).await.exits(1);
    ended.complains(&["`systemctl --user disable --now talaria` failed", "exit status: 1"]);
    scene.run(&["service", "uninstall"]).await.exits(0).prints(&["Removed "]);
    scene.close().await;
}
