//! Where measuring is done: the program under test, a folder on a disk, and how often.

use crate::args::Args;
use crate::child::{self, Spent};
use crate::disk;
use crate::error::Error;
use crate::inner::Job;
use crate::rounds::Rounds;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The program under test and a folder for its runs, removed at the end.
pub struct Workshop {
    binary: PathBuf,
    ourselves: PathBuf,
    place: PathBuf,
    /// How often.
    pub rounds: Rounds,
    /// By how many processes, where that can be said.
    pub processes: u32,
    /// Of a thousand calls, so many are refused by chance, where that can be said.
    pub faults: Option<u64>,
}

impl Workshop {
    /// Builds what is measured and makes the folder.
    pub fn open(args: &Args) -> Result<Workshop, Error> {
        if cfg!(debug_assertions) {
            return Err(Error::Odd(
                "this is a debug build: use cargo run --profile dist -p convoke-bench".into(),
            ));
        }
        let ourselves = std::env::current_exe().map_err(Error::io("find", "this program".as_ref()))?;
        let beside = ourselves.parent().expect("a program lies in a folder");
        let binary = match &args.bin {
            Some(path) => fs::canonicalize(path).map_err(Error::io("find", path))?,
            None => build(beside)?,
        };
        let parent = args.place.as_deref().unwrap_or(beside);
        let place = parent.join(format!("bench-{}", std::process::id()));
        fs::create_dir_all(&place).map_err(Error::io("make", &place))?;
        let place = fs::canonicalize(&place).map_err(Error::io("find", &place))?;
        let rounds = if args.quick { Rounds::QUICK } else { Rounds::FULL };
        let workshop =
            Workshop { binary, ourselves, place, rounds, processes: args.processes, faults: args.random };
        disk::check(&workshop.place)?;
        Ok(workshop)
    }

    /// A path in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.place.join(name)
    }

    /// The folder.
    pub fn place(&self) -> &Path {
        &self.place
    }

    /// Writes a file.
    pub fn write(&self, name: &str, content: &str) -> Result<(), Error> {
        let path = self.path(name);
        fs::write(&path, content).map_err(Error::io("write", &path))
    }

    /// The program under test with a state folder of ours and nobody's configuration; `limit` attempts at once.
    pub fn convoke(&self, limit: u32, args: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command
            .args(args)
            .current_dir(&self.place)
            .env_clear()
            .env("HOME", &self.place)
            .env("CONVOKE_STATE_DIR", self.path("state"))
            .env("CONVOKE_MACHINE_CONCURRENCY", limit.to_string())
            .env("CONVOKE_MAX_CONCURRENCY", limit.to_string())
            .stderr(Stdio::piped());
        command
    }

    /// Runs a workflow file that wants `count` items, without a word on the way.
    pub fn run_fan_out(&self, file: &str, limit: u32, count: u32) -> Result<Spent, Error> {
        let (spent, output) = child::run(&mut self.fan_out(file, limit, count))?;
        expect_done(&output, count)?;
        Ok(spent)
    }

    /// The command that [`run_fan_out`](Workshop::run_fan_out) runs.
    pub fn fan_out(&self, file: &str, limit: u32, count: u32) -> Command {
        self.convoke(limit, &["--quiet", "run", file, "-i", &format!("count={count}")])
    }

    /// Does a job in a child of this program; what it says it took, without the child's own start.
    pub fn inner(&self, job: &Job) -> Result<Spent, Error> {
        let (_, answer) = self.job(job)?;
        serde_json::from_str(&answer)
            .map_err(|error| Error::Odd(format!("job {job:?} answered `{answer}`: {error}")))
    }

    /// The same; what the whole child took.
    pub fn whole(&self, job: &Job) -> Result<Spent, Error> {
        Ok(self.job(job)?.0)
    }

    fn job(&self, job: &Job) -> Result<(Spent, String), Error> {
        let job = serde_json::to_string(job).expect("a job is JSON");
        child::run(Command::new(&self.ourselves).args(["inner", &job]).stderr(Stdio::piped()))
    }

    /// Starts a model service as a child of this program; it ends with its standard input.
    pub fn serve(&self, latency_ms: u64, most: Option<u64>, faults: u64) -> Result<Child, Error> {
        let job = serde_json::to_string(&Job::Serve { latency_ms, most, faults }).expect("a job is JSON");
        let mut command = Command::new(&self.ourselves);
        command.args(["inner", &job]).stdin(Stdio::piped()).stdout(Stdio::piped());
        command.spawn().map_err(Error::io("start", &self.ourselves))
    }

    /// Forgets all runs, so that one benchmark's leftovers do not burden the next.
    pub fn tidy(&self) {
        let _ = fs::remove_dir_all(self.path("state"));
    }
}

impl Drop for Workshop {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.place);
    }
}

/// A run that did something else than asked took a time that means nothing.
pub fn expect_done(output: &str, count: u32) -> Result<(), Error> {
    let said: serde_json::Value = serde_json::from_str(output).unwrap_or_default();
    if said["done"] == count {
        return Ok(());
    }
    Err(Error::Odd(format!("a run of {count} items said `{}`", output.trim())))
}

/// Builds the program beside this one, with the same profile: cargo names the folder after it.
fn build(beside: &Path) -> Result<PathBuf, Error> {
    let target = beside.parent().unwrap_or(beside);
    let profile = beside.file_name().unwrap_or_else(|| "dist".as_ref());
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--locked", "--package", "convoke", "--profile"]).arg(profile);
    command.arg("--target-dir").arg(target);
    command.current_dir(env!("CARGO_MANIFEST_DIR"));
    child::run(&mut command)?;
    Ok(beside.join("convoke"))
}
