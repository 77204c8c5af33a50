//! What the children of a phase came to since it was last looked at: the same as looking at all of them (`try_progress`), without doing so
//! whenever one ends, which with many children would be work that grows with their square.
//!
//! Looks upwards from those that have ended: a task below another one with open work changes nothing above. Where that is not
//! enough (nothing is open any more, a child was stopped or has failed, this is the first look) all are looked at. Invariant: what
//! is answered here is what `progress_of` answers for the whole try, but for whether it waits or is being stopped.

use super::state::OpenWork;
use super::trigger::Status;
use super::try_progress::TryProgress;
use crate::state::{State, TaskIx};
use crate::view::View;
use convoke_model::hash::HashSet;
use convoke_model::{ChildKind, ChildSpec};
use convoke_plan::Phase;

/// What those that have ended come to.
enum Found {
    /// Nothing above them can have changed but for these questions.
    Questions(Vec<ChildSpec>),
    /// All must be looked at.
    Unclear,
}

impl View<'_> {
    /// What the newest try of a phase came to, as far as something has changed.
    pub(super) fn progress_since(
        &self,
        task: TaskIx,
        phase: &Phase,
        last: TaskIx,
        changed: &[TaskIx],
    ) -> TryProgress {
        let known = self.take_memo::<OpenWork>(task);
        let Some(mut work) = known.filter(|_| self.group(task).open > 0) else {
            self.keep_memo(task, self.open_work(task));
            return self.progress_of(task, phase, last);
        };
        let ended: Vec<TaskIx> = changed.iter().copied().filter(|child| *child != task).collect();
        self.close_below(task, &ended, &mut work);
        let found = match work.failing {
            true => Found::Questions(Vec::new()),
            false => self.look_up(task, phase, &ended, &work),
        };
        match found {
            Found::Unclear => self.progress_of(task, phase, last),
            Found::Questions(questions) => {
                self.keep_memo(task, work);
                if questions.is_empty() { TryProgress::Waits } else { TryProgress::Asks(questions) }
            }
        }
    }

    fn look_up(&self, task: TaskIx, phase: &Phase, ended: &[TaskIx], work: &OpenWork) -> Found {
        let (mut questions, mut seen) = (Vec::new(), HashSet::default());
        for child in ended {
            let mut next = Some(self.doer(task, *child));
            while let Some(at) = next.filter(|at| seen.insert(*at)) {
                next = match self.progress_of(task, phase, at) {
                    TryProgress::Waits => None,
                    TryProgress::Asks(asked) => {
                        questions.extend(asked);
                        None
                    }
                    TryProgress::Ended(outcome) if outcome.status == Status::Success => {
                        let Some(above) = self.handed_by(task, at) else { return Found::Unclear };
                        (work.open.get(&above).copied().unwrap_or(0) == 0).then_some(above)
                    }
                    TryProgress::Ended(_) | TryProgress::Stopped | TryProgress::HandsOut(..) => {
                        return Found::Unclear;
                    }
                };
            }
        }
        questions.sort_by_key(|question| path(&question.key));
        Found::Questions(questions)
    }
}

impl State {
    /// All children are looked at.
    fn open_work(&self, task: TaskIx) -> OpenWork {
        let mut work = OpenWork::default();
        let children = self.tasks[task].group.as_deref().map_or(&[][..], |group| &group.members);
        for child in children.iter().filter(|child| !self.tasks[**child].is_ended()) {
            for above in self.all_above(task, *child) {
                *work.open.entry(above).or_default() += 1;
            }
        }
        work
    }

    fn all_above(&self, task: TaskIx, child: TaskIx) -> impl Iterator<Item = TaskIx> {
        std::iter::successors(self.handed_by(task, child), move |above| self.handed_by(task, *above))
    }

    fn close_below(&self, task: TaskIx, ended: &[TaskIx], work: &mut OpenWork) {
        for child in ended {
            for above in self.all_above(task, *child) {
                if let Some(open) = work.open.get_mut(&above) {
                    *open = open.saturating_sub(1);
                }
            }
        }
    }

    /// The task whose result changes with the end of a child: its own, or the task that handed the work out that it puts together.
    fn doer(&self, task: TaskIx, child: TaskIx) -> TaskIx {
        let puts_together = matches!(self.child_kind(child), Some(ChildKind::Aggregate { .. }));
        self.handed_by(task, child).filter(|_| puts_together).unwrap_or(child)
    }

    /// Fold: a child was spawned.
    pub(super) fn note_spawned(&self, task: TaskIx, child: TaskIx) {
        let Some(mut work) = self.take_memo::<OpenWork>(task) else { return };
        for above in self.all_above(task, child) {
            *work.open.entry(above).or_default() += 1;
        }
        self.keep_memo(task, work);
    }

    /// The children of a phase are being stopped.
    pub(super) fn note_failing(&self, task: TaskIx) {
        self.keep_memo(task, OpenWork { failing: true, ..self.open_work(task) });
    }
}

/// Where a child stands among all, in the order in which they are looked at.
fn path(key: &str) -> Vec<u32> {
    key.split('.').map(|part| part.parse().unwrap_or(u32::MAX)).collect()
}
