//! Skills: folders whose `SKILL.md` is put before the prompts of the agents that use them.

use super::super::load::Bundle;
use crate::diagnostic::{Diagnostic, SourceFile, Span};
use crate::source::workflow::{ForEachBody, Names, Step, Workflow};
use crate::source::{Sources, Text, join_beside, read_partial};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The skill that another program brings along; it describes that program.
const FOREIGN: &str = "conductor";

/// The texts of all skills, by path.
#[derive(Default)]
pub(in crate::compile) struct Skills {
    texts: BTreeMap<String, Text>,
}

impl Skills {
    /// The texts of these skills as one; `None` when there are none.
    pub fn join(&self, workflow: &Workflow, names: &Names) -> Option<Arc<str>> {
        let texts: Vec<String> = names
            .iter()
            .filter_map(|name| Some((name, self.texts.get(&path(workflow, &name.value))?)))
            .map(|(name, text)| format!("# Skill: {}\n\n{}", title(&name.value), text.value.trim()))
            .collect();
        (!texts.is_empty()).then(|| texts.join("\n\n").into())
    }

    /// The files as they were read.
    pub fn files(&self) -> impl Iterator<Item = &Arc<SourceFile>> {
        self.texts.values().map(|text| &text.span.file)
    }
}

/// Reads every skill that an agent of the bundle uses.
pub(in crate::compile) fn collect(
    bundle: &Bundle,
    sources: &dyn Sources,
    findings: &mut Vec<Diagnostic>,
) -> Skills {
    let mut reader = Reader { sources, findings, skills: Skills::default() };
    for workflow in &bundle.workflows {
        for names in used(workflow) {
            let texts: usize = names.iter().map(|name| reader.read(workflow, &name.value, &name.span)).sum();
            reader.weigh(workflow, names, texts as u64);
        }
    }
    reader.skills
}

/// The lists of skills that are written in a workflow.
fn used(workflow: &Workflow) -> Vec<&Names> {
    let inline = workflow.for_each.iter().filter_map(|group| match &group.body {
        Some(ForEachBody::Inline(step)) => Some(&**step),
        _ => None,
    });
    let models = workflow.agents.iter().chain(inline).flat_map(Step::models);
    [&workflow.runtime.skills].into_iter().chain(models.filter_map(|model| model.skills.as_ref())).collect()
}

fn path(workflow: &Workflow, name: &str) -> String {
    join_beside(&workflow.path, &format!("{name}/SKILL.md"))
}

/// The last part of a folder's path.
fn title(name: &str) -> &str {
    name.trim_end_matches('/').rsplit('/').next().unwrap_or(name)
}

struct Reader<'a> {
    sources: &'a dyn Sources,
    findings: &'a mut Vec<Diagnostic>,
    skills: Skills,
}

impl Reader<'_> {
    /// Reads one skill and gives its size.
    fn read(&mut self, workflow: &Workflow, name: &str, span: &Span) -> usize {
        if name == FOREIGN {
            let message = format!("skill `{name}` has no effect: it describes another program");
            self.findings.push(Diagnostic::warning("workflow::no_effect", message, span.clone(), "left out"));
            return 0;
        }
        let path = path(workflow, name);
        if let Some(text) = self.skills.texts.get(&path) {
            return text.value.len();
        }
        let (text, found) = read_partial(&path, self.sources, span);
        let nothing_said = found.is_empty();
        self.findings.extend(found);
        match text {
            Some(text) => {
                let size = text.value.len();
                self.skills.texts.insert(path, text);
                size
            }
            None => {
                if nothing_said {
                    self.findings.push(missing(name, &path, span));
                }
                0
            }
        }
    }

    /// Compares the size of all skills of one list with what the workflow allows.
    fn weigh(&mut self, workflow: &Workflow, names: &Names, bytes: u64) {
        let limits = workflow.runtime.skill_injection;
        let Some(first) = names.first().filter(|_| bytes > limits.warn_bytes) else { return };
        let found = if bytes > limits.max_bytes {
            let message = format!("skills: {bytes} bytes are more than `max_bytes` ({})", limits.max_bytes);
            Diagnostic::error(
                "workflow::skills_too_large",
                message,
                first.span.clone(),
                "the list begins here",
            )
        } else {
            let message = format!("skills: {bytes} bytes are put before every prompt");
            Diagnostic::warning(
                "workflow::skills_too_large",
                message,
                first.span.clone(),
                "the list begins here",
            )
        };
        self.findings.push(found);
    }
}

fn missing(name: &str, path: &str, span: &Span) -> Diagnostic {
    let message = format!("skill `{name}`: {path} is not found");
    Diagnostic::error("workflow::missing_skill", message, span.clone(), "no such skill")
        .help("a skill is a folder with a file SKILL.md, relative to the workflow file")
}
