//! What agents are asked: the texts of a manifest around what its writer wrote.
//!
//! `query` and `context` are inputs, so that a run can be given others; texts use them, and `partition`, by these names.
//! Where the manifest declares inputs, the two may be templates themselves, and then stand in every text that uses
//! them. Invariant: what stands in the file keeps its place in the text that is made of it.

pub(in crate::source) use super::super::escape::template as literal;
use super::super::text::{Segment, Text};
use super::{AgentSpec, Manifest};
use crate::diagnostic::Span;

/// The department of agents that have none, in manifests that programs wrote.
const EVERYWHERE: &str = "general";

/// Where a name that every text may use comes from.
enum Given {
    /// An input of the run.
    Input,
    /// A template of the manifest.
    Template(String),
}

/// The names that every text may use.
pub(super) struct Texts {
    query: Given,
    context: Given,
}

impl Texts {
    /// Looks at a manifest.
    pub fn new(manifest: &Manifest) -> Self {
        let given = |text: Option<&Text>| match text {
            Some(text) if is_rendered(manifest, text) => Given::Template(text.value.clone()),
            _ => Given::Input,
        };
        Self { query: given(manifest.query.as_ref()), context: given(manifest.context.as_ref()) }
    }

    /// What is asked, as a text of its own.
    pub fn query(&self, span: &Span) -> Text {
        Text::opaque(self.query.whole("query"), span.clone())
    }

    /// A text of the writer, with the names that it uses.
    pub fn written(&self, text: &Text) -> Text {
        joined(&self.names_in(&text.value), text, "")
    }

    /// What an agent is asked: its task, further words of ours, its criteria, the context.
    pub fn prompt(&self, spec: &AgentSpec, partitioned: bool, more: &str) -> Text {
        let default = Text::opaque(self.default_task(partitioned), spec.id.span.clone());
        let task = spec.task.as_ref().unwrap_or(&default);
        let before = self.names_in(&task.value);
        let mut after = more.to_owned();
        if let Some(criteria) = &spec.step.success_criteria {
            after.push_str(&format!("\n\nYour answer must meet this: {}", literal(&criteria.criteria.value)));
        }
        if !mentions(&task.value, "context") {
            after.push_str(&self.context_block());
        }
        joined(&before, task, &after)
    }

    fn default_task(&self, partitioned: bool) -> String {
        let focus = if partitioned { "\n\nFocus on: {{ partition }}" } else { "" };
        format!("{}{focus}", self.query.whole("query"))
    }

    fn context_block(&self) -> String {
        match &self.context {
            Given::Input => {
                "{% if workflow.input.context %}\n\nContext:\n{{ workflow.input.context }}{% endif %}"
                    .to_owned()
            }
            Given::Template(text) => format!("\n\nContext:\n{}", given_or("context", text)),
        }
    }

    /// Statements that make the names known which a text uses.
    fn names_in(&self, text: &str) -> String {
        let named = [("query", &self.query), ("context", &self.context)];
        let used = named.iter().filter(|(name, _)| is_template(text) && mentions(text, name));
        used.map(|(name, given)| given.known_as(name)).collect()
    }
}

impl Given {
    fn whole(&self, name: &str) -> String {
        match self {
            Given::Input => format!("{{{{ workflow.input.{name} }}}}"),
            Given::Template(text) => given_or(name, text),
        }
    }

    fn known_as(&self, name: &str) -> String {
        match self {
            Given::Input => format!("{{% set {name} = workflow.input.{name} %}}"),
            Given::Template(text) => format!("{{% set {name} %}}{}{{% endset %}}", given_or(name, text)),
        }
    }
}

/// What a run was given goes over the template of the file.
fn given_or(name: &str, text: &str) -> String {
    format!("{{% if workflow.input.{name} %}}{{{{ workflow.input.{name} }}}}{{% else %}}{text}{{% endif %}}")
}

/// The system prompt of an agent that states none.
pub(super) fn introduction(spec: &AgentSpec) -> Text {
    let department = match spec.department.as_ref().filter(|department| department.value != EVERYWHERE) {
        Some(department) => format!(" in the {} department", literal(&department.value)),
        None => String::new(),
    };
    let (text, place) = match &spec.role {
        Some(role) => (format!("You are {}, a specialist agent{department}.", literal(&role.value)), role),
        None => {
            (format!("You are a specialist agent{department}, called {}.", literal(&spec.id.value)), &spec.id)
        }
    };
    Text::opaque(text, place.span.clone())
}

/// Whether `query` or `context` is a template: only where there are inputs that it could use.
pub(super) fn is_rendered(manifest: &Manifest, text: &Text) -> bool {
    manifest.head.inputs.is_some() && is_template(&text.value)
}

/// Whether a task uses the query, also by having none of its own.
pub(super) fn uses_query(spec: &AgentSpec) -> bool {
    let uses = |text: &Text| is_template(&text.value) && mentions(&text.value, "query");
    spec.task.as_ref().is_none_or(uses) || spec.step.system_prompt.as_ref().is_some_and(uses)
}

/// Whether a text has a word in it.
pub(super) fn mentions(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(|c| c.is_alphanumeric() || c == '_')
    })
}

fn is_template(text: &str) -> bool {
    text.contains("{{") || text.contains("{%")
}

/// A text of the file with words before and behind it.
pub(in crate::source) fn joined(before: &str, written: &Text, after: &str) -> Text {
    let shifted =
        |segment: &Segment| Segment { value_start: segment.value_start + before.len(), ..segment.clone() };
    Text {
        value: format!("{before}{}{after}", written.value),
        segments: written.segments.iter().map(shifted).collect(),
        ..written.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_whole() {
        assert!(mentions("{{query}}", "query") && mentions("{% if query %}", "query"));
        assert!(!mentions("{{ subquery }}", "query") && !mentions("{{ queries }}", "query"));
        assert!(!mentions("{{ workflow.input.query }}", "query"));
    }
}
