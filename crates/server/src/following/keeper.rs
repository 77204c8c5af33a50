//! The thread that reads on.
//!
//! It looks often while something happens and ever less often while nothing does; a caller that opens a run reads on itself and wakes it.

use super::hub::Hub;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// Between two looks where something has just happened.
const BUSY: Duration = Duration::from_millis(40);

/// Between two looks where nothing happens.
const IDLE: Duration = Duration::from_millis(500);

/// For how long after the last change it looks often.
const AWAKE: Duration = Duration::from_secs(3);

/// A follower that no caller has wanted for so long is dropped.
const FORGOTTEN: Duration = Duration::from_secs(20);

/// Between two looks at all runs.
const BOARD: Duration = Duration::from_millis(700);

/// Between two looks at what processes share, for the line of the last hour.
const USAGE: Duration = Duration::from_secs(5);

/// Starts it. It ends with the hub.
pub(super) fn start(hub: &Arc<Hub>) -> std::io::Result<()> {
    let hub = Arc::downgrade(hub);
    std::thread::Builder::new().name("followers".to_owned()).spawn(move || keep(&hub)).map(drop)
}

fn keep(hub: &Weak<Hub>) {
    let begun = Instant::now();
    let (mut last_news, mut board_at, mut usage_at) = (begun, begun, None::<Instant>);
    loop {
        let pause = match hub.upgrade() {
            None => return,
            Some(hub) => {
                hub.forget(FORGOTTEN);
                let mut is_new = hub.followed().iter().filter(|follower| follower.read_on()).count() > 0;
                if board_at.elapsed() >= BOARD {
                    is_new |= hub.board.read_on();
                    board_at = Instant::now();
                }
                if usage_at.is_none_or(|at| at.elapsed() >= USAGE) {
                    hub.note_usage(begun.elapsed().as_secs() / 60);
                    usage_at = Some(Instant::now());
                }
                if is_new {
                    last_news = Instant::now();
                    hub.tell();
                }
                if last_news.elapsed() < AWAKE { BUSY } else { IDLE }
            }
        };
        std::thread::park_timeout(pause);
    }
}
