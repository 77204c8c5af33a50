//! The tasks inside a task: items of a fan-out, members of a group, questions of a merge.

use super::InspectedRun;
use convoke_engine::report::TaskReport;
use convoke_model::{Segment, TaskId};

impl InspectedRun {
    /// The tasks directly below one, in order of appearance.
    pub(super) fn below<'a>(
        &'a self,
        id: &'a TaskId,
    ) -> impl Iterator<Item = (&'a TaskId, &'a TaskReport)> + use<'a> {
        self.report.tasks.iter().filter(move |(other, _)| is_below(other, id))
    }

    /// The only task whose id is this name with a key: `book/repair_input` is `book/repair_input[extract]`.
    pub(super) fn only_item(&self, name: &str) -> Option<(&TaskId, &TaskReport)> {
        let group = TaskId(name.into());
        let mut items = self.report.tasks.iter().filter(|(other, _)| is_item(other, &group));
        items.next().filter(|_| items.next().is_none())
    }
}

fn is_below(task: &TaskId, of: &TaskId) -> bool {
    task.parent().as_ref() == Some(of) || is_item(task, of)
}

/// Items stand beside their group: `scout[rents]` is one of `scout`.
fn is_item(task: &TaskId, of: &TaskId) -> bool {
    let last = |id: &TaskId| -> Option<Segment> { id.segments().last() };
    let (Some(item), Some(group)) = (last(task), last(of)) else { return false };
    let named = (&item.node, item.visit) == (&group.node, group.visit);
    named && item.key.is_some() && group.key.is_none() && task.parent() == of.parent()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_and_members_are_below_and_nothing_else_is() {
        let below = |task: &str, of: &str| is_below(&TaskId(task.into()), &TaskId(of.into()));
        assert!(
            below("scout[rents]", "scout")
                && below("a/scout[x]", "a/scout")
                && below("scout[x]#2", "scout#2")
        );
        assert!(below("synthesis/merge[1.0]", "synthesis"));
        for (task, of) in [
            ("scout", "scout"),
            ("scouts[x]", "scout"),
            ("scout[x]/ask", "scout"),
            ("scout[x]#2", "scout"),
            ("b/scout[x]", "a/scout"),
            ("scout[y]", "scout[x]"),
        ] {
            assert!(!below(task, of), "{task} of {of}");
        }
    }
}
