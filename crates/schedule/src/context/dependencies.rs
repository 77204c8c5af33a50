//! The block that shows an agent what the steps it needs have produced.
//!
//! In the order of its needs, items in the order of their list, so that the same outputs give the same prompt. Large
//! outputs are shown by their head, size and address; nothing is cut without saying where the rest is.

use crate::state::{State, TaskIx};
use crate::view::View;
use convoke_model::Digest;
use convoke_model::hash::HashSet;
use convoke_plan::{Kind, Requires};
use std::fmt::Write;

/// All outputs of one block together take at most as many tokens as this many of them would.
const WHOLE_OUTPUTS: u64 = 16;

/// Fewer tokens say nothing.
const LEAST: u64 = 50;

/// The most outputs that are named as missing behind one that was made without them.
const GAPS: usize = 40;

/// Tokens that the heading of an output takes.
const HEADING: u64 = 16;

/// What a block may hold, in tokens.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TokenBudget {
    /// Of one output.
    pub each: u64,
    /// Of all of them, as the model's window leaves it.
    pub all: u64,
}

impl View<'_> {
    /// The block behind the prompt of a task whose step needs something, empty where it needs nothing, and the outputs that it shows in part.
    pub(crate) fn dependency_block(
        &self,
        task: TaskIx,
        step: TaskIx,
        budget: TokenBudget,
        mut kept: Vec<Digest>,
    ) -> (String, Vec<Digest>) {
        let place = self.tasks[step].place;
        let needs = self.node(step).needs.iter().filter(|need| !need.order);
        let mut sources = Vec::new();
        for need in needs {
            let Some(needed) = self.beside(place, need.node) else { continue };
            match need.item {
                Some(item) => sources.push(self.member_at(needed, item).unwrap_or(needed)),
                None => self.add_members(needed, &mut sources),
            }
        }
        let mut seen = HashSet::default();
        sources.retain(|source| seen.insert(*source));
        if sources.is_empty() {
            return (String::new(), kept);
        }
        let all = budget.each.saturating_mul(WHOLE_OUTPUTS);
        let each = (all / sources.len() as u64).max(LEAST).min(budget.each);
        let most = (all / each.max(1)).max(1);
        // The window may leave less than that.
        let count = most.min(sources.len() as u64).max(1);
        let fits = (budget.all / (LEAST + HEADING)).clamp(1, count);
        let each = each.min((budget.all / fits).saturating_sub(HEADING).max(LEAST));
        let most = if fits < count { fits } else { most } as usize;
        let mut block = "## DEPENDENCY OUTPUTS\n".to_owned();
        for source in sources.iter().copied().take(most) {
            let title = self.step_name(source);
            let text = match self.tasks[source].succeeded() {
                true => {
                    let seen = self.repaired(task, self.tasks[source].node).unwrap_or(source);
                    match self.can_read_on(task) {
                        true => self.shown_or_kept(seen, each, &mut kept),
                        false => self.output_excerpt(seen, each),
                    }
                }
                false => format!("(no output: {})", self.absence(source).cause),
            };
            let without = self.gaps_of(source);
            let _ = write!(block, "\n### {title}\n\n{text}\n{without}");
        }
        if sources.len() > most {
            let _ = write!(block, "\n[{} more outputs are not shown here]\n", sources.len() - most);
        }
        (block, kept)
    }

    /// What an output was made without, at any depth below it; nothing where all was there.
    fn gaps_of(&self, source: TaskIx) -> String {
        let mut gaps = Vec::new();
        self.add_gaps(source, &mut HashSet::default(), &mut gaps);
        if gaps.is_empty() {
            return String::new();
        }
        let name = |gap: &TaskIx| format!("{} ({})", self.step_name(*gap), self.absence(*gap).cause);
        let named: Vec<String> = gaps.iter().take(GAPS).map(name).collect();
        let more = gaps.len() - named.len();
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        format!("\n[made without: {}{more}]\n", named.join(", "))
    }

    fn add_gaps(&self, task: TaskIx, seen: &mut HashSet<TaskIx>, gaps: &mut Vec<TaskIx>) {
        if !self.tasks[task].succeeded() {
            return;
        }
        let place = self.tasks[task].place;
        let needs = self.node(task).needs.iter().filter(|need| need.requires == Requires::Some);
        for needed in needs.filter_map(|need| self.beside(place, need.node)) {
            if seen.insert(needed) {
                if !self.tasks[needed].succeeded() {
                    gaps.push(needed);
                }
                self.add_gaps(needed, seen, gaps);
            }
        }
    }

    /// An output, or the head of a large one with the name by which the agent reads the rest.
    fn shown_or_kept(&self, source: TaskIx, tokens: u64, kept: &mut Vec<Digest>) -> String {
        let shown = self.output_excerpt(source, tokens);
        if shown == self.text_of(source) {
            return shown;
        }
        let Some(digest) = self.kept_whole(source) else { return shown };
        kept.push(digest);
        format!("{shown}\n[`read_result` with the name `r{}` reads it]", kept.len())
    }
}

impl State {
    /// Whether the agent of a task has a tool that reads what the prompt shows in part: programs and coding agents
    /// have tools of their own alone.
    pub(crate) fn can_read_on(&self, task: TaskIx) -> bool {
        match &self.node(task).kind {
            Kind::Agent(agent) => agent.settings.provider.program.is_none(),
            kind => !matches!(kind, Kind::Script(_)),
        }
    }

    /// The task of an item, where it exists.
    fn member_at(&self, group: TaskIx, item: u32) -> Option<TaskIx> {
        self.tasks[group].group.as_deref()?.members.get(item as usize).copied()
    }

    fn add_members(&self, task: TaskIx, found: &mut Vec<TaskIx>) {
        match self.tasks[task].group.as_deref().filter(|_| self.node(task).kind.is_group()) {
            Some(group) => group.members.iter().for_each(|member| self.add_members(*member, found)),
            None => found.push(task),
        }
    }
}
