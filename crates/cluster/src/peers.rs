//! Requests between the processes of a cluster: does a job still go on, stop a job, decide a turn, report health.
//!
//! `GET /PROCESS/JOB` answers 202 while the job goes on, and 404 if this process has another name or does not know the job; `DELETE` stops
//! it. `POST /PROCESS/decide` decides a turn of a run whose state this process has at hand; the decision counts only once it is on record.
//! `GET /health` reports the state of the process. Nothing else is served.

use crate::jobs::Jobs;
use crate::process::{Input, Process, TurnAsked};
use crate::wire::Decided;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;

/// How long a process that says nothing is taken for stopped or unreachable, in all.
const SILENCE: Duration = Duration::from_secs(15);
const ONE_TRY: Duration = Duration::from_secs(5);
/// How long a turn may take there before it is decided here.
const ONE_TURN: Duration = Duration::from_secs(5);
/// Between two looks at a job that goes on.
const LOOK: Duration = Duration::from_millis(500);

/// Answers other processes, until it is dropped.
pub async fn serve(listener: TcpListener, process: Arc<Process>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        let process = process.clone();
        tokio::spawn(async move {
            let service = hyper::service::service_fn(move |request: Request<Incoming>| {
                let process = process.clone();
                async move {
                    let decides = format!("/{}/decide", process.name);
                    let answer = match request.method() == Method::POST && request.uri().path() == decides {
                        true => decide(&process, request).await,
                        false => answer(&process.name, &process.jobs, &request),
                    };
                    Ok::<_, Infallible>(answer)
                }
            });
            hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await
                .ok();
        });
    }
}

/// Decides a turn for another process. Whatever goes wrong, that one can decide it itself.
async fn decide(process: &Arc<Process>, request: Request<Incoming>) -> Response<Full<Bytes>> {
    let none = || say(StatusCode::CONFLICT, String::new());
    let Ok(body) = request.into_body().collect().await else { return none() };
    let Ok(asked) = serde_json::from_slice::<TurnAsked>(&body.to_bytes()) else { return none() };
    let TurnAsked { run, head, book, delivery } = asked;
    match process.decide_here(run, head, book, Input::Facts(delivery)).await {
        Ok(decided) => say(StatusCode::OK, serde_json::to_string(&decided).expect("turns are JSON")),
        Err(_) => none(),
    }
}

fn say(status: StatusCode, words: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(words)));
    *response.status_mut() = status;
    response
}

fn answer(process: &str, jobs: &Jobs, request: &Request<Incoming>) -> Response<Full<Bytes>> {
    let path = request.uri().path().trim_start_matches('/');
    if path == "health" {
        return say(StatusCode::OK, format!("{{\"process\":\"{process}\",\"attempts\":{}}}\n", jobs.count()));
    }
    let job = path.split_once('/').filter(|(of, _)| *of == process);
    let name = job.and_then(|(_, name)| decoded(name)).filter(|name| jobs.goes_on(name));
    let Some(name) = name else { return say(StatusCode::NOT_FOUND, String::new()) };
    if request.method() == Method::DELETE {
        jobs.stop(&name);
    }
    say(StatusCode::ACCEPTED, String::new())
}

/// Names of jobs hold names of tasks, which may hold anything: they travel in hexadecimal digits.
fn encoded(name: &str) -> String {
    name.bytes().map(|byte| format!("{byte:02x}")).collect()
}

fn decoded(text: &str) -> Option<String> {
    let byte = |at: usize| u8::from_str_radix(text.get(at..at + 2)?, 16).ok();
    String::from_utf8((0..text.len()).step_by(2).map(byte).collect::<Option<_>>()?).ok()
}

/// Another process, at its address.
pub struct Peer {
    pub http: reqwest::Client,
    pub address: String,
    pub process: String,
}

impl Peer {
    /// Waits until a job of that process is over, or that process is gone or silent for too long.
    pub async fn gone(&self, job: &str) {
        let mut silent = Duration::ZERO;
        while silent < SILENCE {
            let sent = self.http.get(self.url(job)).timeout(ONE_TRY).send().await;
            match sent {
                Ok(answer) if answer.status() == StatusCode::ACCEPTED => silent = Duration::ZERO,
                Ok(_) => return,
                // No process listens there: it is dead, or its machine says so.
                Err(error) if is_refused(&error) => return,
                Err(_) => silent += ONE_TRY,
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// A turn as that process decides it; `None` where it does not.
    pub async fn decide(&self, asked: &TurnAsked) -> Option<Decided> {
        let url = format!("http://{}/{}/decide", self.address, self.process);
        let sent = self.http.post(url).json(asked).timeout(ONE_TURN).send().await.ok()?;
        let answer = sent.error_for_status().ok()?.bytes().await.ok()?;
        serde_json::from_slice(&answer).ok()
    }

    /// Tells a job to stop.
    pub async fn stop(&self, job: &str) {
        self.http.delete(self.url(job)).timeout(ONE_TRY).send().await.ok();
    }

    fn url(&self, job: &str) -> String {
        format!("http://{}/{}/{}", self.address, self.process, encoded(job))
    }
}

fn is_refused(error: &reqwest::Error) -> bool {
    let mut cause: Option<&dyn std::error::Error> = Some(error);
    while let Some(one) = cause {
        if let Some(io) = one.downcast_ref::<std::io::Error>() {
            return io.kind() == std::io::ErrorKind::ConnectionRefused;
        }
        cause = one.source();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_of_a_task_travels() {
        for name in ["r/a#1", "r/ä b/%2F?#x#2", ""] {
            assert_eq!(decoded(&encoded(name)).as_deref(), Some(name));
        }
        assert_eq!(decoded("0"), None);
        assert_eq!(decoded("zz"), None);
        assert_eq!(decoded("ff"), None);
    }
}
