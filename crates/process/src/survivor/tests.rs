use super::*;
use crate::OnDrop;
use crate::group::Group;
use crate::launcher::{Launcher, Surviving};
use std::process::Command;

/// Longer than any of these tests takes, unless something hangs.
const LONG: Duration = Duration::from_secs(60);

struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Place {
        let folder = std::env::temp_dir().join(format!("convoke-survivor-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        Place(folder)
    }

    fn slot(&self) -> Slot {
        // The mark is made of the name, and other tests run at the same time.
        let name = self.0.file_name().unwrap().to_str().unwrap();
        Slot::at(self.0.join(format!("{name}-1")))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.slot().end();
        let _ = fs::remove_dir_all(&self.0);
    }
}

async fn start(slot: &Slot, script: &str, kept: u64, limit: Duration) -> Group {
    let mut command = Command::new("sh");
    command.args(["-c", script]).env_clear().env("PATH", "/bin:/usr/bin");
    let surviving = Surviving { slot, stdin: Some("given"), kept, limit, until: None };
    let launcher = Launcher::new("test", OnDrop::Kill);
    launcher.start_surviving(command, surviving, std::future::pending(), |_| {}).await.unwrap().unwrap()
}

async fn finished(slot: &Slot) -> Recorded {
    loop {
        match slot.look().unwrap() {
            Standing::Finished(recorded) => return recorded,
            Standing::Running(survivor) => survivor.ends().await,
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_command_is_recorded_though_nothing_attends_to_it() {
    let place = Place::new("recorded");
    let slot = place.slot();
    drop(start(&slot, "cat; echo oops >&2; exit 3", 1 << 10, LONG).await);
    let recorded = finished(&slot).await;
    assert!(libc::WIFEXITED(recorded.status) && libc::WEXITSTATUS(recorded.status) == 3);
    assert_eq!((recorded.timed_out, recorded.broken), (false, None));
    assert_eq!(recorded.stream(&slot, Stream::Stdout).unwrap(), (b"given".to_vec(), vec![], 0));
    assert_eq!(recorded.stream(&slot, Stream::Stderr).unwrap(), (b"oops\n".to_vec(), vec![], 0));
    assert_eq!(slot.written(), 10);
}

#[tokio::test]
async fn beginning_and_end_of_a_long_stream_are_kept() {
    let place = Place::new("long");
    let slot = place.slot();
    drop(start(&slot, "printf %s abcdefghijklmnopqrstuvwxyz", 8, LONG).await);
    let (head, tail, left_out) = finished(&slot).await.stream(&slot, Stream::Stdout).unwrap();
    assert_eq!((head.as_slice(), tail.as_slice(), left_out), (&b"abcd"[..], &b"wxyz"[..], 18));
}

#[tokio::test]
async fn a_running_command_is_found_and_ended_with_all_that_it_started() {
    let place = Place::new("running");
    let slot = place.slot();
    let group = start(&slot, "setsid sleep 1000 & sleep 1000", 1 << 10, LONG).await;
    let (pid, begun) = group.identity();
    drop(group);
    let Standing::Running(survivor) = slot.look().unwrap() else { panic!("it runs") };
    assert_eq!(survivor.identity(), (pid, begun));
    assert_eq!(slot.supervisor(), Some(pid));
    assert!(slot.end());
    assert_eq!(slot.supervisor(), None);
    let marked =
        |process: Process| process.is_alive() && process.mark().is_some_and(|mark| mark == slot.mark());
    assert!(!crate::process::processes().any(marked));
}

#[tokio::test]
async fn its_time_is_over_without_an_engine_too() {
    let place = Place::new("timed");
    let slot = place.slot();
    drop(start(&slot, "exec sleep 1000", 1 << 10, Duration::from_millis(50)).await);
    let recorded = finished(&slot).await;
    assert!(recorded.timed_out, "{recorded:?}");
}

#[tokio::test]
async fn a_killed_supervisor_leaves_nothing_that_could_be_taken_for_an_end() {
    let place = Place::new("killed");
    let slot = place.slot();
    let mut group = start(&slot, "sleep 1000", 1 << 10, LONG).await;
    let (pid, _) = group.identity();
    rustix::process::kill_process(Pid::from_raw(pid as i32).unwrap(), Signal::KILL).unwrap();
    group.leader_ends().await;
    group.reap();
    assert!(matches!(slot.look().unwrap(), Standing::Lost(_)));
}

#[tokio::test]
async fn what_was_looked_at_before_its_start_never_starts() {
    let place = Place::new("unstarted");
    let slot = place.slot();
    let (recording, _) = slot.prepare(None, 8, LONG).unwrap();
    assert!(matches!(slot.look().unwrap(), Standing::Unstarted));
    // SAFETY: fails before anything but a file is touched.
    let begun = unsafe { recording.begin() };
    assert_eq!(begun.err().unwrap().kind(), ErrorKind::AlreadyExists);
    assert!(matches!(slot.look().unwrap(), Standing::Unstarted));
}

#[tokio::test]
async fn a_command_that_cannot_start_was_not_started() {
    let place = Place::new("missing");
    let slot = place.slot();
    let surviving = Surviving { slot: &slot, stdin: None, kept: 8, limit: LONG, until: None };
    let launcher = Launcher::new("test", OnDrop::Kill);
    let command = Command::new("/no/such/program");
    let started = launcher.start_surviving(command, surviving, std::future::pending(), |_| {}).await;
    assert_eq!(started.err().unwrap().kind(), ErrorKind::NotFound);
    assert!(matches!(slot.look().unwrap(), Standing::Unstarted));
}

#[test]
fn a_lost_or_older_record_is_not_taken_for_one() {
    let place = Place::new("lost");
    let slot = place.slot();
    assert!(matches!(slot.look().unwrap(), Standing::Lost(_)), "there is none");
    drop(slot.prepare(None, 8, LONG).unwrap());
    fs::write(slot.folder.join("started"), 1i32.to_le_bytes()).unwrap();
    fs::write(slot.folder.join("boot"), "another start").unwrap();
    assert!(matches!(slot.look().unwrap(), Standing::Lost("the machine was restarted")));
    fs::write(slot.folder.join("exit"), Recorded::bytes(256, false, 0, [0, 0], 4)).unwrap();
    assert!(matches!(slot.look().unwrap(), Standing::Finished(_)), "an end that was recorded still counts");
}

#[test]
fn every_flipped_bit_of_a_record_is_found() {
    let place = Place::new("flipped");
    fs::create_dir_all(&place.0).unwrap();
    let bytes = Recorded::bytes(256, true, 28, [5, 6], 4);
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes;
        flipped[bit / 8] ^= 1 << (bit % 8);
        fs::write(place.0.join("exit"), flipped).unwrap();
        assert!(Recorded::read(&place.0).is_err(), "bit {bit}");
    }
    fs::write(place.0.join("exit"), bytes).unwrap();
    let recorded = Recorded::read(&place.0).unwrap().unwrap();
    assert_eq!((recorded.status, recorded.timed_out, recorded.broken), (256, true, Some(28)));
}
