//! What every node has: edges, inputs, retries, labels, its place.

use super::budget;
use super::build::Builder;
use crate::check::input_reference;
use crate::check::outline::END;
use crate::plan::*;
use crate::source::declared;
use crate::source::workflow as source;
use convoke_model::{Class, Classes, Digest, Retry};
use std::sync::Arc;
use std::time::Duration;

/// The longest pause between attempts, unless the stated one is longer.
const RETRY_CAP: Duration = Duration::from_secs(30);

impl<'a> Builder<'a> {
    /// The node of a step.
    pub(super) fn step(&mut self, step: &'a source::Step) -> Node {
        let kind = self.kind(step);
        let mut node = self.node(&step.name.value, kind, &step.common);
        node.proof = self.proof_of(&step.common, &step.kind);
        super::proof::keep_off(&mut node.kind, node.proof.as_deref());
        node.triggers = self.triggers(step);
        if let Some(asked) = &step.common.repair_input {
            node.repairer = Some(self.input_repairer(step, asked));
            node.repair_prompt = Some(self.helper_prompt(PromptKind::RepairInput, asked));
        }
        let seconds = match &step.kind {
            source::StepKind::Agent(agent) => agent.timeout_seconds.as_ref(),
            source::StepKind::HumanGate(gate) => gate.timeout_seconds.as_ref(),
            source::StepKind::Questions(form) => form.timeout_seconds.as_ref(),
            _ => None,
        };
        node.timeout = node.timeout.or_else(|| seconds.map(|limit| millis(limit.value)));
        node
    }

    /// A node with everything but its hash.
    pub(super) fn node(&mut self, name: &str, kind: Kind, common: &'a source::Common) -> Node {
        let is_gate = matches!(kind, Kind::Gate(_));
        Node {
            name: name.into(),
            description: common.description.as_ref().map(|text| text.value.clone()),
            needs: common.needs.iter().map(|need| self.need(need)).collect(),
            join: join(common.join.as_ref().map(|join| join.value).unwrap_or_default()),
            triggers: Vec::new(),
            // A gate goes where its options lead; routes beside them have no effect.
            routes: if is_gate {
                Vec::new()
            } else {
                common.routes.iter().map(|route| self.route(route)).collect()
            },
            on_error: common.on_error.iter().map(|route| self.error_route(route)).collect(),
            inputs: common.input.iter().filter_map(|text| self.input(&text.value)).collect(),
            expects: common
                .expects
                .iter()
                .map(|(name, entry)| self.expectation(name, &entry.value))
                .collect(),
            repairer: None,
            repair_prompt: None,
            retry: patience(retry(&kind, common.retry.as_ref()), &kind, common),
            timeout: common.timeout.as_ref().map(|limit| millis(limit.value)),
            max_wait: common.max_wait.as_ref().map(|limit| limit.value.as_millis() as u64),
            on_unknown: on_unknown(&kind, common),
            probe: common.probe.as_ref().map(|probe| Box::new(self.probe(probe))),
            labels: labels(&common.labels),
            budget: common.budget.as_ref().and_then(budget::of_node),
            resources: budget::resources(common),
            workspace: super::workspace::of(common, self.resolver(common)),
            proof: None,
            place: self.place(&common.span),
            hash: Digest([0; 32]),
            kind,
        }
    }

    fn expectation(&self, name: &str, shape: &source::OutputSchema) -> Expectation {
        Expectation { node: self.named(name), schema: declared::schema(shape) }
    }

    fn need(&self, need: &source::Need) -> Need {
        let requires = match need.requires {
            source::Requires::Success => Requires::Success,
            source::Requires::Completed => Requires::Completed,
            source::Requires::Any => Requires::Any,
            source::Requires::Some => Requires::Some,
        };
        Need { node: self.named(&need.step.value), requires, order: need.order, item: need.item }
    }

    fn route(&mut self, route: &source::Route) -> Route {
        Route {
            to: self.target(&route.to.value),
            when: route.when.as_ref().map(|when| self.texts.condition(when)),
            output: route.output.as_ref().map(|output| self.texts.named(output)).unwrap_or_default(),
        }
    }

    fn error_route(&self, route: &source::ErrorRoute) -> ErrorRoute {
        let classes: Vec<Class> = route.classes.iter().map(|found| found.value).collect();
        let classes = if classes.is_empty() { Classes::ANY } else { Classes::of(&classes) };
        ErrorRoute { classes, to: self.target(&route.to.value) }
    }

    /// An `input` reference; one that is optional and names nothing is dropped.
    fn input(&self, text: &str) -> Option<InputRef> {
        let reference = input_reference::parse(text).ok()?;
        let target = match reference.path.as_slice() {
            [first, second, name, ..] if first == "workflow" && second == "input" => {
                InputTarget::Input(name.clone())
            }
            [name, rest @ ..] => self.input_node(name, rest)?,
            [] => return None,
        };
        Some(InputRef { target, optional: reference.optional, text: text.into() })
    }

    /// The short form `step.field` means `step.output.field`.
    fn input_node(&self, name: &str, rest: &[String]) -> Option<InputTarget> {
        let ix = self.outline.find(name)?;
        let mut path = rest.to_vec();
        if !self.outline.items[ix].is_group() && path.first().is_none_or(|part| part != "output") {
            path.insert(0, "output".to_owned());
        }
        Some(InputTarget::Node { node: NodeIx(ix as u32), path })
    }
}

/// A stated length of time.
pub(super) fn millis(duration: Duration) -> Span {
    Span::Millis(duration.as_millis() as u64)
}

fn join(source: source::Join) -> Join {
    match source {
        source::Join::All => Join::All,
        source::Join::Any => Join::Any,
        source::Join::FirstSuccess => Join::FirstSuccess,
        source::Join::Quorum(count) => Join::Quorum(count as u32),
    }
}

/// A step that has another way, a further model or a step to go to, takes it after as many refusals as after other failures.
fn patience(retry: Retry, kind: &Kind, common: &source::Common) -> Retry {
    let further_model = matches!(kind, Kind::Agent(agent) if agent.settings.fallback.is_some());
    let max_rate_limited = match further_model || common.on_error.iter().any(|route| route.to.value != END) {
        true => retry.max_attempts,
        false => retry.max_rate_limited,
    };
    Retry { max_rate_limited, ..retry }
}

pub(super) fn retry(kind: &Kind, stated: Option<&source::Retry>) -> Retry {
    // What a goal asks is tried again, the goal as a whole is not.
    if matches!(kind, Kind::Goal(_)) {
        return Retry::once();
    }
    let Some(stated) = stated else {
        return if matches!(kind, Kind::Agent(_) | Kind::Reduce(_)) {
            Retry::agent_default()
        } else {
            Retry::once()
        };
    };
    Retry {
        max_attempts: stated.max_attempts,
        max_rate_limited: stated.max_attempts,
        base_ms: stated.delay.as_millis() as u64,
        factor: if stated.backoff == source::Backoff::Exponential { 2 } else { 1 },
        cap_ms: stated.delay.max(RETRY_CAP).as_millis() as u64,
        on: Classes::of(&stated.retry_on),
    }
}

/// A script, a tool or a coding agent may have had its effect before the crash, so a person is asked unless it may be repeated.
pub(super) fn on_unknown(kind: &Kind, common: &source::Common) -> OnUnknown {
    let repeatable = common.idempotent.as_ref().is_some_and(|stated| stated.value);
    match common.on_unknown.as_ref().map(|stated| stated.value) {
        Some(source::OnUnknown::Retry) => OnUnknown::Retry,
        Some(source::OnUnknown::Probe) => OnUnknown::Probe,
        Some(source::OnUnknown::Ask) => OnUnknown::Ask,
        Some(source::OnUnknown::Fail) => OnUnknown::Fail,
        None if acts_itself(kind) && !repeatable => OnUnknown::Ask,
        None => OnUnknown::Retry,
    }
}

/// Whether an attempt changes the world in ways that no event tells of: calls of tools that the engine makes are on record.
pub(super) fn acts_itself(kind: &Kind) -> bool {
    match kind {
        Kind::Script(_) | Kind::Tool(_) => true,
        Kind::Agent(agent) => agent.settings.provider.program.is_some(),
        _ => false,
    }
}

/// Labels as they are written; what holds for a task is found when it runs, by what is around it.
pub(super) fn labels(written: &source::Labels) -> Labels {
    Labels {
        priority: written.priority.as_ref().map(|label| priority_of(label.value)),
        class: written.class.as_ref().map(|label| class_of(label.value)),
        tenant: written.tenant.as_ref().map(|label| Arc::from(label.value.as_str())),
    }
}

fn priority_of(source: source::Priority) -> Priority {
    match source {
        source::Priority::Critical => Priority::Critical,
        source::Priority::High => Priority::High,
        source::Priority::Normal => Priority::Normal,
        source::Priority::Low => Priority::Low,
        source::Priority::Background => Priority::Background,
    }
}

fn class_of(source: source::QueueClass) -> WorkClass {
    match source {
        source::QueueClass::Interactive => WorkClass::Interactive,
        source::QueueClass::Standard => WorkClass::Standard,
        source::QueueClass::Batch => WorkClass::Batch,
    }
}
