//! Messages when the engine refuses a wish because a turn runs, or because none does.

use super::*;

/// An engine in the place of the one that is gone. It answers requests for these paths with a problem, and closes all others.
fn refuse_at(directory: &Path, refused: &'static [(&str, ProblemCode)]) {
    let socket = directory.join("s");
    std::fs::remove_file(&socket).unwrap();
    let listener = UnixListener::bind(&socket).unwrap();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut asked = Vec::new();
            while !asked.ends_with(b"}") && stream.read_buf(&mut asked).await.is_ok_and(|read| read > 0) {
                if asked.starts_with(b"GET ") {
                    break;
                }
            }
            let first = String::from_utf8_lossy(&asked).lines().next().unwrap_or_default().to_owned();
            let is_asked =
                |(path, _): &&(&str, ProblemCode)| first.starts_with("POST ") && first.contains(*path);
            if let Some((_, code)) = refused.iter().find(is_asked) {
                let body = serde_json::to_string(&Problem::new(*code, "the engine's own words")).unwrap();
                let head = "HTTP/1.1 409 Conflict\r\ncontent-type: application/json\r\nconnection: close\r\n";
                let answer = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
                // Who asked may be gone.
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        }
    });
}

/// The refusal, and the returned input.
fn refusals(news: &[News]) -> Vec<(&str, Option<&str>)> {
    let mut found = Vec::new();
    for news in news {
        if let News::Refused { what, prompt, .. } = news {
            found.push((what.as_str(), prompt.as_ref().map(|prompt| prompt.text.as_str())));
        }
    }
    found
}

#[tokio::test]
async fn words_that_meet_another_turn_come_back_and_go_to_it_the_next_time() {
    let says = "not sent: a turn of this conversation is running\n\
                once that turn is shown here, send it again: it goes to that turn";
    for wish in [ChatEffect::Send(prompt("go")), ChatEffect::Say(prompt("go"), When::Now)] {
        let (mut driver, home) = driver(Some(conversation())).await;
        told(&mut driver);
        // The turn that was to be steered is over, and another one was written down.
        refuse_at(home.path(), &[("/say", ProblemCode::Conflict), ("/turns", ProblemCode::Busy)]);
        driver.wish(wish);
        let news = settled(&mut driver).await;
        assert_eq!(refusals(&news), [(says, Some("go"))], "{news:?}");
        assert_eq!(driver.take_unsent(), Some(crate::trouble::exit::FAILED));
    }
}

#[tokio::test]
async fn a_stop_that_comes_after_the_turn_says_that_none_runs() {
    let (mut driver, home) = driver(Some(conversation())).await;
    told(&mut driver);
    refuse_at(home.path(), &[("/interrupt", ProblemCode::Conflict)]);
    driver.wish(ChatEffect::Interrupt);
    let news = settled(&mut driver).await;
    assert_eq!(refusals(&news), [("no turn is running here", None)], "{news:?}");
}

#[tokio::test]
async fn a_stop_without_a_turn_says_so_only_where_that_is_known() {
    let idle = || SessionInfo { running: false, last_seq: 0, ..conversation() };
    let (mut driver, _home) = driver(Some(idle())).await;
    told(&mut driver);
    driver.wish(ChatEffect::Run(SlashCommand::Stop));
    assert_eq!(refusals(&told(&mut driver)), [("no turn is running here", None)]);
    assert!(driver.pending_wishes.is_empty(), "the engine is not asked");

    driver.engine_seen(Seen::Away);
    told(&mut driver);
    driver.wish(ChatEffect::Run(SlashCommand::Stop));
    let news = told(&mut driver);
    let asks = "it is not known whether a turn is running here; asking the engine to stop it";
    assert!(news.iter().any(|news| matches!(news, News::Reply(text) if text.text() == asks)), "{news:?}");
    assert!(refusals(&news).is_empty(), "{news:?}");
    assert_eq!(driver.pending_wishes.names(), ["the request to stop the turn"]);
}
