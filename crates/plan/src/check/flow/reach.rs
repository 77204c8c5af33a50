//! What can run at all, and what can have run before something else.
//!
//! Edges are routes, gate options, `on_error` and `needs`; members hang on their groups. An edge is taken as possible
//! whatever its condition says.

use super::super::outline::Outline;
use std::cell::RefCell;
use std::rc::Rc;

/// Reachability between the items of one outline.
pub(in crate::check) struct Reach {
    /// Whether an item can run at all.
    runs: Vec<bool>,
    /// Items that lead directly to an item, or that it needs.
    before: Vec<Vec<usize>>,
    parents: Vec<Vec<usize>>,
    /// The last answer: texts are looked at step by step, and all answers of a large file would take too much room.
    known: RefCell<Option<(usize, Rc<Vec<bool>>)>>,
}

impl Reach {
    /// Looks at all edges of an outline.
    pub fn new(outline: &Outline<'_>) -> Self {
        let before = predecessors(outline);
        Self { runs: running(outline), before, parents: outline.parents.clone(), known: RefCell::default() }
    }

    /// Whether an item can run at all.
    pub fn runs(&self, ix: usize) -> bool {
        self.runs[ix]
    }

    /// The items that lead directly to an item, or that it needs.
    pub fn directly_before(&self, ix: usize) -> &[usize] {
        &self.before[ix]
    }

    /// Whether `earlier` can have run when `later` starts.
    pub fn can_precede(&self, earlier: usize, later: usize) -> bool {
        self.ancestors(later)[earlier] && self.runs[earlier]
    }

    /// Everything that can have run when an item starts.
    pub fn ancestors(&self, ix: usize) -> Rc<Vec<bool>> {
        if let Some((_, known)) = self.known.borrow().as_ref().filter(|(at, _)| *at == ix) {
            return known.clone();
        }
        let found = Rc::new(self.collect_ancestors(ix));
        self.known.replace(Some((ix, found.clone())));
        found
    }

    /// Walks backwards; a member starts with its group, so it sees what the group sees, but not the group.
    fn collect_ancestors(&self, ix: usize) -> Vec<bool> {
        let mut seen = vec![false; self.before.len()];
        let mut visited = vec![false; self.before.len()];
        let mut open = vec![ix];
        while let Some(at) = open.pop() {
            if std::mem::replace(&mut visited[at], true) {
                continue;
            }
            for earlier in &self.before[at] {
                seen[*earlier] = true;
                open.push(*earlier);
            }
            open.extend(&self.parents[at]);
        }
        seen
    }
}

fn predecessors(outline: &Outline<'_>) -> Vec<Vec<usize>> {
    let mut before = vec![Vec::new(); outline.items.len()];
    for ix in 0..outline.items.len() {
        before[ix].extend(outline.needs(ix));
        for next in outline.successors(ix) {
            before[next].push(ix);
        }
    }
    before
}

fn running(outline: &Outline<'_>) -> Vec<bool> {
    let mut after = vec![Vec::new(); outline.items.len()];
    for (ix, next) in after.iter_mut().enumerate() {
        next.extend(outline.successors(ix));
        next.extend(outline.members(ix).iter().filter_map(|member| outline.find(&member.value)));
    }
    for ix in 0..outline.items.len() {
        for need in outline.needs(ix) {
            after[need].push(ix);
        }
    }
    let mut runs = vec![false; outline.items.len()];
    let mut open = outline.entries();
    open.extend(outline.hook_steps().into_iter().map(|(_, ix)| ix));
    while let Some(ix) = open.pop() {
        if !std::mem::replace(&mut runs[ix], true) {
            open.extend(&after[ix]);
        }
    }
    runs
}
