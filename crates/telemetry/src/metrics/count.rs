//! Totals of all runs, kept run by run in `follow/metrics.db`.

use super::totals::{Growing, Totals};
use crate::by_run::{self, Part, Parts};
use convoke_follow::{Consumer, Delivered, Error, Fold, Forwarder, Lease, Since, Undelivered};
use convoke_journal::{Reader, StateDir};
use convoke_model::RunId;
use futures::future::BoxFuture;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The name of its cursors.
const NAME: &str = "counting";

/// Counts the runs of a state directory as a consumer of their journals. Its receiver is a file, which is always there.
pub struct Counting {
    path: PathBuf,
}

impl Counting {
    /// Counts into the file of this state directory.
    pub fn new(state: &StateDir) -> Counting {
        Counting { path: state.path().join("follow").join("metrics.db") }
    }
}

impl Consumer for Counting {
    type Item = Arc<Mutex<Totals>>;

    fn name(&self) -> &str {
        NAME
    }

    fn begin(&self, _run: &RunId, _journal: &Reader) -> Box<dyn Fold<Self::Item>> {
        Box::new(Growing::default())
    }

    /// The totals are what they are by now, so one of the items stands for all.
    fn deliver<'a>(
        &'a mut self,
        run: &'a RunId,
        items: &'a [Self::Item],
    ) -> BoxFuture<'a, Result<Delivered, Undelivered>> {
        let kept = items.last().map_or(Ok(()), |totals| {
            let totals = totals.lock().unwrap_or_else(PoisonError::into_inner).clone();
            by_run::open(&self.path).and_then(|store| by_run::keep(&store, run, &totals))
        });
        let later = |error: rusqlite::Error| Undelivered::Later { why: error.to_string(), after: None };
        Box::pin(std::future::ready(kept.map(|()| Delivered::default()).map_err(later)))
    }
}

/// The totals of all runs.
pub type Count = Parts<Totals>;

/// Counts what is new, unless another process does, and reads what is counted.
pub async fn count(state: &StateDir) -> Result<Count, Error> {
    if let Some(lease) = Lease::take(state, NAME)? {
        let mut forwarder = Forwarder::open(state, Counting::new(state), "metrics", Since::Ever, lease)?;
        loop {
            let pass = forwarder.pass().await?;
            if pass.undelivered.is_some() || pass.delivered == 0 {
                break;
            }
        }
    }
    let path = Counting::new(state).path;
    read(state, &path).map_err(|source| Error::Cursors { path, source })
}

fn read(state: &StateDir, path: &Path) -> rusqlite::Result<Count> {
    match path.exists() {
        true => by_run::read(&mut by_run::open(path)?, state),
        false => Ok(Count::default()),
    }
}

impl Part for Totals {
    fn workflow(&self) -> &str {
        &self.workflow
    }

    fn add_to(&self, sum: &mut Totals) {
        sum.workflow.clone_from(&self.workflow);
        let pairs = [
            (&self.ends, &mut sum.ends),
            (&self.attempts, &mut sum.attempts),
            (&self.failures, &mut sum.failures),
        ];
        for (from, to) in pairs {
            from.iter().for_each(|(name, count)| *to.entry(name.clone()).or_default() += count);
        }
        sum.run_times.add_all(&self.run_times);
        sum.attempt_times.add_all(&self.attempt_times);
        sum.gate_times.add_all(&self.gate_times);
        sum.failed_tasks += self.failed_tasks;
        sum.budgets += self.budgets;
        sum.usage += self.usage;
        for (name, model) in &self.models {
            let to = sum.models.entry(name.clone()).or_default();
            to.times.add_all(&model.times);
            to.usage += model.usage;
        }
        for (name, calls) in &self.tools {
            let to = sum.tools.entry(name.clone()).or_default();
            to.iter_mut().zip(calls).for_each(|(to, more)| *to += more);
        }
    }
}
