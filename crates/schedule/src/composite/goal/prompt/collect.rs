//! Results that are too many for one question become digests first, by levels.
//!
//! Which digests are made is the merge tree's decision: results are its pieces, and the role that puts all of them together
//! (`finalise`, `reconcile`) is asked its last question. So results that fit into that one are a tree of one level, and
//! no other role is asked. Which questions there are follows from results and answers alone. Invariants: each task is in one
//! group of each level, or in the last question, if it has a result; a digest that failed is replaced by the
//! heads of what it was to be made of, which is said, and the goal lacks something; one that may not be made (for lack of
//! money or leave, or because it was stopped) is not replaced: nothing further is asked, and there is no answer.

use super::prompt_budget::{self, Room, Size};
use crate::composite::Step;
use crate::composite::goal::gather::Past;
use crate::composite::goal::planning::answer::words;
use crate::composite::goal::routing::decision::Act;
use crate::composite::merge::{Answer, Answers, Asks, Part, Tree};
use crate::state::{End, State, TaskIx, TaskState};
use crate::view::View;
use convoke_model::excerpt::tokens_of_bytes;
use convoke_model::hash::HashSet;
use convoke_model::synthesis::readable;
use convoke_model::{ChildKind, ChildSpec, Class, Event, GoalChoice, GoalDecided, Piece, Role, TaskId};
use convoke_plan::Kind;
use std::cell::RefCell;

/// Digests that are being made, and whose answers came since they were last looked at.
struct Collecting {
    tree: Tree,
    answered: Vec<TaskIx>,
}

impl View<'_> {
    /// Makes digests before all is put together, where one question cannot take everything. `None` where it can.
    pub(in crate::composite::goal) fn collect_first(&self, on: TaskIx, act: &Act) -> Option<Vec<Step>> {
        if !matches!(act, Act::Ask { role: Role::Finalise | Role::Reconcile, .. }) {
            return None;
        }
        self.forget(on);
        let parts = self.pieces_to_collect(on)?;
        let pieces = parts.len();
        let mut tree = Tree::new(parts, self.room_on(on).bounds());
        let (asks, _) = look(&mut tree, None, &|key, of| self.digest_at(on, key, of));
        if asks.is_empty() {
            return None;
        }
        self.keep_memo(on, Collecting { tree, answered: Vec::new() });
        let reason = format!("{pieces} results do not fit into one question: digests are made of them first");
        Some(self.ask_for_digests(on, asks, reason))
    }

    /// Asks for the digests that the last answers allow.
    pub(in crate::composite::goal) fn collect_further(&self, on: TaskIx, changed: &[TaskIx]) -> Vec<Step> {
        let known = self.take_memo::<Collecting>(on).map(|mut known| {
            known.answered.extend(changed.iter().filter(|child| self.parent_of(**child) == Some(on)));
            known
        });
        if self.digests_of(on).any(|digest| self.ends_collecting(digest)) {
            return Vec::new();
        }
        let makes_digests = known.is_some() || self.makes_digests(on);
        // With no role at work the router looks at everything.
        if self.tasks[on].group.as_ref().is_none_or(|group| group.open == 0) || !makes_digests {
            known.into_iter().for_each(|known| self.keep_memo(on, known));
            return Vec::new();
        }
        let answer = |key: &str, of: &[Part]| self.digest_at(on, key, of);
        let (tree, asks) = match known {
            Some(Collecting { mut tree, answered }) => {
                let keys: Vec<&str> =
                    answered.iter().filter_map(|child| self.key_of_digest(*child)).collect();
                let (asks, _) = look(&mut tree, Some(&keys), &answer);
                (tree, asks)
            }
            None => {
                let Some(parts) = self.pieces_to_collect(on) else { return Vec::new() };
                let mut tree = Tree::new(parts, self.room_on(on).bounds());
                let (asks, _) = look(&mut tree, None, &answer);
                (tree, asks)
            }
        };
        self.keep_memo(on, Collecting { tree, answered: Vec::new() });
        if asks.is_empty() {
            return Vec::new();
        }
        self.ask_for_digests(on, asks, "digests are too many as well: they are put together".to_owned())
    }

    fn ask_for_digests(&self, on: TaskIx, asks: Asks, reason: String) -> Vec<Step> {
        let Some((goal, _)) = self.goal_of(on) else { return Vec::new() };
        let decided = Event::GoalDecided(GoalDecided {
            task: self.tasks[goal].id.clone(),
            chosen: GoalChoice::Collect,
            reason,
            about: (goal != on).then(|| self.tasks[on].id.clone()),
            role: Some(Role::Collect),
        });
        let question = |(key, parts): (String, Vec<Part>)| {
            let of = parts.into_iter().map(|part| part.piece).collect();
            ChildSpec::new(key, ChildKind::Collect { of })
        };
        let children = asks.into_iter().map(question).collect();
        vec![Step::record(decided), Step::Spawn { on, children }]
    }

    /// The pieces of the last question: results and digests. `None` where it is all results.
    pub(in crate::composite::goal) fn last_pieces(&self, on: TaskIx) -> Option<Vec<Piece>> {
        let mut tree = Tree::new(self.pieces_to_collect(on)?, self.room_on(on).bounds());
        let (_, last) = look(&mut tree, None, &|key, of| self.digest_at(on, key, of));
        Some(last?.into_iter().map(|part| part.piece).collect())
    }

    /// The digests that failed, without those that another one of them was to be made of.
    pub(in crate::composite::goal) fn digests_lacking(&self, on: TaskIx) -> Vec<TaskIx> {
        let is_lacking =
            |digest: &TaskIx| self.tasks[*digest].is_ended() && self.digest_text(*digest).is_none();
        let mut lacking: Vec<TaskIx> = self.digests_of(on).filter(is_lacking).collect();
        let pieces = lacking.iter().filter_map(|digest| self.pieces_of(*digest)).flatten();
        let below: HashSet<TaskIx> = pieces.filter_map(|piece| self.tasks.find(&piece.task)).collect();
        lacking.retain(|digest| !below.contains(digest));
        lacking.reverse();
        lacking
    }

    /// The results as pieces with their sizes; `None` where one question takes all of them.
    fn pieces_to_collect(&self, on: TaskIx) -> Option<Vec<Part>> {
        let (goal, spec) = self.goal_of(on)?;
        spec.roles.get(&Role::Collect)?;
        let sources = self.put_together_in(goal, on);
        let reads_on = self.whole_is_read_on(goal, on);
        let size = |source: &TaskIx| self.size_in_prompt(*source, self.room_on(on), (on == goal, reads_on));
        let sizes: Vec<Size> = sources.iter().map(size).collect();
        if self.room_on(on).fit(&sizes) {
            return None;
        }
        let most = (self.room_on(on).bounds().tokens / 2).max(1);
        let cut = |(source, size): (TaskIx, Size)| cut(&self.tasks[source].id, size, most);
        Some(sources.into_iter().zip(sizes).flat_map(cut).collect())
    }

    fn size_in_prompt(&self, task: TaskIx, room: Room, (of_goal, reads_on): (bool, bool)) -> Size {
        let about = self.item_of(task).map_or("", |item| &item.description);
        let said = self.json_of(task);
        let (summary, reason) = (words(&said, "summary"), words(&said, "reason"));
        let text = said.get("result").map(readable).unwrap_or_default();
        let beside = room.beside(&[about, &summary]);
        // The answer's question lists every task besides showing its result.
        let listed = if of_goal { room.beside(&[about, &summary, about, &reason]) } else { beside };
        room.size(&text, beside, listed, reads_on)
    }

    /// How the digest with a key stands, given what it would be made of now.
    fn digest_at(&self, on: TaskIx, key: &str, of: &[Part]) -> Option<Answer> {
        let id = TaskId::new(Some(&self.tasks[on].id), Role::Collect.word(), Some(key), 1);
        let child = self.tasks.find(&id)?;
        let pieces = self.pieces_of(child)?;
        if pieces.len() != of.len() || pieces.iter().zip(of).any(|(piece, part)| *piece != part.piece) {
            return Some(Answer::Other);
        }
        Some(match self.tasks[child].state {
            TaskState::Ended(end) => {
                let text = self.digest_text(child).filter(|_| end == End::Succeeded);
                let room = self.room_on(on);
                let length = text
                    .map_or(room.digest(), |text| prompt_budget::marked(&text).min(room.longest_digest()));
                let tokens = tokens_of_bytes((length + room.beside_digest()) as u64);
                Answer::Given(Part { piece: Piece::whole(id), tokens })
            }
            _ => Answer::Open,
        })
    }
}

impl State {
    /// Whether digests are being made.
    pub(in crate::composite::goal) fn makes_digests(&self, on: TaskIx) -> bool {
        let Some(group) = self.tasks[on].group.as_deref() else { return false };
        let mut digests = group.members.iter().rev().take_while(|member| self.pieces_of(**member).is_some());
        self.has_memo(on) || digests.any(|member| !self.tasks[*member].is_ended())
    }

    /// The digests that were made since the last child was: those of what is put together now, last first.
    fn digests_of(&self, on: TaskIx) -> impl Iterator<Item = TaskIx> {
        let members = self.tasks[on].group.iter().flat_map(|group| group.members.iter().rev().copied());
        let is_later = |member: &TaskIx| {
            self.item_of(*member).is_none() && !self.goal_role(*member).is_some_and(|(role, _)| role.works())
        };
        members.take_while(is_later).filter(|member| self.pieces_of(*member).is_some())
    }

    /// Whether a digest ended in a way that heads do not make up for: others could not be made either, or must not be.
    pub(in crate::composite::goal) fn ends_collecting(&self, digest: TaskIx) -> bool {
        let is_final = |class: Class| {
            matches!(class, Class::Budget | Class::Security | Class::Permission | Class::Cancelled)
        };
        let failure = self.tasks[digest].failure.as_deref();
        match self.tasks[digest].state {
            TaskState::Ended(End::Succeeded) => false,
            TaskState::Ended(_) => failure.is_none_or(|failure| is_final(failure.class)),
            _ => false,
        }
    }

    /// Whether something of what was put together is there by its heads only, or not at all.
    pub(in crate::composite::goal) fn lacks_digests(&self, on: TaskIx) -> bool {
        self.digests_of(on).any(|digest| self.tasks[digest].is_ended() && !self.tasks[digest].succeeded())
    }

    /// What a question about the results of a task or goal has room for, whether they become a digest or the last question
    /// is about them: the smaller window counts.
    fn room_on(&self, on: TaskIx) -> Room {
        let Some((goal, spec)) = self.goal_of(on) else { return Room::within(u64::MAX) };
        let last = if on == goal { Role::Finalise } else { Role::Reconcile };
        let nodes = [Role::Collect, last].into_iter().filter_map(|role| spec.roles.get(&role));
        let rooms = nodes.filter_map(|node| self.room_of(goal, *node)).map(Room::within);
        rooms.min().unwrap_or_else(|| Room::within(u64::MAX))
    }

    /// Whether the role that puts everything together has a tool that reads what is shown in part.
    fn whole_is_read_on(&self, goal: TaskIx, on: TaskIx) -> bool {
        let role = if on == goal { Role::Finalise } else { Role::Reconcile };
        let node = self.goal_of(goal).and_then(|(_, spec)| spec.roles.get(&role));
        let kind = node.map(|node| &self.workflow_of(goal).node(*node).kind);
        matches!(kind, Some(Kind::Agent(agent)) if agent.settings.provider.program.is_none())
    }

    /// The tasks whose results are put together, in an order that does not depend on speed: the children of a task
    /// that were made last; of a goal those right below it. What has no result is listed in the last question.
    fn put_together_in(&self, goal: TaskIx, on: TaskIx) -> Vec<TaskIx> {
        let Kind::Goal(spec) = &self.node(goal).kind else { return Vec::new() };
        let has_result = |task: &TaskIx| self.tasks[*task].succeeded();
        if on != goal {
            let state = self.goal_state(goal, spec, Past::Of(&[on]), None);
            let item = state.find(&self.tasks[on].id).map(|at| state.items[at].batch(&state));
            let children = item.into_iter().flatten().map(|child| &state.items[child].id);
            return children.filter_map(|id| self.tasks.find(id)).filter(has_result).collect();
        }
        let members = self.tasks[goal].group.iter().flat_map(|group| &group.members).copied();
        let items = members.filter(|member| self.item_of(*member).is_some());
        let mut items: Vec<TaskIx> = items.filter(has_result).collect();
        items.sort_by_cached_key(|item| path(&self.tasks[*item].id));
        items
    }

    /// What a digest is to be made of; `None` of other tasks.
    pub(in crate::composite::goal) fn pieces_of(&self, task: TaskIx) -> Option<&[Piece]> {
        match &self.tasks[task].spec.as_ref()?.kind {
            ChildKind::Collect { of } => Some(of),
            _ => None,
        }
    }

    fn key_of_digest(&self, task: TaskIx) -> Option<&str> {
        self.pieces_of(task).and(self.tasks[task].spec.as_ref()).map(|question| question.key.as_str())
    }
}

/// A result as pieces of which two fit into one question.
fn cut(task: &TaskId, size: Size, most: u64) -> Vec<Part> {
    let tokens = tokens_of_bytes((size.result + size.beside) as u64);
    if tokens <= most {
        return vec![Part { piece: Piece::whole(task.clone()), tokens }];
    }
    let room = most.saturating_sub(tokens_of_bytes(size.beside as u64)).max(1);
    let of = tokens_of_bytes(size.result as u64).div_ceil(room);
    let tokens = tokens_of_bytes(size.beside as u64) + tokens_of_bytes(size.result as u64).div_ceil(of);
    let part = |number| Piece { task: task.clone(), part: Some([number, of as u32]) };
    (0..of as u32).map(|number| Part { piece: part(number), tokens }).collect()
}

/// Looks at a tree, all of it or behind some answers: what can be asked, and what the last question would be about once
/// nothing else is open. The last question is never asked here: it is the router's.
fn look(tree: &mut Tree, behind: Option<&[&str]>, answer: &Answers<'_>) -> (Asks, Option<Vec<Part>>) {
    let (key, last) = (tree.last_key(), RefCell::new(None));
    let below = |asked: &str, parts: &[Part]| match asked == key {
        true => {
            *last.borrow_mut() = Some(parts.to_vec());
            Some(Answer::Open)
        }
        false => answer(asked, parts),
    };
    let asks = match behind {
        None => tree.process_all(&below),
        Some(keys) => tree.look_behind(keys.iter().copied(), &below),
    };
    (asks, last.into_inner())
}

/// The numbers in a task's id.
fn path(id: &TaskId) -> Vec<u32> {
    id.0.split('/').filter_map(|number| number.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::composite::merge::Bounds;
    use convoke_model::hash::HashMap;
    use proptest::prelude::*;

    /// What was asked, by key, and what the last question is about.
    struct Ended {
        asked: HashMap<String, Vec<Part>>,
        last: Vec<Part>,
    }

    /// Makes digests of this size until the last question can be asked, looking only behind what was answered.
    fn collect(sizes: &[usize], bounds: Bounds, digest: u64) -> Ended {
        let size = |result: &usize| sized(*result, 4);
        let pieces = |(at, result): (usize, &usize)| {
            cut(&TaskId(at.to_string().into()), size(result), (bounds.tokens / 2).max(1))
        };
        let mut tree = Tree::new(sizes.iter().enumerate().flat_map(pieces).collect(), bounds);
        let mut asked: HashMap<String, Vec<Part>> = HashMap::default();
        let mut behind: Option<Vec<String>> = None;
        loop {
            let given = |key: &str, of: &[Part]| {
                assert!(asked.get(key).is_none_or(|before| before == of), "{key} is about other pieces");
                let piece = Piece::whole(TaskId(format!("d{key}").into()));
                asked.contains_key(key).then_some(Answer::Given(Part { piece, tokens: digest }))
            };
            let keys = behind.as_ref().map(|keys| keys.iter().map(String::as_str).collect::<Vec<_>>());
            let (asks, last) = look(&mut tree, keys.as_deref(), &given);
            if let Some(last) = last {
                assert!(asks.is_empty(), "the last question while another is asked");
                return Ended { asked, last };
            }
            assert!(!asks.is_empty(), "nothing to ask, and not the last question either");
            behind = Some(asks.iter().map(|(key, _)| key.clone()).collect());
            asked.extend(asks);
        }
    }

    fn sized(result: usize, beside: usize) -> Size {
        Size { head: result, marked_head: result, result, beside, listed: beside }
    }

    const SMALL: Bounds = Bounds { ratio: 4, tokens: 100, reshapes: false };

    #[test]
    fn what_fits_is_the_last_question_itself() {
        let ended = collect(&[40, 40, 40], SMALL, 10);
        assert_eq!((ended.asked.len(), ended.last.len()), (0, 3));
    }

    #[test]
    fn a_long_result_is_cut_into_parts_of_which_two_fit() {
        let parts = cut(&TaskId("1".into()), sized(1_000, 40), 50);
        assert_eq!(parts.len(), 7);
        assert!(parts.iter().all(|part| part.tokens <= 50), "{parts:?}");
        assert!(parts.iter().zip(0..).all(|(part, number)| part.piece.part == Some([number, 7])));
    }

    proptest! {
        #[test]
        fn every_piece_is_in_one_question_and_none_is_too_large(
            sizes in prop::collection::vec(0usize..1_000, 2..120), digest in 1u64..40,
        ) {
            let ended = collect(&sizes, SMALL, digest);
            for of in ended.asked.values().chain([&ended.last]) {
                let total: u64 = of.iter().map(|part| part.tokens).sum();
                prop_assert!(of.len() <= 2 || total <= SMALL.tokens, "{total}: {of:?}");
            }
            let shown: Vec<Piece> =
                ended.asked.values().chain([&ended.last]).flatten().map(|part| part.piece.clone()).collect();
            let once: HashSet<Piece> = shown.iter().cloned().collect();
            prop_assert_eq!(once.len(), shown.len(), "nothing is shown twice");
            let digests = ended.asked.keys().map(|key| format!("d{key}"));
            let tasks = (0..sizes.len()).map(|task| task.to_string());
            let tasks: HashSet<String> = tasks.chain(digests).collect();
            let found: HashSet<String> = once.iter().map(|piece| piece.task.to_string()).collect();
            prop_assert_eq!(found, tasks, "every result and every digest is in a question");
        }
    }
}
