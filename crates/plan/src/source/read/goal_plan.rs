//! A plan for a goal as a person writes it: in a file of its own, or in a step.
//!
//! The rules are those for a planner's answer (`goal_plan`); each violation is told where it stands, and all of them at once.
//! Unknown keys are refused here only. The run judges the plan again when it takes it.

use std::collections::HashMap;
use std::rc::Rc;

use super::super::keys::goal::{GIVEN_PLAN, GIVEN_TASK};
use super::super::tree::{Node, Value};
use super::Reader;
use super::fields::Fields;
use super::scalars::head;
use crate::diagnostic::{Label, Span};
use crate::goal_plan::{
    Draft, Fault, Problem, Terms, Violation, in_a_circle, name, read_task, rules_between, rules_of_number,
    same_words,
};
use crate::suggest::instead;
use serde_json::Map;

/// Judges a plan: a mapping with `tasks`, or the list of tasks alone.
pub fn plan(cx: &mut Reader<'_>, node: &Node, owner: &str, terms: &Terms) {
    match &node.value {
        Value::Broken => {}
        Value::Seq(items) => tasks(cx, items, &head(node), owner, terms),
        Value::Map(_) => {
            let Some(mut plan) = Fields::open(cx, node, &GIVEN_PLAN, owner.to_owned()) else { return };
            let place = plan.place_of("tasks").cloned();
            if let (Some(items), Some(place)) = (plan.list(cx, "tasks"), place) {
                tasks(cx, items, &place, owner, terms);
            }
            if let Some(pair) = plan.take("complete").filter(|pair| !pair.value.as_written().is_boolean()) {
                cx.wrong_type(&pair.value, plan.of("complete"), "true or false");
            }
            plan.finish(cx);
        }
        Value::Scalar(_) => {
            let message = format!(
                "{owner} must be a list of tasks or a mapping with `tasks`, found {}",
                node.describe()
            );
            cx.error("workflow::wrong_type", message, &node.span, "not a plan");
        }
    }
}

fn tasks(cx: &mut Reader<'_>, items: &[Rc<Node>], place: &Span, owner: &str, terms: &Terms) {
    let read = items.iter().enumerate().filter_map(|(index, item)| task(cx, item, index, owner));
    let (drafts, written): (Vec<Draft>, Vec<Written<'_>>) = read.unzip();
    // A task that could not be read may be the one that another needs.
    let may_be_there = drafts.len() < items.len();
    let of_number = rules_of_number(items.len(), terms);
    let between = rules_between(&drafts, terms, &|_| may_be_there);
    let report = Report { owner, place, items, drafts: &drafts, written: &written };
    of_number.iter().chain(&between).for_each(|violation| report.tell(cx, violation, terms));
}

/// Where the values of a task stand.
struct Written<'t> {
    head: Span,
    values: HashMap<&'static str, &'t Node>,
}

impl Written<'_> {
    fn of(&self, key: &str) -> &Span {
        self.values.get(key).map_or(&self.head, |node| &node.span)
    }

    /// A name of a list.
    fn named(&self, key: &str, wanted: &str) -> &Span {
        let Some(Value::Seq(items)) = self.values.get(key).map(|node| &node.value) else { return &self.head };
        let found = items.iter().find(|item| name(&item.as_written()).as_deref() == Some(wanted));
        found.map_or(&self.head, |item| &item.span)
    }
}

fn task<'t>(cx: &mut Reader<'_>, node: &'t Node, index: usize, owner: &str) -> Option<(Draft, Written<'t>)> {
    let mut fields = Fields::open(cx, node, &GIVEN_TASK, format!("task {} of {owner}", index + 1))?;
    let mut values: HashMap<&'static str, &'t Node> = HashMap::new();
    for key in GIVEN_TASK.keys {
        values.extend(fields.take(key.name).map(|pair| (key.name, &*pair.value)));
    }
    let data: Map<_, _> = values.iter().map(|(key, node)| ((*key).to_owned(), node.as_written())).collect();
    let (draft, faults) = read_task(index, &data);
    for fault in &faults {
        tell_fault(cx, &fields, &values, fault);
    }
    let written = Written { head: fields.head.clone(), values };
    fields.finish(cx);
    Some((draft, written))
}

fn tell_fault(cx: &mut Reader<'_>, fields: &Fields<'_>, values: &HashMap<&str, &Node>, fault: &Fault) {
    let Some(node) = values.get(fault.key) else { return };
    match (fault.problem, &node.value, fault.item) {
        // What is required and missing is told with what is left over.
        (Problem::Missing, ..) => {}
        (Problem::Empty, ..) => {
            let message = format!("`{}` of {} is empty", fault.key, fields.owner);
            cx.error("workflow::empty_value", message, &node.span, "say what is to be done");
        }
        (Problem::Not(expected), Value::Seq(items), Some(item)) => {
            cx.wrong_type(&items[item], fields.of(fault.key), expected);
        }
        (Problem::Not(expected), ..) => drop(cx.wrong_type(node, fields.of(fault.key), expected)),
    }
}

/// Tells violations of a plan at their places.
struct Report<'r, 't> {
    owner: &'r str,
    place: &'r Span,
    items: &'t [Rc<Node>],
    drafts: &'r [Draft],
    written: &'r [Written<'t>],
}

impl Report<'_, '_> {
    fn tell(&self, cx: &mut Reader<'_>, violation: &Violation, terms: &Terms) {
        match violation {
            Violation::NoTasks => self.no_tasks(cx),
            Violation::TooMany { count, most, .. } => self.too_many(cx, *count, *most),
            Violation::SameId { first, second } => self.twice(cx, "id", *first, *second),
            Violation::SameDescription { first, second } => self.twice(cx, "description", *first, *second),
            Violation::UnknownInput { task, input } => self.unknown_input(cx, *task, input),
            Violation::UnknownReplaced { task, replaced } => self.unknown_replaced(cx, *task, replaced),
            Violation::UnfoundedSkip { task } => self.unfounded_skip(cx, *task, terms),
            Violation::Circle { tasks } => self.circle(cx, tasks),
        }
    }

    fn no_tasks(&self, cx: &mut Reader<'_>) {
        let message = format!("{} has no tasks", self.owner);
        cx.error("workflow::empty_value", message, self.place, "there must be at least one task");
    }

    fn too_many(&self, cx: &mut Reader<'_>, count: usize, most: u32) {
        let message = format!("{} has {count} tasks, and at most {most} are allowed (max_tasks)", self.owner);
        let first = head(&self.items[most as usize]);
        cx.error("workflow::out_of_range", message, &first, "one task too many");
    }

    fn twice(&self, cx: &mut Reader<'_>, key: &str, first: usize, second: usize) {
        let value = match key {
            "id" => self.drafts[second].id.clone(),
            _ => same_words(&self.drafts[second].description),
        };
        let message = format!("two tasks of {} have the {key} `{value}`", self.owner);
        let span = self.written[second].of(key);
        let found = cx.error("workflow::duplicate", message, span, "the second one");
        let span = self.written[first].of(key).clone();
        found.labels.push(Label { span, text: "the first one".into() });
    }

    fn unknown_input(&self, cx: &mut Reader<'_>, task: usize, input: &str) {
        let (id, span) = (&self.drafts[task].id, self.written[task].named("inputs", input));
        let message = format!("task `{id}` of {} needs `{input}`, and there is no such task", self.owner);
        let available: Vec<&str> = self.drafts.iter().map(|task| task.id.as_str()).collect();
        let found = cx.error("workflow::unknown_task", message, span, "no task has this id");
        found.help = Some(instead(input, &available));
    }

    fn unknown_replaced(&self, cx: &mut Reader<'_>, task: usize, replaced: &str) {
        let (id, span) = (&self.drafts[task].id, self.written[task].named("replaces", replaced));
        let message =
            format!("task `{id}` of {} replaces `{replaced}`, and nothing was done yet", self.owner);
        cx.error("workflow::unknown_task", message, span, "no task has failed so far");
    }

    fn unfounded_skip(&self, cx: &mut Reader<'_>, task: usize, terms: &Terms) {
        let (id, span) = (&self.drafts[task].id, self.written[task].of("skip_probability"));
        let message =
            format!("task `{id}` of {} is to be skipped, and its `skip_reason` does not say why", self.owner);
        let label = format!("skipped from {} on", terms.skip_threshold);
        cx.error("workflow::needs_key", message, span, &label);
    }

    fn circle(&self, cx: &mut Reader<'_>, circle: &[usize]) {
        let names = in_a_circle(self.drafts, circle, "→");
        let message = format!("tasks of {} wait for each other in a circle: {names}", self.owner);
        let next = &self.drafts[circle[1 % circle.len()]].id;
        let span = self.written[circle[0]].named("inputs", next);
        cx.error("workflow::task_cycle", message, span, "leads back to the task itself");
    }
}
