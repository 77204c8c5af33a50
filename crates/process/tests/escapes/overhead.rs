//! What a sandbox adds to the start of a command. `cargo nextest run -p convoke-process --run-ignored only overhead --no-capture`.

use crate::scene::{Scene, ended};
use crate::users::ordinary;
use convoke_process::{Launcher, OnDrop};
use convoke_sandbox::Confinement;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Starts of each kind.
const STARTS: usize = 300;

/// The most that a start in the full sandbox may take longer, for the 99th of a hundred.
const MOST: Duration = Duration::from_millis(15);

fn times(launcher: &Launcher, confinement: Option<&Confinement>) -> [Duration; 2] {
    let once = || {
        let mut command = Command::new("/bin/true");
        command.stdin(Stdio::null());
        let begin = Instant::now();
        assert_eq!(ended(command, launcher, confinement).code, Some(0));
        begin.elapsed()
    };
    once();
    let mut all: Vec<Duration> = (0..STARTS).map(|_| once()).collect();
    all.sort();
    [all[STARTS / 2], all[STARTS * 99 / 100]]
}

#[test]
#[ignore = "a measurement, for a machine that does nothing else"]
fn a_sandbox_is_entered_quickly() {
    ordinary("overhead::a_sandbox_is_entered_quickly", || {
        let scene = Scene::new();
        let launcher = Launcher::new("overhead", OnDrop::Kill);
        let ground = convoke_sandbox::Ground { hidden: vec![scene.at("state")], ..Default::default() };
        let plain = times(&launcher, None);
        let trusted = times(&Launcher::new("overhead", OnDrop::Kill).on(ground), None);
        let full = times(&launcher, Some(&scene.confinement(true)));
        #[expect(clippy::print_stderr, reason = "the figures are what this is for")]
        {
            eprintln!(
                "start to end of /bin/true, p50 and p99: {plain:?} plain, {trusted:?} trusted, {full:?} full"
            );
        }
        assert!(full[1] - plain[0] < MOST);
    });
}
