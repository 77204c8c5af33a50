//! What the children of a phase came to since it was last looked at: the same as looking at all of them (`came`), without doing so
//! whenever one ends, which with many children would be work that grows with their square.
//!
//! Looks upwards from those that have ended: who is still below somebody with open work changes nothing above. Where that is not
//! enough (nothing is open any more, a child was stopped or has failed, nobody has looked yet) all are looked at. Invariant: what
//! is answered here is what `came_to` answers for the whole try, but for whether it waits or is being stopped.

use super::came::Came;
use super::state::News;
use super::trigger::Status;
use crate::state::{State, TaskIx};
use crate::view::View;
use convoke_model::{ChildKind, ChildSpec};
use convoke_plan::Phase;
use std::collections::HashSet;

/// What those that have ended come to.
enum Found {
    /// Nothing above them can have changed but for these questions.
    Questions(Vec<ChildSpec>),
    /// All must be looked at.
    Unclear,
}

impl View<'_> {
    /// What the newest try of a phase came to, as far as something has changed.
    pub(super) fn came_since(&self, task: TaskIx, phase: &Phase, last: TaskIx, changed: &[TaskIx]) -> Came {
        let known = self.take_memo::<News>(task);
        let Some(mut news) = known.filter(|_| self.group(task).open > 0) else {
            self.keep_memo(task, self.no_news(task));
            return self.came_to(task, phase, last);
        };
        let ended: Vec<TaskIx> = changed.iter().copied().filter(|child| *child != task).collect();
        self.close_below(task, &ended, &mut news);
        let found = match news.failing {
            true => Found::Questions(Vec::new()),
            false => self.look_up(task, phase, &ended, &news),
        };
        match found {
            Found::Unclear => self.came_to(task, phase, last),
            Found::Questions(questions) => {
                self.keep_memo(task, news);
                if questions.is_empty() { Came::Waits } else { Came::Asks(questions) }
            }
        }
    }

    fn look_up(&self, task: TaskIx, phase: &Phase, ended: &[TaskIx], news: &News) -> Found {
        let (mut questions, mut seen) = (Vec::new(), HashSet::new());
        for child in ended {
            let mut next = Some(self.doer(task, *child));
            while let Some(at) = next.filter(|at| seen.insert(*at)) {
                next = match self.came_to(task, phase, at) {
                    Came::Waits => None,
                    Came::Asks(asked) => {
                        questions.extend(asked);
                        None
                    }
                    Came::Ended(outcome) if outcome.status == Status::Success => {
                        let Some(above) = self.handed_by(task, at) else { return Found::Unclear };
                        (news.open.get(&above).copied().unwrap_or(0) == 0).then_some(above)
                    }
                    Came::Ended(_) | Came::Stopped | Came::HandsOut(..) => return Found::Unclear,
                };
            }
        }
        questions.sort_by_key(|question| path(&question.key));
        Found::Questions(questions)
    }
}

impl State {
    /// Everybody has been looked at.
    fn no_news(&self, task: TaskIx) -> News {
        let mut news = News::default();
        let children = self.tasks[task].group.as_deref().map_or(&[][..], |group| &group.members);
        for child in children.iter().filter(|child| !self.tasks[**child].is_ended()) {
            for above in self.all_above(task, *child) {
                *news.open.entry(above).or_default() += 1;
            }
        }
        news
    }

    fn all_above(&self, task: TaskIx, child: TaskIx) -> impl Iterator<Item = TaskIx> {
        std::iter::successors(self.handed_by(task, child), move |above| self.handed_by(task, *above))
    }

    fn close_below(&self, task: TaskIx, ended: &[TaskIx], news: &mut News) {
        for child in ended {
            for above in self.all_above(task, *child) {
                if let Some(open) = news.open.get_mut(&above) {
                    *open = open.saturating_sub(1);
                }
            }
        }
    }

    /// Whose result changes with the end of a child: its own, or that of whoever handed the work out that it puts together.
    fn doer(&self, task: TaskIx, child: TaskIx) -> TaskIx {
        let puts_together = matches!(self.asked_about(child), Some(ChildKind::Aggregate { .. }));
        self.handed_by(task, child).filter(|_| puts_together).unwrap_or(child)
    }

    /// Fold: a child was spawned.
    pub(super) fn note_spawned(&self, task: TaskIx, child: TaskIx) {
        let Some(mut news) = self.take_memo::<News>(task) else { return };
        for above in self.all_above(task, child) {
            *news.open.entry(above).or_default() += 1;
        }
        self.keep_memo(task, news);
    }

    /// The children of a phase are being stopped.
    pub(super) fn note_failing(&self, task: TaskIx) {
        self.keep_memo(task, News { failing: true, ..self.no_news(task) });
    }
}

/// Where a child stands among all, in the order in which they are looked at.
fn path(key: &str) -> Vec<u32> {
    key.split('.').map(|part| part.parse().unwrap_or(u32::MAX)).collect()
}
