//! A journal that takes nothing for now: the disk is full, or another process has the file.
//!
//! The run pauses where it is. What runs goes on to its end, nothing is launched, and no attempt gets a further call,
//! because every permit is an answer to a fact that waits here. When the append succeeds the run goes on by itself. Meanwhile the
//! owner's lock file says that the run is blocked, and on what: the journal cannot. The wait has a bound, and an interrupt ends it at
//! once; then the journal is what it was before the append, with a last word that the ballast had room for, and the run stays
//! listed as blocked until it is resumed.

use crate::error::EngineError;
use crate::fact::What;
use crate::handle::Notice;
use crate::run::Run;
use convoke_failpoint::failpoint;
use convoke_journal::{Append, Blocked, Error};
use convoke_model::{Event, Stamped};
use std::time::Duration;
use tokio::time::Instant;

/// How often the append is tried again. Each try costs a system call or two.
const RETRY_PERIOD: Duration = Duration::from_millis(250);

/// A pause that is under way.
struct Pause {
    since: Instant,
    why: String,
}

impl Run {
    /// Appends, and waits while the journal takes nothing for a reason that may pass.
    pub(crate) async fn make_durable(&mut self, mut append: Append) -> Result<Vec<Stamped>, EngineError> {
        let mut pause: Option<Pause> = None;
        loop {
            let (back, result) = self.try_append(append).await?;
            if result.is_err() {
                failpoint!("engine.append.refused");
            }
            append = back;
            match result {
                Ok(()) => {
                    if let Some(pause) = pause {
                        self.resume(&pause);
                    }
                    return Ok(append.events);
                }
                Err(error) if error.may_pass() => {
                    let since = pause.get_or_insert_with(|| self.begin_pause(&error)).since;
                    if !self.wait_for_another_try(since + self.patience).await {
                        self.last_words(&error).await;
                        return Err(error.into());
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// While nothing runs there is nothing to hear meanwhile, and the commit is made right here; otherwise on the
    /// journal's own thread, so that attempts go on.
    async fn try_append(&mut self, append: Append) -> Result<(Append, Result<(), Error>), EngineError> {
        if self.attempts.len() == 0 {
            let result = self.writer.append_here(&append);
            return Ok((append, result));
        }
        let (reply, answer) = tokio::sync::oneshot::channel();
        self.writer.append(append, move |append, result| {
            let _ = reply.send((append, result));
        });
        Ok(answer.await.map_err(|_| Error::Closed)?)
    }

    fn begin_pause(&self, error: &Error) -> Pause {
        let why = error.to_string();
        if let Some(on) = error.blocks() {
            self.say_blocked(Some(on));
            self.tell(Notice::Paused { why: why.clone(), on, at_most: self.patience });
        }
        Pause { since: Instant::now(), why }
    }

    /// Waits a moment. False if there is nothing left to wait for: the time is over, or an interrupt has come.
    async fn wait_for_another_try(&mut self, until: Instant) -> bool {
        let next = Instant::now() + RETRY_PERIOD;
        if next > until {
            return false;
        }
        let mut facts = Vec::new();
        loop {
            tokio::select! {
                biased;
                _ = self.facts.recv_many(&mut facts, crate::run::TURN_LIMIT) => {}
                () = tokio::time::sleep_until(next) => break,
            }
            self.note(&facts);
            let is_over = facts.iter().any(|fact| matches!(fact.what, What::Interrupt { .. }));
            self.mail.append(&mut facts);
            if is_over {
                return false;
            }
        }
        // The run stays ours while it waits; whether it does, the next append says.
        let _ = self.tenure.confirm().await;
        true
    }

    /// Nothing depends on it, and the next append waits for it in the same queue.
    fn say_blocked(&self, on: Option<Blocked>) {
        self.writer.ask(move |journal| {
            if let Ok(journal) = journal {
                journal.blocked(on);
            }
        });
    }

    /// Records that the run stops, in the room that was kept for it. What the failed append held stays out: nothing of it was done.
    async fn last_words(&self, error: &Error) {
        let Some(Blocked::Disk) = error.blocks() else { return };
        let (at, by) = (self.clock.now(), "a full disk".to_owned());
        let (reply, answer) = tokio::sync::oneshot::channel();
        self.writer.ask(move |journal| {
            if let Ok(journal) = journal
                && journal.next_seq() > 1
            {
                journal.spend_ballast();
                let last = Stamped { seq: journal.next_seq(), at, event: Event::RunInterrupted { by } };
                // Where even this finds no room, the journal ends as after a kill.
                journal.append(&[last], &[], &[]).ok();
            }
            let _ = reply.send(());
        });
        let _ = answer.await;
    }

    /// Tells people, and leaves a line in the journal: the time is missing in every duration else.
    fn resume(&mut self, pause: &Pause) {
        let seconds = pause.since.elapsed().as_secs();
        self.say_blocked(None);
        self.tell(Notice::Resumed { seconds });
        if self.core.scheduler.finished().is_none() {
            let message = format!("the run paused for {seconds} s: {}", pause.why);
            let note = Event::Noted { task: None, code: "paused".into(), message };
            let note = self.core.stamp(self.clock.now(), note);
            self.opening.push(note);
        }
    }

    fn tell(&self, notice: Notice) {
        if let Some(watchers) = &self.watchers {
            let _ = watchers.send(notice);
        }
    }
}
