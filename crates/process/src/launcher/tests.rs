use super::*;
use crate::process::Process;
use rustix::process::Pid;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Longer than any of these tests takes, unless something hangs.
const LONG: Duration = Duration::from_secs(60);

fn sh(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]).stdin(Stdio::null());
    command
}

/// A script that has said that it is up.
async fn up(launcher: &Launcher, script: &str) -> (Group, Pipes) {
    let (group, mut pipes) = launcher.start(sh(script)).await.unwrap();
    let mut said = [0; 3];
    pipes.stdout.read_exact(&mut said).await.unwrap();
    assert_eq!(&said, b"up\n");
    (group, pipes)
}

/// What else is said until every process that could say something has ended.
async fn rest(pipes: &mut Pipes) -> String {
    let mut rest = String::new();
    pipes.stdout.read_to_string(&mut rest).await.unwrap();
    rest
}

/// What is still said once the group has been dropped.
async fn dropped(on_drop: OnDrop, script: &str) -> String {
    let (group, mut pipes) = up(&Launcher::new("test", on_drop), script).await;
    drop(group);
    rest(&mut pipes).await
}

// The member says it itself, or the signal might reach it before it is more than a copy of the shell.
const TIDY: &str = "trap 'echo tidied; exit' TERM; sh -c 'echo up; exec sleep 1000' & wait";
const STUBBORN: &str = "trap '' TERM; sleep 1000 & echo up; wait";
const ESCAPING: &str = "setsid sleep 1000 & echo up; wait";

#[tokio::test]
async fn dropped_to_be_killed_it_has_no_time_to_tidy_up() {
    for script in [TIDY, STUBBORN, ESCAPING] {
        assert_eq!(dropped(OnDrop::Kill, script).await, "", "{script}");
    }
}

#[tokio::test]
async fn dropped_to_be_asked_it_tidies_up_first() {
    assert_eq!(dropped(OnDrop::AskFirst { grace: LONG }, TIDY).await, "tidied\n");
}

#[tokio::test]
async fn dropped_to_be_asked_it_ends_though_it_will_not() {
    for script in [STUBBORN, ESCAPING] {
        let on_drop = OnDrop::AskFirst { grace: Duration::from_millis(20) };
        assert_eq!(dropped(on_drop, script).await, "", "{script}");
    }
}

#[tokio::test]
async fn a_group_outlives_its_launcher() {
    let launcher = Launcher::new("test", OnDrop::AskFirst { grace: LONG });
    let mut command =
        sh("trap 'echo tidied; exit' TERM; read word; sh -c \"echo $word; exec sleep 1000\" & wait");
    command.stdin(Stdio::piped());
    let (group, mut pipes) = launcher.start(command).await.unwrap();
    drop(launcher);
    pipes.stdin.take().unwrap().write_all(b"up\n").await.unwrap();
    let mut said = [0; 3];
    pipes.stdout.read_exact(&mut said).await.unwrap();
    assert_eq!(&said, b"up\n");
    drop(group);
    assert_eq!(rest(&mut pipes).await, "tidied\n");
}

#[tokio::test]
async fn asked_to_end_all_members_have_when_the_caller_goes_on() {
    let launcher = Launcher::new("test", OnDrop::Kill);
    let (group, mut pipes) = up(&launcher, TIDY).await;
    assert!(!group.is_gone());
    group.ask_to_end(LONG).await;
    assert!(group.is_gone());
    assert_eq!(rest(&mut pipes).await, "tidied\n");
}

#[tokio::test]
async fn who_does_not_end_when_asked_is_waited_for_no_longer_than_the_grace() {
    let (group, _pipes) = up(&Launcher::new("test", OnDrop::Kill), STUBBORN).await;
    group.ask_to_end(Duration::from_millis(20)).await;
    assert!(!group.is_gone());
    group.kill();
    group.gone(LONG).await;
    assert!(group.is_gone());
}

#[tokio::test]
async fn ending_those_who_left_one_group_leaves_other_groups_alone() {
    let launcher = Launcher::new("test", OnDrop::Kill);
    let (one, mut its) = up(&launcher, ESCAPING).await;
    let (other, _pipes) = up(&launcher, ESCAPING).await;
    one.kill();
    one.kill_escaped();
    assert_eq!(rest(&mut its).await, "");
    one.gone(LONG).await;
    assert!(one.is_gone() && !other.is_gone());
}

#[tokio::test]
async fn the_leader_is_looked_at_without_being_reaped() {
    let (mut group, _pipes) = Launcher::new("test", OnDrop::Kill).start(sh("exit 3")).await.unwrap();
    group.leader_ends().await;
    for _ in 0..2 {
        assert_eq!(group.leader_status().unwrap().exit_status(), Some(3));
    }
    assert_eq!(group.reap().unwrap().code(), Some(3));
    assert!(group.leader_status().is_none() && group.reap().is_none());
}

#[tokio::test]
async fn a_group_is_known_by_its_supervisor_and_that_ones_start() {
    let launcher = Launcher::new("test", OnDrop::Kill);
    let (group, _pipes) = up(&launcher, ESCAPING).await;
    let (pid, start) = group.identity();
    let leader = Process::find(Pid::from_raw(pid as i32).unwrap()).unwrap();
    assert!(leader.is_alive() && start > 0);
    assert_eq!((leader.group, leader.start), (pid as i32, start));
}

/// Whatever a command starts, and wherever that goes, it ends before the command's end is told.
#[tokio::test]
async fn an_end_is_told_when_nobody_is_left() {
    let launcher = Launcher::new("test", OnDrop::Kill);
    let script = "setsid sh -c 'setsid sleep 1000 & echo up; wait' & sleep 0.05; exit 7";
    let (mut group, mut pipes) = up(&launcher, script).await;
    group.leader_ends().await;
    assert_eq!(rest(&mut pipes).await, "");
    assert_eq!(group.reap().unwrap().code(), Some(7));
}

#[tokio::test]
async fn what_a_command_leaves_behind_may_still_speak_for_a_moment() {
    let launcher = Launcher::new("test", OnDrop::Kill);
    let (mut group, mut pipes) = up(&launcher, "(sleep 0.02; echo late) & echo up").await;
    assert_eq!(rest(&mut pipes).await, "late\n");
    group.leader_ends().await;
    assert_eq!(group.reap().unwrap().code(), Some(0));
}

/// The supervisor is killed: the command dies with it, and the mark finds the processes that left its group.
#[tokio::test]
async fn without_its_supervisor_a_command_does_not_go_on() {
    let launcher = Launcher::new("test", OnDrop::Kill);
    let (group, mut pipes) = up(&launcher, ESCAPING).await;
    let supervisor = Pid::from_raw(group.identity().0 as i32).unwrap();
    rustix::process::kill_process(supervisor, rustix::process::Signal::KILL).unwrap();
    group.leader_ends().await;
    group.kill_escaped();
    assert_eq!(rest(&mut pipes).await, "");
}

/// What a command in the full sandbox says, and how it ends.
async fn confined(script: &str, root: &std::path::Path) -> (String, Option<i32>) {
    let confinement = Confinement::full(root, &[], convoke_sandbox::Network::Closed);
    let mut command = sh(&format!("exec 2>&1; {script}"));
    command.current_dir(root).env("PATH", "/usr/bin:/bin");
    let launcher = Launcher::new("test", OnDrop::Kill);
    let started = launcher.start_confined(command, &confinement, None, std::future::pending(), |_| {}).await;
    let (mut group, mut pipes) = started.unwrap().unwrap();
    let said = rest(&mut pipes).await;
    group.leader_ends().await;
    (said, group.reap().unwrap().code())
}

#[tokio::test]
async fn a_confined_command_writes_below_its_root_and_nowhere_else() {
    let (root, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let there = outside.path().join("x");
    let script = format!(
        "echo in >in && cat in; echo out >{}; cat /etc/hostname >/dev/null && exit 3",
        there.display()
    );
    let (said, code) = confined(&script, root.path()).await;
    assert!(said.starts_with("in\n") && said.contains("x: "), "{said}");
    assert_eq!((code, there.exists()), (Some(3), false), "{said}");
}
