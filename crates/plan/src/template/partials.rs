//! Where an include looks, and what templates are called inside the environment.
//!
//! A name resolves beside the file that contains the include; inside a partial, if nothing is there, beside the file
//! that the prompt came from (which is where Jinja2 looks).

use std::collections::BTreeMap;

use crate::path::join_beside;

/// Between the path of a partial and the file it was reached from, in the environment's name of it.
const REACHED_FROM: char = '\u{1}';

/// The paths that `name` may stand for, best first.
pub(super) fn candidates(name: &str, containing: &str, root: &str) -> Vec<String> {
    let mut paths = vec![join_beside(containing, name)];
    let beside_root = join_beside(root, name);
    if !paths.contains(&beside_root) {
        paths.push(beside_root);
    }
    paths
}

/// The partial that `name` stands for, if there is one.
pub(super) fn resolve<'p>(
    name: &str,
    containing: &str,
    root: &str,
    partials: &'p BTreeMap<String, String>,
) -> Option<(&'p str, &'p str)> {
    let found = candidates(name, containing, root).into_iter().find_map(|path| partials.get_key_value(&path));
    found.map(|(path, text)| (path.as_str(), text.as_str()))
}

/// The environment's name of a partial.
pub(super) fn template_name(path: &str, root: &str) -> String {
    format!("{path}{REACHED_FROM}{root}")
}

/// The path and the root in the environment's name of a partial.
pub(super) fn path_and_root(name: &str) -> Option<(&str, &str)> {
    name.split_once(REACHED_FROM)
}
