//! `convoke knowledge export`: the graph of a run, and a run as an RO-Crate.

use super::{bring_up_to_date, refusal};
use crate::args::{GraphFormat, KnowledgeExportArgs};
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::stored::{self, Stored};
use convoke_journal::StateDir;
use convoke_knowledge::export::{CrateFile, RunCrate, json_ld, metadata, nquads, turtle};
use convoke_knowledge::project::graph_of;
use convoke_knowledge::store::{Store, quads_of};
use convoke_knowledge::update;
use convoke_model::{Event, Payload, RunId, RunStarted, RunStatus, Stamped};
use convoke_plan::{Kind, Plan, Text};
use std::path::Path;

/// Writes it.
pub fn run(console: &Console, args: &KnowledgeExportArgs) -> Result<Exit, CommandFailure> {
    let state = stored::for_writing(console)?;
    let run = stored::find(&state, &args.run)?;
    bring_up_to_date(console, &state)?;
    let text = match args.format {
        GraphFormat::RoCrate => {
            let Some(folder) = &args.output else {
                return Err(CommandFailure::new(
                    Exit::Usage,
                    "an RO-Crate is a folder: say which with --output",
                ));
            };
            write_crate(&state, &run, folder, args.contents)?;
            console.conclude(&format!("run {run} was written to {}", folder.display()));
            return Ok(Exit::Success);
        }
        format => graph_text(&state, &run, format)?,
    };
    match &args.output {
        Some(path) => std::fs::write(path, text).map_err(|error| {
            CommandFailure::new(Exit::Failed, format!("`{}` cannot be written: {error}", path.display()))
        })?,
        None => console.exact(&text)?,
    }
    Ok(Exit::Success)
}

fn graph_text(state: &StateDir, run: &RunId, format: GraphFormat) -> Result<String, CommandFailure> {
    let connection = Store::reader(&update::file(state)).map_err(|error| refusal(&error))?;
    let quads = quads_of(&connection, &graph_of(run))
        .map_err(|error| CommandFailure::new(Exit::State, error.to_string()))?;
    if quads.is_empty() {
        return Err(CommandFailure::new(
            Exit::Failed,
            format!("run `{run}` has no graph: its plan cannot be read"),
        ));
    }
    let text = match format {
        GraphFormat::Nq => nquads(&quads),
        GraphFormat::Jsonld => json_ld(&quads).map(|text| text + "\n"),
        GraphFormat::Ttl | GraphFormat::RoCrate => {
            turtle(&quads.into_iter().map(convoke_knowledge::Triple::from).collect::<Vec<_>>())
        }
    };
    text.map_err(Into::into)
}

/// Writes a run as a folder with its metadata, its workflow, its graph, and with contents its inputs and its answer.
fn write_crate(state: &StateDir, run: &RunId, folder: &Path, contents: bool) -> Result<(), CommandFailure> {
    let stored = Stored::open(state, &run.0)?;
    let plan: Plan = serde_json::from_str(stored.reader.meta()?.plan.as_str()).map_err(|error| {
        CommandFailure::new(Exit::Failed, format!("the plan of the run cannot be read: {error}"))
    })?;
    let Some(started) = started_of(&stored.events) else {
        return Err(CommandFailure::new(Exit::Failed, format!("run `{run}` has not begun")));
    };
    std::fs::create_dir(folder).map_err(|error| {
        CommandFailure::new(
            Exit::Failed,
            format!("the folder `{}` cannot be made: {error}", folder.display()),
        )
    })?;
    let writing = Writing { folder };
    let mut about = RunCrate {
        run: run.to_string(),
        workflow: started.workflow.clone(),
        description: plan.root().description.clone().unwrap_or_default(),
        started: first_at(&stored.events),
        version: started.version.clone(),
        agents: agents(&plan),
        ..RunCrate::default()
    };
    for (number, source) in plan.sources.iter().enumerate() {
        let name = file_name(&source.path, number);
        let file =
            writing.file(&format!("workflow/{name}"), &source.path, "application/yaml", &source.text)?;
        if number == 0 { about.main = Some(file) } else { about.sources.push(file) }
    }
    let graph = graph_text(state, run, GraphFormat::Ttl)?;
    about.graph = Some(writing.file("provenance.ttl", "the graph of the run", "text/turtle", &graph)?);
    if contents {
        about.inputs.extend(writing.payload(&stored, &started.inputs, "inputs.json", "inputs")?);
    }
    for stamped in &stored.events {
        if let Event::RunFinished { status, output, .. } = &stamped.event {
            about.ended = Some(stamped.at.rfc3339());
            about.succeeded = Some(matches!(status, RunStatus::Succeeded | RunStatus::Partial));
            if let (true, Some(output)) = (contents, output) {
                about.outputs =
                    writing.payload(&stored, output, "answer.json", "answer")?.into_iter().collect();
            }
        }
    }
    let text = serde_json::to_string_pretty(&metadata(&about)).expect("metadata is JSON");
    writing.write("ro-crate-metadata.json", &(text + "\n"))
}

fn started_of(events: &[Stamped]) -> Option<&RunStarted> {
    events.iter().find_map(|stamped| match &stamped.event {
        Event::RunStarted(started) => Some(&**started),
        _ => None,
    })
}

fn first_at(events: &[Stamped]) -> String {
    events.first().map(|stamped| stamped.at.rfc3339()).unwrap_or_default()
}

/// The agents of a plan with the models that they ask.
fn agents(plan: &Plan) -> Vec<(String, String)> {
    let agent = |node: &convoke_plan::Node| match &node.kind {
        Kind::Agent(agent) if !node.name.starts_with('$') => {
            let model = match &agent.model {
                Some(Text::Literal(model)) => model.to_string(),
                _ => format!("the default of {}", agent.settings.provider.name),
            };
            Some((node.name.to_string(), model))
        }
        _ => None,
    };
    plan.workflows.iter().flat_map(|workflow| &workflow.nodes).filter_map(agent).collect()
}

/// A name in the crate for a source file: its own, without folders.
fn file_name(path: &str, number: usize) -> String {
    let own = path.rsplit('/').next().unwrap_or(path);
    let plain: String =
        own.chars().map(|c| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' }).collect();
    if number == 0 { plain } else { format!("{number}-{plain}") }
}

struct Writing<'f> {
    folder: &'f Path,
}

impl Writing<'_> {
    fn write(&self, path: &str, text: &str) -> Result<(), CommandFailure> {
        let path = self.folder.join(path);
        let made = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        made.and_then(|()| std::fs::write(&path, text)).map_err(|error| {
            CommandFailure::new(Exit::Failed, format!("`{}` cannot be written: {error}", path.display()))
        })
    }

    fn file(&self, path: &str, name: &str, media: &str, text: &str) -> Result<CrateFile, CommandFailure> {
        self.write(path, text)?;
        Ok(CrateFile { path: path.into(), name: name.into(), media: media.into(), size: text.len() as u64 })
    }

    fn payload(
        &self,
        stored: &Stored,
        payload: &Payload,
        path: &str,
        name: &str,
    ) -> Result<Option<CrateFile>, CommandFailure> {
        match stored.text(payload)? {
            Some(text) => self.file(path, name, "application/json", text.as_str()).map(Some),
            None => Ok(None),
        }
    }
}
