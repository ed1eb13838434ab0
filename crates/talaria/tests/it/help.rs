//! The help texts are what people read first: they are kept here, and each has an example.
//!
//! After a wanted change: `UPDATE_EXPECT=1 cargo test -p talaria --test it help`.

use expect_test::{ExpectFile, expect_file};

use crate::scene::Scene;

#[tokio::test]
async fn every_help_text_has_an_example_and_is_as_it_was() {
    let scene = Scene::empty().await;
    let texts: [(&[&str], ExpectFile); 5] = [
        (&["--help"], expect_file!["help/talaria.txt"]),
        (&["exec", "--help"], expect_file!["help/exec.txt"]),
        (&["demo", "--help"], expect_file!["help/demo.txt"]),
        (&["doctor", "--help"], expect_file!["help/doctor.txt"]),
        (&["setup", "--help"], expect_file!["help/setup.txt"]),
    ];
    for (arguments, expected) in texts {
        let ended = scene.run(arguments).await.exits(0);
        assert_eq!(ended.stderr, "");
        assert!(ended.stdout.contains("talaria demo") || ended.stdout.contains("Examples:"), "{ended}");
        expected.assert_eq(&ended.stdout);
    }
    scene.close().await;
}

#[tokio::test]
async fn the_version_is_told() {
    let scene = Scene::empty().await;
    let ended = scene.run(&["--version"]).await.exits(0);
    assert_eq!(ended.stdout, concat!("talaria ", env!("CARGO_PKG_VERSION"), "\n"));
    scene.close().await;
}
