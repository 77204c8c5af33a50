//! The budgets that bind a whole workflow: its own, and those of the groups and files that it is called from, up to the run.
//!
//! Only the models that they go on with are kept. A file that is called from several places is bound by all of them.

use super::load::{Bundle, MAX_DEPTH};
use crate::check::outline::Outline;
use crate::source::text::Spanned;
use crate::source::workflow::{Budget, BudgetMode, Limits, Step, StepKind, Workflow};

/// A cheaper model, where it is written.
pub(super) type Cheaper<'a> = &'a Spanned<String>;

/// The cheaper models around each workflow of a bundle, in its order.
pub(super) fn cheaper_around(bundle: &Bundle) -> Vec<Vec<Cheaper<'_>>> {
    let mut around: Vec<Vec<Cheaper<'_>>> =
        bundle.workflows.iter().map(|workflow| of_limits(&workflow.limits).into_iter().collect()).collect();
    let calls: Vec<Call<'_>> = (0..bundle.workflows.len()).flat_map(|parent| calls(bundle, parent)).collect();
    // Each round goes one level down, and there are no more levels.
    for _ in 0..=MAX_DEPTH {
        for call in &calls {
            let above: Vec<Cheaper<'_>> = around[call.parent].iter().chain(&call.around).copied().collect();
            let below = &mut around[call.child];
            for model in above {
                if !below.iter().any(|known| std::ptr::eq(*known, model)) {
                    below.push(model);
                }
            }
        }
    }
    around
}

/// That of one budget.
pub(super) fn of_budget(budget: Option<&Budget>) -> Option<Cheaper<'_>> {
    budget?.consequence.degrade_to.as_ref()
}

fn of_limits(limits: &Limits) -> Option<Cheaper<'_>> {
    limits.consequence.degrade_to.as_ref().filter(|_| limits.budget_mode == BudgetMode::Enforce)
}

/// A step that runs another file, with the budgets of the groups around it; it has none itself.
struct Call<'a> {
    parent: usize,
    child: usize,
    around: Vec<Cheaper<'a>>,
}

fn calls(bundle: &Bundle, parent: usize) -> Vec<Call<'_>> {
    let workflow = &bundle.workflows[parent];
    let outline = Outline::new(workflow);
    let named = workflow.agents.iter().filter_map(|step| {
        let at = outline.find(&step.name.value)?;
        Some((called(bundle, workflow, step)?, groups_around(&outline, at)))
    });
    let inline = outline.inline().filter_map(|(group, step)| {
        let around = [group].into_iter().chain(groups_around(&outline, group)).collect();
        Some((called(bundle, workflow, step)?, around))
    });
    let call = |(child, groups): (usize, Vec<usize>)| {
        let budgets = groups.into_iter().map(|group| outline.items[group].common().budget.as_ref());
        Call { parent, child, around: budgets.filter_map(of_budget).collect() }
    };
    named.chain(inline).map(call).collect()
}

fn called(bundle: &Bundle, workflow: &Workflow, step: &Step) -> Option<usize> {
    let StepKind::Workflow(call) = &step.kind else { return None };
    bundle.child(workflow, &call.workflow.as_ref()?.value)
}

/// The groups that an item is in, and those that they are in.
fn groups_around(outline: &Outline<'_>, at: usize) -> Vec<usize> {
    let mut found: Vec<usize> = Vec::new();
    let mut open = outline.parents[at].clone();
    while let Some(group) = open.pop() {
        if !found.contains(&group) {
            found.push(group);
            open.extend(&outline.parents[group]);
        }
    }
    found
}
