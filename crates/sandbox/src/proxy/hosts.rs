//! Hosts that may be reached, and a strict grammar for them.

use crate::missing::Missing;
use std::net::IpAddr;

/// Ports of a host that is listed without one.
const USUAL: [u16; 2] = [80, 443];

/// The longest name.
const LONGEST: usize = 253;

/// Hosts that may be reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hosts(Vec<Listed>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Listed {
    host: Pattern,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Pattern {
    Address(IpAddr),
    Name(String),
    /// Every name below this one.
    Below(String),
}

/// A host as a request names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Host {
    /// By its address.
    Address(IpAddr),
    /// By its name, in small letters.
    Name(String),
}

/// Whether a host is listed, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Not at all.
    Unlisted,
    /// By its name: the addresses that it leads to must be public.
    ByName,
    /// By its address.
    ByAddress,
}

impl Hosts {
    /// Reads a list; an entry that is no host is an error, never ignored.
    pub fn parse(texts: &[String]) -> Result<Hosts, Missing> {
        texts
            .iter()
            .map(|text| listed(text).ok_or_else(|| Missing::Host(text.clone())))
            .collect::<Result<_, _>>()
            .map(Hosts)
    }

    /// How a host and port stand.
    pub fn standing(&self, host: &Host, port: u16) -> Standing {
        let has_port = |listed: &&Listed| listed.port.map_or(USUAL.contains(&port), |only| only == port);
        let mut fitting = self.0.iter().filter(has_port);
        match host {
            Host::Address(address) => match fitting.any(|listed| listed.host == Pattern::Address(*address)) {
                true => Standing::ByAddress,
                false => Standing::Unlisted,
            },
            Host::Name(name) => {
                let fits = |listed: &Listed| match &listed.host {
                    Pattern::Address(_) => false,
                    Pattern::Name(listed) => listed == name,
                    Pattern::Below(above) => name
                        .strip_suffix(above.as_str())
                        .is_some_and(|left| left.ends_with('.') && left.len() > 1),
                };
                if fitting.any(fits) { Standing::ByName } else { Standing::Unlisted }
            }
        }
    }
}

fn listed(text: &str) -> Option<Listed> {
    if let Some(above) = text.strip_prefix("*.") {
        let (host, port) = host_and_port(above)?;
        return match host {
            Host::Name(name) if name.contains('.') => Some(Listed { host: Pattern::Below(name), port }),
            _ => None,
        };
    }
    let (host, port) = host_and_port(text)?;
    let host = match host {
        Host::Address(address) => Pattern::Address(address),
        Host::Name(name) => Pattern::Name(name),
    };
    Some(Listed { host, port })
}

/// `name`, `name:port`, `1.2.3.4:port`, `[::1]:port`. Nothing else: no user, no path, no other way to write a number.
pub fn host_and_port(text: &str) -> Option<(Host, Option<u16>)> {
    if let Ok(address) = text.parse::<std::net::Ipv6Addr>() {
        return Some((Host::Address(IpAddr::V6(address).to_canonical()), None));
    }
    let (host, port) = match text.strip_prefix('[') {
        Some(inner) => {
            let (inside, rest) = inner.split_once(']')?;
            let address: std::net::Ipv6Addr = inside.parse().ok()?;
            let port = if rest.is_empty() { None } else { Some(port(rest.strip_prefix(':')?)?) };
            return Some((Host::Address(IpAddr::V6(address).to_canonical()), port));
        }
        None => match text.split_once(':') {
            Some((host, number)) => (host, Some(port(number)?)),
            None => (text, None),
        },
    };
    Some((named(host)?, port))
}

fn named(text: &str) -> Option<Host> {
    if let Ok(address) = text.parse::<std::net::Ipv4Addr>() {
        return Some(Host::Address(address.into()));
    }
    let is_label = |label: &str| {
        let bytes = label.as_bytes();
        !bytes.is_empty()
            && bytes.len() <= 63
            && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
            && bytes[0] != b'-'
            && bytes[bytes.len() - 1] != b'-'
    };
    // A last part of digits alone would be a number in another way of writing addresses: 127.1, 0x7f000001, 2130706433.
    let last = text.rsplit('.').next()?;
    let is_number =
        last.bytes().all(|byte| byte.is_ascii_digit()) || last.to_ascii_lowercase().starts_with("0x");
    let is_name = text.len() <= LONGEST && text.split('.').all(is_label) && !is_number;
    is_name.then(|| Host::Name(text.to_ascii_lowercase()))
}

fn port(text: &str) -> Option<u16> {
    let is_plain = !text.is_empty() && text.len() <= 5 && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|port| is_plain && *port != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(texts: &[&str]) -> Hosts {
        Hosts::parse(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>()).unwrap()
    }

    fn standing(hosts: &Hosts, host: &str, port: u16) -> Standing {
        hosts.standing(&host_and_port(host).unwrap().0, port)
    }

    #[test]
    fn a_host_is_compared_whole() {
        let listed = hosts(&["example.com", "*.example.org", "10.0.0.7:9000"]);
        for host in ["example.com", "EXAMPLE.com", "a.example.org", "a.b.example.org"] {
            assert_eq!(standing(&listed, host, 443), Standing::ByName, "{host}");
        }
        for host in [
            "example.com.evil.net",
            "evilexample.com",
            "a.example.com",
            "example.org",
            "xexample.org",
            "10.0.0.7",
        ] {
            assert_eq!(standing(&listed, host, 443), Standing::Unlisted, "{host}");
        }
        assert_eq!(standing(&listed, "example.com", 22), Standing::Unlisted);
        assert_eq!(standing(&listed, "10.0.0.7", 9000), Standing::ByAddress);
    }

    #[test]
    fn what_is_no_host_is_refused() {
        let wrong = [
            "",
            ".",
            "a..b",
            "127.1",
            "0x7f000001",
            "2130706433",
            "0177.0.0.1x:",
            "a b",
            "a\0.b",
            "user@host",
            "host/path",
            "host:0",
            "host:65536",
            "host:+80",
            "-a.b",
            "a-.b",
            "ex\u{e4}mple.com",
            "[::1",
            "[::1]x",
            "*.com",
            "*",
            "a.*.b",
            "example.com.",
        ];
        for text in wrong {
            assert!(Hosts::parse(&[text.to_owned()]).is_err(), "{text:?}");
        }
        assert_eq!(
            host_and_port("[::ffff:127.0.0.1]:80"),
            Some((Host::Address("127.0.0.1".parse().unwrap()), Some(80)))
        );
    }
}
