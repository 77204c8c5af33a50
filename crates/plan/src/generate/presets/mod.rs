//! The presets that come with the program, a file per kind of work.

mod argue;
mod choose;
mod fan_out;
mod think;

use super::preset::{Given, Preset, PresetInput};
use crate::source::escape;
use convoke_model::FieldType::{Array, Number, String as Text};
use serde_json::{Value, json};

/// What is to be answered.
const QUERY: PresetInput = PresetInput::required("query", Text, "what is to be answered");

/// All of them, in the order in which they are listed.
pub(super) const ALL: &[Preset] = &[
    fan_out::RESEARCH,
    fan_out::AUDIT,
    fan_out::CODE_REVIEW,
    fan_out::MAP_REDUCE,
    think::HEAVY_THINKING,
    choose::BEST_OF_N,
    choose::TOURNAMENT,
    argue::DEBATE,
    argue::RED_TEAM,
];

/// Numbers as partitions.
fn numbered(count: u64) -> Vec<String> {
    (1..=count).map(|number| number.to_string()).collect()
}
