//! Policy files: YAML with places, keys as a table, presets, and the schema that editors check with.

mod finding;
mod keys;
mod presets;
mod read;
mod tree;

pub use finding::Finding;
pub use keys::schema;
pub use presets::{NAMES as PRESETS, text as preset_text};
