//! `convoke schema`: the JSON Schema that editors check files with.

use crate::args::SchemaOf;
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::CommandFailure;

/// Prints the schema.
pub fn run(console: &Console, of: SchemaOf) -> Result<Exit, CommandFailure> {
    let schema = match of {
        SchemaOf::Workflow => convoke_plan::source::schema(),
        SchemaOf::Manifest => convoke_plan::source::manifest_schema(),
        SchemaOf::Personas => convoke_plan::source::persona_schema(),
        SchemaOf::Goal => convoke_plan::compile::goal_schema(),
        SchemaOf::Policy => convoke_policy::schema(),
        SchemaOf::Api => return api(console),
    };
    console.json(&schema)?;
    Ok(Exit::Success)
}

/// Printed as it is written: a document is compared by its text.
fn api(console: &Console) -> Result<Exit, CommandFailure> {
    console.json_lines(&convoke_server::description())?;
    Ok(Exit::Success)
}
