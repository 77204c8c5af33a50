//! Resource limits of a confined command.

use super::done;
use crate::bounds::Bounds;

/// The limits that are set, by number.
pub struct Limits(Vec<(libc::__rlimit_resource_t, libc::rlimit)>);

impl Limits {
    /// The bounds as limits; without cores, where the command is not to leave any.
    pub fn new(bounds: &Bounds, without_cores: bool) -> Limits {
        let stated = [
            (libc::RLIMIT_AS, bounds.address_space),
            (libc::RLIMIT_DATA, bounds.memory),
            (libc::RLIMIT_CPU, bounds.cpu_seconds),
            (libc::RLIMIT_FSIZE, bounds.file_size),
            (libc::RLIMIT_NPROC, bounds.processes),
            (libc::RLIMIT_NOFILE, bounds.descriptors),
            (libc::RLIMIT_CORE, without_cores.then_some(0)),
        ];
        Limits(
            stated
                .into_iter()
                .filter_map(|(resource, bound)| Some((resource, lowered(resource, bound?))))
                .collect(),
        )
    }

    /// Makes room for descriptors while the sandbox is entered: this process still has all of the engine's. Gives what held before.
    pub unsafe fn make_room() -> libc::rlimit {
        let mut before = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: system calls that fill and read the limit.
        unsafe {
            libc::getrlimit(libc::RLIMIT_NOFILE, &mut before);
            libc::setrlimit(libc::RLIMIT_NOFILE, &libc::rlimit { rlim_cur: before.rlim_max, ..before });
        }
        before
    }

    /// Sets them; of descriptors, what held before if nothing else is said.
    pub unsafe fn enter(&self, descriptors: &libc::rlimit) -> Result<(), i32> {
        // SAFETY: a system call that reads the limit.
        done(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, descriptors) })?;
        for (resource, limit) in &self.0 {
            // SAFETY: a system call that reads the limit.
            done(unsafe { libc::setrlimit(*resource, limit) })?;
        }
        Ok(())
    }
}

/// Not over what this process itself may have: raising a limit takes a privilege.
fn lowered(resource: libc::__rlimit_resource_t, bound: u64) -> libc::rlimit {
    let mut own = libc::rlimit { rlim_cur: 0, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: a system call that fills the limit.
    unsafe { libc::getrlimit(resource, &mut own) };
    let most = own.rlim_max.min(bound);
    libc::rlimit { rlim_cur: most, rlim_max: most }
}
