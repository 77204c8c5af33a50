//! `convoke plan`: what a workflow would do, without doing it.

use crate::args::{PlanArgs, PlanFormat};
use crate::compiling;
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::inputs;
use crate::paint::Paint;
use crate::plan_text;
use crate::subject::Subject;
use convoke_plan::Plan;
use convoke_plan::view::{dot, levels, mermaid};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Prints the plan.
pub fn run(console: &Console, args: &PlanArgs) -> Result<Exit, CommandFailure> {
    let subject = Subject::of(&args.file, inputs::given(&args.inputs)?)?;
    let compiled = subject.compile(&console.config, None)?;
    let plan = compiling::accept(console, &subject.file, compiled, console.config.strict)?;
    subject.refuse_inputs(&plan)?;
    match args.format {
        PlanFormat::Text => console.data(&plan_text::text(&plan, Paint::for_stdout(console.config.color)))?,
        PlanFormat::Json => console.json(&record(&plan))?,
        PlanFormat::Mermaid => console.data(&mermaid(&plan))?,
        PlanFormat::Dot => console.data(&dot(&plan))?,
    }
    Ok(Exit::Success)
}

fn record(plan: &Plan) -> Value {
    let workflows = plan.workflows.iter().map(|workflow| {
        let mut value = json!(levels(plan, workflow, &BTreeMap::new()));
        value["file"] = json!(workflow.file);
        value["limits"] = json!(workflow.limits);
        value
    });
    json!({"digest": plan.digest(), "workflows": workflows.collect::<Vec<_>>()})
}
