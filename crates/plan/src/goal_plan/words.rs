//! Faults and violations in words for the author of a proposal, for which there is no file with lines.

use super::proposal::Draft;
use super::read::{Fault, Problem};
use super::rules::Violation;

/// Names of a circle that are told; a longer one is told by its ends.
const MOST_NAMED: usize = 12;

impl Fault {
    /// What is wrong, and with which task.
    pub fn told(&self) -> String {
        let expected = match self.problem {
            Problem::Missing | Problem::Empty => "a text",
            Problem::Not(expected) => expected,
        };
        format!("task {}: `{}` must be {expected}", self.task + 1, self.key)
    }
}

impl Violation {
    /// The rule that these tasks break.
    pub fn told(&self, tasks: &[Draft]) -> String {
        let id = |place: &usize| &tasks[*place].id;
        match self {
            Violation::NoTasks => "there must be at least one task".into(),
            Violation::TooMany { count, most, because: (because, all) } if most == all => {
                format!("there are {count} tasks, and at most {most} are allowed ({because})")
            }
            Violation::TooMany { count, most, because: (because, all) } => {
                format!("there are {count} tasks, and {most} more can be made ({because}: {all})")
            }
            Violation::SameId { second, .. } => format!("two tasks have the id `{}`", id(second)),
            Violation::SameDescription { second, .. } => {
                format!("two tasks are the same: `{}`", tasks[*second].description.trim())
            }
            Violation::UnknownInput { task, input } => {
                format!("task `{}` needs `{input}`, and there is no such task", id(task))
            }
            Violation::UnknownReplaced { task, replaced } => {
                format!("task `{}` replaces `{replaced}`, and there is no such task", id(task))
            }
            Violation::UnfoundedSkip { task } => {
                format!("task `{}` is to be skipped, and its `skip_reason` does not say why", id(task))
            }
            Violation::Circle { tasks: circle } => match circle.as_slice() {
                [alone] => format!("task `{}` waits for itself", id(alone)),
                circle => format!("the inputs go round in a circle: {}", in_a_circle(tasks, circle, "->")),
            },
        }
    }
}

/// The tasks of a circle by their names, the first again at the end; of a long one its beginning and its end.
pub fn in_a_circle(tasks: &[Draft], circle: &[usize], arrow: &str) -> String {
    let round = circle.iter().chain(circle.first());
    let names: Vec<&str> = round.map(|place| tasks[*place].id.as_str()).collect();
    let joined = |names: &[&str]| names.join(&format!(" {arrow} "));
    if names.len() <= MOST_NAMED {
        return joined(&names);
    }
    let (head, tail) = (&names[..MOST_NAMED / 2], &names[names.len() - MOST_NAMED / 2..]);
    let between = names.len() - MOST_NAMED;
    format!("{} {arrow} … {between} more … {arrow} {}", joined(head), joined(tail))
}
