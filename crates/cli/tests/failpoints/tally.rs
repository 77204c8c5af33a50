//! What a sweep has done, in this process and in others before it.
//!
//! With `CONVOKE_FAILPOINT_KEPT=FOLDER` there is a file for each scenario, and a line in it for each play that broke no promise. A sweep
//! that was cut off goes on behind these lines, and scenarios may be played by several processes; what another build of the
//! program has done does not count.
#![allow(clippy::print_stderr, reason = "a sweep says its counts")]

use super::driver::{Death, Driver};
use super::judge::{Usual, judge};
use super::scenarios::Scenario;
use crate::support::binary;
use convoke_failpoint::NAMES;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

/// The last line of a scenario of which everything was played.
const WHOLE: &str = "whole";

/// What a sweep has done.
#[derive(Default)]
pub struct Tally {
    plays: u64,
    pub deaths: u64,
    /// Names of the places at which a process has died.
    pub died_at: BTreeSet<String>,
    pub violations: Vec<String>,
}

impl Tally {
    /// Plays with deaths, judges, and notes what came of it; all violations of a sweep are wanted, not the first one.
    pub fn play(
        &mut self,
        scenario: &Scenario,
        usual: &Usual,
        deaths: &[Death],
        kept: &mut PlayRecord,
    ) -> Option<Driver> {
        let name = named(deaths);
        self.plays += 1;
        let played = std::panic::catch_unwind(AssertUnwindSafe(|| play(scenario, usual, deaths)));
        let driver = played.map_err(|_| self.violations.push(format!("{} {name}", scenario.name))).ok()?;
        self.count(&kept.note(name, &driver));
        Some(driver)
    }

    /// Whether these deaths were played before, as the file says.
    pub fn knows(&mut self, deaths: &[Death], kept: &PlayRecord) -> bool {
        let Some(died_at) = kept.played.get(&named(deaths)).cloned() else { return false };
        self.plays += 1;
        self.count(&died_at);
        true
    }

    fn count(&mut self, died_at: &[String]) {
        self.deaths += died_at.len() as u64;
        self.died_at.extend(died_at.iter().cloned());
    }

    pub fn add(&mut self, other: Tally) {
        self.plays += other.plays;
        self.deaths += other.deaths;
        self.died_at.extend(other.died_at);
        self.violations.extend(other.violations);
    }

    /// Says the counts, and fails if a promise was broken.
    pub fn close(self, what: &str) -> BTreeSet<String> {
        let Tally { plays, deaths, died_at, violations } = self;
        let (places, all, wrong) = (died_at.len(), NAMES.len(), violations.len());
        eprintln!("{what}: {plays} plays, {deaths} deaths at {places} of {all} places, {wrong} violations");
        assert_eq!(violations, [""; 0], "what was promised was broken");
        died_at
    }
}

fn named(deaths: &[Death]) -> String {
    deaths.iter().map(|death| death.target()).collect::<Vec<_>>().join("+")
}

fn play(scenario: &Scenario, usual: &Usual, deaths: &[Death]) -> Driver {
    let mut driver = Driver::new(scenario.name, (scenario.world)(), deaths);
    let result = (scenario.play)(&mut driver);
    judge(&driver, usual, &result, &scenario.calls);
    driver
}

/// What is kept of one scenario.
#[derive(Default)]
pub struct PlayRecord {
    file: Option<File>,
    /// By the deaths of a play, the places at which a process has died in it.
    played: BTreeMap<String, Vec<String>>,
    /// Everything was played.
    pub is_whole: bool,
}

impl PlayRecord {
    /// Of a scenario; nothing without a folder.
    pub fn of(scenario: &str) -> PlayRecord {
        let Some(path) = PlayRecord::path(scenario) else { return PlayRecord::default() };
        let kept = PlayRecord::read(scenario);
        let begin = !kept.is_there();
        let open = OpenOptions::new().create(true).append(!begin).write(true).truncate(begin).open(&path);
        let mut file = open.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        if begin {
            writeln!(file, "{}", build()).expect("the folder can be written");
        }
        PlayRecord { file: Some(file), ..kept }
    }

    /// What is known of a scenario.
    pub fn read(scenario: &str) -> PlayRecord {
        let text =
            PlayRecord::path(scenario).and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default();
        let Some(lines) = text.strip_prefix(&build()) else { return PlayRecord::default() };
        let mut kept = PlayRecord::default();
        kept.played.insert(String::new(), Vec::new());
        for line in lines.lines().filter(|line| !line.is_empty()) {
            match line.split_once(' ') {
                Some((name, died)) => {
                    kept.played.insert(name.to_owned(), died.split_whitespace().map(str::to_owned).collect());
                }
                None => kept.is_whole |= line == WHOLE,
            }
        }
        kept
    }

    fn is_there(&self) -> bool {
        !self.played.is_empty()
    }

    fn path(scenario: &str) -> Option<PathBuf> {
        let folder = PathBuf::from(std::env::var_os("CONVOKE_FAILPOINT_KEPT")?);
        fs::create_dir_all(&folder).expect("the folder can be made");
        Some(folder.join(scenario.replace(' ', "-")))
    }

    /// The places at which processes have died in what is known.
    pub fn died_at(&self) -> impl Iterator<Item = String> {
        self.played.values().flatten().cloned()
    }

    fn note(&mut self, name: String, driver: &Driver) -> Vec<String> {
        let died: Vec<String> = driver.died.iter().map(|death| NAMES[death.place].to_owned()).collect();
        if let Some(file) = &mut self.file {
            writeln!(file, "{name} {}", died.join(" ")).expect("the folder can be written");
            self.played.insert(name, died.clone());
        }
        died
    }

    /// Everything of the scenario was played, and no promise was broken.
    pub fn close(mut self) {
        if let (Some(file), false) = (&mut self.file, self.is_whole) {
            writeln!(file, "{WHOLE}").expect("the folder can be written");
        }
    }
}

/// The program that is tried, by its length and the time of its making.
fn build() -> String {
    let made = fs::metadata(binary()).expect("the program is there");
    let since = made.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    format!("build {}-{}\n", made.len(), since.map_or(0, |since| since.as_nanos()))
}
