//! An answer is bound to the question that was shown, by a digest that covers secrets, too.

use talaria_core::api::{AnswerRequest, ProblemCode, RequestState, SessionStarted};
use talaria_core::event::Event;
use talaria_core::ids::TicketId;
use talaria_core::policy::ApprovalPolicy;
use talaria_core::request::{Ask, Who};
use talaria_scripted::Reply;
use talaria_testkit::Codex;

use crate::home::Home;
use crate::stage::both_versions;

both_versions!(
    newest:
    an_answer_to_another_question_that_looks_the_same_is_refused,
);

struct Shown {
    started: SessionStarted,
    ticket: TicketId,
    label: String,
    digest: Option<String>,
}

async fn asked(home: &Home, command: &str) -> Shown {
    home.model.push(Reply::new().command(command));
    let started = home.start(ApprovalPolicy::Untrusted, "go").await;
    let (ticket, label, digest) = home
        .events(&started, 0)
        .await
        .until(|event| match event {
            Event::RequestOpened { id, ask, digest, .. } => {
                let Ask::Command { command, .. } = &**ask else { panic!("{ask:?}") };
                Some((id.clone(), command.clone(), digest.clone()))
            }
            _ => None,
        })
        .await;
    Shown { started, ticket, label, digest }
}

async fn an_answer_to_another_question_that_looks_the_same_is_refused(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.open().await;
    let key = |letter: &str| format!("sk-proj-{}", letter.repeat(40));
    let first = asked(&home, &format!("touch {}", key("a"))).await;
    let second = asked(&home, &format!("touch {}", key("b"))).await;
    let again = asked(&home, &format!("touch {}", key("a"))).await;
    assert_eq!(first.label, second.label, "with its secret masked it looks the same");
    assert!(!first.label.contains("aaaa"));
    assert!(first.digest.is_some() && first.digest != second.digest);
    assert_eq!(first.digest, again.digest, "the same question is the same");
    let told = home.engine().request(second.ticket.as_str()).await.unwrap();
    assert_eq!(told.digest, second.digest);

    let answer = async |shown: &Shown, digest: Option<String>| {
        let answer = serde_json::json!({ "decision": "decline" });
        let given = AnswerRequest { answer, by: Who::User, digest };
        home.engine().answer(shown.ticket.as_str(), given).await
    };
    for wrong in [first.digest.clone(), Some("0".repeat(64)), Some(String::new())] {
        let refused = answer(&second, wrong).await.unwrap_err();
        assert_eq!(refused.code, ProblemCode::Misfit);
        assert!(refused.message.contains("something else"), "{}", refused.message);
        let state = home.engine().request(second.ticket.as_str()).await.unwrap().state;
        assert_eq!(state, RequestState::Open, "nothing happened");
    }
    for (shown, digest) in [(&second, second.digest.clone()), (&first, first.digest.clone()), (&again, None)]
    {
        home.model.push(Reply::say("then not"));
        answer(shown, digest).await.unwrap();
        home.events(&shown.started, 0).await.outcome().await;
    }
    home.close().await;
}
