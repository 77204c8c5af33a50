//! What a server needs of the program that it runs in: starting runs, looking at files, and the actions of the command line.
//!
//! Every call may wait for the disk, so it is made on a thread that may wait. What the program refuses, it refuses in words.

use convoke_journal::StateDir;
use convoke_model::{Digest, RunId, TaskId};
use convoke_plan::Plan;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::Arc;
use utoipa::ToSchema;

/// The program.
pub trait Host: Send + Sync + 'static {
    /// Starts a run, or goes on with one, as a process of its own that outlives the server.
    fn launch(&self, launch: &Launch) -> Result<RunId, Refusal>;
    /// Everything that is wrong with a file.
    fn check(&self, subject: &Subject) -> Result<Vec<Finding>, Refusal>;
    /// The plan of a file, its levels as `convoke plan --format json` has them, and what it may cost.
    fn plan(&self, subject: &Subject) -> Result<(Plan, Value), Refusal>;
    /// The files that may be started.
    fn files(&self) -> Vec<WorkflowFile>;
    /// The plan that a run goes by.
    fn plan_of(&self, run: &RunId) -> Result<Arc<Plan>, Refusal>;
    /// Where the prompts of a plan go, in words.
    fn destinations(&self, plan: &Plan) -> Vec<String>;
    /// What the last attempt of a task was asked; `None` if that cannot be told.
    fn prompt(&self, run: &RunId, task: &TaskId) -> Option<Value>;
    /// What the first attempt of each task was asked, part by part, with the number of the event that began it, in order, until `take`
    /// says no.
    fn prompts(&self, run: &RunId, take: &mut TakePrompt<'_>);
    /// Hands an answer in.
    fn answer(&self, answering: &Answering<'_>) -> Result<(), Refusal>;
    /// Asks a run to stop; the process that drives it, or what was ended without one.
    fn stop(&self, run: &RunId, now: bool, by: &str) -> Result<String, Refusal>;
    /// Says something to a run: to its goals, or to the agent of one task.
    fn guide(&self, run: &RunId, task: Option<&TaskId>, text: &str, by: &str) -> Result<(), Refusal>;
    /// Changes a limit of the machine; what it was.
    fn set_limit(&self, name: &str, value: u32, by: &str) -> Result<u32, Refusal>;
    /// Answers a SPARQL query over the graph of runs, in a format that the caller accepts.
    fn sparql(&self, query: &str, accept: &str) -> Result<SparqlAnswer, Refusal>;
    /// The file of what processes share.
    fn capacity_table(&self, state: &StateDir) -> std::path::PathBuf;
}

/// Takes the prompt of a task: the number of an event, the task, and each part with its name; says whether there should be more.
pub type TakePrompt<'a> = dyn FnMut(u64, &TaskId, &[(&'static str, String)]) -> bool + 'a;

/// What a query of the graph gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SparqlAnswer {
    /// Its media type.
    pub media: String,
    /// The answer.
    pub body: String,
}

/// What is started.
#[derive(Debug, Clone, PartialEq)]
pub enum Launch {
    /// A new run.
    Run {
        /// The file, which must lie in a folder from which runs may be started.
        file: String,
        /// What the workflow is given.
        inputs: Map<String, Value>,
        /// How it is driven.
        options: StartOptions,
        /// Recorded with the run.
        by: String,
    },
    /// A task is done again, with what followed from it.
    Retry {
        /// The run.
        run: RunId,
        /// The task.
        task: TaskId,
        /// What was done to the world may be done again.
        repeat_effects: bool,
    },
    /// A run goes on.
    Resume {
        /// The run.
        run: RunId,
        /// How it is driven.
        options: StartOptions,
    },
}

/// How a run is driven.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StartOptions {
    /// The provider, over what the file says.
    pub provider: Option<String>,
    /// The model of every agent, over what the file says.
    pub model: Option<String>,
    /// Dollars that a run of `convoke goal` may spend in all, where it goes on; other runs have a budget in their file.
    pub budget: Option<f64>,
    /// Gates take their first option.
    pub skip_gates: bool,
    /// The most attempts at once.
    pub max_concurrency: Option<u32>,
}

/// What is checked or planned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// A file that may be started.
    File(String),
    /// A text that is in no file.
    Text(String),
}

/// A file that may be started.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct WorkflowFile {
    /// Its path, as `POST /runs` takes it.
    pub file: String,
    /// The folder that it lies in, one of those from which runs may be started.
    pub folder: String,
    /// The workflow's name.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// What it takes; null where it takes anything.
    pub inputs: Option<Vec<WorkflowInput>>,
    /// Why it cannot be started.
    pub problem: Option<String>,
}

/// An input of a workflow.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct WorkflowInput {
    /// Its name.
    pub name: String,
    /// The word for its type.
    #[serde(rename = "type")]
    pub ty: String,
    /// Whether it must be given.
    pub required: bool,
    /// Its value when it is not given.
    #[schema(value_type = Option<Value>)]
    pub default: Option<Value>,
    /// What it is for.
    pub description: Option<String>,
}

/// Something that is wrong with a file.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Finding {
    /// The code of the finding, which has a page in the documentation.
    pub code: String,
    /// `error`, `warning` or `advice`.
    pub severity: String,
    /// What is wrong.
    pub message: String,
    /// The file.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<usize>,
    /// The column, from 1.
    pub column: Option<usize>,
    /// What to do.
    pub help: Option<String>,
}

/// An answer on its way.
#[derive(Debug, Clone)]
pub struct Answering<'a> {
    /// The run.
    pub run: &'a RunId,
    /// The question: `TASK~NUMBER`.
    pub question: &'a str,
    /// The hash of what was shown.
    pub shown: Digest,
    /// What was given.
    pub given: &'a Given,
    /// The author, for the record.
    pub by: &'a str,
}

/// An answer as `convoke answer` takes it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Given {
    /// A choice, `id=text` per question, or a plan.
    pub values: Vec<String>,
    /// Texts that the chosen option asks for.
    #[schema(value_type = std::collections::HashMap<String, String>)]
    pub inputs: IndexMap<String, String>,
    /// Questions without an answer are skipped.
    pub skip_rest: bool,
    /// The form is given up.
    pub abort: bool,
}

/// Why the program does not do what was asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Refusal {
    /// What kind of refusal it is.
    pub kind: RefusalKind,
    /// A stable word.
    pub code: String,
    /// Lower case, no full stop: the thing, then the cause.
    pub message: String,
    /// The next step.
    pub hint: Option<String>,
    /// What is wrong with a file.
    pub findings: Vec<Finding>,
}

impl PartialEq for Finding {
    fn eq(&self, other: &Finding) -> bool {
        (&self.code, &self.message, self.line) == (&other.code, &other.message, other.line)
    }
}

/// What kind of refusal it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalKind {
    /// There is no such thing.
    Unknown,
    /// Things do not stand so that it could be done.
    Conflict,
    /// It is not allowed.
    Forbidden,
    /// What was given is not accepted.
    Refused,
    /// The disk or the machine does not let it.
    Unavailable,
}

impl Refusal {
    /// A refusal in words.
    pub fn new(kind: RefusalKind, code: &str, message: impl Into<String>) -> Refusal {
        let (code, message) = (code.to_owned(), message.into());
        Refusal { kind, code, message, hint: None, findings: Vec::new() }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A program that does nothing.
    pub(crate) struct Nothing;

    fn no<T>() -> Result<T, Refusal> {
        Err(Refusal::new(RefusalKind::Unavailable, "none", "nothing is done here"))
    }

    impl Host for Nothing {
        fn launch(&self, _: &Launch) -> Result<RunId, Refusal> {
            no()
        }
        fn check(&self, _: &Subject) -> Result<Vec<Finding>, Refusal> {
            no()
        }
        fn plan(&self, _: &Subject) -> Result<(Plan, Value), Refusal> {
            no()
        }
        fn files(&self) -> Vec<WorkflowFile> {
            Vec::new()
        }
        fn plan_of(&self, _: &RunId) -> Result<Arc<Plan>, Refusal> {
            no()
        }
        fn destinations(&self, _: &Plan) -> Vec<String> {
            Vec::new()
        }
        fn prompt(&self, _: &RunId, _: &TaskId) -> Option<Value> {
            None
        }
        fn prompts(&self, _: &RunId, _: &mut TakePrompt<'_>) {}
        fn answer(&self, _: &Answering<'_>) -> Result<(), Refusal> {
            no()
        }
        fn stop(&self, _: &RunId, _: bool, _: &str) -> Result<String, Refusal> {
            no()
        }
        fn guide(&self, _: &RunId, _: Option<&TaskId>, _: &str, _: &str) -> Result<(), Refusal> {
            no()
        }
        fn set_limit(&self, _: &str, _: u32, _: &str) -> Result<u32, Refusal> {
            no()
        }
        fn sparql(&self, _: &str, _: &str) -> Result<SparqlAnswer, Refusal> {
            no()
        }
        fn capacity_table(&self, state: &StateDir) -> std::path::PathBuf {
            state.path().join("none")
        }
    }
}
