//! Facts on their way to runs, in batches: this process has one batch under way to each run, and later facts form the next batch.
//!
//! A run takes a few hundred calls a second, so an attempt's facts must not be calls of their own. Kept true: the facts of one process
//! reach a run in order and once, and a caller that waits for one is told when it is on record. While the cluster is away, the facts wait
//! for as long as the process lives: the cost of an attempt is not dropped.

use crate::error::ClusterError;
use crate::ingress::Ingress;
use crate::wire::{ClusterFact, Head, Sender};
use convoke_model::RunId;
use serde_json::value::{RawValue, to_raw_value};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

/// Facts in one batch, and bytes after which it ends: a bound for the size of a turn.
const MOST_FACTS: usize = 1_024;
const MOST_BYTES: usize = 4 << 20;
/// How long a fact from which nothing follows waits for others.
const FOR_COMPANY: Duration = Duration::from_millis(200);
/// Between tries to reach the cluster.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// How long a turn may take before its batch is sent again; the run knows it by its number.
const TURN: Duration = Duration::from_secs(60);

struct Waiting {
    run: RunId,
    fact: Box<RawValue>,
    /// It may wait a moment for others: nothing follows from it.
    can_wait: bool,
    delivered: Option<oneshot::Sender<()>>,
}

/// Takes facts. Cheap to copy.
#[derive(Clone)]
pub struct FactQueue {
    queue: UnboundedSender<Waiting>,
}

impl FactQueue {
    /// A queue, with the task that empties it.
    pub fn start(process: String, ingress: Ingress, remarks: UnboundedSender<String>) -> FactQueue {
        // Attempts send facts, of which there are as many as the process has slots, and wait for most of them.
        let (queue, facts) = unbounded_channel();
        tokio::spawn(distribute(process, ingress, remarks, facts));
        FactQueue { queue }
    }

    /// Sends a fact without waiting.
    pub fn send(&self, run: &RunId, fact: &ClusterFact) {
        self.put(run, fact, None, false);
    }

    /// Sends a fact from which nothing follows: it goes along with the next one, if that comes soon.
    pub fn mention(&self, run: &RunId, fact: &ClusterFact) {
        self.put(run, fact, None, true);
    }

    /// Sends a fact; ready once it is on record. `false` if the process ends before.
    pub async fn deliver(&self, run: &RunId, fact: &ClusterFact) -> bool {
        let (delivered, wait) = oneshot::channel();
        self.put(run, fact, Some(delivered), false);
        wait.await.is_ok()
    }

    fn put(&self, run: &RunId, fact: &ClusterFact, delivered: Option<oneshot::Sender<()>>, can_wait: bool) {
        let fact = to_raw_value(fact).expect("facts are JSON");
        self.queue.send(Waiting { run: run.clone(), fact, can_wait, delivered }).ok();
    }
}

/// Gives each run that has facts a task of its own, until it has none left.
async fn distribute(
    process: String,
    ingress: Ingress,
    remarks: UnboundedSender<String>,
    mut facts: UnboundedReceiver<Waiting>,
) {
    let mut runs: HashMap<RunId, UnboundedSender<Waiting>> = HashMap::new();
    while let Some(waiting) = facts.recv().await {
        let lane = match runs.entry(waiting.run.clone()) {
            Entry::Occupied(lane) => lane.into_mut(),
            Entry::Vacant(place) => {
                let (lane, facts) = unbounded_channel();
                let carrier = Carrier {
                    process: process.clone(),
                    run: waiting.run.clone(),
                    ingress: ingress.clone(),
                    remarks: remarks.clone(),
                };
                tokio::spawn(carrier.carry(facts));
                place.insert(lane)
            }
        };
        lane.send(waiting).ok();
    }
}

struct Carrier {
    process: String,
    run: RunId,
    ingress: Ingress,
    remarks: UnboundedSender<String>,
}

impl Carrier {
    async fn carry(self, mut facts: UnboundedReceiver<Waiting>) {
        let (mut batch, mut next) = (0, None);
        while let Some(first) = match next.take() {
            Some(first) => Some(first),
            None => facts.recv().await,
        } {
            batch += 1;
            let mut bytes = first.fact.get().len();
            let mut all = vec![first];
            let until = Instant::now() + FOR_COMPANY;
            while all.iter().all(|fact| fact.can_wait)
                && let Ok(Some(more)) = timeout_at(until, facts.recv()).await
            {
                bytes += more.fact.get().len();
                all.push(more);
            }
            while let Ok(more) = facts.try_recv() {
                bytes += more.fact.get().len();
                if all.len() >= MOST_FACTS || bytes > MOST_BYTES {
                    next = Some(more);
                    break;
                }
                all.push(more);
            }
            let body = self.body(batch, &all);
            self.hand_over(body).await;
            for delivered in all.into_iter().filter_map(|fact| fact.delivered) {
                delivered.send(()).ok(); // an attempt that was stopped does not wait any more
            }
        }
    }

    /// A batch, as a [`Delivery`](crate::wire::Delivery) is written, with facts that are JSON already.
    fn body(&self, batch: u64, all: &[Waiting]) -> Vec<u8> {
        #[derive(serde::Serialize)]
        struct Written<'a> {
            sender: Sender,
            facts: Vec<&'a RawValue>,
        }
        let sender = Sender { process: self.process.clone(), batch };
        let facts = all.iter().map(|waiting| &*waiting.fact).collect();
        serde_json::to_vec(&Written { sender, facts }).expect("facts are JSON")
    }

    /// Sends a batch until the run has it.
    async fn hand_over(&self, body: Vec<u8>) {
        let (path, mut pause, mut told) = (format!("ConvokeRun/{}/deliver", self.run), FIRST_PAUSE, false);
        loop {
            let sent: Result<Head, ClusterError> = self.ingress.send(&path, body.clone(), Some(TURN)).await;
            let Err(error) = sent else { return };
            if !std::mem::replace(&mut told, true) {
                let words = format!("facts for run {} wait for the cluster: {error}", self.run);
                self.remarks.send(words).ok();
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::Address;
    use crate::wire::{Delivery, Said};
    use convoke_model::Timestamp;

    #[test]
    fn a_batch_is_read_as_a_delivery() {
        let run = RunId("r".into());
        let fact = ClusterFact { at: Timestamp(7), said: Said::Interrupt { now: true, by: "b".into() } };
        let waiting = Waiting {
            run: run.clone(),
            fact: to_raw_value(&fact).unwrap(),
            can_wait: false,
            delivered: None,
        };
        let ingress = Ingress::new("restate://127.0.0.1:1".parse::<Address>().unwrap()).unwrap();
        let carrier = Carrier { process: "p".into(), run, ingress, remarks: unbounded_channel().0 };
        let delivery: Delivery = serde_json::from_slice(&carrier.body(3, &[waiting])).unwrap();
        assert_eq!(delivery.sender, Some(Sender { process: "p".into(), batch: 3 }));
        assert_eq!(delivery.facts.len(), 1);
    }
}
