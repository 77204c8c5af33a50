//! The program git: started by argv, in an environment of our own, with an end.
//!
//! No system or user configuration, no hooks, no pager, no prompts, no external programs that compare. What the repository's own
//! configuration says about filters and line ends holds, because files would differ without it. A lock that another git holds is
//! waited for, for a bounded time.

use crate::error::Trouble;
use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tempfile::tempfile;

/// The longest time for one command: a checkout of a large repository fits.
const LONGEST: Duration = Duration::from_secs(300);
/// How often a command is begun again that found a lock.
const TRIES_AT_LOCK: u32 = 14;
/// The longest pause between two of them.
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
/// Characters of what git says that are told.
const TOLD: usize = 600;

/// Settings that win over every file.
const SETTINGS: [&str; 14] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.editor=true",
    "core.quotePath=false",
    "sequence.editor=true",
    "commit.gpgSign=false",
    "tag.gpgSign=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    "rebase.autoStash=false",
    "rerere.enabled=false",
    "merge.conflictStyle=merge",
    "advice.detachedHead=false",
];

/// The name and address on commits that the engine makes.
const AUTHOR: (&str, &str) = ("Convoke", "convoke@localhost");

/// What of the process's own surroundings git is given: where programs are, and where the user is at home.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    variables: Vec<(OsString, OsString)>,
    /// A file that every git holds a shared lock of for as long as it runs, also when its engine has died.
    alive: Option<PathBuf>,
}

impl Surroundings {
    /// Those of `inherited` that git needs.
    pub fn of(inherited: impl IntoIterator<Item = (OsString, OsString)>) -> Surroundings {
        let needed = |name: &OsStr| ["PATH", "HOME", "TMPDIR", "TZ"].iter().any(|known| name == *known);
        Surroundings {
            variables: inherited.into_iter().filter(|(name, _)| needed(name)).collect(),
            alive: None,
        }
    }

    /// The same, with the file that says whether a git of theirs still runs.
    pub(crate) fn alive_in(self, alive: PathBuf) -> Surroundings {
        Surroundings { alive: Some(alive), ..self }
    }

    /// What git reads: nothing. The file is locked for as long as a process has it open, so git holds the lock by being there.
    fn stdin(&self) -> Stdio {
        let held = self.alive.as_ref().and_then(|path| {
            let file =
                OpenOptions::new().create(true).truncate(false).read(true).write(true).open(path).ok()?;
            file.lock_shared().ok()?;
            Some(file)
        });
        held.map_or_else(Stdio::null, Stdio::from)
    }
}

/// Git in one folder.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Git<'a> {
    pub surroundings: &'a Surroundings,
    pub folder: &'a Path,
    /// Whether only some paths are checked out.
    pub sparse: bool,
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub ok: bool,
    pub code: i32,
    pub out: Vec<u8>,
    pub said: String,
}

impl Ran {
    /// What it wrote, without the last line end.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.out).trim_end_matches('\n').to_owned()
    }

    /// What it wrote, cut at zero bytes.
    pub fn parts(&self) -> Vec<String> {
        let parts = self.out.split(|byte| *byte == 0).filter(|part| !part.is_empty());
        parts.map(|part| String::from_utf8_lossy(part).into_owned()).collect()
    }
}

impl<'a> Git<'a> {
    pub fn new(surroundings: &'a Surroundings, folder: &'a Path) -> Git<'a> {
        Git { surroundings, folder, sparse: false }
    }

    /// The same, in a worktree of which only some paths are checked out.
    pub fn sparse(self, sparse: bool) -> Git<'a> {
        Git { sparse, ..self }
    }

    /// What a command that must succeed writes, without the last line end.
    pub fn text(&self, args: &[&str]) -> Result<String, Trouble> {
        Ok(self.must(args)?.text())
    }

    /// Runs a command that must succeed.
    pub fn must(&self, args: &[&str]) -> Result<Ran, Trouble> {
        let ran = self.run(args)?;
        if ran.ok {
            return Ok(ran);
        }
        Err(Trouble::Git { command: words(args), said: told(&ran.said) })
    }

    /// Whether a command that answers by its exit code says yes.
    pub fn asks(&self, args: &[&str]) -> Result<bool, Trouble> {
        let ran = self.run(args)?;
        match ran.code {
            0 => Ok(true),
            1 => Ok(false),
            _ => Err(Trouble::Git { command: words(args), said: told(&ran.said) }),
        }
    }

    /// Runs a command, and begins it again while another git holds a lock that it needs.
    pub fn run(&self, args: &[&str]) -> Result<Ran, Trouble> {
        let mut pause = Duration::from_millis(5);
        for _ in 1..TRIES_AT_LOCK {
            let ran = self.once(args)?;
            if ran.ok || !met_a_lock(&ran.said) {
                return Ok(ran);
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        self.once(args)
    }

    /// Its output goes into files without a name: a pipe would break when the engine dies, and with it git in its middle.
    fn once(&self, args: &[&str]) -> Result<Ran, Trouble> {
        let cannot = || Trouble::io("the output of the program `git` cannot be kept");
        let (mut out, mut said) = (tempfile().map_err(cannot())?, tempfile().map_err(cannot())?);
        let mut command = self.command();
        command.args(args).stdin(self.surroundings.stdin());
        command.stdout(out.try_clone().map_err(cannot())?).stderr(said.try_clone().map_err(cannot())?);
        let mut child = command.spawn().map_err(Trouble::io("the program `git` cannot be started"))?;
        let status = wait(&mut child).map_err(Trouble::io("the program `git` cannot be waited for"))?;
        let Some(status) = status else {
            return Err(Trouble::Slow { command: words(args), seconds: LONGEST.as_secs() });
        };
        let said = String::from_utf8_lossy(&all_of(&mut said).map_err(cannot())?).into_owned();
        let out = all_of(&mut out).map_err(cannot())?;
        Ok(Ran { ok: status.success(), code: status.code().unwrap_or(-1), out, said })
    }

    fn command(&self) -> Command {
        let mut command = Command::new("git");
        command.env_clear().envs(self.surroundings.variables.iter().map(|(name, value)| (name, value)));
        let fixed = [
            ("LC_ALL", "C"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_ATTR_NOSYSTEM", "1"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_ASKPASS", "true"),
            ("GIT_EDITOR", "true"),
            ("GIT_OPTIONAL_LOCKS", "0"),
            ("GIT_AUTHOR_NAME", AUTHOR.0),
            ("GIT_AUTHOR_EMAIL", AUTHOR.1),
            ("GIT_COMMITTER_NAME", AUTHOR.0),
            ("GIT_COMMITTER_EMAIL", AUTHOR.1),
        ];
        command.envs(fixed).arg("--no-pager");
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        if self.sparse {
            command.args(["-c", "core.sparseCheckout=true", "-c", "core.sparseCheckoutCone=false"]);
        }
        command.arg("-C").arg(self.folder);
        command
    }
}

fn all_of(file: &mut File) -> std::io::Result<Vec<u8>> {
    let mut all = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.read_to_end(&mut all)?;
    Ok(all)
}

/// Waits for a command; `None` if it took too long and was killed.
fn wait(child: &mut Child) -> std::io::Result<Option<ExitStatus>> {
    let until = Instant::now() + LONGEST;
    let mut pause = Duration::from_micros(500);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if until <= Instant::now() {
            let _ = child.kill();
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

/// Git has no code for it. Its words are fixed by `LC_ALL=C`.
fn met_a_lock(said: &str) -> bool {
    (said.contains(".lock'") && said.contains("File exists"))
        || said.contains("cannot lock ref")
        || said.contains("could not lock")
        || said.contains("Unable to create")
        || met_a_worktree_in_the_making(said)
}

/// Every git reads of all worktrees of the repository, also of one that another git has written half of.
fn met_a_worktree_in_the_making(said: &str) -> bool {
    said.contains("failed to read ")
        && said.contains("/worktrees/")
        && ["/commondir", "/gitdir", "/HEAD"].iter().any(|file| said.contains(file))
}

fn words(args: &[&str]) -> String {
    args.iter().take(3).copied().collect::<Vec<_>>().join(" ")
}

fn told(said: &str) -> String {
    said.trim().chars().take(TOLD).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_git_at_work_is_told_from_a_repository_that_is_broken() {
        assert!(met_a_lock("fatal: Unable to create '/r/.git/index.lock': File exists."));
        assert!(met_a_lock("fatal: failed to read /r/.git/worktrees/a-1/commondir: Success"));
        assert!(!met_a_lock("fatal: failed to read object 1234: Invalid argument"));
        assert!(!met_a_lock("fatal: not a git repository"));
    }
}
