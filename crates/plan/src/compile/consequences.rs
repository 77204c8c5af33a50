//! Leaves out what only follows from another finding: one slip of the pen is one finding.
//!
//! Three rules. A misspelt section hides every name that is missing because of it. A name that is not there is told
//! once, with its second place and the number of the others. What nothing leads to is told only where every name leads
//! somewhere. Which names there are is for `check` and the readers to say; nothing is left out that would have been the
//! only error.

use crate::diagnostic::Diagnostic;
use crate::source::nearest;
use std::collections::HashMap;

/// Codes of names that lead nowhere; the place of such a finding is the name.
const MISSING: &[&str] = &[
    "workflow::unknown_dependency",
    "workflow::unknown_entry_point",
    "workflow::unknown_hook_step",
    "workflow::unknown_member",
    "workflow::unknown_node",
    "workflow::unknown_persona",
    "workflow::unknown_reference",
    "workflow::unknown_route_target",
    "workflow::unknown_server",
    "workflow::unknown_task",
];

/// Sections whose entries others name.
const SECTIONS: &[&str] =
    &["agents", "parallel", "for_each", "personas", "nodes", "tasks", "mcp_servers", "actors", "pipeline"];

/// Leaves out consequences; the findings are in their final order.
pub(super) fn leave_out(diagnostics: &mut Vec<Diagnostic>) {
    let misspelt: Vec<String> = diagnostics.iter().filter_map(misspelt_section).map(str::to_owned).collect();
    if !misspelt.is_empty() {
        diagnostics.retain(|found| !follows_from(found, &misspelt));
    }
    if diagnostics.iter().any(is_missing) {
        diagnostics.retain(|found| found.code != "workflow::unreachable");
    }
    tell_each_name_once(diagnostics);
}

fn is_missing(found: &Diagnostic) -> bool {
    MISSING.contains(&found.code)
}

/// The section that an unknown key was meant to be.
fn misspelt_section(found: &Diagnostic) -> Option<&'static str> {
    let key = written(found).filter(|_| found.code == "workflow::unknown_key")?;
    let key = key.trim_matches(['"', '\'', ':']);
    let near = nearest(key, SECTIONS.iter().copied())?;
    SECTIONS.iter().copied().find(|section| *section == near)
}

/// Whether a finding says only that what the section holds is not there.
fn follows_from(found: &Diagnostic, sections: &[String]) -> bool {
    let required = found.code == "workflow::missing_key"
        && sections.iter().any(|section| found.message.contains(&format!("`{section}`")));
    is_missing(found) || required || found.code == "workflow::unreachable"
}

/// What is written at the place of a finding.
fn written(found: &Diagnostic) -> Option<&str> {
    let span = &found.labels.first()?.span;
    span.file.text.get(span.range.clone())
}

/// The first finding about a name takes the places of the others.
fn tell_each_name_once(diagnostics: &mut Vec<Diagnostic>) {
    let mut first: HashMap<(String, String), usize> = HashMap::new();
    let mut kept: Vec<Diagnostic> = Vec::new();
    let mut others: HashMap<usize, Vec<Diagnostic>> = HashMap::new();
    for found in std::mem::take(diagnostics) {
        let key = missing_name(&found);
        match key.as_ref().and_then(|key| first.get(key)) {
            Some(at) => others.entry(*at).or_default().push(found),
            None => {
                first.extend(key.map(|key| (key, kept.len())));
                kept.push(found);
            }
        }
    }
    for (at, found) in kept.iter_mut().enumerate() {
        let Some(more) = others.remove(&at) else { continue };
        let second = &more[0].labels[0];
        let rest = match more.len() {
            1 => "also here".to_owned(),
            count => format!("also here, and in {} more places", count - 1),
        };
        *found = found.clone().also(second.span.clone(), rest);
    }
    *diagnostics = kept;
}

/// The file and the name that a finding misses.
fn missing_name(found: &Diagnostic) -> Option<(String, String)> {
    let text = written(found).filter(|_| is_missing(found))?;
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let name: String = text.trim_start_matches(|c| !is_part(c)).chars().take_while(|c| is_part(*c)).collect();
    let path = found.labels.first()?.span.file.path.clone();
    (!name.is_empty()).then_some((path, name))
}

#[cfg(test)]
mod tests {
    use super::super::{Options, compile};
    use crate::source::{SourceReadError, Sources};

    struct Only(&'static str);

    impl Sources for Only {
        fn read(&self, _: &str) -> Result<Vec<u8>, SourceReadError> {
            Ok(self.0.as_bytes().to_vec())
        }
        fn env(&self, _: &str) -> Option<String> {
            None
        }
    }

    #[track_caller]
    fn errors(text: &'static str) -> Vec<(&'static str, usize)> {
        let found = compile("w.yaml", &Only(text), &Options::default()).diagnostics;
        found.iter().map(|found| (found.code, found.labels.len())).collect()
    }

    #[test]
    fn a_misspelt_section_hides_the_names_that_it_would_have_had() {
        let text = "
workflow: {name: w, entry_point: a}
agnets:
  - {name: a, prompt: x, routes: [{to: b}]}
  - {name: b, prompt: '{{ a.output }}'}
output: {x: '{{ b.output }}'}
";
        assert_eq!(errors(text), [("workflow::unknown_key", 1)]);
    }

    #[test]
    fn a_misspelt_name_is_told_once_with_two_places() {
        let text = "
workflow: {name: w, entry_point: writr}
agents:
  - {name: writer, prompt: x}
  - {name: b, prompt: '{{ writr.output }}', needs: [writr]}
  - {name: c, prompt: '{{ writr.output }}', needs: [b]}
output: {x: '{{ writr.output }}'}
";
        assert_eq!(errors(text), [("workflow::unknown_entry_point", 2)]);
    }

    #[test]
    fn a_misspelt_persona_is_told_once() {
        let text = "
schemaVersion: '1'
topologies: []
personas:
  - {id: lead, displayName: L, systemPromptTemplate: Lead.}
  - {id: codr, displayName: C, systemPromptTemplate: Code.}
relationships: [{parentPersonaId: lead, childPersonaId: coder}]
pipeline:
  entryNodeId: a
  nodes:
    - {id: a, actorId: m, personaId: lead, task: Do.}
    - {id: b, actorId: m, personaId: coder, task: Do.}
    - {id: c, actorId: m, personaId: coder, task: Do.}
  edges: [{from: a, to: b}, {from: b, to: c}]
";
        let found = errors(text);
        assert_eq!(
            found.iter().filter(|(code, _)| *code == "workflow::unknown_persona").count(),
            1,
            "{found:?}"
        );
        assert_eq!(found.len(), 1, "{found:?}");
    }

    #[test]
    fn two_different_names_are_two_findings() {
        let text = "
workflow: {name: w, entry_point: a}
agents:
  - {name: a, prompt: '{{ one.output }} {{ two.output }}'}
";
        assert_eq!(errors(text), [("workflow::unknown_reference", 1), ("workflow::unknown_reference", 1)]);
    }
}
