//! A workflow file seen as named items with edges: what the checks and the compiler both stand on.
//!
//! Items are the steps, parallel groups and fan-outs of a file, in that order; an item's number is also the index of
//! its node in the plan. Inline bodies are not items: no name leads to them. Names that lead nowhere are left out of
//! the edges; saying so is `targets`' business.

use crate::diagnostic::Span;
use crate::source::Spanned;
use crate::source::workflow::{
    Common, ForEach, ForEachBody, GateOption, Hook, ParallelGroup, QuestionsStep, ReduceStep, Step, StepKind,
    Workflow,
};
use std::collections::HashMap;

/// Something with a name in a workflow.
#[derive(Clone, Copy)]
pub(crate) enum Item<'a> {
    /// An entry of `agents`.
    Step(&'a Step),
    /// An entry of `parallel`.
    Parallel(&'a ParallelGroup),
    /// An entry of `for_each`.
    ForEach(&'a ForEach),
}

impl<'a> Item<'a> {
    /// Its name, with its place.
    pub fn name(self) -> &'a Spanned<String> {
        match self {
            Item::Step(step) => &step.name,
            Item::Parallel(group) => &group.name,
            Item::ForEach(group) => &group.name,
        }
    }

    /// What every item has.
    pub fn common(self) -> &'a Common {
        match self {
            Item::Step(step) => &step.common,
            Item::Parallel(group) => &group.common,
            Item::ForEach(group) => &group.common,
        }
    }

    /// The word for messages.
    pub fn word(self) -> &'static str {
        match self {
            Item::Step(_) => "step",
            Item::Parallel(_) => "parallel group",
            Item::ForEach(_) => "for_each group",
        }
    }

    /// Whether its output has the shape of a group.
    pub fn is_group(self) -> bool {
        !matches!(self, Item::Step(_))
    }

    /// The options, if it is a gate.
    pub fn gate(self) -> Option<&'a [GateOption]> {
        match self {
            Item::Step(Step { kind: StepKind::HumanGate(gate), .. }) => Some(&gate.options),
            _ => None,
        }
    }

    /// The questions, if it asks any.
    pub fn questions(self) -> Option<&'a QuestionsStep> {
        match self {
            Item::Step(Step { kind: StepKind::Questions(questions), .. }) => Some(questions),
            _ => None,
        }
    }
}

/// One name that leads from an item to another, or to `$end`.
#[derive(Clone, Copy)]
pub(crate) struct Lead<'a> {
    /// The name, with its place.
    pub to: &'a Spanned<String>,
    /// The key that holds it, for messages.
    pub key: &'static str,
}

/// The route target that ends a branch.
pub(crate) const END: &str = "$end";

/// The items of a workflow and how they hang together.
pub(crate) struct Outline<'a> {
    /// The file.
    pub workflow: &'a Workflow,
    /// Steps, parallel groups, fan-outs.
    pub items: Vec<Item<'a>>,
    /// The groups that each item stands in.
    pub parents: Vec<Vec<usize>>,
    by_name: HashMap<&'a str, usize>,
}

impl<'a> Outline<'a> {
    /// Looks at a workflow.
    pub fn new(workflow: &'a Workflow) -> Self {
        let steps = workflow.agents.iter().map(Item::Step);
        let parallel = workflow.parallel.iter().map(Item::Parallel);
        let items: Vec<_> =
            steps.chain(parallel).chain(workflow.for_each.iter().map(Item::ForEach)).collect();
        let mut by_name = HashMap::new();
        for (ix, item) in items.iter().enumerate() {
            by_name.entry(item.name().value.as_str()).or_insert(ix);
        }
        let mut outline = Self { workflow, parents: vec![Vec::new(); items.len()], items, by_name };
        outline.find_parents();
        outline
    }

    /// The item of this name.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// The name of an item.
    pub fn name(&self, ix: usize) -> &'a str {
        &self.items[ix].name().value
    }

    /// The names of a group's members, or of what a fan-out runs.
    pub fn members(&self, ix: usize) -> Vec<&'a Spanned<String>> {
        match self.items[ix] {
            Item::Parallel(group) => group.agents.iter().collect(),
            Item::ForEach(ForEach { body: Some(ForEachBody::Run(name)), .. }) => vec![name],
            _ => Vec::new(),
        }
    }

    /// Everything that an item may lead to, in the order of the file.
    pub fn leads(&self, ix: usize) -> Vec<Lead<'a>> {
        let item = self.items[ix];
        let mut leads = Vec::new();
        match item.gate() {
            Some(options) => {
                leads.extend(options.iter().filter_map(|option| lead("route", option.route.as_ref())))
            }
            None => {
                leads.extend(item.common().routes.iter().map(|route| Lead { to: &route.to, key: "routes" }))
            }
        }
        leads.extend(
            item.questions().and_then(|questions| lead("abort_route", questions.abort_route.as_ref())),
        );
        leads.extend(item.common().on_error.iter().map(|route| Lead { to: &route.to, key: "on_error" }));
        leads
    }

    /// The items that an item may lead to.
    pub fn successors(&self, ix: usize) -> Vec<usize> {
        self.leads(ix).iter().filter_map(|lead| self.find(&lead.to.value)).collect()
    }

    /// The items that an item needs.
    pub fn needs(&self, ix: usize) -> Vec<usize> {
        self.items[ix].common().needs.iter().filter_map(|need| self.find(&need.step.value)).collect()
    }

    /// Whether an item, or a group around it, needs something.
    pub fn waits(&self, ix: usize) -> bool {
        let (mut open, mut seen) = (vec![ix], vec![false; self.items.len()]);
        while let Some(at) = open.pop() {
            if std::mem::replace(&mut seen[at], true) {
                continue;
            }
            if !self.items[at].common().needs.is_empty() {
                return true;
            }
            open.extend(&self.parents[at]);
        }
        false
    }

    /// Whether any step waits for another.
    pub fn has_needs(&self) -> bool {
        self.items.iter().any(|item| !item.common().needs.is_empty())
    }

    /// What people call the file.
    pub fn kind(&self) -> &'static str {
        match (self.workflow.from_manifest, &self.workflow.pipeline) {
            (true, _) => "manifest",
            (_, Some(_)) => "pipeline",
            _ => "workflow",
        }
    }

    /// Whether a name is the writer's: manifests have steps of their own, which no agent depends on.
    pub fn is_written(&self, name: &str) -> bool {
        let made = ["synthesis", "verification"].contains(&name.trim_end_matches('_'));
        !(self.workflow.from_manifest && made)
    }

    /// Where the workflow starts: as written, else every item that nothing leads to.
    pub fn entries(&self) -> Vec<usize> {
        if !self.workflow.entry_point.is_empty() {
            return self.workflow.entry_point.iter().filter_map(|name| self.find(&name.value)).collect();
        }
        let mut started = vec![true; self.items.len()];
        for ix in 0..self.items.len() {
            if !self.needs(ix).is_empty() || !self.parents[ix].is_empty() {
                started[ix] = false;
            }
            for next in self.successors(ix) {
                started[next] = false;
            }
        }
        for (_, step) in self.hook_steps() {
            started[step] = false;
        }
        (0..started.len()).filter(|ix| started[*ix]).collect()
    }

    /// The steps that hooks run, and those that resolve conflicts, with the place that says so.
    pub fn hook_steps(&self) -> Vec<(&'a Span, usize)> {
        let hooks = &self.workflow.hooks;
        let resolvers = self.resolvers().filter_map(|(_, name)| Some((&name.span, self.find(&name.value)?)));
        let run =
            [&hooks.on_start, &hooks.on_complete, &hooks.on_error].into_iter().filter_map(
                |hook| match hook {
                    Some(Hook::Step(name)) => Some((&name.span, self.find(&name.value)?)),
                    _ => None,
                },
            );
        run.chain(resolvers).collect()
    }

    /// The steps that are named to resolve conflicts, each with what names it.
    pub fn resolvers(&self) -> impl Iterator<Item = (&'a str, &'a Spanned<String>)> + '_ {
        let items = self.items.iter().map(|item| (item.name(), item.common()));
        let inline = self.inline().map(|(_, step)| (&step.name, &step.common));
        items.chain(inline).filter_map(|(name, common)| {
            Some((name.value.as_str(), common.workspace.as_ref()?.resolver.as_ref()?))
        })
    }

    /// The inline bodies of fan-outs, each with its fan-out.
    pub fn inline(&self) -> impl Iterator<Item = (usize, &'a Step)> + '_ {
        self.items.iter().enumerate().filter_map(|(ix, item)| match item {
            Item::ForEach(ForEach { body: Some(ForEachBody::Inline(step)), .. }) => Some((ix, &**step)),
            _ => None,
        })
    }

    /// The most outputs that a reduce step can get; `None` when only the run tells.
    pub fn most_sources(&self, step: &Step, reduce: &ReduceStep) -> Option<u64> {
        let needed = step.common.needs.iter().map(|need| &need.step);
        let named: Vec<_> = if reduce.of.is_empty() { needed.collect() } else { reduce.of.iter().collect() };
        let mut known = HashMap::new();
        self.most_outputs_of(named.into_iter(), &mut known)
    }

    fn most_outputs_of<'n>(
        &self,
        mut names: impl Iterator<Item = &'n Spanned<String>>,
        known: &mut HashMap<usize, Option<u64>>,
    ) -> Option<u64> {
        names.try_fold(0u64, |sum, name| {
            Some(sum.saturating_add(self.most_outputs(self.find(&name.value)?, known)?))
        })
    }

    /// The most outputs of an item, its members' counted. Each is looked at once: in a file that is wrong, groups may
    /// contain each other.
    fn most_outputs(&self, ix: usize, known: &mut HashMap<usize, Option<u64>>) -> Option<u64> {
        if let Some(known) = known.get(&ix) {
            return *known;
        }
        known.insert(ix, None);
        let found = match self.items[ix] {
            Item::Step(_) => Some(1),
            Item::Parallel(group) => self.most_outputs_of(group.agents.iter(), known),
            Item::ForEach(group) => self.most_items(group, known),
        };
        known.insert(ix, found);
        found
    }

    fn most_items(&self, group: &ForEach, known: &mut HashMap<usize, Option<u64>>) -> Option<u64> {
        let items = group.items.as_ref()?.value.len() as u64;
        match group.body.as_ref()? {
            ForEachBody::Inline(_) => Some(items),
            ForEachBody::Run(name) => {
                Some(items.saturating_mul(self.most_outputs(self.find(&name.value)?, known)?))
            }
        }
    }

    fn find_parents(&mut self) {
        for group in 0..self.items.len() {
            for member in self.members(group) {
                if let Some(ix) = self.find(&member.value) {
                    self.parents[ix].push(group);
                }
            }
        }
    }
}

fn lead<'a>(key: &'static str, to: Option<&'a Spanned<String>>) -> Option<Lead<'a>> {
    to.map(|to| Lead { to, key })
}
