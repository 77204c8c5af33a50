//! Workflows from the network: fetched as text, one file each.
//!
//! Nothing local is reached from such a text: it includes no file. The address is one of https, or of this machine; redirects are not
//! followed, so what is trusted is what the address says.

use crate::driving::network;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use convoke_plan::Sources;
use convoke_plan::source::{Entry, MAX_FILE_BYTES, SourceReadError};
use convoke_providers::{Clients, innermost};
use reqwest::{Client, Response, Url};
use std::time::Duration;

/// How long a file may take to arrive.
const BOUND: Duration = Duration::from_secs(30);

/// Whether a word of the command line is an address.
pub fn is_url(word: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| word.starts_with(scheme))
}

/// The text behind an address.
pub fn fetch(address: &str) -> Result<String, CommandFailure> {
    let refused =
        |why: String| CommandFailure::new(Exit::Refused, format!("`{address}` cannot be read: {why}"));
    let url = judged(address).map_err(refused)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime =
        runtime.map_err(|error| CommandFailure::new(Exit::Failed, format!("cannot start: {error}")))?;
    let client = Clients::new(network()).usual().map_err(|failure| refused(failure.message))?;
    let read = runtime.block_on(async { tokio::time::timeout(BOUND, read(&client, url)).await });
    read.unwrap_or_else(|_| Err(format!("nothing within {} s", BOUND.as_secs()))).map_err(refused)
}

/// A name and a password in it would be shown wherever the place is.
fn judged(address: &str) -> Result<Url, String> {
    let url = Url::parse(address).map_err(|error| error.to_string())?;
    let host = url.host_str().unwrap_or_default();
    let is_own = host == "localhost"
        || host.trim_matches(['[', ']']).parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback());
    match url.scheme() {
        _ if !url.username().is_empty() || url.password().is_some() => {
            Err("it holds a name or a password".to_owned())
        }
        "https" => Ok(url),
        "http" if is_own => Ok(url),
        _ => Err("it is not https, so its text could be changed on the way".to_owned()),
    }
}

async fn read(client: &Client, url: Url) -> Result<String, String> {
    let answered = client.get(url).send().await.map_err(|error| innermost(&error))?;
    if !answered.status().is_success() {
        return Err(match answered.headers().get("location").and_then(|place| place.to_str().ok()) {
            Some(place) => format!(
                "the server answers {} and names `{place}`; redirects are not followed",
                answered.status()
            ),
            None => format!("the server answers {}", answered.status()),
        });
    }
    text_of(answered).await
}

async fn text_of(mut answered: Response) -> Result<String, String> {
    let mut bytes = Vec::new();
    while let Some(chunk) = answered.chunk().await.map_err(|error| innermost(&error))? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > MAX_FILE_BYTES {
            return Err(format!("it has more than {MAX_FILE_BYTES} bytes"));
        }
    }
    String::from_utf8(bytes).map_err(|_| "it is not text".to_owned())
}

/// The world of a text from the network: itself.
pub struct Lone<'a> {
    /// Its address, which is its path.
    pub path: &'a str,
    /// The text.
    pub text: &'a str,
    /// Names that the configuration knows as secrets.
    pub secrets: Vec<String>,
}

impl Sources for Lone<'_> {
    fn read(&self, path: &str) -> Result<Vec<u8>, SourceReadError> {
        match path == self.path || path == convoke_plan::source::normalise(self.path) {
            true => Ok(self.text.as_bytes().to_vec()),
            false => Err(SourceReadError::Unreadable("a workflow from the network is one file".to_owned())),
        }
    }

    fn list(&self, _: &str) -> Result<Vec<Entry>, SourceReadError> {
        Err(SourceReadError::Unreadable("a workflow from the network has no folder".to_owned()))
    }

    fn env(&self, name: &str) -> Option<String> {
        crate::env::get(name)
    }

    fn is_secret(&self, name: &str) -> bool {
        self.secrets.iter().any(|known| known == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_safe_on_its_way_and_holds_no_password() {
        for good in
            ["https://x.test/w.yaml", "http://127.0.0.1:1/w.yaml", "http://localhost/w", "http://[::1]/w"]
        {
            assert!(judged(good).is_ok(), "{good}");
        }
        for bad in [
            "http://x.test/w.yaml",
            "https://me:pw@x.test/w",
            "http://127.0.0.1.evil.test/",
            "ftp://x/w",
            "https://",
        ] {
            assert!(judged(bad).is_err(), "{bad}");
        }
    }
}
