//! What workers of a pipeline are asked.
//!
//! A text is rendered for each try anew, from values that the scheduler gives ([`PROVIDED`]): nothing of an earlier
//! conversation is in it. A model gets the values as a prompt, a program as one JSON object on its standard input.

use super::super::declared;
use super::super::manifest::{joined, literal};
use super::super::text::Text;
use super::{EventType, Manifest, Node, Persona};
use crate::plan::{ProjectPlace, STANDARD_EVENTS, follows_from};

/// The names that texts of a pipeline see besides those of workflows. Each has a value, null where there is none:
///
/// - `handoff`: `{from: [{node, status, payload}], trigger}`; `from` has everything that ended before, of rounds with `round` and `reason`,
/// - `state`: `{flags, metadata, history}` of the run, `events`: the kinds of what was announced so far,
/// - `project`: what the runs of the project share,
/// - `attempt`: the number of the try, `previous`: `[{try, status, payload, reason}]` of those before,
/// - `children`: `[{persona, task, status, payload}]` of what was handed out, where it is made into the result,
/// - `phase`: `{id, persona, actor, depth, round}`, `task`: what was handed to a child,
/// - `prompt_context`: `{handoff, state, project, previous, children}` as prompts show them, what is large in part.
pub(crate) const PROVIDED: &[&str] = &[
    "handoff",
    "state",
    "events",
    "project",
    "attempt",
    "previous",
    "children",
    "phase",
    "task",
    "prompt_context",
];

/// What a worker is given.
pub(super) struct WorkerTexts {
    /// For a model.
    pub prompt: Text,
    /// For a program.
    pub stdin: String,
}

const INPUT: &str = "{% if workflow.input %}\n\n# Input of the run\n{{ workflow.input | json }}{% endif %}";

const SEEN: &str = "\n\n# Hand-off\nWhat ended before this phase, each with its status and payload:\n{{ prompt_context.handoff | json }}\
    \n\n# State of the run\n{{ prompt_context.state | json }}\
    {% if prompt_context.project %}\n\n# Project\nWhat the runs of this project share:\n{{ prompt_context.project | json }}{% endif %}";

const TRIES: &str = "{% if previous %}\n\n# Earlier tries\nThis is try {{ attempt }}. Those before it were not accepted; \
    what they gave and why:\n{{ prompt_context.previous | json }}{% endif %}";

const CHILDREN: &str = "{% if children %}\n\n# What the work that you handed out came to\n{{ prompt_context.children | json }}\n\
    Make it into the result of this phase; hand out nothing more.{% endif %}";

const ANSWER: &str = "\n\n# Answer\nOne JSON object: `status` is `success` if the work is done, `validation_fail` if what \
    came out is not acceptable and should be tried again, `failure` if it cannot be done; `payload` is an object with \
    what the phases after this one need; `reason` says why it is no success. Where something happened that others \
    wait for, name it in `events` as `{type, payload}`. `flags` (true or false) and `metadata` are kept for later \
    phases.";

/// Only phases themselves change it, and only where there is something to change.
const PROJECT: &str = " `project` changes what runs of this project share: `{globalFlags: {NAME: true, false or null}, artifactPointers: \
    {NAME: text or null}, taskQueue: {upsert: [{taskId, status, worktreePath, metadata}], remove: [taskId]}}`; null takes a value \
    away, what is not named stays, `status` of a task is pending, in_progress, blocked, review, conflict, resolving_conflict, merged, \
    completed or failed.";

/// Everything as one object.
const STDIN: &str = "{{ {\"phase\": phase, \"task\": task, \"input\": workflow.input, \"handoff\": handoff, \"state\": state, \
    \"project\": project, \"attempt\": attempt, \"previous\": previous, \"children\": children} | json }}";

/// What the worker of a phase is given.
pub(super) fn of_phase(manifest: &Manifest, node: &Node, persona: &Persona, handed: &str) -> WorkerTexts {
    let usual = Text::opaque(usual_task(node, persona), node.id.span.clone());
    let task = node.task.as_ref().unwrap_or(&usual);
    let project = if manifest.project == ProjectPlace::Nowhere { "" } else { PROJECT };
    let after = format!("{INPUT}{SEEN}{TRIES}{CHILDREN}{ANSWER}{project}{}{handed}", events(manifest));
    WorkerTexts {
        prompt: joined("", task, &after),
        stdin: format!("{{% set task %}}{}{{% endset %}}{STDIN}", task.value),
    }
}

/// What a persona is given that a phase hands work to.
pub(super) fn of_child(manifest: &Manifest, persona: &Persona, handed: &str) -> WorkerTexts {
    let task = "{% if task is string %}{{ task }}{% else %}{{ task | json }}{% endif %}";
    let text = format!("{task}{SEEN}{CHILDREN}{ANSWER}{}{handed}", events(manifest));
    WorkerTexts { prompt: Text::opaque(text, persona.id.span.clone()), stdin: STDIN.to_owned() }
}

fn usual_task(node: &Node, persona: &Persona) -> String {
    let name = persona.display_name.as_ref().map_or(&persona.id.value, |name| &name.value);
    format!("Do the part of {} in the phase `{}`.", literal(name), literal(node.called()))
}

/// Those that a worker announces by itself, with the shape that what it says about them is held to; the others follow from
/// its status.
fn events(manifest: &Manifest) -> String {
    let defines = |kind: &&str| manifest.events.iter().any(|event| event.kind.value == **kind);
    let standard = STANDARD_EVENTS.iter().copied().filter(|kind| follows_from(kind).is_none());
    let names: Vec<String> = standard.filter(|kind| !defines(kind)).map(quoted).collect();
    let own: String = manifest.events.iter().map(own_event).collect();
    format!("\nTypes of events: {}; of their payload {STANDARD_SHAPE}.{own}", names.join(", "))
}

const STANDARD_SHAPE: &str =
    "`summary`, `errorCode` and `artifactPointer` are texts, each of them and `details` can be left out";

fn own_event(event: &EventType) -> String {
    let name = quoted(&event.kind.value);
    match &event.schema {
        None if event.any_status.is_some() => {
            format!("\nAlso {name}, whatever `status` is: something stands in the way of later work.")
        }
        None => format!("\nAlso {name}; its payload is any object."),
        Some(schema) => {
            format!(
                "\nAlso {name}; its payload fits {}.",
                literal(&declared::schema(schema).json_schema().to_string())
            )
        }
    }
}

fn quoted(name: &str) -> String {
    format!("`{}`", literal(name))
}

/// The personas that work may be handed to, in words.
pub(super) fn hands_to(manifest: &Manifest, persona: &str) -> String {
    let children = manifest.relationships.iter().filter(|relationship| relationship.parent.value == persona);
    let names: Vec<String> = children.map(|child| format!("`{}`", literal(&child.child.value))).collect();
    match names.is_empty() {
        true => String::new(),
        false => format!(
            "\nWork that others should do goes into `children` as `{{persona, task}}`; you are asked again with their \
             results. Personas: {}.",
            names.join(", ")
        ),
    }
}
