//! What bash really does with an allowed text is within its plan: what it executes, and what it opens for writing.
//!
//! Texts are mutated from a list of commands and fragments of attacks (`mutations`); each that is allowed runs under the real bash in a
//! folder of its own (`scratch`), traced (`trace`). Of a text that runs the project's own code, the first program and the folders that
//! are written are compared. CONVOKE_ORACLE says how many mutations are judged (400 unless told; 100000 for the long version), and
//! CONVOKE_ORACLE_FROM which is the first of them (0), so CONVOKE_ORACLE=1 repeats one. Left out where strace is missing.

mod mutations;
mod scratch;
mod trace;

use convoke_policy::{CommandPlan, Policy, Verdict};
use mutations::{SEEDS, mutation};
use scratch::{BATCH, Scratch};
use std::collections::{BTreeSet, HashSet};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};
use trace::{Did, did};

fn clean(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(clean.pop()),
            Component::CurDir => {}
            other => clean.push(other),
        }
    }
    clean
}

/// What was done and is not in the plan. What the project's own code starts is not in a plan; where it writes is.
fn beyond(plan: &CommandPlan, trace: &[String]) -> Vec<String> {
    const WRAPPERS: [&str; 5] = ["timeout", "nice", "env", "nohup", "stdbuf"];
    let mut programs: BTreeSet<&str> = BTreeSet::new();
    for command in plan.commands() {
        let first = &*command.argv[0];
        programs.insert(first);
        if WRAPPERS.contains(&first) {
            programs.extend(command.argv.iter().map(|word| &**word));
        }
    }
    let git = programs.contains("git");
    let mut executed = 0;
    let mut fine = |did: &Did| match did {
        Did::Execute(program) => {
            executed += 1;
            let name = program.rsplit('/').next().unwrap_or(program);
            programs.contains(name)
                || (git && name.starts_with("git"))
                || (plan.runs_project_code && executed > 1)
        }
        // Calls of old say no folder: any in which a command of the plan runs may be theirs.
        Did::Change(path) if path.is_relative() => {
            plan.commands().any(|command| allowed(plan, &clean(&Path::new(&command.cwd).join(path))))
                // `mkdir -p` enters what it makes.
                || plan.writes.iter().any(|written| Path::new(written).ancestors().any(|folder| folder.ends_with(path)))
        }
        Did::Change(path) => allowed(plan, &clean(path)),
    };
    let all = trace.iter().flat_map(|line| did(line));
    all.filter(|did| !fine(did)).map(|did| format!("{did:?}")).collect()
}

/// Whether the plan lets a path be changed. Folders above a new one are made with it.
fn allowed(plan: &CommandPlan, path: &Path) -> bool {
    let makes_folders = plan.commands().any(|command| command.argv.iter().any(|word| word == "mkdir"));
    path == Path::new("/dev/null")
        || path == Path::new("/dev/tty")
        || path.to_string_lossy().starts_with("/tmp/sh-thd")
        || plan.writes.iter().any(|written| path.starts_with(written))
        || makes_folders && plan.writes.iter().any(|written| Path::new(written).starts_with(path))
}

/// A text that is allowed, its plan, and the root that it was judged in.
struct Allowed {
    at: u64,
    slot: usize,
    text: String,
    plan: CommandPlan,
}

/// Judges texts and runs those that are allowed, a batch at a time.
struct Oracle {
    scratch: Scratch,
    policy: Policy,
    waiting: Vec<Allowed>,
    seen: HashSet<u64>,
    /// Texts that were judged, allowed and run.
    ran: u64,
    wrong: Vec<String>,
}

impl Oracle {
    fn take(&mut self, at: u64, text: String) {
        let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(&text);
        if !self.seen.insert(hash) {
            return;
        }
        let slot = self.waiting.len();
        let judgement = self.policy.judge(&text, &self.scratch.root(slot), &self.scratch.world(slot));
        if let (Verdict::Allow, Some(plan)) = (judgement.verdict, judgement.plan) {
            self.waiting.push(Allowed { at, slot, text, plan });
        }
        if self.waiting.len() == BATCH {
            self.run();
        }
    }

    fn run(&mut self) {
        let batch = std::mem::take(&mut self.waiting);
        let texts: Vec<_> = batch.iter().map(|one| (one.slot, one.text.clone(), &one.plan)).collect();
        let traces = if texts.is_empty() { Vec::new() } else { self.scratch.traces(&texts) };
        self.ran += batch.len() as u64;
        for (one, trace) in batch.iter().zip(&traces) {
            let Allowed { at, text, plan, .. } = one;
            let beyond = beyond(plan, trace);
            if !beyond.is_empty() {
                self.wrong.push(format!("{at} {text:?}: {beyond:?}\n{}", plan.without_env()));
            }
        }
    }
}

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

fn can_trace() -> bool {
    let mut command = Command::new("strace");
    command.args(["-f", "--seccomp-bpf", "-e", "trace=execve", "true"]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

#[test]
fn what_bash_does_with_an_allowed_text_is_in_its_plan() {
    if !can_trace() {
        // Left out: there is no strace, or it may trace nothing.
        return;
    }
    let (first, count) = (number("CONVOKE_ORACLE_FROM", 0), number("CONVOKE_ORACLE", 400));
    let mut oracle = Oracle {
        scratch: Scratch::new(),
        policy: Policy::preset("develop").expect("it is one"),
        waiting: Vec::new(),
        seen: HashSet::new(),
        ran: 0,
        wrong: Vec::new(),
    };
    let seeds = if first == 0 { &SEEDS[..] } else { &[] };
    for (at, seed) in seeds.iter().enumerate() {
        oracle.take(at as u64, (*seed).to_owned());
    }
    for at in first..first + count {
        oracle.take(at, mutation(at));
        if count > 10_000 && at % 1_000 == 0 {
            progress(&oracle, at);
        }
    }
    oracle.run();
    let Oracle { ran, wrong, .. } = oracle;
    assert!(wrong.is_empty(), "{} of {ran}:\n{}", wrong.len(), wrong.join("\n\n"));
    assert!(ran > count / 20 || first > 0, "only {ran} of {count} were allowed, so nothing is known");
    if count > 10_000 {
        say(&format!("{count} mutations judged, {ran} different ones allowed and run, each within its plan"));
    }
}

/// A long run says how far it is.
fn progress(oracle: &Oracle, at: u64) {
    say(&format!("{at}: {} ran, {} wrong {}", oracle.ran, oracle.wrong.len(), oracle.wrong.join("\n")));
}

fn say(line: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stdout(), "{line}");
}

#[test]
fn the_oracle_sees_what_is_beyond_a_plan() {
    let line = |text: &str| did(&format!("12 {text}"));
    assert_eq!(
        line("execve(\"/usr/bin/id\", [\"id\"], 0x7f /* 3 vars */) = 0"),
        [Did::Execute("/usr/bin/id".into())]
    );
    assert_eq!(
        line("openat(AT_FDCWD</w>, \"x\", O_WRONLY|O_CREAT|O_TRUNC, 0666) = 3</w/x>"),
        [Did::Change("/w/x".into())]
    );
    assert_eq!(
        line("openat(AT_FDCWD</w>, \"b\\tc\\303\\274\", O_WRONLY) = 3</w/b>"),
        [Did::Change("/w/b\tc\u{fc}".into())]
    );
    assert!(line("openat(AT_FDCWD</w>, \"x\", O_RDONLY) = 3</w/x>").is_empty());
    assert!(line("execve(\"/bin/x\", [\"x\"], 0x7f) = -1 ENOENT (No such file or directory)").is_empty());
    let plan = CommandPlan::default();
    assert_eq!(beyond(&plan, &["1 execve(\"/usr/bin/id\", [\"id\"], 0x7f) = 0".to_owned()]).len(), 1);
}

#[test]
fn calls_that_strace_cuts_in_two_are_put_together() {
    let trace = "7 openat(AT_FDCWD</w>, \"x\", O_WRONLY <unfinished ...>\n8 execve(\"/bin/a\", [\"a\"]) = 0\n7 <... openat resumed>) = 3</w/x>\n9 execve(\"/bin/b\" <unfinished ...>\n";
    let done: Vec<_> = trace::whole_lines(trace).iter().flat_map(|line| did(line)).collect();
    let executed = |name: &str| Did::Execute(name.to_owned());
    assert_eq!(done, [executed("/bin/a"), Did::Change("/w/x".into()), executed("/bin/b")]);
}

/// The whole way: what a real bash does, against a plan that knows nothing of it.
#[test]
fn a_plan_that_leaves_something_out_is_found_out() {
    if !can_trace() {
        return;
    }
    let scratch = Scratch::new();
    let policy = Policy::preset("develop").expect("it is one");
    let plan = |text: &str| {
        let plan = policy.judge(text, &scratch.root(0), &scratch.world(0)).plan;
        plan.expect("it is plain")
    };
    let (whole, less) = (plan("touch z && ls"), plan("ls"));
    let trace = scratch.traces(&[(0, "touch z && ls".to_owned(), &whole)]).remove(0);
    assert_eq!(beyond(&whole, &trace), Vec::<String>::new());
    let found = beyond(&less, &trace);
    assert!(
        found.iter().any(|did| did.contains("touch")) && found.iter().any(|did| did.contains("/z")),
        "{found:?}"
    );
}
