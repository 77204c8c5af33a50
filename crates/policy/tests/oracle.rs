//! What bash really does with an allowed text is within its plan: what it executes, and what it opens for writing.
//!
//! Texts are mutated from a list of commands and fragments of attacks; each that is allowed runs under the real bash in a scratch
//! folder, traced. CONVOKE_ORACLE says how many mutations are judged (100 unless told; 100000 for the long version), and
//! CONVOKE_ORACLE_FROM which is the first of them (0), so CONVOKE_ORACLE=1 repeats one. Left out where strace is missing.

use convoke_policy::{CommandPlan, Kind, Lexical, Policy, Verdict};
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

const FILES: [(&str, &str); 9] = [
    ("src/main.rs", "fn main() {}\n"),
    ("src/lib.rs", "//! x\n"),
    ("a.txt", "b\na\nevil\n"),
    ("b.txt", "a\n"),
    ("data.csv", "a,1\nb,200\n"),
    ("x.json", "{\"a\": [1, 2]}\n"),
    (".env", "KEY=secret\n"),
    ("Cargo.toml", "[package]\n"),
    ("papers/guide.md", "# guide\n"),
];

/// Commands that are allowed, or nearly.
const SEEDS: [&str; 56] = [
    "ls -la",
    "ls src/*.rs",
    "cat a.txt b.txt",
    "cat -n src/lib.rs | head -n 3",
    "head -n 1 -- a.txt",
    "tail -n +2 a.txt",
    "wc -l a.txt",
    "grep -rn evil .",
    "grep -c a a.txt b.txt",
    "grep -v x a.txt | sort -u",
    "find . -name '*.rs' -type f",
    "find src -maxdepth 1 -print",
    "sort a.txt -o b.txt",
    "sort -t, -k2,2n data.csv",
    "uniq a.txt",
    "uniq a.txt c.txt",
    "cut -d, -f1 data.csv",
    "tr a-z A-Z < a.txt",
    "sed -n '1,2p' a.txt",
    "sed 's/evil/good/g' a.txt",
    "sed -i 's/evil/good/' a.txt",
    "sed -i.bak -e '1d' a.txt",
    "awk -F, '{print $1}' data.csv",
    "awk '/a/ {n++} END {print n}' a.txt",
    "jq '.a' x.json",
    "diff -u a.txt b.txt || true",
    "stat -c %s a.txt",
    "du -sh src",
    "pwd",
    "echo hello > c.txt",
    "echo more >> papers/guide.md",
    "printf '%s\\n' a b | tee c.txt d.txt",
    "test -f a.txt && echo yes",
    "[ -d src ] || echo no",
    "true; false || echo x",
    "cd src && ls && cat main.rs",
    "cd docs; cat guide.md",
    "basename a/b.txt",
    "date +%s",
    "mkdir -p new/deep",
    "mkdir d && cd d && touch e",
    "touch c.txt",
    "cp a.txt c.txt",
    "cp a.txt src",
    "mv b.txt c.txt",
    "rm a.txt",
    "git status --porcelain",
    "git log --oneline -n 2",
    "git diff -- src",
    "git show HEAD:a.txt | sed -n 1p",
    "git add a.txt",
    "git commit -q -m 'a change' --allow-empty",
    "timeout 5 cat a.txt",
    "nice -n 5 ls",
    "env ls",
    "cat <<'EOF' > notes.md\n$(id) text\nEOF",
];

/// What attacks are made of.
const FRAGMENTS: [&str; 60] = [
    " ",
    "  ",
    "\t",
    "\n",
    ";",
    " ; ",
    "&&",
    " && ",
    "||",
    "|",
    " | ",
    ">",
    ">>",
    " 2>&1",
    " 2>/dev/null",
    " &>c.txt",
    "<",
    " <<<x",
    "'",
    "\"",
    "\\",
    "\\\n",
    "''",
    "\"\"",
    "'x y'",
    "\\ ",
    "#",
    " # x",
    "*",
    "?",
    "[a]",
    "{}",
    "!",
    "~",
    "=",
    "--",
    "-",
    " -n",
    " -i",
    " -o",
    " -o c.txt",
    " -e p",
    " w c.txt",
    "/",
    "..",
    "../x",
    " .env",
    " .git/config",
    " src",
    " a.txt",
    " c.txt",
    " touch z",
    " rm b.txt",
    " sh",
    " env",
    "A=1 ",
    "-exec",
    " -delete",
    "{print}",
    "1e id",
];

/// The same numbers in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % bound as u64).expect("it is below the bound")
    }
}

/// One mutation: a seed, maybe joined with another, with fragments put in, words taken out or moved.
fn mutation(number: u64) -> String {
    let mut random = Random(number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d);
    random.below(2);
    let mut text = SEEDS[random.below(SEEDS.len())].to_owned();
    if random.below(3) == 0 {
        let joins = ["; ", " && ", " || ", " | ", "\n"];
        text = text + joins[random.below(joins.len())] + SEEDS[random.below(SEEDS.len())];
    }
    for _ in 0..random.below(4) {
        let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        let at = places[random.below(places.len())];
        match random.below(4) {
            0 | 1 => text.insert_str(at, FRAGMENTS[random.below(FRAGMENTS.len())]),
            2 => {
                let mut words: Vec<&str> = text.split(' ').collect();
                let taken = words.remove(random.below(words.len()));
                if random.below(2) == 0 {
                    words.insert(random.below(words.len() + 1), taken);
                }
                text = words.join(" ");
            }
            _ if at < text.len() => drop(text.remove(at)),
            _ => {}
        }
    }
    text
}

/// A repository that is made anew for every text.
struct Scratch {
    folder: tempfile::TempDir,
}

impl Scratch {
    fn new() -> Scratch {
        let scratch = Scratch { folder: tempfile::tempdir().expect("a folder") };
        let template = scratch.path("template");
        for (name, content) in FILES {
            let path = template.join(name);
            std::fs::create_dir_all(path.parent().expect("it has a folder")).expect("a folder");
            std::fs::write(path, content).expect("a file");
        }
        let git = |args: &[&str]| {
            let mut command = scratch.command("git", &template);
            command.args(["-c", "user.name=x", "-c", "user.email=x@x"]).args(args);
            assert!(command.status().expect("git runs").success());
        };
        git(&["init", "-q"]);
        git(&["config", "user.name", "x"]);
        git(&["config", "user.email", "x@x"]);
        git(&["add", "a.txt", "src"]);
        git(&["commit", "-q", "-m", "first"]);
        std::fs::remove_dir_all(template.join(".git/hooks")).expect("git makes samples");
        scratch
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().expect("it is there").join(name)
    }

    fn command(&self, program: &str, folder: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(folder)
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.path("home"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    fn world(&self) -> Lexical {
        let world = Lexical::new(self.path("root")).with(".git", Kind::Folder);
        FILES.iter().fold(world, |world, (name, _)| world.with(name, Kind::File { names: 1 }))
    }

    /// Runs a text under bash; the lines of the trace.
    fn trace(&self, text: &str, plan: &CommandPlan) -> Vec<String> {
        let (root, log) = (self.path("root"), self.path("log"));
        let _ = std::fs::remove_dir_all(&root);
        let copied = self.command("cp", self.folder.path()).args(["-r", "template", "root"]).status();
        assert!(copied.expect("cp runs").success());
        let calls = "trace=execve,open,openat,openat2,creat,rename,renameat,renameat2,unlink,unlinkat,mkdir,mkdirat,link,linkat,symlink,symlinkat,truncate,rmdir";
        let mut command = self.command("timeout", &root);
        command
            .args(["-s", "KILL", "20", "strace", "-f", "-qq", "-y", "-s", "4096", "-e", calls, "-o"])
            .arg(&log);
        command.args(["bash", "--norc", "--noprofile", "-c", text]);
        let git = plan.commands().filter(|command| command.argv.iter().any(|word| word == "git"));
        for planned in git {
            command.envs(planned.env.iter().filter(|(name, _)| name.starts_with("GIT_")));
        }
        command.status().expect("strace runs");
        std::fs::read_to_string(log).expect("a trace").lines().map(str::to_owned).collect()
    }
}

/// What a traced call did.
#[derive(Debug, PartialEq)]
enum Did {
    Execute(String),
    Change(PathBuf),
}

fn did(line: &str) -> Vec<Did> {
    let Some((call, rest)) = line.split_once('(') else { return Vec::new() };
    let name = call.rsplit(' ').next().unwrap_or(call);
    let failed = line
        .rsplit_once(" = ")
        .is_some_and(|(_, result)| result.starts_with("-1") || result.starts_with('?'));
    if failed || line.contains("resumed>") || line.contains("<unfinished") && !line.contains('"') {
        return Vec::new();
    }
    let texts = strings(rest);
    match name {
        "execve" => texts.first().map(|program| Did::Execute(program.clone())).into_iter().collect(),
        "open" | "openat" | "openat2"
            if !["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"].iter().any(|flag| rest.contains(flag)) =>
        {
            Vec::new()
        }
        _ => {
            let folder = rest
                .split_once("AT_FDCWD<")
                .or_else(|| rest.split_once('<'))
                .and_then(|(_, path)| path.split_once('>'));
            let folder = folder.map_or_else(PathBuf::new, |(path, _)| PathBuf::from(path));
            texts.iter().map(|path| Did::Change(folder.join(path))).collect()
        }
    }
}

/// Texts between quotes.
fn strings(line: &str) -> Vec<String> {
    let (mut found, mut current, mut chars) = (Vec::new(), None::<String>, line.chars());
    while let Some(c) = chars.next() {
        match (c, &mut current) {
            ('"', None) => current = Some(String::new()),
            ('"', Some(_)) => found.extend(current.take()),
            ('\\', Some(text)) => text.extend(chars.next()),
            (c, Some(text)) => text.push(c),
            ('[', None) => break,
            _ => {}
        }
    }
    found
}

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

/// What was done and is not in the plan.
fn beyond(plan: &CommandPlan, trace: &[String]) -> Vec<String> {
    const WRAPPERS: [&str; 5] = ["timeout", "nice", "env", "nohup", "stdbuf"];
    let mut programs: BTreeSet<&str> = BTreeSet::from(["bash"]);
    for command in plan.commands() {
        let first = command.argv[0].as_str();
        programs.insert(first);
        if WRAPPERS.contains(&first) {
            programs.extend(command.argv.iter().map(String::as_str));
        }
    }
    let git = programs.contains("git");
    let fine = |did: &Did| match did {
        Did::Execute(program) => {
            let name = program.rsplit('/').next().unwrap_or(program);
            programs.contains(name) || (git && name.starts_with("git"))
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

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

#[test]
fn what_bash_does_with_an_allowed_text_is_in_its_plan() {
    if !Command::new("strace")
        .arg("-V")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
    {
        // Left out: there is no strace.
        return;
    }
    let scratch = Scratch::new();
    let (world, policy) = (scratch.world(), Policy::preset("develop").expect("it is one"));
    let root = scratch.path("root");
    std::fs::create_dir_all(scratch.path("home")).expect("a folder");
    let (first, count) = (number("CONVOKE_ORACLE_FROM", 0), number("CONVOKE_ORACLE", 100));
    let (mut ran, mut wrong) = (0_u64, Vec::new());
    let seeds = if first == 0 { SEEDS.len() } else { 0 };
    let texts =
        SEEDS.iter().take(seeds).map(|seed| (*seed).to_owned()).chain((first..first + count).map(mutation));
    let mut seen = BTreeSet::new();
    for (at, text) in texts.enumerate() {
        if !seen.insert(text.clone()) {
            continue;
        }
        let judgement = policy.judge(&text, &root, &world);
        let Some(plan) =
            judgement.plan.filter(|plan| judgement.verdict == Verdict::Allow && !plan.runs_project_code)
        else {
            continue;
        };
        ran += 1;
        let beyond = beyond(&plan, &scratch.trace(&text, &plan));
        if !beyond.is_empty() {
            wrong.push(format!("{at} {text:?}: {beyond:?}\n{}", plan.without_env()));
        }
    }
    assert!(wrong.is_empty(), "{} of {ran}:\n{}", wrong.len(), wrong.join("\n\n"));
    assert!(ran > count / 20, "only {ran} of {count} were allowed, so nothing is known");
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
    assert!(line("openat(AT_FDCWD</w>, \"x\", O_RDONLY) = 3</w/x>").is_empty());
    assert!(line("execve(\"/bin/x\", [\"x\"], 0x7f) = -1 ENOENT (No such file or directory)").is_empty());
    let plan = CommandPlan::default();
    assert_eq!(beyond(&plan, &["1 execve(\"/usr/bin/id\", [\"id\"], 0x7f) = 0".to_owned()]).len(), 1);
}
