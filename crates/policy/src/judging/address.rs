//! Hosts: a strict grammar, and equality of what was parsed.

use std::fmt::{self, Display, Formatter};

/// A host as a policy lists it and as an address names it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Host {
    /// `https` or `http`.
    pub scheme: &'static str,
    /// The name, in lower case.
    pub name: String,
    /// The port.
    pub port: u16,
}

impl Display for Host {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}:{}", self.scheme, self.name, self.port)
    }
}

/// A host of a policy: `docs.example`, `https://docs.example:8443`. Without a scheme it is https.
pub fn parse_host(text: &str) -> Result<Host, String> {
    let whole = if text.contains("://") { text.to_owned() } else { format!("https://{text}") };
    match whole.splitn(4, '/').nth(3) {
        Some(rest) if !rest.is_empty() => Err("a host has no path".to_owned()),
        _ => parse_address(whole.trim_end_matches('/')),
    }
}

/// The host of an address.
pub fn parse_address(text: &str) -> Result<Host, String> {
    let (scheme, rest, port) = match text {
        _ if text.starts_with("https://") => ("https", &text[8..], 443),
        _ if text.starts_with("http://") => ("http", &text[7..], 80),
        _ => return Err("it does not begin with https://".to_owned()),
    };
    if !text.bytes().all(|byte| matches!(byte, b'!'..=b'~')) || text.contains(['\\', '"', '<', '>', '^', '`'])
    {
        return Err("it holds a character that addresses do not have".to_owned());
    }
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let authority = &rest[..end];
    if authority.contains('@') {
        return Err("it holds a user name, behind which the host is another".to_owned());
    }
    let (name, port) = match authority.split_once(':') {
        Some((name, digits)) => match digits.parse::<u16>() {
            Ok(number) if number > 0 && digits.bytes().all(|byte| byte.is_ascii_digit()) => (name, number),
            _ => return Err("its port is no number".to_owned()),
        },
        None => (authority, port),
    };
    let label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    if name.len() > 253 || !name.split('.').all(label) {
        return Err("its host is no name of letters, digits and dashes".to_owned());
    }
    Ok(Host { scheme, name: name.to_ascii_lowercase(), port })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_compared_as_a_whole() {
        let listed = parse_host("docs.example").unwrap();
        for address in [
            "https://docs.example",
            "https://docs.example/",
            "https://DOCS.example:443/x?y",
            "https://docs.example?q#f",
        ] {
            assert_eq!(parse_address(address).as_ref(), Ok(&listed), "{address}");
        }
        for address in [
            "https://docs.example.evil.example/",
            "https://docs.example@evil.example/",
            "http://docs.example/",
            "https://docs.example:8443/",
            "https://docs.example./",
            "https://docs.example%00.evil/",
            "https://docs.example\\@evil/",
            "file:///etc/passwd",
            "docs.example",
            "HTTPS://docs.example",
            "https://docs.example:443:80/",
            "https://[::1]/",
            "https:///docs.example",
            "https://docs.examplе/",
            "https://docs.example:0443x/",
            "https://evil.example/docs.example",
            "https://docs.example\n.evil/",
            "//docs.example",
            "https:docs.example",
        ] {
            assert_ne!(parse_address(address).as_ref(), Ok(&listed), "{address}");
        }
        assert!(parse_host("docs.example/x").is_err());
        assert!(parse_host("*.example").is_err());
    }
}
