//! Runs a command that outlives the engine, or attaches to one that an earlier attempt started.
//!
//! The command is under way whether or not a process attends to it, so everything that is known of it comes from its slot
//! (`convoke_process`), for the engine that started it as for the one that attaches. Kept true: a command that may have been started is
//! never started again here; where its record says nothing, the outcome is unknown, and the step's `on_unknown` decides. An engine
//! that another one has taken over from ends nothing.

use crate::capture::{Capture, LIMIT};
use crate::launch::{Launcher, refusal};
use crate::process::{DYING, GRACE, cancelled, exit_code, silent};
use convoke_agent::{Report, ScriptResult, Sink};
use convoke_failpoint::failpoint;
use convoke_model::{Class, Failure, ScriptCall, Survival, reason};
use convoke_process::{Group, Recorded, Slot, Standing, Stream, Survivor};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Tells the attempts of one engine apart.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// How often it is looked at whether a command has written anything.
const LOOK: Duration = Duration::from_millis(100);

/// What a command has besides the step's own time before its supervisor ends it: the engine, if it lives, comes first.
const MARGIN: Duration = Duration::from_secs(1);

/// Characters of the key in the name of a slot.
const NAME: usize = 32;

/// A command that outlives the engine.
pub(crate) struct Surviving<'a> {
    pub launcher: &'a Launcher,
    pub call: &'a ScriptCall,
    pub survival: &'a Survival,
    pub folder: &'a Path,
    pub cancel: &'a CancellationToken,
    pub sink: &'a dyn Sink,
}

/// A command that runs, and what this engine has to attend to it.
struct Attended {
    slot: Slot,
    survivor: Survivor,
    /// The supervisor as our child, where it is one.
    group: Option<Group>,
    /// By this the slot knows us.
    engine: String,
}

/// How a start went.
enum Started {
    Runs(Box<Attended>),
    /// It has ended already, in this slot.
    Ended(Slot),
}

impl Surviving<'_> {
    /// Runs or attaches, to the end of the command.
    pub async fn perform(&self) -> Result<ScriptResult, Failure> {
        let found = if self.survival.attach { Some(self.find().await) } else { None };
        failpoint!("survivor.looked_for");
        match found {
            Some((slot, Standing::Finished(recorded))) => self.result(&slot, &recorded),
            Some((slot, Standing::Running(survivor))) => {
                self.follow(self.attend(slot, survivor, None)?).await
            }
            Some((_, Standing::Lost(why))) => Err(self.lost(why)),
            None | Some((_, Standing::Unstarted)) => match self.start().await? {
                Started::Runs(attended) => self.follow(*attended).await,
                Started::Ended(slot) => self.read(&slot),
            },
        }
    }

    /// The names of slots of this step begin so.
    fn prefix(&self) -> String {
        let key = self.call.key.as_deref().unwrap_or_default();
        format!("{}-", &key[..key.len().min(NAME)])
    }

    /// The step's slots, newest first, with their numbers.
    fn slots(&self) -> Vec<(u64, Slot)> {
        let prefix = self.prefix();
        let number = |slot: Slot| Some((slot.name().strip_prefix(&prefix)?.parse().ok()?, slot));
        let mut slots: Vec<(u64, Slot)> = Slot::all(self.folder).into_iter().filter_map(number).collect();
        slots.sort_by_key(|(number, _)| std::cmp::Reverse(*number));
        slots
    }

    fn fresh(&self) -> Slot {
        let next = self.slots().first().map_or(1, |(number, _)| number + 1);
        Slot::at(self.folder.join(format!("{}{next}", self.prefix())))
    }

    /// The newest command of the step, and how it stands.
    async fn find(&self) -> (Slot, Standing) {
        let Some((_, slot)) = self.slots().into_iter().next() else {
            return (self.fresh(), Standing::Lost("its record is gone"));
        };
        let looked = {
            let slot = slot.clone();
            tokio::task::spawn_blocking(move || slot.look()).await
        };
        let standing = looked.map_err(io::Error::other).and_then(|looked| looked);
        (slot, standing.unwrap_or(Standing::Lost("its record cannot be read")))
    }

    /// Starts the command, once nothing of an earlier one is left.
    async fn start(&self) -> Result<Started, Failure> {
        let older: Vec<Slot> = self.slots().into_iter().map(|(_, slot)| slot).collect();
        let slot = self.fresh();
        let ended = tokio::task::spawn_blocking(move || older.iter().filter(|slot| slot.end()).count()).await;
        ended.map_err(|error| refusal(self.call, &io::Error::other(error)))?;
        if self.cancel.is_cancelled() {
            return Err(cancelled(self.call).reason(reason::NEVER_STARTED));
        }
        let surviving = convoke_process::Surviving {
            slot: &slot,
            stdin: self.call.stdin.as_deref(),
            kept: LIMIT as u64,
            limit: self.survival.timeout + MARGIN,
            until: self.sink.starts_until(),
        };
        let started = self.launcher.start_surviving(self.call, surviving, self.cancel, self.sink).await;
        failpoint!("survivor.started");
        let Some(mut group) = started.map_err(|error| refusal(self.call, &error))? else {
            return Err(cancelled(self.call).reason(reason::NEVER_STARTED));
        };
        match slot.look() {
            Ok(Standing::Running(survivor)) => {
                Ok(Started::Runs(Box::new(self.attend(slot, survivor, Some(group))?)))
            }
            _ => {
                group.leader_ends().await;
                group.reap();
                Ok(Started::Ended(slot))
            }
        }
    }

    fn attend(&self, slot: Slot, survivor: Survivor, group: Option<Group>) -> Result<Attended, Failure> {
        let engine = format!("{}.{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        slot.attend(&engine).map_err(|error| refusal(self.call, &error))?;
        failpoint!("survivor.attended");
        let (pid, start) = survivor.identity();
        self.sink.report(Report::SurvivorStarted { pid, start });
        Ok(Attended { slot, survivor, group, engine })
    }

    async fn follow(&self, attended: Attended) -> Result<ScriptResult, Failure> {
        let Attended { slot, survivor, mut group, engine } = attended;
        let stopped = tokio::select! {
            biased;
            () = self.cancel.cancelled() => Some(cancelled(self.call)),
            () = survivor.ends() => None,
            limit = self.silence(&slot) => Some(silent(self.call, limit)),
        };
        if let Some(failure) = stopped {
            if slot.is_attended_by(&engine) {
                survivor.ask_to_end(GRACE).await;
                survivor.kill();
                let _ = tokio::time::timeout(DYING, survivor.ends()).await;
                survivor.kill_escaped();
            }
            return Err(failure);
        }
        failpoint!("survivor.ended");
        if let Some(group) = &mut group {
            group.reap();
        }
        self.read(&slot)
    }

    /// What the record says of a command whose supervisor has ended.
    fn read(&self, slot: &Slot) -> Result<ScriptResult, Failure> {
        match slot.look() {
            Ok(Standing::Finished(recorded)) => self.result(slot, &recorded),
            Ok(Standing::Lost(why)) => Err(self.lost(why)),
            Ok(_) => Err(self.lost("its end is not recorded")),
            Err(error) => Err(self.lost(&error.to_string())),
        }
    }

    /// Ready once the command has written nothing for too long.
    async fn silence(&self, slot: &Slot) -> Duration {
        let Some(limit) = self.call.idle else { return std::future::pending().await };
        let (mut written, mut since) = (slot.written(), Instant::now());
        loop {
            tokio::time::sleep(LOOK.min(limit)).await;
            let now = slot.written();
            if now != written {
                (written, since) = (now, Instant::now());
            } else if since.elapsed() >= limit {
                return limit;
            }
        }
    }

    fn result(&self, slot: &Slot, recorded: &Recorded) -> Result<ScriptResult, Failure> {
        let command = &self.call.command;
        if recorded.timed_out {
            let seconds = self.survival.timeout.as_secs_f64();
            let message =
                format!("command `{command}` was ended when its time of {seconds} s was over (timeout)");
            return Err(Failure::new(Class::Timeout, message).reason(reason::TASK_TIMEOUT));
        }
        let text = |stream| Ok::<_, io::Error>(Capture::of(recorded.stream(slot, stream)?).into_text());
        let streams = text(Stream::Stdout).and_then(|stdout| Ok((stdout, text(Stream::Stderr)?)));
        let unkept = recorded.broken.map(io::Error::from_raw_os_error);
        let (stdout, stderr) = match (unkept, streams) {
            (None, Ok(streams)) => streams,
            (Some(error), _) | (None, Err(error)) => {
                let message =
                    format!("command `{command}` has ended, but its output could not be recorded: {error}");
                return Err(Failure::new(Class::Fatal, message).reason("output_lost"));
            }
        };
        Ok(ScriptResult { stdout, stderr, exit_code: exit_code(ExitStatus::from_raw(recorded.status)) })
    }

    fn lost(&self, why: &str) -> Failure {
        let message = format!("command `{}` is lost: {why}", self.call.command);
        Failure::new(Class::Conflict, message).reason(reason::RECORD_LOST)
    }
}

/// A command that runs without an engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alone {
    /// The beginning of its idempotency key.
    pub key: String,
    /// Its supervisor's process id.
    pub pid: u32,
}

/// Commands that were recorded in this folder and still run.
pub fn alone(folder: &Path) -> Vec<Alone> {
    let slots = Slot::all(folder).into_iter();
    let running = slots.filter_map(|slot| {
        let key = slot.name().rsplit_once('-')?.0.to_owned();
        Some(Alone { key, pid: slot.supervisor()? })
    });
    running.collect()
}

/// Ends all of them; how many there were. Blocks for as long as the dying take.
pub fn end_alone(folder: &Path) -> usize {
    Slot::all(folder).iter().filter(|slot| slot.end()).count()
}
