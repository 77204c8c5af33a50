//! Ten thousand tasks: what a change costs does not grow with them, and only a screenful is made.

use crate::support::*;
use convoke_cockpit::{Cockpit, Input, Key};
use convoke_view::Standing;
use proptest::prelude::*;

const MANY: usize = 10_000;

fn many() -> Cockpit {
    let mut cockpit = cockpit();
    cockpit.step(Input::Runs(runs()));
    key(&mut cockpit, Key::Enter);
    let rows = (0..MANY).map(|at| row(&format!("items[{at}]"), Standing::Waiting, at as u64)).collect();
    cockpit.step(Input::Run(Box::new(run_seen("a", true, rows))));
    cockpit
}

#[test]
fn the_last_of_ten_thousand_is_reached_and_changes_are_seen() {
    let mut cockpit = many();
    key(&mut cockpit, Key::End);
    assert!(screen(&mut cockpit, 80, 24).contains("items[9999]"));
    let mut news = run_seen("a", true, Vec::new());
    news.is_whole = false;
    news.rows = vec![(9_999, row("items[9999]", Standing::Failed, 20_000))];
    cockpit.step(Input::Run(Box::new(news)));
    assert!(screen(&mut cockpit, 80, 24).contains("the service said no"));
    key(&mut cockpit, Key::Home);
    assert!(screen(&mut cockpit, 80, 24).contains("items[0]"));
    // Each of these frames and keys would take seconds if it looked at every row as if it were shown.
    for _ in 0..500 {
        press(&mut cockpit, "j");
        screen(&mut cockpit, 80, 24);
    }
    assert!(screen(&mut cockpit, 80, 24).contains("items[500]"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_order_of_keys_and_looks_breaks_it(steps in prop::collection::vec((0u8..32, 20u16..120, 6u16..40), 1..80)) {
        let mut cockpit = cockpit();
        for (step, (kind, width, height)) in steps.into_iter().enumerate() {
            later(&mut cockpit, step as u64 * 300);
            let effects = match kind {
                0 => cockpit.step(Input::Runs(runs())),
                1 => cockpit.step(Input::Runs(Default::default())),
                2 => cockpit.step(Input::Run(Box::new(run_seen("a", step % 2 == 0, rows())))),
                3 => cockpit.step(Input::Run(Box::new(run_seen("b", false, Vec::new())))),
                4 => cockpit.step(Input::Done(Err("no".to_owned()))),
                5 => cockpit.step(Input::Key(Key::Enter)),
                6 => cockpit.step(Input::Key(Key::Escape)),
                7 => cockpit.step(Input::Key(Key::End)),
                8 => cockpit.step(Input::Key(Key::PageUp)),
                9 => cockpit.step(Input::Key(Key::PageDown)),
                other => {
                    let keys = ['j', 'k', 'a', 'f', 'g', 'r', 'R', 's', 'S', '/', '?', '1', '2', '3', 'i', 'c', 'q', 'y', 'A', ' ', 'x', 'G'];
                    press(&mut cockpit, &keys[usize::from(other - 10) % keys.len()].to_string())
                }
            };
            prop_assert!(effects.len() < 10);
            let shown = screen(&mut cockpit, width, height);
            prop_assert_eq!(shown.split('\n').count(), usize::from(height));
        }
    }
}
