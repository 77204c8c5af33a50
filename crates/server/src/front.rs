//! Accepts connections, bounds them, and hands each request to the guard and then to its handler.

use crate::access::{Connection, Guard, Tokens, harden};
use crate::api::{self, App, BASE, Streams};
use crate::error::{ApiError, ServeError};
use crate::escaping::escaped;
use crate::following::{Hub, waiting};
use crate::host::Host;
use crate::page;
use crate::settings::{Settings, Tls};
use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response, StatusCode, header};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use std::collections::HashMap;
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tower::ServiceExt;

/// Connections at one time. A stream of events is one; each takes a descriptor and some kilobytes.
const MOST_CONNECTIONS: usize = 4_096;

/// Connections of one address at one time; a proxy stands for many people.
const MOST_OF_ONE: usize = 2_048;

/// The head of a request must be there by then, and so must a handshake.
const HEAD_PATIENCE: Duration = Duration::from_secs(10);

/// The longest head of a request.
const MOST_HEAD: usize = 64 << 10;

/// Between two tries to accept, where the machine has no descriptor left.
const BREATH: Duration = Duration::from_millis(200);

/// A server that listens.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    acceptor: Option<TlsAcceptor>,
    front: Arc<Front>,
}

struct Front {
    guard: Guard,
    routes: Router,
    connections: Mutex<HashMap<IpAddr, usize>>,
    app: Arc<App>,
}

impl Server {
    /// Listens, and serves nothing yet.
    pub async fn bind(settings: Settings, tokens: Tokens, host: Arc<dyn Host>) -> Result<Server, ServeError> {
        let address = settings.address;
        let is_secure = settings.tls.is_some() || settings.behind_proxy;
        if !address.ip().is_loopback() && !is_secure {
            return Err(ServeError::Exposed { address });
        }
        if settings.behind_proxy && settings.names.is_empty() {
            return Err(ServeError::Nameless);
        }
        let acceptor = settings.tls.as_ref().map(acceptor).transpose()?;
        let refused = |source| ServeError::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let hub = Hub::new(settings.state.clone(), host).map_err(refused)?;
        let tokens = Arc::new(tokens);
        let guard = api::guard(&settings, tokens.clone(), address);
        let app =
            Arc::new(App { hub, settings, streams: Streams::default(), starts: Default::default(), tokens });
        let front = Front { guard, routes: routes(&app), connections: Mutex::default(), app };
        Ok(Server { listener, address, acceptor, front: Arc::new(front) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many clients are connected to a stream of what happens.
    pub fn watchers(&self) -> impl Fn() -> usize + Send + Sync + use<> {
        let front = self.front.clone();
        move || front.app.streams.count()
    }

    /// Serves until it is dropped. Connections end with it.
    pub async fn serve(self) {
        let mut connections = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                Some(_) = connections.join_next() => continue,
            };
            match accepted {
                Ok((stream, peer)) => self.take(&mut connections, stream, peer),
                // No descriptor is left, or the other end has gone already.
                Err(_) => tokio::time::sleep(BREATH).await,
            }
        }
    }

    fn take(&self, connections: &mut JoinSet<()>, stream: TcpStream, peer: SocketAddr) {
        // Without a place the connection is closed: an answer would be work, too.
        let Some(place) = Place::take(&self.front, peer.ip()) else { return };
        stream.set_nodelay(true).ok();
        let (front, acceptor, local) = (self.front.clone(), self.acceptor.clone(), stream.local_addr());
        let Ok(local) = local else { return };
        let connection = Arc::new(Connection::new(peer, local));
        connections.spawn(async move {
            match acceptor {
                None => talk(front, stream, connection).await,
                Some(acceptor) => {
                    if let Ok(Ok(stream)) = tokio::time::timeout(HEAD_PATIENCE, acceptor.accept(stream)).await
                    {
                        talk(front, stream, connection).await;
                    }
                }
            }
            drop(place);
        });
    }
}

/// A connection's place among all.
struct Place {
    front: Arc<Front>,
    ip: IpAddr,
}

impl Place {
    fn take(front: &Arc<Front>, ip: IpAddr) -> Option<Place> {
        let mut taken = front.connections.lock().unwrap_or_else(PoisonError::into_inner);
        let all: usize = taken.values().sum();
        let own = taken.entry(ip).or_default();
        if all >= MOST_CONNECTIONS || *own >= MOST_OF_ONE {
            return None;
        }
        *own += 1;
        Some(Place { front: front.clone(), ip })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.front.connections.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = taken.get_mut(&self.ip) {
            *own -= 1;
            if *own == 0 {
                taken.remove(&self.ip);
            }
        }
    }
}

/// Answers the requests of one connection, one after the other. A connection that breaks off is no error.
async fn talk(
    front: Arc<Front>,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    connection: Arc<Connection>,
) {
    let service = service_fn(move |request: Request<Incoming>| {
        let (front, connection) = (front.clone(), connection.clone());
        async move { Ok::<_, Infallible>(front.answer(request.map(Body::new), &connection).await) }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(HEAD_PATIENCE)
        .max_buf_size(MOST_HEAD)
        .half_close(false);
    http.serve_connection(TokioIo::new(stream), service).await.ok();
}

impl Front {
    async fn answer(&self, request: Request<Body>, connection: &Connection) -> Response<Body> {
        let mut response = match self.guard.admit(request, connection).await {
            Ok(request) => match self.routes.clone().oneshot(request).await {
                Ok(response) => response,
                Err(never) => match never {},
            },
            Err(refused) => refused,
        };
        harden(&mut response);
        escaped(response).await
    }
}

fn routes(app: &Arc<App>) -> Router {
    let metrics = app.settings.metrics.clone();
    let numbers = move || {
        let metrics = metrics.clone();
        async move {
            let Some(metrics) = metrics else {
                return Err(ApiError::not_found("this server has no numbers"));
            };
            let unable = |why| ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "state", why);
            let (kind, text) = waiting(move || metrics().map_err(unable)).await?;
            Ok(([(header::CONTENT_TYPE, kind)], text))
        }
    };
    Router::new()
        .nest(BASE, api::router(app.clone()))
        .route("/api", axum::routing::any(unknown))
        .route("/api/{*rest}", axum::routing::any(unknown))
        .route("/metrics", axum::routing::get(numbers))
        .fallback(axum::routing::get(page::file))
}

async fn unknown() -> ApiError {
    ApiError::not_found(format!("there is no such call; the API begins at {BASE}"))
}

fn acceptor(tls: &Tls) -> Result<TlsAcceptor, ServeError> {
    let bad = |why: String| ServeError::Certificate(why);
    let certificates: Result<Vec<CertificateDer<'static>>, _> =
        CertificateDer::pem_slice_iter(&tls.certificates).collect();
    let certificates = certificates.map_err(|error| bad(error.to_string()))?;
    let key = PrivateKeyDer::from_pem_slice(&tls.key).map_err(|error| bad(error.to_string()))?;
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = builder.map_err(|error| bad(error.to_string()))?;
    let config = config.with_no_client_auth().with_single_cert(certificates, key);
    let mut config = config.map_err(|error| bad(error.to_string()))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
