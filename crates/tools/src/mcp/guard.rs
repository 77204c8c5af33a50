//! What a server may send without being answered: a bound on its requests, and on what it says before it has greeted us.
//!
//! `rmcp` answers each request of a server from a task of its own. A server that asks without end and reads no answer would fill our
//! memory with them. So no more is read from it while [`UNANSWERED`] answers wait to be written, and one that reads none of them for
//! [`PATIENCE`] has broken the connection: the fault is kept in words, and the connection ends.

use rmcp::model::{JsonRpcMessage, RequestId, ServerNotification};
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// The most requests of a server that are under way at once. Servers ask little: we offer them nothing.
const UNANSWERED: usize = 64;
/// How long a server may leave all answers unread that wait for it.
const PATIENCE: Duration = Duration::from_secs(10);
/// The most messages before the server answers our greeting.
const BEFORE_GREETING: usize = 1_000;

/// Violations of the protocol by a server, shared with the code that explains why a connection ended.
#[derive(Clone, Default)]
pub struct Manners(Arc<State>);

#[derive(Default)]
struct State {
    /// Requests of the server whose answers are not written yet.
    open: Mutex<HashSet<RequestId>>,
    /// An answer was written, or is not wanted any more.
    written: Notify,
    fault: Mutex<Option<String>>,
}

impl Manners {
    /// Why the connection was ended by us, if it was.
    pub fn fault(&self) -> Option<String> {
        lock(&self.0.fault).clone()
    }

    /// The connection cannot be used any more, because of this.
    pub fn broken(&self, fault: String) {
        lock(&self.0.fault).get_or_insert(fault);
    }

    fn close(&self, request: &RequestId) {
        lock(&self.0.open).remove(request);
        self.0.written.notify_one();
    }

    fn is_full(&self) -> bool {
        lock(&self.0.open).len() >= UNANSWERED
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("a panic poisoned this lock")
}

/// A way to a server, with a bound on what it may send.
pub struct Guarded<T> {
    way: T,
    manners: Manners,
    /// Messages before the first answer; `None` once it has come.
    before_greeting: Option<usize>,
    /// When the last answer was written, as far as no more is read since.
    stuck: Option<(usize, Instant)>,
}

impl<T> Guarded<T> {
    /// Bounds what comes this way.
    pub fn new(way: T, manners: Manners) -> Guarded<T> {
        Guarded { way, manners, before_greeting: Some(0), stuck: None }
    }

    /// Waits until answers were written. Whether the server reads none is judged over calls: each may be dropped half-way.
    async fn room(&mut self) -> bool {
        while self.manners.is_full() {
            let open = lock(&self.manners.0.open).len();
            let since = match self.stuck {
                Some((before, since)) if before == open => since,
                _ => Instant::now(),
            };
            self.stuck = Some((open, since));
            let written = self.manners.0.written.notified();
            if tokio::time::timeout_at(since + PATIENCE, written).await.is_err() && self.manners.is_full() {
                let seconds = PATIENCE.as_secs();
                let fault = format!("it sent {open} requests and read no answer for {seconds} s");
                self.manners.broken(fault);
                return false;
            }
        }
        self.stuck = None;
        true
    }

    /// Takes note of a message; false where it is one too many.
    fn note(&mut self, message: &RxJsonRpcMessage<RoleClient>) -> bool {
        match message {
            JsonRpcMessage::Request(request) => {
                lock(&self.manners.0.open).insert(request.id.clone());
            }
            JsonRpcMessage::Notification(told) => {
                if let ServerNotification::CancelledNotification(cancelled) = &told.notification {
                    // What is cancelled is not answered.
                    cancelled.params.request_id.iter().for_each(|request| self.manners.close(request));
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => self.before_greeting = None,
        }
        let Some(before) = &mut self.before_greeting else { return true };
        *before += 1;
        if *before <= BEFORE_GREETING {
            return true;
        }
        self.manners.broken(format!("it sent {BEFORE_GREETING} messages before it answered the greeting"));
        false
    }
}

impl<T: Transport<RoleClient> + 'static> Transport<RoleClient> for Guarded<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let answered = match &item {
            JsonRpcMessage::Response(response) => Some(response.id.clone()),
            JsonRpcMessage::Error(error) => error.id.clone(),
            _ => None,
        };
        let (manners, sent) = (self.manners.clone(), self.way.send(item));
        async move {
            let outcome = sent.await;
            answered.iter().for_each(|request| manners.close(request));
            outcome
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        if !self.room().await {
            return None;
        }
        let message = self.way.receive().await?;
        self.note(&message).then_some(message)
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.way.close().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::collections::VecDeque;
    use std::convert::Infallible;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// A way on which these come, and on which answers are written or not.
    struct Way {
        come: VecDeque<serde_json::Value>,
        read: Arc<AtomicUsize>,
        writes: bool,
    }

    impl Transport<RoleClient> for Way {
        type Error = Infallible;

        fn send(
            &mut self,
            _: TxJsonRpcMessage<RoleClient>,
        ) -> impl Future<Output = Result<(), Infallible>> + Send + 'static {
            let writes = self.writes;
            async move { if writes { Ok(()) } else { std::future::pending().await } }
        }

        async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
            self.read.fetch_add(1, Ordering::Relaxed);
            Some(serde_json::from_value(self.come.pop_front()?).expect("a message"))
        }

        async fn close(&mut self) -> Result<(), Infallible> {
            Ok(())
        }
    }

    fn pings(count: usize) -> VecDeque<serde_json::Value> {
        (0..count).map(|id| json!({"jsonrpc": "2.0", "id": id, "method": "ping"})).collect()
    }

    fn greeted() -> serde_json::Value {
        json!({"jsonrpc": "2.0", "id": 0, "error": {"code": -1, "message": "hello"}})
    }

    fn guarded(come: VecDeque<serde_json::Value>, writes: bool) -> (Guarded<Way>, Manners, Arc<AtomicUsize>) {
        let (read, manners) = (Arc::new(AtomicUsize::new(0)), Manners::default());
        (Guarded::new(Way { come, read: read.clone(), writes }, manners.clone()), manners, read)
    }

    fn pong(id: usize) -> TxJsonRpcMessage<RoleClient> {
        serde_json::from_value(json!({"jsonrpc": "2.0", "id": id, "result": {}})).expect("an answer")
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_asks_and_reads_nothing_is_read_no_further() {
        let mut come = pings(100_000);
        come.push_front(greeted());
        let (mut way, manners, read) = guarded(come, false);
        while way.receive().await.is_some() {}
        assert_eq!(read.load(Ordering::Relaxed), 1 + UNANSWERED);
        let fault = manners.fault();
        assert_eq!(fault.as_deref(), Some("it sent 64 requests and read no answer for 10 s"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_reads_its_answers_may_ask_as_often_as_it_likes() {
        let mut come = pings(1_000);
        come.push_front(greeted());
        let (mut way, manners, _) = guarded(come, true);
        assert!(way.receive().await.is_some());
        for id in 0..1_000 {
            assert!(way.receive().await.is_some(), "{id}: {:?}", manners.fault());
            way.send(pong(id)).await.expect("it is written");
        }
        assert!(way.receive().await.is_none() && manners.fault().is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn what_a_server_cancels_is_not_waited_for() {
        let cancelled = |id: usize| json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
        let mut come: VecDeque<_> =
            pings(500).into_iter().enumerate().flat_map(|(id, ping)| [ping, cancelled(id)]).collect();
        come.push_front(greeted());
        let (mut way, manners, read) = guarded(come, false);
        while way.receive().await.is_some() {}
        assert_eq!((read.load(Ordering::Relaxed), manners.fault()), (1 + 1_000 + 1, None));
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_talks_instead_of_greeting_is_left() {
        let told = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
        let (mut way, manners, _) = guarded(std::iter::repeat_n(told, 5_000).collect(), true);
        while way.receive().await.is_some() {}
        assert!(manners.fault().is_some_and(|fault| fault.contains("before it answered the greeting")));
    }
}
