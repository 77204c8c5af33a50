//! Leaves out what only follows from another finding: one slip of the pen is one finding.
//!
//! Three rules. A name that is not there is told once, with its second place and the number of the others. What nothing
//! leads to, and what cannot have run, is told only where every name leads somewhere and every step has a type. A name that
//! two steps have is told as that, not again by each list that names it. A misspelt key needs no rule here:
//! the reader takes it for the key that was meant. Which names there are is for `check` and the readers to say; nothing
//! is left out that would have been the only error.

use crate::diagnostic::Diagnostic;
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

/// Codes of names that lead from step to step: without them, what comes before what is not known.
const BRIDGES: &[&str] = &[
    "workflow::unknown_dependency",
    "workflow::unknown_entry_point",
    "workflow::unknown_member",
    "workflow::unknown_node",
    "workflow::unknown_route_target",
];

/// Leaves out consequences; the findings are in their final order.
pub(super) fn leave_out(diagnostics: &mut Vec<Diagnostic>) {
    let any = |is: fn(&Diagnostic) -> bool| diagnostics.iter().any(is);
    let (cut, doubled) =
        (any(|found| BRIDGES.contains(&found.code) || is_of_no_type(found)), any(is_doubled));
    let missing = any(is_missing);
    diagnostics.retain(|found| match found.code {
        "workflow::unreachable" => !missing && !cut && !doubled,
        "workflow::never_before" => !cut,
        "workflow::duplicate_member" => !doubled,
        _ => true,
    });
    tell_each_name_once(diagnostics);
}

fn is_missing(found: &Diagnostic) -> bool {
    MISSING.contains(&found.code)
}

/// Whether two things have one name: what names it names both.
fn is_doubled(found: &Diagnostic) -> bool {
    found.code == "workflow::duplicate_name"
}

/// Whether a step has no type that is known, so that its own routes are not known either.
fn is_of_no_type(found: &Diagnostic) -> bool {
    found.code == "workflow::unknown_value" && found.message.starts_with("`type` of step")
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
    use super::super::tests::Only;
    use super::super::{Options, compile};

    #[track_caller]
    fn errors(text: &'static str) -> Vec<(&'static str, usize)> {
        let found = compile("w.yaml", &Only(text), &Options::default()).diagnostics;
        found.iter().map(|found| (found.code, found.labels.len())).collect()
    }

    #[test]
    fn a_misspelt_section_is_read_as_the_one_that_was_meant() {
        let text = "
workflow: {name: w, entry_point: a}
agnets:
  - {name: a, prompt: x, routes: [{to: b}]}
  - {name: b, prompt: '{{ a.output }}'}
output: {x: '{{ b.output }}'}
";
        assert_eq!(errors(text), [("workflow::unknown_key", 1)]);
    }

    /// A workflow in which one key after the other is misspelt.
    const RIGHT: &str = "
workflow:
  name: w
  entry_point: a
  input: {topic: {type: string}}
agents:
  - name: a
    prompt: About {{ workflow.input.topic }}
    output: {score: {type: number}, items: {type: array}}
    validator: {criteria: it is short}
    routes: [{to: s, when: 'output.score > 7'}, {to: g}]
  - {name: s, type: script, command: echo, routes: [{to: ask}]}
  - {name: ask, type: human_gate, prompt: Go on?, options: [{label: Yes, value: y, route: f}]}
  - {name: b, prompt: x}
  - {name: e, prompt: x}
  - {name: c, type: set, value: '{{ f.outputs }}', routes: [{to: d}]}
  - {name: d, type: reduce, of: [g], routes: [{to: $end}]}
parallel:
  - {name: g, agents: [b, e], routes: [{to: d}]}
for_each:
  - {name: f, type: for_each, source: a.output.items, as: it, agent: {name: z, prompt: '{{ it }}'}, routes: [{to: c}]}
output: {r: '{{ a.output.score }}'}
";

    #[test]
    fn whichever_key_is_misspelt_nothing_else_is_told() {
        assert_eq!(errors(RIGHT), []);
        let slips = [
            ("workflow:", "workflw:"),
            ("  name: w", "  nmae: w"),
            ("entry_point", "entry_pont"),
            ("input:", "inptu:"),
            ("agents:", "agnets:"),
            ("- name: a", "- nme: a"),
            ("prompt: About", "promt: About"),
            ("output: {score", "ouput: {score"),
            ("validator", "validtor"),
            ("criteria", "critera"),
            ("    routes", "    routs"),
            ("{to: s,", "{tp: s,"),
            ("when:", "wehn:"),
            ("name: s, type", "name: s, tpye"),
            ("type: script", "type: scrpt"),
            ("command", "comand"),
            ("options", "optons"),
            ("route: f", "rute: f"),
            ("type: human_gate", "type: human_gat"),
            ("value: '", "vlaue: '"),
            ("of: [g]", "off: [g]"),
            ("parallel", "paralel"),
            ("name: g", "nam: g"),
            ("agents: [b, e]", "agens: [b, e]"),
            ("for_each:", "foreach:"),
            ("source", "sorce"),
            ("as: it", "ass: it"),
            ("agent: {name", "agnt: {name"),
            ("\noutput:", "\nouptut:"),
        ];
        for (right, wrong) in slips {
            assert!(RIGHT.contains(right), "{right}");
            let text = Box::leak(RIGHT.replacen(right, wrong, 1).into_boxed_str());
            let found = errors(text);
            assert_eq!(found.len(), 1, "{right} -> {wrong}: {found:?}");
            assert!(matches!(found[0].0, "workflow::unknown_key" | "workflow::unknown_value"), "{found:?}");
        }
    }

    #[test]
    fn a_misspelt_key_that_tells_the_kind_of_file_is_one_finding() {
        let manifest = "name: m\nquery: Why?\nagnets: [{id: a, role: r, system_prompt: t}]\n";
        let team = "name: t\ngoal: Ship?\nprotocol: consensus\nmembrs: [{name: a, role: r, system_prompt: x}, {name: b, role: r}]\n";
        let personas = "
schemaVersion: '1'
topologies: []
persnas: [{id: lead, displayName: L, systemPromptTemplate: Lead.}]
pipeline:
  entryNodeId: a
  nodes: [{id: a, actorId: m, personaId: lead, task: Do.}]
  edges: []
";
        for text in [manifest, team, personas] {
            assert_eq!(errors(text), [("workflow::unknown_key", 1)], "{text}");
        }
        assert_eq!(errors("- a\n- b\n").len(), 1);
        assert_eq!(
            errors("agent: {password: x}\n"),
            [("workflow::not_a_workflow", 1)],
            "nothing says that it is one"
        );
    }

    #[test]
    fn what_stands_below_a_misspelt_section_is_checked_too() {
        let text = "
workflow: {name: w, entry_point: a}
agnets:
  - {name: a, promt: x, routes: [{to: bb}]}
  - {name: b, prompt: x}
";
        let codes: Vec<_> = errors(text).into_iter().map(|(code, _)| code).collect();
        assert_eq!(
            codes,
            ["workflow::unknown_key", "workflow::unknown_key", "workflow::unknown_route_target"]
        );
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
    fn what_cannot_be_known_without_a_name_is_not_told() {
        let text = "
workflow: {name: w, entry_point: a}
agents:
  - {name: a, prompt: x, routes: [{to: bb}]}
  - {name: b, prompt: x}
output: {x: '{{ b.output }}'}
";
        assert_eq!(errors(text), [("workflow::unknown_route_target", 1)]);
        let team = "name: t\ngoal: Ship?\nprotocol: consensus\nmembers: [{name: a, role: r}, {name: a, role: s}, {name: b, role: s}]\n";
        assert_eq!(errors(team), [("workflow::duplicate_name", 2)]);
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
