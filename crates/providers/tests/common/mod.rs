//! What the tests of providers share: a way to ask, and a server that does exactly what it is told.
#![allow(dead_code, missing_docs, clippy::unwrap_used)]

use convoke_agent::{
    Answered, Message, NoReply, Provider, Providers, Purpose, Reply, Report, Request, Role, Sink, Timeouts,
    ToolSpec,
};
use convoke_model::{Contract, Failure, OutputSchema, ProviderSettings, TaskId};
use convoke_providers::{Options, Registry};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

pub const KEY: &str = "sk-very-secret";

/// Everything that a request borrows.
pub struct Asked {
    pub messages: Vec<Message>,
    pub schema: Option<OutputSchema>,
    pub tools: Vec<ToolSpec>,
    pub reasoning_effort: Option<&'static str>,
    pub timeouts: Timeouts,
    pub max_tokens: Option<u64>,
    pub task: TaskId,
    pub answered: Option<Answered>,
    pub working_dir: Option<String>,
    pub contract: Option<Contract>,
}

impl Default for Asked {
    fn default() -> Asked {
        Asked {
            messages: vec![Message::new(Role::System, "Be brief."), Message::new(Role::User, "How many?")],
            schema: None,
            tools: Vec::new(),
            reasoning_effort: None,
            timeouts: Timeouts::within(Duration::from_secs(30)),
            max_tokens: None,
            task: TaskId("counter".into()),
            answered: None,
            working_dir: None,
            contract: None,
        }
    }
}

impl Asked {
    pub fn request(&self) -> Request<'_> {
        Request {
            model: "m-1",
            meant: "m-1",
            messages: &self.messages,
            schema: self.schema.as_ref(),
            native_schema: true,
            tools: &self.tools,
            temperature: Some(0.5),
            max_tokens: self.max_tokens,
            reasoning_effort: self.reasoning_effort,
            left_out: &[],
            timeouts: self.timeouts,
            answered: self.answered.as_ref(),
            working_dir: self.working_dir.as_deref(),
            contract: self.contract.as_ref(),
            secrets: &[],
            mask: None,
            trace: None,
            step: "counter",
            purpose: Purpose::Answer,
            task: &self.task,
            attempt: 1,
            cut_off: 0,
            call: 1,
            seed: 7,
        }
    }

    pub async fn of(&self, provider: &dyn Provider) -> Result<Reply, Failure> {
        provider.complete(&self.request(), &Heard::default()).await.map_err(NoReply::into_failure)
    }
}

/// Keeps all reports.
#[derive(Default)]
pub struct Heard(pub Mutex<Vec<Report>>);

impl Sink for Heard {
    fn report(&self, report: Report) {
        self.0.lock().unwrap().push(report);
    }
}

impl Heard {
    pub fn text(&self) -> String {
        let reports = self.0.lock().unwrap();
        let pieces = reports.iter().filter_map(|report| match report {
            Report::Progress { text } => Some(text.as_str()),
            _ => None,
        });
        pieces.collect()
    }
}

/// Of an attempt whose process was away for longer than its lease lasts.
pub struct Away;

impl Sink for Away {
    fn report(&self, _: Report) {}

    fn starts_until(&self) -> Option<std::time::Instant> {
        std::time::Instant::now().checked_sub(Duration::from_millis(1))
    }
}

/// Passes reports on as they come.
pub struct Passing(pub tokio::sync::mpsc::UnboundedSender<Report>);

impl Sink for Passing {
    fn report(&self, report: Report) {
        let _ = self.0.send(report);
    }
}

/// Asks, drops the request at the first text, which is a process id, and gives the ids of the program and of that.
pub async fn cut_off(provider: &dyn Provider, asked: &Asked) -> [u32; 2] {
    let (reports, mut told) = tokio::sync::mpsc::unbounded_channel();
    let (sink, request) = (Passing(reports), asked.request());
    let both = async {
        let mut program = 0;
        loop {
            match told.recv().await.unwrap() {
                Report::ProcessStarted { pid, .. } => program = pid,
                Report::Progress { text } => return [program, text.parse().unwrap()],
                _ => {}
            }
        }
    };
    tokio::select! {
        ended = provider.complete(&request, &sink) => panic!("{ended:?}"),
        both = both => both,
    }
}

/// Whether a process has ended, or ends in this time.
pub async fn is_gone(pid: u32, within: Duration) -> bool {
    let pid = Pid::from_raw(pid as i32).unwrap();
    let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else { return true };
    // SAFETY: the descriptor lives as long as the `AsyncFd` that owns it.
    let ended = unsafe { AsyncFd::register(process) }.unwrap();
    tokio::time::timeout(within, ended.readable()).await.is_ok()
}

/// The provider for a service at this address.
pub fn openai(base_url: &str) -> Arc<dyn Provider> {
    openai_with_key(base_url, KEY)
}

/// The provider for a service at this address, with a key.
pub fn openai_with_key(base_url: &str, key: &'static str) -> Arc<dyn Provider> {
    provider("openai", base_url, key)
}

/// A provider by its name, for a service at this address, with a key.
pub fn provider(name: &str, base_url: &str, key: &'static str) -> Arc<dyn Provider> {
    let settings = ProviderSettings {
        name: name.into(),
        base_url: Some(base_url.into()),
        api_key: Some("${MOCK_KEY}".into()),
        headers: vec![("X-Team".into(), "${TEAM:-blue}".into())],
        ..ProviderSettings::default()
    };
    let lookup = Arc::new(|name: &str| (name == "MOCK_KEY").then(|| key.to_owned()));
    Registry::new(Options::default(), lookup).get(&settings).unwrap()
}

/// One thing that the server does after a request.
pub enum Act {
    /// Send this text.
    Send(String),
    /// Send these bytes.
    Raw(Vec<u8>),
    /// Close the connection.
    Close,
    /// Do nothing until the client has closed the connection.
    Hold,
}

/// A server that answers the n-th request with the n-th list of acts.
pub struct Server {
    pub url: String,
    pub requests: Arc<Mutex<Vec<(String, Value)>>>,
    pub connections: Arc<AtomicUsize>,
    /// Fires when a client hangs up on a `Hold`.
    pub hung_up: Arc<Notify>,
}

type Answers = Arc<Mutex<VecDeque<Vec<Act>>>>;

impl Server {
    pub async fn start(answers: Vec<Vec<Act>>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1//", listener.local_addr().unwrap());
        let server =
            Server { url, requests: Arc::default(), connections: Arc::default(), hung_up: Arc::default() };
        let answers: Answers = Arc::new(Mutex::new(answers.into()));
        let (requests, connections) = (server.requests.clone(), server.connections.clone());
        let hung_up = server.hung_up.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                connections.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(serve(stream, answers.clone(), requests.clone(), hung_up.clone()));
            }
        });
        server
    }

    pub fn bodies(&self) -> Vec<Value> {
        self.requests.lock().unwrap().iter().map(|(_, body)| body.clone()).collect()
    }
}

async fn serve(
    mut stream: TcpStream,
    answers: Answers,
    requests: Arc<Mutex<Vec<(String, Value)>>>,
    hung_up: Arc<Notify>,
) {
    while let Some(request) = read_request(&mut stream).await {
        requests.lock().unwrap().push(request);
        let acts = answers.lock().unwrap().pop_front().expect("one request more than expected");
        for act in acts {
            match act {
                // A client that has hung up is noticed where that is waited for.
                Act::Send(text) => drop(stream.write_all(text.as_bytes()).await),
                Act::Raw(bytes) => drop(stream.write_all(&bytes).await),
                Act::Close => return,
                Act::Hold => {
                    while !matches!(stream.read(&mut [0; 64]).await, Ok(0) | Err(_)) {}
                    hung_up.notify_one();
                    return;
                }
            }
        }
    }
}

async fn read_request(stream: &mut TcpStream) -> Option<(String, Value)> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..head_end].to_vec()).unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
    // A request that asks for a document has no body.
    let Some(length) = length else { return Some((head, Value::Null)) };
    while bytes.len() < head_end + length {
        stream.read_buf(&mut bytes).await.ok()?;
    }
    Some((head, serde_json::from_slice(&bytes[head_end..]).unwrap()))
}

/// The head of a streamed answer of unknown length.
pub fn stream_head() -> Act {
    Act::Send(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n".into(),
    )
}

/// One piece of a chunked body.
pub fn chunk(text: &str) -> Act {
    Act::Send(format!("{:x}\r\n{text}\r\n", text.len()))
}

/// The end of a chunked body.
pub fn end() -> Act {
    Act::Send("0\r\n\r\n".into())
}

/// An event with this data.
pub fn event(data: &Value) -> String {
    format!("data: {data}\n\n")
}

/// An event with the next words of an answer.
pub fn words(text: &str) -> String {
    event(
        &json!({"model": "m-1-2026", "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": null}]}),
    )
}

/// An event that says why the answer stops.
pub fn finish(reason: &str) -> String {
    event(&json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}))
}

/// A whole streamed answer.
pub fn answer(text: &str) -> Vec<Act> {
    vec![stream_head(), chunk(&words(text)), chunk(&finish("stop")), chunk("data: [DONE]\n\n"), end()]
}

/// A whole answer of another kind.
pub fn plain(status: &str, headers: &str, body: &Value) -> Vec<Act> {
    let body = body.to_string();
    let length = body.len();
    vec![Act::Send(format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\n{headers}content-length: {length}\r\n\r\n{body}"
    ))]
}
