//! Names of a run's things, as IRIs.
//!
//! | thing | IRI |
//! |---|---|
//! | graph | `urn:convoke:journal:RUN` |
//! | run | `urn:convoke:run:RUN` |
//! | task, in its second life | `urn:convoke:run:RUN:task:ID`, `…;2` |
//! | attempt, call of a tool | `TASK:attempt:N`, `TASK:attempt:N:call:SEQ` |
//! | result, answer | `TASK:result`, `RUN:answer` |
//! | content, plan | `urn:convoke:content:DIGEST`, `urn:convoke:plan:DIGEST` |
//! | agent, model, server, tool | `urn:convoke:agent:WORKFLOW/NAME`, `urn:convoke:model:SERVICE/NAME`, `urn:convoke:server:NAME`, `urn:convoke:tool:NAME` |

use super::outline::Outline;
use crate::vocab::encode;
use convoke_model::{RunId, TaskId};
use oxrdf::NamedNode;
use std::collections::HashMap;

/// The graph of a run.
pub fn graph_of(run: &RunId) -> NamedNode {
    NamedNode::new_unchecked(format!("urn:convoke:journal:{}", encode(&run.0)))
}

/// The run itself.
pub fn run_iri(run: &RunId) -> NamedNode {
    NamedNode::new_unchecked(format!("urn:convoke:run:{}", encode(&run.0)))
}

/// Something of a kind that is no run's own.
pub(super) fn thing(kind: &str, name: &str) -> NamedNode {
    NamedNode::new_unchecked(format!("urn:convoke:{kind}:{}", encode(name)))
}

/// A model of a service.
pub(super) fn model(service: &str, name: &str) -> NamedNode {
    thing("model", &format!("{service}/{}", name.replace('/', "%2F")))
}

/// Names of tasks: keys of items that are values of the run are numbered in the order in which they are met.
pub(super) struct Names {
    run: NamedNode,
    shows_keys: bool,
    numbers: HashMap<String, HashMap<String, usize>>,
    known: HashMap<String, String>,
}

impl Names {
    pub fn new(run: &RunId, shows_keys: bool) -> Names {
        Names { run: run_iri(run), shows_keys, numbers: HashMap::new(), known: HashMap::new() }
    }

    /// The run.
    pub fn run(&self) -> NamedNode {
        self.run.clone()
    }

    /// A task's id as the graph has it.
    pub fn id(&mut self, outline: &Outline, task: &str) -> String {
        if self.shows_keys || !task.contains('[') {
            return task.to_owned();
        }
        if let Some(known) = self.known.get(task) {
            return known.clone();
        }
        let shown = self.without_values(outline, task);
        self.known.insert(task.to_owned(), shown.clone());
        shown
    }

    fn without_values(&mut self, outline: &Outline, task: &str) -> String {
        let mut real = String::new();
        let mut shown = Vec::new();
        for (written, part) in task.split('/').zip(TaskId(task.into()).segments()) {
            let group = written.split('[').next().unwrap_or(written);
            let fan_out = format!("{real}{group}");
            let hidden = part.key.as_deref().filter(|key| !is_number(key) && !outline.states_keys(&fan_out));
            shown.push(match hidden {
                None => written.to_owned(),
                Some(key) => {
                    let numbers = self.numbers.entry(fan_out).or_default();
                    let next = numbers.len();
                    let number = *numbers.entry(key.to_owned()).or_insert(next);
                    let visit = if part.visit > 1 { format!("#{}", part.visit) } else { String::new() };
                    format!("{group}[~{number}]{visit}")
                }
            });
            real.push_str(written);
            real.push('/');
        }
        shown.join("/")
    }

    /// A task in one of its lives, from 0.
    pub fn task(&mut self, outline: &Outline, task: &str, life: u32) -> NamedNode {
        let id = self.id(outline, task);
        let again = if life > 0 { format!(";{}", life + 1) } else { String::new() };
        NamedNode::new_unchecked(format!("{}:task:{}{again}", self.run.as_str(), encode(&id)))
    }
}

/// Whether a key is a place: `3`, `2.13`.
fn is_number(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

/// A part of something: an attempt of a task, a result.
pub(super) fn part(of: &NamedNode, name: &str) -> NamedNode {
    NamedNode::new_unchecked(format!("{}:{name}", of.as_str()))
}
