//! What a caller's token may do, and which server this is.

use super::{Shared, at};
use crate::access::{Role, Session};
use crate::error::{Answer, ErrorBody};
use axum::Json;
use convoke_model::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

/// The caller and the server.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SessionBody {
    /// The token's name.
    name: String,
    role: Role,
    can_act: Can,
    version: String,
    state_dir: String,
    /// Whether runs may be started from here.
    can_start: bool,
    /// Folders from which runs may be started.
    folders: Vec<String>,
    #[schema(value_type = u64)]
    server_time: Timestamp,
}

/// What the token may do besides looking.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Can {
    operate: bool,
    approve: bool,
}

/// The caller and the server
#[utoipa::path(get, path = "/session", tag = "session", responses(
    (status = 200, body = SessionBody), (status = 401, body = ErrorBody)))]
pub(crate) async fn session(app: Shared, session: Session) -> Answer<SessionBody> {
    let settings = &app.settings;
    Ok(Json(SessionBody {
        can_act: Can { operate: session.role >= Role::Operate, approve: session.role >= Role::Approve },
        name: session.name,
        role: session.role,
        version: settings.version.clone(),
        state_dir: settings.state.path().display().to_string(),
        can_start: !settings.folders.is_empty(),
        folders: settings.folders.iter().map(|folder| folder.display().to_string()).collect(),
        server_time: at::now(),
    }))
}
