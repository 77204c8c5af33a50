//! A run: one line of a list, and the head of its page.

use super::{PayloadBody, cost};
use crate::following::{Listed, Seen};
use convoke_journal::{RunRow, StateDir};
use convoke_model::{Failure, RunId, RunStatus, Timestamp, Usage};
use convoke_view::{Picture, Row, Standing, State};
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// A list of runs.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct RunsBody {
    pub runs: Vec<RunRowBody>,
    /// What `cursor` gives the next ones; null at the end.
    pub next: Option<String>,
    pub totals: TotalsBody,
}

/// All runs together.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct TotalsBody {
    /// How many runs stand so, of those that the search found.
    pub by_status: BTreeMap<String, u64>,
    /// Millionths of a US dollar of runs that were started today (UTC), as far as known.
    pub cost_micros_today: Option<u64>,
}

/// Tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub struct TokensBody {
    pub input: u64,
    pub output: u64,
}

impl TokensBody {
    pub fn of(usage: &Usage) -> TokensBody {
        TokensBody { input: usage.input_tokens, output: usage.output_tokens }
    }
}

/// One run of a list.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct RunRowBody {
    pub run: String,
    pub workflow: String,
    /// `running`, `parked`, `blocked`, `interrupted`, `succeeded`, `partial`, `failed`, `skipped_all` or `cancelled`.
    pub status: String,
    #[schema(value_type = u64)]
    pub started: Timestamp,
    #[schema(value_type = Option<u64>)]
    pub ended: Option<Timestamp>,
    /// How long processes drove it.
    pub worked_ms: u64,
    /// Tasks by how they stand: `waiting`, `blocked`, `running`, `done`, `failed`, `asks`, `skipped`, `cancelled`, `retrying`,
    /// `interrupted`. Those that are not there are none.
    pub counts: BTreeMap<String, u64>,
    /// Tasks that were seen.
    pub total: u64,
    /// Tasks that there are or will be, as far as known.
    pub expected: Option<u64>,
    pub cost_micros: Option<u64>,
    pub tokens: TokensBody,
    /// Questions that wait for a person.
    pub asks: usize,
    /// Whether a process drives it.
    pub live: bool,
    pub folder: String,
    #[schema(value_type = u64)]
    pub last_event: Timestamp,
    /// The workflow file, as it was given.
    pub file: String,
    /// Why its journal cannot be read to the end.
    pub problem: Option<String>,
}

impl RunRowBody {
    /// Of a row of the index.
    pub fn of(row: &RunRow, asks: usize) -> RunRowBody {
        let live =
            row.status == RunStatus::Running || (row.status == RunStatus::Blocked && row.pid.is_some());
        let named = [
            (Standing::Running, row.running),
            (Standing::Done, row.done),
            (Standing::Failed, row.failed),
            (Standing::Asks, asks as u64),
        ];
        RunRowBody {
            run: row.id.0.to_string(),
            workflow: row.workflow.clone(),
            status: row.status.word().to_owned(),
            started: row.started_at,
            ended: row.finished_at,
            worked_ms: row.worked_ms,
            counts: counts(named.into_iter()),
            total: row.total,
            expected: None,
            cost_micros: cost(&row.usage),
            tokens: TokensBody::of(&row.usage),
            asks,
            live,
            folder: row.folder.clone(),
            last_event: row.last_at,
            file: row.file.clone(),
            problem: row.problem.clone(),
        }
    }

    /// Of a run that is folded.
    fn pictured(run: String, picture: &Picture, status: RunStatus, until: Timestamp) -> RunRowBody {
        let (state, table) = (&picture.state, &picture.table);
        let is_seen = |row: &&Row| !row.gone && !row.aside && !row.is_expected();
        let named = Standing::ALL.map(|standing| (standing, table.count(standing)));
        RunRowBody {
            run,
            workflow: state.workflow.clone(),
            status: status.word().to_owned(),
            started: state.started,
            ended: None,
            worked_ms: u64::try_from(state.worked(until).as_millis()).unwrap_or(u64::MAX),
            counts: counts(named.into_iter()),
            total: table.rows().iter().filter(is_seen).count() as u64,
            expected: Some(state.total()),
            cost_micros: cost(&state.usage),
            tokens: TokensBody::of(&state.usage),
            asks: picture.gates.open().count(),
            live: false,
            folder: String::new(),
            last_event: state.last,
            file: String::new(),
            problem: None,
        }
    }

    /// Of a row of the board.
    pub(crate) fn listed(listed: &Listed) -> RunRowBody {
        RunRowBody::of(&listed.row, listed.asks)
    }

    /// The same run, where its journal could not be read: then not everything that it cost is known.
    pub fn with_problem(self, problem: Option<String>) -> RunRowBody {
        match problem {
            None => self,
            Some(why) => RunRowBody { problem: Some(why), cost_micros: None, ..self },
        }
    }
}

fn counts(named: impl Iterator<Item = (Standing, u64)>) -> BTreeMap<String, u64> {
    named
        .filter(|(_, count)| *count > 0)
        .map(|(standing, count)| (standing.word().to_owned(), count))
        .collect()
}

/// The head of a run's page.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct RunHead {
    #[serde(flatten)]
    pub row: RunRowBody,
    /// The number of the last event that is in it.
    pub position: u64,
    pub budget: Option<BudgetBody>,
    /// About how long it takes to its end; absent where that is not known.
    pub eta_ms: Option<u64>,
    pub failure: Option<FailureBody>,
    pub output: Option<PayloadBody>,
    /// What of the machine it waits for, in words.
    pub blocked: Option<String>,
    /// Tasks that run and have given no sign of life for long, the most silent first.
    pub stalled: Vec<Stalled>,
    /// Where its prompts go.
    pub addresses: Vec<String>,
    /// The version that started it.
    pub version: Option<String>,
    /// The run that it was made from.
    pub base: Option<String>,
}

/// What a run may spend.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct BudgetBody {
    pub limit_micros: Option<u64>,
    pub limit_tokens: Option<u64>,
    pub used_micros: Option<u64>,
    pub used_tokens: u64,
}

/// Why something failed.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct FailureBody {
    /// One of the twelve classes.
    pub class: String,
    pub message: String,
    pub hint: Option<String>,
    pub task: Option<String>,
}

impl FailureBody {
    pub fn of(failure: &Failure, task: Option<String>) -> FailureBody {
        let (message, hint) = (failure.message.clone(), failure.hint.clone());
        FailureBody { class: failure.class.to_string(), message, hint, task }
    }
}

/// A task that gives no sign of life.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Stalled {
    pub task: String,
    /// The last sign.
    #[schema(value_type = u64)]
    pub since: Timestamp,
}

/// A task is silent when nothing was heard of it for so long.
const SILENT_MICROS: u64 = 60_000_000;

/// The most silent tasks that are named.
const MOST_STALLED: usize = 20;

/// What the end of a run says; read from its last events.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct RunEnd {
    pub failure: Option<Failure>,
    pub output: Option<PayloadBody>,
    pub version: Option<String>,
    pub base: Option<String>,
    pub file: String,
    pub folder: String,
}

impl RunHead {
    /// Of a run that is followed.
    pub(crate) fn of(state_dir: &StateDir, run: &RunId, seen: &Seen, now: Timestamp) -> RunHead {
        let end = seen.end.clone();
        let state = &seen.picture.state;
        let status = seen.status(state_dir, run);
        let until = if seen.live { now.max(state.last) } else { state.last };
        let row = match &seen.listed {
            // Nothing of its journal could be read: the list knows it from before.
            Some(listed) if seen.position == 0 => RunRowBody::of(listed, 0),
            _ => RunRowBody {
                ended: status.is_end().then_some(state.last),
                live: seen.live,
                folder: end.folder,
                file: end.file,
                ..RunRowBody::pictured(run.0.to_string(), &seen.picture, status, until)
            },
        };
        let row = row.with_problem(seen.problem.clone());
        let failed_step = state.failed_step.as_ref().map(ToString::to_string);
        RunHead {
            position: seen.position,
            budget: seen.plan.as_deref().and_then(|plan| budget(plan, &state.usage, row.cost_micros)),
            eta_ms: if seen.live { eta(state, until) } else { None },
            failure: end.failure.map(|failure| FailureBody::of(&failure, failed_step)),
            output: end.output,
            blocked: seen.blocked.map(|why| why.to_string()),
            stalled: if seen.live { stalled(seen, now) } else { Vec::new() },
            addresses: seen.destinations.clone(),
            version: end.version,
            base: end.base,
            row,
        }
    }
}

impl RunHead {
    /// The same run after one of its earlier events.
    pub fn back_at(self, picture: &Picture, position: u64) -> RunHead {
        let status = picture.state.status.unwrap_or(RunStatus::Running);
        let (folder, file) = (self.row.folder, self.row.file);
        let row = RunRowBody {
            live: true,
            folder,
            file,
            ..RunRowBody::pictured(self.row.run, picture, status, picture.state.last)
        };
        let (failure, output, blocked, eta_ms, stalled) = (None, None, None, None, Vec::new());
        RunHead { row, position, failure, output, blocked, eta_ms, stalled, ..self }
    }
}

fn budget(plan: &convoke_plan::Plan, used: &Usage, used_micros: Option<u64>) -> Option<BudgetBody> {
    let budget = plan.root().limits.budget.as_ref()?;
    Some(BudgetBody {
        limit_micros: budget.micros,
        limit_tokens: budget.tokens,
        used_micros,
        used_tokens: used.tokens(),
    })
}

/// By the pace so far, once a tenth is done.
fn eta(state: &State, until: Timestamp) -> Option<u64> {
    let (done, total) = (state.ended.total(), state.total());
    if done == 0 || total <= done || done * 10 < total {
        return None;
    }
    let worked = state.worked(until).as_millis();
    u64::try_from(worked * u128::from(total - done) / u128::from(done)).ok()
}

fn stalled(seen: &Seen, now: Timestamp) -> Vec<Stalled> {
    let rows = seen.picture.state.running.values().filter_map(|task| seen.picture.table.get(task));
    let signs = rows.map(|(_, row)| {
        let heard = seen.said.get(&row.task).map_or(row.last_sign, |heard| heard.at.max(row.last_sign));
        Stalled { task: row.task.to_string(), since: heard }
    });
    let mut silent: Vec<Stalled> =
        signs.filter(|sign| now.0.saturating_sub(sign.since.0) > SILENT_MICROS).collect();
    silent.sort_by_key(|stalled| stalled.since);
    silent.truncate(MOST_STALLED);
    silent
}
