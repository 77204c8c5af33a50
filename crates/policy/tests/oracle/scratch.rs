//! Where texts run: folders with the same files, made anew for every text, and one bash after another beneath one strace.
//!
//! What costs is starting strace and copying folders, so a batch of texts shares one trace. Before each text the driver opens a file
//! of its own, and that line of the trace is where the text begins. Folders are in memory where the system has such a place.

use super::trace::whole_lines;
use convoke_policy::{CommandPlan, Kind, Lexical};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Texts that share a trace.
pub const BATCH: usize = 48;

/// The files of the repository.
pub const FILES: [(&str, &str); 11] = [
    ("src/main.rs", "fn main() {}\n"),
    ("src/lib.rs", "//! x\n"),
    ("a.txt", "b\na\nevil\n"),
    ("b.txt", "a\n"),
    ("data.csv", "a,1\nb,200\n"),
    ("x.json", "{\"a\": [1, 2]}\n"),
    (".env", "KEY=secret\n"),
    ("Cargo.toml", "[package]\n"),
    ("papers/guide.md", "# guide\n"),
    (
        "tool.py",
        "import subprocess\nopen('made.txt', 'w').write('x')\nsubprocess.run(['touch', 'by-hand.txt'])\n",
    ),
    ("Makefile", "all:\n\ttouch built.txt\ncheck:\n\t@cat a.txt > checked.txt\n"),
];

/// The calls by which something is executed or changed.
const CALLS: &str = "trace=execve,execveat,open,openat,openat2,creat,rename,renameat,renameat2,unlink,unlinkat,mkdir,mkdirat,mknod,mknodat,link,linkat,symlink,symlinkat,truncate,rmdir,chmod,fchmodat,chown,fchownat";

/// A folder with the repository, and one copy of it for each text of a batch.
pub struct Scratch {
    folder: tempfile::TempDir,
    /// The repository: files with their content, the paths in it.
    template: Vec<(PathBuf, Option<Vec<u8>>)>,
}

impl Scratch {
    /// Makes the repository.
    pub fn new() -> Scratch {
        let memory = Path::new("/dev/shm");
        let folder = match memory.is_dir() {
            true => tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir()),
            false => tempfile::tempdir(),
        };
        let mut scratch = Scratch { folder: folder.expect("a folder"), template: Vec::new() };
        fs::create_dir_all(scratch.path("home")).expect("a folder");
        fs::create_dir_all(scratch.path("driver")).expect("a folder");
        scratch.repository();
        // By these names the driver's own programs are told from those of the texts.
        for program in ["bash", "timeout"] {
            let found = ["/usr/bin", "/bin"].map(|folder| Path::new(folder).join(program));
            let found = found.iter().find(|path| path.exists()).expect("this system has bash and timeout");
            std::os::unix::fs::symlink(found, scratch.path("driver").join(program)).expect("a link");
        }
        scratch
    }

    fn repository(&mut self) {
        let template = self.path("template");
        for (name, content) in FILES {
            let path = template.join(name);
            fs::create_dir_all(path.parent().expect("it has a folder")).expect("a folder");
            fs::write(path, content).expect("a file");
        }
        let git = |args: &[&str]| {
            let mut command = self.command("git", &template);
            command.args(["-c", "user.name=x", "-c", "user.email=x@x"]).args(args);
            assert!(command.status().expect("git runs").success());
        };
        git(&["init", "-q"]);
        git(&["config", "user.name", "x"]);
        git(&["config", "user.email", "x@x"]);
        git(&["add", "a.txt", "src"]);
        git(&["commit", "-q", "-m", "first"]);
        fs::remove_dir_all(template.join(".git/hooks")).expect("git makes samples");
        collect(&template, Path::new(""), &mut self.template);
    }

    /// A path in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().expect("it is there").join(name)
    }

    /// The root of one text of a batch.
    pub fn root(&self, slot: usize) -> PathBuf {
        self.path("roots").join(slot.to_string())
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

    /// What judging knows of the root of one text.
    pub fn world(&self, slot: usize) -> Lexical {
        let world = Lexical::new(self.root(slot)).with(".git", Kind::Folder);
        FILES.iter().fold(world, |world, (name, _)| world.with(name, Kind::File { names: 1 }))
    }

    /// Runs texts one after another, each in its root; the lines of the trace that belong to each.
    pub fn traces(&self, texts: &[(usize, String, &CommandPlan)]) -> Vec<Vec<String>> {
        let _ = fs::remove_dir_all(self.path("roots"));
        let mut script = String::new();
        for (slot, text, plan) in texts {
            self.copy(&self.root(*slot));
            fs::write(self.begin(*slot), format!("{text}\0")).expect("a file");
            self.line(&mut script, *slot, plan);
        }
        fs::write(self.path("script"), script).expect("a file");
        let log = self.path("log");
        let mut command = self.command("strace", self.folder.path());
        command.args(["-f", "--seccomp-bpf", "-qq", "-y", "-s", "4096", "-e", CALLS, "-o"]).arg(&log);
        command.arg(self.path("driver/bash")).args(["--norc", "--noprofile"]).arg(self.path("script"));
        command.status().expect("strace runs");
        let trace = String::from_utf8_lossy(&fs::read(log).expect("a trace")).into_owned();
        self.cut(&whole_lines(&trace), texts)
    }

    /// The file that the driver reads when a text begins.
    fn begin(&self, slot: usize) -> PathBuf {
        self.path("driver").join(format!("text-{slot}"))
    }

    fn line(&self, script: &mut String, slot: usize, plan: &CommandPlan) {
        let (root, begin) = (self.root(slot), self.begin(slot));
        writeln!(script, "IFS= read -r -d '' text < '{}'", begin.display()).expect("text takes text");
        write!(script, "(cd '{}'", root.display()).expect("text takes text");
        let git = plan.commands().filter(|command| command.argv.iter().any(|word| word == "git"));
        for (name, value) in
            git.flat_map(|command| command.env.iter()).filter(|(name, _)| name.starts_with("GIT_"))
        {
            write!(script, "; export {name}='{}'", value.replace('\'', "'\\''")).expect("text takes text");
        }
        let driver = self.path("driver");
        let driver = driver.display();
        writeln!(script, "; exec '{driver}/timeout' -s KILL 20 '{driver}/bash' --norc --noprofile -c \"$text\") </dev/null >/dev/null 2>&1")
            .expect("text takes text");
    }

    /// Each text's part of a trace, without what the driver does.
    fn cut(&self, lines: &[String], texts: &[(usize, String, &CommandPlan)]) -> Vec<Vec<String>> {
        let driver = format!("\"{}/", self.path("driver").display());
        let mut parts = vec![Vec::new(); texts.len()];
        let mut at = None;
        for line in lines {
            let begins = |slot: usize| line.contains(&format!("\"{}\"", self.begin(slot).display()));
            match texts.iter().position(|(slot, ..)| begins(*slot)).filter(|_| line.contains(&driver)) {
                Some(next) => at = Some(next),
                None if line.contains(&driver) => {}
                None => at.into_iter().for_each(|at: usize| parts[at].push(line.clone())),
            }
        }
        assert_eq!(at, texts.len().checked_sub(1), "the driver came to its last text");
        parts
    }

    fn copy(&self, root: &Path) {
        fs::create_dir_all(root).expect("a folder");
        for (path, content) in &self.template {
            match content {
                None => fs::create_dir_all(root.join(path)).expect("a folder"),
                Some(content) => fs::write(root.join(path), content).expect("a file"),
            }
        }
    }
}

/// Everything beneath a folder, folders before what is in them.
fn collect(folder: &Path, beneath: &Path, into: &mut Vec<(PathBuf, Option<Vec<u8>>)>) {
    for entry in fs::read_dir(folder.join(beneath)).expect("a folder") {
        let entry = entry.expect("an entry");
        let path = beneath.join(entry.file_name());
        match entry.file_type().expect("a kind").is_dir() {
            true => {
                into.push((path.clone(), None));
                collect(folder, &path, into);
            }
            false => into.push((path.clone(), Some(fs::read(entry.path()).expect("a file")))),
        }
    }
}
