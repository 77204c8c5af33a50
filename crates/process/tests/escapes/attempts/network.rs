//! Reaching anything.

use crate::{Attempt, Outcome, Scene, call};
use std::io::{self, Read, Write};
use std::mem;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener, UnixStream};

pub const ALL: &[Attempt] = &[
    ("ask_the_proxy", |s| {
        let mut stream = TcpStream::connect(("127.0.0.1", 3128))?;
        write!(stream, "GET http://{}/ HTTP/1.1\r\n\r\n", s.text("host"))?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        println!("{answer}");
        if answer.starts_with("HTTP/1.1 200") { Ok(()) } else { Err(io::Error::other("refused")) }
    }),
    ("tunnel_through_the_proxy", |s| {
        let mut stream = TcpStream::connect(("127.0.0.1", 3128))?;
        write!(stream, "CONNECT {} HTTP/1.1\r\n\r\n", s.text("host"))?;
        let mut answer = [0; 12];
        stream.read_exact(&mut answer)?;
        println!("{}", String::from_utf8_lossy(&answer));
        if answer.ends_with(b"200") { Ok(()) } else { Err(io::Error::other("refused")) }
    }),
    ("tcp", |s| TcpStream::connect(("127.0.0.1", s.number("tcp") as u16)).map(drop)),
    ("tcp_over_six", |s| TcpStream::connect(("::1", s.number("tcp6") as u16)).map(drop)),
    ("tcp_mapped", |s| TcpStream::connect(("::ffff:127.0.0.1", s.number("tcp") as u16)).map(drop)),
    ("udp", |s| {
        UdpSocket::bind("127.0.0.1:0")?.send_to(b"x", ("127.0.0.1", s.number("udp") as u16)).map(drop)
    }),
    ("name_lookup", |s| {
        // A question to a name server is a datagram, sent without a connection.
        let socket = UdpSocket::bind("0.0.0.0:0")?;
        socket.connect(("127.0.0.1", s.number("udp") as u16))?;
        socket.send(b"\0\x01\x01\0\0\x01\0\0\0\0\0\0\x07example\x03com\0\0\x01\0\x01").map(drop)
    }),
    ("listen", |_| TcpListener::bind("127.0.0.1:0").map(drop)),
    ("raw", |_| socket(libc::AF_INET, libc::SOCK_RAW, libc::IPPROTO_ICMP)),
    ("ping", |_| socket(libc::AF_INET, libc::SOCK_DGRAM, libc::IPPROTO_ICMP)),
    ("packet", |_| socket(libc::AF_PACKET, libc::SOCK_RAW, 0)),
    ("netlink", |_| socket(libc::AF_NETLINK, libc::SOCK_RAW, 0)),
    ("kernel_cryptography", |_| socket(libc::AF_ALG, libc::SOCK_SEQPACKET, 0)),
    ("virtual_machine", |_| socket(libc::AF_VSOCK, libc::SOCK_STREAM, 0)),
    ("unix_by_path", |s| UnixStream::connect(s.path("outside").join("socket")).map(drop)),
    ("unix_abstract", |s| {
        UnixStream::connect_addr(&SocketAddr::from_abstract_name(s.text("unique"))?).map(drop)
    }),
    ("unix_datagram", |s| {
        UnixDatagram::unbound()?.send_to(b"x", s.path("outside").join("datagrams")).map(drop)
    }),
    ("unix_pair_sent_elsewhere", |s| {
        let (one, _other) = UnixDatagram::pair()?;
        one.send_to(b"x", s.path("outside").join("datagrams")).map(drop)
    }),
    ("unix_pair_connected_anew", |s| {
        let (one, _other) = UnixDatagram::pair()?;
        one.connect(s.path("outside").join("datagrams"))?;
        one.send(b"x").map(drop)
    }),
    ("unix_listen", |s| UnixListener::bind(s.path("root").join("own")).map(drop)),
    ("queue_of_calls", |_| {
        let mut parameters = [0u8; 120];
        // SAFETY: the structure has the kernel's size.
        call(unsafe { libc::syscall(libc::SYS_io_uring_setup, 4, parameters.as_mut_ptr()) }).map(drop)
    }),
    ("old_number_of_a_socket_call", old_interface),
];

fn socket(family: i32, kind: i32, protocol: i32) -> Outcome {
    // SAFETY: a system call without pointers.
    call(unsafe { libc::socket(family, kind, protocol) }).map(drop)
}

/// The same calls have other numbers in another interface of the same processor.
fn old_interface(scene: &Scene) -> Outcome {
    const OTHER: i64 = 0x4000_0000;
    // SAFETY: system calls; the address lives here.
    unsafe {
        let socket = call(libc::syscall(OTHER + libc::SYS_socket, libc::AF_INET, libc::SOCK_STREAM, 0))?;
        let mut address = mem::zeroed::<libc::sockaddr_in>();
        address.sin_family = libc::AF_INET as u16;
        address.sin_port = (scene.number("tcp") as u16).to_be();
        address.sin_addr.s_addr = u32::from_ne_bytes([127, 0, 0, 1]);
        let length = size_of::<libc::sockaddr_in>();
        if libc::syscall(OTHER + libc::SYS_connect, socket, &raw const address, length) == 0 {
            return Ok(());
        }
        Err(io::Error::last_os_error())
    }
}
