//! What each run took in all, and which tasks took something else: attempts, time, tokens, money.

use super::Side;
use super::result::{RunTotals, TaskTotals, Totals};
use crate::report::{RunReport, TaskReport};
use convoke_model::TaskId;

pub(super) fn run_totals(side: &Side<'_>, report: &RunReport) -> RunTotals {
    let last = side.events.last().map(|stamped| stamped.at).unwrap_or_default();
    let (from, until) = (report.started_at.unwrap_or_default(), report.finished_at.unwrap_or(last));
    let attempts = report.tasks.values().map(|task| task.attempts.len() as u32).sum();
    let ms = report.absences.worked(from, until).as_millis() as u64;
    let started = report.started.as_ref();
    RunTotals {
        run: started.map(|started| started.run.clone()),
        workflow: started.map(|started| started.workflow.clone()).unwrap_or_default(),
        status: report.status,
        events: side.events.len() as u64,
        totals: Totals { attempts, ms, usage: report.usage },
    }
}

pub(super) fn task_totals(reports: &[RunReport; 2]) -> Vec<TaskTotals> {
    let [old, new] = reports;
    let added = new.tasks.keys().filter(|task| !old.tasks.contains_key(*task));
    let totals = |report: &RunReport, task: &TaskReport| {
        let (from, until) = (task.started_at.unwrap_or_default(), task.ended_at.or(task.started_at));
        let ms = report.absences.worked(from, until.unwrap_or_default()).as_millis() as u64;
        Totals { attempts: task.attempts.len() as u32, ms, usage: task.usage }
    };
    let pair = |task: &TaskId| TaskTotals {
        task: task.clone(),
        totals: [0, 1].map(|side| Some(totals(&reports[side], reports[side].tasks.get(task)?))),
    };
    let paid = |totals: &Option<Totals>| totals.map(|totals| (totals.attempts, totals.usage));
    let all = old.tasks.keys().chain(added).map(pair);
    let mut tasks: Vec<TaskTotals> =
        all.filter(|both| paid(&both.totals[0]) != paid(&both.totals[1])).collect();
    tasks.sort_by(|a, b| a.task.cmp(&b.task));
    tasks
}
