//! Thinking that a model writes into its text is no answer, and an answer that is only thinking is said to be that.

use serde_json::json;
use talaria_scripted::Reply;

use crate::own_loop::{answer, exec, scene};
use crate::scene::of_type;

#[tokio::test]
async fn thinking_in_the_text_is_shown_as_thinking_and_is_no_part_of_the_answer() {
    let scene = scene().await;
    scene
        .model
        .push(Reply::new().text("<thi").text("nk>A wren is").text(" small.</think>\n\nA ").text("wren."));
    let ended = exec(&scene, "chat", &["--json", "Which bird?"]).await.exits(0);
    let events = ended.events();
    assert_eq!(answer(&events), json!("A wren."), "{ended}");
    let steps = of_type(&events, "item_completed");
    let thinking = steps.iter().find(|event| event["item"]["kind"] == "reasoning").unwrap();
    assert!(thinking.to_string().contains("A wren is small."), "{thinking}");
    assert_eq!(of_type(&events, "warning").len(), 0, "{ended}");
    let session = events[0]["session"].as_str().unwrap().to_owned();
    scene.model.push(Reply::say("Yes."));
    scene.run(&["exec", "--resume", &session, "Sure?"]).await.exits(0);
    assert_eq!(scene.model.requests()[1].assistant_texts(), ["A wren."]);
    scene.close().await;
}

#[tokio::test]
async fn an_answer_that_is_only_thinking_says_so() {
    let scene = scene().await;
    scene.model.push(Reply::new().text("<think>A wren is small.</think>"));
    let ended = exec(&scene, "chat", &["--json", "Which bird?"]).await.exits(0);
    let events = ended.events();
    let warning = &of_type(&events, "warning")[0]["message"];
    assert!(warning.as_str().unwrap().contains("after its thinking, without a word for you"), "{ended}");
    assert!(!answer(&events).as_str().unwrap_or_default().contains("wren"), "{ended}");
    scene.close().await;
}
