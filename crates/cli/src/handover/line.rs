//! A thief's end of an attempt's line: everything is said to the owner and answered by it.
//!
//! No call is made on a claim that does not hold any more, and none after the owner is gone.

use super::link::Outgoing;
use super::wire::{FromOwner, FromThief, Permission};
use convoke_agent::{Admission, Admitted, CallDemand, CallPermit, Report, Sink, TurnLog, TurnRecord};
use convoke_capacity::{Capacity, Claim};
use convoke_model::{Class, Digest, Failure, JsonText, Usage, reason};
use futures::future::BoxFuture;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use tokio::sync::oneshot;

/// The line to another process.
pub struct Distant {
    owner: Outgoing<FromThief>,
    table: Arc<Capacity>,
    claim: Claim,
    questions: Mutex<Questions>,
}

/// Questions that wait for an answer; `open` is gone once there will be none.
struct Questions {
    last: u64,
    open: Option<HashMap<u64, oneshot::Sender<FromOwner>>>,
}

/// What the owner holds for a call. Dropped unsettled, it says that nobody knows what became of the call.
struct Held {
    number: u64,
    owner: Outgoing<FromThief>,
    settled: bool,
}

impl Drop for Held {
    fn drop(&mut self) {
        if !self.settled {
            self.owner.send(FromThief::Dropped { number: self.number });
        }
    }
}

impl Distant {
    /// A line for an attempt under this claim.
    pub fn new(owner: Outgoing<FromThief>, table: Arc<Capacity>, claim: Claim) -> Distant {
        let questions = Mutex::new(Questions { last: 0, open: Some(HashMap::new()) });
        Distant { owner, table, claim, questions }
    }

    /// Takes an answer of the owner.
    pub fn answered(&self, answer: FromOwner) {
        let number = match &answer {
            FromOwner::Admitted { number, .. }
            | FromOwner::Recorded { number, .. }
            | FromOwner::Recalled { number, .. } => *number,
            FromOwner::Task(_) | FromOwner::Gone | FromOwner::Go | FromOwner::Cancel | FromOwner::Done => {
                return;
            }
        };
        let mut questions = self.questions.lock().expect("nobody panics while holding it");
        if let Some(waiting) = questions.open.as_mut().and_then(|open| open.remove(&number)) {
            // An attempt that was told to stop does not wait any more.
            let _ = waiting.send(answer);
        }
    }

    /// The owner is gone: whoever waits for an answer, or asks from now on, is told so.
    pub fn hang_up(&self) {
        self.questions.lock().expect("nobody panics while holding it").open = None;
    }

    fn ask(&self, question: impl FnOnce(u64) -> FromThief) -> (u64, BoxFuture<'static, Option<FromOwner>>) {
        let (reply, answer) = oneshot::channel();
        let mut questions = self.questions.lock().expect("nobody panics while holding it");
        questions.last += 1;
        let number = questions.last;
        if let Some(open) = &mut questions.open {
            open.insert(number, reply);
            self.owner.send(question(number));
        }
        (number, Box::pin(async move { answer.await.ok() }))
    }

    /// Has something on the owner's disk before anything follows from it.
    fn write(&self, what: impl FnOnce(u64) -> FromThief) -> BoxFuture<'static, Result<(), Failure>> {
        let (_, answer) = self.ask(what);
        Box::pin(async move {
            match answer.await {
                Some(FromOwner::Recorded { answer, .. }) => answer,
                _ => Err(gone()),
            }
        })
    }

    async fn admitted(&self, call: CallDemand) -> Result<Admitted, Failure> {
        self.require_claim()?;
        let (number, answer) = self.ask(|number| FromThief::Admit { number, demand: call });
        let Some(FromOwner::Admitted { answer, .. }) = answer.await else { return Err(gone()) };
        match answer? {
            Permission::Instead(model) => Ok(Admitted::Instead(model)),
            Permission::Go => {
                let held = Held { number, owner: self.owner.clone(), settled: false };
                self.require_claim()?;
                Ok(Admitted::Go(CallPermit::holding(held)))
            }
        }
    }

    fn require_claim(&self) -> Result<(), Failure> {
        if self.table.holds(&self.claim) {
            return Ok(());
        }
        let message =
            "the task was taken back because this process was silent for too long; nothing was sent";
        Err(Failure::new(Class::Cancelled, message).reason(reason::FENCED))
    }
}

fn gone() -> Failure {
    Failure::new(Class::Cancelled, "the process that owns the run is gone")
}

impl Sink for Distant {
    fn report(&self, report: Report) {
        self.owner.send(FromThief::Said(report.into()));
    }
}

impl Admission for Distant {
    fn admit(&self, call: CallDemand) -> BoxFuture<'_, Result<Admitted, Failure>> {
        Box::pin(self.admitted(call))
    }

    fn settle(&self, permit: CallPermit, usage: &Usage, failure: Option<&Failure>) {
        if let Some(mut held) = permit.into_guard::<Held>() {
            held.settled = true;
            let (number, failure) = (held.number, failure.cloned());
            self.owner.send(FromThief::Settled { number, usage: *usage, failure });
        }
    }
}

impl TurnLog for Distant {
    fn record(&self, record: TurnRecord) -> BoxFuture<'_, Result<(), Failure>> {
        self.write(|number| FromThief::Record { number, record })
    }

    fn settle_tools(&self, allowed: Vec<String>) -> BoxFuture<'_, Result<(), Failure>> {
        self.write(|number| FromThief::SettleTools { number, allowed })
    }

    fn recall(&self, digest: Digest) -> BoxFuture<'_, Option<JsonText>> {
        let (_, answer) = self.ask(|number| FromThief::Recall { number, digest });
        Box::pin(async move {
            match answer.await {
                Some(FromOwner::Recalled { text, .. }) => text,
                _ => None,
            }
        })
    }
}
