//! Wishes that wait: those that have a place in the queue of the machine, and those that wait here for one.
//!
//! Kept true: of each kind of wish, which is what it names, [`PLACES`] have a place, a few more while threads hurry; within
//! a kind the order is kept; and a kind that gets nothing does not hold up another one.

use crate::terms::{AskNo, Want};
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
    places: usize,
    backlog: VecDeque<(AskNo, Vec<Want>)>,
}

impl<T> Default for Books<T> {
    fn default() -> Books<T> {
        Books { kinds: BTreeMap::new(), waiting: HashMap::new() }
    }
}

impl<T: Copy + Eq + Hash> Books<T> {
    /// Whether a wish has to wait here.
    pub fn is_full(&self, wants: &[Want]) -> bool {
        let line = self.kinds.get(&kind_of(wants));
        line.is_some_and(|line| !line.has_room() || !line.backlog.is_empty())
    }

    /// Notes a wish that has to wait here, behind the others.
    pub fn put_off(&mut self, ask: AskNo, wants: Vec<Want>) {
        self.line(&wants).backlog.push_back((ask, wants));
    }

    /// Notes a wish that got no place though it was its turn.
    pub fn put_back(&mut self, ask: AskNo, wants: Vec<Want>) {
        self.line(&wants).backlog.push_front((ask, wants));
    }

    /// The next wish for which a place may be taken.
    pub fn next(&mut self) -> Option<(AskNo, Vec<Want>)> {
        self.kinds.values_mut().filter(|line| line.has_room()).find_map(|line| line.backlog.pop_front())
    }

    /// Notes that a wish has a place.
    pub fn queued(&mut self, ticket: T, ask: AskNo, wants: &[Want]) {
        self.line(wants).places += 1;
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
    use crate::terms::Shared;

    fn wants(name: &str) -> Vec<Want> {
        let of = Shared { name: name.into(), limit: 1, origin: "test".into(), window: None };
        vec![Want { of: Arc::new(of), count: 1 }]
    }

    /// Books in which so many wishes for a GPU have places, with tickets from 0.
    fn with_places(count: usize) -> Books<usize> {
        let mut books = Books::default();
        (0..count).for_each(|place| books.queued(place, AskNo(place as u64), &wants("gpu")));
        books
    }

    #[test]
    fn one_kind_of_wish_does_not_hold_up_another() {
        let mut books = with_places(PLACES);
        assert!(books.is_full(&wants("gpu")) && !books.is_full(&wants("machine")));
        books.put_off(AskNo(10), wants("gpu"));
        books.put_off(AskNo(11), wants("machine"));
        assert_eq!(books.next().map(|(ask, _)| ask), Some(AskNo(11)));
        assert_eq!(books.next(), None, "there is no place for the other one");
    }

    #[test]
    fn a_place_that_is_free_again_goes_to_who_waited_longest() {
        let mut books = with_places(PLACES);
        (10..13).for_each(|ask| books.put_off(AskNo(ask), wants("gpu")));
        assert_eq!(books.answered(0), Some(AskNo(0)));
        assert_eq!(books.answered(0), None, "once");
        let (ask, again) = books.next().expect("there is a place");
        assert_eq!(ask, AskNo(10));
        books.put_back(ask, again);
        assert_eq!(books.next().map(|(ask, _)| ask), Some(AskNo(10)), "it keeps its turn");
        assert!(books.is_full(&wants("gpu")), "nobody gets in before those who wait");
    }

    #[test]
    fn a_wish_that_is_taken_back_leaves_no_trace() {
        let mut books = with_places(1);
        books.put_off(AskNo(10), wants("gpu"));
        assert_eq!(books.withdraw(AskNo(10)), None, "it had no place");
        assert_eq!(books.withdraw(AskNo(0)), Some(0));
        assert_eq!((books.next(), books.tickets()), (None, vec![]));
        assert!(!books.is_full(&wants("gpu")));
    }
}
