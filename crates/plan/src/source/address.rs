//! Whether a text is the address of a service. What is behind it is only known once it is asked.

/// Whether a text has the form `http(s)://host[:port]…`.
pub(super) fn is_http(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else { return false };
    let known = ["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known));
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    known && is_host(host) && !text.contains(|c: char| c.is_whitespace() || c.is_control())
}

fn is_host(text: &str) -> bool {
    let (host, port) = match (text.strip_prefix('['), text.rsplit_once(':')) {
        (Some(inside), _) => match inside.split_once(']') {
            Some((host, after)) => (host, after.strip_prefix(':')),
            None => return false,
        },
        (None, Some((host, port))) => (host, Some(port)),
        (None, None) => (text, None),
    };
    !host.is_empty() && port.is_none_or(|port| port.parse::<u16>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_scheme_and_a_host() {
        for good in [
            "http://localhost",
            "HTTPS://api.example.com/v1?x=1#y",
            "http://127.0.0.1:8080/",
            "http://[::1]:80/v1",
            "https://user:pass@host/x@y",
            "https://bücher.example",
        ] {
            assert!(is_http(good), "{good}");
        }
        for bad in [
            "",
            "localhost:11434",
            "api.example.com/v1",
            "ftp://host",
            "http://",
            "http:///v1",
            "http://:80",
            "http://host:port",
            "http://host:99999",
            "https://a b",
            "http:/host",
            "http://[::1",
        ] {
            assert!(!is_http(bad), "{bad}");
        }
    }
}
