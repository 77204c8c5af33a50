//! Named places at which a test kills the program.
//!
//! `failpoint!("journal.append.committed")` marks a place between two states of the disk or of the world. A process that was
//! armed counts how often each place is reached, and dies by SIGKILL at the one it was told of. What follows from such a death is
//! judged by `crates/cli/tests/failpoints`.
//!
//! Only builds with `debug_assertions` have them: in `release` and `dist` the macro is nothing, and neither the names nor the means to
//! arm one are in the program. Places in other processes (the supervisor of a command, a detached run) count with the others: the
//! counters lie in memory that these processes share. Reaching a place makes no call that is forbidden after a fork.
//!
//! Left to others: which variable arms a place (`cli`), and the steps inside the lock of the capacity table, which that crate's own
//! tests count and kill at.

#[cfg(debug_assertions)]
mod armed;
#[cfg(debug_assertions)]
mod names;

#[cfg(debug_assertions)]
pub use armed::{Problem, arm, position, reach};
#[cfg(debug_assertions)]
pub use names::NAMES;

/// A place at which the process may be told to die. The name must be listed in `names.rs` and used once.
#[cfg(debug_assertions)]
#[macro_export]
macro_rules! failpoint {
    ($name:literal) => {{
        const PLACE: usize = $crate::position($name);
        $crate::reach(PLACE);
    }};
}

/// Nothing: this program is not one that tests kill at named places.
#[cfg(not(debug_assertions))]
#[macro_export]
macro_rules! failpoint {
    ($name:literal) => {{}};
}
