use super::*;
use convoke_agent::Silent;
use convoke_process::{Process, processes};
use rustix::process::{Pid, test_kill_process};
use std::io::{BufRead, BufReader, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::sync::Mutex;

fn call(command: &str, args: &[&str]) -> ScriptCall {
    ScriptCall {
        command: command.into(),
        args: args.iter().map(|arg| arg.to_string()).collect(),
        env: vec![],
        working_dir: None,
        stdin: None,
        schema: None,
        key: None,
        survival: None,
        idle: None,
    }
}

fn sh(script: &str) -> ScriptCall {
    call("sh", &["-c", script])
}

fn environment() -> Environment {
    let path = std::env::var_os("PATH").unwrap_or_default();
    Environment::new([("PATH".into(), path), ("SOME_TOKEN".into(), "secret".into())], &[])
}

async fn run(call: &ScriptCall) -> Result<ScriptResult, Failure> {
    Processes::new(environment()).run(call, CancellationToken::new(), &Silent).await
}

/// Keeps the process that was announced.
#[derive(Default)]
struct Announced(Mutex<Option<(u32, u64)>>, tokio::sync::Notify);

impl Announced {
    /// Returns once a process has been announced: it may have written its first line long before.
    async fn heard(&self) {
        self.1.notified().await;
    }
}

impl Sink for Announced {
    fn report(&self, report: Report) {
        if let Report::ProcessStarted { pid, start } = report {
            *self.0.lock().unwrap() = Some((pid, start));
            self.1.notify_one();
        }
    }
}

/// A pipe that a command can write to by its path.
fn witness() -> (std::io::PipeReader, String) {
    let (reader, writer) = std::io::pipe().unwrap();
    let path = format!("/proc/{}/fd/{}", std::process::id(), writer.as_raw_fd());
    // It must stay open until the command has opened it by its path, which may be at any time.
    std::mem::forget(writer);
    (reader, path)
}

fn is_alive(pid: i32) -> bool {
    Process::find(Pid::from_raw(pid).unwrap()).is_some_and(|process| process.is_alive())
}

#[tokio::test]
async fn streams_and_exit_code_come_back() {
    let result = run(&sh("printf out; printf err >&2; exit 3")).await.unwrap();
    assert_eq!(result, ScriptResult { stdout: "out".into(), stderr: "err".into(), exit_code: 3 });
    assert_eq!(run(&sh("kill -9 $$")).await.unwrap().exit_code, 137);
}

#[tokio::test]
async fn there_is_no_shell_between() {
    let result = run(&call("printf", &["%s", "$HOME; `x`"])).await.unwrap();
    assert_eq!(result.stdout, "$HOME; `x`");
}

#[tokio::test]
async fn input_is_given_or_empty() {
    let mut cat = call("cat", &[]);
    assert_eq!(run(&cat).await.unwrap().stdout, "");
    cat.stdin = Some("x".repeat(1 << 20));
    assert_eq!(run(&cat).await.unwrap().stdout.len(), 1 << 20);
    let mut unread = call("true", &[]);
    unread.stdin = Some("x".repeat(1 << 20));
    assert_eq!(run(&unread).await.unwrap().exit_code, 0);
}

#[tokio::test]
async fn variables_are_given_by_name() {
    let mut env = sh("printf '%s|%s|%s' \"$GREETING\" \"$SOME_TOKEN\" \"$PYTHONUTF8\"");
    env.env = vec![("GREETING".into(), "hi".into())];
    assert_eq!(run(&env).await.unwrap().stdout, "hi||1");
    env.env.push(("SOME_TOKEN".into(), "given".into()));
    assert_eq!(run(&env).await.unwrap().stdout, "hi|given|1");
}

#[tokio::test]
async fn what_cannot_start_is_said_with_command_and_folder() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().to_str().unwrap();
    let in_folder = |command: &str| ScriptCall { working_dir: Some(place.into()), ..call(command, &[]) };

    let failure = run(&in_folder("no-such-tool")).await.unwrap_err();
    assert_eq!(failure.message, format!("command `no-such-tool` was not found in `{place}`"));
    assert_eq!((failure.class, failure.reason.as_deref()), (Class::Fatal, Some("not_found")));

    std::fs::write(folder.path().join("plain"), "text").unwrap();
    std::fs::set_permissions(folder.path().join("plain"), PermissionsExt::from_mode(0o644)).unwrap();
    let failure = run(&in_folder("./plain")).await.unwrap_err();
    assert_eq!(failure.message, format!("command `./plain` is not executable in `{place}`"));

    let lost = ScriptCall { working_dir: Some(format!("{place}/lost")), ..call("true", &[]) };
    let failure = run(&lost).await.unwrap_err();
    assert_eq!(failure.message, format!("command `true` cannot start: there is no folder `{place}/lost`"));
}

#[tokio::test]
async fn large_output_keeps_its_beginning_and_its_end() {
    let result = run(&sh("echo first; head -c 10000000 /dev/zero | tr '\\0' 'x'; echo last")).await.unwrap();
    assert!(result.stdout.len() < LIMIT + 100);
    assert!(result.stdout.starts_with("first\nxxx") && result.stdout.ends_with("xxxlast\n"));
    assert!(result.stdout.contains(&format!("[… {} bytes left out …]", 10_000_011 - LIMIT)));
}

#[tokio::test]
async fn binary_output_becomes_text() {
    let result = run(&sh("printf 'a\\377b\\303\\251'")).await.unwrap();
    assert_eq!(result.stdout, "a\u{fffd}bé");
}

#[tokio::test]
async fn a_child_in_the_background_neither_holds_up_the_step_nor_survives_it() {
    let result = run(&sh("sleep 1000 & printf %s $!")).await.unwrap();
    let background: i32 = result.stdout.parse().unwrap();
    assert!(!is_alive(background));
    let result = run(&sh("sleep 1000 >/dev/null 2>&1 & printf %s $!")).await.unwrap();
    assert!(!is_alive(result.stdout.parse().unwrap()));
}

/// Runs a script that prints to a witness once it is ready, cancels it then, and gives the processes it named.
async fn cancel_when_ready(script: &str) -> (Result<ScriptResult, Failure>, Vec<i32>) {
    let (reader, path) = witness();
    let mut call = sh(script);
    call.env = vec![("READY".into(), path)];
    let cancel = CancellationToken::new();
    let ready = tokio::task::spawn_blocking({
        let cancel = cancel.clone();
        move || {
            let mut line = String::new();
            BufReader::new(reader).read_line(&mut line).unwrap();
            cancel.cancel();
            line.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
        }
    });
    let end = Processes::new(environment()).run(&call, cancel, &Silent).await;
    (end, ready.await.unwrap())
}

#[tokio::test]
async fn cancelling_ends_the_whole_group() {
    let (end, pids) = cancel_when_ready("sleep 1000 & echo $$ $! >$READY; wait").await;
    assert_eq!(end.unwrap_err().class, Class::Cancelled);
    assert_eq!(pids.len(), 2);
    assert!(pids.iter().all(|pid| !is_alive(*pid)));
}

#[tokio::test]
async fn cancelling_ends_those_who_ignore_it_or_left_the_group() {
    let script = "trap '' TERM; setsid sleep 1000 & sleep 1000 & echo $$ $! >$READY; wait; wait";
    let (end, pids) = cancel_when_ready(script).await;
    assert_eq!(end.unwrap_err().class, Class::Cancelled);
    assert!(pids.iter().all(|pid| !is_alive(*pid)));
    let survivors: Vec<_> = processes().filter(|it| it.is_alive() && descends_from_us(it)).collect();
    assert!(survivors.is_empty(), "{}", survivors.len());
}

fn descends_from_us(process: &Process) -> bool {
    process.mark().is_some_and(|mark| mark.starts_with(&format!("commands-{}-", std::process::id())))
}

#[tokio::test]
async fn a_command_may_tidy_up_when_it_is_cancelled() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tidied");
    let script = format!(
        "trap 'echo yes >{}; exit' TERM; echo $$ >$READY; while :; do sleep 0.01; done",
        file.display()
    );
    let (end, _) = cancel_when_ready(&script).await;
    assert_eq!(end.unwrap_err().class, Class::Cancelled);
    assert_eq!(std::fs::read_to_string(file).unwrap(), "yes\n");
}

#[tokio::test]
async fn nothing_starts_after_cancellation() {
    let cancel = CancellationToken::new();
    cancel.cancel();
    let announced = Announced::default();
    let end = Processes::new(environment()).run(&call("true", &[]), cancel, &announced).await;
    let failure = end.unwrap_err();
    assert_eq!((failure.class, failure.reason.as_deref()), (Class::Cancelled, Some("never_started")));
    assert_eq!(*announced.0.lock().unwrap(), None);
}

#[tokio::test]
async fn a_dropped_run_is_killed() {
    let (mut reader, path) = witness();
    let mut call = sh("exec 9>$READY; echo up >&9; sleep 1000");
    call.env = vec![("READY".into(), path)];
    let processes = Processes::new(environment());
    let announced = Announced::default();
    {
        let run = processes.run(&call, CancellationToken::new(), &announced);
        let up = tokio::task::spawn_blocking(move || reader.read_exact(&mut [0; 3]).unwrap());
        tokio::select! {
            _ = run => panic!("ended by itself"),
            (up, ()) = async { tokio::join!(up, announced.heard()) } => up.unwrap(),
        }
    }
    let (pid, _) = announced.0.lock().unwrap().unwrap();
    let pid = Pid::from_raw(pid as i32).unwrap();
    while test_kill_process(pid).is_ok() && Process::find(pid).is_some_and(|process| process.is_alive()) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn the_process_is_announced_with_its_start_time() {
    let announced = Announced::default();
    Processes::new(environment())
        .run(&call("true", &[]), CancellationToken::new(), &announced)
        .await
        .unwrap();
    let (pid, start) = announced.0.lock().unwrap().unwrap();
    assert!(pid > 1 && start > 0);
}

#[tokio::test]
async fn a_silent_command_is_ended() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("never");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    // No process writes there.
    let script = format!("echo begun; read word < {}", fifo.display());
    let silent = ScriptCall { idle: Some(Duration::from_millis(100)), ..sh(&script) };
    let announced = Announced::default();
    let failure =
        Processes::new(environment()).run(&silent, CancellationToken::new(), &announced).await.unwrap_err();
    assert_eq!(failure.message, "command `sh` wrote nothing for 0.1 s (timeouts.idle)");
    assert_eq!((failure.class, failure.reason.as_deref()), (Class::Timeout, Some("idle_timeout")));
    let (pid, _) = announced.0.lock().unwrap().expect("it was announced");
    assert!(!is_alive(pid as i32));
}

/// Keeps the first words that were said.
#[derive(Default)]
struct Said(Mutex<Option<String>>, tokio::sync::Notify);

impl Sink for Said {
    fn report(&self, report: Report) {
        if let Report::Progress { text } = report {
            self.0.lock().unwrap().get_or_insert(text);
            self.1.notify_one();
        }
    }
}

/// The limit is that of the whole process, which is this test's own.
#[tokio::test]
async fn a_wait_for_room_is_shown_and_ends_when_there_is_room() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let (processes, said) = (Processes::new(environment()), Said::default());
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(8), ..limit }).unwrap();
    let makes_room = async {
        said.1.notified().await;
        setrlimit(Resource::Nofile, limit).unwrap();
    };
    let call = sh("echo here");
    let (end, ()) = tokio::join!(processes.run(&call, CancellationToken::new(), &said), makes_room);
    assert_eq!(end.unwrap().stdout, "here\n");
    let words = said.0.lock().unwrap().clone().unwrap();
    assert!(words.starts_with("waits for room to start: Too many open files"), "{words}");
}
