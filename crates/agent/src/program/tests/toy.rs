//! A language for programs, of a few words, and its interpreter: what a worker does, without a process.

use crate::program::*;
use convoke_model::Failure;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Programs of lines: `print WORDS`, `FUNCTION ["arguments"]`, `show` (prints what the last call gave), `again` (calls
/// `final` with it), `take MS`, `end KIND`.
#[derive(Default)]
pub(super) struct Toy {
    pub(super) started: AtomicU32,
    /// States cannot be read here.
    pub(super) forgets: bool,
}

struct ToyWorker {
    forgets: bool,
    program: Vec<String>,
    line: usize,
    calls: u64,
    last: Given,
    printed: String,
}

impl Programs for Toy {
    fn guide(&self) -> &str {
        "(the guide)"
    }

    fn start(&self, bounds: ProgramBounds) -> BoxFuture<'_, Result<Box<dyn ProgramWorker>, Failure>> {
        assert_eq!(bounds.time, bounds.total / 4);
        self.started.fetch_add(1, Ordering::SeqCst);
        let (last, printed) = (Given::Value(Value::Null), String::new());
        let worker =
            ToyWorker { forgets: self.forgets, program: Vec::new(), line: 0, calls: 0, last, printed };
        Box::pin(std::future::ready(Ok(Box::new(worker) as Box<dyn ProgramWorker>)))
    }
}

impl ToyWorker {
    fn stopped(&mut self, stop: Stop) -> Step {
        Step { stop, printed: std::mem::take(&mut self.printed), cut: 0 }
    }

    fn called(&mut self, function: &str, args: Vec<Value>) -> Step {
        self.calls += 1;
        let call =
            HostCall { number: self.calls, function: function.to_owned(), args, kwargs: Default::default() };
        self.stopped(Stop::Call(call))
    }

    async fn go(&mut self) -> Step {
        while let Some(line) = self.program.get(self.line).cloned() {
            self.line += 1;
            let (word, rest) = line.split_once(' ').unwrap_or((&line, ""));
            match word {
                "print" => self.printed.push_str(rest),
                "show" => self.printed.push_str(&format!("{:?}", self.last)),
                "take" => tokio::time::sleep(Duration::from_millis(rest.parse().unwrap())).await,
                "again" => {
                    let Given::Value(value) = self.last.clone() else { panic!("an exception") };
                    return self.called("final", vec![value]);
                }
                "end" => {
                    let kind = match rest {
                        "memory" => TroubleKind::Memory,
                        "died" => TroubleKind::Died,
                        "refused" => TroubleKind::Refused,
                        _ => TroubleKind::Program,
                    };
                    let trouble =
                        Trouble { kind, message: format!("NameError: {rest}"), hint: Some("ask".into()) };
                    return self.stopped(Stop::Failed(trouble));
                }
                function => return self.called(function, serde_json::from_str(rest).unwrap()),
            }
        }
        self.stopped(Stop::Ended(Value::Null))
    }
}

impl ProgramWorker for ToyWorker {
    fn run<'a>(&'a mut self, program: &'a str) -> BoxFuture<'a, Result<Step, Failure>> {
        self.program = program.lines().map(str::to_owned).collect();
        (self.line, self.calls) = (0, 0);
        Box::pin(async move { Ok(self.go().await) })
    }

    fn answer(&mut self, call: u64, answer: Given) -> BoxFuture<'_, Result<Step, Failure>> {
        assert_eq!(call, self.calls);
        self.last = answer;
        Box::pin(async move { Ok(self.go().await) })
    }

    fn save(&mut self) -> BoxFuture<'_, Option<Vec<u8>>> {
        let state = serde_json::to_vec(&json!([self.program, self.line])).unwrap();
        Box::pin(std::future::ready(Some(state)))
    }

    fn resume<'a>(
        &'a mut self,
        saved: &'a [u8],
        call: u64,
        answer: Given,
    ) -> BoxFuture<'a, Result<Option<Step>, Failure>> {
        Box::pin(async move {
            if self.forgets {
                return Ok(None);
            }
            (self.program, self.line) = serde_json::from_slice(saved).unwrap();
            (self.calls, self.last) = (call, answer);
            Ok(Some(self.go().await))
        })
    }
}
