//! A model service on the loopback: answers what it is told to, and remembers each request and its time.
//!
//! Steps are told apart by the model they name. Replies are taken in order and the last one repeats; they are written
//! as for the `scripted` provider: text, an object, or `{say, call, json, delay_ms, status, retry_after, message, drop, tokens}`;
//! `tokens` is what the service counts of a request: a number, or `bytes`, one for each byte of its texts.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::time::Timespec;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// The service. Its threads end with the test program.
pub struct Model {
    address: SocketAddr,
    memory: Arc<Mutex<Memory>>,
}

/// One request.
#[derive(Debug, Clone)]
pub struct Request {
    /// The model it named.
    pub model: String,
    /// All messages, roles and texts.
    pub text: String,
    /// The header with its key.
    pub authorization: String,
    /// When it came.
    pub begin: Instant,
    /// When it was answered or given up.
    pub end: Option<Instant>,
    /// Whether the client hung up before the answer.
    pub cut_off: bool,
}

/// Makes up a reply to a request.
type MakeUp = dyn FnMut(&Value) -> Value + Send;

#[derive(Default)]
struct Memory {
    replies: HashMap<String, Vec<Value>>,
    used: HashMap<String, usize>,
    /// Takes the place of the lists.
    made_up: Option<Box<MakeUp>>,
    asked: Vec<Request>,
    at_once: usize,
    most_at_once: usize,
    /// As many at once are answered, after so many milliseconds; the others are told to come back in a second.
    hidden: Option<(usize, u64)>,
    refused: usize,
    /// Replies that are held back may go.
    released: bool,
}

impl Model {
    /// Starts a service with a list of replies, or a single one, per model.
    pub fn start(replies: &Map<String, Value>) -> Model {
        let listener = TcpListener::bind("127.0.0.1:0").expect("the loopback has a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let list = |reply: &Value| reply.as_array().cloned().unwrap_or_else(|| vec![reply.clone()]);
        let replies = replies.iter().map(|(model, reply)| (model.clone(), list(reply))).collect();
        let memory = Arc::new(Mutex::new(Memory { replies, ..Memory::default() }));
        let shared = memory.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let shared = shared.clone();
                std::thread::spawn(move || serve(stream, &shared));
            }
        });
        Model { address, memory }
    }

    /// Starts a service that makes up its replies from the requests: text, or `{call: {name, arguments}}`,
    /// or a list of calls.
    pub fn answering(reply: impl FnMut(&Value) -> Value + Send + 'static) -> Model {
        let model = Model::start(&Map::new());
        lock(&model.memory).made_up = Some(Box::new(reply));
        model
    }

    /// Starts a service that answers so many at once, each after so long, and says so only by refusing more.
    pub fn with_hidden_limit(limit: usize, delay_ms: u64) -> Model {
        let model = Model::start(&Map::new());
        lock(&model.memory).hidden = Some((limit, delay_ms));
        model
    }

    /// How many were refused so far.
    pub fn refused(&self) -> usize {
        lock(&self.memory).refused
    }

    /// Where it is.
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Every request so far.
    pub fn asked(&self) -> Vec<Request> {
        lock(&self.memory).asked.clone()
    }

    /// Lets replies with `hold` go.
    pub fn release(&self) {
        lock(&self.memory).released = true;
    }

    /// The most requests that were open at once.
    pub fn most_at_once(&self) -> usize {
        lock(&self.memory).most_at_once
    }
}

fn lock(memory: &Mutex<Memory>) -> MutexGuard<'_, Memory> {
    memory.lock().expect("a panic poisoned this lock")
}

/// Serves one connection until the client closes it.
fn serve(stream: TcpStream, memory: &Mutex<Memory>) {
    let Ok(copy) = stream.try_clone() else { return };
    let mut reader = BufReader::new(copy);
    while let Some((authorization, body)) = read_request(&mut reader) {
        if !answer(&stream, authorization, &body, memory) {
            return;
        }
    }
}

fn read_request(reader: &mut BufReader<TcpStream>) -> Option<(String, Value)> {
    let (mut length, mut authorization) = (0, String::new());
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line.to_ascii_lowercase().starts_with("authorization:") {
            authorization = line["authorization:".len()..].trim().to_owned();
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((authorization, serde_json::from_slice(&body).ok()?))
}

/// Answers one request; false when the connection is done for.
fn answer(stream: &TcpStream, authorization: String, body: &Value, memory: &Mutex<Memory>) -> bool {
    let (index, reply) = lock(memory).enter(authorization, body);
    let delay = reply["delay_ms"].as_u64().unwrap_or(0);
    let waited = wait_unless_closed(stream, Duration::from_millis(delay))
        && until_unless_closed(stream, || lock(memory).is_due(&reply));
    let dropped = reply["drop"] == json!(true);
    lock(memory).leave(index, !waited);
    waited && !dropped && write_reply(stream, body, &reply).is_ok()
}

impl Memory {
    /// Whether what a reply waits for has come: so many requests open `at_once`, or `asked` in all, at any time so far, or the
    /// test's word (`hold`). No clock decides.
    fn is_due(&self, reply: &Value) -> bool {
        let reached =
            |key: &str, so_far: usize| reply[key].as_u64().is_none_or(|least| so_far as u64 >= least);
        let may_go = reply["hold"] != json!(true) || self.released;
        reached("at_once", self.most_at_once) && reached("asked", self.asked.len()) && may_go
    }

    fn enter(&mut self, authorization: String, body: &Value) -> (usize, Value) {
        let model = body["model"].as_str().unwrap_or_default().to_owned();
        let texts = body["messages"].as_array().into_iter().flatten();
        let texts =
            texts.map(|message| format!("{}: {}\n", message["role"].as_str().unwrap_or(""), text(message)));
        let asked = Request {
            text: texts.collect(),
            model: model.clone(),
            authorization,
            begin: Instant::now(),
            end: None,
            cut_off: false,
        };
        self.asked.push(asked);
        self.at_once += 1;
        self.most_at_once = self.most_at_once.max(self.at_once);
        let reply = match (&mut self.made_up, self.hidden) {
            (Some(make_up), _) => normal(make_up(body)),
            (None, Some((limit, delay))) => self.with_limit(limit, delay),
            (None, None) => self.next_reply(model),
        };
        (self.asked.len() - 1, reply)
    }

    fn with_limit(&mut self, limit: usize, delay: u64) -> Value {
        if self.at_once <= limit {
            return json!({"say": "well", "delay_ms": delay});
        }
        self.refused += 1;
        json!({"status": 429, "retry_after": 1})
    }

    fn next_reply(&mut self, model: String) -> Value {
        let Some(replies) = self.replies.get(&model).filter(|replies| !replies.is_empty()) else {
            return json!({"status": 400, "message": format!("no reply for model {model}")});
        };
        let used = self.used.entry(model).or_default();
        let reply = replies[(*used).min(replies.len() - 1)].clone();
        *used += 1;
        normal(reply)
    }

    fn leave(&mut self, index: usize, cut_off: bool) {
        self.at_once -= 1;
        self.asked[index].end = Some(Instant::now());
        self.asked[index].cut_off = cut_off;
    }
}

fn text(message: &Value) -> &str {
    message["content"].as_str().unwrap_or_default()
}

/// The bytes of all texts of a request.
pub fn bytes_of(body: &Value) -> u64 {
    body["messages"].as_array().into_iter().flatten().map(|message| text(message).len() as u64).sum()
}

/// One spelling for all replies: an object with `say`, or with what goes wrong.
fn normal(reply: Value) -> Value {
    const CONTROL: [&str; 9] =
        ["say", "call", "json", "drop", "delay_ms", "retry_after", "at_once", "asked", "hold"];
    match reply {
        Value::Object(mut object)
            if CONTROL.iter().any(|key| object.contains_key(*key))
                || object.get("status").is_some_and(Value::is_u64) =>
        {
            if let Some(value) = object.remove("json") {
                object.insert("say".into(), Value::String(value.to_string()));
            }
            Value::Object(object)
        }
        Value::String(text) => json!({"say": text}),
        other => json!({"say": other.to_string()}),
    }
}

/// False if the client hung up meanwhile.
fn wait_unless_closed(stream: &TcpStream, time: Duration) -> bool {
    let end = Instant::now() + time;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).expect("a time that is short enough");
        match poll(&mut [PollFd::new(stream, PollFlags::RDHUP)], Some(&left)) {
            Ok(0) => return true,
            Err(Errno::INTR) => {}
            _ => return false,
        }
    }
}

/// Waits until it is so; false if the client hung up meanwhile, or nothing came of it.
fn until_unless_closed(stream: &TcpStream, mut is_so: impl FnMut() -> bool) -> bool {
    let begin = Instant::now();
    while !is_so() {
        if begin.elapsed() > super::process::PATIENCE || !wait_unless_closed(stream, Duration::from_millis(2))
        {
            return false;
        }
    }
    true
}

fn write_reply(stream: &TcpStream, body: &Value, reply: &Value) -> std::io::Result<()> {
    if let Some(status) = reply["status"].as_u64().filter(|status| *status != 200) {
        let message = reply["message"].as_str().unwrap_or("told to fail");
        let after = reply["retry_after"].as_f64().map(|seconds| format!("retry-after: {seconds}\r\n"));
        let body = json!({"error": {"message": message, "type": "told"}}).to_string();
        return write(stream, status, "application/json", &after.unwrap_or_default(), &body);
    }
    let say = reply["say"].as_str().unwrap_or_default();
    let sent = match &reply["tokens"] {
        Value::String(_) => bytes_of(body),
        tokens => tokens.as_u64().unwrap_or(10),
    };
    let usage = json!({"prompt_tokens": sent, "completion_tokens": 5, "total_tokens": sent + 5});
    if body["stream"] == json!(true) {
        let delta = match &reply["call"] {
            Value::Null => json!({ "content": say }),
            Value::Array(calls) => {
                json!({ "tool_calls": calls.iter().enumerate().map(called).collect::<Vec<_>>() })
            }
            call => json!({ "tool_calls": [called((0, call))] }),
        };
        let finish = if reply["call"].is_null() { "stop" } else { "tool_calls" };
        let chunk = json!({"model": body["model"], "choices": [{"index": 0, "delta": delta}]});
        let last = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}], "usage": usage});
        let events = format!("data: {chunk}\n\ndata: {last}\n\ndata: [DONE]\n\n");
        return write(stream, 200, "text/event-stream", "", &events);
    }
    let message = json!({"role": "assistant", "content": say});
    let choice = json!({"index": 0, "message": message, "finish_reason": "stop"});
    let whole = json!({"model": body["model"], "choices": [choice], "usage": usage});
    write(stream, 200, "application/json", "", &whole.to_string())
}

/// A call as the protocol has it; the id is the name with the arguments, which a test never repeats at once.
fn called((index, call): (usize, &Value)) -> Value {
    let arguments = call["arguments"].to_string();
    let id = format!("{}-{}", call["name"].as_str().unwrap_or_default(), arguments);
    json!({"index": index, "id": id, "type": "function", "function": {"name": call["name"], "arguments": arguments}})
}

fn write(mut stream: &TcpStream, status: u64, kind: &str, headers: &str, body: &str) -> std::io::Result<()> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} told\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n{headers}\r\n"
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())?;
    stream.flush()
}
