//! The way to the network: clients with their connections, shared by all providers.
//!
//! How long a connection may take to stand is a client's property, not a request's, so there is a client per such limit;
//! a workflow has one or two. Whether connections are kept for the next request is one as well. Everything that could
//! come from the environment (proxies, certificates) is passed in. Redirects are not followed, because a key must not
//! travel to a host that the settings do not name.

use convoke_model::{Class, Failure};
use reqwest::redirect::Policy;
use reqwest::{Certificate, Client, ClientBuilder, NoProxy, Proxy};
use std::collections::HashMap;
use std::sync::{Arc, Once, RwLock};
use std::time::Duration;

/// The limit of requests that set none; most requests have it too, and so share connections.
const CONNECT: Duration = Duration::from_secs(30);

/// How the network is reached.
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
}

/// What becomes of a connection once its answer is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Keeping {
    /// It waits for the next request.
    Kept,
    /// It is closed: for services that say they keep it, and hang up when it is used again.
    Closed,
}

/// Clients by the time that a connection may take, made when they are first asked for.
#[derive(Clone)]
pub struct Clients {
    options: Arc<Options>,
    made: Arc<RwLock<HashMap<(Duration, Keeping), Client>>>,
}

impl Clients {
    /// Clients that reach the network so.
    pub fn new(options: Options) -> Clients {
        Clients { options: Arc::new(options), made: Arc::default() }
    }

    /// The client whose connections stand within the usual time.
    pub fn usual(&self) -> Result<Client, Failure> {
        self.with(CONNECT, Keeping::Kept)
    }

    /// The client whose connections stand within this time, and are kept or not.
    pub fn with(&self, connect: Duration, keeping: Keeping) -> Result<Client, Failure> {
        let wanted = (connect, keeping);
        if let Some(client) = self.made.read().expect("a panic poisoned this lock").get(&wanted) {
            return Ok(client.clone());
        }
        let client = build(&self.options, connect, keeping).map_err(|error| {
            Failure::new(Class::Fatal, format!("cannot prepare the network connection: {}", causes(&error)))
                .hint("check the proxy addresses and the extra certificates")
        })?;
        let mut made = self.made.write().expect("a panic poisoned this lock");
        Ok(made.entry(wanted).or_insert(client).clone())
    }
}

/// A client takes the process's cryptography. The first one to be installed stays, and a second is no fault.
fn install_cryptography() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}

fn build(options: &Options, connect: Duration, keeping: Keeping) -> reqwest::Result<Client> {
    install_cryptography();
    let mut builder: ClientBuilder = Client::builder()
        .no_proxy()
        .redirect(Policy::none())
        .connect_timeout(connect)
        .tcp_nodelay(true)
        .user_agent(concat!("convoke/", env!("CARGO_PKG_VERSION")));
    if keeping == Keeping::Closed {
        builder = builder.pool_max_idle_per_host(0);
    }
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
