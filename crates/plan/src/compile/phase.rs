//! Phases of a pipeline: their workers stand beside them, under names that no template can use.

use super::build::Builder;
use super::caps::Caps;
use super::cuts;
use super::load::Bundle;
use super::own;
use super::phase_shapes::contract;
use crate::diagnostic::Diagnostic;
use crate::plan::*;
use crate::source::declared;
use crate::source::text::Spanned;
use crate::source::workflow as source;
use convoke_model::{AgentSettings, Digest};
use std::sync::Arc;

/// Hard failures in a row that end a pipeline, where nothing is said.
const HARD_FAILURES: u32 = 3;

impl<'a> Builder<'a> {
    /// What a phase does.
    pub(super) fn phase(&mut self, step: &source::Step, phase: &source::PhaseStep) -> Phase {
        let worker = self.worker(step, "try", &phase.worker, &phase.clearance, self.shares());
        let caps = self.caps;
        let max_depth = caps.depth(phase.max_depth);
        Phase {
            persona: phase.persona.value.as_str().into(),
            actor: phase.actor.value.as_str().into(),
            worker,
            clearance: clearance(&phase.clearance),
            max_tries: caps.tries(phase.max_retries.as_ref().map(|count| count.value)),
            block: phase.block.as_ref().map(|(kind, id)| Block { kind: *kind, id: id.as_str().into() }),
            children: self.child_roles(step, phase, max_depth),
            direct: phase.direct.iter().map(|role| *role as u32).collect(),
            max_depth,
            round: phase
                .round
                .as_ref()
                .map(|round| Round { of: self.named(&round.of), number: round.number }),
            resolver: phase.resolver.as_ref().map(|role| Box::new(self.resolver_role(step, role))),
        }
    }

    fn resolver_role(&mut self, step: &source::Step, role: &source::Role) -> ResolverRole {
        let worker = role.worker.as_ref().expect("a persona that resolves has a worker");
        ResolverRole {
            persona: role.persona.value.as_str().into(),
            worker: self.worker(step, "resolve", worker, &role.clearance, false),
            clearance: clearance(&role.clearance),
        }
    }

    fn child_roles(
        &mut self,
        step: &source::Step,
        phase: &source::PhaseStep,
        max_depth: u32,
    ) -> Vec<ChildRole> {
        let mut roles: Vec<ChildRole> = Vec::with_capacity(phase.roles.len());
        for role in &phase.roles {
            let persona = &role.persona.value;
            let known = roles.iter().find(|known| *known.persona == **persona).map(|known| known.worker);
            let worker = match (&role.worker, known) {
                (_, Some(worker)) => worker,
                (Some(worker), None) => {
                    let what = format!("child_{}", persona.replace('.', "_"));
                    self.worker(step, &what, worker, &role.clearance, false)
                }
                (None, None) => unreachable!("personas were checked"),
            };
            roles.push(ChildRole {
                persona: persona.as_str().into(),
                worker,
                clearance: clearance(&role.clearance),
                max_depth: max_depth.min(self.caps.depth(role.max_depth)),
                max_children: self.caps.children(role.max_children),
                children: role.below.iter().map(|below| *below as u32).collect(),
            });
        }
        roles
    }

    /// A node that a phase asks: an agent or a script whose answer keeps to the contract.
    fn worker(
        &mut self,
        step: &source::Step,
        what: &str,
        worker: &source::Worker,
        cleared: &source::Clearance,
        changes_project: bool,
    ) -> NodeIx {
        let schema = Some(contract(changes_project));
        let name = self.free_name(format!("${}.{what}", step.name.value));
        let kind = match &worker.kind {
            source::WorkerKind::Agent(agent) => {
                let policies = self.policies(agent.policy.as_ref());
                let mut agent = self.agent(agent, worker.common.retry.as_ref());
                // Also a persona without tools is judged by what there is: a call of it is a violation.
                let tools = agent.settings.tools.as_deref();
                let servers = own::with_own_of_persona(self.servers_for(tools), tools, cleared, policies);
                let settings = AgentSettings {
                    schema,
                    raw: false,
                    servers,
                    repair_model: repairer(&agent),
                    ..(*agent.settings).clone()
                };
                agent.settings = Arc::new(settings);
                Kind::Agent(Box::new(agent))
            }
            source::WorkerKind::Script(script) => {
                let script = self.script(script);
                Kind::Script(Box::new(Script { schema, ..script }))
            }
        };
        let policy = match &worker.kind {
            source::WorkerKind::Agent(agent) => agent.policy.as_ref(),
            source::WorkerKind::Script(_) => None,
        };
        let proof = self.proof(worker.common.ensure.as_ref(), &worker.common.protect, policy);
        let mut node = Node { proof, ..self.worker_node(&name, kind, step, &worker.common) };
        super::proof::keep_off(&mut node.kind, node.proof.as_deref());
        self.add(node)
    }

    /// Whether the runs of a project share anything.
    fn shares(&self) -> bool {
        let pipeline = self.source.pipeline.as_ref();
        pipeline.is_some_and(|pipeline| pipeline.project != ProjectPlace::Nowhere)
    }

    /// What holds for the pipeline as a whole, where the file is one.
    pub(super) fn pipeline(&self) -> Option<Pipeline> {
        let stated = self.source.pipeline.as_ref()?;
        let shape = |(kind, schema): &(String, Option<source::OutputSchema>)| {
            (kind.clone(), schema.as_ref().map(declared::schema))
        };
        Some(Pipeline {
            manifest: Digest::of(self.source.file.text.as_bytes()),
            hard_failures: stated.hard_failures.map_or(HARD_FAILURES, |count| count as u32),
            events: stated.events.iter().map(shape).collect(),
            blocked_any_status: stated.blocked_any_status,
            violation: self.caps.violation.or(stated.violation).unwrap_or_default(),
            project: stated.project.clone(),
            cut: cuts::of_source(self.source, &self.caps),
        })
    }

    /// The edges that can start a phase.
    pub(super) fn triggers(&mut self, step: &source::Step) -> Vec<Trigger> {
        let source::StepKind::Phase(phase) = &step.kind else { return Vec::new() };
        phase.edges.iter().map(|edge| self.trigger(edge)).collect()
    }

    fn trigger(&mut self, edge: &source::Edge) -> Trigger {
        Trigger {
            from: self.named(&edge.from.value),
            on: edge.on,
            event: edge.event.as_ref().map(|event| event.value.as_str().into()),
            when: edge.when.iter().map(|condition| self.trigger_condition(condition)).collect(),
            last: edge.last,
        }
    }

    fn trigger_condition(&mut self, condition: &source::Condition) -> Condition {
        match condition {
            source::Condition::Always => Condition::Always,
            source::Condition::StateFlag { key, equals } => {
                Condition::StateFlag { key: key.value.clone(), equals: *equals }
            }
            source::Condition::HistoryHasEvent(event) => {
                Condition::HistoryHasEvent { event: event.value.clone() }
            }
            source::Condition::FileExists(path) => Condition::FileExists { path: path.value.clone() },
            source::Condition::Expression(text) => Condition::Expression { when: self.texts.condition(text) },
        }
    }
}

/// Bounds of a manifest that the process does not grant.
pub(super) fn check(bundle: &Bundle, caps: &Caps, findings: &mut Vec<Diagnostic>) {
    let steps = bundle.workflows.iter().flat_map(|workflow| &workflow.agents);
    for step in steps {
        let source::StepKind::Phase(phase) = &step.kind else { continue };
        // A further round is written where the first one is.
        let phase = if phase.round.is_some() { continue } else { phase };
        let cut = phase.max_retries.as_ref().filter(|count| count.value > u64::from(caps.topology_retries));
        findings.extend(cut.map(|count| cut_retries(count, caps.topology_retries)));
    }
}

fn cut_retries(stated: &Spanned<u64>, cap: u32) -> Diagnostic {
    let message = format!("`maxRetries` is {}, and the process allows {cap}", stated.value);
    let label = format!("{cap} further tries are made");
    let found = Diagnostic::warning("workflow::no_effect", message, stated.span.clone(), label.as_str());
    found.help("`AGENT_TOPOLOGY_MAX_RETRIES` or `pipelines.topology_retries` of the configuration allow more")
}

/// The model that repairs answers. The one that is asked anyway is none: so is said that no other may.
fn repairer(agent: &Agent) -> Option<String> {
    let own = match &agent.model {
        Some(Text::Literal(model)) => Some(&**model),
        _ => None,
    };
    agent.settings.repair_model.clone().filter(|model| Some(model.as_str()) != own)
}

fn clearance(source: &source::Clearance) -> Clearance {
    let names = |names: &source::Names| names.iter().map(|name| name.value.clone()).collect();
    let model = source.model.as_ref().map(|model| model.value.clone());
    Clearance { allow: source.allow.as_ref().map(names), ban: names(&source.ban), model }
}
