//! Every question that any run asks.

use super::Shared;
use crate::access::Session;
use crate::error::{Answer, ApiError, ErrorBody};
use crate::following::waiting;
use crate::shapes::{InboxBody, grouped};
use axum::Json;

/// Every question that any run asks
#[utoipa::path(get, path = "/inbox", tag = "inbox", responses(
    (status = 200, body = InboxBody), (status = 401, body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(crate) async fn inbox(app: Shared, _caller: Session) -> Answer<InboxBody> {
    let hub = app.hub.clone();
    let view = waiting(move || {
        if hub.board.look() {
            hub.tell();
        }
        Ok(hub.board.view())
    })
    .await?;
    if let Some(problem) = &view.problem {
        return Err(ApiError::new(axum::http::StatusCode::SERVICE_UNAVAILABLE, "state", problem.clone()));
    }
    let questions: Vec<_> = view.questions.iter().map(|opened| (*opened.question).clone()).collect();
    Ok(Json(InboxBody { groups: grouped(questions.iter()), questions, cut: view.is_cut }))
}
