//! Tells causes from consequences.
//!
//! A divergence follows from another one if data or a decision leads from there to here and the other one comes first in both runs.
//! In a race this cannot be: the loser parts from its winning self after the decision in one run and before it in the other. So
//! what remains without an explanation, under the same plan and the same inputs, is a fact from outside or another order.

use super::Side;
use super::definition::{Definitions, Step, step_of};
use super::divergence::{Divergence, by_task};
use super::result::{Cause, Kind, RUN};
use super::story::{Item, Story, TaskStory, What};
use convoke_model::hash::HashMap;
use convoke_model::{CauseKind, Class, Event, Stamped, TaskId};
use convoke_plan::Kind as NodeKind;

/// Why stories of a task part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// By itself; told at another task where one decided.
    Cause(Kind, Option<TaskId>),
    /// One of the runs has not come this far.
    Unfinished(usize),
    /// The plans differ: a changed step, and fields of this kind.
    Definition(usize, Kind),
    /// It follows from another divergence.
    Task(usize),
    /// It follows from how the runs were started: a place among those causes.
    Start(usize),
}

/// How many earlier divergences are looked at where everything earlier may have led here.
const LOOKED_AT: usize = 64;

/// A verdict for each divergence.
pub fn explain(
    sides: &[Side<'_>; 2],
    stories: &[Story; 2],
    divergences: &[Divergence],
    definitions: &Definitions,
    started: &[Cause],
) -> Vec<Verdict> {
    let places = by_task(divergences);
    let inside = inside(stories, divergences);
    let reaches = [0, 1].map(|side| reaches(&stories[side], &places, &inside));
    let mut below: HashMap<&str, Vec<usize>> = HashMap::default();
    for (at, divergence) in divergences.iter().enumerate() {
        below.entry(top(&divergence.task)).or_default().push(at);
    }
    let explaining =
        Explaining { sides, stories, divergences, definitions, started, places, inside, reaches, below };
    divergences.iter().map(|divergence| explaining.verdict(divergence)).collect()
}

/// The step of the run that a task belongs to.
fn top(task: &TaskId) -> &str {
    task.0.split(['/', '[', '#']).next().unwrap_or(&task.0)
}

/// For each group, sub-workflow or composite task, the earliest divergence inside it: its output may be made of that.
fn inside<'a>(stories: &'a [Story; 2], divergences: &[Divergence]) -> HashMap<&'a TaskId, usize> {
    let mut inside: HashMap<&TaskId, usize> = HashMap::default();
    for (at, divergence) in divergences.iter().enumerate() {
        for story in stories {
            let mut next = story.tasks.get(&divergence.task).and_then(|told| told.above.as_ref());
            while let Some(above) = next {
                inside.entry(above).or_insert(at);
                next = story.tasks.get(above).and_then(|told| told.above.as_ref());
            }
        }
    }
    inside
}

/// For each task of a run, the earliest divergence of a task that leads to it.
fn reaches<'a>(
    story: &'a Story,
    places: &HashMap<&TaskId, usize>,
    inside: &HashMap<&TaskId, usize>,
) -> HashMap<&'a TaskId, usize> {
    let mut reaches: HashMap<&TaskId, usize> = HashMap::default();
    for (task, told) in &story.tasks {
        let before = told.upstream.iter().chain(&told.above);
        let found = before.flat_map(|before| places.get(before).into_iter().chain(reaches.get(before)));
        let made_of = told.upstream.iter().filter_map(|before| inside.get(before));
        if let Some(found) = found.chain(made_of).min().copied() {
            reaches.insert(task, found);
        }
    }
    reaches
}

struct Explaining<'a> {
    sides: &'a [Side<'a>; 2],
    stories: &'a [Story; 2],
    divergences: &'a [Divergence],
    definitions: &'a Definitions,
    started: &'a [Cause],
    places: HashMap<&'a TaskId, usize>,
    inside: HashMap<&'a TaskId, usize>,
    reaches: [HashMap<&'a TaskId, usize>; 2],
    /// Divergences by the step of the run that they stand under, in their order.
    below: HashMap<&'a str, Vec<usize>>,
}

impl<'a> Explaining<'a> {
    fn verdict(&self, own: &'a Divergence) -> Verdict {
        let is_stopped = own.shows(What::Cancelled) || own.shows(What::Skipped);
        let is_fact = own.items.iter().flatten().any(|item| item.what.is_fact());
        // A task that only one of the runs has is not there because of something before it.
        let is_whole = own.has_task == [true, true] || own.task.0.starts_with(RUN);
        match (is_stopped, is_fact && is_whole) {
            (true, _) => self.of_stopped(own),
            (false, true) => self.of_fact(own),
            (false, false) => self.of_decided(own),
        }
    }

    /// Something came from outside.
    fn of_fact(&self, own: &'a Divergence) -> Verdict {
        if let Some(side) = self.unfinished(own).filter(|_| !own.task.0.starts_with(RUN)) {
            return Verdict::Unfinished(side);
        }
        self.of_limit(own).unwrap_or_else(|| self.own_cause(own))
    }

    /// A failure may be due to a limit that differs.
    fn of_limit(&self, own: &'a Divergence) -> Option<Verdict> {
        let definition = self.own_definition(own);
        definition.or_else(|| {
            let word = match self.failure_class(own)? {
                Class::Budget => "budget",
                Class::Timeout => "timeout",
                Class::Capacity => "concurren",
                _ => return None,
            };
            self.start(|cause| cause.kind == Kind::Limit && cause.changes[0].field.contains(word))
        })
    }

    fn failure_class(&self, own: &Divergence) -> Option<Class> {
        (0..2).find_map(|side| match self.event(side, own.items[side])? {
            Event::AttemptFailed { failure, .. } | Event::TaskFailed { failure, .. } => Some(failure.class),
            Event::BudgetSpent(_) | Event::BudgetExceeded { .. } => Some(Class::Budget),
            _ => None,
        })
    }

    fn own_cause(&self, own: &Divergence) -> Verdict {
        let shows = |what| own.shows(what);
        let failed = self.failure_class(own).filter(|_| shows(What::AttemptFailed));
        let kind = match failed {
            _ if shows(What::Lost) => Kind::Fault,
            Some(Class::InvalidOutput | Class::Refused) => Kind::Answer,
            Some(Class::Fatal) if self.is_tool(own) => Kind::ToolResult,
            Some(Class::Budget) => Kind::Limit,
            Some(_) => Kind::Fault,
            None if shows(What::GateAnswered) || shows(What::Guided) => Kind::Person,
            None if shows(What::ToolGave) => Kind::ToolResult,
            None if shows(What::ToolsSettled) || shows(What::FilesSeen) || shows(What::ProjectSeen) => {
                Kind::Environment
            }
            None if shows(What::StopRequested) => Kind::Stop,
            None if shows(What::BudgetSpent) => Kind::Limit,
            None if self.is_tool(own) => Kind::ToolResult,
            None => Kind::Answer,
        };
        Verdict::Cause(kind, None)
    }

    /// Whether a command or a tool answers here, and no model.
    fn is_tool(&self, own: &Divergence) -> bool {
        matches!(self.kind(&own.task), Some(NodeKind::Script(_) | NodeKind::Tool(_)))
    }

    /// What was stopped or left out names its cause.
    fn of_stopped(&self, own: &'a Divergence) -> Verdict {
        let (side, cause) = match (0..2).find_map(|side| Some((side, self.stop_cause(side, own)?))) {
            Some(found) => found,
            None => return self.of_decided(own),
        };
        let by_limit = matches!(cause.kind, CauseKind::TimedOut | CauseKind::LimitReached);
        if let Some(verdict) = self
            .own_definition(own)
            .filter(|verdict| by_limit || is_structure(verdict))
            .or_else(|| by_limit.then(|| self.start(|cause| cause.kind == Kind::Limit)).flatten())
        {
            return verdict;
        }
        let named = cause.task.as_ref().and_then(|task| self.places.get(task)).copied();
        let earlier = |at: &usize| self.is_before(&self.divergences[*at], own, side);
        if let Some(at) = named.filter(earlier) {
            return Verdict::Task(at);
        }
        let by_plan = cause.task.as_ref().and_then(|task| self.step(task));
        let by_plan = by_plan.and_then(|step| self.definition(&step, own, false));
        if let Some(verdict) = by_plan.filter(is_structure) {
            return verdict;
        }
        match cause.kind {
            CauseKind::JoinDecided | CauseKind::DeadlinePassed => {
                return self.reordered(cause.task.clone());
            }
            CauseKind::TimedOut => return Verdict::Cause(Kind::Fault, None),
            _ => {}
        }
        let nearest = self.nearest(own).or_else(|| self.anything(own, Some(side)));
        nearest.map_or_else(|| self.of_decided(own), Verdict::Task)
    }

    fn stop_cause(&self, side: usize, own: &Divergence) -> Option<&'a convoke_model::Cause> {
        match self.event(side, own.items[side])? {
            Event::CancelRequested { cause, .. }
            | Event::TaskCancelled { cause, .. }
            | Event::TaskSkipped { cause, .. } => Some(cause),
            _ => None,
        }
    }

    /// Something was computed from what was there.
    fn of_decided(&self, own: &'a Divergence) -> Verdict {
        let by_own_plan = self.own_definition(own);
        by_own_plan
            .or_else(|| self.nearest(own).map(Verdict::Task))
            .or_else(|| self.outer_definition(own))
            .or_else(|| self.beside(own).map(Verdict::Task))
            .or_else(|| self.start(|cause| cause.kind == Kind::Input))
            .or_else(|| self.of_outside(own))
            .or_else(|| self.unfinished(own).map(Verdict::Unfinished))
            .unwrap_or_else(|| self.unexplained(own))
    }

    /// Guidance and the context of the project reach every later prompt.
    fn of_outside(&self, own: &'a Divergence) -> Option<Verdict> {
        let is_outside = |divergence: &Divergence| {
            [What::Guided, What::ProjectSeen, What::StopRequested].iter().any(|what| divergence.shows(*what))
        };
        let found = self.divergences.iter().take(LOOKED_AT).position(|other| {
            is_outside(other) && (0..2).any(|side| self.is_before(other, own, side)) && other.task != own.task
        });
        found.map(Verdict::Task).or_else(|| {
            let skips = |cause: &Cause| cause.changes[0].field == "skip_gates";
            self.start(skips).filter(|_| own.shows(What::GateOpened) || own.shows(What::Succeeded))
        })
    }

    fn unexplained(&self, own: &Divergence) -> Verdict {
        use What::*;
        let is_ordered = [Merged, Spawned, Decided, Cancelled, Skipped, PhaseDecided, Ending, Finished];
        // Prompts of phases tell what has happened in the pipeline so far.
        let in_pipeline = || {
            let above = self.story(&own.task).and_then(|story| story.above.as_ref());
            above.and_then(|above| self.kind(above)).is_some_and(|kind| matches!(kind, NodeKind::Phase(_)))
        };
        let shuffled =
            is_ordered.iter().any(|what| own.shows(*what)) || self.is_shuffled(&own.task) || in_pipeline();
        if shuffled { self.reordered(None) } else { Verdict::Cause(Kind::Unexplained, None) }
    }

    /// Another order, of itself or because another number of attempts may run at once.
    fn reordered(&self, task: Option<TaskId>) -> Verdict {
        let concurrency = |field: &str| field.contains("concurren");
        let by_start = self.start(|cause| concurrency(&cause.changes[0].field));
        let by_plan = || {
            let changed = self.definitions.changed.iter();
            let place = changed
                .map(|(_, fields)| fields.iter().any(|field| concurrency(&field.change.field)))
                .position(|found| found);
            place.map(|at| Verdict::Definition(at, Kind::Limit))
        };
        by_start.or_else(by_plan).unwrap_or(Verdict::Cause(Kind::Order, task))
    }

    /// Whether what a task, or what leads to it, follows came in another order.
    fn is_shuffled(&self, task: &TaskId) -> bool {
        let mut next = vec![task];
        let mut looked_at = 0;
        while let Some(task) = next.pop().filter(|_| looked_at < LOOKED_AT) {
            looked_at += 1;
            let [Some(old), Some(new)] = [0, 1].map(|side| self.stories[side].tasks.get(task)) else {
                return true;
            };
            if old.upstream != new.upstream {
                return true;
            }
            next.extend(old.upstream.iter().chain(&old.above));
        }
        false
    }

    /// The run that has not come to this place and has not ended.
    fn unfinished(&self, own: &Divergence) -> Option<usize> {
        (0..2).find(|side| own.items[*side].is_none() && !self.stories[*side].ended)
    }

    fn start(&self, fits: impl Fn(&Cause) -> bool) -> Option<Verdict> {
        self.started.iter().position(fits).map(Verdict::Start)
    }

    /// The divergence that leads here directly, or through tasks in which nothing differs.
    fn nearest(&self, own: &'a Divergence) -> Option<usize> {
        if own.task.0.starts_with(RUN) {
            return self.anything(own, None);
        }
        let mut found: Vec<usize> = Vec::new();
        for side in 0..2 {
            let Some(story) = self.stories[side].tasks.get(&own.task) else { continue };
            for before in story.upstream.iter().chain(&story.above) {
                found.extend(self.places.get(before).copied());
                found.extend(self.reaches[side].get(before).copied());
            }
            found.extend(story.upstream.iter().filter_map(|before| self.inside.get(before)).copied());
        }
        let inside = if is_of_children(own) { self.below.get(top(&own.task)) } else { None };
        let inside = inside.into_iter().flatten().copied().take(LOOKED_AT);
        found.extend(inside.filter(|at| lies_in(&self.divergences[*at].task, &own.task)));
        found.sort_unstable();
        // The nearest of them: what it follows from directly.
        found.into_iter().rev().find(|at| self.precedes(&self.divergences[*at], own))
    }

    /// In goals, merges and pipelines everything earlier may be in a prompt.
    fn beside(&self, own: &'a Divergence) -> Option<usize> {
        let above = self.story(&own.task).and_then(|story| story.above.as_ref());
        let kinds = [Some(&own.task), above].map(|task| task.and_then(|task| self.kind(task)));
        let mut kinds = kinds.into_iter().flatten();
        let in_pipeline = |kind: &NodeKind| matches!(kind, NodeKind::Phase(_));
        let in_composite = |kind: &NodeKind| {
            use NodeKind::*;
            matches!(kind, Goal(_) | Item(_) | Reduce(_) | Verify(_))
        };
        if kinds.clone().any(in_pipeline) {
            return self.anything(own, None);
        }
        let siblings = kinds.any(in_composite).then(|| self.below.get(top(&own.task))).flatten()?;
        let mut siblings = siblings.iter().copied().take(LOOKED_AT);
        siblings.find(|at| self.precedes(&self.divergences[*at], own))
    }

    /// The earliest divergence of all that comes before.
    fn anything(&self, own: &'a Divergence, side: Option<usize>) -> Option<usize> {
        self.divergences.iter().take(LOOKED_AT).position(|other| match side {
            Some(side) => {
                other.task != own.task && other.items[side].is_some() && self.is_before(other, own, side)
            }
            None => self.precedes(other, own),
        })
    }

    /// Whether one divergence comes before another in both runs. What a run does not have at all comes before everything there.
    fn precedes(&self, one: &Divergence, other: &Divergence) -> bool {
        one.task != other.task
            && (0..2).all(|side| self.is_before(one, other, side))
            && (0..2).any(|side| one.items[side].is_some() && other.items[side].is_some())
    }

    fn is_before(&self, one: &Divergence, other: &Divergence, side: usize) -> bool {
        match (one.items[side], other.items[side]) {
            (Some(one), Some(other)) => one.seq < other.seq,
            (Some(_), None) => true,
            (None, Some(_)) => !one.has_task[side],
            (None, None) => one.first() < other.first(),
        }
    }

    fn event(&self, side: usize, item: Option<Item>) -> Option<&'a Event> {
        event_at(self.sides[side].events, item?.seq)
    }

    fn story(&self, task: &TaskId) -> Option<&'a TaskStory> {
        self.stories[0].tasks.get(task).or_else(|| self.stories[1].tasks.get(task))
    }

    fn kind(&self, task: &TaskId) -> Option<&'a NodeKind> {
        (0..2).find_map(|side| {
            let (workflow, node) = self.stories[side].tasks.get(task)?.place?;
            Some(&self.sides[side].plan.workflow(workflow).node(node).kind)
        })
    }

    /// What changed in the definition of a task's own step and shows here.
    fn own_definition(&self, own: &Divergence) -> Option<Verdict> {
        self.step(&own.task).and_then(|step| self.definition(&step, own, false))
    }

    /// What changed around it: in the step that it works for, in its workflow.
    fn outer_definition(&self, own: &Divergence) -> Option<Verdict> {
        let mut next = self.story(&own.task).and_then(|story| story.above.as_ref());
        while let Some(task) = next {
            let found = self.step(task).and_then(|step| self.definition(&step, own, true));
            if found.is_some() {
                return found;
            }
            next = self.story(task).and_then(|story| story.above.as_ref());
        }
        let workflow = self.step(&own.task).map(|(workflow, _)| workflow).unwrap_or_default();
        self.definition(&(workflow, String::new()), own, true)
    }

    fn step(&self, task: &TaskId) -> Option<Step> {
        (0..2).find_map(|side| {
            let (workflow, node) = self.stories[side].tasks.get(task)?.place?;
            Some(step_of(self.sides[side].plan, workflow, node))
        })
    }

    fn definition(&self, step: &Step, own: &Divergence, is_outer: bool) -> Option<Verdict> {
        let at = self.definitions.find(step)?;
        let (_, fields) = &self.definitions.changed[at];
        let mut shown = fields.iter().filter(|field| shows(&field.change.field, own, is_outer));
        shown.next().map(|field| Verdict::Definition(at, field.kind))
    }
}

/// The event with a number.
pub fn event_at(events: &[Stamped], seq: u64) -> Option<&Event> {
    let at = events.partition_point(|stamped| stamped.seq < seq);
    events.get(at).filter(|stamped| stamped.seq == seq).map(|stamped| &stamped.event)
}

/// Whether it is made of what is inside the task.
fn is_of_children(own: &Divergence) -> bool {
    use What::*;
    let made = [
        Succeeded,
        Failed,
        Routed,
        Decided,
        Spawned,
        Missed,
        StateChanged,
        Announced,
        PhaseDecided,
        Ending,
        Retried,
        GateOpened,
        Asked,
        Merged,
    ];
    own.items.iter().flatten().any(|item| made.contains(&item.what))
}

/// Whether a task stands inside another one; items stand beside their group.
fn lies_in(task: &TaskId, of: &TaskId) -> bool {
    let rest = task.0.strip_prefix(&*of.0);
    rest.is_some_and(|rest| rest.starts_with(['/', '[']))
}

fn is_structure(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Definition(_, Kind::Plan))
}

/// Whether a field of a definition shows at this place.
fn shows(field: &str, own: &Divergence, is_outer: bool) -> bool {
    use What::*;
    let first = field.split('.').next().unwrap_or(field);
    let any = |whats: &[What]| whats.iter().any(|what| own.shows(*what));
    match first {
        "max_concurrent" | "labels" | "resources" => false,
        "step" => own.has_task != [true, true],
        "routes" | "on_error" => !is_outer && any(&[Routed, Failed]),
        "needs" | "join" | "triggers" | "members" | "body" | "entry" => {
            own.has_task != [true, true] || any(&[Asked, Skipped, Cancelled, PhaseDecided, Begun, Merged])
        }
        "output" | "hooks" if is_outer => any(&[Finished, Hook, Succeeded]),
        "retry" | "timeout" | "max_wait" | "on_unknown" | "budget" | "limits" | "failure_mode" | "idle"
        | "request_timeout" | "session_timeout" | "phase_timeouts" | "parse_recovery" | "validator"
        | "success_criteria" | "repair_model" | "fallback" => any(&[
            Answered,
            AttemptFailed,
            Retried,
            Failed,
            Cancelled,
            Skipped,
            Suspended,
            BudgetSpent,
            Ending,
            Finished,
            Succeeded,
            Lost,
            Missed,
        ]),
        "bounds" | "policies" | "max_tries" | "max_depth" | "max_iterations" | "spawn" | "approve" => any(&[
            Decided,
            Spawned,
            Failed,
            Succeeded,
            Retried,
            GateOpened,
            Ending,
            Finished,
            Skipped,
            AttemptFailed,
        ]),
        _ => any(&[
            Asked,
            GateOpened,
            Begun,
            FannedOut,
            Merged,
            Spawned,
            Decided,
            Succeeded,
            Failed,
            Routed,
            PhaseDecided,
            Missed,
        ]),
    }
}
