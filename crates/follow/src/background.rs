//! Follows from a thread of its own, for as long as the process lives or until it is told to stop.
//!
//! Invariant: whatever the receiver does, the process ends no later than it wants to; what is not delivered by then is delivered by the
//! next process.

use crate::backoff::Backoff;
use crate::{Consumer, Error, Forwarder, Lease, Since};
use convoke_journal::StateDir;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// How often runs are asked for news.
const PERIOD: Duration = Duration::from_millis(500);

/// How often a process asks whether the one that delivers is gone.
const TURN: Duration = Duration::from_secs(2);

/// After this a forwarder tries again whose own files could not be used.
const TROUBLE: Duration = Duration::from_secs(10);

/// A forwarder at work.
pub struct Following {
    /// Until when it may go on; `None` as long as it likes.
    stop: watch::Sender<Option<Instant>>,
    ended: Receiver<()>,
}

impl Following {
    /// Starts to follow. A process that is not the first waits for its turn. What `make` makes lives on the thread.
    pub fn start<C: Consumer>(
        state: StateDir,
        label: String,
        since: Since,
        make: impl Fn() -> C + Send + 'static,
    ) -> Result<Following, Error> {
        let (stop, stopped) = watch::channel(None);
        let (end, ended) = channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let thread = std::thread::Builder::new().name("follow".to_owned());
        thread.spawn(move || {
            let mut work = Work { state, label, since, stopped };
            runtime.block_on(work.follow(&make));
            runtime.shutdown_background();
            end.send(()).ok();
        })?;
        Ok(Following { stop, ended })
    }

    /// Has all of them deliver what is there and end, within this time at most for all together: one whose receiver hangs takes
    /// nothing from the others.
    pub fn stop_all(all: Vec<Following>, within: Duration) {
        let end = Instant::now() + within;
        for following in &all {
            // One that has ended already hears nothing.
            following.stop.send(Some(end)).ok();
        }
        for following in all {
            following.ended.recv_timeout(end.saturating_duration_since(Instant::now())).ok();
        }
    }
}

struct Work {
    state: StateDir,
    label: String,
    since: Since,
    stopped: watch::Receiver<Option<Instant>>,
}

impl Work {
    async fn follow<C: Consumer>(&mut self, make: &impl Fn() -> C) {
        loop {
            match self.take_turn(make()) {
                Ok(Some(forwarder)) => {
                    if self.deliver(forwarder).await.is_ok() {
                        return;
                    }
                    self.rest(TROUBLE).await;
                }
                Ok(None) => self.rest(TURN).await,
                Err(_) => self.rest(TROUBLE).await,
            }
            if self.deadline().is_some() {
                return;
            }
        }
    }

    fn take_turn<C: Consumer>(&self, consumer: C) -> Result<Option<Forwarder<C>>, Error> {
        let Some(lease) = Lease::take(&self.state, consumer.name())? else { return Ok(None) };
        Forwarder::open(&self.state, consumer, &self.label, self.since, lease).map(Some)
    }

    /// Delivers until it is told to stop, and then what is still there.
    async fn deliver<C: Consumer>(&mut self, mut forwarder: Forwarder<C>) -> Result<(), Error> {
        let mut backoff = Backoff::default();
        loop {
            let last = self.deadline();
            let pass = async {
                match last {
                    Some(_) => forwarder.last_pass().await,
                    None => forwarder.pass().await,
                }
            };
            let passed = tokio::select! {
                biased;
                pass = pass => Some(pass?),
                () = over(&mut self.stopped) => None,
            };
            let Some(pass) = passed else { return Ok(()) };
            let wait = match pass.undelivered {
                Some(after) => backoff.fail(after),
                None => {
                    backoff.succeed();
                    PERIOD
                }
            };
            let is_over = pass.undelivered.is_some() || pass.delivered + pass.refused == 0;
            match last {
                Some(_) if is_over => return Ok(()),
                Some(_) => {}
                None => self.rest(wait).await,
            }
        }
    }

    /// Until when it may go on. Without a handle there is no process that wants it any more.
    fn deadline(&self) -> Option<Instant> {
        let stated = *self.stopped.borrow();
        stated.or_else(|| self.stopped.has_changed().is_err().then(Instant::now))
    }

    /// Waits for so long, or until it is told to stop.
    async fn rest(&mut self, time: Duration) {
        if self.deadline().is_none() {
            tokio::time::timeout(time, self.stopped.changed()).await.ok();
        }
    }
}

/// Ready when its time is over.
async fn over(stopped: &mut watch::Receiver<Option<Instant>>) {
    loop {
        let stated = *stopped.borrow_and_update();
        if let Some(deadline) = stated {
            return tokio::time::sleep_until(deadline).await;
        }
        if stopped.changed().await.is_err() {
            return;
        }
    }
}
