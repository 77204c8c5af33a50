//! The counting provider: speaks just enough of chat completions, and knows nothing of its clients.
//!
//! A request counts from its first byte until its answer was wholly sent or its connection was closed, whichever comes
//! first. One thread does everything, and it hears of the sockets through an edge-triggered epoll, which tells what
//! happened in the order in which it happened: a connection that was closed before another one's request came is uncounted
//! before that is counted. Before an answer goes out, everything that has happened is counted.

use crate::support::random::Random;
use rustix::event::Timespec;
use rustix::event::epoll;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io::{ErrorKind, Read, Write};
use std::mem::MaybeUninit;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Microseconds since the Unix epoch, as journals have them; they do not go back.
#[derive(Debug, Clone, Copy)]
pub struct Watch {
    origin: Instant,
    wall: u64,
}

impl Watch {
    pub fn new() -> Watch {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_micros() as u64;
        Watch { origin: Instant::now(), wall }
    }

    pub fn now(&self) -> u64 {
        self.wall + self.origin.elapsed().as_micros() as u64
    }
}

/// Which task of which run asked: the lane, its round, the number of the item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prompt {
    pub lane: usize,
    pub round: usize,
    pub item: usize,
}

/// One request, from its first byte to its end.
#[derive(Debug, Clone, Copy)]
pub struct Request {
    /// Nothing, if the connection was closed before all of it had come.
    pub prompt: Option<Prompt>,
    pub begin: u64,
    pub end: u64,
    /// Whether it was answered; else its connection was closed.
    pub answered: bool,
}

/// What the provider has seen.
#[derive(Debug, Default, Clone)]
pub struct Seen {
    pub requests: Vec<Request>,
    pub peak: usize,
    /// When there were more than the limit, and how many.
    pub above: Vec<(u64, usize)>,
}

/// How it behaves.
#[derive(Debug, Clone, Copy)]
pub struct Manner {
    pub limit: usize,
    /// Milliseconds from a request to its answer, at least and at most.
    pub hold: (u64, u64),
    pub seed: u64,
    /// The first answer to a prompt is in no shape, so that each conversation has a second turn.
    pub turns: bool,
}

pub struct Provider {
    address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    seen: Mutex<Seen>,
    in_flight: AtomicUsize,
    closed: AtomicUsize,
    /// No answer goes out.
    silent: AtomicBool,
    over: AtomicBool,
}

impl Provider {
    pub fn start(watch: Watch, manner: Manner) -> Provider {
        let listener = TcpListener::bind("127.0.0.1:0").expect("the loopback has a free port");
        listener.set_nonblocking(true).expect("a socket of ours");
        let address = listener.local_addr().expect("a bound socket has an address");
        let shared = Arc::new(Shared::default());
        let server = Server::new(listener, watch, manner, shared.clone());
        let thread = std::thread::Builder::new().name("provider".into()).spawn(move || server.serve());
        Provider { address, shared, thread: Some(thread.expect("a thread")) }
    }

    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Requests that are in flight.
    pub fn in_flight(&self) -> usize {
        self.shared.in_flight.load(Ordering::SeqCst)
    }

    /// Requests whose connections were closed before their answers.
    pub fn closed(&self) -> usize {
        self.shared.closed.load(Ordering::SeqCst)
    }

    /// Holds all answers back, or no more.
    pub fn be_silent(&self, silent: bool) {
        self.shared.silent.store(silent, Ordering::SeqCst);
    }

    /// Ends it; what it has seen.
    pub fn end(mut self) -> Seen {
        self.stop();
        std::mem::take(&mut *self.shared.seen.lock().expect("the provider does not panic"))
    }

    fn stop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the provider does not panic");
        }
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.stop();
    }
}

const LISTENER: u64 = 0;

/// How often the end is looked for.
const IDLE: Duration = Duration::from_millis(50);

struct Server {
    listener: TcpListener,
    epoll: OwnedFd,
    watch: Watch,
    manner: Manner,
    random: Random,
    connections: HashMap<u64, Connection>,
    last: u64,
    due: BinaryHeap<Reverse<(u64, u64)>>,
    in_flight: usize,
    shared: Arc<Shared>,
}

struct Connection {
    stream: TcpStream,
    bytes: Vec<u8>,
    /// When its request began, if there is one.
    begin: Option<u64>,
    prompt: Option<Prompt>,
    streams: bool,
    /// What was said before is in the request.
    goes_on: bool,
}

impl Server {
    fn new(listener: TcpListener, watch: Watch, manner: Manner, shared: Arc<Shared>) -> Server {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).expect("an epoll");
        let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
        epoll::add(&epoll, &listener, epoll::EventData::new_u64(LISTENER), flags).expect("a socket of ours");
        let random = Random(manner.seed);
        let (connections, due) = (HashMap::new(), BinaryHeap::new());
        Server {
            listener,
            epoll,
            watch,
            manner,
            random,
            connections,
            last: LISTENER,
            due,
            in_flight: 0,
            shared,
        }
    }

    fn serve(mut self) {
        while !self.shared.over.load(Ordering::Relaxed) {
            self.hear(self.until_due());
            while self.is_due() {
                // Whatever has come or gone by now did so before this answer.
                while self.hear(Duration::ZERO) {}
                let Some(Reverse((_, key))) = self.due.pop() else { break };
                self.answer(key);
            }
        }
        let open: Vec<u64> = self.connections.keys().copied().collect();
        open.into_iter().for_each(|key| self.close(key));
    }

    fn is_due(&self) -> bool {
        let silent = self.shared.silent.load(Ordering::SeqCst);
        !silent && self.due.peek().is_some_and(|Reverse((time, _))| *time <= self.watch.now())
    }

    fn until_due(&self) -> Duration {
        let left = |Reverse((time, _)): &Reverse<(u64, u64)>| time.saturating_sub(self.watch.now());
        let next = self.due.peek().filter(|_| !self.shared.silent.load(Ordering::SeqCst));
        next.map_or(IDLE, |next| Duration::from_micros(left(next)).min(IDLE))
    }

    /// Takes in what happens within this time, in its order; false if nothing did.
    fn hear(&mut self, longest: Duration) -> bool {
        let mut events = [const { MaybeUninit::<epoll::Event>::uninit() }; 256];
        let timeout = Timespec { tv_sec: 0, tv_nsec: longest.subsec_nanos().into() };
        let keys: Vec<u64> = match epoll::wait(&self.epoll, &mut events[..], Some(&timeout)) {
            Ok((happened, _)) => happened.iter().map(|event| event.data.u64()).collect(),
            Err(_) => Vec::new(),
        };
        for key in &keys {
            match *key {
                LISTENER => self.accept(),
                key => self.read(key),
            }
        }
        !keys.is_empty()
    }

    /// Takes new connections. What they send is heard in its turn.
    fn accept(&mut self) {
        while let Ok((stream, _)) = self.listener.accept() {
            stream.set_nonblocking(true).expect("a socket of ours");
            stream.set_nodelay(true).expect("a socket of ours");
            self.last += 1;
            let flags = epoll::EventFlags::IN | epoll::EventFlags::RDHUP | epoll::EventFlags::ET;
            epoll::add(&self.epoll, &stream, epoll::EventData::new_u64(self.last), flags).expect("a socket");
            let connection = Connection {
                stream,
                bytes: Vec::new(),
                begin: None,
                prompt: None,
                streams: false,
                goes_on: false,
            };
            self.connections.insert(self.last, connection);
        }
    }

    fn read(&mut self, key: u64) {
        let now = self.watch.now();
        let Some(connection) = self.connections.get_mut(&key) else { return };
        let mut piece = [0; 16 * 1024];
        loop {
            match connection.stream.read(&mut piece) {
                Ok(0) => return self.close(key),
                Ok(count) => connection.bytes.extend_from_slice(&piece[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return self.close(key),
            }
        }
        if connection.begin.is_none() && !connection.bytes.is_empty() {
            connection.begin = Some(now);
            self.count(now);
        }
        self.understand(key);
    }

    fn count(&mut self, now: u64) {
        self.in_flight += 1;
        self.shared.in_flight.store(self.in_flight, Ordering::SeqCst);
        let mut seen = self.shared.seen.lock().expect("a panic poisoned this lock");
        seen.peak = seen.peak.max(self.in_flight);
        if self.in_flight > self.manner.limit {
            seen.above.push((now, self.in_flight));
        }
    }

    /// Once a request is whole, its answer is due after a while.
    fn understand(&mut self, key: u64) {
        let Some(connection) = self.connections.get_mut(&key) else { return };
        let Some(body) = whole_body(&connection.bytes) else { return };
        let text = String::from_utf8_lossy(body).into_owned();
        connection.prompt = Some(prompt_in(&text));
        connection.streams = text.contains("\"stream\":true");
        connection.goes_on = text.contains("\"assistant\"");
        connection.bytes.clear();
        let (least, most) = self.manner.hold;
        let hold = least * 1000 + self.random.below((most - least) * 1000 + 1);
        self.due.push(Reverse((self.watch.now() + hold, key)));
    }

    fn answer(&mut self, key: u64) {
        let Some(connection) = self.connections.get_mut(&key) else { return };
        let say = match (self.manner.turns, connection.goes_on) {
            (true, true) => r#"{\"n\": \"1\"}"#,
            (true, false) => "in no shape",
            (false, _) => "done",
        };
        let text = completion(connection.streams, say);
        // A few hundred bytes into an empty buffer: they are sent whole, or the connection is gone.
        if connection.stream.write_all(text.as_bytes()).is_err() {
            return self.close(key);
        }
        self.end(key, true);
    }

    fn close(&mut self, key: u64) {
        self.end(key, false);
        self.connections.remove(&key);
    }

    fn end(&mut self, key: u64, answered: bool) {
        let Some(connection) = self.connections.get_mut(&key) else { return };
        let Some(begin) = connection.begin.take() else { return };
        self.in_flight -= 1;
        self.shared.in_flight.store(self.in_flight, Ordering::SeqCst);
        self.shared.closed.fetch_add(usize::from(!answered), Ordering::SeqCst);
        let request = Request { prompt: connection.prompt.take(), begin, end: self.watch.now(), answered };
        self.shared.seen.lock().expect("a panic poisoned this lock").requests.push(request);
    }
}

/// The body of a request that has wholly come.
fn whole_body(bytes: &[u8]) -> Option<&[u8]> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    let length: usize =
        length.and_then(|number| number.trim().parse().ok()).expect("a request says how long it is");
    bytes.get(end..end + length)
}

/// Prompts are `task LANE.ROUND.ITEM please`.
fn prompt_in(text: &str) -> Prompt {
    let found =
        text.split_once("task ").and_then(|(_, rest)| rest.split_once(" please")).map(|(name, _)| name);
    let numbers: Vec<usize> =
        found.unwrap_or("").split('.').filter_map(|number| number.parse().ok()).collect();
    let [lane, round, item] = numbers[..] else { panic!("no task of ours: {text}") };
    Prompt { lane, round, item }
}

/// An answer; `say` is escaped already.
fn completion(streams: bool, say: &str) -> String {
    let usage = r#""usage":{"prompt_tokens":9,"completion_tokens":1}"#;
    let (kind, body) = if streams {
        let chunk = format!(
            r#"{{"model":"m","choices":[{{"index":0,"delta":{{"content":"{say}"}},"finish_reason":"stop"}}],{usage}}}"#
        );
        ("text/event-stream", format!("data: {chunk}\n\ndata: [DONE]\n\n"))
    } else {
        let message = format!(r#"{{"role":"assistant","content":"{say}"}}"#);
        let choice = format!(r#"{{"index":0,"message":{message},"finish_reason":"stop"}}"#);
        ("application/json", format!(r#"{{"model":"m","choices":[{choice}],{usage}}}"#))
    };
    format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}
