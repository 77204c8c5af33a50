//! Removes old runs after a run, where the configuration says so (`[retention]`).
//!
//! An aid that never gets in the way: it comes after the run's result was printed, takes at most a moment, and whatever goes wrong
//! with it is one line on standard error. At most one process does it, and not more often than `every`. What a policy is, and that
//! no run goes that is open, is `convoke_journal::Prune`'s.

use crate::args::{age, size};
use crate::clock;
use crate::commands::prune_conclusion;
use crate::config::{Entry, Origin, Scalar};
use crate::console::Console;
use convoke_journal::{Error, Index, Prune, StateDir, private_file};
use convoke_model::{RunStatus, Timestamp};
use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What the configuration says about old runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Retention {
    /// Runs that ended longer ago than this go.
    pub older_than: Option<Duration>,
    /// So many of the newest stay.
    pub keep_last: Option<usize>,
    /// All runs together need no more than this.
    pub max_bytes: Option<u64>,
    /// Only runs that ended so.
    pub status: Vec<RunStatus>,
    /// How often it is looked for runs to remove.
    pub every: Duration,
    /// The folder of the project whose file says this: only runs that were started there or below go.
    pub below: Option<PathBuf>,
}

/// The longest that a command works on it.
const WITHIN: Duration = Duration::from_secs(1);

impl Retention {
    /// What the entries of a configuration say; `None` if they ask for nothing.
    pub fn of(entries: &[Entry], user_file: Option<&Path>) -> Option<Retention> {
        let find =
            |name: &str| entries.iter().find(|entry| entry.key.strip_prefix("retention.") == Some(name));
        let text = |name: &str| match &find(name)?.value {
            Scalar::Text(text) => Some(text.clone()),
            _ => None,
        };
        let status = match find("status").map(|entry| &entry.value) {
            Some(Scalar::List(words)) => words.iter().filter_map(|word| RunStatus::from_word(word)).collect(),
            _ => Vec::new(),
        };
        let keep_last = match find("keep_last").map(|entry| &entry.value) {
            Some(Scalar::Number(count)) => usize::try_from(*count).ok(),
            _ => None,
        };
        let retention = Retention {
            older_than: text("older_than").and_then(|text| age(&text).ok()),
            keep_last,
            max_bytes: text("max_size").and_then(|text| size(&text).ok()),
            status,
            every: text("every").and_then(|text| age(&text).ok()).unwrap_or(Duration::from_secs(86_400)),
            below: ["older_than", "keep_last", "max_size", "status"].into_iter().filter_map(find).find_map(
                |entry| match &entry.origin {
                    Origin::File { path, .. } if Some(path.as_path()) != user_file => Some(folder_of(path)),
                    _ => None,
                },
            ),
        };
        retention.asks().then_some(retention)
    }

    fn asks(&self) -> bool {
        self.older_than.is_some() || self.keep_last.is_some() || self.max_bytes.is_some()
    }

    fn policy(&self, now: Timestamp) -> Prune {
        Prune {
            status: self.status.clone(),
            below: self.below.clone(),
            keep_last: self.keep_last.unwrap_or(0),
            older_than: self.older_than.map(|age| clock::before(now, age)),
            max_bytes: self.max_bytes,
            within: Some(WITHIN),
            ..Prune::default()
        }
    }
}

/// Removes what the configuration no longer wants, if it is time.
pub fn after_a_run(console: &Console, state: &StateDir) {
    let Some(retention) = &console.config.retention else { return };
    match carry_out(retention, state) {
        Ok(Some(words)) => console.say(&format!("retention: {words}")),
        Ok(None) => {}
        Err(error) => console.say(&format!("retention: old runs stay for now: {error}")),
    }
}

fn carry_out(retention: &Retention, state: &StateDir) -> Result<Option<String>, Error> {
    let now = clock::now();
    let Some(turn) = Turn::take(&state.path().join("retention"), retention.every, now)? else {
        return Ok(None);
    };
    let pruned = Index::open(state)?.prune(&retention.policy(now))?;
    if !pruned.cut_short {
        turn.done(now);
    }
    let rest = if pruned.cut_short { "; the rest follows after the next run" } else { "" };
    let some = !pruned.removed.is_empty();
    Ok(some.then(|| format!("{}{rest}", prune_conclusion(&pruned, false))))
}

/// The right to look for old runs now.
struct Turn(File);

impl Turn {
    /// `None` if it is too early, or another process is at it.
    fn take(path: &Path, every: Duration, now: Timestamp) -> Result<Option<Turn>, Error> {
        let file = private_file(path)?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Ok(None);
        }
        let mut bytes = [0; 8];
        let last = file.read_exact_at(&mut bytes, 0).map_or(0, |()| u64::from_le_bytes(bytes));
        // A clock that was set back must not keep it from happening.
        let is_early = last <= now.0 && last > 0 && now.since(Timestamp(last)) < every;
        Ok((!is_early).then_some(Turn(file)))
    }

    /// The next one is later. If that cannot be noted, it is sooner.
    fn done(self, now: Timestamp) {
        self.0.write_all_at(&now.0.to_le_bytes(), 0).ok();
    }
}

fn folder_of(file: &Path) -> PathBuf {
    let whole = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    whole.parent().map(Path::to_owned).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(key: &str, value: Scalar, file: &str) -> Entry {
        let origin = Origin::File { path: file.into(), line: 1 };
        Entry { key: format!("retention.{key}"), value, origin }
    }

    #[test]
    fn a_project_reaches_its_own_runs_only() {
        let user = Path::new("/home/a/.config/convoke/config.toml");
        let of = |file: &str| {
            Retention::of(&[entry("keep_last", Scalar::Number(3), file)], Some(user)).unwrap().below
        };
        assert_eq!(of("/home/a/.config/convoke/config.toml"), None);
        assert_eq!(of("/work/p/convoke.toml"), Some("/work/p".into()));
    }

    #[test]
    fn a_status_alone_asks_for_nothing() {
        let status = entry("status", Scalar::List(vec!["failed".into()]), "f");
        assert_eq!(Retention::of(&[status], None), None);
    }

    #[test]
    fn a_turn_comes_once_in_a_while_whatever_the_clock_does() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("retention");
        let hour = Duration::from_secs(3_600);
        let at = |hours: u64| Timestamp(hours * 3_600_000_000);
        let take = |hours: u64| Turn::take(&path, hour, at(hours)).unwrap();
        take(10).unwrap().done(at(10));
        assert!(take(10).is_none(), "too early");
        assert!(take(9).is_some(), "the clock was set back");
        let first = take(11).unwrap();
        assert!(take(11).is_none(), "another process is at it");
        drop(first);
        assert!(take(11).is_some(), "the first one did not finish");
    }
}
