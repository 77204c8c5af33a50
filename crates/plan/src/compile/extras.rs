//! Nodes that no step of the file stands for: commands of hooks, and the writer of summaries.

use super::build::Builder;
use crate::diagnostic::Span as Spot;
use crate::plan::*;
use crate::source::Text as SourceText;
use crate::source::workflow as source;
use convoke_model::{AgentSettings, Digest, Retry};
use std::sync::Arc;

/// What the writer of summaries is asked.
const SUMMARY_PROMPT: &str = "\
Summarise what the steps of a workflow have produced so far, for the steps that follow. Keep every fact, name, number, \
decision and open question that later work may need; leave out wording, repetition and anything that is only form. \
Name the step that each fact comes from. Answer with the summary alone.

{% for entry in _older %}## {{ entry.step }}
{{ entry.output | json }}

{% endfor %}";

impl Builder<'_> {
    /// The hooks; a command becomes a node of its own.
    pub(super) fn hooks(&mut self) -> Hooks {
        let hooks = &self.source.hooks;
        Hooks {
            on_start: hooks.on_start.as_ref().map(|hook| self.hook("$on_start", hook)),
            on_complete: hooks.on_complete.as_ref().map(|hook| self.hook("$on_complete", hook)),
            on_error: hooks.on_error.as_ref().map(|hook| self.hook("$on_error", hook)),
        }
    }

    fn hook(&mut self, name: &str, hook: &source::Hook) -> Hook {
        match hook {
            source::Hook::Message(text) => Hook::Text(self.texts.text(text)),
            source::Hook::Step(name) => Hook::Run(self.named(&name.value)),
            source::Hook::Command { command, args, span } => {
                let kind = self.command(command, args);
                let node = self.own_node(name, kind, span);
                Hook::Run(self.add(node))
            }
        }
    }

    fn command(&mut self, command: &SourceText, args: &[SourceText]) -> Kind {
        Kind::Script(Box::new(Script {
            survives: None,
            command: self.texts.text(command),
            args: args.iter().map(|arg| self.texts.text(arg)).collect(),
            env: Vec::new(),
            working_dir: None,
            stdin: None,
            schema: None,
            idle: None,
        }))
    }

    /// The node that writes summaries, where the context asks for them.
    pub(super) fn summary(&mut self) -> Option<NodeIx> {
        let context = &self.source.context;
        if context.trim_strategy != source::TrimStrategy::Summarize || context.max_tokens.is_none() {
            return None;
        }
        let asked = source::AgentStep { tools: Some(Vec::new()), ..source::AgentStep::default() };
        let mut agent = self.agent(&asked, None);
        agent.settings = Arc::new(AgentSettings { raw: true, ..(*agent.settings).clone() });
        agent.prompt = self.texts.own(SUMMARY_PROMPT);
        agent.skills = None;
        let span = self.source.span.clone();
        let node = self.own_node("$summary", Kind::Agent(Box::new(agent)), &span);
        Some(self.add(node))
    }

    /// An agent that a step has asked on its way: it is tried again and paid for as the step says.
    pub(super) fn asked_node(&self, name: &str, agent: Agent, step: &source::Step) -> Node {
        let own = self.own_node(name, Kind::Agent(Box::new(agent)), &step.common.span);
        let retry = super::node::retry(&own.kind, step.common.retry.as_ref());
        let on_unknown = match super::node::acts_itself(&own.kind) {
            true => super::node::on_unknown(&own.kind, &step.common),
            false => own.on_unknown,
        };
        Node { labels: super::node::labels(&step.common.labels), retry, on_unknown, ..own }
    }

    /// An agent or a script that does the work of a phase: tried again and bounded as its actor says.
    pub(super) fn worker_node(
        &mut self,
        name: &str,
        kind: Kind,
        step: &source::Step,
        actor: &source::Common,
    ) -> Node {
        let own = self.own_node(name, kind, &step.common.span);
        Node {
            retry: super::node::retry(&own.kind, actor.retry.as_ref()),
            probe: actor.probe.as_ref().map(|probe| Box::new(self.probe(probe))),
            on_unknown: super::node::on_unknown(&own.kind, actor),
            timeout: actor.timeout.as_ref().map(|limit| super::node::millis(limit.value)),
            resources: super::budget::resources(actor),
            workspace: super::workspace::of(actor, None),
            labels: super::node::labels(&step.common.labels),
            ..own
        }
    }

    /// A node without edges. The dollar in its name keeps it apart from everything that a template can name.
    pub(super) fn own_node(&self, name: &str, kind: Kind, span: &Spot) -> Node {
        let is_agent = matches!(kind, Kind::Agent(_));
        let on_unknown = match (is_agent, super::node::acts_itself(&kind)) {
            (true, false) => OnUnknown::Retry,
            (true, true) => OnUnknown::Ask,
            (false, _) => OnUnknown::Fail,
        };
        Node {
            name: name.into(),
            description: None,
            kind,
            needs: Vec::new(),
            join: Join::All,
            triggers: Vec::new(),
            routes: Vec::new(),
            on_error: Vec::new(),
            inputs: Vec::new(),
            expects: Vec::new(),
            repairer: None,
            repair_prompt: None,
            retry: if is_agent { Retry::agent_default() } else { Retry::once() },
            timeout: None,
            max_wait: None,
            probe: None,
            on_unknown,
            labels: Labels::default(),
            budget: None,
            resources: Vec::new(),
            workspace: None,
            proof: None,
            place: self.place(span),
            hash: Digest([0; 32]),
        }
    }
}
