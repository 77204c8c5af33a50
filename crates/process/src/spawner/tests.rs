use super::*;
use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};

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
        wait(Spawner::new("test").start(command).await.unwrap()).await.code()
    };
    assert_eq!(held(0).await, Some(0));
    assert_eq!(held(leaky).await, Some(1));
}

#[tokio::test]
async fn processes_die_with_the_thread_that_started_them() {
    let spawner = Spawner::new("test");
    let mut command = Command::new("sleep");
    command.arg("1000");
    let child = spawner.start(command).await.unwrap();
    drop(spawner);
    assert_eq!(wait(child).await.signal(), Some(9));
}

/// It was started and handed over, and whoever wanted it is gone before it looks.
#[tokio::test]
async fn what_nobody_takes_ends_with_what_it_started() {
    let (mut reader, writer) = std::io::pipe().unwrap();
    let spawner = Spawner::new("test");
    let mut command = Command::new("sh");
    command.args(["-c", "sleep 1000 & wait"]).stdout(Stdio::from(writer));
    let mut starting = Box::pin(spawner.start(command));
    // Polled once, so that the order is given, and never again.
    assert!(futures::poll!(&mut starting).is_pending());
    drop(starting);
    // The pipe ends when nobody holds it any more: not the shell, and not what it started.
    let ended = tokio::task::spawn_blocking(move || std::io::Read::read(&mut reader, &mut [0; 1]));
    assert_eq!(ended.await.unwrap().unwrap(), 0);
}
