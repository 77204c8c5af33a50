//! An attempt that another process performs, seen by the owner: reports and questions of the claimant go to the real link.
//!
//! It ends with the attempt's end, or as lost when the claimant is gone or silent. A silent claimant (a stopped process, for
//! one) may have a call under way, so its permits are kept until it answers, ends, or its longest call must be over. When it
//! continues it finds `Cancel`.

use crate::channel::Channel;
use crate::messages::{FromClaimant, FromOwner, Permission, WireReport};
use crate::owner::{EndLeftovers, SharedRun};
use convoke_agent::{Admitted, CallPermit, EngineLink, Report};
use convoke_capacity::{OfferId, Progress};
use convoke_failpoint::failpoint;
use convoke_model::{AttemptEnd, Class, Failure, JsonText, Usage};
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

/// A claimant that may begin.
pub struct Granted {
    /// The connection.
    pub channel: Channel<FromClaimant, FromOwner>,
    /// Its process id.
    pub pid: u32,
}

/// Follows the attempt to its end.
pub async fn follow(
    granted: Granted,
    shared: &SharedRun,
    id: OfferId,
    link: Arc<dyn EngineLink>,
    cancel: CancellationToken,
) -> AttemptEnd {
    link.report(Report::TakenBy { pid: granted.pid });
    let mut attempt = RemoteAttempt {
        link,
        permits: HashMap::new(),
        asked: FuturesUnordered::new(),
        processes: Vec::new(),
    };
    let mut channel = granted.channel;
    match attempt.follow(&mut channel, shared, id, &cancel).await {
        Followed::Ended(end) => {
            channel.close().await;
            *end
        }
        Followed::Gone => attempt.lost(&shared.end_leftovers, &cancel).await,
        Followed::Silent => {
            attempt.link.report(silence(granted.pid));
            attempt.link.report(Report::Silent);
            let (link, permits) = (attempt.link.clone(), std::mem::take(&mut attempt.permits));
            shared.silent.spawn(hold_permits(channel, shared.longest, link, permits));
            attempt.lost(&shared.end_leftovers, &cancel).await
        }
    }
}

/// How following an attempt ended.
enum Followed {
    Ended(Box<AttemptEnd>),
    /// The claimant is gone.
    Gone,
    /// The claimant sends nothing, and may continue.
    Silent,
}

fn silence(pid: u32) -> Report {
    let message = format!(
        "process {pid} performs it and is silent: begun again here; what it holds counts until that process answers or ends"
    );
    Report::Noted { code: "worker_silent", message }
}

/// Keeps the permits of a silent claimant until none of them can be in use.
async fn hold_permits(
    mut channel: Channel<FromClaimant, FromOwner>,
    longest: Duration,
    link: Arc<dyn EngineLink>,
    permits: HashMap<u64, CallPermit>,
) {
    channel.send(FromOwner::Cancel);
    let over = async {
        while let Some(message) = channel.next().await {
            if let FromClaimant::End(_) = message {
                channel.send(FromOwner::Gone);
                return;
            }
        }
    };
    let _ = tokio::time::timeout(longest, over).await;
    link.report(Report::LetGo);
    drop(permits);
    channel.close().await;
}

struct RemoteAttempt {
    link: Arc<dyn EngineLink>,
    /// The permits of calls that the claimant makes.
    permits: HashMap<u64, CallPermit>,
    /// Questions that the real link has not answered yet.
    asked: FuturesUnordered<BoxFuture<'static, Answer>>,
    /// Processes that the claimant has started, to be ended if it is gone.
    processes: Vec<(u32, u64)>,
}

enum Answer {
    Admitted(u64, Result<Admitted, Failure>),
    Recorded(u64, Result<(), Failure>),
    Recalled(u64, Option<JsonText>),
}

impl RemoteAttempt {
    /// Answers the claimant until the attempt has ended, or the claimant is gone or silent.
    async fn follow(
        &mut self,
        channel: &mut Channel<FromClaimant, FromOwner>,
        shared: &SharedRun,
        id: OfferId,
        cancel: &CancellationToken,
    ) -> Followed {
        let mut clock = interval(shared.timeouts.heartbeat.min(shared.silence / 2));
        clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut cancelled = false;
        loop {
            tokio::select! {
                biased;
                message = channel.next() => match message {
                    None => return Followed::Gone,
                    Some(FromClaimant::End(end)) => {
                        failpoint!("handover.end.received");
                        channel.send(FromOwner::Done);
                        return Followed::Ended(end);
                    }
                    Some(message) => self.process(message),
                },
                Some(answer) = self.asked.next() => channel.send(self.message_of(answer)),
                () = cancel.cancelled(), if !cancelled => {
                    cancelled = true;
                    channel.send(FromOwner::Cancel);
                }
                _ = clock.tick() => match shared.table.take_back(id) {
                    Progress::Claimed { .. } if shared.table.is_silent(id, shared.silence) => return Followed::Silent,
                    Progress::Claimed { .. } => {}
                    _ => return Followed::Gone,
                },
            }
        }
    }

    fn process(&mut self, message: FromClaimant) {
        match message {
            FromClaimant::Reported(report) => self.report(report),
            FromClaimant::Admit { number, demand } => {
                let link = self.link.clone();
                self.ask(async move { Answer::Admitted(number, link.admit(demand).await) });
            }
            FromClaimant::Settled { number, usage, failure } => {
                if let Some(permit) = self.permits.remove(&number) {
                    self.link.settle(permit, &usage, failure.as_ref());
                }
            }
            FromClaimant::Dropped { number } => drop(self.permits.remove(&number)),
            FromClaimant::Record { number, record } => {
                let link = self.link.clone();
                self.ask(async move { Answer::Recorded(number, link.record(record).await) });
            }
            FromClaimant::SettleTools { number, allowed } => {
                let link = self.link.clone();
                self.ask(async move { Answer::Recorded(number, link.settle_tools(allowed).await) });
            }
            FromClaimant::Recall { number, digest } => {
                let link = self.link.clone();
                self.ask(async move { Answer::Recalled(number, link.recall(digest).await) });
            }
            // Sent before the beginning, and processed there.
            FromClaimant::Hello { .. }
            | FromClaimant::Ready
            | FromClaimant::Refused { .. }
            | FromClaimant::End(_) => {}
        }
    }

    fn ask(&mut self, answer: impl Future<Output = Answer> + Send + 'static) {
        self.asked.push(Box::pin(answer));
    }

    fn report(&mut self, report: WireReport) {
        if let WireReport::ProcessStarted { pid, start } = report {
            self.processes.push((pid, start));
        }
        self.link.report(report.into());
    }

    /// An answer of the real link, as a message. The permit itself stays here.
    fn message_of(&mut self, answer: Answer) -> FromOwner {
        match answer {
            Answer::Admitted(number, answer) => {
                let answer = answer.map(|admitted| match admitted {
                    Admitted::Go(permit) => {
                        self.permits.insert(number, permit);
                        Permission::Go
                    }
                    Admitted::Instead(model) => Permission::Instead(model),
                });
                FromOwner::Admitted { number, answer }
            }
            Answer::Recorded(number, answer) => FromOwner::Recorded { number, answer },
            Answer::Recalled(number, text) => FromOwner::Recalled { number, text },
        }
    }

    /// The claimant is gone. The processes that it has started are ended before the task is attempted again.
    async fn lost(self, end_leftovers: &EndLeftovers, cancel: &CancellationToken) -> AttemptEnd {
        failpoint!("handover.claimant.gone");
        let (processes, end_leftovers) = (self.processes, end_leftovers.clone());
        let ended = tokio::task::spawn_blocking(move || {
            for (pid, start) in processes {
                end_leftovers(pid, start);
            }
        });
        // Processes that could not be ended are looked for again when the run is resumed.
        ended.await.ok();
        if cancel.is_cancelled() {
            let failure = Failure::new(Class::Cancelled, "the process that performed the attempt is gone");
            return AttemptEnd::Failed { failure, usage: Usage::default(), partial: None };
        }
        AttemptEnd::Lost
    }
}
