//! How models see tools: `server__tool`, in characters and a length that every model service takes.
//!
//! The same servers in the same order give the same names, and no two tools share one.

use convoke_model::Digest;
use std::collections::HashSet;

/// The longest name that all services take.
const LONGEST: usize = 64;
/// Characters of the hash that tells apart what would be the same.
const HASH: usize = 8;

/// An unused name for a tool; it is taken then.
pub fn unique(taken: &mut HashSet<String>, server: &str, tool: &str) -> String {
    let plain = plain(&format!("{server}__{tool}"));
    let mut name = if plain.len() <= LONGEST { plain.clone() } else { hashed(&plain, server, tool, 0) };
    let mut round = 0;
    while !taken.insert(name.clone()) {
        name = hashed(&plain, server, tool, round);
        round += 1;
    }
    name
}

fn plain(text: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    text.chars().map(|c| if allowed(c) { c } else { '_' }).collect()
}

fn hashed(plain: &str, server: &str, tool: &str, round: u32) -> String {
    let digest = Digest::of(format!("{server}\0{tool}\0{round}").as_bytes()).to_string();
    let kept = plain.len().min(LONGEST - HASH - 1);
    format!("{}_{}", &plain[..kept], &digest[..HASH])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn named(tools: &[(&str, &str)]) -> Vec<String> {
        let mut taken = HashSet::new();
        tools.iter().map(|(server, tool)| unique(&mut taken, server, tool)).collect()
    }

    #[test]
    fn a_plain_name_is_kept_and_a_collision_is_told_apart() {
        let names = named(&[("files", "read_file"), ("my files", "read.file"), ("my_files", "read_file")]);
        assert_eq!(names[..2], ["files__read_file", "my_files__read_file"]);
        assert!(names[2].starts_with("my_files__read_file_") && names[2].len() == 28, "{}", names[2]);
    }

    #[test]
    fn a_long_name_is_cut_and_stays_its_own() {
        let long = "x".repeat(80);
        let names = named(&[("s", &format!("{long}1")), ("s", &format!("{long}2"))]);
        assert_eq!(names[0].len(), 64);
        assert_ne!(names[0], names[1]);
    }

    proptest! {
        #[test]
        fn names_are_unique_allowed_and_the_same_each_time(
            tools in prop::collection::hash_set((".{1,40}", ".{1,60}"), 0..20)
        ) {
            let tools: Vec<_> = tools.iter().map(|(server, tool)| (server.as_str(), tool.as_str())).collect();
            let names = named(&tools);
            prop_assert_eq!(&names, &named(&tools));
            prop_assert_eq!(names.iter().collect::<HashSet<_>>().len(), tools.len());
            let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            prop_assert!(names.iter().all(|name| name.len() <= 64 && name.chars().all(allowed)));
        }
    }
}
