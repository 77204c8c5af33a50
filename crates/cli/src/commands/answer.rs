//! `convoke answer`: a person's answer to a gate, from another process; or the gates that wait for one.

use super::resume::{self, Terms};
use crate::args::{AnswerArgs, Format, GoalBounds};
use crate::changes::stored_plan;
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::gate::{self, Given, Refused, Submission};
use crate::given_plan;
use crate::retrying::Again;
use crate::stored::{self, NoQuestion, Stored};
use convoke_failpoint::failpoint;
use convoke_journal::{StateDir, live_owner};
use convoke_model::{AnswerOrigin, Ask, Digest, RunId, TaskId};
use convoke_view::{Question, alike_key};
use serde_json::json;

/// Checks the answer, leaves it in the run's inbox, and continues the run if asked to. Without a gate, lists those that wait.
pub fn run(console: &Console, args: &AnswerArgs) -> Result<Exit, CommandFailure> {
    let Some(gate) = &args.gate else { return list(console, args) };
    let state = stored::for_writing(console)?;
    let stored = Stored::open(&state, &args.run)?;
    let run = stored.run.clone();
    let question = match stored.question(gate) {
        Ok(question) => question,
        Err(NoQuestion::Ended(id, refused)) => {
            return Err(refusal(console, args, &run, &id.to_string(), &refused)?);
        }
        Err(NoQuestion::Unreadable(error)) => return Err(error.into()),
        Err(NoQuestion::Unknown) => {
            let words = format!("run `{run}` does not wait for `{gate}`");
            return Err(CommandFailure::new(Exit::Usage, words).hint(stored.what_waits()));
        }
    };
    let (task, ask) = (&question.id.task, stored.ask(&question)?);
    let shown = match what_was_shown(args, &question, &ask) {
        Ok(shown) => shown,
        Err(refused) => return Err(refusal(console, args, &run, gate, &refused)?),
    };
    let values = match &ask {
        Ask::Plan { .. } => plan_given(console, &state, &stored, task, &args.values)?,
        _ => args.values.clone(),
    };
    let given = Given { values, inputs: args.inputs.clone(), skip_rest: args.skip_rest, abort: args.abort };
    let answer = gate::reply(&ask, &given).map_err(|why| {
        CommandFailure::new(Exit::Usage, format!("this does not answer `{task}`: {why}"))
            .hint(gate::explain(&run, &question, &ask).trim_end())
    })?;
    let (by, from) = (stored::user(), stored::source(AnswerOrigin::Command));
    failpoint!("answer.before_send");
    let sent =
        Submission { state: &state, run: &run, question: &question, shown, by: &by, from }.send(answer)?;
    failpoint!("answer.sent");
    if let Err(refused) = sent {
        return Err(refusal(console, args, &run, &question.id.to_string(), &refused)?);
    }
    crate::cluster::pass_on(&state, &run)?;
    let others =
        if args.alike { answer_alike(console, &state, &stored, (&question, &ask), &given)? } else { 0 };
    let answered = match others {
        0 => format!("answered `{task}`"),
        others => format!("answered `{task}` and {others} alike"),
    };
    match live_owner(&state, &run)? {
        Some(holder) => console.conclude(&format!("{answered}; {holder} drives run {run}")),
        None if crate::cluster::is_entered() && !args.resume => {
            console.conclude(&format!("{answered}; run {run} goes on"));
        }
        None if args.resume => {
            let (bounds, again) = (&GoalBounds::default(), Again::default());
            let terms = Terms { accept: false, bounds, again, flags: &args.flags };
            return resume::resume_run(console, state, &run, &terms);
        }
        None => {
            console.conclude(&format!("{answered}; no process drives run {run}"));
            console.hint(&format!("convoke resume {run}"));
        }
    }
    Ok(Exit::Success)
}

/// Gives the same answer to every open question that is alike, each bound to the hash of what it shows itself. How many took it; of
/// the others it is said why they did not.
fn answer_alike(
    console: &Console,
    state: &StateDir,
    stored: &Stored,
    (first, first_ask): (&Question, &Ask),
    given: &Given,
) -> Result<usize, CommandFailure> {
    let key = alike_key(&first.id.task, first_ask);
    let mut answered = 0;
    for question in stored.questions().iter().filter(|question| question.id != first.id) {
        let ask = stored.ask(question)?;
        if alike_key(&question.id.task, &ask) != key {
            continue;
        }
        let (run, gate) = (&stored.run, question.id.to_string());
        let answer = match gate::reply(&ask, given) {
            Ok(answer) => answer,
            Err(why) => {
                console.conclude(&format!("`{gate}` is not answered: {why}"));
                continue;
            }
        };
        let (by, from) = (stored::user(), stored::source(AnswerOrigin::Command));
        let shown = Some(ask.shown());
        match (Submission { state, run, question, shown, by: &by, from }).send(answer)? {
            Ok(()) => answered += 1,
            Err(refused) => console.conclude(&refused.words(run, &gate)),
        }
    }
    crate::cluster::pass_on(state, &stored.run)?;
    Ok(answered)
}

/// Why an answer from another program is not taken.
pub(crate) enum NotTaken {
    /// It is not asked any more, or was answered.
    Refused(Refused),
    /// It does not fit, or the run cannot be read.
    Failed(CommandFailure),
}

/// Hands in an answer that is bound to what was shown. Plans are given as they stand; no file is read for it.
pub(crate) fn hand_in(
    state: &StateDir,
    run: &RunId,
    gate: &str,
    shown: Digest,
    given: &Given,
    (by, origin): (&str, AnswerOrigin),
) -> Result<(), NotTaken> {
    let failed = |exit, words: String| NotTaken::Failed(CommandFailure::new(exit, words));
    let stored = Stored::open(state, &run.0).map_err(NotTaken::Failed)?;
    let question = stored.question(gate).map_err(|why| match why {
        NoQuestion::Ended(_, refused) => NotTaken::Refused(refused),
        NoQuestion::Unreadable(error) => NotTaken::Failed(error.into()),
        NoQuestion::Unknown => failed(Exit::Usage, format!("run `{run}` does not wait for `{gate}`")),
    })?;
    let ask = stored.ask(&question).map_err(NotTaken::Failed)?;
    if question.shown.unwrap_or_else(|| ask.shown()) != shown {
        return Err(NotTaken::Refused(Refused::Changed { at: question.at }));
    }
    let task = &question.id.task;
    if let (Ask::Plan { .. }, [text]) = (&ask, &given.values[..])
        && gate::is_plan(text)
    {
        let meta = stored.reader.meta().map_err(|error| NotTaken::Failed(error.into()))?;
        let plan = stored_plan(state, run, &meta, || Ok(stored.events.clone())).map_err(NotTaken::Failed)?;
        if let Some(wrong) =
            given_plan::goal_of(&plan, task).and_then(|goal| given_plan::complaints(goal, text))
        {
            return Err(failed(Exit::Refused, format!("the plan is refused: {wrong}")));
        }
    }
    let answer = gate::reply(&ask, given)
        .map_err(|why| failed(Exit::Refused, format!("this does not answer `{task}`: {why}")))?;
    let from = stored::source(origin);
    let sent = Submission { state, run, question: &question, shown: Some(shown), by, from }.send(answer);
    sent.map_err(|error| NotTaken::Failed(error.into()))?.map_err(NotTaken::Refused)
}

/// The gates that wait, with what answers them.
fn list(console: &Console, args: &AnswerArgs) -> Result<Exit, CommandFailure> {
    let stored = Stored::open(&stored::for_reading(console), &args.run)?;
    if args.format == Format::Json {
        console.json(&stored.gates_json()?)?;
        return Ok(Exit::Success);
    }
    let mut texts = Vec::new();
    for question in stored.questions() {
        texts.push(gate::explain(&stored.run, &question, &stored.ask(&question)?));
    }
    match texts.is_empty() {
        true => console.conclude(&format!("run {} waits for no answer", stored.run)),
        false => console.data(texts.join("\n").trim_end())?,
    }
    Ok(Exit::Success)
}

/// The hash of what the author says to have been shown, which must be that of the question.
fn what_was_shown(args: &AnswerArgs, question: &Question, ask: &Ask) -> Result<Option<Digest>, Refused> {
    let Some(said) = &args.shown else { return Ok(None) };
    let shown = question.shown.unwrap_or_else(|| ask.shown());
    match shown.to_string().starts_with(said.as_str()) {
        true => Ok(Some(shown)),
        false => Err(Refused::Changed { at: question.at }),
    }
}

/// Why an answer is not taken: for people an error with advice, for programs a record too.
fn refusal(
    console: &Console,
    args: &AnswerArgs,
    run: &RunId,
    gate: &str,
    refused: &Refused,
) -> Result<CommandFailure, CommandFailure> {
    let words = refused.words(run, gate);
    if args.format == Format::Json {
        let mut record = refused.record();
        record["gate"] = json!(gate);
        record["run"] = json!(run);
        record["message"] = json!(words);
        console.json(&json!({ "refused": record }))?;
    }
    let next = match refused {
        Refused::Changed { .. } => format!("convoke answer {run}    lists what it asks now"),
        _ => format!("convoke resume {run}"),
    };
    Ok(CommandFailure::new(refused.exit(), format!("{words} ({})", refused.code())).hint(next))
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
