//! How `convoke serve` is set up (`[serve]`), as it is written.

use super::{Entry, Origin, Scalar};
use std::path::PathBuf;

/// What the configuration says of a server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Serving {
    /// Where it listens.
    pub addr: Option<String>,
    /// Folders from which runs may be started.
    pub folders: Vec<PathBuf>,
    /// Whether the folders stand in the person's own file.
    pub is_own: bool,
    /// Other names by which it is called.
    pub names: Vec<String>,
}

impl Serving {
    /// Of all entries. A relative folder begins where the file that names it is.
    pub fn of(entries: &[Entry]) -> Serving {
        let mut serving = Serving::default();
        for entry in entries {
            match (entry.key.as_str(), &entry.value) {
                ("serve.addr", Scalar::Text(addr)) => serving.addr = Some(addr.clone()),
                ("serve.names", Scalar::List(names)) => serving.names.clone_from(names),
                ("serve.folders", Scalar::List(folders)) => {
                    let base = match &entry.origin {
                        Origin::File { path, .. } => path.parent().map(PathBuf::from).unwrap_or_default(),
                        _ => PathBuf::new(),
                    };
                    serving.is_own = match &entry.origin {
                        Origin::File { path, .. } => super::user_path().as_ref() == Some(path),
                        _ => false,
                    };
                    serving.folders = folders.iter().map(|folder| base.join(folder)).collect();
                }
                _ => {}
            }
        }
        serving
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_begin_where_the_file_is() {
        let entry = |key: &str, value| {
            let origin = Origin::File { path: "/etc/convoke/config.toml".into(), line: 1 };
            Entry { key: key.to_owned(), value, origin }
        };
        let list = |texts: &[&str]| Scalar::List(texts.iter().map(|text| (*text).to_owned()).collect());
        let serving = Serving::of(&[
            entry("serve.addr", Scalar::Text("127.0.0.1:1".to_owned())),
            entry("serve.folders", list(&["flows", "/srv/flows"])),
            entry("serve.names", list(&["box"])),
        ]);
        assert_eq!(serving.folders, [PathBuf::from("/etc/convoke/flows"), PathBuf::from("/srv/flows")]);
        assert_eq!((serving.addr.as_deref(), serving.names), (Some("127.0.0.1:1"), vec!["box".to_owned()]));
    }
}
