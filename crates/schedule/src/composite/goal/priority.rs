//! The order of the tasks of one goal that wait for a permit.
//!
//! Tasks become possible at different moments, so the order in which they are asked for does not say which of them is the
//! most urgent. Invariant: the same order as that of the router, priority, depth, creation; the goal's own roles first.

use crate::state::{State, TaskIx};
use convoke_model::Item;

impl State {
    /// The goal that a task works for, and its place among all that work for it, smaller first. `None` for other tasks.
    pub fn priority_in_goal(&self, task: TaskIx) -> Option<(TaskIx, u64)> {
        self.goal_role(task)?;
        let asker = self.tasks[task].place.within?;
        let (goal, _) = self.goal_of(asker)?;
        let turn = self.item_of(asker).map_or(0, |item| place(item, asker));
        Some((goal, turn))
    }
}

fn place(item: &Item, created: TaskIx) -> u64 {
    let priority = item.priority.clamp(i32::MIN.into(), i32::MAX.into()) - i64::from(i32::MIN);
    let depth = u64::from(item.depth.min(0xff));
    let created = u64::from(created.0).min(0xff_ffff);
    (priority as u64) << 32 | depth << 24 | created
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_model::Effort;

    fn item(priority: i64, depth: u32) -> Item {
        Item {
            description: "d".into(),
            inputs: Vec::new(),
            tools: Vec::new(),
            toolless: false,
            priority,
            skip: None,
            effort: Effort::default(),
            ensure: Vec::new(),
            replaces: Vec::new(),
            note: None,
            depth,
        }
    }

    #[test]
    fn priority_comes_before_depth_and_depth_before_creation() {
        let of = |priority, depth, created| place(&item(priority, depth), TaskIx(created));
        let in_order = [
            of(i64::MIN, 9, 9),
            of(-1, 0, 9),
            of(0, 0, 2),
            of(0, 0, 10),
            of(0, 1, 1),
            of(1, 0, 0),
            of(i64::MAX, 0, 0),
        ];
        assert!(in_order.is_sorted_by(|one, next| one < next), "{in_order:?}");
    }
}
