//! An attempt that another process performs, as the owner lives it: what the thief says is said on the real line.
//!
//! Ends with the attempt's end; as lost when the thief is gone or silent. A thief that is silent (stopped, say) may have a
//! call under way, so what is held for it is kept until it answers, ends, or its longest call must be over. When it goes
//! on it finds that it is to stop.

use super::link::Link;
use super::owner::Lent;
use super::wire::{FromOwner, FromThief, Permission, Saying};
use convoke_agent::{Admitted, CallPermit, EngineLink, Report};
use convoke_capacity::{OfferId, Progress};
use convoke_model::{AttemptEnd, Class, Failure, JsonText, Usage};
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

/// How often a thief's heartbeat is looked at.
const LOOK: Duration = Duration::from_secs(1);

/// A thief that has begun.
pub struct Given {
    /// What it says.
    pub link: Link<FromThief, FromOwner>,
    /// Its process id.
    pub pid: u32,
}

/// Lives through the attempt.
pub async fn serve(
    given: Given,
    lent: &Lent,
    id: OfferId,
    line: Arc<dyn EngineLink>,
    cancel: CancellationToken,
) -> AttemptEnd {
    line.report(Report::TakenBy { pid: given.pid });
    let mut service =
        Service { line, permits: HashMap::new(), asked: FuturesUnordered::new(), processes: Vec::new() };
    let mut link = given.link;
    match service.attend(&mut link, lent, id, &cancel).await {
        Attended::Ended(end) => {
            link.close().await;
            *end
        }
        Attended::Gone => service.lost(&cancel).await,
        Attended::Silent => {
            service.line.report(silence(given.pid));
            service.line.report(Report::Silent);
            let (line, permits) = (service.line.clone(), std::mem::take(&mut service.permits));
            lent.silent.spawn(wait_for_word(link, lent.longest, line, permits));
            service.lost(&cancel).await
        }
    }
}

/// How attending to a thief came to its end.
enum Attended {
    Ended(Box<AttemptEnd>),
    /// The thief is gone.
    Gone,
    /// It says nothing, and may come back.
    Silent,
}

fn silence(pid: u32) -> Report {
    let message = format!(
        "process {pid} performs it and is silent: begun again here; what it holds counts until that process answers or ends"
    );
    Report::Noted { code: "worker_silent", message }
}

/// Keeps what a silent thief holds until nothing of it can be in use.
async fn wait_for_word(
    mut link: Link<FromThief, FromOwner>,
    longest: Duration,
    line: Arc<dyn EngineLink>,
    permits: HashMap<u64, CallPermit>,
) {
    link.send(FromOwner::Cancel);
    let over = async {
        while let Some(said) = link.next().await {
            if let FromThief::End(_) = said {
                link.send(FromOwner::Gone);
                return;
            }
        }
    };
    let _ = tokio::time::timeout(longest, over).await;
    line.report(Report::LetGo);
    drop(permits);
    link.close().await;
}

struct Service {
    line: Arc<dyn EngineLink>,
    /// What is held for calls that the thief makes.
    permits: HashMap<u64, CallPermit>,
    /// Questions that the real line has not answered yet.
    asked: FuturesUnordered<BoxFuture<'static, Answer>>,
    /// What the thief has started, to be ended if it is gone.
    processes: Vec<(u32, u64)>,
}

enum Answer {
    Admitted(u64, Result<Admitted, Failure>),
    Recorded(u64, Result<(), Failure>),
    Recalled(u64, Option<JsonText>),
}

impl Service {
    /// Listens and answers until the attempt has ended, or the thief is gone or silent.
    async fn attend(
        &mut self,
        link: &mut Link<FromThief, FromOwner>,
        lent: &Lent,
        id: OfferId,
        cancel: &CancellationToken,
    ) -> Attended {
        let mut clock = interval(LOOK.min(lent.silence / 2));
        clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut told = false;
        loop {
            tokio::select! {
                biased;
                said = link.next() => match said {
                    None => return Attended::Gone,
                    Some(FromThief::End(end)) => {
                        link.send(FromOwner::Done);
                        return Attended::Ended(end);
                    }
                    Some(said) => self.hear(said),
                },
                Some(answer) = self.asked.next() => link.send(self.told(answer)),
                () = cancel.cancelled(), if !told => {
                    told = true;
                    link.send(FromOwner::Cancel);
                }
                _ = clock.tick() => match lent.table.take_back(id) {
                    Progress::Claimed { .. } if lent.table.is_silent(id, lent.silence) => return Attended::Silent,
                    Progress::Claimed { .. } => {}
                    _ => return Attended::Gone,
                },
            }
        }
    }

    fn hear(&mut self, said: FromThief) {
        match said {
            FromThief::Said(saying) => self.report(saying),
            FromThief::Admit { number, demand } => {
                let line = self.line.clone();
                self.ask(async move { Answer::Admitted(number, line.admit(demand).await) });
            }
            FromThief::Settled { number, usage, failure } => {
                if let Some(permit) = self.permits.remove(&number) {
                    self.line.settle(permit, &usage, failure.as_ref());
                }
            }
            FromThief::Dropped { number } => drop(self.permits.remove(&number)),
            FromThief::Record { number, record } => {
                let line = self.line.clone();
                self.ask(async move { Answer::Recorded(number, line.record(record).await) });
            }
            FromThief::SettleTools { number, allowed } => {
                let line = self.line.clone();
                self.ask(async move { Answer::Recorded(number, line.settle_tools(allowed).await) });
            }
            FromThief::Recall { number, digest } => {
                let line = self.line.clone();
                self.ask(async move { Answer::Recalled(number, line.recall(digest).await) });
            }
            // Said before the beginning, and taken there.
            FromThief::Hello { .. } | FromThief::Ready | FromThief::Refused { .. } | FromThief::End(_) => {}
        }
    }

    fn ask(&mut self, answer: impl Future<Output = Answer> + Send + 'static) {
        self.asked.push(Box::pin(answer));
    }

    fn report(&mut self, saying: Saying) {
        if let Saying::ProcessStarted { pid, start } = saying {
            self.processes.push((pid, start));
        }
        self.line.report(saying.into());
    }

    /// An answer of the real line, as the thief is told it. The permit itself stays here.
    fn told(&mut self, answer: Answer) -> FromOwner {
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

    /// The thief is gone. What it has started is ended, before anybody tries again.
    async fn lost(self, cancel: &CancellationToken) -> AttemptEnd {
        let processes = self.processes;
        let ended = tokio::task::spawn_blocking(move || {
            for (pid, start) in processes {
                convoke_tools::end_leftovers(pid, start);
            }
        });
        // What could not be ended is looked for again when the run is resumed.
        ended.await.ok();
        if cancel.is_cancelled() {
            let failure = Failure::new(Class::Cancelled, "the process that performed the attempt is gone");
            return AttemptEnd::Failed { failure, usage: Usage::default(), partial: None };
        }
        AttemptEnd::Lost
    }
}
