use super::*;
use crate::process::MARK;
use std::io::{BufRead, BufReader};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};

/// A process group like one of ours, whose engine is gone; its leader has printed a line when this returns.
fn orphaned(script: &str) -> (Child, u32, u64) {
    let mut command = Command::new("sh");
    command.args(["-c", script]).env(MARK, format!("lost-{script}")).process_group(0);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let start = Process::find(Pid::from_child(&child)).unwrap().start;
    let pid = child.id();
    (child, pid, start)
}

#[test]
fn leftovers_are_ended_and_strangers_are_not() {
    let (mut child, pid, start) = orphaned("sleep 1000 & echo up; wait");
    assert_eq!(end_leftovers(pid, start + 1), Leftovers::None);
    assert!(Process::find(Pid::from_child(&child)).is_some_and(|leader| leader.is_alive()));
    assert_eq!(end_leftovers(pid, start), Leftovers::Ended);
    assert_eq!(child.wait().unwrap().signal(), Some(Signal::KILL.as_raw()));
    assert_eq!(end_leftovers(pid, start), Leftovers::None);
}

#[test]
fn leftovers_are_found_without_their_leader() {
    let (mut child, pid, start) = orphaned("sleep 999 & echo $!");
    child.wait().unwrap();
    assert_eq!(end_leftovers(pid, start), Leftovers::Ended);
    assert_eq!(end_leftovers(pid, start), Leftovers::None);
}
