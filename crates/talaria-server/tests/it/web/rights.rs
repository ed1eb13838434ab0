//! What a token may do: within its directories, never without a sandbox, and only with what was shown.

use super::*;

async fn shown(web: &WebScene, token: &str, ticket: &str) -> Value {
    let text = web.expect(200, &web.call(&route::REQUEST, ticket).bearing(token), "show").await;
    serde_json::from_str(text.split_once("\r\n\r\n").unwrap().1).unwrap()
}

#[tokio::test]
async fn an_answer_needs_the_digest_and_the_second_learns_who_was_first() {
    let web = WebScene::of(Scene::asking().await).await;
    let client = web.scene.client().await;
    let task = client.start_task(&web.scene.new_task("ask")).await.unwrap();
    let ticket = asked(&client, &task.session, task.after).await;
    let answering = [TokenScope::View, TokenScope::Answer, TokenScope::AnswerOutside];
    let (one, two) = (web.token("one", &answering, &[]).await, web.token("two", &answering, &[]).await);
    let inside = web.token("inside", &[TokenScope::View, TokenScope::Answer], &[]).await;
    let words = web.token("words", &[TokenScope::View, "answer:input".parse().unwrap()], &[]).await;
    let digest = shown(&web, &one, ticket.as_str()).await["digest"].clone();
    assert!(digest.is_string());
    let yes = |decision: &str, digest: &Value| json!({ "answer": { "decision": decision }, "by": "user", "digest": digest });
    let call =
        |token: &str, body: &Value| web.call(&route::ANSWER, ticket.as_str()).bearing(token).saying(body);
    let blind = json!({ "answer": { "decision": "accept" }, "by": "user" });
    web.expect(422, &call(&one, &blind), "without a digest").await;
    web.expect(422, &call(&one, &yes("accept", &json!("0000"))), "forged").await;
    web.expect(403, &call(&words, &yes("accept", &digest)), "another kind").await;
    let always = web.expect(403, &call(&one, &yes("accept_for_session", &digest)), "for later").await;
    assert!(always.contains("answer:always"), "{always}");
    let outside = web.expect(403, &call(&inside, &yes("accept", &digest)), "outside").await;
    assert!(outside.contains("answer:outside"), "{outside}");
    assert_eq!(shown(&web, &one, ticket.as_str()).await["state"], "open");
    web.expect(200, &call(&one, &yes("decline", &digest)), "the first").await;
    let second = web.expect(409, &call(&two, &yes("decline", &digest)), "the second").await;
    assert!(second.contains("over TCP from 127.0.0.1"), "{second}");
    let audit = client.audit(&talaria_core::api::AuditQuery::default()).await.unwrap();
    let row = audit.iter().find(|row| row.action == "answer" && !row.refused).unwrap();
    assert_eq!((row.principal.as_str(), row.established.as_str()), ("token:one", "over TCP from 127.0.0.1"));
    assert_eq!(row.digest.as_deref(), digest.as_str());
    let refused: Vec<&str> =
        audit.iter().filter(|row| row.refused).map(|row| row.principal.as_str()).collect();
    assert!(refused.contains(&"token:words") && refused.contains(&"token:inside"), "{refused:?}");
}

#[tokio::test]
async fn a_token_works_and_sees_only_below_its_directories() {
    let web = WebScene::of(Scene::start().await).await;
    let client = web.scene.client().await;
    let work = tempfile::tempdir().unwrap();
    let root = work.path().canonicalize().unwrap();
    std::os::unix::fs::symlink("/", root.join("out")).unwrap();
    let scopes = [TokenScope::View, TokenScope::Start, TokenScope::Shell, TokenScope::Answer];
    let token = web.token("bound", &scopes, &[root.to_str().unwrap()]).await;
    let (session, _) = web.scene.started(&client, "run").await;
    // A conversation of the person in `/` does not exist for it.
    for route in [
        route::SESSION,
        route::FOLLOW,
        route::EVENTS,
        route::MESSAGES,
        route::INTERRUPT,
        route::SAY,
        route::START_TURN,
    ] {
        web.expect(404, &web.call(&route, session.id.as_str()).bearing(&token), route.name).await;
    }
    for path in ["/v1/sessions", "/v1/tasks", "/v1/requests", "/v1/search?words=run"] {
        let call = WebCall { path: path.to_owned(), ..web.call(&route::SESSIONS, "") };
        let text = web.expect(200, &call.bearing(&token), path).await;
        assert!(text.ends_with("\r\n\r\n[]"), "{path}: {text}");
    }
    web.expect(403, &web.call(&route::STATUS, "").bearing(&token), "everything").await;
    let task = |cwd: &str| {
        let mut new = remote(json!(web.scene.new_task("x")));
        new["cwd"] = json!(cwd);
        new
    };
    let start = |body: &Value| web.call(&route::START_TASK, "").bearing(&token).saying(body);
    let escape = root.join("out");
    for cwd in ["/", "/etc", escape.to_str().unwrap()] {
        web.expect(403, &start(&task(cwd)), cwd).await;
    }
    let (status, text) = web.send(&start(&task(&format!("{}/..", root.display())))).await;
    assert!([400, 403].contains(&status), "above it: {status} {text}");
    let mut described = task(root.to_str().unwrap());
    described["turn"]["caller"] = json!({ "codex": "/bin/sh" });
    web.expect(400, &start(&described), "a program of its choice").await;
    described["turn"]["caller"] = json!({ "environment": [["PATH", "/tmp"]] });
    web.expect(400, &start(&described), "an environment").await;
    let mut open = task(root.to_str().unwrap());
    open["sandbox"] = json!("danger-full-access");
    let (status, text) = web.send(&start(&open)).await;
    assert!([400, 403].contains(&status), "no sandbox: {status} {text}");
    let shell = json!({ "cwd": "/", "command": "id", "sandbox": "read-only" });
    web.expect(403, &web.call(&route::SHELL, "").bearing(&token).saying(&shell), "shell elsewhere").await;
    let shell = json!({ "cwd": root, "command": "id" });
    web.expect(403, &web.call(&route::SHELL, "").bearing(&token).saying(&shell), "shell without sandbox")
        .await;
    assert_eq!(
        client.tasks(&talaria_core::api::TaskQuery::default()).await.unwrap().len(),
        0,
        "none was started"
    );
}

#[tokio::test]
async fn a_token_is_nowhere_but_in_the_response_and_makes_no_wider_one() {
    let web = WebScene::of(Scene::start().await).await;
    let admin = web.token("admin", &[TokenScope::View, TokenScope::Admin], &[]).await;
    let make = |scopes: Value| {
        let body = json!({ "name": "child", "scopes": scopes });
        web.call(&route::CREATE_TOKEN, "").bearing(&admin).saying(&body)
    };
    web.expect(403, &make(json!(["view", "answer"])), "wider").await;
    let text = web.expect(200, &make(json!(["view"])), "narrower").await;
    let made: Value = serde_json::from_str(text.split_once("\r\n\r\n").unwrap().1).unwrap();
    let child = made["token"].as_str().unwrap();
    web.expect(200, &web.call(&route::TASKS, "").bearing(child), "it works").await;
    let secrets: Vec<&str> =
        [admin.as_str(), child].iter().map(|token| token.rsplit('_').next().unwrap()).collect();
    let client = web.scene.client().await;
    let said = format!(
        "{:?} {:?} {:?}",
        client.tokens().await.unwrap(),
        client.audit(&talaria_core::api::AuditQuery::default()).await.unwrap(),
        web.scene.notices.lock().unwrap()
    );
    assert!(secrets.iter().all(|secret| !said.contains(secret)));
    let mut files = 0;
    for entry in std::fs::read_dir(web.scene.home.path()).unwrap().flatten() {
        let Ok(bytes) = std::fs::read(entry.path()) else { continue };
        files += 1;
        for secret in &secrets {
            assert!(!bytes.windows(secret.len()).any(|part| part == secret.as_bytes()), "{:?}", entry.path());
        }
    }
    assert!(files > 1, "the database was not looked at");
}
