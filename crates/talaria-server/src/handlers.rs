//! One handler for each route: takes what is asked, calls the engine, writes what it says.
//!
//! Each request runs in its own async task, so that a peer that disconnects does not stop it half-way.

use axum::Router;
use axum::http::{HeaderMap, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use serde::Serialize;
use talaria_core::api::{
    AnswerRequest, AuditQuery, Compact, Discard, Fork, Import, Interrupt, LookAt, MemoryHistoryQuery,
    MemoryImport, MemoryQuery, MemoryWish, NewSession, NewTask, NewToken, NewTurn, Notify, OutsideCall,
    PermissionsChange, Problem, ProblemCode, Prune, RenameSession, Say, SessionQuery, Shell,
    SkillProposalQuery, SkillQuery, SkillTextQuery, SkillWish, Stop, StopBackground, TaskQuery, Undo,
    UsageQuery,
};
use talaria_engine::engine::Engine;
use talaria_home::clock::now_ms;
use talaria_import::Destination;

use crate::reply::{answer, done, lines, refusal};
use crate::route;
use crate::stream;
use crate::taken::{Asked, From, Given, Id, NumberedRange, Of, PAGE, Words};

/// Makes the service of every route.
pub(crate) fn routes(engine: Engine) -> Router {
    let handlers: [(route::Route, MethodRouter<Engine>); 53] = [
        (route::INFO, get(info)),
        (route::STATUS, get(status)),
        (route::STOP, post(stop)),
        (route::START_SESSION, post(start_session)),
        (route::SESSIONS, get(sessions)),
        (route::SESSION, get(session)),
        (route::CONTEXT, get(context)),
        (route::START_TURN, post(start_turn)),
        (route::SAY, post(say)),
        (route::INTERRUPT, post(interrupt)),
        (route::COMPACT, post(compact)),
        (route::FORK, post(fork)),
        (route::UNDO, post(undo)),
        (route::RETRY, post(retry)),
        (route::RENAME, post(rename)),
        (route::PERMISSIONS, get(permissions)),
        (route::CHANGE_PERMISSIONS, post(change_permissions)),
        (route::FOLLOW, get(follow)),
        (route::SHELL, post(shell)),
        (route::EVENTS, get(events)),
        (route::MESSAGES, get(messages)),
        (route::SEARCH, get(search)),
        (route::PRUNE, post(prune)),
        (route::BACKGROUND, get(background)),
        (route::STOP_BACKGROUND, post(stop_background)),
        (route::REQUESTS, get(requests)),
        (route::REQUEST, get(request)),
        (route::ANSWER, post(answer_request)),
        (route::START_TASK, post(start_task)),
        (route::TASKS, get(tasks)),
        (route::TASK, get(task)),
        (route::SEND, post(send)),
        (route::DIFF, get(diff)),
        (route::APPLY, post(apply)),
        (route::DISCARD, post(discard)),
        (route::OFFERS, post(offers)),
        (route::NOTIFY, post(notify)),
        (route::MEMORY, get(memory)),
        (route::CHANGE_MEMORY, post(change_memory)),
        (route::MEMORY_HISTORY, get(memory_history)),
        (route::IMPORT_MEMORY, post(import_memory)),
        (route::MEMORY_PENDING, get(memory_pending)),
        (route::SKILLS, get(skills)),
        (route::CHANGE_SKILLS, post(change_skills)),
        (route::SKILL, get(skill)),
        (route::SKILL_PROPOSALS, get(skill_proposals)),
        (route::CALL_TOOL, post(call_tool)),
        (route::USAGE, get(usage)),
        (route::CREATE_TOKEN, post(create_token)),
        (route::TOKENS, get(tokens)),
        (route::REVOKE_TOKEN, post(revoke_token)),
        (route::AUDIT, get(audit)),
        (route::IMPORT, post(import)),
    ];
    let add = |routes: Router<Engine>, (route, handler): (route::Route, _)| routes.route(route.path, handler);
    let routes = handlers.into_iter().fold(Router::new(), add);
    routes.fallback(nothing_here).method_not_allowed_fallback(other_verb).with_state(engine)
}

async fn info(Of(engine): Of) -> Response {
    answer(Ok(engine.info()))
}

async fn status(Of(engine): Of) -> Response {
    answer_from_task(async move { engine.status().await }).await
}

async fn stop(Of(engine): Of, Given(stop): Given<Stop>) -> Response {
    answer_from_task(async move { engine.stop(stop).await }).await
}

async fn start_session(Of(engine): Of, Given(new): Given<NewSession>) -> Response {
    answer_from_task(async move { engine.start_session(new).await }).await
}

async fn sessions(Of(engine): Of, Asked(mut query): Asked<SessionQuery>) -> Response {
    query.limit = query.limit.min(PAGE);
    answer_from_task(async move { engine.sessions(query).await }).await
}

async fn session(Of(engine): Of, Id(id): Id) -> Response {
    answer_from_task(async move { engine.session(&id).await }).await
}

async fn context(Of(engine): Of, Id(id): Id) -> Response {
    answer_from_task(async move { engine.context(&id).await }).await
}

async fn start_turn(Of(engine): Of, Id(id): Id, Given(turn): Given<NewTurn>) -> Response {
    answer_from_task(async move { engine.start_turn(&id, turn).await }).await
}

async fn say(Of(engine): Of, Id(id): Id, Given(say): Given<Say>) -> Response {
    answer_from_task(async move { engine.say(&id, say).await }).await
}

async fn interrupt(Of(engine): Of, Id(id): Id, Given(interrupt): Given<Interrupt>) -> Response {
    done(task_of(async move { engine.interrupt(&id, interrupt).await }).await)
}

async fn compact(Of(engine): Of, Id(id): Id, Given(compact): Given<Compact>) -> Response {
    answer_from_task(async move { engine.compact(&id, compact).await }).await
}

async fn fork(Of(engine): Of, Id(id): Id, Given(fork): Given<Fork>) -> Response {
    answer_from_task(async move { engine.fork(&id, fork).await }).await
}

async fn undo(Of(engine): Of, Id(id): Id, Given(undo): Given<Undo>) -> Response {
    answer_from_task(async move { engine.undo(&id, undo).await }).await
}

async fn retry(Of(engine): Of, Id(id): Id, Given(turn): Given<NewTurn>) -> Response {
    answer_from_task(async move { engine.retry(&id, turn).await }).await
}

async fn rename(Of(engine): Of, Id(id): Id, Given(rename): Given<RenameSession>) -> Response {
    answer_from_task(async move { engine.rename(&id, rename).await }).await
}

async fn permissions(Of(engine): Of, Id(id): Id) -> Response {
    answer_from_task(async move { engine.permissions(&id).await }).await
}

async fn change_permissions(Of(engine): Of, Id(id): Id, Given(change): Given<PermissionsChange>) -> Response {
    answer_from_task(async move { engine.change_permissions(&id, change).await }).await
}

async fn follow(Of(engine): Of, Id(id): Id, Asked(from): Asked<From>, headers: HeaderMap) -> Response {
    let after = match from.last_received(&headers) {
        Ok(after) => after,
        Err(bad) => return bad.into_response(),
    };
    match engine.follow(&id, after).await {
        Ok(follow) => stream::response(follow),
        Err(problem) => refusal(&problem),
    }
}

async fn shell(Of(engine): Of, Given(shell): Given<Shell>) -> Response {
    match engine.shell(shell).await {
        Ok(run) => stream::shell(run),
        Err(problem) => refusal(&problem),
    }
}

async fn events(Of(engine): Of, Id(id): Id, Asked(page): Asked<NumberedRange>) -> Response {
    lines(task_of(async move { engine.events(&id, page.after, page.limit()).await }).await)
}

async fn messages(Of(engine): Of, Id(id): Id, Asked(page): Asked<NumberedRange>) -> Response {
    answer_from_task(async move { engine.messages(&id, page.after, page.limit()).await }).await
}

async fn search(Of(engine): Of, Asked(asked): Asked<Words>) -> Response {
    answer_from_task(async move { engine.search(&asked.words, asked.limit()).await }).await
}

async fn prune(Of(engine): Of, Given(prune): Given<Prune>) -> Response {
    answer_from_task(async move { engine.prune(prune).await }).await
}

async fn background(Of(engine): Of) -> Response {
    answer_from_task(async move { engine.background().await }).await
}

async fn stop_background(Of(engine): Of, Id(id): Id, Given(stop): Given<StopBackground>) -> Response {
    answer_from_task(async move { engine.stop_background(&id, stop).await }).await
}

async fn requests(Of(engine): Of) -> Response {
    answer_from_task(async move { engine.requests().await }).await
}

async fn request(Of(engine): Of, Id(id): Id) -> Response {
    answer_from_task(async move { engine.request(&id).await }).await
}

async fn answer_request(Of(engine): Of, Id(id): Id, Given(given): Given<AnswerRequest>) -> Response {
    answer_from_task(async move { engine.answer(&id, given).await }).await
}

async fn start_task(Of(engine): Of, Given(new): Given<NewTask>) -> Response {
    answer_from_task(async move { engine.start_task(new).await }).await
}

async fn tasks(Of(engine): Of, Asked(mut query): Asked<TaskQuery>) -> Response {
    query.limit = query.limit.min(PAGE);
    answer_from_task(async move { engine.tasks(query).await }).await
}

async fn task(Of(engine): Of, Id(id): Id) -> Response {
    answer_from_task(async move { engine.task(&id).await }).await
}

async fn send(Of(engine): Of, Id(id): Id, Given(turn): Given<NewTurn>) -> Response {
    answer_from_task(async move { engine.send(&id, turn).await }).await
}

async fn diff(Of(engine): Of, Id(id): Id) -> Response {
    answer_from_task(async move { engine.diff(&id).await }).await
}

async fn apply(Of(engine): Of, Id(id): Id) -> Response {
    answer_from_task(async move { engine.apply(&id).await }).await
}

async fn discard(Of(engine): Of, Id(id): Id, Given(discard): Given<Discard>) -> Response {
    answer_from_task(async move { engine.discard(&id, discard).await }).await
}

async fn offers(Of(engine): Of, Given(look): Given<LookAt>) -> Response {
    answer_from_task(async move { engine.offers(look).await }).await
}

async fn notify(Of(engine): Of, Given(notify): Given<Notify>) -> Response {
    answer_from_task(async move { engine.notify(notify).await }).await
}

async fn memory(Of(engine): Of, Asked(query): Asked<MemoryQuery>) -> Response {
    answer_from_task(async move { engine.memory(query).await }).await
}

async fn change_memory(Of(engine): Of, Given(wish): Given<MemoryWish>) -> Response {
    answer_from_task(async move { engine.change_memory(wish).await }).await
}

async fn call_tool(Of(engine): Of, Given(call): Given<OutsideCall>) -> Response {
    answer_from_task(async move { engine.call_tool(call).await }).await
}

async fn memory_history(Of(engine): Of, Asked(mut query): Asked<MemoryHistoryQuery>) -> Response {
    query.limit = query.limit.min(PAGE);
    answer_from_task(async move { engine.memory_history(query).await }).await
}

async fn import_memory(Of(engine): Of, Given(import): Given<MemoryImport>) -> Response {
    answer_from_task(async move { engine.import_memory(import).await }).await
}

async fn memory_pending(Of(engine): Of) -> Response {
    answer_from_task(async move { engine.memory_pending().await }).await
}

async fn skills(Of(engine): Of, Asked(query): Asked<SkillQuery>) -> Response {
    answer_from_task(async move { engine.skills(query).await }).await
}

async fn change_skills(Of(engine): Of, Given(wish): Given<SkillWish>) -> Response {
    answer_from_task(async move { engine.change_skills(wish).await }).await
}

async fn skill(Of(engine): Of, Asked(query): Asked<SkillTextQuery>) -> Response {
    answer_from_task(async move { engine.skill(query).await }).await
}

async fn skill_proposals(Of(engine): Of, Asked(query): Asked<SkillProposalQuery>) -> Response {
    answer_from_task(async move { engine.skill_proposals(query).await }).await
}

async fn usage(Of(engine): Of, Asked(query): Asked<UsageQuery>) -> Response {
    answer_from_task(async move { engine.usage(query).await }).await
}

async fn create_token(Of(engine): Of, Given(new): Given<NewToken>) -> Response {
    answer_from_task(async move { engine.create_token(new).await }).await
}

async fn tokens(Of(engine): Of) -> Response {
    answer_from_task(async move { engine.tokens().await }).await
}

async fn revoke_token(Of(engine): Of, Id(id): Id) -> Response {
    answer_from_task(async move { engine.revoke_token(&id).await }).await
}

async fn audit(Of(engine): Of, Asked(mut query): Asked<AuditQuery>) -> Response {
    query.limit = query.limit.min(PAGE);
    answer_from_task(async move { engine.audit(query).await }).await
}

async fn import(Of(engine): Of, Given(import): Given<Import>) -> Response {
    answer_from_task(async move {
        let permit = engine.permit_import().await?;
        let (store, owner) = (permit.store.clone(), permit.owner.clone());
        let into = Destination { store, owner, now: now_ms(), new_id: permit.new_id };
        let imported = talaria_import::import(&import, &into).await;
        imported.map_err(|error| error.problem(|error| permit.problem(error)))
    })
    .await
}

async fn nothing_here(uri: Uri) -> Response {
    refusal(&Problem::new(ProblemCode::Unknown, format!("there is nothing at {}", uri.path())))
}

async fn other_verb(uri: Uri) -> Response {
    let message = format!("{} is not called like this", uri.path());
    refusal(&Problem::new(ProblemCode::BadRequest, message))
}

async fn answer_from_task<T: Serialize + Send + 'static>(
    work: impl Future<Output = Result<T, Problem>> + Send + 'static,
) -> Response {
    answer(task_of(work).await)
}

async fn task_of<T: Send + 'static>(
    work: impl Future<Output = Result<T, Problem>> + Send + 'static,
) -> Result<T, Problem> {
    let broken = |_| Problem::new(ProblemCode::Internal, "the engine failed with an internal error");
    tokio::spawn(work).await.map_err(broken)?
}
