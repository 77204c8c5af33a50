//! A model service on loopback that answers after a while and counts: how many requests there were, and how many at once.
//!
//! It speaks just enough of the chat-completions protocol for a client to stream an answer. What a client claims about
//! its limits is judged by what arrives here, not by what the client says.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;

/// How the service behaves.
#[derive(Debug, Clone)]
pub struct ModelService {
    /// From the end of a request to its answer.
    pub latency: Duration,
    /// What it says.
    pub answer: String,
    /// Requests at once that it takes; what is more gets 429.
    pub most: Option<u64>,
    /// Of a thousand requests, so many get 429 however few there are at once.
    pub faults: u64,
}

impl Default for ModelService {
    fn default() -> ModelService {
        ModelService { latency: Duration::ZERO, answer: "fine".into(), most: None, faults: 0 }
    }
}

/// What the service has seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Seen {
    /// Requests.
    pub requests: u64,
    /// The most of them at once.
    pub peak: u64,
    /// Requests that were turned away.
    pub refused: u64,
}

#[derive(Default)]
struct Counts {
    requests: AtomicU64,
    open: AtomicU64,
    peak: AtomicU64,
    refused: AtomicU64,
}

/// A service that runs until it is dropped. Its connections end with it.
pub struct ModelServer {
    address: SocketAddr,
    counts: Arc<Counts>,
    _serving: AbortOnDropHandle<()>,
}

impl ModelServer {
    /// Starts it on a free port of loopback, as tasks of the runtime.
    pub async fn start(service: ModelService) -> io::Result<ModelServer> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let counts = Arc::new(Counts::default());
        let (service, seen) = (Arc::new(service), counts.clone());
        let serving = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                // A client that goes away in the middle of a request is no concern of ours.
                connections.spawn(attend(stream, service.clone(), seen.clone()));
                while connections.try_join_next().is_some() {}
            }
        });
        Ok(ModelServer { address, counts, _serving: AbortOnDropHandle::new(serving) })
    }

    /// The address that clients are given.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// What it has seen so far.
    pub fn seen(&self) -> Seen {
        let read = |count: &AtomicU64| count.load(Ordering::SeqCst);
        let Counts { requests, peak, refused, .. } = &*self.counts;
        Seen { requests: read(requests), peak: read(peak), refused: read(refused) }
    }
}

/// One connection: request after request.
async fn attend(stream: TcpStream, service: Arc<ModelService>, counts: Arc<Counts>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let (input, mut output) = stream.into_split();
    let mut input = BufReader::new(input);
    while read_request(&mut input).await? {
        let number = counts.requests.fetch_add(1, Ordering::SeqCst);
        let open = counts.open.fetch_add(1, Ordering::SeqCst) + 1;
        counts.peak.fetch_max(open, Ordering::SeqCst);
        let answered = answer(&mut output, &service, &counts, (number, open)).await;
        answered?;
    }
    Ok(())
}

/// The request is over for the count before its answer is on its way: a client may use the place at once.
async fn answer(
    output: &mut OwnedWriteHalf,
    service: &ModelService,
    counts: &Counts,
    (number, open): (u64, u64),
) -> io::Result<()> {
    if service.most.is_some_and(|most| open > most) || is_faulty(number, service.faults) {
        counts.refused.fetch_add(1, Ordering::SeqCst);
        counts.open.fetch_sub(1, Ordering::SeqCst);
        return output.write_all(TOO_MANY.as_bytes()).await;
    }
    tokio::time::sleep(service.latency).await;
    counts.open.fetch_sub(1, Ordering::SeqCst);
    output.write_all(streamed(&service.answer).as_bytes()).await
}

/// The same requests of every run, and no pattern among them.
fn is_faulty(number: u64, faults: u64) -> bool {
    crate::random::Random::new(number).below(1_000) < faults
}

const TOO_MANY: &str = "HTTP/1.1 429 Too Many Requests\r\nretry-after: 1\r\ncontent-type: application/json\r\n\
    content-length: 44\r\n\r\n{\"error\":{\"message\":\"slow down\",\"code\":429}}";

fn streamed(answer: &str) -> String {
    let text = serde_json::to_string(answer).expect("text is JSON");
    let events = format!(
        "data: {{\"model\":\"m\",\"choices\":[{{\"delta\":{{\"content\":{text}}},\"finish_reason\":\"stop\"}}],\
         \"usage\":{{\"prompt_tokens\":9,\"completion_tokens\":3}}}}\n\ndata: [DONE]\n\n"
    );
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n{events}",
        events.len()
    )
}

/// Reads one request to its end; false where the client has no more.
async fn read_request(input: &mut BufReader<OwnedReadHalf>) -> io::Result<bool> {
    let mut length = 0;
    let mut line = String::new();
    loop {
        line.clear();
        if input.read_line(&mut line).await? == 0 {
            return Ok(false);
        }
        let lower = line.trim_end().to_ascii_lowercase();
        match lower.strip_prefix("content-length:") {
            Some(number) => length = number.trim().parse().unwrap_or(0),
            None if lower.is_empty() => break,
            None => {}
        }
    }
    let mut body = vec![0; length];
    input.read_exact(&mut body).await?;
    Ok(true)
}
