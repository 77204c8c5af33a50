//! Where people and programs keep secrets.

use convoke_model::protected::SECRETS;
use std::fs;
use std::path::{Path, PathBuf};

/// Below a home folder alone, beside the secrets that are kept off everywhere ([`convoke_model::protected`]).
const IN_HOME: &[&str] = &[
    ".config/hub",
    ".config/rclone",
    ".config/sops",
    ".config/age",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".terraform.d",
    ".local/share/keyrings",
    ".mozilla",
    ".thunderbird",
    ".config/google-chrome",
    ".config/chromium",
    ".claude",
    ".claude.json",
    ".codex",
    ".gemini",
    ".cursor",
    ".config/opencode",
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".node_repl_history",
    ".psql_history",
    ".lesshst",
];

/// Of the machine.
const OF_MACHINE: &[&str] = &[
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssl/private",
    "/etc/ssh/ssh_host_rsa_key",
    "/etc/ssh/ssh_host_ecdsa_key",
    "/etc/ssh/ssh_host_ed25519_key",
    "/etc/NetworkManager",
    "/etc/wireguard",
    "/run/secrets",
    "/var/run/secrets",
    "/run/credentials",
    "/run/user",
    "/var/lib/docker",
    "/boot",
    "/var/spool/cron",
    "/proc/kcore",
    "/sys/kernel/debug",
    "/sys/kernel/tracing",
    "/sys/kernel/security",
];

/// Secret paths below a home folder.
pub fn of_home(home: &Path) -> Vec<PathBuf> {
    let everywhere = SECRETS.iter().map(|guarded| guarded.name).filter(|name| !name.contains('*'));
    everywhere.chain(IN_HOME.iter().copied()).map(|name| home.join(name)).collect()
}

/// Secret paths of the machine and of all its users, but none that one of the roots is below: of the home of this process's user
/// what is secret in it, of other homes everything.
pub fn of_machine(roots: &[PathBuf]) -> Vec<PathBuf> {
    let own = rustix::process::geteuid().as_raw();
    let mut hidden: Vec<PathBuf> = OF_MACHINE.iter().map(PathBuf::from).collect();
    for (user, home) in homes() {
        let is_in_use = roots.iter().any(|root| root.starts_with(&home));
        if user == own || is_in_use {
            hidden.extend(of_home(&home));
        } else if home.starts_with("/home") || home == Path::new("/root") {
            hidden.push(home);
        }
    }
    hidden.retain(|path| !roots.iter().any(|root| root.starts_with(path)));
    hidden
}

/// The users of the machine, by `/etc/passwd`, and whatever else stands in `/home`.
fn homes() -> Vec<(u32, PathBuf)> {
    let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let entry = |line: &str| {
        let mut fields = line.split(':');
        let user = fields.nth(2)?.parse().ok()?;
        Some((user, PathBuf::from(fields.nth(2)?)))
    };
    let mut homes: Vec<(u32, PathBuf)> =
        passwd.lines().filter_map(entry).filter(|(_, home)| home.components().count() > 1).collect();
    for folder in fs::read_dir("/home").into_iter().flatten().flatten() {
        if !homes.iter().any(|(_, home)| *home == folder.path()) {
            homes.push((u32::MAX, folder.path()));
        }
    }
    homes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_a_root_is_not_hidden() {
        let root = PathBuf::from("/root/.cargo/credentials/x");
        let hidden = of_machine(std::slice::from_ref(&root));
        assert!(!hidden.iter().any(|path| root.starts_with(path)));
        assert!(hidden.contains(&PathBuf::from("/etc/shadow")));
    }
}
