//! The server's side of the command line: every action is the one of a command, and refusals keep their words.

use super::{files, launching};
use crate::changes::stored_plan;
use crate::clock;
use crate::commands::answer::{self, NotTaken};
use crate::commands::{capacity, guide, plan, show, stop};
use crate::compiling;
use crate::config::Consent;
use crate::console::Console;
use crate::diagnostics::{Record, Tally};
use crate::driving::{destinations, machine_capacity};
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::following::StoredPrompts;
use crate::gate::Given;
use crate::stored::Stored;
use crate::subject::Subject;
use crate::trust::{self, Store};
use convoke_journal::{Error as JournalError, Reader, StateDir};
use convoke_model::{AnswerOrigin, Event, RunId, TaskId};
use convoke_plan::Plan;
use convoke_plan::view::estimate;
use convoke_server::{
    Answering, Finding, Host, Launch, Refusal, RefusalKind, SparqlAnswer, Subject as Asked, TakePrompt,
    WorkflowFile,
};
use convoke_telemetry::spans::Prompts;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The command line as a server reaches it.
pub struct CommandHost {
    /// The configuration of the folder that the server was started in.
    pub console: Console,
    /// Where runs are kept.
    pub state: StateDir,
    /// Folders from which runs may be started, without links in their paths.
    pub folders: Vec<PathBuf>,
    /// Whether a person named these folders: files in a folder that was only opened must be trusted.
    pub named: bool,
}

impl Host for CommandHost {
    fn launch(&self, launch: &Launch) -> Result<RunId, Refusal> {
        match launch {
            Launch::Run { file, inputs, options, by } => {
                let (place, found) = self.place(file)?;
                self.refuse_mistakes(&place, found)?;
                launching::run(&self.state, &place, found, inputs, options, by)
            }
            Launch::Retry { run, task, repeat_effects } => {
                self.exists(run)?;
                launching::retry(&self.state, run, task, *repeat_effects)
            }
            Launch::Resume { run, options } => {
                self.exists(run)?;
                launching::resume(&self.state, run, options)
            }
        }
    }

    fn check(&self, subject: &Asked) -> Result<Vec<Finding>, Refusal> {
        let (subject, console) = self.subject(subject)?;
        let compiled = subject.compile(&console.config, None).map_err(refusal)?;
        Ok(compiled.diagnostics.iter().map(finding).collect())
    }

    fn plan(&self, subject: &Asked) -> Result<(Plan, Value), Refusal> {
        let (subject, console) = self.subject(subject)?;
        let compiled = subject.compile(&console.config, None).map_err(refusal)?;
        let tally = Tally::of(&compiled.diagnostics);
        let findings: Vec<Finding> = compiled.diagnostics.iter().map(finding).collect();
        let Some(found) = compiled.plan.filter(|_| !tally.refuses(console.config.strict)) else {
            let words = compiling::refusal(&subject.file, tally, console.config.strict);
            return Err(Refusal { findings, ..refusal(words) });
        };
        let mut record = plan::record(&found);
        record["estimate"] = json!(estimate(&found, &Map::new()));
        Ok((found, record))
    }

    fn files(&self) -> Vec<WorkflowFile> {
        files::all(&self.console, &self.folders, self.named)
    }

    fn plan_of(&self, run: &RunId) -> Result<Arc<Plan>, Refusal> {
        let reader = Reader::open(&self.state, run).map_err(journal)?;
        let meta = reader.meta().map_err(journal)?;
        let plan = stored_plan(&self.state, run, &meta, || reader.read_all()).map_err(refusal)?;
        Ok(Arc::new(plan))
    }

    fn destinations(&self, plan: &Plan) -> Vec<String> {
        destinations::of(plan)
    }

    fn prompt(&self, run: &RunId, task: &TaskId) -> Option<Value> {
        let stored = Stored::open(&self.state, &run.0).ok()?;
        show::prompt::rendered(&self.state, &stored, task)
    }

    fn sparql(&self, query: &str, accept: &str) -> Result<SparqlAnswer, Refusal> {
        super::sparql::answer(&self.state, query, accept)
    }

    fn prompts(&self, run: &RunId, take: &mut TakePrompt<'_>) {
        let Ok(reader) = Reader::open(&self.state, run) else { return };
        let mut prompts = StoredPrompts::new(&self.state, run);
        let read = reader.read_while(1, &mut |stamped| {
            let asked = match &stamped.event {
                Event::AttemptStarted { task, attempt: 1, .. } => {
                    prompts.prompt(task).map(|said| (task, said))
                }
                _ => None,
            };
            let goes_on = asked.is_none_or(|(task, said)| {
                let system = said.system.map(|system| ("system", system));
                let parts: Vec<_> = system.into_iter().chain([("prompt", said.prompt)]).collect();
                take(stamped.seq, task, &parts)
            });
            prompts.take(&stamped);
            goes_on
        });
        // What could not be read is not found; the run's page says why.
        read.ok();
    }

    fn answer(&self, answering: &Answering<'_>) -> Result<(), Refusal> {
        self.exists(answering.run)?;
        let given = Given {
            values: answering.given.values.clone(),
            inputs: answering.given.inputs.clone().into_iter().collect(),
            skip_rest: answering.given.skip_rest,
            abort: answering.given.abort,
        };
        let Answering { run, question, shown, by, .. } = answering;
        answer::hand_in(&self.state, run, question, *shown, &given, (*by, AnswerOrigin::Server)).map_err(
            |why| match why {
                NotTaken::Refused(refused) => {
                    let words = refused.words(run, question);
                    Refusal::new(RefusalKind::Conflict, refused.code(), words)
                }
                NotTaken::Failed(failure) => refusal(failure),
            },
        )
    }

    fn stop(&self, run: &RunId, now: bool, by: &str) -> Result<String, Refusal> {
        self.exists(run)?;
        stop::ask(&self.state, run, now, by.to_owned()).map_err(refusal)
    }

    fn guide(&self, run: &RunId, task: Option<&TaskId>, text: &str, by: &str) -> Result<(), Refusal> {
        self.exists(run)?;
        let stored = Stored::open(&self.state, &run.0).map_err(refusal)?;
        let (text, by) = (text.to_owned(), by.to_owned());
        let said = match task {
            None => guide::say(&self.state, &stored, text, by),
            Some(task) => guide::say_to_task(&self.state, &stored, task, text, by),
        };
        said.map_err(refusal)
    }

    fn set_limit(&self, name: &str, value: u32, by: &str) -> Result<u32, Refusal> {
        capacity::set::one(&self.console, name, value, by).map_err(refusal)
    }

    fn capacity_table(&self, state: &StateDir) -> PathBuf {
        machine_capacity::table_path(state)
    }
}

impl CommandHost {
    /// Where a name leads, and whether what is there was only found: it lies in a folder that nobody named, or outside of all of them and a
    /// person has trusted it at some time. What it holds now is judged when it is compiled.
    fn place(&self, file: &str) -> Result<(files::Place, bool), Refusal> {
        let unknown = match files::allowed(&self.folders, file) {
            Ok(place) => return Ok((place, !self.named)),
            Err(unknown) => unknown,
        };
        let path = Path::new(file)
            .canonicalize()
            .ok()
            .filter(|path| Path::new(file).is_absolute() && path.is_file());
        let was_trusted = |path: &PathBuf| {
            let entries = Store::at(&self.console.config.own_state).entries().unwrap_or_default();
            entries.iter().any(|entry| entry.place == trust::Place::File(path.clone()).to_string())
        };
        // Whether there is such a file is nobody's business.
        let hint = || Refusal {
            hint: Some(format!("a file outside of the server's folders: convoke trust {file}")),
            ..unknown
        };
        let path = path.filter(was_trusted).ok_or_else(hint)?;
        let folder = path.parent().unwrap_or(Path::new("/")).to_owned();
        Ok((files::Place { folder, path }, true))
    }

    fn consent(&self, found: bool) -> Consent<'static> {
        if found { Consent::Files(&[]) } else { Consent::Project }
    }

    /// Names of runs are given in full.
    fn exists(&self, run: &RunId) -> Result<(), Refusal> {
        Reader::open(&self.state, run).map(drop).map_err(journal)
    }

    fn subject(&self, asked: &Asked) -> Result<(Subject, Console), Refusal> {
        match asked {
            Asked::File(file) => {
                let place = files::allowed(&self.folders, file)?;
                let console =
                    self.console.for_folder(&place.folder, &self.consent(!self.named)).map_err(refusal)?;
                Ok((Subject::of(&place.path, Vec::new(), false).map_err(refusal)?, console))
            }
            Asked::Text(text) => {
                let name = format!("text-{}.yaml", clock::now().0);
                Ok((Subject::made(&name, text.clone()), self.console.clone()))
            }
        }
    }

    /// What is wrong with a file is told with its places, which the words of a process would not have.
    fn refuse_mistakes(&self, place: &files::Place, found: bool) -> Result<(), Refusal> {
        let console = self.console.for_folder(&place.folder, &self.consent(found)).map_err(refusal)?;
        let subject = Subject::of(&place.path, Vec::new(), false).map_err(refusal)?;
        let compiled = subject.compile(&console.config, None).map_err(refusal)?;
        let tally = Tally::of(&compiled.diagnostics);
        if let Some(plan) = compiled.plan.as_ref().filter(|_| !tally.refuses(console.config.strict)) {
            return subject.require_trust(&console.config, found, plan).map_err(untrusted);
        }
        let findings = compiled.diagnostics.iter().map(finding).collect();
        Err(Refusal { findings, ..refusal(compiling::refusal(&place.path, tally, console.config.strict)) })
    }
}

fn finding(found: &convoke_plan::Diagnostic) -> Finding {
    let record = json!(Record::of(found));
    let text = |key: &str| record[key].as_str().map(str::to_owned);
    let number = |key: &str| record[key].as_u64().and_then(|number| usize::try_from(number).ok());
    Finding {
        code: text("code").unwrap_or_default(),
        severity: text("severity").unwrap_or_default(),
        message: text("message").unwrap_or_default(),
        file: text("file"),
        line: number("line"),
        column: number("column"),
        help: text("help"),
    }
}

fn journal(error: JournalError) -> Refusal {
    let kind = match &error {
        JournalError::UnknownRun { .. } => Some(("not_found", RefusalKind::Unknown)),
        _ => None,
    };
    let told = refusal(CommandFailure::from(error));
    kind.map_or(told.clone(), |(code, kind)| Refusal { code: code.to_owned(), kind, ..told })
}

/// A workflow that nobody trusts.
fn untrusted(failure: CommandFailure) -> Refusal {
    Refusal { kind: RefusalKind::Forbidden, code: "untrusted".to_owned(), ..refusal(failure) }
}

/// A failure of a command, as callers of the server are told it.
pub(super) fn refusal(failure: CommandFailure) -> Refusal {
    let (code, kind) = match failure.exit {
        Exit::Owned => ("owned", RefusalKind::Conflict),
        Exit::State => ("state", RefusalKind::Unavailable),
        Exit::Inside => ("inside_a_run", RefusalKind::Forbidden),
        Exit::Failed => ("failed", RefusalKind::Conflict),
        _ => ("refused", RefusalKind::Refused),
    };
    let words = std::iter::once(failure.message).chain(failure.causes).collect::<Vec<_>>().join(": ");
    let hint = (!failure.hints.is_empty()).then(|| failure.hints.join("; "));
    Refusal { hint, ..Refusal::new(kind, code, words) }
}
