//! One grant, given back in parts: what is needed for all of a piece of work, and what only its first step needs.
//!
//! A demand asks for both at once, so that it never holds the one while it waits for the other.

use crate::answer::NotHeld;
use crate::governor::{Governor, Permit};
use crate::spec::{Amount, ResourceId};

impl Governor {
    /// Moves what a permit holds of some resources to a permit of its own, with the key `part`. Nothing is taken and
    /// nothing is given back; what is learned from these resources goes with them.
    pub fn split(&mut self, key: u64, part: u64, moved: &[ResourceId]) -> Result<(), NotHeld> {
        if self.permits.contains_key(&part) || self.places.contains_key(&part) {
            return Err(NotHeld(part));
        }
        let permit = self.permits.remove(&key).ok_or(NotHeld(key))?;
        let (theirs, ours): (Vec<_>, Vec<_>) =
            self.lanes[permit.lane].needs.iter().partition(|need| moved.contains(&need.resource));
        let (notes, kept) = permit.notes.iter().partition(|note| moved.contains(&note.resource));
        self.let_one_go(permit.lane);
        let (began, arrived) = (permit.began, permit.arrived);
        let rest = Permit { lane: self.held_in(&ours), began, notes: kept, arrived };
        let split = Permit { lane: self.held_in(&theirs), began, notes, arrived };
        self.permits.insert(key, rest);
        self.permits.insert(part, split);
        Ok(())
    }

    /// Gives a permit another key, so that its first one can be used again. Nothing is taken and nothing is given back.
    pub fn rename(&mut self, key: u64, other: u64) -> Result<(), NotHeld> {
        if self.permits.contains_key(&other) || self.places.contains_key(&other) {
            return Err(NotHeld(other));
        }
        let permit = self.permits.remove(&key).ok_or(NotHeld(key))?;
        self.permits.insert(other, permit);
        Ok(())
    }

    fn let_one_go(&mut self, lane: u32) {
        let before = self.lanes.load(lane);
        self.lanes[lane].held -= 1;
        self.lanes.note(lane, before);
    }

    /// Books one permit on the lane of a shape.
    fn held_in(&mut self, shape: &[Amount]) -> u32 {
        let lane = self.lanes.of(shape);
        let before = self.lanes.load(lane);
        self.lanes[lane].held += 1;
        self.lanes.note(lane, before);
        lane
    }
}

#[cfg(test)]
mod tests {
    use crate::{Admission, Amount, Demand, Governor, Outcome, Rank, Spec, Used};
    use convoke_model::Timestamp;

    const NOW: Timestamp = Timestamp(1);

    #[test]
    fn a_permit_with_another_key_is_held_until_that_one_comes_back() {
        let mut governor = Governor::new(1);
        let needs = [Amount::of(governor.resource("slots").unwrap(), 1)];
        governor.demand(Demand { key: 1, rank: Rank::default(), needs: &needs }, NOW).unwrap();
        assert_eq!(governor.admit(NOW), Admission::Granted(1));
        governor.rename(1, 99).unwrap();
        governor.demand(Demand { key: 1, rank: Rank::default(), needs: &needs }, NOW).unwrap();
        assert!(matches!(governor.admit(NOW), Admission::Blocked { key: 1, .. }));
        assert!(
            governor.release(1, Used::AsReserved, Outcome::Unknown, NOW).is_err(),
            "it is not held by that name"
        );
        governor.release(99, Used::AsReserved, Outcome::Unknown, NOW).unwrap();
        assert_eq!(governor.admit(NOW), Admission::Granted(1));
    }

    #[test]
    fn parts_come_back_one_by_one() {
        let mut governor = Governor::new(2);
        let slots = governor.resource("slots").unwrap();
        let model = governor.add(Spec::slots("model", 1).learn_from(1)).unwrap();
        let needs = [Amount::of(slots, 1), Amount::of(model, 1)];
        for key in [1, 2] {
            governor.demand(Demand { key, rank: Rank::default(), needs: &needs }, NOW).unwrap();
        }
        assert_eq!(governor.admit(NOW), Admission::Granted(1));
        governor.split(1, 11, &[model]).unwrap();
        assert!(matches!(governor.admit(NOW), Admission::Blocked { key: 2, .. }));
        assert!(governor.split(1, 11, &[model]).is_err(), "a part has a name of its own");
        governor.release(11, Used::AsReserved, Outcome::Succeeded, NOW).unwrap();
        assert_eq!(governor.admit(NOW), Admission::Granted(2), "the model is free before the slot is");
        governor.release(1, Used::AsReserved, Outcome::Unknown, NOW).unwrap();
        governor.release(2, Used::AsReserved, Outcome::Unknown, NOW).unwrap();
        assert_eq!((governor.held(), governor.metrics(NOW).not_held), (0, 0));
        assert!(governor.explain(NOW).iter().all(|standing| standing.used == 0));
    }

    #[test]
    fn nobody_splits_what_nobody_holds() {
        assert!(Governor::new(1).split(1, 2, &[]).is_err());
    }
}
