//! What commands ask of a cluster.

use crate::address::Address;
use crate::error::ClusterError;
use crate::ingress::Ingress;
use crate::process::{self, READ};
use crate::run::Meta;
use crate::values::LARGEST;
use crate::wire::{Begin, ClusterFact, Delivery, Head, Identity, Listed, Reopen, Said};
use convoke_journal::Message;
use convoke_model::{Digest, JsonText, RunId, RunStatus, Stamped, Timestamp};
use std::time::Duration;
use tokio::time::Instant;

/// How long a turn is waited for: a worker that is starting may fold a long run first.
const TURN: Duration = Duration::from_secs(60);
/// How long the begin of a run is tried where no server answers: one that was started anew answers by then.
const BEGIN: Duration = Duration::from_secs(12);
/// Between two of these tries.
const PAUSE: Duration = Duration::from_millis(500);
/// How long the first question may take.
const GREETING: Duration = Duration::from_secs(10);

/// A command's way to a cluster.
#[derive(Debug, Clone)]
pub struct Client {
    ingress: Ingress,
}

impl Client {
    /// A client of the cluster at an address. Nothing is asked of it yet.
    pub fn new(address: Address) -> Result<Client, ClusterError> {
        Ok(Client { ingress: Ingress::new(address)? })
    }

    /// Which cluster it is: the answer of a worker, so that one is there is known by it too.
    pub async fn identity(&self) -> Result<Identity, ClusterError> {
        let known: Option<Identity> = self.ingress.ask("ConvokeDirectory/all/known", GREETING).await?;
        match known {
            Some(known) => Ok(known),
            None => self.ingress.ask("ConvokeDirectory/all/identity", GREETING).await,
        }
    }

    /// Whether its administration answers.
    pub async fn is_up(&self) -> bool {
        self.ingress.is_up(GREETING).await
    }

    /// Every run, by its name.
    pub async fn list(&self) -> Result<Vec<Listed>, ClusterError> {
        self.ingress.ask("ConvokeDirectory/all/list", READ).await
    }

    /// Begins a run. A cluster that has begun it already begins it no second time, so that this can be tried again.
    pub async fn begin(&self, run: &RunId, begin: &Begin) -> Result<(), ClusterError> {
        let size = begin.plan.as_str().len() + begin.started.as_str().len();
        if size > LARGEST {
            return Err(ClusterError::TooLarge { is: size >> 20, most: LARGEST >> 20 });
        }
        let path = format!("ConvokeRun/{run}/begin");
        let _: Head = until_there(|| self.ingress.call(&path, begin, Some(TURN))).await?;
        Ok(())
    }

    /// Resumes a run that has stopped; whether it goes on.
    pub async fn reopen(&self, run: &RunId, reopen: &Reopen) -> Result<bool, ClusterError> {
        let head: Head = self.ingress.call(&format!("ConvokeRun/{run}/reopen"), reopen, Some(TURN)).await?;
        Ok(head.is_live())
    }

    /// Speaks to a run.
    pub async fn say(&self, run: &RunId, at: Timestamp, message: Message) -> Result<(), ClusterError> {
        self.tell(run, at, Said::Message(Box::new(message))).await
    }

    /// Has the cluster let go of a run.
    pub async fn interrupt(
        &self,
        run: &RunId,
        at: Timestamp,
        now: bool,
        by: &str,
    ) -> Result<(), ClusterError> {
        self.tell(run, at, Said::Interrupt { now, by: by.to_owned() }).await
    }

    async fn tell(&self, run: &RunId, at: Timestamp, said: Said) -> Result<(), ClusterError> {
        let delivery = Delivery { sender: None, facts: vec![ClusterFact { at, said }] };
        let _: Head = self.ingress.call(&format!("ConvokeRun/{run}/deliver"), &delivery, Some(TURN)).await?;
        Ok(())
    }

    /// What a run was begun with: the plan and the first event, as JSON. `None`: there is no such run.
    pub async fn origin(&self, run: &RunId) -> Result<Option<(JsonText, JsonText)>, ClusterError> {
        let meta: Option<Meta> = self.ingress.ask(&format!("ConvokeRun/{run}/meta"), READ).await?;
        Ok(meta.map(|meta| (meta.plan, meta.started)))
    }

    /// A large value of a run.
    pub async fn blob(&self, run: &RunId, digest: &Digest) -> Result<Option<JsonText>, ClusterError> {
        process::blob(&self.ingress, run, digest).await
    }

    /// Forgets a run; false if it is under way.
    pub async fn erase(&self, run: &RunId) -> Result<bool, ClusterError> {
        let erased: bool = self.ingress.ask(&format!("ConvokeRun/{run}/erase"), TURN).await?;
        if erased {
            let _: () = self.ingress.call("ConvokeDirectory/all/forget", run, Some(READ)).await?;
        }
        Ok(erased)
    }

    /// How a run stands; `None`: it has not begun.
    pub async fn status(&self, run: &RunId) -> Result<Option<RunStatus>, ClusterError> {
        Ok(self.head(run).await?.status)
    }

    async fn head(&self, run: &RunId) -> Result<Head, ClusterError> {
        self.ingress.ask(&format!("ConvokeRun/{run}/head"), READ).await
    }

    /// The events of a run as they come, checked: each turn against the hash over all before it.
    pub fn tail(&self, run: &RunId) -> Tail {
        self.tail_from(run, 0, String::new())
    }

    /// The same, from a place that was reached before.
    pub fn tail_from(&self, run: &RunId, turns: u64, hash: String) -> Tail {
        Tail { client: self.clone(), run: run.clone(), turns, hash }
    }
}

/// Follows a run.
pub struct Tail {
    client: Client,
    run: RunId,
    turns: u64,
    hash: String,
}

impl Tail {
    /// The place that was reached: turns, and the hash over them.
    pub fn place(&self) -> (u64, &str) {
        (self.turns, &self.hash)
    }

    /// What happened since this was asked last, and how the run stands after that.
    pub async fn more(&mut self) -> Result<(Vec<Stamped>, Option<RunStatus>), ClusterError> {
        let head = self.client.head(&self.run).await?;
        if head.turns == self.turns {
            return Ok((Vec::new(), head.status));
        }
        let ingress = &self.client.ingress;
        let (events, hash) = process::turns(ingress, &self.run, self.turns, head.turns, &self.hash).await?;
        if hash != head.hash {
            return Err(ClusterError::Torn(self.run.to_string()));
        }
        (self.turns, self.hash) = (head.turns, hash);
        Ok((events, head.status))
    }
}

/// Asks again while no server answers, for as long as the begin of a run may take.
async fn until_there<T, F>(ask: impl Fn() -> F) -> Result<T, ClusterError>
where
    F: Future<Output = Result<T, ClusterError>>,
{
    let begun = Instant::now();
    loop {
        match ask().await {
            Err(ClusterError::Away { .. }) if begun.elapsed() < BEGIN => tokio::time::sleep(PAUSE).await,
            answer => return answer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    fn away() -> ClusterError {
        ClusterError::Away { address: "restate://h:1".into(), why: "Connection refused".into() }
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_comes_back_is_asked_again() {
        let asked = Cell::new(0);
        let answer = until_there(|| {
            asked.set(asked.get() + 1);
            std::future::ready(if asked.get() < 20 { Err(away()) } else { Ok(asked.get()) })
        });
        assert_eq!(answer.await.unwrap(), 20);
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_stays_away_is_given_up_after_ten_to_fifteen_seconds() {
        let begun = Instant::now();
        let answer: Result<(), _> = until_there(|| std::future::ready(Err(away()))).await;
        assert!(matches!(answer, Err(ClusterError::Away { .. })));
        let took = begun.elapsed().as_secs();
        assert!((10..=15).contains(&took), "{took} s");
    }

    #[tokio::test(start_paused = true)]
    async fn what_a_server_refuses_is_not_asked_again() {
        let asked = Cell::new(0);
        let answer: Result<(), _> = until_there(|| {
            asked.set(asked.get() + 1);
            std::future::ready(Err(ClusterError::Unreadable("x".into())))
        })
        .await;
        assert!(answer.is_err());
        assert_eq!(asked.get(), 1);
    }
}
