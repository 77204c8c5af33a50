//! `convoke schema`: the JSON Schema that editors check workflow files with.

use crate::console::Console;
use crate::exit::Exit;
use crate::failure::CommandFailure;

/// Prints the schema.
pub fn run(console: &Console) -> Result<Exit, CommandFailure> {
    console.json(&convoke_plan::source::schema())?;
    Ok(Exit::Success)
}
