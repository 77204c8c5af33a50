//! Names that an agent's hands stay off: what must not be written, also while it does not exist, and what must not be read.
//!
//! One table for all that guard files: the file tools, the policy of commands, the sandbox. Names are compared component by
//! component, case folded, at any depth (one that begins with `/` at the root alone); what lies beneath a name is guarded with it.
//! Whether a path leads where it seems to is for those to find out that open it: here are only names.
//!
//! What is guarded is what a program runs or obeys later with other rights, and what holds secrets. `AGENTS.md`, `CLAUDE.md`,
//! `GEMINI.md` and their like are not guarded: they run nothing and give no rights, an agent that reads them has its own policy and
//! sandbox, and to write them is work that agents are asked for. A step that must not touch them says `protect`, a policy
//! `paths.protect`. Rules of single products in hidden files are guarded, because some of them hand out tools.

use crate::hash::HashMap;
use std::borrow::Cow;
use std::sync::LazyLock;

/// Who is kept off a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// Tools that write files. Programs may change it, as `git commit` changes `.git`.
    Tools,
    /// Every agent and everything that it runs.
    All,
}

/// A name that is guarded, with everything beneath it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guarded {
    /// Components with `/` between them; `*` stands for anything in one component.
    pub name: &'static str,
    /// What it is.
    pub what: &'static str,
    /// Who is kept off it.
    pub reach: Reach,
    /// What a sandbox holds of it below each folder that a command writes in, with `/` at the end of a folder. Empty: nothing,
    /// because each name is a mount at every start, and the file tools and the policy keep commands off it.
    pub held: &'static str,
}

const fn all(name: &'static str, what: &'static str) -> Guarded {
    Guarded { name, what, reach: Reach::All, held: "" }
}

impl Guarded {
    const fn held(self, held: &'static str) -> Guarded {
        Guarded { held, ..self }
    }

    /// Whether it is guarded at the root alone, and its components.
    fn parts(&self) -> (bool, std::str::Split<'static, char>) {
        let at_root = self.name.strip_prefix('/');
        (at_root.is_some(), at_root.unwrap_or(self.name).split('/'))
    }
}

const GIT: &str = "what git runs and obeys";
const ENGINE: &str = "the engine's own";
const CI: &str = "what a build service runs";
const SHELL: &str = "what a shell or a session runs when it starts";
const AGENT: &str = "configuration of an agent";
const EDITOR: &str = "configuration of an editor, which runs it";
const BUILD: &str = "configuration that has a later command run something";
const SECRET: &str = "a secret";

/// What must not be written, changed, made or removed. What is secret ([`SECRETS`]) must not be written either.
pub const PROTECTED: &[Guarded] = &[
    Guarded { name: ".git", what: "git's own, changed by git alone", reach: Reach::Tools, held: "" },
    all(".git/hooks", GIT).held(".git/hooks/"),
    all(".git/config", GIT).held(".git/config"),
    all(".git/config.worktree", GIT).held(".git/config.worktree"),
    all(".git/info", GIT),
    all(".git/info/attributes", GIT).held(".git/info/attributes"),
    all(".git/commondir", GIT).held(".git/commondir"),
    all(".git/modules/*/hooks", GIT),
    all(".git/modules/*/config", GIT),
    all(".git/worktrees/*/config.worktree", GIT),
    all(".git/worktrees/*/gitdir", GIT),
    all(".git/worktrees/*/commondir", GIT),
    all(".gitmodules", GIT).held(".gitmodules"),
    all(".gitattributes", GIT),
    all(".hg", GIT),
    all(".svn", GIT),
    all(".githooks", GIT),
    all(".husky", GIT).held(".husky/"),
    all(".gitconfig", GIT),
    all(".config/git", GIT),
    all(".pre-commit-config.yaml", GIT).held(".pre-commit-config.yaml"),
    all("lefthook.yml", GIT),
    all("lefthook.yaml", GIT),
    all(".convoke", ENGINE).held(".convoke/"),
    all("convoke.toml", ENGINE).held("convoke.toml"),
    all(".engine", ENGINE),
    all("/policy.yaml", ENGINE).held("policy.yaml"),
    all(".github", CI).held(".github/"),
    all(".gitlab", CI),
    all(".gitea/workflows", CI),
    all(".forgejo/workflows", CI),
    all(".gitlab-ci.yml", CI).held(".gitlab-ci.yml"),
    all(".gitlab-ci.yaml", CI),
    all(".circleci", CI).held(".circleci/"),
    all(".buildkite", CI),
    all(".travis.yml", CI),
    all(".drone.yml", CI),
    all(".woodpecker.yml", CI),
    all(".woodpecker", CI),
    all("azure-pipelines.yml", CI).held("azure-pipelines.yml"),
    all("bitbucket-pipelines.yml", CI),
    all("jenkinsfile", CI).held("Jenkinsfile"),
    all(".bashrc", SHELL).held(".bashrc"),
    all(".bash_profile", SHELL).held(".bash_profile"),
    all(".bash_login", SHELL).held(".bash_login"),
    all(".bash_logout", SHELL),
    all(".bash_aliases", SHELL),
    all(".profile", SHELL).held(".profile"),
    all(".zshrc", SHELL).held(".zshrc"),
    all(".zshenv", SHELL).held(".zshenv"),
    all(".zprofile", SHELL).held(".zprofile"),
    all(".zlogin", SHELL),
    all(".zlogout", SHELL),
    all(".kshrc", SHELL),
    all(".cshrc", SHELL),
    all(".tcshrc", SHELL),
    all(".login", SHELL),
    all(".inputrc", SHELL),
    all(".xprofile", SHELL),
    all(".xinitrc", SHELL),
    all(".xsession", SHELL),
    all(".config/fish", SHELL),
    all(".config/autostart", SHELL),
    all(".config/systemd", SHELL),
    all(".config/environment.d", SHELL),
    all(".local/bin", SHELL),
    all(".pam_environment", SHELL),
    all(".envrc", SHELL).held(".envrc"),
    all(".env", SHELL).held(".env"),
    all(".config/starship.toml", SHELL),
    all(".curlrc", SHELL),
    all(".wgetrc", SHELL),
    all(".ripgreprc", SHELL),
    all(".rgrc", SHELL),
    all(".mcp.json", AGENT).held(".mcp.json"),
    all(".claude", AGENT).held(".claude/"),
    all(".claude.json", AGENT),
    all(".codex", AGENT).held(".codex/"),
    all(".cursor", AGENT).held(".cursor/"),
    all(".gemini", AGENT).held(".gemini/"),
    all(".continue", AGENT),
    all(".windsurf", AGENT),
    all(".aider.conf.yml", AGENT),
    all(".aider", AGENT),
    all(".cursorrules", AGENT),
    all(".clinerules", AGENT),
    all(".windsurfrules", AGENT),
    all(".roomodes", AGENT),
    all(".opencode", AGENT),
    all("opencode.json", AGENT),
    all(".roo", AGENT),
    all(".kiro", AGENT),
    all(".amazonq", AGENT),
    all(".vscode", EDITOR).held(".vscode/"),
    all(".idea", EDITOR).held(".idea/"),
    all(".zed", EDITOR),
    all(".fleet", EDITOR),
    all(".devcontainer", EDITOR).held(".devcontainer/"),
    all(".devcontainer.json", EDITOR),
    all(".vim", EDITOR),
    all(".vimrc", EDITOR),
    all(".nvimrc", EDITOR),
    all(".exrc", EDITOR),
    all(".config/nvim", EDITOR),
    all(".emacs", EDITOR),
    all(".emacs.d", EDITOR),
    all(".dir-locals.el", EDITOR),
    all(".editrc", EDITOR),
    all(".editorconfig", EDITOR),
    all(".cargo/config.toml", BUILD).held(".cargo/"),
    all(".cargo/config", BUILD),
    all(".bazelrc", BUILD),
    all(".mvn", BUILD),
    all(".npmrc", BUILD).held(".npmrc"),
    all(".yarnrc", BUILD),
    all(".yarnrc.yml", BUILD).held(".yarnrc.yml"),
    all(".yarn/plugins", BUILD),
    all(".yarn/releases", BUILD),
    all(".pnpmfile.cjs", BUILD).held(".pnpmfile.cjs"),
    all(".config/pip", BUILD),
    all(".pythonrc", BUILD),
    all(".pythonstartup", BUILD),
    all(".gdbinit", BUILD),
    all(".lldbinit", BUILD),
];

/// What must not be read, nor written.
pub const SECRETS: &[Guarded] = &[
    all(".env*", SECRET),
    all("*.env", SECRET),
    all(".netrc", SECRET),
    all("_netrc", SECRET),
    all(".ssh", SECRET),
    all("id_rsa*", SECRET),
    all("id_dsa*", SECRET),
    all("id_ecdsa*", SECRET),
    all("id_ed25519*", SECRET),
    all("id_xmss*", SECRET),
    all(BARE_KEY, SECRET),
    all("*.pem", SECRET),
    all("*.key", SECRET),
    all("*.ppk", SECRET),
    all("*.p12", SECRET),
    all("*.pfx", SECRET),
    all("*.jks", SECRET),
    all("*.keystore", SECRET),
    all("*.kdbx", SECRET),
    all("*.age", SECRET),
    all(".gnupg", SECRET),
    all(".aws", SECRET),
    all(".azure", SECRET),
    all(".kube", SECRET),
    all(".config/gcloud", SECRET),
    all(".gcloud", SECRET),
    all(".config/gh", SECRET),
    all(".config/op", SECRET),
    all(".config/convoke", SECRET),
    all(".local/state/convoke", SECRET),
    all(".docker/config.json", SECRET),
    all(".dockercfg", SECRET),
    all("credentials.toml", SECRET),
    all(".git-credentials", SECRET),
    all(".git/credentials", SECRET),
    all(".config/git/credentials", SECRET),
    all(".npmrc", SECRET),
    all(".pypirc", SECRET),
    all(".cargo/credentials*", SECRET),
    all(".gem/credentials", SECRET),
    all(".pgpass", SECRET),
    all(".my.cnf", SECRET),
    all(".htpasswd", SECRET),
    all(".vault-token", SECRET),
    all(".password-store", SECRET),
    all(".terraform.d/credentials*", SECRET),
    all(".terraformrc", SECRET),
];

/// A private key of any name. A name with an ending is a file of a program.
pub const BARE_KEY: &str = "id_*";

/// The names of a path, folded once for all that is asked about it.
pub type Folded<'a> = [Cow<'a, str>];

/// The components of a path as the least careful file system would compare them: case folded, without signs that take no room, and
/// without dots and blanks at their ends.
pub fn folded(path: &str) -> Vec<Cow<'_, str>> {
    let parts = path.split('/').filter(|part| !part.is_empty() && *part != ".");
    parts.map(|part| fold(part.into())).collect()
}

/// What keeps hands from writing at this path, made of components with `/` between them.
pub fn protected(path: &str) -> Option<&'static Guarded> {
    protected_names(&folded(path))
}

/// The same for names that are folded already. The strictest of several is told.
pub fn protected_names(path: &Folded<'_>) -> Option<&'static Guarded> {
    let all = TABLE_OF_PROTECTED.find(path, |guarded| guarded.reach == Reach::All);
    all.or_else(|| TABLE_OF_PROTECTED.find(path, |_| true)).or_else(|| secret_names(path))
}

/// What keeps hands from reading at this path.
pub fn secret(path: &str) -> Option<&'static Guarded> {
    secret_names(&folded(path))
}

/// The same for names that are folded already.
pub fn secret_names(path: &Folded<'_>) -> Option<&'static Guarded> {
    TABLE_OF_SECRETS.find(path, |_| true)
}

/// The protected name beneath this path that a replacement of the whole folder would bring in.
pub fn held_by(path: &Folded<'_>) -> Option<&'static Guarded> {
    let last = path.last()?;
    let ends = |holder: &&Holder| {
        let end = path.len().checked_sub(holder.folder.len()).map(|from| &path[from..]);
        end.is_some_and(|end| end.iter().zip(&holder.folder).all(|(part, name)| stands_for(name, part)))
    };
    HOLDERS.get(as_git(last))?.iter().find(ends).map(|holder| holder.holds)
}

/// A folder above a name of several components.
struct Holder {
    folder: Vec<&'static str>,
    holds: &'static Guarded,
}

/// By the last component of the folder.
static HOLDERS: LazyLock<HashMap<&'static str, Vec<Holder>>> = LazyLock::new(|| {
    let mut all: HashMap<_, Vec<_>> = HashMap::default();
    for holds in PROTECTED.iter().chain(SECRETS) {
        let parts: Vec<&'static str> = holds.parts().1.collect();
        for length in 1..parts.len() {
            all.entry(parts[length - 1])
                .or_default()
                .push(Holder { folder: parts[..length].to_vec(), holds });
        }
    }
    all
});

/// What a sandbox holds, each once; folders with `/` at their end.
pub fn held() -> impl Iterator<Item = &'static str> {
    PROTECTED.iter().map(|guarded| guarded.held).filter(|held| !held.is_empty())
}

static TABLE_OF_PROTECTED: LazyLock<Table> = LazyLock::new(|| Table::of(PROTECTED));
static TABLE_OF_SECRETS: LazyLock<Table> = LazyLock::new(|| Table::of(SECRETS));

/// A table in which names are looked up: a command may name hundreds of paths, and is decided about in microseconds.
struct Table {
    /// By their first component, where it has no `*`.
    literal: HashMap<&'static str, Vec<&'static Guarded>>,
    /// By what follows `*.` of the first component.
    endings: HashMap<&'static str, Vec<&'static Guarded>>,
    /// Those that begin otherwise.
    open: Vec<&'static Guarded>,
    /// The first bytes of `literal` and `open`: most names of paths begin with none of them.
    begins: [bool; 256],
}

impl Table {
    fn of(all: &'static [Guarded]) -> Table {
        let (mut literal, mut endings, mut open) = (HashMap::default(), HashMap::default(), Vec::new());
        let mut begins = [false; 256];
        for guarded in all {
            let first = guarded.parts().1.next().unwrap_or_default();
            match first.strip_prefix("*.") {
                Some(ending) => endings.entry(ending).or_insert_with(Vec::new).push(guarded),
                None => {
                    begins[usize::from(first.as_bytes()[0])] = true;
                    match first.contains('*') {
                        true => open.push(guarded),
                        false => literal.entry(first).or_insert_with(Vec::new).push(guarded),
                    }
                }
            }
        }
        // The short name of `.git` begins otherwise than the name.
        begins[usize::from(b'g')] = true;
        Table { literal, endings, open, begins }
    }

    fn find(&self, path: &Folded<'_>, fits: impl Fn(&Guarded) -> bool) -> Option<&'static Guarded> {
        (0..path.len()).find_map(|at| self.find_at(path, at, &fits))
    }

    fn find_at(
        &self,
        path: &Folded<'_>,
        at: usize,
        fits: &impl Fn(&Guarded) -> bool,
    ) -> Option<&'static Guarded> {
        let part = &*path[at];
        let is = |guarded: &&&'static Guarded| fits(guarded) && stands_at(guarded, path, at);
        let ending = part.rsplit_once('.').and_then(|(_, ending)| self.endings.get(ending));
        let by_ending = ending.into_iter().flatten().find(is);
        if by_ending.is_some() || !part.bytes().next().is_some_and(|byte| self.begins[usize::from(byte)]) {
            return by_ending.copied();
        }
        let literal = self.literal.get(as_git(part));
        literal.into_iter().flatten().chain(&self.open).find(is).copied()
    }
}

/// Whether a name stands among the components from here on.
fn stands_at(guarded: &Guarded, path: &Folded<'_>, at: usize) -> bool {
    let (at_root, names) = guarded.parts();
    let mut parts = path[at..].iter();
    (!at_root || at == 0)
        && names.into_iter().all(|name| parts.next().is_some_and(|part| stands_for(name, part)))
}

/// The name that git's own tools take for `.git` on other file systems.
const SHORT_GIT: &str = "git~1";

fn as_git(part: &str) -> &str {
    if part == SHORT_GIT { ".git" } else { part }
}

fn stands_for(pattern: &str, part: &str) -> bool {
    match pattern {
        ".git" => part == ".git" || part == SHORT_GIT,
        BARE_KEY => part.starts_with("id_") && !part.contains('.'),
        pattern => super::clearance::matches(pattern, part),
    }
}

/// One component, folded.
pub fn fold(part: Cow<'_, str>) -> Cow<'_, str> {
    let is_plain = |byte: u8| byte.is_ascii() && !byte.is_ascii_uppercase() && byte != b':';
    if part.bytes().all(is_plain) && !part.ends_with(['.', ' ']) {
        return part;
    }
    let plain: String = part.chars().filter(|c| !is_unseen(*c)).flat_map(char::to_lowercase).collect();
    let cut = plain.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']);
    if cut.is_empty() { plain.into() } else { cut.to_owned().into() }
}

fn is_unseen(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{ad}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_guarded_at_any_depth_with_all_beneath_it_and_also_while_it_is_not_there() {
        for path in [
            ".git/hooks/pre-commit",
            ".git/config",
            "vendor/x/.git/HEAD",
            ".git",
            ".convoke/new-file.json",
            ".vscode/settings.json",
            "sub/.cargo/config.toml",
            ".github/workflows/ci.yml",
            ".github/CODEOWNERS",
            ".gitattributes",
            "policy.yaml",
            ".cursorrules",
            ".bashrc",
            ".mcp.json",
            ".env.local",
            "Jenkinsfile",
        ] {
            assert!(protected(path).is_some(), "{path}");
        }
    }

    #[test]
    fn spelling_hides_nothing() {
        for path in
            [".GIT/config", ".git./config", ".g\u{200c}it/config", "GIT~1/config", ".Env", ".git::$DATA/x"]
        {
            assert!(protected(path).is_some(), "{path}");
        }
        assert!(secret("deploy/KEY.PEM").is_some() && secret("sub/.env.production").is_some());
    }

    #[test]
    fn names_that_are_only_alike_are_free() {
        for path in [
            ".gitignore",
            "AGENTS.md",
            "deploy/policy.yaml",
            "src/git/config.rs",
            "docs/..notes.md",
            "environment.md",
            "target/out.json",
            "id_deploy.rs",
            "cargo/config.toml",
            "src/id_map.rs",
            "keys.rs",
            "policy.md",
        ] {
            assert_eq!(protected(path), None, "{path}");
            assert_eq!(secret(path), None, "{path}");
        }
    }

    #[test]
    fn what_runs_is_told_before_what_is_merely_kept_in_order() {
        assert_eq!(protected(".git/hooks/x").unwrap().reach, Reach::All);
        assert_eq!(protected(".git/index").unwrap().reach, Reach::Tools);
        assert_eq!(secret(".git/config"), None);
    }

    #[test]
    fn what_would_come_to_stand_beneath_a_replaced_folder_is_known() {
        let held_by = |path: &str| held_by(&folded(path)).is_some();
        assert!(held_by(".cargo") && held_by("sub/.config") && held_by(".GIT"));
        assert!(!held_by("src") && !held_by("cargo") && !held_by(".vscode"));
        assert!(secret("a/id_deploy").is_some() && secret("id_deploy/readme.md").is_some());
    }

    /// The table is looked up by first components; this looks at each entry.
    #[test]
    fn every_name_of_the_table_is_found_wherever_it_stands() {
        for guarded in PROTECTED.iter().chain(SECRETS) {
            let (at_root, parts) = guarded.parts();
            let name = parts.map(|part| part.replace('*', "x")).collect::<Vec<_>>().join("/");
            let places = [name.clone(), format!("{name}/below"), format!("sub/{name}"), name.to_uppercase()];
            for place in places.iter().filter(|place| !(at_root && place.starts_with("sub/"))) {
                assert!(protected(place).is_some(), "{place} by `{}`", guarded.name);
            }
        }
        for guarded in SECRETS {
            assert!(secret(&guarded.name.replace('*', "x")).is_some(), "{}", guarded.name);
        }
    }

    #[test]
    fn a_sandbox_holds_names_of_the_table_each_once() {
        let all: Vec<&str> = held().collect();
        for held in &all {
            let name = held.trim_end_matches('/');
            let is_known = protected(name).is_some() || held_by(&folded(name)).is_some();
            assert!(is_known && all.iter().filter(|other| other == &held).count() == 1, "{held}");
        }
        assert!(all.contains(&"Jenkinsfile"));
    }

    #[test]
    fn the_table_is_folded_already() {
        for guarded in PROTECTED.iter().chain(SECRETS) {
            assert_eq!(guarded.name, guarded.name.to_lowercase());
        }
    }
}
