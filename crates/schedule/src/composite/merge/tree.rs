//! Which questions a merge by levels asks next. Pure: sizes and answers in, questions out.
//!
//! Pieces are packed into consecutive groups of at most `ratio` pieces and `tokens` tokens; each group becomes one
//! piece of the next level, until one is left. A group asks as soon as its own pieces are there, whatever the rest of
//! its level does. What would not fit in one question is merged in several first. Which questions there are follows from
//! the pieces and the answers alone, so a resumed run asks what the interrupted one would have asked. [`Tree`] only
//! remembers which groups are settled: an answer makes it look at its own group and those above, and at nothing else.

use convoke_model::Piece;
use std::collections::BTreeSet;

/// A piece with its size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    pub piece: Piece,
    pub tokens: u64,
}

/// The bounds of one question.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub ratio: usize,
    pub tokens: u64,
    /// Whether a single piece is asked about too: it has not the shape that the answer must have.
    pub reshapes: bool,
}

/// How a question that was asked stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    Open,
    Given(Part),
    Failed,
    /// It was about other pieces: a question before a run was reopened.
    Other,
}

/// What follows from pieces and answers.
#[derive(Debug, Default)]
pub(crate) struct Next {
    /// Questions to ask now: key and pieces.
    pub asks: Vec<(String, Vec<Part>)>,
    /// What is left of everything, once nothing is open: one piece, or none when all was lost.
    pub result: Option<Option<Part>>,
    /// Questions that failed and whose pieces were handed on as they are.
    pub carried: Vec<String>,
    /// Questions that failed and whose pieces are lost.
    pub lost: Vec<(String, Vec<Part>)>,
    /// Levels of questions, the one that is being asked included.
    pub levels: u32,
}

/// A merge by levels between two looks.
#[derive(Debug)]
pub(crate) struct Tree {
    bounds: Bounds,
    /// The groups of the first level.
    groups: Vec<Vec<Part>>,
    /// What each group of each level has become; `None` while that is open.
    settled: Vec<Vec<Option<Vec<Part>>>>,
}

/// Questions to ask: key and pieces.
pub(crate) type Asks = Vec<(String, Vec<Part>)>;

impl Tree {
    /// Nothing is settled yet.
    pub fn new(parts: Vec<Part>, bounds: Bounds) -> Tree {
        let groups = if parts.len() <= 1 { vec![parts] } else { pack(parts, bounds) };
        let mut settled = vec![vec![None; groups.len()]];
        while let Some(size) = settled.last().map(Vec::len).filter(|size| *size > 1) {
            settled.push(vec![None; size.div_ceil(bounds.ratio)]);
        }
        Tree { bounds, groups, settled }
    }

    /// Whether nothing is left to ask.
    pub fn is_settled(&self) -> bool {
        self.settled.last().is_some_and(|top| top.iter().all(Option::is_some))
    }

    /// The key of the question that is asked last, of all that is left.
    pub fn last_key(&self) -> String {
        format!("{}.0", self.settled.len())
    }

    /// Looks at every group.
    pub fn process_all(&mut self, answer: &Answers<'_>) -> Asks {
        (0..self.groups.len()).flat_map(|number| self.process(1, number, answer)).collect()
    }

    /// Looks at the groups of questions that have been answered, each once, and at those above them.
    pub fn look_behind<'k>(&mut self, keys: impl Iterator<Item = &'k str>, answer: &Answers<'_>) -> Asks {
        let places: BTreeSet<(usize, usize)> = keys.filter_map(place).collect();
        places.into_iter().flat_map(|(level, number)| self.process(level, number, answer)).collect()
    }

    fn process(&mut self, mut level: usize, mut number: usize, answer: &Answers<'_>) -> Asks {
        let mut look = Look { bounds: self.bounds, answer, next: Next::default() };
        while let Some(parts) = self.open_parts(level, number) {
            let last = self.settled[level - 1].len() == 1;
            let key = format!("{level}.{number}");
            let slot = match last && level == 1 && parts.len() == 1 && self.bounds.reshapes {
                true => look.question(key, parts, false),
                false => look.settle(&key, parts, last),
            };
            match slot {
                Slot::Pending => break,
                Slot::Parts(left) => self.settled[level - 1][number] = Some(left),
            }
            (level, number) = (level + 1, number / self.bounds.ratio);
        }
        look.next.asks
    }

    /// The pieces of a group that is not settled, once all are there.
    fn open_parts(&self, level: usize, number: usize) -> Option<Vec<Part>> {
        let own = self.settled.get(level.checked_sub(1)?)?.get(number)?;
        if own.is_some() {
            return None;
        }
        let Some(below) = level.checked_sub(2) else { return self.groups.get(number).cloned() };
        let below = self.settled[below].iter().skip(number * self.bounds.ratio).take(self.bounds.ratio);
        below.cloned().collect::<Option<Vec<_>>>().map(|parts| parts.concat())
    }
}

/// The level and the number that a question's key begins with.
fn place(key: &str) -> Option<(usize, usize)> {
    let mut numbers = key.split(['.', '+']).map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

/// What a group of pieces has become.
enum Slot {
    Pending,
    Parts(Vec<Part>),
}

/// How the question with a key stands, given what it would be about now.
pub(crate) type Answers<'a> = dyn Fn(&str, &[Part]) -> Option<Answer> + 'a;

struct Look<'a> {
    bounds: Bounds,
    answer: &'a Answers<'a>,
    next: Next,
}

/// Looks at a merge: what may be asked now, and what came of it.
pub(crate) fn look(parts: Vec<Part>, bounds: Bounds, answer: &Answers<'_>) -> Next {
    let mut look = Look { bounds, answer, next: Next::default() };
    let mut slots: Vec<Slot> = match parts.len() {
        1 if bounds.reshapes => look.level(1, vec![parts]),
        0 | 1 => vec![Slot::Parts(parts)],
        _ => look.level(1, pack(parts, bounds)),
    };
    let mut level = 1;
    while slots.len() > 1 {
        level += 1;
        let groups = gather(slots, bounds.ratio);
        slots = look.gathered_level(level, groups);
    }
    look.next.levels = if look.next.levels == 0 { 0 } else { level };
    if let Some(Slot::Parts(left)) = slots.pop() {
        look.next.result = Some(left.into_iter().next());
    }
    look.next
}

/// Consecutive slots as groups; a group with a pending slot is pending.
fn gather(slots: Vec<Slot>, ratio: usize) -> Vec<Option<Vec<Part>>> {
    let mut groups = Vec::new();
    let mut slots = slots.into_iter().peekable();
    while slots.peek().is_some() {
        let group: Vec<Slot> = slots.by_ref().take(ratio).collect();
        let parts = group.into_iter().try_fold(Vec::new(), |mut all, slot| match slot {
            Slot::Pending => None,
            Slot::Parts(parts) => {
                all.extend(parts);
                Some(all)
            }
        });
        groups.push(parts);
    }
    groups
}

impl Look<'_> {
    fn level(&mut self, level: u32, groups: Vec<Vec<Part>>) -> Vec<Slot> {
        self.gathered_level(level, groups.into_iter().map(Some).collect())
    }

    fn gathered_level(&mut self, level: u32, groups: Vec<Option<Vec<Part>>>) -> Vec<Slot> {
        let last = groups.len() == 1;
        let settle = |(number, group): (usize, Option<Vec<Part>>)| match group {
            None => Slot::Pending,
            Some(parts) => self.settle(&format!("{level}.{number}"), parts, last),
        };
        groups.into_iter().enumerate().map(settle).collect()
    }

    /// One group: asked at once if it fits, else in several questions first.
    fn settle(&mut self, key: &str, mut parts: Vec<Part>, last: bool) -> Slot {
        if self.bounds.reshapes && parts.len() == 1 && key == "1.0" {
            return self.question(key.to_owned(), parts, false);
        }
        let mut pass = 0;
        while !self.fits(&parts) {
            pass += 1;
            let groups = pack(parts, self.bounds);
            let keyed = groups.into_iter().enumerate();
            let slots: Vec<Slot> = keyed
                .map(|(number, group)| self.ask(format!("{key}.{pass}.{number}"), group, false))
                .collect();
            match gather(slots, usize::MAX).pop().flatten() {
                None => return Slot::Pending,
                Some(left) => parts = left,
            }
        }
        self.ask(key.to_owned(), parts, !last)
    }

    fn fits(&self, parts: &[Part]) -> bool {
        parts.len() <= 2 || total(parts) <= self.bounds.tokens
    }

    fn ask(&mut self, key: String, parts: Vec<Part>, carries: bool) -> Slot {
        match parts.len() {
            0 | 1 => Slot::Parts(parts),
            _ => self.question(key, parts, carries),
        }
    }

    fn question(&mut self, mut key: String, parts: Vec<Part>, carries: bool) -> Slot {
        self.next.levels = 1;
        let mut answer = (self.answer)(&key, &parts);
        while answer == Some(Answer::Other) {
            key.push('+');
            answer = (self.answer)(&key, &parts);
        }
        match answer {
            None => {
                self.next.asks.push((key, parts));
                Slot::Pending
            }
            Some(Answer::Open | Answer::Other) => Slot::Pending,
            Some(Answer::Given(part)) => Slot::Parts(vec![part]),
            // What one question could not merge the next may, if there is room for it there.
            Some(Answer::Failed) if carries && total(&parts) <= self.bounds.tokens / 2 => {
                self.next.carried.push(key);
                Slot::Parts(parts)
            }
            Some(Answer::Failed) => {
                self.next.lost.push((key, parts));
                Slot::Parts(Vec::new())
            }
        }
    }
}

/// Consecutive groups within the bounds, of at least two where there are two.
fn pack(parts: Vec<Part>, bounds: Bounds) -> Vec<Vec<Part>> {
    let mut groups: Vec<Vec<Part>> = Vec::new();
    for part in parts {
        let room = groups.last().is_some_and(|group| {
            group.len() < 2 || group.len() < bounds.ratio && total(group) + part.tokens <= bounds.tokens
        });
        match groups.last_mut().filter(|_| room) {
            Some(group) => group.push(part),
            None => groups.push(vec![part]),
        }
    }
    groups
}

fn total(parts: &[Part]) -> u64 {
    parts.iter().map(|part| part.tokens).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_model::TaskId;
    use convoke_model::hash::HashMap;
    use proptest::prelude::*;
    use std::cell::RefCell;

    fn part(name: &str, tokens: u64) -> Part {
        Part { piece: Piece::whole(TaskId(name.into())), tokens }
    }

    fn parts(sizes: &[u64]) -> Vec<Part> {
        sizes.iter().enumerate().map(|(ix, size)| part(&format!("s{ix}"), *size)).collect()
    }

    /// Asks until there is a result; every question whose key is in `fails` fails.
    fn run(
        sizes: &[u64],
        bounds: Bounds,
        answer_size: u64,
        fails: &dyn Fn(&str) -> bool,
    ) -> (Next, Vec<Vec<String>>) {
        let answers: RefCell<HashMap<String, Answer>> = RefCell::default();
        let mut rounds = Vec::new();
        loop {
            let known = |key: &str, _: &[Part]| answers.borrow().get(key).cloned();
            let next = look(parts(sizes), bounds, &known);
            if next.result.is_some() {
                assert!(next.asks.is_empty(), "a result while something is asked");
                return (next, rounds);
            }
            assert!(!next.asks.is_empty(), "nothing to ask and no result");
            rounds.push(next.asks.iter().map(|(key, _)| key.clone()).collect());
            for (key, of) in &next.asks {
                assert!(of.len() >= 2 && (of.len() <= 2 || total(of) <= bounds.tokens), "{key}: {of:?}");
                let answer = if fails(key) { Answer::Failed } else { Answer::Given(part(key, answer_size)) };
                answers.borrow_mut().insert(key.clone(), answer);
            }
            assert!(rounds.len() < 100);
        }
    }

    const BOUNDS: Bounds = Bounds { ratio: 10, tokens: 24_000, reshapes: false };

    #[test]
    fn three_hundred_outputs_take_three_rounds_with_groups_side_by_side() {
        let (next, rounds) = run(&[500; 300], BOUNDS, 400, &|_| false);
        assert_eq!(rounds.iter().map(Vec::len).collect::<Vec<_>>(), [30, 3, 1]);
        assert_eq!(next.levels, 3);
        assert_eq!(next.result.unwrap().unwrap().piece.task.0.as_ref(), "3.0");
    }

    #[test]
    fn a_group_asks_when_its_own_pieces_are_there() {
        let done = |key: &str| match key {
            "1.0" | "1.1" => Some(Answer::Given(part(key, 10))),
            _ => Some(Answer::Open),
        };
        // Four groups of two; the next level's first group has both of its pieces.
        let next =
            look(parts(&[10; 8]), Bounds { ratio: 2, tokens: 1000, reshapes: false }, &|key, _| match key {
                "2.0" => None,
                key => done(key),
            });
        assert_eq!(next.asks.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(), ["2.0"]);
    }

    #[test]
    fn one_output_asks_nobody() {
        let (next, rounds) = run(&[5], BOUNDS, 1, &|_| false);
        assert!(rounds.is_empty());
        assert_eq!((next.levels, next.result), (0, Some(Some(part("s0", 5)))));
    }

    #[test]
    fn one_output_of_another_shape_is_asked_about_once() {
        let bounds = Bounds { reshapes: true, ..BOUNDS };
        let first = look(parts(&[5]), bounds, &|_, _| None);
        assert_eq!((first.asks.len(), first.result), (1, None));
        let then = look(parts(&[5]), bounds, &|key, _| Some(Answer::Given(part(key, 1))));
        assert_eq!((then.asks.len(), then.levels), (0, 1));
        assert_eq!(then.result, Some(Some(part("1.0", 1))));
        let mut tree = Tree::new(parts(&[5]), bounds);
        assert_eq!(tree.process_all(&|_, _| None).len(), 1);
        assert!(!tree.is_settled());
        let asks = tree.look_behind(["1.0"].into_iter(), &|key, _| Some(Answer::Given(part(key, 1))));
        assert!(asks.is_empty() && tree.is_settled());
    }

    #[test]
    fn a_failed_group_is_carried_or_said_to_be_lost() {
        let (next, _) = run(&[500; 30], BOUNDS, 400, &|key| key == "1.1");
        assert_eq!((next.carried, next.lost.len()), (vec!["1.1".to_owned()], 0));
        let (next, _) = run(&[2_000; 30], BOUNDS, 400, &|key| key == "1.1");
        assert_eq!((next.carried.len(), next.lost.len()), (0, 1));
        assert_eq!(next.lost[0].1.len(), 10);
        let (next, _) = run(&[500; 30], BOUNDS, 400, &|key| key.starts_with("2."));
        assert_eq!(next.result, Some(None), "the last question failed: nothing is left");
    }

    /// Answers a few questions after the others, in an order that the seed gives, and looks behind those answers alone; gives
    /// the questions and how often an answer was looked for.
    fn run_tree(
        sizes: &[u64],
        bounds: Bounds,
        seed: u64,
        fails: &dyn Fn(&str) -> bool,
    ) -> (Vec<String>, usize) {
        let (answers, looked): (RefCell<HashMap<String, Answer>>, RefCell<usize>) = Default::default();
        let known = |key: &str, _: &[Part]| {
            *looked.borrow_mut() += 1;
            answers.borrow().get(key).cloned()
        };
        let mut tree = Tree::new(parts(sizes), bounds);
        let mut open: Vec<String> = tree.process_all(&known).into_iter().map(|(key, _)| key).collect();
        let (mut asked, mut next) = (open.clone(), seed);
        while !open.is_empty() {
            next = next.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // Now one answer, now several at once.
            let at_once = (next >> 60) as usize % open.len() + 1;
            let keys: Vec<String> = (0..at_once)
                .map(|number| open.swap_remove(((next >> 33) as usize + number) % open.len()))
                .collect();
            for key in &keys {
                let answer = if fails(key) { Answer::Failed } else { Answer::Given(part(key, 40)) };
                answers.borrow_mut().insert(key.clone(), answer);
            }
            let new = tree.look_behind(keys.iter().map(String::as_str), &known);
            let new: Vec<String> = new.into_iter().map(|(key, _)| key).collect();
            asked.extend(new.iter().cloned());
            open.extend(new);
        }
        assert!(tree.is_settled(), "nothing is open and something is left");
        asked.sort();
        (asked, looked.into_inner())
    }

    #[test]
    fn a_tournament_of_ten_thousand_looks_at_a_few_groups_for_each_answer() {
        let bounds = Bounds { ratio: 2, tokens: 24_000, reshapes: false };
        let (asked, looked) = run_tree(&[500; 10_000], bounds, 7, &|_| false);
        assert_eq!(asked.len(), 9_999);
        assert!(looked <= 3 * 9_999, "{looked} looks for 9999 questions");
    }

    proptest! {
        #[test]
        fn looking_behind_each_answer_asks_what_looking_at_everything_asks(
            sizes in prop::collection::vec(1u64..6_000, 0..200),
            ratio in 2usize..12,
            seed in any::<u64>(),
            failing in prop::collection::hash_set((1u32..4, 0u32..40), 0..10),
        ) {
            let bounds = Bounds { ratio, tokens: 12_000, reshapes: false };
            let fails = |key: &str| failing.iter().any(|(level, number)| key == format!("{level}.{number}"));
            let (_, rounds) = run(&sizes, bounds, 40, &fails);
            let mut whole: Vec<String> = rounds.into_iter().flatten().collect();
            whole.sort();
            prop_assert_eq!(run_tree(&sizes, bounds, seed, &fails).0, whole);
        }

        #[test]
        fn every_merge_ends_with_one_piece_and_every_question_fits(
            sizes in prop::collection::vec(1u64..6_000, 1..400),
            ratio in 2usize..20,
            answer in 1u64..6_000,
            failing in prop::collection::hash_set((1u32..4, 0u32..40), 0..10),
        ) {
            let bounds = Bounds { ratio, tokens: 12_000, reshapes: false };
            let fails = |key: &str| failing.iter().any(|(level, number)| key == format!("{level}.{number}"));
            let (next, rounds) = run(&sizes, bounds, answer, &fails);
            let asked: usize = rounds.iter().map(Vec::len).sum();
            let unique: convoke_model::hash::HashSet<_> = rounds.iter().flatten().collect();
            prop_assert_eq!(asked, unique.len(), "a question was asked twice");
            prop_assert!(asked <= sizes.len() * 2);
            prop_assert!(next.result.is_some());
        }
    }
}
