//! Everything that was said and done is found again.

use serde_json::json;
use talaria_core::ids::SessionId;

use super::scene;
use crate::{Batch, Change, NewMessage, SearchFilter, SearchedKind, Store};

async fn say(store: &Store, session: &SessionId, texts: &[(&str, &str)]) {
    let changes = texts.iter().map(|(key, text)| Change::Message(scene::message(key, text))).collect();
    store.append(Batch { changes, ..scene::batch(session, 1, &["said"]) }).await.unwrap();
}

async fn found(store: &Store, typed: &str) -> Vec<String> {
    let hits = store.search(typed, 10).await.unwrap();
    // The way with two steps finds the same.
    let places = store.search_places(typed, &SearchFilter::default(), 10).await.unwrap();
    assert_eq!(store.matches_at(typed, &places).await.unwrap(), hits, "{typed}");
    hits.into_iter().map(|hit| hit.snippet.marked("[", "]")).collect()
}

/// Any part of a word, in any case; all words must occur; newest first.
pub async fn words_are_found_newest_first(store: Store) {
    let (one, two) = (scene::session(&store, "one").await, scene::session(&store, "two").await);
    say(&store, &one, &[("a", "cargo test --workspace"), ("b", "It failed in serde")]).await;
    say(&store, &two, &[("a", "Cargo doc, then cargo bench")]).await;
    assert_eq!(found(&store, "CARGO").await, ["[Cargo] doc, then [cargo] bench", "[cargo] test --workspace"]);
    assert_eq!(found(&store, "cargo test").await, ["[cargo] [test] --workspace"]);
    assert_eq!(found(&store, "\"test --work\"").await, ["cargo [test --work]space"]);
    assert_eq!(found(&store, "cargo failed").await, [] as [&str; 0]);
    let hits = store.search("serde", 10).await.unwrap();
    assert_eq!((hits[0].session.as_str(), hits[0].seq, hits[0].turn), ("one", 1, Some(1)));
    assert_eq!(store.search("cargo", 1).await.unwrap().len(), 1);
}

/// Chinese, Japanese and Korean have no blanks between words, and words of one or two characters.
pub async fn scripts_without_blanks_are_found(store: Store) {
    let id = scene::session(&store, "one").await;
    let texts = [
        ("zh", "我们在中国工作"),
        ("ja", "テストが失敗しました東京"),
        ("ko", "안녕하세요 세계"),
        ("end", "北京"),
    ];
    say(&store, &id, &texts).await;
    assert_eq!(found(&store, "中国").await, ["我们在[中国]工作"]);
    assert_eq!(found(&store, "中国工").await, ["我们在[中国工]作"]);
    assert_eq!(found(&store, "京").await, ["北[京]", "テストが失敗しました東[京]"], "at the end of a text");
    assert_eq!(found(&store, "北京").await, ["[北京]"]);
    assert_eq!(found(&store, "セ").await, [] as [&str; 0]);
    assert_eq!(found(&store, "失敗 東京").await, ["テストが[失敗]しました[東京]"]);
    assert_eq!(found(&store, "세계 안녕하").await, ["[안녕하]세요 [세계]"]);
    assert_eq!(found(&store, "中国 안녕").await, [] as [&str; 0]);
}

/// Short words that begin very many trigrams are found by reading.
pub async fn a_short_word_that_is_everywhere_is_found(store: Store) {
    let id = scene::session(&store, "one").await;
    let texts: Vec<(String, String)> = (0..700_u32)
        .map(|n| {
            let (one, two) = (char::from_u32(0x4e00 + n).unwrap(), char::from_u32(0x6e00 + n).unwrap());
            (n.to_string(), format!("x{one}{two}{}", if n == 3 { " rare Q" } else { "" }))
        })
        .collect();
    let texts: Vec<(&str, &str)> = texts.iter().map(|(key, text)| (key.as_str(), text.as_str())).collect();
    say(&store, &id, &texts).await;
    assert_eq!(store.search("x", 10).await.unwrap().len(), 10);
    assert_eq!(store.search("X", 1000).await.unwrap().len(), 700);
    assert_eq!(found(&store, "x q").await, ["[x]一三".replace("一三", "七渃") + " rare [Q]"]);
    assert_eq!(found(&store, "x rare").await.len(), 1);
}

/// Whatever a person types is text.
pub async fn odd_syntax_is_only_text(store: Store) {
    let id = scene::session(&store, "one").await;
    say(&store, &id, &[("a", "a* OR (b) NOT c AND \"d\" NEAR(e, 2) text:f ^g {h} + - ' % _ \\ ; --")]).await;
    let odd = [
        "a*",
        "OR (b)",
        "NOT",
        "AND",
        "NEAR(e, 2)",
        "text:f",
        "^g",
        "{h}",
        "+",
        "-",
        "'",
        "%",
        "_",
        "\\",
        ";",
        "--",
        "(b)",
        "* OR",
        "\"NEAR(e, 2)\"",
    ];
    for typed in odd {
        assert_eq!(store.search(typed, 10).await.unwrap().len(), 1, "{typed}");
    }
    let absent = [
        "",
        " ",
        "\"",
        "\"\"",
        "\"\"\"",
        "*",
        "(",
        "()",
        "NEAR(",
        "a AND",
        "text : f",
        "\0",
        "a\0b",
        "%%",
        "''",
        "\u{10ffff}",
        "-- x",
        "' OR 1=1",
        "🦀",
        "\"unclosed",
        "col:",
        "a:b:c",
        "^",
        "{",
        "}",
        "[",
        "\\\\",
        "\u{1}",
    ];
    for typed in absent {
        store.search(typed, 10).await.unwrap();
    }
    assert!(store.search(&"long ".repeat(10_000), 10).await.unwrap().is_empty());
    assert!(store.search(&"x".repeat(100_000), 10).await.unwrap().is_empty());
}

/// The index matches the stored messages.
pub async fn a_changed_message_is_found_by_its_new_text(store: Store) {
    let id = scene::session(&store, "one").await;
    say(&store, &id, &[("a", "half a sentence")]).await;
    say(&store, &id, &[("a", "the whole story")]).await;
    say(&store, &id, &[("b", "zero\0byte")]).await;
    assert_eq!(found(&store, "half").await, [] as [&str; 0]);
    assert_eq!(found(&store, "whole").await, ["the [whole] story"]);
    assert_eq!(found(&store, "byte").await, ["zero\u{fffd}[byte]"]);
}

/// A filter lets through what it names: a session, a directory with the worktrees of its repository, a kind of message.
pub async fn a_filter_bounds_what_is_found(store: Store) {
    let places = [
        ("top", "/work", None),
        ("below", "/work/crates", None),
        ("beside", "/workshop", None),
        ("tree", "/elsewhere/tree", Some(r#"{"made":{"repository":"/work"}}"#)),
    ];
    for (id, cwd, worktree) in places {
        let mut new = scene::new_task(id, 1);
        new.cwd = cwd.to_owned();
        new.task.as_mut().unwrap().worktree = worktree.map(str::to_owned);
        let id = new.id.clone();
        store.create_session(new, scene::lease(&id, scene::EPOCH)).await.unwrap();
        say(&store, &id, &[("a", "the heron")]).await;
    }
    let found = async |filter: SearchFilter| {
        let hits = store.search_within("heron", &filter, 10).await.unwrap();
        hits.into_iter().map(|hit| hit.session.as_str().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(found(SearchFilter::default()).await, ["tree", "beside", "below", "top"]);
    let session = Some(SessionId::new("below"));
    assert_eq!(found(SearchFilter { session: session.clone(), ..SearchFilter::default() }).await, ["below"]);
    let directory = Some("/work".to_owned());
    let below = SearchFilter { directory: directory.clone(), ..SearchFilter::default() };
    assert_eq!(found(below).await, ["tree", "below", "top"]);
    let session = Some(SessionId::new("beside"));
    let neither = SearchFilter { session, directory, ..SearchFilter::default() };
    assert_eq!(found(neither).await, [] as [&str; 0]);
}

/// A kind is known by what a message is, not by what it says.
pub async fn a_kind_of_message_is_searched_alone(store: Store) {
    let id = scene::session(&store, "one").await;
    let calls = |name: &str, content: Option<&str>| {
        let function = json!({ "name": name, "arguments": "{\"q\":\"heron\"}" });
        let call = json!({ "id": "c", "type": "function", "function": function });
        json!({ "role": "assistant", "content": content, "tool_calls": [call] })
    };
    let quoted = r#"heron "function":{"name":"exec_command" "#;
    let messages = [
        ("user", json!({ "role": "user", "content": quoted })),
        ("assistant", json!({ "role": "assistant", "content": "heron" })),
        ("assistant", calls("exec_command", None)),
        ("assistant", calls("apply_patch", Some("I patch the heron."))),
        ("assistant", calls("talaria_recall", None)),
        ("tool", json!({ "role": "tool", "content": "heron", "tool_call_id": "c" })),
    ];
    let changes = messages.iter().enumerate().map(|(number, (role, json))| {
        let (role, json) = ((*role).to_owned(), json.to_string());
        Change::Message(NewMessage { role, json, ..scene::message(&number.to_string(), "heron") })
    });
    let batch = Batch { changes: changes.collect(), ..scene::batch(&id, 1, &["said"]) };
    store.append(batch).await.unwrap();
    let found = async |kind| {
        let filter = SearchFilter { kind, ..SearchFilter::default() };
        store.search_within("heron", &filter, 10).await.unwrap().len()
    };
    let kinds = [
        (None, 6),
        (Some(SearchedKind::SaidAndDone), 4),
        (Some(SearchedKind::Words), 3),
        (Some(SearchedKind::Answers), 2),
        (Some(SearchedKind::Commands), 1),
        (Some(SearchedKind::Patches), 1),
        (Some(SearchedKind::Outputs), 1),
    ];
    for (kind, count) in kinds {
        assert_eq!(found(kind).await, count, "{kind:?}");
    }
}
