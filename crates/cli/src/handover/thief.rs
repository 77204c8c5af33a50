//! The thief's side: takes tasks of other processes while there are free seats, and performs them with its own equipment.
//!
//! Waits for offers in a thread of its own, without polling. Every claim that is won ends with `finish`, whatever became of
//! it, so that no offer goes round.

use super::line::Distant;
use super::link::Link;
use super::needs;
use super::seats::{Seat, Seats};
use super::socket;
use super::tasks::Tasks;
use super::wire::{FromOwner, FromThief, Task};
use crate::driving::{Equipment, Gear};
use crate::env;
use convoke_capacity::{Capacity, Claim, Claimed, OpenOffer};
use convoke_journal::StateDir;
use convoke_model::{Assignment, AttemptEnd, Digest, JsonText, RunId};
use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

/// How long the owner may take for each step before the beginning, and to take the end.
const STEP_TIME: Duration = Duration::from_secs(10);

/// How often this process says that it is alive.
const HEARTBEAT: Duration = Duration::from_secs(1);

/// Runs whose connections and servers are kept for their next task.
const MOST_GEARS: usize = 16;

/// How a thief is told to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// What it has begun may end.
    ToFinish,
    /// At once: what it has begun is given up.
    ToStop,
}

/// A process that takes tasks of others.
pub struct Thief {
    table: Arc<Capacity>,
    state: StateDir,
    seats: Arc<Seats>,
    folder: String,
    /// What this process has, as keys of needs.
    held: HashSet<u64>,
    equipment: Mutex<HashMap<Gear, Arc<Equipment>>>,
    /// Ends equipment that made room for another.
    closing: Tasks,
    finishing: CancellationToken,
    stopping: CancellationToken,
    offers: Arc<Notify>,
    /// The receiver of the reasons why offers are not taken, and the reasons sent so far. Each is sent once, so the queue needs no
    /// limit.
    voice: Option<UnboundedSender<String>>,
    said: Mutex<HashSet<String>>,
}

impl Thief {
    /// Gets ready; nothing is taken before [`work`](Self::work).
    pub fn new(state: StateDir, table: Arc<Capacity>, seats: Arc<Seats>) -> io::Result<Thief> {
        let folder = std::env::current_dir()?.display().to_string();
        Ok(Thief {
            held: needs::held(&folder, env::all()),
            table,
            state,
            seats,
            folder,
            equipment: Mutex::default(),
            closing: Tasks::default(),
            finishing: CancellationToken::new(),
            stopping: CancellationToken::new(),
            offers: Arc::default(),
            voice: None,
            said: Mutex::default(),
        })
    }

    /// Says why offers are not taken, each reason once.
    pub fn telling(mut self, voice: UnboundedSender<String>) -> Thief {
        self.voice = Some(voice);
        self
    }

    fn tell(&self, run: &str, why: &str) {
        let Some(voice) = &self.voice else { return };
        let words = format!("run {run} offers work that is not taken: {why}");
        if self.said.lock().expect("nobody panics while holding it").insert(words.clone()) {
            let _ = voice.send(words);
        }
    }

    /// Tells it to stop.
    pub fn stop(&self, how: Told) {
        self.finishing.cancel();
        if how == Told::ToStop {
            self.stopping.cancel();
        }
    }

    /// Takes tasks until it is told to stop, or has had none for so long. Answers with how many it performed.
    pub async fn work(self: Arc<Self>, idle: Option<Duration>) -> io::Result<u64> {
        self.table.set_spare(self.seats.free());
        let ears = Ears::open(self.table.clone(), self.offers.clone())?;
        let (mut tasks, mut done, mut since) = (JoinSet::new(), 0, Instant::now());
        loop {
            self.look(&mut tasks);
            let leaving = idle.filter(|_| tasks.is_empty()).map(|idle| since + idle);
            let over = self.finishing.is_cancelled() || leaving.is_some_and(|at| at <= Instant::now());
            if tasks.is_empty() && over {
                break;
            }
            tokio::select! {
                Some(performed) = tasks.join_next() => {
                    done += u64::from(matches!(performed, Ok(true)));
                    since = Instant::now();
                }
                () = self.offers.notified() => {}
                () = self.seats.changed() => {}
                () = self.finishing.cancelled(), if !self.finishing.is_cancelled() => {}
                () = sleep_until(leaving.unwrap_or(since)), if leaving.is_some() => {}
            }
        }
        self.table.set_spare(0);
        drop(ears);
        self.close_equipment().await;
        Ok(done)
    }

    /// Takes what there is, as long as there are seats, and says how many are left.
    fn look(self: &Arc<Self>, tasks: &mut JoinSet<bool>) {
        if self.finishing.is_cancelled() {
            return self.table.set_spare(0);
        }
        if self.seats.free() > 0 {
            for open in self.table.offers() {
                if self.seats.free() == 0 {
                    break;
                }
                self.try_to_take(open, tasks);
            }
        }
        self.table.set_spare(self.seats.free());
    }

    fn try_to_take(self: &Arc<Self>, open: OpenOffer, tasks: &mut JoinSet<bool>) {
        if let Some(lacking) = open.offer.needs.iter().find(|key| !self.held.contains(key)) {
            // Offers name the folder first, and of variables only digests.
            let is_folder = open.offer.needs.first() == Some(lacking);
            let why = if is_folder {
                "it is run in another folder"
            } else {
                "a variable that it needs has another value here"
            };
            return self.tell(&open.offer.run, why);
        }
        if let Claimed::Won(claim) = self.table.claim(open.id) {
            let (thief, seat) = (self.clone(), self.seats.take());
            tasks.spawn(async move { thief.perform(open, claim, seat).await });
        }
    }

    /// Answers whether the task was performed to its end.
    async fn perform(self: Arc<Self>, open: OpenOffer, claim: Claim, seat: Seat) -> bool {
        let performed = self.meet(&open, claim).await.is_some();
        self.table.finish(&claim);
        drop(seat);
        performed
    }

    /// Goes to the owner with a claim and does what it says.
    async fn meet(&self, open: &OpenOffer, claim: Claim) -> Option<()> {
        let run = RunId(open.offer.run.as_str().into());
        let Some(stream) = socket::connect(&self.state.run_dir(&run)).await.ok().filter(socket::is_ours)
        else {
            self.tell(&open.offer.run, "its process cannot be reached");
            return None;
        };
        let mut link = Link::over(stream);
        let (offer, fence, pid) = (claim.id.number, claim.fence, self.table.pid());
        link.send(FromThief::Hello { offer, fence, pid });
        let Some(FromOwner::Task(text)) = link.next_within(STEP_TIME).await else { return None };
        let (equipment, assignment) = match self.prepare(&text, &open.offer.payload) {
            Ok(ready) => ready,
            Err(why) => {
                self.tell(&open.offer.run, &why);
                link.send(FromThief::Refused { why });
                link.close().await;
                return None;
            }
        };
        link.send(FromThief::Ready);
        let Some(FromOwner::Go) = link.next_within(STEP_TIME).await else { return None };
        if !self.table.holds(&claim) {
            return None;
        }
        self.carry_out(link, &equipment, assignment, claim).await
    }

    /// What performs the task, if this process has what it needs.
    fn prepare(&self, text: &JsonText, digest: &[u8; 32]) -> Result<(Arc<Equipment>, Assignment), String> {
        if Digest::of(text.as_str().as_bytes()).0 != *digest {
            return Err("the task is not the one that was offered".into());
        }
        let task: Task = serde_json::from_str(text.as_str()).map_err(|error| error.to_string())?;
        if let Some(missing) = task.needs.missing(&self.folder, &env::get) {
            return Err(missing);
        }
        Ok((self.equipment_for(task.gear), task.assignment))
    }

    fn equipment_for(&self, gear: Gear) -> Arc<Equipment> {
        let mut known = self.equipment.lock().expect("nobody panics while holding it");
        if let Some(equipment) = known.get(&gear) {
            return equipment.clone();
        }
        if known.len() >= MOST_GEARS {
            self.close_unused(&mut known);
        }
        let equipment = Arc::new(Equipment::for_gear(&gear));
        known.insert(gear, equipment.clone());
        equipment
    }

    /// Performs the attempt. Nothing is said of its end if the owner is gone, or if it was given up here.
    async fn carry_out(
        &self,
        mut link: Link<FromOwner, FromThief>,
        equipment: &Equipment,
        assignment: Assignment,
        claim: Claim,
    ) -> Option<()> {
        let line = Arc::new(Distant::new(link.outgoing(), self.table.clone(), claim));
        let cancel = CancellationToken::new();
        let mut work = equipment.executor().attempt(assignment, line.clone(), cancel.clone());
        let (mut owned, mut given_up) = (true, false);
        let end = loop {
            tokio::select! {
                end = &mut work => break end,
                said = link.next(), if owned => match said {
                    Some(FromOwner::Cancel) => cancel.cancel(),
                    Some(answer) => line.answered(answer),
                    None => {
                        owned = false;
                        line.hang_up();
                        cancel.cancel();
                    }
                },
                () = self.stopping.cancelled(), if !given_up => {
                    given_up = true;
                    cancel.cancel();
                }
            }
        };
        if !owned || given_up && !matches!(end, AttemptEnd::Finished { .. }) {
            return None;
        }
        link.send(FromThief::End(Box::new(end)));
        let taken = link.next_within(STEP_TIME).await;
        matches!(taken, Some(FromOwner::Done)).then_some(())
    }

    async fn close_equipment(&self) {
        let all = std::mem::take(&mut *self.equipment.lock().expect("nobody panics while holding it"));
        for equipment in all.into_values() {
            equipment.close().await;
        }
        self.closing.finish().await;
    }

    /// Ends what no attempt uses at this moment.
    fn close_unused(&self, known: &mut HashMap<Gear, Arc<Equipment>>) {
        for (_, equipment) in known.extract_if(|_, equipment| Arc::strong_count(equipment) == 1) {
            self.closing.spawn(async move { equipment.close().await });
        }
    }
}

/// A thread that hears of offers, and says now and then that this process is alive. Ends when it is dropped.
struct Ears {
    table: Arc<Capacity>,
    closed: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Ears {
    fn open(table: Arc<Capacity>, offers: Arc<Notify>) -> io::Result<Ears> {
        let closed = Arc::new(AtomicBool::new(false));
        let (ours, over) = (table.clone(), closed.clone());
        let listen = move || {
            let mut seen = u32::MAX;
            while !over.load(Ordering::SeqCst) {
                ours.beat();
                let heard = ours.wait_for_offers(seen, HEARTBEAT);
                if std::mem::replace(&mut seen, heard) != heard {
                    offers.notify_one();
                }
            }
        };
        let thread = std::thread::Builder::new().name("offers".into()).spawn(listen)?;
        Ok(Ears { table, closed, thread: Some(thread) })
    }
}

impl Drop for Ears {
    fn drop(&mut self) {
        self.closed.store(true, Ordering::SeqCst);
        self.table.stir();
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
