//! What the configuration says of sandboxes (`[sandbox]`).
//!
//! A project's file can only make them narrower: what widens them counts in the person's own file, because whatever works in a
//! project could otherwise write its own rights.

use super::layer::{Entry, Layer, LayerError, Origin, Scalar};
use convoke_sandbox::{Ground, Level};
use std::path::{Path, PathBuf};

/// What every layer says, in their order. Lists add up: a later file does not take back what an earlier one hides.
pub fn said(layers: &[Layer]) -> Vec<Entry> {
    let entries = layers.iter().flat_map(|layer| &layer.entries);
    entries.filter(|entry| entry.key.starts_with("sandbox.") || is_key_file(&entry.key)).cloned().collect()
}

/// What the layers say together.
pub fn ground(said: &[Entry], state: &Path, user_file: Option<&Path>, home: Option<PathBuf>) -> Ground {
    let of = |key: &str| {
        said.iter().filter(move |entry| entry.key == key).map(|entry| &entry.value).collect::<Vec<_>>()
    };
    let is = |key: &str, wanted: &str| matches!(of(key).last(), Some(Scalar::Text(word)) if word == wanted);
    let list = |key: &str| {
        let lists = of(key).into_iter().filter_map(|value| match value {
            Scalar::List(texts) => Some(texts.clone()),
            _ => None,
        });
        lists.flatten().collect::<Vec<String>>()
    };
    let path = |text: &String| match (text.strip_prefix("~/"), &home) {
        (Some(below), Some(home)) => home.join(below),
        _ => std::path::absolute(text).unwrap_or_else(|_| text.into()),
    };
    let paths = |key: &str| list(key).iter().map(path).collect::<Vec<PathBuf>>();
    let mut hidden = paths("sandbox.hidden");
    if !is("sandbox.state", "visible") {
        hidden.push(state.to_owned());
    }
    let key_files =
        said.iter().filter(|entry| is_key_file(&entry.key)).filter_map(|entry| match &entry.value {
            Scalar::Text(text) => Some(path(text)),
            _ => None,
        });
    hidden.extend(key_files);
    let own = user_file.into_iter().filter_map(Path::parent).map(|folder| format!("{}/", folder.display()));
    Ground {
        level: Some(if is("sandbox.level", "full") { Level::Full } else { Level::Trusted }),
        hidden,
        protected: list("sandbox.protected")
            .into_iter()
            .chain(own)
            .chain(["convoke.toml".to_owned()])
            .collect(),
        writable: paths("sandbox.writable"),
        readable: paths("sandbox.readable"),
        home,
    }
}

/// A file that holds the key of a service.
fn is_key_file(key: &str) -> bool {
    key.ends_with(".api_key_file")
}

/// What a project's file says and may not.
pub fn faults(said: &[Entry], user_file: Option<&Path>) -> Vec<LayerError> {
    let is_projects = |entry: &&Entry| match &entry.origin {
        Origin::File { path, .. } => Some(path.as_path()) != user_file,
        _ => false,
    };
    let widens = |entry: &&Entry| match entry.key.as_str() {
        "sandbox.readable" | "sandbox.writable" => true,
        "sandbox.state" => entry.value != Scalar::Text("hidden".into()),
        "sandbox.level" => entry.value != Scalar::Text("full".into()),
        _ => false,
    };
    let own = user_file.map_or("your own configuration".to_owned(), |path| format!("`{}`", path.display()));
    let fault = |entry: &Entry| LayerError::Value {
        key: entry.key.clone(),
        origin: entry.origin.clone(),
        message: format!("a project does not widen the sandbox; say it in {own}"),
    };
    said.iter().filter(is_projects).filter(widens).map(fault).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layers(files: [(&str, &str); 2]) -> Vec<Entry> {
        let layers = files.map(|(path, text)| Layer::from_toml(text, Some(path.into())).unwrap());
        said(&layers)
    }

    #[test]
    fn a_project_adds_to_what_is_hidden_and_takes_nothing_back() {
        let said = layers([
            ("u.toml", "[sandbox]\nhidden = ['~/a']\nlevel = 'full'\nwritable = ['/w']"),
            ("p.toml", "[sandbox]\nhidden = ['/b']\nprotected = ['x']\n[provider]\napi_key_file = '/k'"),
        ]);
        let user = Some(Path::new("u.toml"));
        assert!(faults(&said, user).is_empty());
        let ground = ground(&said, Path::new("/state"), user, Some("/home/u".into()));
        assert_eq!(ground.hidden, ["/home/u/a", "/b", "/state", "/k"].map(PathBuf::from));
        assert_eq!((ground.level, &ground.writable[..]), (Some(Level::Full), &[PathBuf::from("/w")][..]));
        assert!(ground.protected.contains(&"x".to_owned()));
    }

    #[test]
    fn a_project_does_not_widen_a_sandbox() {
        let text = "[sandbox]\nlevel = 'trusted'\nstate = 'visible'\nreadable = ['/']\nwritable = ['/']";
        let said = layers([("u.toml", text), ("p.toml", text)]);
        assert_eq!(faults(&said, Some(Path::new("u.toml"))).len(), 4);
    }
}
