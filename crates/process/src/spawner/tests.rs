use super::*;
use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};

async fn start(spawner: &Spawner, command: Command) -> Child {
    let started = spawner
        .start_unless(
            Order { command, recording: None, outlives: false, until: None },
            std::future::pending(),
            |_| {},
        )
        .await
        .unwrap();
    started.expect("nobody takes it back")
}

async fn wait(mut child: Child) -> ExitStatus {
    tokio::task::spawn_blocking(move || child.wait()).await.unwrap().unwrap()
}

#[tokio::test]
async fn no_descriptor_is_inherited() {
    let file = tempfile::tempfile().unwrap();
    // SAFETY: duplicates a descriptor that is open, without close-on-exec.
    let leaky = unsafe { libc::dup(file.as_raw_fd()) };
    assert!(leaky > 2);
    // Asked without a shell, which has descriptors of its own while it starts others.
    let held = async |number: i32| {
        let mut command = Command::new("readlink");
        command.arg(format!("/proc/self/fd/{number}")).stdin(Stdio::null()).stdout(Stdio::null());
        wait(start(&Spawner::new("test"), command).await).await.code()
    };
    assert_eq!(held(0).await, Some(0));
    assert_eq!(held(leaky).await, Some(1));
}

#[tokio::test]
async fn processes_die_with_the_thread_that_started_them() {
    let spawner = Spawner::new("test");
    let mut command = Command::new("sleep");
    command.arg("1000");
    let child = start(&spawner, command).await;
    drop(spawner);
    assert_eq!(wait(child).await.signal(), Some(9));
}

/// It was started and handed over, and the caller is gone before it looks.
#[tokio::test]
async fn what_nobody_takes_ends_with_what_it_started() {
    let (mut reader, writer) = std::io::pipe().unwrap();
    let spawner = Spawner::new("test");
    let mut command = Command::new("sh");
    command.args(["-c", "sleep 1000 & wait"]).stdout(Stdio::from(writer));
    let mut starting = Box::pin(start(&spawner, command));
    // Polled once, so that the request is sent, and never again.
    assert!(futures::poll!(&mut starting).is_pending());
    drop(starting);
    // The pipe ends when no process holds it any more: not the shell, and not what it started.
    let ended = tokio::task::spawn_blocking(move || std::io::Read::read(&mut reader, &mut [0; 1]));
    assert_eq!(ended.await.unwrap().unwrap(), 0);
}

/// What was taken back before its turn came is never started; what the thread has taken is handed over.
#[tokio::test]
async fn a_command_is_started_or_taken_back_and_never_both() {
    let folder = tempfile::tempdir().unwrap();
    let spawner = Spawner::new("test");
    let (mut started, mut taken_back) = (0, 0);
    for number in 0..60 {
        let witness = folder.path().join(number.to_string());
        let mut command = Command::new("touch");
        command.arg(&witness);
        // Each time it is taken back a little later.
        let mut looks = number;
        let later = std::future::poll_fn(move |context| {
            looks -= 1;
            context.waker().wake_by_ref();
            if looks < 0 { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
        });
        match spawner
            .start_unless(Order { command, recording: None, outlives: false, until: None }, later, |_| {})
            .await
            .unwrap()
        {
            Some(child) => {
                assert!(wait(child).await.success() && witness.exists());
                started += 1;
            }
            None => taken_back += 1,
        }
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), started, "of {taken_back} nothing is seen");
    assert!(taken_back > 0, "the first one is taken back at once");
}

#[tokio::test]
async fn a_command_is_not_started_once_its_time_to_start_is_over() {
    let folder = std::env::temp_dir().join(format!("late-{}", std::process::id()));
    let spawner = Spawner::new("late");
    let mut begun = Vec::new();
    for until in [Instant::now() - std::time::Duration::from_millis(1), Instant::now() + LONG] {
        let mut command = Command::new("touch");
        command.arg(&folder);
        let order = Order { command, recording: None, outlives: false, until: Some(until) };
        let started = spawner.start_unless(order, std::future::pending(), |_| {}).await;
        begun.push(
            started.map(|child| child.unwrap().wait().unwrap().success()).map_err(|error| error.kind()),
        );
        assert_eq!(folder.exists(), begun.len() == 2, "{begun:?}");
    }
    std::fs::remove_file(folder).unwrap();
    assert_eq!(begun, [Err(io::ErrorKind::TimedOut), Ok(true)]);
}

const LONG: std::time::Duration = std::time::Duration::from_secs(600);
