//! Gives up every privilege that a program could be started with.

use super::done;

/// No capability for the user 0, none kept over a change of user, none that a program inherits; and no way back.
const SECURE: libc::c_ulong = 0b1110_1111;

/// Version 3 of the interface: two words of each set.
const VERSION: u32 = 0x2008_0522;

#[repr(C)]
struct Header {
    version: u32,
    pid: i32,
}

/// From here on no program has a capability, whatever its user or file says.
pub unsafe fn give_up() -> Result<(), i32> {
    // SAFETY: system calls; the two structures are as the kernel defines them.
    unsafe {
        done(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))?;
        // These fail without privileges, and then there is nothing to give up.
        libc::prctl(libc::PR_SET_SECUREBITS, SECURE, 0, 0, 0);
        for capability in 0..64 as libc::c_ulong {
            libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0);
        }
        let header = Header { version: VERSION, pid: 0 };
        let none = [[0u32; 3]; 2];
        done(libc::syscall(libc::SYS_capset, &raw const header, &raw const none) as i64)
    }
}
