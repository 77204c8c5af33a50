//! Servers that are reached over streamable HTTP: the same calls, headers, and what happens when one goes away.

#[path = "support/server.rs"]
mod server;
mod support;

use convoke_model::{Class, JsonText, Server, Servers, Transport};
use convoke_tools::Limits;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::json;
use server::TestServer;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use support::{call, find, mcp, mcp_with, named, patient, said};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

/// A server in this process; dropped, it and its connections are gone.
struct Host {
    address: SocketAddr,
    _task: AbortOnDropHandle<()>,
}

impl Host {
    async fn start() -> Host {
        let config = StreamableHttpServerConfig::default();
        let sessions = Arc::new(LocalSessionManager::default());
        let service = StreamableHttpService::new(|| Ok(TestServer::default()), sessions, config);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let task = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let service = TowerToHyperService::new(service.clone());
                connections.spawn(async move {
                    let _ = Builder::new(TokioExecutor::new())
                        .serve_connection(TokioIo::new(stream), service)
                        .await;
                });
            }
        });
        Host { address, _task: AbortOnDropHandle::new(task) }
    }

    fn servers(&self) -> Servers {
        named("h", at(self.address, &[]))
    }
}

fn at(address: SocketAddr, headers: &[(&str, &str)]) -> Server {
    let headers = headers.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    let transport = Transport::Http { url: format!("http://{address}/mcp"), headers };
    Server { transport, timeout: None, tools: None }
}

#[tokio::test]
async fn tools_are_listed_and_called() {
    let host = Host::start().await;
    let (mcp, servers) = (mcp(), host.servers());
    assert_eq!(mcp.list(&servers).await.unwrap().len(), 11);
    assert_eq!(said(&mcp, &servers, "echo", json!({"text": "over there"})).await, "over there");
    let sum = call(&mcp, &servers, "add", json!({"a": 2, "b": 3})).await.unwrap();
    assert_eq!(sum.structured.unwrap().value(), json!({"sum": 5.0}));
    assert!(call(&mcp, &servers, "add", json!({})).await.unwrap().failed);
    assert_eq!(said(&mcp, &servers, "big", json!({"bytes": 2 << 20})).await.len(), 2 << 20);
    mcp.close().await;
}

/// Passes everything on to a server, and keeps what clients said.
async fn overheard(server: SocketAddr) -> (SocketAddr, Arc<std::sync::Mutex<Vec<u8>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let heard = Arc::new(std::sync::Mutex::new(Vec::new()));
    let keeps = heard.clone();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let keeps = keeps.clone();
            tokio::spawn(async move {
                let server = tokio::net::TcpStream::connect(server).await.unwrap();
                let ((mut said, mut told), (mut from, mut to)) = (client.into_split(), server.into_split());
                let back = tokio::spawn(async move { tokio::io::copy(&mut from, &mut told).await });
                let mut piece = vec![0; 8192];
                while let Ok(count @ 1..) = said.read(&mut piece).await {
                    keeps.lock().unwrap().extend_from_slice(&piece[..count]);
                    to.write_all(&piece[..count]).await.unwrap();
                }
                back.abort();
            });
        }
    });
    (address, heard)
}

#[tokio::test]
async fn a_call_carries_its_key_as_a_header_too() {
    let host = Host::start().await;
    let (address, heard) = overheard(host.address).await;
    let (mcp, servers) = (mcp(), named("h", at(address, &[])));
    let tool = find(&mcp, &servers, "echo").await;
    let arguments = JsonText::of(&json!({"text": "x"}));
    mcp.call(&servers, &tool, &arguments, "key-4711", CancellationToken::new()).await.unwrap();
    let heard = String::from_utf8_lossy(&heard.lock().unwrap()).to_lowercase();
    assert_eq!(heard.matches("idempotency-key: key-4711\r\n").count(), 1, "{heard}");
    assert_eq!(heard.matches("\"convoke/idempotency-key\":\"key-4711\"").count(), 1, "{heard}");
}

#[tokio::test]
async fn a_cancelled_call_ends_at_once_and_the_server_is_told() {
    let host = Host::start().await;
    let (mcp, servers) = (mcp(), host.servers());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let arguments = JsonText::of(&json!({"port": listener.local_addr().unwrap().port()}));
    let tool = find(&mcp, &servers, "wait").await;
    let cancel = CancellationToken::new();
    let watched = async {
        let (witness, _) = listener.accept().await.unwrap();
        let mut lines = BufReader::new(witness).lines();
        assert_eq!(lines.next_line().await.unwrap().unwrap(), "begun");
        cancel.cancel();
        (Instant::now(), lines)
    };
    let called = async {
        let failure = mcp.call(&servers, &tool, &arguments, "k", cancel.clone()).await.unwrap_err();
        (failure, Instant::now())
    };
    let ((failure, ended), (cancelled, mut lines)) = tokio::join!(called, watched);
    assert_eq!(failure.class, Class::Cancelled);
    // A call that is not cancelled ends by its limit of a minute.
    assert!(ended - cancelled < Duration::from_secs(30), "{:?}", ended - cancelled);
    assert_eq!(lines.next_line().await.unwrap().unwrap(), "cancelled");
}

#[tokio::test]
async fn a_service_that_goes_away_is_a_fault_that_may_pass() {
    let host = Host::start().await;
    let servers = host.servers();
    let mcp = mcp();
    let tool = find(&mcp, &servers, "echo").await;
    drop(host);
    let arguments = JsonText::of(&json!({"text": "x"}));
    let failure = mcp.call(&servers, &tool, &arguments, "k", CancellationToken::new()).await.unwrap_err();
    assert_eq!(failure.class, Class::Transient, "{failure}");
    assert!(failure.message.contains("server `h` (http://"), "{failure}");
}

/// Answers every request with the same, and gives the requests.
async fn answering(status: &'static str) -> (SocketAddr, tokio::sync::mpsc::UnboundedReceiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (heard, requests) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = vec![0; 8192];
            let length = stream.read(&mut request).await.unwrap_or(0);
            let _ = heard.send(String::from_utf8_lossy(&request[..length]).into_owned());
            let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    (address, requests)
}

#[tokio::test]
async fn headers_are_sent_with_their_references_resolved_and_a_closed_door_is_told() {
    let challenge = "401 Unauthorized\r\nwww-authenticate: Bearer";
    let (address, mut requests) = answering(challenge).await;
    let mcp = mcp_with(&[], &[("CANARY", "canary-1234")], patient());
    let servers = named("h", at(address, &[("Authorization", "Bearer ${CANARY}"), ("X-Team", "blue")]));
    let failure = mcp.list(&servers).await.unwrap_err();
    assert_eq!((failure.class, failure.reason.as_deref()), (Class::Permission, Some("no_credentials")));
    assert!(!format!("{failure:?}").contains("canary"), "{failure}");
    let request = requests.recv().await.unwrap().to_lowercase();
    assert!(request.contains("authorization: bearer canary-1234\r\n"), "{request}");
    assert!(request.contains("x-team: blue\r\n"), "{request}");
    let unset = mcp.list(&named("h", at(address, &[("A", "${GONE}")]))).await.unwrap_err();
    assert!(unset.message.contains("variable `GONE`, which `A` refers to, is not set"), "{unset}");
}

#[tokio::test]
async fn an_address_without_a_server_says_so() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let nobody = listener.local_addr().unwrap();
    drop(listener);
    let failure = mcp().list(&named("h", at(nobody, &[]))).await.unwrap_err();
    assert_eq!((failure.class, failure.reason.as_deref()), (Class::Transient, Some("server_unavailable")));
    assert!(failure.message.contains("refused") && failure.hint.is_some(), "{failure}");
    let (address, _requests) = answering("404 Not Found").await;
    let failure = mcp().list(&named("h", at(address, &[]))).await.unwrap_err();
    assert_eq!(failure.reason.as_deref(), Some("server_unavailable"), "{failure}");
}

#[tokio::test]
async fn one_that_never_answers_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let limits = Limits { start: Duration::from_millis(300), ..patient() };
    let mcp = mcp_with(&[], &[], limits);
    let failure = mcp.list(&named("h", at(listener.local_addr().unwrap(), &[]))).await.unwrap_err();
    assert!(failure.message.ends_with("it was not ready within 0.3 s"), "{failure}");
}
