//! An owner and claimants on one capacity table, with real sockets and a relay between them that loses messages and cuts
//! connections, while claimants die: each attempt is performed once, or reported as lost.

mod parts;
mod relay;

use convoke_handover::Timeouts;
use convoke_model::AttemptEnd;
use parts::{Place, World};
use proptest::prelude::*;
use relay::{Fault, Side};
use std::time::Duration;

/// So short that lost messages cost little time. A hand-over that takes longer is given up, which breaks nothing.
const SHORT: Timeouts = Timeouts {
    claim: Duration::from_millis(50),
    step: Duration::from_millis(200),
    heartbeat: Duration::from_millis(20),
};

/// So long that no test depends on the machine's speed.
const LONG: Timeouts = Timeouts {
    claim: Duration::from_secs(60),
    step: Duration::from_secs(60),
    heartbeat: Duration::from_millis(20),
};

/// No attempt takes longer than this, with every fault together.
const DEADLINE: Duration = Duration::from_secs(120);

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async { tokio::time::timeout(DEADLINE, future).await.expect("it ends in time") })
}

#[test]
fn a_claimant_performs_an_attempt_on_the_link_of_its_owner() {
    block_on(async {
        let world = World::new(LONG);
        let claimant = world.claimant(Vec::new()).await;
        let (end, link) = world.attempt("a").await;
        assert!(matches!(end, AttemptEnd::Finished { .. }), "{end:?}");
        assert_eq!(world.begun("a"), [Place::Claimant]);
        assert_eq!((link.settled(), link.held(), link.recorded()), (1, 0, 1));
        assert!(world.ended_leftovers().is_empty());
        drop(claimant);
    });
}

#[test]
fn the_attempt_of_a_claimant_that_dies_is_lost_and_nothing_of_it_is_left() {
    block_on(async {
        let world = World::new(LONG);
        let claimant = world.claimant(Vec::new()).await;
        world.hold_attempts();
        let attempt = world.attempt("a");
        let dies = async {
            world.until_a_call_is_held("a").await;
            drop(claimant);
        };
        let ((end, link), ()) = tokio::join!(attempt, dies);
        assert!(matches!(end, AttemptEnd::Lost), "{end:?}");
        assert_eq!(world.begun("a"), [Place::Claimant]);
        assert_eq!((link.settled(), link.held()), (0, 0), "the permit of its call is free");
        assert_eq!(world.ended_leftovers(), link.processes(), "the processes that it started were ended");
    });
}

#[test]
fn an_attempt_without_a_claimant_is_performed_by_its_owner() {
    block_on(async {
        let world = World::new(SHORT);
        let (end, _) = world.attempt("a").await;
        assert!(matches!(end, AttemptEnd::Finished { .. }), "{end:?}");
        assert_eq!(world.begun("a"), [Place::Owner]);
    });
}

/// What goes wrong in one case.
#[derive(Debug, Clone)]
struct Trouble {
    attempts: usize,
    /// The faults of each claimant's connections, in order; further connections have none.
    claimants: Vec<Vec<Fault>>,
    /// The first claimant dies when so many attempts have begun, if so many do.
    dies_after: Option<usize>,
}

fn faults() -> impl Strategy<Value = Fault> {
    let side = prop_oneof![Just(Side::Claimant), Just(Side::Owner)];
    prop_oneof![
        2 => Just(Fault::None),
        3 => (side.clone(), 0..8usize).prop_map(|(from, at)| Fault::Cut { from, at }),
        2 => (side, 0..2usize).prop_map(|(from, at)| Fault::Lose { from, at }),
        1 => Just(Fault::LoseEnd),
        1 => Just(Fault::LoseDone),
    ]
}

fn troubles() -> impl Strategy<Value = Trouble> {
    let claimants = prop::collection::vec(prop::collection::vec(faults(), 0..6), 1..4);
    (1..16usize, claimants, prop::option::of(0..16usize))
        .prop_map(|(attempts, claimants, dies_after)| Trouble { attempts, claimants, dies_after })
}

async fn every_attempt_is_performed_once_or_lost(trouble: Trouble) {
    let world = World::new(SHORT);
    let mut claimants = Vec::new();
    for faults in trouble.claimants {
        claimants.push(world.claimant(faults).await);
    }
    let names: Vec<String> = (0..trouble.attempts).map(|number| format!("t{number}")).collect();
    let attempts = futures::future::join_all(names.iter().map(|name| world.attempt(name)));
    let mut attempts = std::pin::pin!(attempts);
    let dies = async {
        match trouble.dies_after {
            Some(after) => world.until_begun(after).await,
            None => std::future::pending().await,
        }
    };
    let ends = tokio::select! {
        ends = &mut attempts => ends,
        () = dies => {
            drop(claimants.remove(0));
            attempts.await
        }
    };
    for (name, (end, link)) in names.iter().zip(&ends) {
        let begun = world.begun(name);
        assert!(begun.len() <= 1, "{name} was performed by {begun:?}");
        match end {
            AttemptEnd::Finished { output, .. } => {
                assert_eq!((begun.len(), output.value()), (1, name.as_str().into()), "{name}");
            }
            AttemptEnd::Lost => {
                assert_ne!(begun, [Place::Owner], "{name} was performed here and cannot be lost")
            }
            other => panic!("{name}: {other:?}"),
        }
        assert_eq!(link.held(), 0, "{name} holds a permit after its end");
    }
}

proptest! {
    // A failure that depends on timing does not shrink well; the case that is printed first is kept.
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 8, ..ProptestConfig::default() })]

    #[test]
    fn lost_messages_cut_connections_and_dying_claimants_never_double_an_attempt(trouble in troubles()) {
        block_on(every_attempt_is_performed_once_or_lost(trouble));
    }
}
