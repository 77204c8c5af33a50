//! `[approvals]`: which calls of agents' tools a person must allow.
//!
//! Unlike other keys a later layer does not win: of all that say something, the strictest holds. The file of a project comes with
//! the project, so it can ask for more than the default and not for less.

use super::discovery::PROJECT_FILE;
use super::layer::{Entry, Layer, Origin, Scalar};
use crate::args::age;
use convoke_model::{ApprovalLevel, Approvals};

/// What the layers say; `None` where none says anything.
pub fn read(layers: &[Layer]) -> Option<Approvals> {
    let stated: Vec<Approvals> = layers.iter().filter_map(of_layer).collect();
    (!stated.is_empty()).then(|| Approvals::holding(&stated))
}

fn of_layer(layer: &Layer) -> Option<Approvals> {
    let entries =
        layer.entries.iter().filter_map(|entry| Some((entry.key.strip_prefix("approvals.")?, entry)));
    let mut stated = None;
    for (key, entry) in entries {
        let approvals = stated.get_or_insert_with(Approvals::default);
        match (key, &entry.value) {
            ("level", Scalar::Text(word)) => {
                let level = ApprovalLevel::from_word(word).unwrap_or_default();
                approvals.level =
                    if is_of_project(entry) { level.max(ApprovalLevel::HighRisk) } else { level };
            }
            ("tools", Scalar::List(tools)) => approvals.tools.clone_from(tools),
            ("within", Scalar::Text(text)) => {
                approvals.within_ms = age(text).ok().map(|within| within.as_millis() as u64);
            }
            _ => {}
        }
    }
    stated
}

fn is_of_project(entry: &Entry) -> bool {
    matches!(&entry.origin, Origin::File { path, .. } if path.file_name().is_some_and(|name| name == PROJECT_FILE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn holding(files: &[(&str, &str)]) -> Option<Approvals> {
        let layer = |(path, text): &(&str, &str)| Layer::from_toml(text, Some(PathBuf::from(path))).unwrap();
        read(&files.iter().map(layer).collect::<Vec<_>>())
    }

    #[test]
    fn the_strictest_layer_holds_and_a_project_asks_for_no_less_than_the_default() {
        let level = |files: &[(&str, &str)]| holding(files).map(|approvals| approvals.level);
        let none = "[approvals]\nlevel = \"none\"\n";
        let all = "[approvals]\nlevel = \"all\"\ntools = [\"x\"]\nwithin = \"1h\"\n";
        assert_eq!(level(&[("/u/config.toml", "color = \"auto\"\n")]), None);
        assert_eq!(level(&[("/u/config.toml", none)]), Some(ApprovalLevel::None));
        assert_eq!(level(&[("/p/convoke.toml", none)]), Some(ApprovalLevel::HighRisk));
        assert_eq!(level(&[("/u/config.toml", all), ("/p/convoke.toml", none)]), Some(ApprovalLevel::All));
        let within = "[approvals]\nwithin = \"2h\"\n";
        let both = holding(&[("/u/config.toml", all), ("/p/convoke.toml", within)]).unwrap();
        assert_eq!((both.tools, both.within_ms), (vec!["x".to_owned()], Some(3_600_000)));
    }
}
