//! Whom the governor speaks of: attempts and calls as its keys.

use crate::capacity::terms::CallNo;
use convoke_schedule::TaskIx;

/// The attempt or call that a key of the governor stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    Attempt(TaskIx),
    Call(CallNo),
}

const CALL: u64 = 1 << 63;

pub(crate) fn key_of(task: TaskIx) -> u64 {
    task.0.into()
}

/// Calls have two keys: one for what came with the attempt's permit, one for what they ask for themselves.
pub(crate) fn call_keys(call: CallNo) -> [u64; 2] {
    [CALL | call.0 << 1, CALL | call.0 << 1 | 1]
}

pub(crate) fn owner_of(key: u64) -> Owner {
    match key & CALL == 0 {
        true => Owner::Attempt(TaskIx(u32::try_from(key).expect("keys of attempts are numbers of tasks"))),
        false => Owner::Call(CallNo((key & !CALL) >> 1)),
    }
}
