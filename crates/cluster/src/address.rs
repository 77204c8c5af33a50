//! Where a cluster is: `restate://HOST:PORT`, with `?admin=PORT` or `?admin=URL` where its administration is not on port 9070 of the
//! same host, and `?tls=true` where it speaks TLS.

use std::fmt;
use std::str::FromStr;
use url::Url;

/// The port of the administration, where nothing is said.
const ADMIN: u16 = 9070;
/// The port of the ingress, where nothing is said.
const INGRESS: u16 = 8080;

/// Where a cluster is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// As it was written, without what follows the question mark.
    shown: String,
    ingress: String,
    admin: String,
}

/// Why a text is no address of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is no address of a cluster: {why}")]
pub struct NotAnAddress {
    given: String,
    why: String,
}

impl Address {
    /// Whether a text is meant as an address and not as a folder.
    pub fn is_meant(text: &str) -> bool {
        text.starts_with("restate:")
    }

    /// The base of calls from outside.
    pub fn ingress(&self) -> &str {
        &self.ingress
    }

    /// The base of its administration.
    pub fn admin(&self) -> &str {
        &self.admin
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl FromStr for Address {
    type Err = NotAnAddress;

    fn from_str(given: &str) -> Result<Address, NotAnAddress> {
        let refuse = |why: &str| NotAnAddress { given: given.to_owned(), why: why.to_owned() };
        let form = "write restate://HOST:PORT, with ?admin=PORT if its administration is not on port 9070";
        let url = Url::parse(given).map_err(|error| refuse(&format!("{error}; {form}")))?;
        if url.scheme() != "restate" || !given.starts_with("restate://") {
            return Err(refuse(form));
        }
        let host = url.host_str().filter(|host| !host.is_empty()).ok_or_else(|| refuse(form))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(refuse(
                "it holds a name or a password; put them into a proxy in front of the cluster",
            ));
        }
        if !matches!(url.path(), "" | "/") {
            return Err(refuse("nothing may stand behind HOST:PORT but `?…`"));
        }
        let (mut admin, mut tls) = (None, false);
        for (key, value) in url.query_pairs() {
            match (&*key, &*value) {
                ("admin", value) => admin = Some(value.to_owned()),
                ("tls", "true") => tls = true,
                ("tls", "false") => tls = false,
                ("tls", _) => return Err(refuse("`tls` is true or false")),
                (key, _) => {
                    return Err(refuse(&format!("`{key}` is not known; there are `admin` and `tls`")));
                }
            }
        }
        let scheme = if tls { "https" } else { "http" };
        let port = url.port().unwrap_or(INGRESS);
        let admin = match admin {
            None => format!("{scheme}://{host}:{ADMIN}"),
            Some(text) => match text.parse::<u16>() {
                Ok(port) => format!("{scheme}://{host}:{port}"),
                Err(_) if text.starts_with("http://") || text.starts_with("https://") => {
                    text.trim_end_matches('/').to_owned()
                }
                Err(_) => return Err(refuse("`admin` is a port or a URL")),
            },
        };
        let ingress = format!("{scheme}://{host}:{port}");
        Ok(Address { shown: format!("restate://{host}:{port}"), ingress, admin })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (String, String) {
        let address: Address = text.parse().unwrap();
        (address.ingress, address.admin)
    }

    fn pair(ingress: &str, admin: &str) -> (String, String) {
        (ingress.to_owned(), admin.to_owned())
    }

    #[test]
    fn ports_and_schemes_are_said_or_usual() {
        assert_eq!(read("restate://a"), pair("http://a:8080", "http://a:9070"));
        assert_eq!(read("restate://a:1?admin=2"), pair("http://a:1", "http://a:2"));
        assert_eq!(read("restate://a:1?tls=true"), pair("https://a:1", "https://a:9070"));
        assert_eq!(read("restate://[::1]:1?admin=https://b/x/"), pair("http://[::1]:1", "https://b/x"));
        assert_eq!("restate://a:1?admin=2".parse::<Address>().unwrap().to_string(), "restate://a:1");
    }

    #[test]
    fn what_is_no_address_is_refused_with_its_reason() {
        for (text, why) in [
            ("restate:a", "write restate://HOST:PORT"),
            ("restate://", "write restate://HOST:PORT"),
            ("restate://u:p@a", "a name or a password"),
            ("restate://a/b", "nothing may stand behind"),
            ("restate://a?x=1", "`x` is not known"),
            ("restate://a?tls=1", "`tls` is true or false"),
            ("restate://a?admin=b", "a port or a URL"),
            ("restate://a:99999", "write restate://HOST:PORT"),
        ] {
            let refused = text.parse::<Address>().unwrap_err().to_string();
            assert!(refused.contains(why), "{refused}");
        }
    }
}
