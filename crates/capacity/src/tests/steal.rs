//! Work on offer.

use super::*;
use crate::{Claim, Claimed, Error, OFFERS, Offer, OfferId, Progress};

fn task(name: &str) -> Offer {
    Offer { run: "r1".into(), task: name.into(), payload: [7; 32], needs: vec![17, 42] }
}

fn won(answer: Claimed) -> Claim {
    match answer {
        Claimed::Won(claim) => claim,
        Claimed::Lost => panic!("lost"),
    }
}

#[test]
fn an_offer_is_seen_by_others_whole() {
    let world = World::new();
    let (owner, claimant) = (world.open("owner"), world.open("claimant"));
    let id = owner.offer(&task("research[3]#2")).unwrap();
    assert!(owner.offers().is_empty());
    let offers = claimant.offers();
    assert_eq!(offers.len(), 1);
    assert_eq!((offers[0].id, &offers[0].offer, offers[0].owner), (id, &task("research[3]#2"), owner.pid()));
}

#[test]
fn exactly_one_of_many_claimants_wins() {
    let world = World::new();
    let owner = world.open("owner");
    let claimants: Vec<Capacity> = (0..8).map(|_| world.open("claimant")).collect();
    for _ in 0..200 {
        let id = owner.offer(&task("t")).unwrap();
        let wins = std::thread::scope(|scope| {
            let tries: Vec<_> =
                claimants.iter().map(|claimant| scope.spawn(move || claimant.claim(id))).collect();
            tries.into_iter().map(|t| t.join().unwrap()).filter(|c| *c != Claimed::Lost).count()
        });
        assert_eq!(wins, 1);
        assert!(matches!(owner.take_back(id), Progress::Claimed { .. }), "somebody does it");
    }
}

#[test]
fn a_finished_task_is_finished_once_and_its_owner_hears_of_it() {
    let world = World::new();
    let (owner, claimant) = (world.open("owner"), world.open("claimant"));
    let id = owner.offer(&task("t")).unwrap();
    let heard = owner.listen(u32::MAX, Duration::ZERO).unwrap();
    let claim = won(claimant.claim(id));
    assert!(claimant.holds(&claim));
    assert_eq!(owner.progress(id), Progress::Claimed { pid: claimant.pid(), fence: claim.fence });
    assert!(claimant.finish(&claim));
    assert!(!claimant.finish(&claim));
    assert_ne!(owner.listen(heard, Duration::ZERO).unwrap(), heard);
    assert_eq!(owner.take_back(id), Progress::Finished { fence: claim.fence });
    assert_eq!(owner.progress(id), Progress::Gone);
}

#[test]
fn an_offer_that_was_taken_back_cannot_be_claimed() {
    let world = World::new();
    let (owner, claimant) = (world.open("owner"), world.open("claimant"));
    let id = owner.offer(&task("t")).unwrap();
    assert_eq!(owner.take_back(id), Progress::Open);
    assert_eq!(claimant.claim(id), Claimed::Lost);
    let again = owner.offer(&task("u")).unwrap();
    assert_ne!(again, id);
    assert_eq!(claimant.claim(id), Claimed::Lost, "its slot has another offer now");
    assert_eq!(owner.take_back(id), Progress::Gone);
}

#[test]
fn a_dead_claimants_claim_goes_back_on_offer() {
    let world = World::new();
    let (owner, claimant, heir) = (world.open("owner"), world.open_elsewhere("claimant"), world.open("heir"));
    let id = owner.offer(&task("t")).unwrap();
    let lost = won(claimant.claim(id));
    claimant.die();
    assert_eq!(heir.reclaim().unwrap().reverted, 1);
    let claim = won(heir.claim(id));
    assert!(claim.fence > lost.fence);
    assert!(heir.finish(&claim));
}

#[test]
fn a_silent_claimant_is_fenced_off() {
    let world = World::new();
    let (owner, claimant) = (world.open("owner"), world.open("claimant"));
    let id = owner.offer(&task("t")).unwrap();
    let claim = won(claimant.claim(id));
    assert!(matches!(owner.revoke(id, TTL), Progress::Claimed { .. }));
    world.pass(TTL);
    assert_eq!(owner.revoke(id, TTL), Progress::Open);
    assert!(!claimant.holds(&claim));
    assert!(!claimant.finish(&claim));
}

#[test]
fn offers_of_the_dead_and_of_those_who_leave_disappear() {
    let world = World::new();
    let (dead, leaving, claimant) =
        (world.open_elsewhere("dead"), world.open("leaving"), world.open("claimant"));
    dead.offer(&task("a")).unwrap();
    leaving.offer(&task("b")).unwrap();
    assert_eq!(claimant.offers().len(), 2);
    drop(leaving);
    dead.die();
    claimant.reclaim().unwrap();
    assert!(claimant.offers().is_empty());
}

#[test]
fn a_task_given_back_is_on_offer_again() {
    let world = World::new();
    let (owner, claimant) = (world.open("owner"), world.open("claimant"));
    let id = owner.offer(&task("t")).unwrap();
    let claim = won(claimant.claim(id));
    assert!(claimant.give_back(&claim));
    assert!(!claimant.holds(&claim));
    assert_eq!(claimant.offers().len(), 1);
}

#[test]
fn full_or_oversized_is_refused() {
    let world = World::new();
    let owner = world.open("owner");
    let ids: Vec<OfferId> = (0..OFFERS).map(|_| owner.offer(&task("t")).unwrap()).collect();
    assert!(matches!(owner.offer(&task("t")), Err(Error::Full { table: "offers", .. })));
    owner.take_back(ids[5]);
    owner.offer(&task("t")).unwrap();
    assert!(matches!(owner.offer(&task(&"x".repeat(257))), Err(Error::Invalid { .. })));
}

#[test]
fn idle_processes_hear_of_new_offers() {
    let world = World::new();
    let (owner, claimant) = (world.open("owner"), world.open("claimant"));
    let seen = claimant.wait_for_offers(u32::MAX, Duration::ZERO);
    std::thread::scope(|scope| {
        let idle = scope.spawn(|| claimant.wait_for_offers(seen, Duration::from_secs(60)));
        owner.offer(&task("t")).unwrap();
        assert_ne!(idle.join().unwrap(), seen);
    });
}

#[test]
fn who_would_take_a_task_is_known_as_long_as_it_lives() {
    let world = World::new();
    let (owner, claimant) = (world.open("owner"), world.open_elsewhere("claimant"));
    assert_eq!(owner.spare_elsewhere(), 0, "nobody has said so");
    claimant.set_spare(3);
    assert_eq!((owner.spare_elsewhere(), claimant.spare_elsewhere()), (3, 0), "of others only");
    claimant.die();
    assert_eq!(owner.spare_elsewhere(), 0);
}

#[test]
fn a_claimant_that_says_it_is_alive_keeps_its_claim() {
    let world = World::new();
    let (owner, claimant) = (world.open("owner"), world.open("claimant"));
    let id = owner.offer(&task("t")).unwrap();
    let claim = won(claimant.claim(id));
    world.pass(TTL);
    claimant.beat();
    assert!(matches!(owner.revoke(id, TTL), Progress::Claimed { .. }));
    assert!(claimant.holds(&claim));
}

#[test]
fn what_a_dead_owner_held_is_free_when_nobody_does_its_tasks_any_more() {
    for ends_by_dying in [false, true] {
        let world = World::new();
        let (owner, claimant) = (world.open_elsewhere("owner"), world.open_elsewhere("claimant"));
        let other = world.open("other");
        let slots = define(&other, "slots", 1);
        let mine = define(&owner, "slots", 1);
        owner.consume(&take(&owner, mine, 1)).unwrap();
        let claim = won(claimant.claim(owner.offer(&task("t")).unwrap()));
        owner.die();
        other.reclaim().unwrap();
        world.open("newcomer");
        assert_eq!(blocked(other.reserve(&[(slots, 1)], TTL).unwrap()), "slots", "its claimant goes on");
        if ends_by_dying {
            claimant.die();
        } else {
            assert!(claimant.finish(&claim));
        }
        other.reclaim().unwrap();
        take(&other, slots, 1);
    }
}

#[test]
fn what_a_dead_owner_waited_for_is_nobodys_at_once() {
    let world = World::new();
    let (owner, claimant, other) =
        (world.open_elsewhere("owner"), world.open("claimant"), world.open("other"));
    let slots = define(&other, "slots", 1);
    let held = take(&other, slots, 1);
    let mine = define(&owner, "slots", 1);
    owner.enqueue(&[(mine, 1)], TTL).unwrap();
    won(claimant.claim(owner.offer(&task("t")).unwrap()));
    owner.die();
    assert_eq!(other.reclaim().unwrap().withdrawn, 1);
    other.release(&held).unwrap();
    take(&other, slots, 1);
}
