//! A receiver of traces and webhooks on the loopback, which answers as it is told and remembers what it has taken.

use flate2::read::GzDecoder;
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// What becomes of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It is taken.
    Taken,
    /// It is answered with this status and not taken.
    Status(u16),
    /// It is taken, and the connection is cut before the answer.
    Unheard,
    /// It is never answered.
    Hangs,
}

/// One request that was taken.
#[derive(Debug, Clone)]
pub struct Taken {
    /// Its path.
    pub path: String,
    /// Its headers, by small names.
    pub headers: HashMap<String, String>,
    /// Its body, as it came.
    pub body: Vec<u8>,
}

#[derive(Default)]
struct Memory {
    taken: Vec<Taken>,
    asked: usize,
    fates: Vec<Fate>,
    /// What becomes of requests when no fate is left.
    usual: Option<Fate>,
}

/// The receiver. Its threads end with the test program.
pub struct Receiver {
    address: SocketAddr,
    memory: Arc<(Mutex<Memory>, Condvar)>,
}

impl Receiver {
    /// One that takes everything.
    pub fn start() -> Receiver {
        let listener = TcpListener::bind("127.0.0.1:0").expect("the loopback has a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let memory: Arc<(Mutex<Memory>, Condvar)> = Arc::default();
        let shared = memory.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let memory = shared.clone();
                std::thread::spawn(move || serve(stream, &memory));
            }
        });
        Receiver { address, memory }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What becomes of the next requests, the last one first.
    pub fn fates(&self, fates: Vec<Fate>) {
        self.memory.0.lock().unwrap().fates = fates;
    }

    /// What becomes of all others.
    pub fn usually(&self, fate: Fate) {
        self.memory.0.lock().unwrap().usual = Some(fate);
    }

    /// How many requests have come, whatever became of them.
    pub fn asked(&self) -> usize {
        self.memory.0.lock().unwrap().asked
    }

    pub fn taken(&self) -> Vec<Taken> {
        self.memory.0.lock().unwrap().taken.clone()
    }

    /// Waits until so many requests have come, whatever became of them.
    pub fn wait_for(&self, asked: usize) {
        let (memory, changed) = &*self.memory;
        let waited = changed
            .wait_timeout_while(memory.lock().unwrap(), Duration::from_secs(60), |memory| {
                memory.asked < asked
            })
            .unwrap();
        assert!(!waited.1.timed_out(), "{} requests came, not {asked}", waited.0.asked);
    }

    /// The spans that were taken: id and name, as often as they came.
    pub fn spans(&self) -> Vec<(Vec<u8>, String)> {
        let requests = self.taken_at("/v1/traces").into_iter().map(|taken| spans(&taken.body));
        requests.flatten().map(|span| (span.span_id, span.name)).collect()
    }

    /// The log records that were taken: id and name, as often as they came.
    pub fn records(&self) -> Vec<(String, String)> {
        let requests = self.taken_at("/v1/logs").into_iter().map(|taken| {
            let request: ExportLogsServiceRequest = unpacked(&taken.body);
            let scopes = request.resource_logs.into_iter().flat_map(|resource| resource.scope_logs);
            scopes.flat_map(|scope| scope.log_records)
        });
        let named = requests.flatten().map(|record| {
            let id = record.attributes.iter().find(|pair| pair.key == "log.record.uid");
            let id = id.and_then(|pair| pair.value.as_ref()).and_then(|value| value.value.clone());
            let Some(Value::StringValue(id)) = id else { panic!("a record has an id: {record:?}") };
            (id, record.event_name)
        });
        named.collect()
    }

    /// How many values a histogram had over all its series, each time that it came.
    pub fn counts(&self, instrument: &str) -> Vec<u64> {
        let requests = self.taken_at("/v1/metrics").into_iter().map(|taken| {
            let request: ExportMetricsServiceRequest = unpacked(&taken.body);
            let scopes = request.resource_metrics.into_iter().flat_map(|resource| resource.scope_metrics);
            let named = scopes.flat_map(|scope| scope.metrics).find(|metric| metric.name == instrument);
            match named.and_then(|metric| metric.data) {
                Some(Data::Histogram(histogram)) => {
                    histogram.data_points.iter().map(|point| point.count).sum()
                }
                other => panic!("`{instrument}` is a histogram: {other:?}"),
            }
        });
        requests.collect()
    }

    fn taken_at(&self, path: &str) -> Vec<Taken> {
        self.taken().into_iter().filter(|taken| taken.path == path).collect()
    }
}

fn unpacked<M: prost::Message + Default>(body: &[u8]) -> M {
    let mut bytes = Vec::new();
    GzDecoder::new(body).read_to_end(&mut bytes).expect("it is compressed");
    M::decode(&*bytes).expect("it is a request")
}

/// The spans of a request.
pub fn spans(body: &[u8]) -> Vec<opentelemetry_proto::tonic::trace::v1::Span> {
    let request: ExportTraceServiceRequest = unpacked(body);
    let scopes = request.resource_spans.into_iter().flat_map(|resource| resource.scope_spans);
    scopes.flat_map(|scope| scope.spans).collect()
}

fn serve(stream: TcpStream, memory: &(Mutex<Memory>, Condvar)) {
    let mut reader = BufReader::new(stream.try_clone().expect("a socket"));
    while let Some(request) = read(&mut reader) {
        let (memory, changed) = memory;
        let mut known = memory.lock().unwrap();
        let fate = known.fates.pop().or(known.usual).unwrap_or(Fate::Taken);
        if matches!(fate, Fate::Taken | Fate::Unheard) {
            known.taken.push(request);
        }
        known.asked += 1;
        changed.notify_all();
        drop(known);
        let mut out = &stream;
        let answered = match fate {
            Fate::Taken => out.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"),
            Fate::Status(code) => {
                let text = format!(
                    "HTTP/1.1 {code} No\r\nretry-after: 0\r\nlocation: /elsewhere\r\ncontent-length: 0\r\n\r\n"
                );
                out.write_all(text.as_bytes())
            }
            Fate::Unheard => return,
            Fate::Hangs => {
                // Until the other side gives up.
                let mut byte = [0];
                return drop(reader.read(&mut byte));
            }
        };
        if answered.is_err() {
            return;
        }
    }
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<Taken> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Taken { path, headers, body })
}
