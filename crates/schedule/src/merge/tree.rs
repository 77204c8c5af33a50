//! Which questions a merge by levels asks next. Pure: sizes and answers in, questions out.
//!
//! Pieces are packed into consecutive groups of at most `ratio` pieces and `tokens` tokens; each group becomes one
//! piece of the next level, until one is left. A group asks as soon as its own pieces are there, whatever the rest of
//! its level does. What would not fit in one question is merged in several first. The tree is computed anew at every
//! look from the pieces and the answers so far, so a resumed run asks what the interrupted one would have asked.

use convoke_model::Piece;

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

/// What a group of pieces has become.
enum Slot {
    Pending,
    Parts(Vec<Part>),
}

/// How the question with a key stands, given what it would be about now.
type Answers<'a> = dyn Fn(&str, &[Part]) -> Option<Answer> + 'a;

struct Look<'a> {
    bounds: Bounds,
    answer: &'a Answers<'a>,
    next: Next,
}

/// Looks at a merge: what may be asked now, and what came of it.
pub(crate) fn look(parts: Vec<Part>, bounds: Bounds, answer: &Answers<'_>) -> Next {
    let mut look = Look { bounds, answer, next: Next::default() };
    let mut slots: Vec<Slot> = match parts.len() {
        1 if bounds.reshapes => vec![look.question("1.0".to_owned(), parts, false)],
        0 | 1 => vec![Slot::Parts(parts)],
        _ => look.level(1, look.pack(parts)),
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
        let mut pass = 0;
        while !self.fits(&parts) {
            pass += 1;
            let groups = self.pack(parts);
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

    /// Consecutive groups within the bounds, of at least two where there are two.
    fn pack(&self, parts: Vec<Part>) -> Vec<Vec<Part>> {
        let mut groups: Vec<Vec<Part>> = Vec::new();
        for part in parts {
            let room = groups.last().is_some_and(|group| {
                group.len() < 2
                    || group.len() < self.bounds.ratio && total(group) + part.tokens <= self.bounds.tokens
            });
            match groups.last_mut().filter(|_| room) {
                Some(group) => group.push(part),
                None => groups.push(vec![part]),
            }
        }
        groups
    }
}

fn total(parts: &[Part]) -> u64 {
    parts.iter().map(|part| part.tokens).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_model::TaskId;
    use proptest::prelude::*;
    use std::cell::RefCell;
    use std::collections::HashMap;

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

    proptest! {
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
            let unique: std::collections::HashSet<_> = rounds.iter().flatten().collect();
            prop_assert_eq!(asked, unique.len(), "a question was asked twice");
            prop_assert!(asked <= sizes.len() * 2);
            prop_assert!(next.result.is_some());
        }
    }
}
