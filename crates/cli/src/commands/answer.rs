//! `convoke answer`: a person's answer to a gate, from another process.

use super::resume::{self, Terms};
use crate::args::{AnswerArgs, GoalBounds};
use crate::changes::stored_plan;
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::gate::{self, Given, Submission};
use crate::given_plan;
use crate::stored::{self, Stored};
use convoke_failpoint::failpoint;
use convoke_journal::{StateDir, live_owner};
use convoke_model::{Ask, TaskId};

/// Checks the answer, leaves it in the run's inbox, and continues the run if asked to.
pub fn run(console: &Console, args: &AnswerArgs) -> Result<Exit, CommandFailure> {
    let state = stored::for_writing(console)?;
    let stored = Stored::open(&state, &args.run)?;
    let run = stored.run.clone();
    let (task, ask) = stored.question(&args.gate)?;
    let Some(question) = stored.gates().number(&task) else { return Err(stored.no_such_gate(&args.gate)) };
    let values = match &ask {
        Ask::Plan { .. } => plan_given(console, &state, &stored, &task, &args.values)?,
        _ => args.values.clone(),
    };
    let given = Given { values, inputs: args.inputs.clone(), skip_rest: args.skip_rest, abort: args.abort };
    let answer = gate::reply(&ask, &given).map_err(|why| {
        CommandFailure::new(Exit::Usage, format!("this does not answer `{task}`: {why}"))
            .hint(gate::explain(&run, &task, &ask).trim_end())
    })?;
    let by = stored::actor("convoke answer");
    failpoint!("answer.before_send");
    let sent = Submission { state: &state, run: &run, task: &task, question, by: &by }.send(answer)?;
    failpoint!("answer.sent");
    sent.map_err(|refused| {
        CommandFailure::new(Exit::Usage, refused.words(&run, &task)).hint(format!("convoke resume {run}"))
    })?;
    match live_owner(&state, &run)? {
        Some(holder) => console.conclude(&format!("answered `{task}`; {holder} drives run {run}")),
        None if args.resume => {
            let terms = Terms { accept: false, bounds: &GoalBounds::default(), flags: &args.flags };
            return resume::resume_run(console, state, &run, &terms);
        }
        None => {
            console.conclude(&format!("answered `{task}`; no process drives run {run}"));
            console.hint(&format!("convoke resume {run}"));
        }
    }
    Ok(Exit::Success)
}

/// The words that answer a plan: a decision, or a plan that can be carried out, in a file or as it stands.
fn plan_given(
    console: &Console,
    state: &StateDir,
    stored: &Stored,
    task: &TaskId,
    values: &[String],
) -> Result<Vec<String>, CommandFailure> {
    let [value] = values else { return Ok(values.to_vec()) };
    let (name, text) = match value.strip_prefix('@') {
        Some(path) => (path, read(path)?),
        None if gate::is_plan(value) => ("the answer", value.clone()),
        None => return Ok(values.to_vec()),
    };
    let meta = stored.reader.meta()?;
    let plan = stored_plan(state, &stored.run, &meta, || Ok(stored.events.clone()))?;
    if let Some(goal) = given_plan::goal_of(&plan, task) {
        given_plan::require(console, goal, name, &text)?;
    }
    Ok(vec![text])
}

fn read(path: &str) -> Result<String, CommandFailure> {
    std::fs::read_to_string(path).map_err(|error| {
        CommandFailure::new(Exit::Usage, format!("the plan `{path}` cannot be read: {error}"))
    })
}
