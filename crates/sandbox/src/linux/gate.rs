//! The one way out of a network of the command's own: a listening socket that the engine answers.
//!
//! The child makes the socket inside its network and hands it to the engine over a pair of sockets: a socket stays in the network
//! in which it was made, whoever holds it. So nothing has to run beneath the supervisor, and the engine's proxy is all there is.

use super::{done, last};
use crate::proxy::PORT;
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;

/// The child's half.
pub struct Gate {
    engine: OwnedFd,
}

impl Gate {
    /// Both halves: the child's, and where the engine gets the socket from.
    pub fn new() -> io::Result<(Gate, OwnedFd)> {
        let mut ends = [0; 2];
        let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
        // SAFETY: the call fills two numbers, which are ours then.
        unsafe {
            if libc::socketpair(libc::AF_UNIX, kind, 0, ends.as_mut_ptr()) == -1 {
                return Err(io::Error::last_os_error());
            }
            Ok((Gate { engine: OwnedFd::from_raw_fd(ends[0]) }, OwnedFd::from_raw_fd(ends[1])))
        }
    }

    /// Opens it, in a network that is new.
    pub unsafe fn open(&self) -> Result<(), i32> {
        // SAFETY: system calls with structures that live here.
        unsafe {
            let socket =
                libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK, 0);
            if socket < 0 {
                return Err(last());
            }
            let mut loopback = mem::zeroed::<libc::ifreq>();
            loopback.ifr_name[0] = b'l' as libc::c_char;
            loopback.ifr_name[1] = b'o' as libc::c_char;
            loopback.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
            done(libc::ioctl(socket, libc::SIOCSIFFLAGS as _, &raw const loopback))?;
            let mut address = mem::zeroed::<libc::sockaddr_in>();
            address.sin_family = libc::AF_INET as libc::sa_family_t;
            address.sin_port = PORT.to_be();
            address.sin_addr.s_addr = libc::INADDR_LOOPBACK.to_be();
            let length = size_of::<libc::sockaddr_in>() as libc::socklen_t;
            done(libc::bind(socket, (&raw const address).cast(), length))?;
            done(libc::listen(socket, 64))?;
            let sent = send(self.engine.as_raw_fd(), socket);
            libc::close(socket);
            sent
        }
    }
}

/// Room for one descriptor in a message.
#[repr(C, align(8))]
struct Control([u8; 24]);

unsafe fn send(over: libc::c_int, descriptor: libc::c_int) -> Result<(), i32> {
    // SAFETY: the message points to what lives here; the control block has room for one descriptor.
    unsafe {
        let mut byte = 0u8;
        let mut piece = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
        let mut control = Control([0; 24]);
        let mut message = mem::zeroed::<libc::msghdr>();
        message.msg_iov = &raw mut piece;
        message.msg_iovlen = 1;
        message.msg_control = (&raw mut control).cast();
        message.msg_controllen = libc::CMSG_SPACE(4) as _;
        let header = libc::CMSG_FIRSTHDR(&message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(4) as _;
        ptr::write_unaligned(libc::CMSG_DATA(header).cast::<libc::c_int>(), descriptor);
        done(libc::sendmsg(over, &message, libc::MSG_NOSIGNAL) as i64)
    }
}

/// Takes the socket that the child has sent. It has sent it before it became the command, so there is no wait.
pub fn receive(end: &OwnedFd) -> io::Result<OwnedFd> {
    // SAFETY: as above; what is received is ours.
    unsafe {
        let mut byte = 0u8;
        let mut piece = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
        let mut control = Control([0; 24]);
        let mut message = mem::zeroed::<libc::msghdr>();
        message.msg_iov = &raw mut piece;
        message.msg_iovlen = 1;
        message.msg_control = (&raw mut control).cast();
        message.msg_controllen = size_of::<Control>() as _;
        let flags = libc::MSG_CMSG_CLOEXEC | libc::MSG_DONTWAIT;
        if libc::recvmsg(end.as_raw_fd(), &mut message, flags) < 0 {
            return Err(io::Error::last_os_error());
        }
        let header = libc::CMSG_FIRSTHDR(&message);
        if header.is_null() || (*header).cmsg_type != libc::SCM_RIGHTS {
            return Err(io::Error::other("no socket came from the command's network"));
        }
        let descriptor = ptr::read_unaligned(libc::CMSG_DATA(header).cast::<libc::c_int>());
        Ok(OwnedFd::from_raw_fd(descriptor))
    }
}
