//! Asks for what all processes of the machine share, in threads of its own, because the table may keep its callers waiting.
//!
//! One thread takes wishes and gives leases back, in order. Another one listens: to the bell that says that a wish was
//! granted, and to the time, for heartbeats. Answers are facts of the run. What is kept true: a wish is answered once; a
//! lease goes back, whatever becomes of the run; a table that is held by a stopped process is waited for, and said so.

mod asks;
mod books;
mod doors;
mod lessons;
#[cfg(test)]
mod tests;
mod watch;

use crate::capacity::terms::{AskNo, Counts, Fence, Return, Want};
use crate::fact::{Capacity as News, What};
use crate::handle::Handle;
pub(crate) use asks::table_name;
use books::Books;
use convoke_capacity::{Capacity, Error, Footing, Lease, ResourceId, Ticket};
use convoke_govern::{LearnedLimit, Lesson};
use doors::Door;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

/// A run's part in the capacity of its machine.
pub(crate) struct Steward {
    office: Arc<Office>,
    orders: Option<Sender<Order>>,
    clerk: Option<JoinHandle<()>>,
}

/// What the threads share.
struct Office {
    table: Arc<Capacity>,
    handle: Handle,
    ttl: Duration,
    books: Mutex<Books<Ticket>>,
    /// Apart from the books, which are held while the table is asked: who looks at a lease must not wait for that.
    leases: Mutex<HashMap<Fence, Lease>>,
    known: Mutex<HashMap<String, Known>>,
    /// Services that the run asks, and what it knows of each.
    doors: Mutex<HashMap<String, Door>>,
    /// Wishes that wait for money, which may be spent by others meanwhile.
    unpaid: Mutex<HashMap<AskNo, Vec<Want>>>,
    closed: AtomicBool,
    stuck: AtomicBool,
    /// The last heartbeat failed, and that was said.
    troubled: AtomicBool,
}

/// A resource of the table.
struct Known {
    id: ResourceId,
    /// The limit in force when it was last looked at.
    limit: u32,
    counts: Counts,
    /// Its limit is what is learned of a service.
    learned: bool,
}

enum Order {
    Ask(AskNo, Vec<Want>),
    Withdraw(AskNo),
    GiveBack(Return),
    Allow(String, u64),
    Heed(String, Option<LearnedLimit>),
    Enter(String),
    Depart(String),
    Teach(String, Lesson),
    Shut(String, Duration),
}

impl Steward {
    /// Takes part, and tells the run what comes of it.
    pub fn start(table: Arc<Capacity>, ttl: Duration, handle: Handle) -> std::io::Result<Steward> {
        let office = Arc::new(Office {
            table,
            handle,
            ttl,
            books: Mutex::default(),
            leases: Mutex::default(),
            known: Mutex::default(),
            doors: Mutex::default(),
            unpaid: Mutex::default(),
            closed: AtomicBool::new(false),
            stuck: AtomicBool::new(false),
            troubled: AtomicBool::new(false),
        });
        let (orders, inbox) = channel();
        let (clerk, watchman) = (office.clone(), office.clone());
        std::thread::Builder::new().name("heartbeat".into()).spawn(move || watchman.watch())?;
        let clerk = std::thread::Builder::new().name("capacity".into()).spawn(move || clerk.serve(&inbox))?;
        Ok(Steward { office, orders: Some(orders), clerk: Some(clerk) })
    }

    /// Asks for all of this at once. The answer is a fact.
    pub fn ask(&self, ask: AskNo, wants: Vec<Want>) {
        self.order(Order::Ask(ask, wants));
    }

    /// Takes a wish back. Its lease, if it was granted meanwhile, goes back too.
    pub fn withdraw(&self, ask: AskNo) {
        self.order(Order::Withdraw(ask));
    }

    /// Gives a lease back.
    pub fn give_back(&self, back: Return) {
        self.order(Order::GiveBack(back));
    }

    /// Raises a budget for all processes, if they share it.
    pub fn allow(&self, budget: String, limit: u64) {
        self.order(Order::Allow(budget, limit));
    }

    /// Tells the run from now on when a service told another process to come back later.
    /// What is learned of it is learned by all processes together.
    pub fn heed(&self, service: String, remembered: Option<LearnedLimit>) {
        self.order(Order::Heed(service, remembered));
    }

    /// Counts a call that is made to a service without a lease.
    pub fn enter(&self, service: String) {
        self.order(Order::Enter(service));
    }

    /// Such a call has ended.
    pub fn depart(&self, service: String) {
        self.order(Order::Depart(service));
    }

    /// Learns from a call, for all processes.
    pub fn teach(&self, service: String, lesson: Lesson) {
        self.order(Order::Teach(service, lesson));
    }

    /// Tells other processes that a service said to come back later.
    pub fn shut(&self, service: String, pause: Duration) {
        self.order(Order::Shut(service, pause));
    }

    fn order(&self, order: Order) {
        // The thread ends only after this handle is gone.
        let _ = self.orders.as_ref().map(|orders| orders.send(order));
    }

    /// How good a lease is at this moment.
    pub fn footing(&self, fence: Fence) -> Footing {
        let lease = self.office.leases().get(&fence).copied();
        lease.map_or(Footing::Lost, |lease| self.office.table.check(&lease))
    }

    /// Whether another process waits for something that this one uses.
    pub fn is_crowded(&self) -> bool {
        self.office.is_crowded()
    }
}

impl Office {
    fn books(&self) -> MutexGuard<'_, Books<Ticket>> {
        self.books.lock().expect("nobody panics while holding it")
    }

    fn leases(&self) -> MutexGuard<'_, HashMap<Fence, Lease>> {
        self.leases.lock().expect("nobody panics while holding it")
    }

    fn known(&self) -> MutexGuard<'_, HashMap<String, Known>> {
        self.known.lock().expect("nobody panics while holding it")
    }

    fn unpaid(&self) -> MutexGuard<'_, HashMap<AskNo, Vec<Want>>> {
        self.unpaid.lock().expect("nobody panics while holding it")
    }

    fn tell(&self, news: News) {
        self.handle.send(What::Capacity(news));
    }

    /// Does something with the table, however long a stopped process keeps it; says so once. `None` once nobody waits for
    /// the answer any more.
    fn insist<T>(&self, mut act: impl FnMut(&Capacity) -> Result<T, Error>) -> Option<Result<T, Error>> {
        loop {
            match act(&self.table) {
                Err(stuck @ Error::Stuck { .. }) => {
                    if !self.stuck.swap(true, Ordering::Relaxed) {
                        self.tell(News::Noted { code: "capacity_stuck", message: stuck.to_string() });
                    }
                    if self.closed.load(Ordering::Relaxed) {
                        return None;
                    }
                }
                answer => {
                    self.stuck.store(false, Ordering::Relaxed);
                    return Some(answer);
                }
            }
        }
    }
}

impl Drop for Steward {
    /// Lets what was ordered be done. The thread that listens ends by itself, soon, and with it the part in the table.
    fn drop(&mut self) {
        self.orders = None;
        self.office.closed.store(true, Ordering::Relaxed);
        if let Some(clerk) = self.clerk.take() {
            let _ = clerk.join();
        }
    }
}
