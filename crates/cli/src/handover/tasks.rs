//! Tasks beside the main one, with an owner: they end with it, by themselves or because it is dropped.

use std::sync::{Mutex, MutexGuard};
use tokio::task::JoinSet;

/// Background tasks with one owner. They are aborted when this is dropped.
#[derive(Default)]
pub struct Tasks(Mutex<JoinSet<()>>);

impl Tasks {
    /// Starts one more. Those that have ended are let go of.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.tasks();
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task);
    }

    /// Waits for all that were started so far.
    pub async fn finish(&self) {
        let all = std::mem::take(&mut *self.tasks());
        all.join_all().await;
    }

    fn tasks(&self) -> MutexGuard<'_, JoinSet<()>> {
        self.0.lock().expect("nobody panics while holding it")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::oneshot::{Sender, channel};

    #[tokio::test]
    async fn what_is_under_way_ends_with_its_owner() {
        let (held, gone) = channel::<()>();
        let tasks = Tasks::default();
        tasks.spawn(async move {
            let _held: Sender<()> = held;
            std::future::pending().await
        });
        drop(tasks);
        assert!(gone.await.is_err(), "what the task held is free");
    }

    #[tokio::test]
    async fn an_owner_can_wait_for_all_of_them() {
        let (tell, mut told) = channel();
        let tasks = Tasks::default();
        tasks.spawn(async {});
        tasks.spawn(async move {
            tokio::task::yield_now().await;
            tell.send(()).unwrap();
        });
        tasks.finish().await;
        assert!(told.try_recv().is_ok());
    }
}
