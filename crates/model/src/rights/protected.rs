//! Names that an agent's hands stay off: what must not be written, also while it does not exist, and what must not be read.
//!
//! One table for all that guard files: the file tools, the policy of commands, the sandbox. Names are compared component by
//! component, case folded, at any depth; what lies beneath a name is guarded with it. Whether a path leads where it seems to is for
//! those to find out that open it: here are only names.

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
}

const fn all(name: &'static str, what: &'static str) -> Guarded {
    Guarded { name, what, reach: Reach::All }
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
    Guarded { name: ".git", what: "git's own, changed by git alone", reach: Reach::Tools },
    all(".git/hooks", GIT),
    all(".git/config", GIT),
    all(".git/config.worktree", GIT),
    all(".git/info", GIT),
    all(".git/modules/*/hooks", GIT),
    all(".git/modules/*/config", GIT),
    all(".git/worktrees/*/config.worktree", GIT),
    all(".git/worktrees/*/gitdir", GIT),
    all(".git/worktrees/*/commondir", GIT),
    all(".githooks", GIT),
    all(".husky", GIT),
    all(".gitconfig", GIT),
    all(".config/git", GIT),
    all(".pre-commit-config.yaml", GIT),
    all("lefthook.yml", GIT),
    all("lefthook.yaml", GIT),
    all(".convoke", ENGINE),
    all("convoke.toml", ENGINE),
    all(".engine", ENGINE),
    all(".github/workflows", CI),
    all(".github/actions", CI),
    all(".gitea/workflows", CI),
    all(".forgejo/workflows", CI),
    all(".gitlab-ci.yml", CI),
    all(".gitlab-ci.yaml", CI),
    all(".circleci", CI),
    all(".buildkite", CI),
    all(".travis.yml", CI),
    all(".drone.yml", CI),
    all(".woodpecker.yml", CI),
    all(".woodpecker", CI),
    all("azure-pipelines.yml", CI),
    all("bitbucket-pipelines.yml", CI),
    all("jenkinsfile", CI),
    all(".bashrc", SHELL),
    all(".bash_profile", SHELL),
    all(".bash_login", SHELL),
    all(".bash_logout", SHELL),
    all(".bash_aliases", SHELL),
    all(".profile", SHELL),
    all(".zshrc", SHELL),
    all(".zshenv", SHELL),
    all(".zprofile", SHELL),
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
    all(".mcp.json", AGENT),
    all(".claude", AGENT),
    all(".claude.json", AGENT),
    all(".codex", AGENT),
    all(".cursor", AGENT),
    all(".gemini", AGENT),
    all(".continue", AGENT),
    all(".windsurf", AGENT),
    all(".aider.conf.yml", AGENT),
    all(".opencode", AGENT),
    all("opencode.json", AGENT),
    all(".roo", AGENT),
    all(".kiro", AGENT),
    all(".amazonq", AGENT),
    all(".vscode", EDITOR),
    all(".idea", EDITOR),
    all(".zed", EDITOR),
    all(".fleet", EDITOR),
    all(".devcontainer", EDITOR),
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
    all(".cargo/config.toml", BUILD),
    all(".cargo/config", BUILD),
    all(".bazelrc", BUILD),
    all(".mvn", BUILD),
    all(".yarnrc", BUILD),
    all(".yarnrc.yml", BUILD),
    all(".yarn/plugins", BUILD),
    all(".yarn/releases", BUILD),
    all(".pnpmfile.cjs", BUILD),
    all(".config/pip", BUILD),
    all(".pythonrc", BUILD),
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
    all("*.pem", SECRET),
    all("*.key", SECRET),
    all("*.ppk", SECRET),
    all("*.p12", SECRET),
    all("*.pfx", SECRET),
    all("*.jks", SECRET),
    all("*.keystore", SECRET),
    all("*.kdbx", SECRET),
    all(".gnupg", SECRET),
    all(".aws", SECRET),
    all(".azure", SECRET),
    all(".kube", SECRET),
    all(".config/gcloud", SECRET),
    all(".config/gh", SECRET),
    all(".config/op", SECRET),
    all(".config/convoke", SECRET),
    all(".local/state/convoke", SECRET),
    all(".docker/config.json", SECRET),
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

/// What keeps hands from writing at this path, made of components with `/` between them.
pub fn protected(path: &str) -> Option<&'static Guarded> {
    let path = folded(path);
    let found = find(PROTECTED, &path).or_else(|| find(SECRETS, &path));
    // The strictest of several is told.
    found.map(|first| {
        PROTECTED
            .iter()
            .find(|guarded| guarded.reach == Reach::All && is_within(guarded.name, &path))
            .unwrap_or(first)
    })
}

/// What keeps hands from reading at this path.
pub fn secret(path: &str) -> Option<&'static Guarded> {
    find(SECRETS, &folded(path))
}

fn find(table: &'static [Guarded], path: &[String]) -> Option<&'static Guarded> {
    table.iter().find(|guarded| is_within(guarded.name, path))
}

/// Whether the name stands among the components, one after the other.
fn is_within(name: &str, path: &[String]) -> bool {
    let name: Vec<&str> = name.split('/').collect();
    path.windows(name.len()).any(|run| run.iter().zip(&name).all(|(part, name)| stands_for(name, part)))
}

fn stands_for(pattern: &str, part: &str) -> bool {
    // A name that git's own tools take for `.git` on other file systems.
    super::clearance::matches(pattern, part) || pattern == ".git" && part == "git~1"
}

/// The components as the least careful file system would compare them: case folded, without signs that take no room, and
/// without dots and blanks at their ends.
fn folded(path: &str) -> Vec<String> {
    let parts = path.split('/').filter(|part| !part.is_empty() && *part != ".");
    parts.map(fold).collect()
}

fn fold(part: &str) -> String {
    let plain: String = part.chars().filter(|c| !is_unseen(*c)).flat_map(char::to_lowercase).collect();
    let cut = plain.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']);
    if cut.is_empty() { plain } else { cut.to_owned() }
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
            ".gitattributes",
            "src/git/config.rs",
            "docs/..notes.md",
            "environment.md",
            "target/out.json",
            ".github/README.md",
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
    fn the_table_is_folded_already() {
        for guarded in PROTECTED.iter().chain(SECRETS) {
            assert_eq!(guarded.name, guarded.name.to_lowercase());
        }
    }
}
