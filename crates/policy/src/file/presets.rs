//! The policies that come with the program. They are files like any other, and `convoke policy explain` shows them.

/// Their names.
pub const NAMES: [&str; 3] = ["read-only", "develop", "network"];

/// The text of a preset.
pub fn text(name: &str) -> Option<&'static str> {
    match name {
        "read-only" => Some(include_str!("../../presets/read-only.yaml")),
        "develop" => Some(include_str!("../../presets/develop.yaml")),
        "network" => Some(include_str!("../../presets/network.yaml")),
        _ => None,
    }
}
