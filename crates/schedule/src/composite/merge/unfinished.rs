//! What there is of a merge that came to no end of its own.
//!
//! The newest accepted answers stand for the outputs that they were made of; outputs that no accepted answer covers
//! stand for themselves. A choice keeps every candidate that was not eliminated. Invariant: each source is in the text
//! once, merged or as it is.

use super::Merging;
use crate::state::{State, TaskIx};
use crate::view::View;
use convoke_model::hash::{HashMap, HashSet};
use convoke_model::{ChildKind, Piece};
use convoke_plan::Reduce;
use serde_json::{Value, json};

/// Titles that a heading names before it counts the rest.
const NAMED: usize = 3;

/// One block of what there is: a source, or what several were merged to.
struct Block {
    task: TaskIx,
    /// The sources that it is made of, by place.
    origins: Vec<usize>,
}

impl View<'_> {
    /// The report of a merge that did not end well: accepted levels and unmerged sources one after the other. `None`
    /// where no source is there.
    pub(crate) fn unmerged(&self, task: TaskIx, reduce: &Reduce) -> Option<Value> {
        let merging = self.merging_so_far(task, reduce);
        let blocks = self.blocks(task, &merging);
        let result = match blocks.as_slice() {
            [] => return None,
            [one] => self.source_value(one.task),
            many => {
                let text = |block: &Block| {
                    let heading = self.titles_of(&merging, block);
                    format!("## {heading}\n\n{}", self.text_of(block.task))
                };
                Value::from(many.iter().map(text).collect::<Vec<_>>().join("\n\n---\n\n"))
            }
        };
        let origins = blocks.iter().flat_map(|block| block.origins.iter().copied()).collect();
        let rounds = self.tasks[task].group.as_deref().map_or(0, |group| group.members.len() as u32);
        let mut report = self.report(task, reduce, &merging, result, rounds, Some(origins));
        report["partial"] = json!(true);
        report["reason"] = json!(self.why_unfinished(task));
        Some(report)
    }

    fn blocks(&self, task: TaskIx, merging: &Merging) -> Vec<Block> {
        let sources = merging.sources.iter().enumerate();
        let sources = sources.map(|(at, source)| Block { task: *source, origins: vec![at] });
        let gone = match merging.strategy.chooses() {
            true => self.eliminated(task, merging),
            false => self.covered_by_answers(task),
        };
        let accepted = self.accepted(task).filter(|_| !merging.strategy.chooses());
        let accepted =
            accepted.map(|child| Block { task: child, origins: self.places_behind(child, merging) });
        let mut blocks: Vec<Block> =
            sources.chain(accepted).filter(|block| !gone.contains(&block.task)).collect();
        blocks.sort_by_key(|block| block.origins.first().copied());
        blocks
    }

    /// Candidates that a judge was shown and did not choose.
    fn eliminated(&self, task: TaskIx, merging: &Merging) -> HashSet<TaskIx> {
        let mut gone = HashSet::default();
        for child in self.accepted(task) {
            let Some(winner) = self.chosen(child, merging) else { continue };
            let shown = self.pieces_asked(child).iter().filter_map(|piece| self.tasks.find(&piece.task));
            gone.extend(shown.filter(|candidate| *candidate != winner));
        }
        gone
    }
}

impl State {
    /// What is merged, with sources that arrived later or before the merge began.
    fn merging_so_far(&self, task: TaskIx, reduce: &Reduce) -> Merging {
        let mut merging =
            self.merging_of(task).map(|merging| (*merging).clone()).unwrap_or_else(|| Merging {
                strategy: reduce.strategy,
                sources: Vec::new(),
                places: HashMap::default(),
                missing: Vec::new(),
                closed: false,
            });
        for source in self.sources(task, reduce).into_iter().filter(|source| source.succeeded) {
            if !merging.places.contains_key(&source.task) {
                merging.places.insert(source.task, merging.sources.len());
                merging.sources.push(source.task);
            }
        }
        merging
    }

    /// The questions of a merge that were answered.
    fn accepted(&self, task: TaskIx) -> impl Iterator<Item = TaskIx> {
        let members = self.tasks[task].group.iter().flat_map(|group| group.members.iter().copied());
        members.filter(|child| {
            let about = self.tasks[*child].spec.as_ref().map(|question| &question.kind);
            matches!(about, Some(ChildKind::Merge { .. } | ChildKind::Choose { .. }))
                && self.tasks[*child].succeeded()
        })
    }

    fn pieces_asked(&self, child: TaskIx) -> &[Piece] {
        match self.tasks[child].spec.as_ref().map(|question| &question.kind) {
            Some(ChildKind::Merge { of } | ChildKind::Choose { of }) => of,
            _ => &[],
        }
    }

    /// Outputs that stand in an accepted answer as a whole, each of their parts included.
    fn covered_by_answers(&self, task: TaskIx) -> HashSet<TaskIx> {
        let mut parts: HashMap<TaskIx, (HashSet<u32>, u32)> = HashMap::default();
        for piece in self.accepted(task).flat_map(|child| self.pieces_asked(child)) {
            let Some(found) = self.tasks.find(&piece.task) else { continue };
            let [number, of] = piece.part.unwrap_or([0, 1]);
            let (seen, all) = parts.entry(found).or_default();
            seen.insert(number);
            *all = of;
        }
        parts.into_iter().filter(|(_, (seen, all))| seen.len() as u32 >= *all).map(|(task, _)| task).collect()
    }

    fn places_behind(&self, child: TaskIx, merging: &Merging) -> Vec<usize> {
        let mut origins = Vec::new();
        self.pieces_asked(child).iter().for_each(|piece| self.add_origins(piece, &mut origins));
        let place = |id: &convoke_model::TaskId| merging.places.get(&self.tasks.find(id)?).copied();
        let mut places: Vec<usize> = origins.iter().filter_map(place).collect();
        places.sort_unstable();
        places.dedup();
        places
    }

    fn titles_of(&self, merging: &Merging, block: &Block) -> String {
        let titles = block.origins.iter().take(NAMED).map(|at| self.title(merging.sources[*at]));
        let named = titles.collect::<Vec<_>>().join(", ");
        match block.origins.len().saturating_sub(NAMED) {
            0 => named,
            more => format!("{named} and {more} more"),
        }
    }
}
