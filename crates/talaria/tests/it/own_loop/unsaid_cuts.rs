//! Answers that a server cut and called complete: continued visibly, at most twice, by the server's own count of tokens.

use serde_json::json;
use talaria_scripted::{ModelUsage, Reply};

use crate::own_loop::{MODEL, answer, exec};
use crate::scene::{Ended, Scene, of_type};

/// A local server of a kind that says `stop` for text that it cut, and one that is believed.
async fn scene() -> Scene {
    let mut scene = Scene::empty().await;
    let base = scene.model.base_url();
    let model = format!("models.{MODEL}]\ncontext = 200000\nmax_output = 50\n");
    scene.configure(&format!(
        "[providers.ollama]\nbase_url = \"{base}\"\n[providers.ollama.{model}\
         [providers.own-chat]\nbase_url = \"{base}\"\napi = \"chat\"\n[providers.own-chat.{model}"
    ));
    scene.set("NO_PROXY", "127.0.0.1");
    scene
}

fn cut(text: &str) -> Reply {
    Reply::say(text).usage(ModelUsage { input: 100, cached: 0, output: 50, reasoning: 0 })
}

fn whole(text: &str) -> Reply {
    Reply::say(text).usage(ModelUsage { input: 100, cached: 0, output: 7, reasoning: 0 })
}

async fn ask(scene: &Scene, arguments: &[&str]) -> Ended {
    scene.run(&[&["exec", "--json", "--provider", "ollama", "--model", MODEL], arguments].concat()).await
}

fn continued(ended: &Ended) -> usize {
    let events = ended.events();
    let warnings = of_type(&events, "warning");
    let asked = |text: &str| text.contains("asking the model to continue");
    warnings.iter().filter(|event| asked(event["message"].as_str().unwrap())).count()
}

#[tokio::test]
async fn a_cut_answer_is_continued_visibly_and_the_outcome_has_all_of_it() {
    let scene = scene().await;
    scene.model.push(cut("One, two, "));
    scene.model.push(cut("three, four, "));
    scene.model.push(whole("five."));
    let ended = ask(&scene, &["Count."]).await.exits(0);
    assert_eq!(answer(&ended.events()), json!("One, two, three, four, five."), "{ended}");
    assert_eq!(continued(&ended), 2, "{ended}");
    let requests = scene.model.requests();
    assert_eq!(requests.len(), 3);
    assert!(requests[1].text.contains("cut at the output limit"), "{}", requests[1].text);
    assert_eq!(requests[2].assistant_texts(), ["One, two, ", "three, four, "]);
    scene.close().await;
}

#[tokio::test]
async fn an_answer_is_continued_at_most_twice_and_then_called_incomplete() {
    let scene = scene().await;
    (0..3).for_each(|_| scene.model.push(cut("more ")));
    let ended = ask(&scene, &["Count."]).await.exits(1);
    let outcome = ended.events().pop().unwrap();
    assert_eq!((&outcome["outcome"], continued(&ended)), (&json!("failed"), 2), "{ended}");
    assert!(outcome["message"].as_str().unwrap().contains("output limit"), "{ended}");
    assert_eq!(scene.model.requests().len(), 3);
    scene.close().await;
}

#[tokio::test]
async fn neither_the_last_character_nor_the_count_of_a_server_that_is_believed_decides() {
    let scene = scene().await;
    scene.model.push(whole("and then,"));
    let ended = ask(&scene, &["Go."]).await.exits(0);
    assert_eq!(continued(&ended), 0, "{ended}");
    scene.model.push(cut("and then,"));
    let ended = exec(&scene, "chat", &["--json", "Go."]).await.exits(0);
    assert_eq!((continued(&ended), scene.model.requests().len()), (0, 2), "{ended}");
    scene.close().await;
}
