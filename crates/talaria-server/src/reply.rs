//! How what the engine says is written: JSON, and a fitting status for a refusal.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use serde::Serialize;
use talaria_core::api::{Problem, ProblemCode};
use talaria_engine::engine::EventLine;

use crate::route;

/// Writes a result.
pub(crate) fn answer<T: Serialize>(result: Result<T, Problem>) -> Response {
    let text = result.and_then(|value| {
        serde_json::to_vec(&value).map_err(|error| {
            Problem::new(ProblemCode::Internal, format!("the answer cannot be written: {error}"))
        })
    });
    match text {
        Ok(text) => json(StatusCode::OK, Body::from(text)),
        Err(problem) => refusal(&problem),
    }
}

/// Writes that it was done, and nothing else.
pub(crate) fn done(result: Result<(), Problem>) -> Response {
    match result {
        Ok(()) => {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::NO_CONTENT;
            response
        }
        Err(problem) => refusal(&problem),
    }
}

/// Writes events, which are JSON already.
pub(crate) fn lines(result: Result<Vec<EventLine>, Problem>) -> Response {
    match result {
        Ok(lines) => {
            let lines: Vec<&str> = lines.iter().map(|line| &*line.json).collect();
            json(StatusCode::OK, Body::from(format!("[{}]", lines.join(","))))
        }
        Err(problem) => refusal(&problem),
    }
}

/// Writes why something was not done.
pub(crate) fn refusal(problem: &Problem) -> Response {
    // Only strings: this cannot fail.
    json(route::status(problem.code), Body::from(serde_json::to_vec(problem).unwrap_or_default()))
}

fn json(status: StatusCode, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_broken_is_a_refusal_with_a_status_of_its_own() {
        for code in [ProblemCode::Store, ProblemCode::Internal] {
            let response = refusal(&Problem::new(code, "the disk is broken"));
            assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
            assert_eq!(response.headers()[header::CONTENT_TYPE], "application/json");
        }
    }
}
