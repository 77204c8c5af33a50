//! A run as it stands, or as it stood after one of its events.

use super::App;
use crate::error::ApiError;
use crate::following::{Follower, waiting};
use crate::shapes::Heard;
use convoke_model::{RunId, TaskId, Timestamp};
use convoke_view::Picture;
use serde::Deserialize;
use std::collections::HashMap;
use std::sync::Arc;
use utoipa::IntoParams;

/// After which event.
#[derive(Debug, Clone, Copy, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default)]
pub(crate) struct At {
    /// The number of an event: the run as it stood after it.
    pub at: Option<u64>,
}

/// A run's picture, its position, and whether a process drives the run.
pub(crate) struct RunAt<'a> {
    pub picture: &'a Picture,
    pub position: u64,
    pub live: bool,
    /// Why there may be more than is shown.
    pub problem: Option<&'a str>,
    /// What its agents say at this moment.
    pub said: &'a HashMap<TaskId, Heard>,
}

/// Opens a run and looks at it, as it stands or as it stood.
pub(crate) async fn look<R: Send + 'static>(
    app: &Arc<App>,
    run: &RunId,
    at: Option<u64>,
    look: impl FnOnce(&Follower, RunAt<'_>) -> Result<R, ApiError> + Send + 'static,
) -> Result<R, ApiError> {
    let follower = app.hub.open(run).await?;
    waiting(move || {
        let last = follower.look(|seen| seen.position);
        match at.filter(|at| *at < last) {
            Some(position) => {
                let other = follower.clone();
                follower.at(position, |picture| {
                    let said = HashMap::new();
                    look(&other, RunAt { picture, position, live: true, problem: None, said: &said })
                })?
            }
            None => {
                let other = follower.clone();
                follower.look(|seen| {
                    let problem = seen.problem.as_deref();
                    let (picture, position, live) = (&seen.picture, seen.position, seen.live);
                    let shown = RunAt { picture, position, live, problem, said: &seen.said };
                    look(&other, shown)
                })
            }
        }
    })
    .await
}

/// This moment.
pub(crate) fn now() -> Timestamp {
    let now =
        std::time::SystemTime::now().duration_since(std::time::SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp(u64::try_from(now.as_micros()).unwrap_or(u64::MAX))
}
