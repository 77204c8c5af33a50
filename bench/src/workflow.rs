//! The workflows that are measured, as text.

use std::fmt::Write;

/// Answers of nothing but the declared shape, at once.
pub const AT_ONCE: &str = "scripted";

/// One agent, `count` agents, one agent. Each has a prompt to render, each of the many an answer to check.
pub fn fan_out(provider: &str) -> String {
    format!(
        r#"workflow:
  name: fan-out
  entry_point: begin
  runtime: {{provider: {provider}}}
  limits: {{max_tasks: 1000000}}
  input:
    count: {{type: number}}
agents:
  - name: begin
    prompt: "Say what to do with {{{{ workflow.input.count }}}} items."
    routes: [{{to: items}}]
  - name: items
    type: set
    values:
      list: "{{{{ range(workflow.input.count) | list | json }}}}"
    routes: [{{to: work}}]
  - name: finish
    prompt: "Sum up {{{{ work.outputs | length }}}} answers."
for_each:
  - name: work
    type: for_each
    source: items.output.list
    as: item
    max_concurrent: 100000
    agent:
      name: worker
      prompt: "Do item {{{{ item }}}} of {{{{ workflow.input.count }}}}."
      output:
        answer: {{type: string}}
    routes: [{{to: finish}}]
output:
  done: "{{{{ work.count }}}}"
"#
    )
}

/// One agent for each of the items that are given, nothing before and nothing after.
pub fn flat(provider: &str) -> String {
    format!(
        r#"workflow:
  name: flat
  entry_point: work
  runtime: {{provider: {provider}}}
agents: []
for_each:
  - name: work
    type: for_each
    source: workflow.input.items
    as: item
    max_concurrent: 100000
    agent:
      name: worker
      prompt: "Do item {{{{ item }}}}."
output:
  done: "{{{{ work.count }}}}"
"#
    )
}

/// As [`flat`]; an agent that is refused again and again is tried again and again.
pub fn patient(provider: &str) -> String {
    let retry = "      retry: {max_attempts: 10, delay_seconds: 1, backoff: fixed}\n";
    flat(provider).replace("output:\n", &format!("{retry}output:\n"))
}

/// An execution manifest of `count` agents in seven departments, with one answer of all their outputs.
pub fn departments(count: u32, limit: u32, strategy: &str, provider: &str) -> String {
    const NAMES: [&str; 7] =
        ["engineering", "product", "research", "qa", "finance", "operations", "compliance"];
    let mut text = format!(
        "name: enterprise\nquery: How are we doing?\nprovider: {provider}\nmax_concurrency: {limit}\n\
         synthesis: {{strategy: {strategy}}}\nagents:\n"
    );
    for number in 0..count {
        let department = NAMES[number as usize % NAMES.len()];
        let _ = writeln!(
            text,
            "  - {{id: {department}-{number}, role: Member {number}, department: {department}, task: Report on \
             {department} as member {number}}}"
        );
    }
    text
}

/// `count` agents, each after the one before and with its answer.
pub fn chain(count: usize) -> String {
    let mut text = format!(
        "workflow:\n  name: chain\n  entry_point: s1\n  runtime: {{provider: {AT_ONCE}}}\n  \
         limits: {{max_iterations: 1000000}}\nagents:\n"
    );
    for step in 1..=count {
        let before = match step {
            1 => "Begin.".to_owned(),
            _ => format!("Go on from {{{{ s{}.output.answer }}}}.", step - 1),
        };
        let route = if step == count { "$end".to_owned() } else { format!("s{}", step + 1) };
        writeln!(
            text,
            "  - name: s{step}\n    prompt: \"{before}\"\n    output: {{answer: {{type: string}}}}\n    \
             routes: [{{to: {route}}}]"
        )
        .expect("text takes text");
    }
    writeln!(text, "output:\n  last: \"{{{{ s{count}.output.answer }}}}\"").expect("text takes text");
    text
}

/// A goal that may have `count` tasks.
pub fn goal(count: u32) -> String {
    format!(
        "workflow:\n  name: goal\n  entry_point: goal\n  runtime: {{provider: {AT_ONCE}}}\nagents:\n  - name: goal\n    \
         type: goal\n    goal: Do it all.\n    max_tasks: {count}\n"
    )
}

/// `count` phases of personas, each after the one before.
pub fn phases(count: u32) -> String {
    let mut text = format!(
        "schemaVersion: \"1\"\nname: phases\nprovider: {AT_ONCE}\npersonas:\n  - {{id: one, displayName: One, \
         systemPromptTemplate: You do it.}}\ntopologies: [sequential]\npipeline:\n  entryNodeId: p1\n  nodes:\n"
    );
    for phase in 1..=count {
        let _ =
            writeln!(text, "    - {{id: p{phase}, actorId: model, personaId: one, task: Do part {phase}.}}");
    }
    text.push_str("  edges:\n");
    for phase in 2..=count {
        let _ = writeln!(text, "    - {{from: p{}, to: p{phase}, on: success}}", phase - 1);
    }
    text
}

/// One phase that hands work to `count` others, who may hand it on.
pub fn children(count: u32) -> String {
    format!(
        "schemaVersion: \"1\"\nname: children\nprovider: {AT_ONCE}\npersonas:\n  - {{id: lead, displayName: Lead, \
         systemPromptTemplate: You lead.}}\n  - {{id: hand, displayName: Hand, systemPromptTemplate: You do it.}}\n  \
         - {{id: other, displayName: Other, systemPromptTemplate: You do it.}}\ntopologies: [hierarchical]\n\
         relationships:\n  - {{parentPersonaId: lead, childPersonaId: hand, constraints: {{maxChildren: {count}}}}}\n  \
         - {{parentPersonaId: hand, childPersonaId: other}}\npipeline:\n  entryNodeId: all\n  nodes:\n    \
         - {{id: all, actorId: model, personaId: lead, topology: {{kind: hierarchical}}}}\n  edges: []\n"
    )
}

/// One step that computes a value.
pub const ONE_SET: &str = "workflow: {name: one-set, entry_point: only}
agents:
  - name: only
    type: set
    values: {answer: \"{{ 6 * 7 }}\"}
output: {answer: \"{{ only.output.answer }}\"}
";

/// One agent.
pub const ONE_AGENT: &str = "workflow: {name: one-agent, entry_point: only, runtime: {provider: scripted}}
agents:
  - name: only
    prompt: Say something.
    output: {answer: {type: string}}
output: {answer: \"{{ only.output.answer }}\"}
";

/// Replies that come at once, but for the last tenth of ten thousand items, which take `late`.
pub fn replies(late_ms: u64) -> String {
    format!(
        "replies: {{begin: [ok], finish: [ok]}}\nmatch:\n  - pattern: \"^Do item 9[0-9]{{3}} \"\n    \
         replies: [{{json: {{answer: done}}, delay_ms: {late_ms}}}]\ndefault: [{{answer: done}}]\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inner::compile;

    #[test]
    fn every_workflow_is_sound() {
        let file = "{name: scripted, file: replies.yaml}";
        let slow = "{name: scripted, latency_ms: 50}";
        for text in [
            fan_out(AT_ONCE),
            fan_out(file),
            flat(slow),
            chain(1),
            chain(20),
            goal(20),
            phases(20),
            ONE_SET.into(),
            ONE_AGENT.into(),
        ] {
            assert!(compile(&text).is_ok(), "{}\n{text}", compile(&text).unwrap_err());
        }
    }
}
