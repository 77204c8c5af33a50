//! A server under test and a client that sends what it is told, also what no browser would.

use crate::support::World;
use crate::support::process::{PATIENCE, Process};
use convoke_model::is_control;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

/// A server and what it takes to call it.
pub struct Served {
    pub process: Process,
    pub address: String,
    pub token: String,
}

/// What was answered.
#[derive(Debug)]
pub struct Answered {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Answered {
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Fails unless it has this status.
    #[track_caller]
    pub fn is(self, status: u16) -> Answered {
        assert_eq!(self.status, status, "{self:?}");
        self
    }

    /// The code of an error.
    #[track_caller]
    pub fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap_or_default().to_owned()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

impl Served {
    /// Serves the runs of a world.
    pub fn over(world: &World) -> Served {
        let process = world.start(&["serve", "--addr", "127.0.0.1:0"]);
        let link = process.await_line();
        let (address, token) = link.strip_prefix("http://").unwrap().split_once("/#token=").unwrap();
        Served { address: address.to_owned(), token: token.to_owned(), process }
    }

    /// The headers of an honest call.
    pub fn honest(&self) -> Vec<(String, String)> {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        vec![
            pair("Host", &self.address),
            pair("Authorization", &format!("Bearer {}", self.token)),
            pair("Content-Type", "application/json"),
        ]
    }

    pub fn get(&self, path: &str) -> Answered {
        self.send("GET", &format!("/api/v1{path}"), &self.honest(), "")
    }

    pub fn post(&self, path: &str, body: Value) -> Answered {
        self.send("POST", &format!("/api/v1{path}"), &self.honest(), &body.to_string())
    }

    /// An honest call of another token.
    pub fn as_token(&self, token: &str, method: &str, path: &str, body: &str) -> Answered {
        let mut headers = self.honest();
        headers[1].1 = format!("Bearer {token}");
        self.send(method, &format!("/api/v1{path}"), &headers, body)
    }

    /// Sends a request and reads the answer.
    pub fn send(&self, method: &str, path: &str, headers: &[(String, String)], body: &str) -> Answered {
        let mut stream = self.connect();
        let mut text = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        headers.iter().for_each(|(name, value)| text.push_str(&format!("{name}: {value}\r\n")));
        if !body.is_empty() || method == "POST" || method == "PUT" {
            text.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        text.push_str("\r\n");
        text.push_str(body);
        // A server that refuses a body need not read it to its end.
        stream.write_all(text.as_bytes()).ok();
        read_answer(stream)
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).expect("the server listens");
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// A stream of what happens.
    pub fn listen(&self, topics: &str, last: Option<&str>) -> Listening {
        let mut headers = self.honest();
        headers.extend(last.map(|last| ("Last-Event-ID".to_owned(), last.to_owned())));
        let mut stream = self.connect();
        let mut text = format!("GET /api/v1/stream?topics={topics} HTTP/1.1\r\n");
        headers.iter().for_each(|(name, value)| text.push_str(&format!("{name}: {value}\r\n")));
        stream.write_all(format!("{text}\r\n").as_bytes()).unwrap();
        let mut reader = BufReader::new(stream);
        let (status, headers) = head(&mut reader);
        assert_eq!(status, 200, "{headers:?}");
        Listening { reader: BufReader::new(Chunks { reader, left: 0, ended: false }) }
    }
}

/// A stream that is read message by message.
pub struct Listening {
    reader: BufReader<Chunks>,
}

/// One message.
#[derive(Debug, Clone)]
pub struct Told {
    pub event: String,
    pub id: Option<String>,
    pub data: Value,
}

impl Listening {
    /// The next message that is no ping.
    #[track_caller]
    pub fn next(&mut self) -> Told {
        loop {
            let told = self.message();
            if told.event != "ping" {
                return told;
            }
        }
    }

    #[track_caller]
    fn message(&mut self) -> Told {
        self.message_or_end().expect("the stream goes on")
    }

    /// Every message up to the end of the stream.
    #[track_caller]
    pub fn rest(mut self) -> Vec<Told> {
        std::iter::from_fn(|| self.message_or_end()).collect()
    }

    #[track_caller]
    fn message_or_end(&mut self) -> Option<Told> {
        let mut told = Told { event: String::new(), id: None, data: Value::Null };
        loop {
            let mut line = String::new();
            if self.reader.read_line(&mut line).expect("the stream goes on") == 0 {
                return None;
            }
            match line.trim_end().split_once(": ") {
                None => return Some(told),
                Some(("event", event)) => told.event = event.to_owned(),
                Some(("id", id)) => told.id = Some(id.to_owned()),
                Some(("data", data)) => {
                    assert_eq!(data.find(is_control), None, "a terminal would obey this: {data:?}");
                    told.data = serde_json::from_str(data).unwrap();
                }
                Some(other) => panic!("{other:?}"),
            }
        }
    }

    /// Messages up to the first for which this holds.
    #[track_caller]
    pub fn until(&mut self, is_last: impl Fn(&Told) -> bool) -> Vec<Told> {
        let mut all = vec![self.next()];
        while !is_last(all.last().unwrap()) {
            all.push(self.next());
        }
        all
    }
}

struct Chunks {
    reader: BufReader<TcpStream>,
    left: usize,
    ended: bool,
}

impl Read for Chunks {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.left == 0 && !self.ended {
            let mut line = String::new();
            self.reader.read_line(&mut line)?;
            if line.trim().is_empty() {
                line.clear();
                self.reader.read_line(&mut line)?;
            }
            self.left = usize::from_str_radix(line.trim(), 16).unwrap_or(0);
            self.ended = self.left == 0;
        }
        let most = self.left.min(buffer.len());
        let count = if most == 0 { 0 } else { self.reader.read(&mut buffer[..most])? };
        self.left -= count;
        Ok(count)
    }
}

fn head(reader: &mut BufReader<TcpStream>) -> (u16, Vec<(String, String)>) {
    let mut line = String::new();
    reader.read_line(&mut line).unwrap_or(0);
    let status = line.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 || line.trim().is_empty() {
            return (status, headers);
        }
        if let Some((name, value)) = line.trim_end().split_once(": ") {
            headers.push((name.to_lowercase(), value.to_owned()));
        }
    }
}

fn read_answer(stream: TcpStream) -> Answered {
    let mut reader = BufReader::new(stream);
    let (status, headers) = head(&mut reader);
    let is_chunked = headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked");
    let mut body = Vec::new();
    match is_chunked {
        true => Chunks { reader, left: 0, ended: false }.read_to_end(&mut body).ok(),
        false => reader.read_to_end(&mut body).ok(),
    };
    Answered { status, headers, body: String::from_utf8_lossy(&body).into_owned() }
}

/// A service that says the beginning of an answer, and the rest when the test lets it.
pub fn slow_service() -> (String, std::sync::mpsc::Sender<()>) {
    slow_service_saying(&["Once upon a time", ", the end."])
}

/// A service that says an answer piece by piece, each after the first when the test lets it.
pub fn slow_service_saying(pieces: &[&str]) -> (String, std::sync::mpsc::Sender<()>) {
    let pieces: Vec<String> = pieces.iter().map(|piece| (*piece).to_owned()).collect();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (go, may_go) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut reader = std::io::BufReader::new(stream.try_clone().unwrap());
            let (mut stream, mut length) = (stream, 0);
            loop {
                let mut line = String::new();
                if std::io::BufRead::read_line(&mut reader, &mut line).unwrap_or(0) == 0
                    || line.trim().is_empty()
                {
                    break;
                }
                if let Some(count) = line.to_lowercase().strip_prefix("content-length:") {
                    length = count.trim().parse().unwrap();
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let piece = |text: &str| {
                format!(
                    "data: {}\n\n",
                    json!({"id": "x", "object": "chat.completion.chunk", "model": "m", "choices": [{"index": 0, "delta": {"content": text}}]})
                )
            };
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
            stream.write_all(head.as_bytes()).unwrap();
            for (at, text) in pieces.iter().enumerate() {
                if at > 0 {
                    may_go.recv().ok();
                }
                stream.write_all(piece(text).as_bytes()).ok();
            }
            let end = json!({"id": "x", "object": "chat.completion.chunk", "model": "m", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
            stream.write_all(format!("data: {end}\n\ndata: [DONE]\n\n").as_bytes()).ok();
        }
    });
    (format!("http://{address}/v1"), go)
}
