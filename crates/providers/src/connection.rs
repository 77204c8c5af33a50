//! The way to the network: one client with its connections, shared by all providers.
//!
//! Everything that could come from the environment (proxies, certificates) is passed in. Redirects are not followed,
//! because a key must not travel to a host that nobody named.

use crate::program::Variables;
use convoke_model::{Class, Failure};
use reqwest::redirect::Policy;
use reqwest::{Certificate, Client, ClientBuilder, NoProxy, Proxy};
use std::time::Duration;

/// A connection that does not stand by then is a fault of the network, whatever the request may take.
const CONNECT: Duration = Duration::from_secs(30);

/// How the network, and programs of this machine, are reached.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The proxy for `https` addresses.
    pub https_proxy: Option<String>,
    /// The proxy for `http` addresses.
    pub http_proxy: Option<String>,
    /// Hosts that are reached without a proxy, separated by commas.
    pub no_proxy: Option<String>,
    /// Certificates to trust besides those of the system, in PEM form.
    pub extra_certificates: Vec<Vec<u8>>,
    /// What coding agents inherit; without credentials, as scripts have it.
    pub child_environment: Variables,
}

/// A client for these options.
pub fn client(options: &Options) -> Result<Client, Failure> {
    build(options).map_err(|error| {
        Failure::new(Class::Fatal, format!("cannot prepare the network connection: {}", causes(&error)))
            .hint("check the proxy addresses and the extra certificates")
    })
}

fn build(options: &Options) -> reqwest::Result<Client> {
    let mut builder: ClientBuilder = Client::builder()
        .no_proxy()
        .redirect(Policy::none())
        .connect_timeout(CONNECT)
        .tcp_nodelay(true)
        .user_agent(concat!("convoke/", env!("CARGO_PKG_VERSION")));
    let exempt = || options.no_proxy.as_deref().and_then(NoProxy::from_string);
    if let Some(proxy) = &options.https_proxy {
        builder = builder.proxy(Proxy::https(proxy)?.no_proxy(exempt()));
    }
    if let Some(proxy) = &options.http_proxy {
        builder = builder.proxy(Proxy::http(proxy)?.no_proxy(exempt()));
    }
    for pem in &options.extra_certificates {
        builder = builder.tls_certs_merge(Certificate::from_pem_bundle(pem)?);
    }
    builder.build()
}

/// The innermost cause of an error, which is the one that says what happened.
pub fn causes(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}
