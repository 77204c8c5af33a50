//! The claimant's end of an attempt's link: every report and question goes to the owner process, which answers.
//!
//! Kept true: no call is made on a claim that does not hold any more, and none after the owner is gone.

use crate::channel::Outgoing;
use crate::messages::{FromClaimant, FromOwner, Permission};
use convoke_agent::{Admission, Admitted, CallDemand, CallPermit, Report, Sink, TurnLog, TurnRecord};
use convoke_capacity::{Capacity, Claim};
use convoke_model::{Class, Digest, Failure, JsonText, Usage, reason};
use futures::future::BoxFuture;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use tokio::sync::oneshot;

/// A link to the owner process.
pub struct RemoteLink {
    owner: Outgoing<FromClaimant>,
    table: Arc<Capacity>,
    claim: Claim,
    questions: Mutex<Questions>,
}

/// Questions without an answer yet; `open` is `None` once the owner is gone.
struct Questions {
    last: u64,
    open: Option<HashMap<u64, oneshot::Sender<FromOwner>>>,
}

/// The permit of a call, which the owner holds. Dropped unsettled, it reports that the outcome of the call is unknown.
struct RemotePermit {
    number: u64,
    owner: Outgoing<FromClaimant>,
    settled: bool,
}

impl Drop for RemotePermit {
    fn drop(&mut self) {
        if !self.settled {
            self.owner.send(FromClaimant::Dropped { number: self.number });
        }
    }
}

impl RemoteLink {
    /// A link for an attempt under this claim.
    pub fn new(owner: Outgoing<FromClaimant>, table: Arc<Capacity>, claim: Claim) -> RemoteLink {
        let questions = Mutex::new(Questions { last: 0, open: Some(HashMap::new()) });
        RemoteLink { owner, table, claim, questions }
    }

    /// Gives an answer of the owner to its question.
    pub fn deliver(&self, answer: FromOwner) {
        let number = match &answer {
            FromOwner::Admitted { number, .. }
            | FromOwner::Recorded { number, .. }
            | FromOwner::Recalled { number, .. } => *number,
            FromOwner::Task(_) | FromOwner::Gone | FromOwner::Go | FromOwner::Cancel | FromOwner::Done => {
                return;
            }
        };
        let mut questions = self.questions.lock().expect("a panic poisoned this lock");
        if let Some(waiting) = questions.open.as_mut().and_then(|open| open.remove(&number)) {
            // A cancelled attempt does not wait any more.
            let _ = waiting.send(answer);
        }
    }

    /// The owner is gone: questions without an answer fail, and so do further ones.
    pub fn disconnect(&self) {
        self.questions.lock().expect("a panic poisoned this lock").open = None;
    }

    fn ask(
        &self,
        question: impl FnOnce(u64) -> FromClaimant,
    ) -> (u64, BoxFuture<'static, Option<FromOwner>>) {
        let (reply, answer) = oneshot::channel();
        let mut questions = self.questions.lock().expect("a panic poisoned this lock");
        questions.last += 1;
        let number = questions.last;
        if let Some(open) = &mut questions.open {
            open.insert(number, reply);
            self.owner.send(question(number));
        }
        (number, Box::pin(async move { answer.await.ok() }))
    }

    /// Waits until something is on the owner's disk.
    fn write(&self, what: impl FnOnce(u64) -> FromClaimant) -> BoxFuture<'static, Result<(), Failure>> {
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
        let (number, answer) = self.ask(|number| FromClaimant::Admit { number, demand: call });
        let Some(FromOwner::Admitted { answer, .. }) = answer.await else { return Err(gone()) };
        match answer? {
            Permission::Instead(model) => Ok(Admitted::Instead(model)),
            Permission::Go => {
                let held = RemotePermit { number, owner: self.owner.clone(), settled: false };
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

impl Sink for RemoteLink {
    fn report(&self, report: Report) {
        self.owner.send(FromClaimant::Reported(report.into()));
    }
}

impl Admission for RemoteLink {
    fn admit(&self, call: CallDemand) -> BoxFuture<'_, Result<Admitted, Failure>> {
        Box::pin(self.admitted(call))
    }

    fn settle(&self, permit: CallPermit, usage: &Usage, failure: Option<&Failure>) {
        if let Some(mut held) = permit.into_guard::<RemotePermit>() {
            held.settled = true;
            let (number, failure) = (held.number, failure.cloned());
            self.owner.send(FromClaimant::Settled { number, usage: *usage, failure });
        }
    }
}

impl TurnLog for RemoteLink {
    fn record(&self, record: TurnRecord) -> BoxFuture<'_, Result<(), Failure>> {
        self.write(|number| FromClaimant::Record { number, record })
    }

    fn settle_tools(&self, allowed: Vec<String>) -> BoxFuture<'_, Result<(), Failure>> {
        self.write(|number| FromClaimant::SettleTools { number, allowed })
    }

    fn recall(&self, digest: Digest) -> BoxFuture<'_, Option<JsonText>> {
        let (_, answer) = self.ask(|number| FromClaimant::Recall { number, digest });
        Box::pin(async move {
            match answer.await {
                Some(FromOwner::Recalled { text, .. }) => text,
                _ => None,
            }
        })
    }
}
