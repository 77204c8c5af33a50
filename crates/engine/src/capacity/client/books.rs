//! Wishes that wait: those that have a place in the queue of the machine, and those that wait here for one.
//!
//! Kept true: of each kind of wish, which is what it names, [`PLACES`] have a place or are being asked for; within a kind the
//! order is kept; and a kind that gets nothing does not hold up another one.

use crate::capacity::terms::{AskNo, Want};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::Hash;
use std::sync::Arc;

/// Places in the queue that one process takes at a time for wishes of one kind. More than one, so that the next is there before
/// the last was fetched. Few, because whoever frees capacity gives it to who waits and cannot know that this is stopped: what
/// is given to a stopped process is idle until it runs out, and with a place for each of its tasks that would soon be everything.
const PLACES: usize = 4;

/// What a wish names, as one text.
type Kind = Arc<str>;

/// The books; tickets of the table name places.
pub(super) struct Books<T> {
    kinds: BTreeMap<Kind, Line>,
    waiting: HashMap<T, (AskNo, Kind)>,
}

/// Wishes of one kind.
#[derive(Default)]
struct Line {
    /// Taken, also by wishes that are just being asked for.
    places: usize,
    backlog: VecDeque<(AskNo, Vec<Want>)>,
}

impl<T> Default for Books<T> {
    fn default() -> Books<T> {
        Books { kinds: BTreeMap::new(), waiting: HashMap::new() }
    }
}

impl<T: Copy + Eq + Hash> Books<T> {
    /// Takes a place for a new wish, which is given back; or notes that it has to wait here, behind the others.
    pub fn begin(&mut self, ask: AskNo, wants: Vec<Want>) -> Option<Vec<Want>> {
        let line = self.line(&wants);
        if line.has_room() && line.backlog.is_empty() {
            line.places += 1;
            return Some(wants);
        }
        line.backlog.push_back((ask, wants));
        None
    }

    /// Takes a place for the next wish that waits here.
    pub fn next(&mut self) -> Option<(AskNo, Vec<Want>)> {
        let mut free = self.kinds.values_mut().filter(|line| line.has_room() && !line.backlog.is_empty());
        let line = free.next()?;
        line.places += 1;
        line.backlog.pop_front()
    }

    /// A wish needs its place no more: it had its answer at once.
    pub fn need_no_place(&mut self, wants: &[Want]) {
        self.line(wants).places -= 1;
    }

    /// The queue has no place for a wish, though it was its turn. It keeps it.
    pub fn put_back(&mut self, ask: AskNo, wants: Vec<Want>) {
        let line = self.line(&wants);
        line.places -= 1;
        line.backlog.push_front((ask, wants));
    }

    /// Notes where a wish has its place.
    pub fn queued(&mut self, ticket: T, ask: AskNo, wants: &[Want]) {
        self.waiting.insert(ticket, (ask, kind_of(wants)));
    }

    /// Notes that a ticket has its answer. `None` if nobody waits for it any more.
    pub fn answered(&mut self, ticket: T) -> Option<AskNo> {
        let (ask, kind) = self.waiting.remove(&ticket)?;
        if let Some(line) = self.kinds.get_mut(&kind) {
            line.places -= 1;
        }
        Some(ask)
    }

    /// Forgets a wish. The place that it had, if it had one.
    pub fn withdraw(&mut self, ask: AskNo) -> Option<T> {
        for line in self.kinds.values_mut() {
            line.backlog.retain(|(waiting, _)| *waiting != ask);
        }
        let ticket = self.waiting.iter().find(|(_, (waiting, _))| *waiting == ask).map(|(ticket, _)| *ticket);
        ticket.filter(|ticket| self.answered(*ticket).is_some())
    }

    /// Every place, and whose it is.
    pub fn tickets(&self) -> Vec<(T, AskNo)> {
        self.waiting.iter().map(|(ticket, (ask, _))| (*ticket, *ask)).collect()
    }

    fn line(&mut self, wants: &[Want]) -> &mut Line {
        self.kinds.entry(kind_of(wants)).or_default()
    }
}

impl Line {
    fn has_room(&self) -> bool {
        self.places < PLACES
    }
}

fn kind_of(wants: &[Want]) -> Kind {
    wants.iter().map(|want| &*want.of.name).collect::<Vec<_>>().join("\n").into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capacity::terms::{Counts, Shared};

    fn wants(name: &str) -> Vec<Want> {
        let of = Shared {
            name: name.into(),
            limit: 1,
            origin: "test".into(),
            counts: Counts::Slots,
            window: None,
            says_spent: false,
        };
        vec![Want { of: Arc::new(of), count: 1 }]
    }

    fn begins(books: &mut Books<u64>, ask: u64, name: &str) -> bool {
        books.begin(AskNo(ask), wants(name)).is_some()
    }

    /// Books in which so many wishes for a GPU have places, with tickets from 0.
    fn with_places(count: u64) -> Books<u64> {
        let mut books = Books::default();
        for place in 0..count {
            assert!(begins(&mut books, place, "gpu"));
            books.queued(place, AskNo(place), &wants("gpu"));
        }
        books
    }

    const ALL: u64 = PLACES as u64;

    #[test]
    fn one_kind_of_wish_does_not_hold_up_another() {
        let mut books = with_places(ALL);
        assert!(!begins(&mut books, 10, "gpu"));
        assert!(begins(&mut books, 11, "machine"));
        assert_eq!(books.next(), None, "there is no place for the other one");
    }

    #[test]
    fn a_place_that_is_free_again_goes_to_who_waited_longest() {
        let mut books = with_places(ALL);
        (10..13).for_each(|ask| assert!(!begins(&mut books, ask, "gpu")));
        assert_eq!(books.answered(0), Some(AskNo(0)));
        assert_eq!(books.answered(0), None, "once");
        assert!(!begins(&mut books, 13, "gpu"), "nobody gets in before those who wait");
        let (ask, again) = books.next().expect("there is a place");
        assert_eq!(ask, AskNo(10));
        assert_eq!(books.next(), None, "it is being asked for");
        books.put_back(ask, again);
        assert_eq!(books.next().map(|(ask, _)| ask), Some(AskNo(10)), "it keeps its turn");
    }

    #[test]
    fn a_wish_that_is_met_at_once_leaves_its_place_to_the_next() {
        let mut books = with_places(ALL - 1);
        assert!(begins(&mut books, 10, "gpu") && !begins(&mut books, 11, "gpu"));
        books.need_no_place(&wants("gpu"));
        assert_eq!(books.next().map(|(ask, _)| ask), Some(AskNo(11)));
    }

    #[test]
    fn a_wish_that_is_taken_back_leaves_no_trace() {
        let mut books = with_places(ALL);
        assert!(!begins(&mut books, 10, "gpu"));
        assert_eq!(books.withdraw(AskNo(10)), None, "it had no place");
        assert_eq!(books.withdraw(AskNo(0)), Some(0));
        assert_eq!((books.next(), books.tickets().len()), (None, PLACES - 1));
        assert!(begins(&mut books, 11, "gpu"));
    }
}
