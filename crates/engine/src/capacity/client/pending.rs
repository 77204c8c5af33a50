//! Requests that wait: those that have a place in the queue of the machine, and those that wait here for one.
//!
//! Kept true: of each kind of request, which is what it names, [`PLACES`] have a place or are being asked for; within a kind the
//! order is kept; and a kind that gets nothing does not hold up another one.

use crate::capacity::terms::{RequestNo, Want};
use convoke_model::hash::HashMap;
use std::collections::{BTreeMap, VecDeque};
use std::hash::Hash;
use std::sync::Arc;

/// Places in the queue that one process takes at a time for requests of one kind. More than one, so that the next is there before
/// the last was fetched. Few, because a process that frees capacity gives it to waiting processes and cannot know that one is
/// stopped: what is given to a stopped process is idle until it runs out, and with a place for each of its tasks that would soon
/// be everything.
const PLACES: usize = 4;

/// What a request names, as one text.
type Kind = Arc<str>;

/// The pending requests; tickets of the table name places.
pub(super) struct PendingRequests<T> {
    kinds: BTreeMap<Kind, KindQueue>,
    waiting: HashMap<T, (RequestNo, Kind)>,
}

/// Requests of one kind.
#[derive(Default)]
struct KindQueue {
    /// Taken, also by requests that are just being asked for.
    places: usize,
    backlog: VecDeque<(RequestNo, Vec<Want>)>,
}

impl<T> Default for PendingRequests<T> {
    fn default() -> PendingRequests<T> {
        PendingRequests { kinds: BTreeMap::new(), waiting: HashMap::default() }
    }
}

impl<T: Copy + Eq + Hash> PendingRequests<T> {
    /// Takes a place for a new request, which is given back; or notes that it has to wait here, behind the others.
    pub fn begin(&mut self, request: RequestNo, wants: Vec<Want>) -> Option<Vec<Want>> {
        let queue = self.queue(&wants);
        if queue.has_room() && queue.backlog.is_empty() {
            queue.places += 1;
            return Some(wants);
        }
        queue.backlog.push_back((request, wants));
        None
    }

    /// Takes a place for the next request that waits here.
    pub fn next(&mut self) -> Option<(RequestNo, Vec<Want>)> {
        let mut free = self.kinds.values_mut().filter(|queue| queue.has_room() && !queue.backlog.is_empty());
        let queue = free.next()?;
        queue.places += 1;
        queue.backlog.pop_front()
    }

    /// A request needs its place no more: it had its answer at once.
    pub fn need_no_place(&mut self, wants: &[Want]) {
        self.queue(wants).places -= 1;
    }

    /// The queue has no place for a request, though it was its turn. It keeps it.
    pub fn put_back(&mut self, request: RequestNo, wants: Vec<Want>) {
        let queue = self.queue(&wants);
        queue.places -= 1;
        queue.backlog.push_front((request, wants));
    }

    /// Notes where a request has its place.
    pub fn queued(&mut self, ticket: T, request: RequestNo, wants: &[Want]) {
        self.waiting.insert(ticket, (request, kind_of(wants)));
    }

    /// Notes that a ticket has its answer. `None` if no request waits for it any more.
    pub fn answered(&mut self, ticket: T) -> Option<RequestNo> {
        let (request, kind) = self.waiting.remove(&ticket)?;
        if let Some(queue) = self.kinds.get_mut(&kind) {
            queue.places -= 1;
        }
        Some(request)
    }

    /// Forgets a request. The place that it had, if it had one.
    pub fn withdraw(&mut self, request: RequestNo) -> Option<T> {
        for queue in self.kinds.values_mut() {
            queue.backlog.retain(|(waiting, _)| *waiting != request);
        }
        let ticket =
            self.waiting.iter().find(|(_, (waiting, _))| *waiting == request).map(|(ticket, _)| *ticket);
        ticket.filter(|ticket| self.answered(*ticket).is_some())
    }

    /// Every place, and whose it is.
    pub fn tickets(&self) -> Vec<(T, RequestNo)> {
        self.waiting.iter().map(|(ticket, (request, _))| (*ticket, *request)).collect()
    }

    fn queue(&mut self, wants: &[Want]) -> &mut KindQueue {
        self.kinds.entry(kind_of(wants)).or_default()
    }
}

impl KindQueue {
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

    fn begins(pending: &mut PendingRequests<u64>, request: u64, name: &str) -> bool {
        pending.begin(RequestNo(request), wants(name)).is_some()
    }

    /// PendingRequests in which so many requests for a GPU have places, with tickets from 0.
    fn with_places(count: u64) -> PendingRequests<u64> {
        let mut pending = PendingRequests::default();
        for place in 0..count {
            assert!(begins(&mut pending, place, "gpu"));
            pending.queued(place, RequestNo(place), &wants("gpu"));
        }
        pending
    }

    const ALL: u64 = PLACES as u64;

    #[test]
    fn one_kind_of_request_does_not_hold_up_another() {
        let mut pending = with_places(ALL);
        assert!(!begins(&mut pending, 10, "gpu"));
        assert!(begins(&mut pending, 11, "machine"));
        assert_eq!(pending.next(), None, "there is no place for the other one");
    }

    #[test]
    fn a_place_that_is_free_again_goes_to_who_waited_longest() {
        let mut pending = with_places(ALL);
        (10..13).for_each(|request| assert!(!begins(&mut pending, request, "gpu")));
        assert_eq!(pending.answered(0), Some(RequestNo(0)));
        assert_eq!(pending.answered(0), None, "once");
        assert!(!begins(&mut pending, 13, "gpu"), "nobody gets in before those who wait");
        let (request, again) = pending.next().expect("there is a place");
        assert_eq!(request, RequestNo(10));
        assert_eq!(pending.next(), None, "it is being asked for");
        pending.put_back(request, again);
        assert_eq!(pending.next().map(|(request, _)| request), Some(RequestNo(10)), "it keeps its turn");
    }

    #[test]
    fn a_request_that_is_met_at_once_leaves_its_place_to_the_next() {
        let mut pending = with_places(ALL - 1);
        assert!(begins(&mut pending, 10, "gpu") && !begins(&mut pending, 11, "gpu"));
        pending.need_no_place(&wants("gpu"));
        assert_eq!(pending.next().map(|(request, _)| request), Some(RequestNo(11)));
    }

    #[test]
    fn a_request_that_is_taken_back_leaves_no_trace() {
        let mut pending = with_places(ALL);
        assert!(!begins(&mut pending, 10, "gpu"));
        assert_eq!(pending.withdraw(RequestNo(10)), None, "it had no place");
        assert_eq!(pending.withdraw(RequestNo(0)), Some(0));
        assert_eq!((pending.next(), pending.tickets().len()), (None, PLACES - 1));
        assert!(begins(&mut pending, 11, "gpu"));
    }
}
