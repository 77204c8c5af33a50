//! The keys of a project's `convoke.toml` that have an effect before a person has trusted the file.
//!
//! The file may lie in a folder that was only opened. A person who names a file of the project consents to the project. Otherwise, until
//! `convoke trust convoke.toml`, keys are left out, with a warning, if they start programs, send prompts, keys or notices somewhere, hand
//! out secrets, or decide whom the run asks. Limits, budgets, prices and colours always have their effect.

use super::layer::{Entry, Layer, Scalar};
use super::user_path;
use crate::env;
use crate::trust::{Place, Standing, Store, of_file};
use std::path::{Path, PathBuf};

/// What a person has consented to by what they typed.
#[derive(Debug, Clone, Copy)]
pub enum Consent<'a> {
    /// To these files, and to their projects.
    Files(&'a [&'a Path]),
    /// To the project: its runs go on, or its folder was named.
    Project,
}

/// The tables of which every key acts.
const TABLES: [&str; 7] = [
    "secrets.",
    "telemetry.",
    "notify.webhooks.",
    "goal.mcp_servers.",
    "goal.scripts.",
    "serve.",
    "approvals.",
];

/// Keys that act by themselves.
const KEYS: [&str; 4] = ["state_dir", "state", "goal.approve", "project.context"];

/// What a provider is given that acts: where it is, what it starts, which keys it has.
const OF_PROVIDERS: [&str; 7] =
    ["base_url", "api_key", "api_key_file", "file", "command", "args", "permissions"];

/// Folders below which everything is trusted: the person's own word, in their file or their environment.
pub fn folders(own: &[Layer]) -> Vec<PathBuf> {
    let stated = own.iter().flat_map(|layer| &layer.entries).filter(|entry| entry.key == FOLDERS);
    let stated = stated.filter_map(|entry| match &entry.value {
        Scalar::List(folders) => Some(folders.clone()),
        _ => None,
    });
    let variable = env::get_filled(env::TRUSTED_FOLDERS).unwrap_or_default();
    let named = std::env::split_paths(&variable).filter(|path| !path.as_os_str().is_empty());
    let home = super::home();
    let place = |text: String| match (text.strip_prefix("~/"), &home) {
        (Some(below), Some(home)) => home.join(below),
        _ => text.into(),
    };
    let all = stated.flatten().map(place).chain(named);
    all.filter_map(|folder| folder.canonicalize().ok()).collect()
}

/// The key that counts in a person's own file alone.
const FOLDERS: &str = "trust.folders";

/// Takes what acts out of a project's layer, unless a person consents to it, and says so.
pub fn leave_out(
    layer: &mut Layer,
    path: &Path,
    consent: &Consent<'_>,
    own_folders: &[PathBuf],
    own_state: &Path,
) -> Vec<String> {
    let mut said = Vec::new();
    let own = user_path().map_or_else(|| "the user's file".to_owned(), |path| path.display().to_string());
    layer.entries.retain(|entry| {
        let counts = entry.key != FOLDERS;
        if !counts {
            said.push(format!(
                "{}: `{FOLDERS}` does not count in a project's file; write it into {own}",
                entry.origin
            ));
        }
        counts
    });
    let acting: Vec<&Entry> = layer.entries.iter().filter(|entry| acts(&entry.key)).collect();
    if acting.is_empty() || is_consented(path, consent, own_folders) {
        return said;
    }
    let why = match standing(path, own_state) {
        Ok(Standing::Trusted) => return said,
        Ok(Standing::Changed) => "it has changed since it was trusted".to_owned(),
        Ok(Standing::Unknown) => "it is not trusted".to_owned(),
        Err(why) => why,
    };
    let keys: Vec<String> = acting.iter().map(|entry| format!("`{}`", entry.key)).collect();
    let place = acting[0].origin.to_string();
    let file = place.rsplit_once(':').map_or(place.as_str(), |(file, _)| file);
    said.push(format!(
        "{file}: {} {} not count: {why}; read it, then say: convoke trust {file}",
        keys.join(", "),
        if keys.len() == 1 { "does" } else { "do" },
    ));
    layer.entries.retain(|entry| !acts(&entry.key));
    said
}

fn standing(path: &Path, own_state: &Path) -> Result<Standing, String> {
    let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
    let store = Store::at(own_state);
    store.standing(&Place::of(path), &of_file(&bytes)).map_err(|failure| failure.message)
}

/// A file that a person named lies in the project, or the project in a folder that they trust.
fn is_consented(path: &Path, consent: &Consent<'_>, own_folders: &[PathBuf]) -> bool {
    let Some(project) = path.parent().and_then(|folder| folder.canonicalize().ok()) else { return false };
    let named = match consent {
        Consent::Project => true,
        Consent::Files(files) => {
            files.iter().any(|file| file.canonicalize().is_ok_and(|file| file.starts_with(&project)))
        }
    };
    named || own_folders.iter().any(|folder| project.starts_with(folder))
}

/// Whether a key does something beyond bounding work or changing how it looks.
fn acts(key: &str) -> bool {
    if TABLES.iter().any(|table| key.starts_with(table)) || KEYS.contains(&key) {
        return true;
    }
    let of_provider = key.strip_prefix("provider.").or_else(|| {
        let below = key.strip_prefix("providers.")?;
        // The name may hold dots; the key behind it is the last part, or a table and a name.
        ["headers.", "env."]
            .iter()
            .find_map(|table| below.find(&format!(".{table}")).map(|at| &below[at + 1..]))
            .or_else(|| below.rsplit_once('.').map(|(_, key)| key))
    });
    of_provider.is_some_and(|key| {
        OF_PROVIDERS.contains(&key) || key.starts_with("headers.") || key.starts_with("env.")
    })
}

#[cfg(test)]
mod tests {
    use super::super::keys;
    use super::*;

    #[test]
    fn what_bounds_work_counts_and_what_acts_does_not() {
        for key in [
            "provider.base_url",
            "providers.my.own.command",
            "providers.x.headers.Authorization",
            "provider.env.PATH",
            "secrets.A.command",
            "telemetry.endpoint",
            "goal.scripts.x.command",
            "state_dir",
            "approvals.level",
        ] {
            assert!(acts(key), "{key}");
        }
        for key in [
            "provider.name",
            "provider.model",
            "limits.queue",
            "budgets.day.usd",
            "color",
            "pricing.m.input_per_mtok",
        ] {
            assert!(!acts(key), "{key}");
        }
    }

    /// A new key is asked about here: whoever adds a table decides whether it acts.
    #[test]
    fn every_table_is_known_to_act_or_to_bound() {
        let bounding = [
            "machine_concurrency",
            "lease_seconds",
            "disk_wait_seconds",
            "color",
            "notify",
            "sandbox",
            "retention",
            "run",
            "provider",
            "providers",
            "pricing",
            "goal",
            "limits",
            "manifests",
            "pipelines",
            "budgets",
            "trust",
            "project",
            // A project's file adds policies and takes none away.
            "policy",
        ];
        for (key, _) in keys::KEYS {
            let table = key.split('.').next().unwrap_or(key);
            assert!(acts(key) || bounding.contains(&table), "{key}: does it act?");
        }
    }

    #[test]
    fn a_project_is_consented_to_by_naming_a_file_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for project in ["a", "b"] {
            std::fs::create_dir(root.join(project)).unwrap();
            std::fs::write(root.join(project).join("convoke.toml"), "state_dir = 'x'\n").unwrap();
            std::fs::write(root.join(project).join("w.yaml"), "").unwrap();
        }
        let left_out = |consent: Consent<'_>, own: &[PathBuf]| {
            let path = root.join("a/convoke.toml");
            let mut layer =
                Layer::from_toml("state_dir = 'x'\n[trust]\nfolders = ['/']\n", Some(path.clone())).unwrap();
            let said = leave_out(&mut layer, &path, &consent, own, &root.join("state"));
            (said.len(), layer.entries.len())
        };
        let (own, other) = (root.join("a/w.yaml"), root.join("b/w.yaml"));
        assert_eq!(left_out(Consent::Files(&[&own]), &[]), (1, 1), "its own `trust.folders` never counts");
        assert_eq!(left_out(Consent::Files(&[&other]), &[]), (2, 0));
        assert_eq!(left_out(Consent::Files(&[]), &[]), (2, 0));
        assert_eq!(left_out(Consent::Project, &[]), (1, 1));
        assert_eq!(left_out(Consent::Files(&[]), std::slice::from_ref(&root)), (1, 1));
    }
}
