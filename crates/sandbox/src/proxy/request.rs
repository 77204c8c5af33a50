//! The first lines of a request to the proxy.

use super::hosts::{Host, host_and_port};

/// The most bytes of the first lines.
pub const MOST: usize = 16 * 1024;

/// What a request asks for.
#[derive(Debug, PartialEq, Eq)]
pub struct Asked {
    pub host: Host,
    pub port: u16,
    /// What is sent on before the rest: nothing for a tunnel, the request in its own form otherwise.
    pub forward: Option<Vec<u8>>,
}

/// Where the first lines end, if all of them are there.
pub fn end(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4)
}

/// Reads the first lines. `None` if they are not exactly what they have to be.
pub fn read(head: &[u8]) -> Option<Asked> {
    let text = std::str::from_utf8(head).ok()?;
    if text
        .bytes()
        .any(|byte| byte == 0 || byte == 0x7f || (byte < 0x20 && !matches!(byte, b'\r' | b'\n' | b'\t')))
    {
        return None;
    }
    let mut lines = text.split("\r\n");
    let mut words = lines.next()?.split(' ');
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    if words.next().is_some() || !matches!(version, "HTTP/1.1" | "HTTP/1.0") {
        return None;
    }
    if method == "CONNECT" {
        let (host, port) = host_and_port(target)?;
        return Some(Asked { host, port: port?, forward: None });
    }
    let rest = target.strip_prefix("http://")?;
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let (host, port) = host_and_port(authority)?;
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    // One request for one connection: what follows on it would go to the same host whatever it names.
    let mut forward = format!("{method} {path} {version}\r\nHost: {authority}\r\nConnection: close\r\n");
    for line in lines.take_while(|line| !line.is_empty()) {
        let (name, _) = line.split_once(':')?;
        let is_name = !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.!#$%&'*+^`|~".contains(&byte));
        if !is_name || line.contains(['\r', '\n']) {
            return None;
        }
        let own = ["host", "connection", "proxy-connection", "proxy-authorization", "keep-alive", "upgrade"];
        if !own.contains(&name.to_ascii_lowercase().as_str()) {
            forward.push_str(line);
            forward.push_str("\r\n");
        }
    }
    forward.push_str("\r\n");
    Some(Asked { host, port: port.unwrap_or(80), forward: Some(forward.into_bytes()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_goes_on_to_the_host_that_it_was_judged_by() {
        let asked =
            read(b"GET http://Example.com/a?b HTTP/1.1\r\nHost: evil.net\r\nAccept: */*\r\n\r\n").unwrap();
        assert_eq!((asked.host, asked.port), (Host::Name("example.com".into()), 80));
        let forward = String::from_utf8(asked.forward.unwrap()).unwrap();
        assert_eq!(
            forward,
            "GET /a?b HTTP/1.1\r\nHost: Example.com\r\nConnection: close\r\nAccept: */*\r\n\r\n"
        );
    }

    #[test]
    fn what_can_be_read_in_two_ways_is_not_read() {
        let wrong: [&[u8]; 8] = [
            b"CONNECT example.com HTTP/1.1\r\n\r\n",
            b"CONNECT a\0b:443 HTTP/1.1\r\n\r\n",
            b"GET /path HTTP/1.1\r\n\r\n",
            b"GET http://u@example.com/ HTTP/1.1\r\n\r\n",
            b"GET  http://example.com/ HTTP/1.1\r\n\r\n",
            b"GET http://example.com/ HTTP/1.1 x\r\n\r\n",
            b"GET https://example.com/ HTTP/1.1\r\n\r\n",
            b"GET http://example.com/ HTTP/1.1\r\n folded: x\r\n\r\n",
        ];
        for head in wrong {
            assert_eq!(read(head), None, "{}", String::from_utf8_lossy(head));
        }
    }
}
