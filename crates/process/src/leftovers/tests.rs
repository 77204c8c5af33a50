use super::*;
use crate::process::MARK;
use crate::{Launcher, OnDrop};
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use tokio::io::AsyncReadExt;

fn sh(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::piped());
    command
}

/// A command, one of its children in a session of its own, and a supervisor whose engine no longer does anything.
#[tokio::test]
async fn leftovers_are_ended_and_strangers_are_not() {
    let launcher = Launcher::new("test", OnDrop::Kill);
    let script = "setsid sh -c 'echo up; exec sleep 1000' & wait";
    let (mut group, mut pipes) = launcher.start(sh(script)).await.unwrap();
    pipes.stdout.read_exact(&mut [0; 3]).await.unwrap();
    let (pid, start) = group.identity();
    end_leftovers(pid, start + 1);
    assert!(!group.is_gone(), "that is another process");
    assert_eq!(end_leftovers(pid, start), Leftovers::Ended);
    assert_eq!(pipes.stdout.read(&mut [0; 1]).await.unwrap(), 0, "nobody holds the pipe any more");
    assert_eq!(group.reap().unwrap().signal(), Some(9));
}

#[test]
fn what_lost_its_supervisor_and_its_engine_is_found_by_its_mark() {
    let mut child = sh("echo up; exec sleep 1000").env(MARK, "999999999.1.test0-0").spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    end_leftovers(u32::MAX, 1);
    assert_eq!(child.wait().unwrap().signal(), Some(9));
}
