//! What runs cost, day by day.

use super::Shared;
use super::at::now;
use super::query::{FromQuery, limit};
use crate::access::Session;
use crate::error::{Answer, ErrorBody};
use crate::following::waiting;
use crate::shapes::cost;
use axum::Json;
use convoke_journal::{Index, RunRow, Search};
use convoke_model::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Microseconds of a day.
const DAY: u64 = 86_400_000_000;

/// How many days.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default)]
pub(crate) struct Which {
    /// At most so many, today being the last (14, and never more than 90).
    days: Option<usize>,
}

/// Days, the newest first.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SpendBody {
    days: Vec<DayBody>,
}

/// What the runs cost that began on one day.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(crate) struct DayBody {
    /// When the day began (UTC).
    #[schema(value_type = u64)]
    day: Timestamp,
    runs: u64,
    /// Millionths of a US dollar, of calls whose price is known.
    known_micros: u64,
    /// Null where the price of a call is not known.
    cost_micros: Option<u64>,
    tokens: u64,
}

/// What runs cost, day by day
#[utoipa::path(get, path = "/spend", tag = "capacity", params(Which), responses(
    (status = 200, body = SpendBody), (status = 401, body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(crate) async fn spend(
    app: Shared,
    _caller: Session,
    FromQuery(which): FromQuery<Which>,
) -> Answer<SpendBody> {
    let days = limit(which.days, 14, 90) as u64;
    let today = now().0 / DAY;
    let since = Timestamp((today + 1).saturating_sub(days) * DAY);
    let state = app.settings.state.clone();
    let rows =
        waiting(move || Ok(Index::open(&state)?.find(&Search { since: Some(since), ..Search::default() })?));
    Ok(Json(SpendBody { days: by_day(&rows.await?, today, days) }))
}

fn by_day(rows: &[RunRow], today: u64, days: u64) -> Vec<DayBody> {
    let first = (today + 1).saturating_sub(days);
    let day = |number: u64| {
        let those: Vec<&RunRow> = rows.iter().filter(|row| row.started_at.0 / DAY == number).collect();
        let known_micros = those.iter().map(|row| row.usage.cost_micros).sum();
        let is_known = those.iter().all(|row| cost(&row.usage).is_some());
        DayBody {
            day: Timestamp(number * DAY),
            runs: those.len() as u64,
            known_micros,
            cost_micros: is_known.then_some(known_micros),
            tokens: those.iter().map(|row| row.usage.tokens()).sum(),
        }
    };
    (first..=today).rev().map(day).collect()
}
