//! A worker: serves the services of runs and attempts to the cluster, and performs attempts.
//!
//! Several workers may share an address (several processes of one machine, or machines behind a balancer): which of them a call
//! reaches makes no difference. A worker that leaves begins no more attempts, lets those that it has begun end, and goes on to serve
//! turns meanwhile: their facts need them.

use crate::address::Address;
use crate::attempt::Attempt;
use crate::directory::Directory;
use crate::error::ClusterError;
use crate::ingress::Ingress;
use crate::jobs::Jobs;
use crate::peers;
use crate::process::{Process, now};
use crate::question::Question;
use crate::run::Run;
use crate::values::Value;
use convoke_handover::Performers;
use hyper_util::rt::{TokioExecutor, TokioIo};
use reqwest::Method;
use restate_sdk::hyper::HyperEndpoint;
use restate_sdk::prelude::Endpoint;
use serde_json::json;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

/// Streams of one connection: more attempts than this at once take another connection.
const MOST_STREAMS: u32 = 1_000;
const REGISTER: Duration = Duration::from_secs(30);
/// How long a worker whose attempts have ended still serves the turns that follow from their ends.
const LINGER: Duration = Duration::from_millis(500);
/// How long calls that are under way may take when the worker closes.
const CLOSE_GRACE: Duration = Duration::from_secs(3);

/// How a worker is set up.
#[derive(Debug, Clone)]
pub struct WorkerOptions {
    /// Where the cluster reaches it.
    pub listen: SocketAddr,
    /// The URL under which the cluster reaches it, if that is another.
    pub advertise: Option<String>,
    /// Where other workers reach it.
    pub peers: SocketAddr,
    /// Host and port under which other workers reach it, if these are others.
    pub advertise_peers: Option<String>,
    /// Attempts at once.
    pub slots: usize,
    /// Public keys of the clusters whose requests are served; empty: any.
    pub identity_keys: Vec<String>,
}

/// Where a worker listens.
#[derive(Debug, Clone)]
pub struct Listening {
    /// The URL that the cluster is to know.
    pub url: String,
    /// Where other workers, and whoever asks for its health, reach it.
    pub peers: String,
}

/// A worker that listens.
pub struct Worker {
    process: Arc<Process>,
    endpoint: HyperEndpoint,
    listener: TcpListener,
    listening: Listening,
    _peers: AbortOnDropHandle<()>,
}

impl Worker {
    /// Opens the ports. The second value says what a person should know, as it happens.
    pub async fn open(
        address: Address,
        options: WorkerOptions,
        performers: Arc<dyn Performers>,
    ) -> Result<(Worker, UnboundedReceiver<String>), ClusterError> {
        let ingress = Ingress::new(address)?;
        let bind = |at: SocketAddr| {
            listen(at).map_err(|error| ClusterError::Io(format!("cannot listen on {at}"), error))
        };
        let (listener, peers_listener) = (bind(options.listen)?, bind(options.peers)?);
        let local = |listener: &TcpListener| {
            listener.local_addr().map_err(|error| ClusterError::Io("no address".to_owned(), error))
        };
        let url = options.advertise.unwrap_or(format!("http://{}", local(&listener)?));
        let peers = options.advertise_peers.unwrap_or(local(&peers_listener)?.to_string());
        let (remarks, said) = unbounded_channel();
        let jobs = Jobs::new(peers.clone());
        let process = Process::new(random_name(), ingress, (jobs, options.slots), performers, remarks);
        let process = Arc::new(process);
        let serving = peers::serve(peers_listener, process.clone());
        let mut endpoint = Endpoint::builder()
            .bind(Run(process.clone()))
            .bind(Attempt(process.clone()))
            .bind(Question)
            .bind(Value)
            .bind(Directory);
        for key in &options.identity_keys {
            endpoint = endpoint.identity_key(key).map_err(|_| ClusterError::Key(key.clone()))?;
        }
        let worker = Worker {
            process,
            endpoint: HyperEndpoint::new(endpoint.build()),
            listener,
            listening: Listening { url, peers },
            _peers: AbortOnDropHandle::new(tokio::spawn(serving)),
        };
        Ok((worker, said))
    }

    /// Where it listens.
    pub fn listening(&self) -> &Listening {
        &self.listening
    }

    /// Serves until `leave`, then until its attempts have ended; not beyond `at_once`.
    pub async fn serve(self, leave: CancellationToken, at_once: CancellationToken) {
        let closing = CancellationToken::new();
        let ended = {
            let (process, leave, at_once) = (self.process.clone(), leave.clone(), at_once.clone());
            async move {
                leave.cancelled().await;
                process.slots.close();
                tokio::select! {
                    () = process.jobs.all_ended() => tokio::time::sleep(LINGER).await,
                    () = at_once.cancelled() => process.jobs.stop_all(),
                }
            }
        };
        tokio::pin!(ended);
        loop {
            let stream = tokio::select! {
                () = &mut ended => break,
                accepted = self.listener.accept() => accepted,
            };
            let Ok((stream, _)) = stream else {
                tokio::time::sleep(Duration::from_millis(20)).await;
                continue;
            };
            stream.set_nodelay(true).ok();
            let (endpoint, closing) = (self.endpoint.clone(), closing.clone());
            tokio::spawn(async move {
                let mut builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                builder.max_concurrent_streams(MOST_STREAMS);
                let connection = builder.serve_connection(TokioIo::new(stream), endpoint);
                tokio::pin!(connection);
                tokio::select! {
                    _ = &mut connection => return,
                    () = closing.cancelled() => connection.as_mut().graceful_shutdown(),
                }
                tokio::time::timeout(CLOSE_GRACE, connection).await.ok();
            });
        }
        drop(self.listener);
        closing.cancel();
        self.process.close().await;
    }

    /// Has the cluster know this worker. A worker that it knows already is none the worse for it.
    pub fn register(&self, force: bool) -> impl Future<Output = Result<(), ClusterError>> + use<> {
        let (ingress, uri) = (self.process.ingress.clone(), self.listening.url.clone());
        async move {
            let body = json!({ "uri": uri, "force": force });
            ingress.administer(Method::POST, "deployments", &body, REGISTER).await.map(drop)
        }
    }

    /// How many attempts go on here.
    pub fn attempts(&self) -> impl Fn() -> usize + use<> {
        let process = self.process.clone();
        move || process.jobs.count()
    }
}

/// A port that several workers of one machine may share.
fn listen(at: SocketAddr) -> io::Result<TcpListener> {
    let socket = if at.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    if at.port() != 0 {
        socket.set_reuseport(true)?;
    }
    socket.bind(at)?;
    socket.listen(1_024)
}

/// A name that no other process has; later processes have later names.
pub fn random_name() -> String {
    let chance = std::collections::hash_map::RandomState::new().build_hasher().finish();
    format!("{:016x}{chance:016x}", now().0)
}
