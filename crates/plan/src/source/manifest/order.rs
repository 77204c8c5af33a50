//! Which agent follows which.
//!
//! Each agent becomes one step or one fan-out; a dependency on a single partition is one on an item of that fan-out.
//! Names that lead nowhere and circles are left to the checks; nothing here is lost by them.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};

use super::super::text::Spanned;
use super::super::workflow::Requires;
use super::{AgentSpec, Dependency, Partitions};

/// The longest partition that is a name.
const LONGEST_NAME: usize = 100;

/// An edge from an earlier agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Before {
    /// The agent that must have ended.
    pub agent: usize,
    /// The only partition of it that must have.
    pub partition: Option<usize>,
    /// Which ends of it are good enough.
    pub requires: Requires,
    /// Which entry of `depends_on` says so; `None` is order alone, from which nothing is passed on.
    pub stated: Option<usize>,
}

/// The agents of a manifest with their dependencies, each by its place in the file.
pub(super) struct Order<'m> {
    specs: &'m [AgentSpec],
    /// Whether the partitions of each agent are names.
    named: Vec<bool>,
    /// What each agent waits for.
    pub before: Vec<Vec<Before>>,
    /// Dependencies that lead to no agent.
    pub unknown: Vec<Vec<&'m Dependency>>,
}

impl<'m> Order<'m> {
    /// Looks at all agents.
    pub fn new(specs: &'m [AgentSpec]) -> Self {
        let named = |spec: &AgentSpec| matches!(&spec.partitions, Some(Partitions::Listed(listed)) if are_names(listed));
        let nothing = specs.iter().map(|_| Vec::new()).collect();
        let unknown = specs.iter().map(|_| Vec::new()).collect();
        let mut order = Self { specs, named: specs.iter().map(named).collect(), before: nothing, unknown };
        let names = Names::of(specs);
        for agent in 0..specs.len() {
            order.connect(agent, &names);
        }
        order
    }

    fn connect(&mut self, agent: usize, names: &Names<'_>) {
        let mut seen = HashSet::new();
        for (entry, dependency) in self.specs[agent].depends_on.iter().enumerate() {
            let Some((earlier, partition)) = names.find(&dependency.on.value) else {
                self.unknown[agent].push(dependency);
                continue;
            };
            if seen.insert((earlier, partition)) {
                let (requires, stated) = (dependency.requires, Some(entry));
                self.before[agent].push(Before { agent: earlier, partition, requires, stated });
            }
        }
    }

    /// How many agents the file has.
    pub fn len(&self) -> usize {
        self.specs.len()
    }

    /// An agent's name.
    pub fn name(&self, agent: usize) -> &'m str {
        &self.specs[agent].id.value
    }

    /// What runs for an agent, `agent:partition` each; `None` when that is not known yet.
    pub fn expanded(&self, agent: usize) -> Option<Vec<String>> {
        let spec = &self.specs[agent];
        let label = |(index, item): (usize, &Spanned<String>)| match self.named[agent] {
            true => format!("{}:{}", spec.id.value, item.value),
            false => format!("{}:{index}", spec.id.value),
        };
        match &spec.partitions {
            Some(Partitions::Path(_)) => None,
            Some(Partitions::Listed(listed)) => Some(listed.iter().enumerate().map(label).collect()),
            None => Some(vec![spec.id.value.clone()]),
        }
    }

    /// How many run for an agent; `None` when that is not known yet.
    pub fn count_of(&self, agent: usize) -> Option<usize> {
        match &self.specs[agent].partitions {
            Some(Partitions::Path(_)) => None,
            Some(Partitions::Listed(listed)) => Some(listed.len()),
            None => Some(1),
        }
    }

    /// How many agents run, partitions counted; `None` when that is not known yet.
    pub fn count(&self) -> Option<usize> {
        (0..self.len()).map(|agent| self.count_of(agent)).sum()
    }

    /// Whether any agent waits for another.
    pub fn has_dependencies(&self) -> bool {
        self.specs.iter().any(|spec| !spec.depends_on.is_empty())
    }

    /// Whether no agent waits for itself, over others or not.
    pub fn is_sound(&self) -> bool {
        self.sequence().len() == self.len()
    }

    /// Dependency levels, each in the order of the file. What lies on a circle is left out.
    pub fn levels(&self) -> Vec<Vec<usize>> {
        let mut level = vec![None; self.len()];
        for agent in self.sequence() {
            let deepest =
                self.before[agent].iter().map(|edge| level[edge.agent].map_or(0, |depth: usize| depth + 1));
            level[agent] = Some(deepest.max().unwrap_or(0));
        }
        let mut rows: Vec<Vec<usize>> = Vec::new();
        for (agent, depth) in level.iter().enumerate().filter_map(|(agent, depth)| Some((agent, (*depth)?))) {
            if rows.len() <= depth {
                rows.resize(depth + 1, Vec::new());
            }
            rows[depth].push(agent);
        }
        rows
    }

    /// Levels in batches of at most `size`. An agent with more partitions than that has batches of its own.
    pub fn batches(&self, size: usize) -> Vec<Vec<usize>> {
        let mut batches: Vec<Vec<usize>> = Vec::new();
        for level in self.levels() {
            let mut room = 0;
            for agent in level {
                let count = self.count_of(agent).unwrap_or(usize::MAX);
                if count > room {
                    batches.push(Vec::new());
                    room = size;
                }
                batches.last_mut().expect("there is one").push(agent);
                room = room.saturating_sub(count);
            }
        }
        batches
    }

    /// Every agent behind those it waits for; among equals the order of the file.
    pub fn sequence(&self) -> Vec<usize> {
        let mut after = vec![Vec::new(); self.len()];
        for (agent, edges) in self.before.iter().enumerate() {
            edges.iter().for_each(|edge| after[edge.agent].push(agent));
        }
        let mut waits: Vec<usize> = self.before.iter().map(Vec::len).collect();
        let mut ready: BinaryHeap<_> =
            (0..waits.len()).filter(|agent| waits[*agent] == 0).map(Reverse).collect();
        let mut sequence = Vec::with_capacity(waits.len());
        while let Some(Reverse(agent)) = ready.pop() {
            sequence.push(agent);
            for next in &after[agent] {
                waits[*next] -= 1;
                if waits[*next] == 0 {
                    ready.push(Reverse(*next));
                }
            }
        }
        sequence
    }

    /// Adds what order alone demands: each group of agents begins when all of the one before have ended.
    pub fn in_turn(&mut self, groups: &[Vec<usize>]) {
        for pair in groups.windows(2) {
            for agent in &pair[1] {
                for earlier in &pair[0] {
                    self.add_turn(*agent, *earlier);
                }
            }
        }
    }

    fn add_turn(&mut self, agent: usize, earlier: usize) {
        if !self.before[agent].iter().any(|edge| edge.agent == earlier && edge.partition.is_none()) {
            let edge = Before { agent: earlier, partition: None, requires: Requires::Any, stated: None };
            self.before[agent].push(edge);
        }
    }
}

/// Whether partitions are short enough to be names.
pub(super) fn are_names(listed: &[Spanned<String>]) -> bool {
    listed.iter().all(|item| item.value.len() <= LONGEST_NAME && !item.value.contains('\n'))
}

/// The names by which agents and their partitions are known.
struct Names<'m> {
    agents: HashMap<&'m str, usize>,
    partitions: HashMap<usize, HashMap<&'m str, usize>>,
}

impl<'m> Names<'m> {
    fn of(specs: &'m [AgentSpec]) -> Self {
        let mut names = Self { agents: HashMap::new(), partitions: HashMap::new() };
        for (index, spec) in specs.iter().enumerate().filter(|(_, spec)| !spec.id.value.is_empty()) {
            names.agents.entry(spec.id.value.as_str()).or_insert(index);
            if let Some(Partitions::Listed(listed)) = &spec.partitions {
                let by_name = listed.iter().enumerate().map(|(at, item)| (item.value.as_str(), at));
                names.partitions.insert(index, by_name.collect());
            }
        }
        names
    }

    /// An agent, or one partition of it as `agent:partition`; both may have colons themselves.
    fn find(&self, text: &str) -> Option<(usize, Option<usize>)> {
        if let Some(agent) = self.agents.get(text) {
            return Some((*agent, None));
        }
        text.match_indices(':').find_map(|(at, _)| {
            let agent = *self.agents.get(&text[..at])?;
            let partition = *self.partitions.get(&agent)?.get(&text[at + 1..])?;
            Some((agent, Some(partition)))
        })
    }
}
