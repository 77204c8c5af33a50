//! What a process holds of what all processes share.

use crate::kit;

use convoke_govern::{Amount, Governor, Lack, Rank, Rules, Spec};
use kit::{NOW, ask, free, grant};

#[test]
fn grants_come_from_what_is_held_and_the_rest_is_told() {
    let mut governor = Governor::with(Rules::default());
    let machine = governor.add(Spec::slots("machine", 10)).expect("a limit");
    let own = governor.add(Spec::slots("slots", 6)).expect("a limit");
    let needs = [Amount::of(machine, 1), Amount::of(own, 1)];
    governor.set_share(machine, Some(2));
    (0..9).for_each(|key| ask(&mut governor, key, Rank::default(), &needs).expect("taken"));
    assert_eq!((grant(&mut governor), grant(&mut governor), grant(&mut governor)), (Some(0), Some(1), None));
    assert_eq!(
        governor.lacks(NOW),
        [Lack { resource: machine, count: 4 }],
        "no more than its own slots allow"
    );
    governor.set_share(machine, Some(9));
    let granted: Vec<_> = std::iter::from_fn(|| grant(&mut governor)).collect();
    assert_eq!(granted, [2, 3, 4, 5]);
    assert_eq!(governor.lacks(NOW), [], "its own slots are what is short now");
    assert_eq!(governor.spare(machine, NOW), 3);
    governor.set_share(machine, Some(3));
    free(&mut governor, 0);
    assert_eq!(
        grant(&mut governor),
        None,
        "less is held than is in use: nothing new, and nothing is stopped"
    );
    assert_eq!((governor.held(), governor.spare(machine, NOW)), (5, 0));
}

#[test]
fn nobody_asks_for_more_than_there_is() {
    let mut governor = Governor::with(Rules::default());
    let machine = governor.add(Spec::slots("machine", 3)).expect("a limit");
    governor.set_share(machine, Some(0));
    assert_eq!(governor.lacks(NOW), [], "nobody waits");
    (0..9)
        .for_each(|key| ask(&mut governor, key, Rank::default(), &[Amount::of(machine, 1)]).expect("taken"));
    assert_eq!(governor.lacks(NOW), [Lack { resource: machine, count: 3 }]);
    governor.set_share(machine, Some(3));
    while grant(&mut governor).is_some() {}
    assert_eq!(governor.lacks(NOW), []);
}
