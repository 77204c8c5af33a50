//! `convoke show RUN --sources`: the answer with its sources, and what its citations come to.
//!
//! Computed anew from the journal: what the merge recorded was said of its own text, and an examination may have changed it since.

use super::InspectedRun;
use crate::args::Format;
use crate::console::Console;
use crate::escape;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use convoke_model::citations::{Citation, Verdict, citations};
use convoke_model::synthesis::readable;
use convoke_model::{Event, Payload, TaskId};
use serde_json::{Value, json};

/// An answer that was made of others.
struct Sourced {
    task: TaskId,
    answer: String,
    sources: Vec<Value>,
    citations: Vec<Citation>,
}

impl InspectedRun {
    /// Prints the answer of the run that names its sources; fails where a citation is wrong.
    pub(super) fn print_sources(&self, console: &Console, format: Format) -> Result<Exit, CommandFailure> {
        let Some(found) = self.sourced()? else {
            let words =
                format!("no step of run `{}` has made one answer of several outputs", self.stored.run);
            return Err(CommandFailure::new(Exit::Failed, words).hint(format!(
                "`convoke knowledge ask sources {}` says which outputs went into its answer",
                self.stored.run
            )));
        };
        match format {
            Format::Json => console.json(&found.record())?,
            Format::Text => console.data(&found.text())?,
        }
        Ok(Exit::Success)
    }

    /// The last answer with sources that a step of the run's own workflow gave.
    fn sourced(&self) -> Result<Option<Sourced>, CommandFailure> {
        let outputs = self.stored.events.iter().rev().filter_map(|stamped| match &stamped.event {
            Event::TaskSucceeded { task, output } | Event::AttemptFinished { task, output, .. } => {
                Some((task, output))
            }
            _ => None,
        });
        for (task, output) in outputs.filter(|(task, _)| task.depth() == 0) {
            let Some(report) = self.parsed(output)? else { continue };
            let Some(sources) = report["sources"].as_array().filter(|_| report.get("result").is_some())
            else {
                continue;
            };
            let answer = readable(&report["result"]);
            let texts =
                sources.iter().map(|source| self.text_of_source(source)).collect::<Result<Vec<_>, _>>()?;
            let citations = citations(&answer, sources.len(), &|at| texts[at].clone());
            return Ok(Some(Sourced { task: task.clone(), answer, sources: sources.clone(), citations }));
        }
        Ok(None)
    }

    fn parsed(&self, payload: &Payload) -> Result<Option<Value>, CommandFailure> {
        Ok(self.stored.text(payload)?.map(|text| text.value()))
    }

    fn text_of_source(&self, source: &Value) -> Result<String, CommandFailure> {
        let wanted = source["task"].as_str().unwrap_or_default();
        let output = self.stored.events.iter().rev().find_map(|stamped| match &stamped.event {
            Event::TaskSucceeded { task, output }
            | Event::AttemptFinished { task, output, .. }
            | Event::OutputTaken { task, output, .. }
                if &*task.0 == wanted =>
            {
                Some(output)
            }
            _ => None,
        });
        let value = output.map(|output| self.parsed(output)).transpose()?.flatten();
        Ok(value.map(|value| readable(&value)).unwrap_or_default())
    }
}

impl Sourced {
    fn record(&self) -> Value {
        let citation = |one: &Citation| {
            let tasks: Vec<&Value> = one.sources.iter().map(|at| &self.sources[*at]["task"]).collect();
            json!({"marks": one.marks, "tasks": tasks, "claim": one.claim, "quote": one.quote, "excerpt": one.excerpt,
                   "verdict": one.verdict, "wrong": one.verdict.is_wrong()})
        };
        json!({"task": self.task, "answer": self.answer, "sources": self.sources,
               "citations": self.citations.iter().map(citation).collect::<Vec<_>>()})
    }

    fn text(&self) -> String {
        let mut text = format!("{}\n\nsources of `{}`\n", escape::text(&self.answer), self.task);
        for source in &self.sources {
            let word = |key: &str| escape::line(source[key].as_str().unwrap_or_default()).into_owned();
            let cited = if source["cited"] == true { "" } else { "  (not cited)" };
            let (title, task) = (word("title"), word("task"));
            let of = if title == task { String::new() } else { format!("  {title}") };
            text.push_str(&format!("  {:<4} {task}{of}{cited}\n", word("mark")));
        }
        if self.citations.is_empty() {
            return text + "\nno sentence cites a source\n";
        }
        let wrong = self.citations.iter().filter(|one| one.verdict.is_wrong()).count();
        text.push_str(&format!("\ncitations: {}, {wrong} wrong\n", self.citations.len()));
        for one in &self.citations {
            text.push_str(&format!(
                "  [{}] {}: {}\n",
                one.marks.join(", "),
                flag(one.verdict),
                escape::line(&one.claim)
            ));
        }
        text
    }
}

fn flag(verdict: Verdict) -> String {
    if verdict.is_wrong() { format!("WRONG, {}", verdict.words()) } else { verdict.words().to_owned() }
}
