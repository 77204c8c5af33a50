//! Asks for what all processes of the machine share, in threads of its own, because the table may keep its callers waiting.
//!
//! One thread takes requests and gives leases back, in order. Another one listens: to the bell that says that a request was
//! granted, and to the time, for heartbeats. Answers are facts of the run. What is kept true: a request is answered once; a
//! lease goes back, whatever becomes of the run; a table that is held by a stopped process is waited for, and said so.

mod listener;
mod pending;
mod requests;
mod samples;
mod services;
#[cfg(test)]
mod tests;

use crate::capacity::terms::{Counts, Fence, RequestNo, Return, Want};
use crate::fact::{CapacityFact, What};
use crate::handle::Handle;
use convoke_capacity::{Capacity, Error, Lease, LeaseStatus, ResourceId, Ticket};
use convoke_govern::{LearnedLimit, Sample};
use convoke_model::hash::HashMap;
use pending::PendingRequests;
pub(crate) use requests::table_name;
use services::ServiceState;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

/// A run's part in the capacity of its machine.
pub(crate) struct CapacityClient {
    state: Arc<SharedState>,
    requests: Option<Sender<Request>>,
    worker: Option<JoinHandle<()>>,
}

/// What the threads share.
struct SharedState {
    table: Arc<Capacity>,
    handle: Handle,
    ttl: Duration,
    pending: Mutex<PendingRequests<Ticket>>,
    /// Apart from the pending requests, which are locked while the table is asked: looking at a lease must not wait for that.
    leases: Mutex<HashMap<Fence, Lease>>,
    known: Mutex<HashMap<String, Known>>,
    /// Services that the run asks, and what it knows of each.
    services: Mutex<HashMap<String, ServiceState>>,
    /// Requests that wait for money, which may be spent by others meanwhile.
    unpaid: Mutex<HashMap<RequestNo, Vec<Want>>>,
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

enum Request {
    Lease(RequestNo, Vec<Want>),
    Withdraw(RequestNo),
    GiveBack(Return),
    Allow(String, u64),
    Subscribe(String, Option<LearnedLimit>),
    CallStarted(String),
    CallEnded(String),
    ReportSample(String, Sample),
    Pause(String, Duration),
}

impl CapacityClient {
    /// Takes part, and tells the run what comes of it.
    pub fn start(table: Arc<Capacity>, ttl: Duration, handle: Handle) -> std::io::Result<CapacityClient> {
        let state = Arc::new(SharedState {
            table,
            handle,
            ttl,
            pending: Mutex::default(),
            leases: Mutex::default(),
            known: Mutex::default(),
            services: Mutex::default(),
            unpaid: Mutex::default(),
            closed: AtomicBool::new(false),
            stuck: AtomicBool::new(false),
            troubled: AtomicBool::new(false),
        });
        // Unbounded, because the run's loop sends, and must not wait for a table that a stopped process keeps. Bounded in
        // practice: each attempt and each call under way sends a few requests, a run has `max_concurrency` of them at once, and
        // while the table is stuck no lease is renewed, so after half a time to live no attempt makes a further call.
        let (requests, inbox) = channel();
        let (worker, listener) = (state.clone(), state.clone());
        std::thread::Builder::new().name("heartbeat".into()).spawn(move || listener.watch())?;
        let worker =
            std::thread::Builder::new().name("capacity".into()).spawn(move || worker.serve(&inbox))?;
        Ok(CapacityClient { state, requests: Some(requests), worker: Some(worker) })
    }

    /// Asks for all of this at once. The answer is a fact.
    pub fn request(&self, request: RequestNo, wants: Vec<Want>) {
        self.send(Request::Lease(request, wants));
    }

    /// Takes a request back. Its lease, if it was granted meanwhile, goes back too.
    pub fn withdraw(&self, request: RequestNo) {
        self.send(Request::Withdraw(request));
    }

    /// Gives a lease back.
    pub fn give_back(&self, back: Return) {
        self.send(Request::GiveBack(back));
    }

    /// Raises a budget for all processes, if they share it.
    pub fn allow(&self, budget: String, limit: u64) {
        self.send(Request::Allow(budget, limit));
    }

    /// Tells the run from now on when a service told another process to come back later.
    /// What is learned of it is learned by all processes together.
    pub fn subscribe(&self, service: String, remembered: Option<LearnedLimit>) {
        self.send(Request::Subscribe(service, remembered));
    }

    /// Counts a call that is made to a service without a lease.
    pub fn call_started(&self, service: String) {
        self.send(Request::CallStarted(service));
    }

    /// Such a call has ended.
    pub fn call_ended(&self, service: String) {
        self.send(Request::CallEnded(service));
    }

    /// Learns from a call, for all processes.
    pub fn report_sample(&self, service: String, sample: Sample) {
        self.send(Request::ReportSample(service, sample));
    }

    /// Tells other processes that a service said to come back later.
    pub fn pause(&self, service: String, pause: Duration) {
        self.send(Request::Pause(service, pause));
    }

    fn send(&self, request: Request) {
        // The thread ends only after this handle is gone.
        let _ = self.requests.as_ref().map(|requests| requests.send(request));
    }

    /// How good a lease is at this moment.
    pub fn lease_status(&self, fence: Fence) -> LeaseStatus {
        let lease = self.state.leases().get(&fence).copied();
        lease.map_or(LeaseStatus::Lost, |lease| self.state.table.check(&lease))
    }

    /// Whether another process waits for something that this one uses.
    pub fn is_crowded(&self) -> bool {
        self.state.is_crowded()
    }
}

impl SharedState {
    fn pending(&self) -> MutexGuard<'_, PendingRequests<Ticket>> {
        self.pending.lock().expect("a panic poisoned this lock")
    }

    fn leases(&self) -> MutexGuard<'_, HashMap<Fence, Lease>> {
        self.leases.lock().expect("a panic poisoned this lock")
    }

    fn known(&self) -> MutexGuard<'_, HashMap<String, Known>> {
        self.known.lock().expect("a panic poisoned this lock")
    }

    fn unpaid(&self) -> MutexGuard<'_, HashMap<RequestNo, Vec<Want>>> {
        self.unpaid.lock().expect("a panic poisoned this lock")
    }

    fn tell(&self, fact: CapacityFact) {
        self.handle.send(What::Capacity(fact));
    }

    /// Does something with the table, however long a stopped process keeps it; says so once. `None` once the client is
    /// closed and its run does not wait for the answer any more.
    fn insist<T>(&self, mut act: impl FnMut(&Capacity) -> Result<T, Error>) -> Option<Result<T, Error>> {
        loop {
            match act(&self.table) {
                Err(stuck @ Error::Stuck { .. }) => {
                    if !self.stuck.swap(true, Ordering::Relaxed) {
                        self.tell(CapacityFact::Noted { code: "capacity_stuck", message: stuck.to_string() });
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

impl Drop for CapacityClient {
    /// Lets what was ordered be done. The thread that listens ends by itself, soon, and with it the part in the table.
    fn drop(&mut self) {
        self.requests = None;
        self.state.closed.store(true, Ordering::Relaxed);
        if let Some(worker) = self.worker.take() {
            let _ = worker.join();
        }
    }
}
