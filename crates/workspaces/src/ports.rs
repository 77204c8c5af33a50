//! Which ports a lease gets: the first free ones of a range that the system itself gives to nobody.
//!
//! Records say which are taken, under a lock between processes; a bind on loopback says which are used by others.

use crate::error::Trouble;
use convoke_model::Ports;
use std::net::{Ipv4Addr, TcpListener};

/// Below what Linux takes for outgoing connections (32768), and above what services are usually given.
pub(crate) const RANGE: Ports = Ports { first: 20_000, count: 12_000 };

/// The first `wanted` free ports one after another within a range.
pub(crate) fn choose(
    wanted: u32,
    range: Ports,
    taken: &[Ports],
    is_free: impl Fn(u16) -> bool,
) -> Result<Ports, Trouble> {
    let refused = || Trouble::NoPorts { wanted, among: format!("from {} on ({})", range.first, range.count) };
    let count = u16::try_from(wanted).ok().filter(|count| *count <= range.count).ok_or_else(refused)?;
    let mut run = 0;
    for port in range.each() {
        let one = Ports { first: port, count: 1 };
        let fits = !taken.iter().any(|taken| taken.meets(one)) && is_free(port);
        run = if fits { run + 1 } else { 0 };
        if run == count {
            return Ok(Ports { first: port - (count - 1), count });
        }
    }
    Err(refused())
}

/// Whether no program listens on a port of this machine's loopback.
pub(crate) fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_gap_that_is_large_enough_is_taken() {
        let range = Ports { first: 100, count: 10 };
        let taken = [Ports { first: 101, count: 2 }];
        let free = |port| port != 105;
        assert_eq!(choose(1, range, &taken, free).unwrap(), Ports { first: 100, count: 1 });
        assert_eq!(choose(2, range, &taken, free).unwrap(), Ports { first: 103, count: 2 });
        assert_eq!(choose(4, range, &taken, free).unwrap(), Ports { first: 106, count: 4 });
        assert!(choose(5, range, &taken, free).is_err() && choose(70_000, range, &taken, free).is_err());
    }

    #[test]
    fn a_port_that_a_program_listens_on_is_not_free() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        assert!(!is_free(port));
    }
}
