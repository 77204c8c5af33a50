//! Background tasks with an owner: they end by themselves, or with it.

use std::sync::{Mutex, MutexGuard};
use tokio::task::JoinSet;

/// Background tasks with one owner. They are aborted when this is dropped.
#[derive(Default)]
pub struct BackgroundTasks(Mutex<JoinSet<()>>);

impl BackgroundTasks {
    /// Starts one more, and drops those that have ended.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.tasks();
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task);
    }

    /// Waits for all tasks that were started so far.
    pub async fn finish(&self) {
        let all = std::mem::take(&mut *self.tasks());
        all.join_all().await;
    }

    fn tasks(&self) -> MutexGuard<'_, JoinSet<()>> {
        self.0.lock().expect("a panic poisoned this lock")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::oneshot::{Sender, channel};

    #[tokio::test]
    async fn tasks_end_with_their_owner() {
        let (held, gone) = channel::<()>();
        let tasks = BackgroundTasks::default();
        tasks.spawn(async move {
            let _held: Sender<()> = held;
            std::future::pending().await
        });
        drop(tasks);
        assert!(gone.await.is_err(), "the task was dropped");
    }

    #[tokio::test]
    async fn an_owner_can_wait_for_all_of_them() {
        let (sender, mut received) = channel();
        let tasks = BackgroundTasks::default();
        tasks.spawn(async {});
        tasks.spawn(async move {
            tokio::task::yield_now().await;
            sender.send(()).unwrap();
        });
        tasks.finish().await;
        assert!(received.try_recv().is_ok());
    }
}
