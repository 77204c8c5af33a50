//! By which names the server may be called, and from which origins.

use crate::error::ApiError;
use axum::body::Body;
use axum::http::{Request, StatusCode, header};
use std::net::SocketAddr;

/// The names by which the server may be called.
#[derive(Debug, Clone)]
pub(crate) struct Names {
    /// `HOST` or `HOST:PORT`, in small letters.
    hosts: Vec<String>,
    /// What stands before a host in an origin.
    schemes: &'static [&'static str],
}

impl Names {
    /// Of a server at this address, which other names may lead to.
    pub fn new(address: SocketAddr, others: &[String], secure: bool, behind_proxy: bool) -> Names {
        let (port, usual) = (address.port(), if secure { 443 } else { 80 });
        let here = ["127.0.0.1", "localhost", "[::1]"].map(str::to_owned).into_iter();
        let own = (!address.ip().is_unspecified() && !address.ip().is_loopback()).then(|| host_of(address));
        let others: Vec<String> = others.iter().map(|name| name.to_ascii_lowercase()).collect();
        let mut hosts = Vec::new();
        for host in here.chain(own).chain(others.iter().cloned()) {
            hosts.push(format!("{host}:{port}"));
            if port == usual {
                hosts.push(host);
            }
        }
        // A proxy has a port of its own, which it may have told or not.
        hosts.extend(others.into_iter().filter(|name| behind_proxy || name.contains(':')));
        let schemes: &[&str] = match (secure, behind_proxy) {
            (true, _) => &["https://"],
            (false, true) => &["https://", "http://"],
            (false, false) => &["http://"],
        };
        Names { hosts, schemes }
    }

    /// Refuses a request that was meant for another host, or that another site's page makes.
    pub fn check(&self, request: &Request<Body>) -> Result<(), ApiError> {
        let mut given = request.headers().get_all(header::HOST).iter();
        let host = given.next().and_then(|host| host.to_str().ok()).map(str::to_ascii_lowercase);
        let named = request.uri().authority().map(|authority| authority.as_str().to_ascii_lowercase());
        let is_ours = |host: &String| self.hosts.contains(host);
        if given.next().is_some() || !host.as_ref().is_some_and(is_ours) || !named.iter().all(is_ours) {
            let words = "this server is not called by that name";
            return Err(ApiError::new(StatusCode::MISDIRECTED_REQUEST, "host", words)
                .hint("a name that leads here is stated with `convoke serve --name NAME`"));
        }
        let foreign =
            || ApiError::new(StatusCode::FORBIDDEN, "origin", "the request comes from another site's page");
        for origin in request.headers().get_all(header::ORIGIN) {
            let origin = origin.to_str().map(str::to_ascii_lowercase).map_err(|_| foreign())?;
            let host = self.schemes.iter().find_map(|scheme| origin.strip_prefix(scheme));
            if !host.is_some_and(|host| is_ours(&host.to_owned())) {
                return Err(foreign());
            }
        }
        // Browsers say it themselves, also where they send no origin.
        match request.headers().get("sec-fetch-site").and_then(|site| site.to_str().ok()) {
            Some("cross-site" | "same-site") if request.headers().contains_key(header::AUTHORIZATION) => {
                Err(foreign())
            }
            Some("cross-site") if request.uri().path().starts_with("/api") => Err(foreign()),
            _ => Ok(()),
        }
    }
}

fn host_of(address: SocketAddr) -> String {
    match address {
        SocketAddr::V4(address) => address.ip().to_string(),
        SocketAddr::V6(address) => format!("[{}]", address.ip()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        Names::new("127.0.0.1:4600".parse().unwrap(), &["box.example".to_owned()], false, false)
    }

    fn status(headers: &[(&str, &str)], uri: &str) -> Option<u16> {
        let mut request = Request::builder().uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let refused = names().check(&request.body(Body::empty()).unwrap()).err();
        refused.map(|error| axum::response::IntoResponse::into_response(error).status().as_u16())
    }

    #[test]
    fn only_its_own_names_lead_to_it() {
        for host in ["127.0.0.1:4600", "LOCALHOST:4600", "[::1]:4600", "box.example:4600"] {
            assert_eq!(status(&[("host", host)], "/api"), None, "{host}");
        }
        for host in ["attacker.example", "127.0.0.1", "127.0.0.1:4601", "localhost.attacker.example:4600", ""]
        {
            assert_eq!(status(&[("host", host)], "/api"), Some(421), "{host}");
        }
        assert_eq!(status(&[], "/api"), Some(421));
        assert_eq!(status(&[("host", "localhost:4600"), ("host", "evil")], "/api"), Some(421));
        assert_eq!(status(&[("host", "localhost:4600")], "http://evil/api"), Some(421));
    }

    #[test]
    fn only_its_own_pages_may_call_it() {
        let with = |origin| status(&[("host", "localhost:4600"), ("origin", origin)], "/api");
        assert_eq!(with("http://localhost:4600"), None);
        for origin in [
            "https://attacker.example",
            "null",
            "https://localhost:4600",
            "http://localhost:4601",
            "http://localhost:4600.x",
        ] {
            assert_eq!(with(origin), Some(403), "{origin}");
        }
        let site = |site| status(&[("host", "localhost:4600"), ("sec-fetch-site", site)], "/api/v1/runs");
        assert_eq!([site("same-origin"), site("none"), site("cross-site")], [None, None, Some(403)]);
    }
}
