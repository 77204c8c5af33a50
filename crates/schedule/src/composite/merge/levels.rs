//! Merging and choosing by levels: the tree decides, here it is fed and carried out.

use super::Merging;
use super::tree::{Answer, Asks, Bounds, Next, Part, Tree, look};
use crate::composite::Step;
use crate::state::{End, State, TaskIx, TaskState};
use crate::view::View;
use convoke_model::excerpt::tokens;
use convoke_model::fit::violations;
use convoke_model::synthesis::{self, index_of};
use convoke_model::{ChildKind, ChildSpec, Piece, TaskId};
use convoke_plan::{Kind, Reduce, Strategy};
use serde_json::Value;

/// A question has room for so many tokens of outputs at least; a window that has not is refused where it is asked.
const LEAST_TOKENS: u64 = 200;

impl View<'_> {
    /// Asks what can be asked, or ends the merge.
    pub(super) fn next_level(
        &self,
        task: TaskIx,
        reduce: &Reduce,
        merging: &Merging,
        changed: &[TaskIx],
    ) -> Vec<Step> {
        let (asks, is_settled) = self.new_questions(task, reduce, merging, changed);
        if !asks.is_empty() {
            let questions = asks.into_iter().map(|(key, parts)| question(merging.strategy, key, parts));
            return vec![Step::Spawn { on: task, children: questions.collect() }];
        }
        match is_settled {
            true => self.end_levels(task, reduce, merging, &self.process_levels(task, reduce, merging)),
            false => Vec::new(),
        }
    }

    /// What can be asked now: all there is at the first look, and what the answers since the last one allow. And whether
    /// nothing is left to ask.
    fn new_questions(
        &self,
        task: TaskIx,
        reduce: &Reduce,
        merging: &Merging,
        changed: &[TaskIx],
    ) -> (Asks, bool) {
        let bounds = self.bounds(task, reduce, merging);
        let answer = |key: &str, of: &[Part]| self.answer_at(task, merging, key, of, bounds);
        let (tree, asks) = match self.take_memo::<Tree>(task) {
            None => {
                let mut tree = Tree::new(self.parts(merging, bounds), bounds);
                let asks = tree.process_all(&answer);
                (tree, asks)
            }
            Some(mut tree) => {
                let answered = changed.iter().filter(|child| self.parent_of(**child) == Some(task));
                let asked = answered.filter_map(|child| self.tasks[*child].spec.as_ref());
                let asks = tree.look_behind(asked.map(|question| question.key.as_str()), &answer);
                (tree, asks)
            }
        };
        let is_settled = tree.is_settled();
        self.keep_memo(task, tree);
        (asks, is_settled)
    }

    /// Everything at once, for the end: what was carried on or lost on the way.
    fn process_levels(&self, task: TaskIx, reduce: &Reduce, merging: &Merging) -> Next {
        let bounds = self.bounds(task, reduce, merging);
        let parts = self.parts(merging, bounds);
        look(parts, bounds, &|key, of| self.answer_at(task, merging, key, of, bounds))
    }

    fn bounds(&self, task: TaskIx, reduce: &Reduce, merging: &Merging) -> Bounds {
        Bounds {
            ratio: if merging.strategy == Strategy::Tournament { 2 } else { reduce.ratio as usize },
            tokens: self.question_tokens(task, reduce),
            reshapes: self.lacks_shape(task, reduce, merging),
        }
    }

    /// The tokens of outputs in one question: as the step says, as far as the model's window has room for them beside the
    /// question itself. A quarter of the room is left to headings and to texts that have more tokens than was thought.
    pub(super) fn question_tokens(&self, task: TaskIx, reduce: &Reduce) -> u64 {
        let Some(room) = reduce.merger.and_then(|node| self.room_of(task, node)) else {
            return reduce.group_tokens;
        };
        // A question that cannot be rendered fails where it is asked.
        let asked = self.question_part(task, reduce).map_or(0, |text| tokens(&text));
        reduce
            .group_tokens
            .min((room / 4 * 3).saturating_sub(asked))
            .max(LEAST_TOKENS.min(reduce.group_tokens))
    }

    /// Whether there is one output alone, and it has not the shape that the answer must have.
    pub(super) fn lacks_shape(&self, task: TaskIx, reduce: &Reduce, merging: &Merging) -> bool {
        let [source] = merging.sources.as_slice() else { return false };
        let merger = reduce.merger.filter(|_| !merging.strategy.chooses());
        let merger = merger.map(|node| &self.workflow_of(task).node(node).kind);
        let Some(Kind::Agent(merger)) = merger else { return false };
        let shape = merger.settings.schema.as_ref().filter(|shape| !shape.is_empty());
        shape.is_some_and(|shape| match self.source_value(*source) {
            Value::Object(fields) => !violations(shape, &fields).is_empty(),
            _ => true,
        })
    }

    fn answer_at(
        &self,
        task: TaskIx,
        merging: &Merging,
        key: &str,
        of: &[Part],
        bounds: Bounds,
    ) -> Option<Answer> {
        let id = TaskId::new(Some(&self.tasks[task].id), word(merging.strategy), Some(key), 1);
        let child = self.tasks.find(&id)?;
        if !self.is_about(child, of) {
            return Some(Answer::Other);
        }
        Some(match self.tasks[child].state {
            TaskState::Ended(End::Succeeded) if merging.strategy.chooses() => {
                match self.chosen(child, merging) {
                    Some(source) => {
                        let piece = Piece::whole(self.tasks[source].id.clone());
                        let tokens = self.size_of(source).min((bounds.tokens / 2).max(1));
                        Answer::Given(Part { piece, tokens })
                    }
                    None => Answer::Failed,
                }
            }
            TaskState::Ended(End::Succeeded) => {
                Answer::Given(Part { piece: Piece::whole(id), tokens: self.size_of(child) })
            }
            TaskState::Ended(_) => Answer::Failed,
            _ => Answer::Open,
        })
    }

    /// The source that a judge chose; it must be one of those it was shown.
    pub(super) fn chosen(&self, child: TaskIx, merging: &Merging) -> Option<TaskIx> {
        let answer = self.json_of(child);
        let source = merging.sources[index_of(answer.get("winner")?.as_str()?, merging.sources.len())?];
        let ChildKind::Choose { of } = &self.tasks[child].spec.as_ref()?.kind else { return None };
        of.iter().any(|piece| piece.task == self.tasks[source].id).then_some(source)
    }
}

impl State {
    /// The sources as pieces; a merge takes large ones in parts, a choice takes each as it is.
    fn parts(&self, merging: &Merging, bounds: Bounds) -> Vec<Part> {
        let whole = |source: &TaskIx| Part {
            piece: Piece::whole(self.tasks[*source].id.clone()),
            tokens: self.size_of(*source).min((bounds.tokens / 2).max(1)),
        };
        match merging.strategy.chooses() {
            true => merging.sources.iter().map(whole).collect(),
            false => merging.sources.iter().flat_map(|source| self.cut(*source, bounds.tokens)).collect(),
        }
    }

    /// An output as pieces of which two fit into one question.
    pub(super) fn cut(&self, source: TaskIx, bound: u64) -> Vec<Part> {
        let (task, tokens, most) = (self.tasks[source].id.clone(), self.size_of(source), (bound / 2).max(1));
        if tokens <= most {
            return vec![Part { piece: Piece::whole(task), tokens }];
        }
        let of = tokens.div_ceil(most) as u32;
        let cut = |number| Piece { task: task.clone(), part: Some([number, of]) };
        (0..of).map(|number| Part { piece: cut(number), tokens: tokens.div_ceil(u64::from(of)) }).collect()
    }

    /// Whether a question was about exactly these pieces.
    fn is_about(&self, child: TaskIx, parts: &[Part]) -> bool {
        let Some(question) = &self.tasks[child].spec else { return false };
        let (ChildKind::Merge { of } | ChildKind::Choose { of }) = &question.kind else { return false };
        of.len() == parts.len() && of.iter().zip(parts).all(|(piece, part)| *piece == part.piece)
    }
}

fn question(strategy: Strategy, key: String, parts: Vec<Part>) -> ChildSpec {
    let of = parts.into_iter().map(|part| part.piece).collect();
    let about = if strategy.chooses() { ChildKind::Choose { of } } else { ChildKind::Merge { of } };
    ChildSpec::new(key, about)
}

fn word(strategy: Strategy) -> &'static str {
    if strategy.chooses() { "choose" } else { "merge" }
}

/// A result as text, for marks and sizes.
pub(super) fn as_text(result: &serde_json::Value) -> String {
    synthesis::readable(result)
}
