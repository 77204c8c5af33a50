//! Which agent follows which.
//!
//! A unit is what becomes one step or one fan-out: an agent, or one partition of an agent of which somebody depends on
//! a single partition. Names that lead nowhere and circles are left to the checks; nothing here is lost by them.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use super::super::text::Spanned;
use super::super::workflow::Requires;
use super::{AgentSpec, Dependency, Partitions};

/// The longest partition that is a name.
const LONGEST_NAME: usize = 100;

/// What becomes one step or one fan-out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unit {
    /// The agent.
    pub spec: usize,
    /// The only partition, where each is a step of its own.
    pub partition: Option<usize>,
}

/// An edge from an earlier unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Before {
    /// The unit that must have ended.
    pub unit: usize,
    /// Which ends of it are good enough.
    pub requires: Requires,
    /// Which entry of `depends_on` says so; `None` is order alone, from which nothing is passed on.
    pub stated: Option<usize>,
}

/// The agents of a manifest with their dependencies.
pub(super) struct Order<'m> {
    specs: &'m [AgentSpec],
    /// In the order of the file.
    pub units: Vec<Unit>,
    /// What each unit waits for.
    pub before: Vec<Vec<Before>>,
    /// Dependencies that lead to no agent.
    pub unknown: Vec<Vec<&'m Dependency>>,
}

impl<'m> Order<'m> {
    /// Looks at all agents.
    pub fn new(specs: &'m [AgentSpec]) -> Self {
        let ids = ids(specs);
        let split = split(specs, &ids);
        let units = units(specs, &split);
        let mut order = Self { specs, before: vec![Vec::new(); units.len()], unknown: Vec::new(), units };
        order.unknown = vec![Vec::new(); order.units.len()];
        let of_spec = by_spec(&order.units, specs.len());
        for unit in 0..order.units.len() {
            order.connect(unit, &ids, &of_spec);
        }
        order
    }

    fn connect(&mut self, unit: usize, ids: &HashMap<&str, usize>, of_spec: &[Vec<usize>]) {
        let spec = &self.specs[self.units[unit].spec];
        for (entry, dependency) in spec.depends_on.iter().enumerate() {
            let found = self.resolve(&dependency.on, ids, of_spec);
            if found.is_empty() {
                self.unknown[unit].push(dependency);
            }
            for earlier in found {
                if !self.before[unit].iter().any(|edge| edge.unit == earlier) {
                    let requires = dependency.requires;
                    self.before[unit].push(Before { unit: earlier, requires, stated: Some(entry) });
                }
            }
        }
    }

    /// All units of an agent, or the one of a partition.
    fn resolve(
        &self,
        on: &Spanned<String>,
        ids: &HashMap<&str, usize>,
        of_spec: &[Vec<usize>],
    ) -> Vec<usize> {
        if let Some(spec) = ids.get(on.value.as_str()) {
            return of_spec[*spec].clone();
        }
        let Some((spec, partition)) = partition_of(self.specs, ids, &on.value) else { return Vec::new() };
        let is_it = |unit: &&usize| self.units[**unit].partition == Some(partition);
        of_spec[spec].iter().filter(is_it).copied().collect()
    }

    /// The name of a unit: the agent's, or `agent:partition`.
    pub fn name(&self, unit: usize) -> String {
        let Unit { spec, partition } = self.units[unit];
        let spec = &self.specs[spec];
        match (partition, &spec.partitions) {
            (Some(index), Some(Partitions::Listed(listed))) => {
                format!("{}:{}", spec.id.value, label(listed, index))
            }
            _ => spec.id.value.clone(),
        }
    }

    /// The agents that run for a unit, `agent:partition` each; `None` when nobody knows yet.
    pub fn expanded(&self, unit: usize) -> Option<Vec<String>> {
        let Unit { spec, partition } = self.units[unit];
        let spec = &self.specs[spec];
        match (partition, &spec.partitions) {
            (None, Some(Partitions::Path(_))) => None,
            (None, Some(Partitions::Listed(listed))) => Some(
                (0..listed.len())
                    .map(|index| format!("{}:{}", spec.id.value, label(listed, index)))
                    .collect(),
            ),
            _ => Some(vec![self.name(unit)]),
        }
    }

    /// How many agents run; `None` when nobody knows yet.
    pub fn count(&self) -> Option<usize> {
        let counts = (0..self.units.len()).map(|unit| self.expanded(unit).map(|names| names.len()));
        counts.sum()
    }

    /// Whether any agent waits for another.
    pub fn has_dependencies(&self) -> bool {
        self.specs.iter().any(|spec| !spec.depends_on.is_empty())
    }

    /// Dependency levels, each in the order of the file. What lies on a circle is left out.
    pub fn levels(&self) -> Vec<Vec<usize>> {
        let mut level = vec![None; self.units.len()];
        for unit in self.sequence() {
            let deepest =
                self.before[unit].iter().map(|edge| level[edge.unit].map_or(0, |depth: usize| depth + 1));
            level[unit] = Some(deepest.max().unwrap_or(0));
        }
        let mut rows: Vec<Vec<usize>> = Vec::new();
        for (unit, depth) in level.iter().enumerate().filter_map(|(unit, depth)| Some((unit, (*depth)?))) {
            if rows.len() <= depth {
                rows.resize(depth + 1, Vec::new());
            }
            rows[depth].push(unit);
        }
        rows
    }

    /// Every unit behind those it waits for; among equals the order of the file.
    pub fn sequence(&self) -> Vec<usize> {
        let mut after = vec![Vec::new(); self.units.len()];
        for (unit, edges) in self.before.iter().enumerate() {
            edges.iter().for_each(|edge| after[edge.unit].push(unit));
        }
        let mut waits: Vec<usize> = self.before.iter().map(Vec::len).collect();
        let mut ready: BinaryHeap<_> =
            (0..waits.len()).filter(|unit| waits[*unit] == 0).map(Reverse).collect();
        let mut sequence = Vec::with_capacity(waits.len());
        while let Some(Reverse(unit)) = ready.pop() {
            sequence.push(unit);
            for next in &after[unit] {
                waits[*next] -= 1;
                if waits[*next] == 0 {
                    ready.push(Reverse(*next));
                }
            }
        }
        sequence
    }

    /// Adds what order alone demands: each group of units begins when all of the one before have ended.
    pub fn in_turn(&mut self, groups: &[Vec<usize>]) {
        for pair in groups.windows(2) {
            for unit in &pair[1] {
                for earlier in &pair[0] {
                    self.add_turn(*unit, *earlier);
                }
            }
        }
    }

    fn add_turn(&mut self, unit: usize, earlier: usize) {
        if !self.before[unit].iter().any(|edge| edge.unit == earlier) {
            self.before[unit].push(Before { unit: earlier, requires: Requires::Any, stated: None });
        }
    }
}

/// Whether partitions are short enough to be names.
pub(super) fn are_names(listed: &[Spanned<String>]) -> bool {
    listed.iter().all(|item| item.value.len() <= LONGEST_NAME && !item.value.contains('\n'))
}

/// What a partition is called: itself, or its number where partitions are whole texts.
fn label(listed: &[Spanned<String>], index: usize) -> String {
    if are_names(listed) { listed[index].value.clone() } else { index.to_string() }
}

fn ids(specs: &[AgentSpec]) -> HashMap<&str, usize> {
    let mut ids = HashMap::new();
    for (index, spec) in specs.iter().enumerate().filter(|(_, spec)| !spec.id.value.is_empty()) {
        ids.entry(spec.id.value.as_str()).or_insert(index);
    }
    ids
}

/// The agents of which somebody depends on one partition.
fn split(specs: &[AgentSpec], ids: &HashMap<&str, usize>) -> Vec<bool> {
    let mut split = vec![false; specs.len()];
    for dependency in specs.iter().flat_map(|spec| &spec.depends_on) {
        let on = dependency.on.value.as_str();
        if let (false, Some((spec, _))) = (ids.contains_key(on), partition_of(specs, ids, on)) {
            split[spec] = true;
        }
    }
    split
}

/// `agent:partition`; both may have colons themselves.
fn partition_of(specs: &[AgentSpec], ids: &HashMap<&str, usize>, text: &str) -> Option<(usize, usize)> {
    text.match_indices(':').find_map(|(at, _)| {
        let spec = *ids.get(&text[..at])?;
        let Some(Partitions::Listed(listed)) = &specs[spec].partitions else { return None };
        let partition = listed.iter().position(|item| item.value == text[at + 1..])?;
        Some((spec, partition))
    })
}

fn units(specs: &[AgentSpec], split: &[bool]) -> Vec<Unit> {
    let of_spec = |(spec, agent): (usize, &AgentSpec)| match &agent.partitions {
        Some(Partitions::Listed(listed)) if split[spec] => {
            (0..listed.len()).map(|partition| Unit { spec, partition: Some(partition) }).collect()
        }
        _ => vec![Unit { spec, partition: None }],
    };
    specs.iter().enumerate().flat_map(of_spec).collect()
}

fn by_spec(units: &[Unit], specs: usize) -> Vec<Vec<usize>> {
    let mut found = vec![Vec::new(); specs];
    for (index, unit) in units.iter().enumerate() {
        found[unit.spec].push(index);
    }
    found
}
