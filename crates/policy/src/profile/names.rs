//! Names of programs: which are programs with sub-commands, and which run what they are given.

use super::Argument;
use super::table::spec;

/// The name by which a call has its profile and its rule, and how many words of the call it takes: `git status` takes two.
pub fn key(words: &[Argument<'_>]) -> (String, usize) {
    let name = words[0].text;
    let word = |at: usize| words.get(at).filter(|word| !word.is_pattern).map_or("", |word| word.text);
    match name {
        "git" => git_key(words),
        "cargo" | "npm" | "pip" | "go" => (
            if word(1).is_empty() { name.to_owned() } else { format!("{name} {}", word(1)) },
            words.len().min(2),
        ),
        "pip3" => (format!("pip {}", word(1)), words.len().min(2)),
        "python3" | "python" if matches!(word(1), "--version" | "-V") && words.len() == 2 => {
            ("python --version".to_owned(), 2)
        }
        "python3" => ("python".to_owned(), 1),
        "node" if matches!(word(1), "--version" | "-v") && words.len() == 2 => {
            ("node --version".to_owned(), 2)
        }
        "node" if matches!(word(1), "--test" | "--check") => (format!("node {}", word(1)), 2),
        "make" if word(1) == "--version" => ("make --version".to_owned(), 2),
        "[" => ("[".to_owned(), 1),
        _ => (name.to_owned(), 1),
    }
}

fn git_key(words: &[Argument<'_>]) -> (String, usize) {
    let word = |at: usize| words.get(at).map_or("", |word| word.text);
    let lists = |flags: &[&str]| {
        let rest = || words[2..].iter().map(|word| word.text);
        rest().next().is_none() || rest().any(|word| flags.contains(&word))
    };
    match word(1) {
        "" => ("git".to_owned(), 1),
        "--version" => ("git version".to_owned(), 2),
        "branch"
            if lists(&[
                "--list",
                "-l",
                "-a",
                "-r",
                "-v",
                "-vv",
                "--all",
                "--remotes",
                "--show-current",
                "--contains",
            ]) =>
        {
            ("git branch --list".to_owned(), 2)
        }
        "tag" if lists(&["--list", "-l", "--contains", "--points-at"]) => ("git tag --list".to_owned(), 2),
        "stash" | "reflog" => {
            let two = format!("git {} {}", word(1), word(2));
            if spec(&two).is_some() {
                return (two, 3);
            }
            match word(1) {
                "reflog" if word(2).is_empty() => ("git reflog show".to_owned(), 2),
                "stash" if word(2).is_empty() || word(2).starts_with('-') => ("git stash".to_owned(), 2),
                _ => (two, 3),
            }
        }
        sub => (format!("git {sub}"), 2),
    }
}

/// How a program without a profile runs other programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runner {
    /// It is an interpreter, or takes program text.
    Interpreter,
    /// It starts what its arguments or its files name.
    Starter,
    /// It changes what later words of the shell mean.
    Shell,
}

/// Programs that take program text.
const INTERPRETERS: &str = "\
    sh bash dash zsh ksh mksh ash fish csh tcsh rbash pwsh python python2 perl ruby node nodejs deno bun
    php lua luajit tclsh wish expect awk gawk mawk nawk sed ed ex vi vim nvim emacs m4 bc dc gdb lldb
    osascript Rscript guile java";

/// Programs that start what their arguments or their files name.
const STARTERS: &str = "\
    xargs parallel find fd fdfind env sudo su doas pkexec runuser chroot unshare nsenter bwrap firejail
    docker podman kubectl ssh scp sftp rsync rsh telnet nc ncat netcat socat at batch cron crontab
    systemd-run systemctl service screen tmux script watch strace ltrace make gmake cmake ninja npm npx
    yarn pnpm pip uv uvx pipx cargo go gradle mvn tar zip cpio man less more start-stop-daemon busybox
    toybox ld.so ld-linux.so ld-linux-x86-64.so.2 entr flock git hg svn";

/// Words that change what later words of the shell mean.
const SHELL: &str = "\
    eval source . exec command builtin alias unalias export declare typeset local readonly set unset
    shopt enable trap bind hash let read mapfile readarray coproc complete compgen compopt fc history
    pushd popd dirs getopts umask ulimit";

/// Whether a program of this name runs what it is given, so that nothing can be said of it by its name.
pub fn runs_others(name: &str) -> Option<Runner> {
    // Versions are in names: `python3.12`, `perl5.36`, `gcc-12`.
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'));
    let is = |list: &str| {
        list.split_ascii_whitespace().any(|word| word == name || (!plain.is_empty() && word == plain))
    };
    match () {
        () if is(SHELL) => Some(Runner::Shell),
        () if is(INTERPRETERS) => Some(Runner::Interpreter),
        () if is(STARTERS) => Some(Runner::Starter),
        () => None,
    }
}
