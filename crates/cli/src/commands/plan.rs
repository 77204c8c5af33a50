//! `convoke plan`: what a workflow would do, without doing it.

use crate::args::{PlanArgs, PlanFormat, RunFlags};
use crate::compiling;
use crate::console::Console;
use crate::driving;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::inputs;
use crate::paint::Paint;
use crate::plan_text;
use crate::subject::Subject;
use crate::view::format;
use convoke_plan::Plan;
use convoke_plan::view::{dot, levels, mermaid};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Prints the plan.
pub fn run(console: &Console, args: &PlanArgs) -> Result<Exit, CommandFailure> {
    let subject = Subject::of(&args.file, inputs::given(&args.inputs)?, args.inputs.down)?;
    let config = args.answerer.over(&console.config);
    let compiled = subject.compile(&config, args.answerer.provider.as_deref())?;
    let plan = compiling::accept(console, &subject.file, compiled, console.config.strict)?;
    subject.refuse_inputs(&plan)?;
    match args.format {
        PlanFormat::Text => {
            let limit = driving::run_limit(&console.config, &RunFlags::default(), &plan);
            let text = plan_text::text(&plan, limit, Paint::for_stdout(console.config.color));
            console.data(&format!("{text}{}", at_once(console, &plan, limit)))?;
        }
        PlanFormat::Json => {
            let mut record = record(&plan);
            record["max_concurrency"] =
                json!(driving::run_limit(&console.config, &RunFlags::default(), &plan));
            console.json(&record)?;
        }
        PlanFormat::Mermaid => console.data(&mermaid(&plan))?,
        PlanFormat::Dot => console.data(&dot(&plan))?,
    }
    Ok(Exit::Success)
}

/// How many attempts there will be at once, and what binds them where the file asks for more.
fn at_once(console: &Console, plan: &Plan, limit: u32) -> String {
    let remark = driving::limit_remark(&console.config, &RunFlags::default(), plan);
    let remark = remark.map(|remark| format!("  {remark}\n")).unwrap_or_default();
    format!("at most {} at once\n{remark}", format::plural(limit.into(), "attempt"))
}

/// The plan for programs.
pub(crate) fn record(plan: &Plan) -> Value {
    let workflows = plan.workflows.iter().map(|workflow| {
        let mut value = json!(levels(plan, workflow, &BTreeMap::new()));
        value["file"] = json!(workflow.file);
        value["limits"] = json!(workflow.limits);
        value
    });
    json!({"digest": plan.digest(), "workflows": workflows.collect::<Vec<_>>()})
}
