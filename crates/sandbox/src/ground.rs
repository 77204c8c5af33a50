//! What the person's configuration says of every sandbox.

use crate::confinement::{Confinement, Level};
use crate::secret;
use std::path::{Path, PathBuf};

/// What holds for every command that an engine starts. Made once, from the configuration, and handed to whatever starts
/// processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ground {
    /// The level of what a trusted file starts; `None` where the person gave the sandbox up.
    pub level: Option<Level>,
    /// Our state and keys, and what the person adds.
    pub hidden: Vec<PathBuf>,
    /// What the person protects besides.
    pub protected: Vec<String>,
    /// What an agent's command may write besides.
    pub writable: Vec<PathBuf>,
    /// What stays in sight, though it is in a list of secrets.
    pub readable: Vec<PathBuf>,
    /// The person's home, whose secrets an agent's command does not see.
    pub home: Option<PathBuf>,
}

impl Default for Ground {
    fn default() -> Ground {
        let (hidden, protected, writable, readable) = Default::default();
        Ground { level: Some(Level::Trusted), hidden, protected, writable, readable, home: None }
    }
}

impl Ground {
    /// Nothing is confined: the person said so.
    pub fn given_up() -> Ground {
        Ground { level: None, ..Ground::default() }
    }

    /// What a command of a trusted file is confined to in a folder; `None` if to nothing.
    pub fn of_file(&self, folder: &Path) -> Option<Confinement> {
        match self.level? {
            Level::Full => Some(self.apply(Confinement::full(folder, &[], crate::Network::Closed))),
            Level::Trusted => {
                let confinement = self.apply(Confinement::trusted(Vec::new()));
                let is_empty = confinement.hidden.is_empty() && confinement.protected.is_empty();
                (!is_empty).then_some(confinement)
            }
        }
    }

    /// Adds what holds for every command. Nothing is taken from a confinement but what the person keeps in sight.
    pub fn apply(&self, mut confinement: Confinement) -> Confinement {
        confinement.hidden.extend(self.hidden.iter().cloned());
        confinement.protected.extend(self.protected.iter().cloned());
        if confinement.level == Level::Full {
            confinement.writable.extend(self.writable.iter().cloned());
            let secrets = self.home.iter().flat_map(|home| secret::of_home(home));
            let roots = confinement.writable.clone();
            confinement
                .hidden
                .extend(secrets.filter(|path| !roots.iter().any(|root| root.starts_with(path))));
            let is_in_sight = |path: &PathBuf| self.readable.iter().any(|shown| path.starts_with(shown));
            confinement.hidden.retain(|path| !is_in_sight(path) || self.hidden.contains(path));
        }
        confinement
    }
}
