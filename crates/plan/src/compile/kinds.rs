//! Nodes: from the file's steps and groups to the plan's, one function per kind.

use super::build::Builder;
use super::fields;
use crate::check::input_reference;
use crate::check::outline::{END, Item};
use crate::plan::*;
use crate::source::workflow as source;
use crate::value::SetType;
use convoke_model::{Class, Classes, Digest, Retry};
use std::sync::Arc;
use std::time::Duration;

/// Items of a fan-out at one time, where nothing is said.
const MAX_CONCURRENT: u32 = 10;
/// The longest pause between attempts, unless the stated one is longer.
const RETRY_CAP: Duration = Duration::from_secs(30);

impl<'a> Builder<'a> {
    /// The node of an item.
    pub(super) fn item(&mut self, ix: usize) -> Node {
        match self.outline.items[ix] {
            Item::Step(step) => self.step(step),
            Item::Parallel(group) => self.parallel(group),
            Item::ForEach(group) => self.for_each(group),
        }
    }

    fn step(&mut self, step: &'a source::Step) -> Node {
        let kind = self.kind(step);
        let mut node = self.node(&step.name.value, kind, &step.common);
        if let source::StepKind::Agent(agent) = &step.kind {
            node.timeout =
                node.timeout.or_else(|| agent.timeout_seconds.as_ref().map(|limit| millis(limit.value)));
        }
        node
    }

    fn kind(&mut self, step: &source::Step) -> Kind {
        match &step.kind {
            source::StepKind::Agent(agent) => {
                Kind::Agent(Box::new(self.agent(agent, step.common.retry.as_ref())))
            }
            source::StepKind::HumanGate(gate) => Kind::Gate(self.gate(gate)),
            source::StepKind::Questions(questions) => Kind::Questions(Box::new(self.questions(questions))),
            source::StepKind::Script(script) => Kind::Script(Box::new(self.script(script))),
            source::StepKind::Set(set) => Kind::Set(self.set(set)),
            source::StepKind::Terminate(end) => Kind::Terminate(self.terminate(end)),
            source::StepKind::Wait(wait) => Kind::Wait(self.wait(wait)),
            source::StepKind::Workflow(call) => Kind::SubPlan(self.sub_plan(call)),
            source::StepKind::Unknown => unreachable!("a step of an unknown type is an error"),
        }
    }

    fn node(&mut self, name: &str, kind: Kind, common: &'a source::Common) -> Node {
        let is_gate = matches!(kind, Kind::Gate(_));
        Node {
            name: name.into(),
            description: common.description.as_ref().map(|text| text.value.clone()),
            needs: common.needs.iter().map(|need| self.need(need)).collect(),
            join: join(common.join.as_ref().map(|join| join.value).unwrap_or_default()),
            // A gate goes where its options lead; routes beside them have no effect.
            routes: if is_gate {
                Vec::new()
            } else {
                common.routes.iter().map(|route| self.route(route)).collect()
            },
            on_error: common.on_error.iter().map(|route| self.error_route(route)).collect(),
            inputs: common.input.iter().filter_map(|text| self.input(&text.value)).collect(),
            retry: retry(&kind, common.retry.as_ref()),
            timeout: common.timeout.as_ref().map(|limit| millis(limit.value)),
            on_unknown: on_unknown(&kind, common),
            labels: labels(&common.labels, &self.source.labels),
            place: self.place(&common.span),
            hash: Digest([0; 32]),
            kind,
        }
    }

    fn need(&self, need: &source::Need) -> Need {
        let requires = match need.requires {
            source::Requires::Success => Requires::Success,
            source::Requires::Completed => Requires::Completed,
            source::Requires::Any => Requires::Any,
        };
        Need { node: self.named(&need.step.value), requires }
    }

    fn route(&mut self, route: &source::Route) -> Route {
        Route {
            to: self.target(&route.to.value),
            when: route.when.as_ref().map(|when| self.texts.condition(when)),
            output: route.output.as_ref().map(|output| self.texts.named(output)).unwrap_or_default(),
        }
    }

    fn error_route(&self, route: &source::ErrorRoute) -> ErrorRoute {
        let classes: Vec<Class> = route.classes.iter().map(|found| class(found.value)).collect();
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

    fn gate(&mut self, gate: &source::GateStep) -> Gate {
        let prompt = self.or_empty(gate.prompt.as_ref());
        Gate { prompt, options: gate.options.iter().map(|option| self.option(option)).collect() }
    }

    fn option(&mut self, option: &source::GateOption) -> GateOption {
        GateOption {
            label: self.texts.text(&option.label),
            value: option.value.value.clone(),
            route: option.route.as_ref().map(|to| self.gate_route(&to.value)),
            prompt_for: option.prompt_for.as_ref().map(|name| name.value.clone()),
            multiline: option.multiline,
        }
    }

    fn gate_route(&self, name: &str) -> GateRoute {
        match name {
            END => GateRoute::End,
            name => GateRoute::To(self.named(name)),
        }
    }

    fn questions(&mut self, step: &source::QuestionsStep) -> Questions {
        Questions {
            prompt: self.texts.optional(step.prompt.as_ref()),
            source: self.question_source(step.from.as_ref()),
            allow_back: step.allow_back,
            allow_skip: step.allow_skip,
            allow_skip_all: step.allow_skip_all,
            allow_abort: step.allow_abort,
            abort_route: step.abort_route.as_ref().map(|to| self.gate_route(&to.value)),
        }
    }

    fn question_source(&mut self, from: Option<&source::QuestionsFrom>) -> QuestionSource {
        match from {
            Some(source::QuestionsFrom::Source(path)) => QuestionSource::Path(dotted(&path.value)),
            Some(source::QuestionsFrom::Written(list)) => {
                QuestionSource::Listed(list.iter().map(|question| self.question(question)).collect())
            }
            None => QuestionSource::Listed(Vec::new()),
        }
    }

    fn question(&mut self, question: &source::Question) -> QuestionText {
        QuestionText {
            id: question.id.as_ref().map(|id| id.value.clone()),
            text: self.texts.text(&question.text),
            hint: self.texts.optional(question.hint.as_ref()),
            choices: question.choices.iter().map(|choice| choice.value.clone()).collect(),
            allow_free_text: question.allow_free_text,
            default: self.texts.optional(question.default.as_ref()),
            required: question.required,
            multiline: question.multiline,
        }
    }

    fn script(&mut self, script: &source::ScriptStep) -> Script {
        Script {
            command: self.or_empty(script.command.as_ref()),
            args: script.args.iter().map(|arg| self.texts.text(arg)).collect(),
            env: script.env.iter().map(|(name, entry)| (name.clone(), entry.value.value.clone())).collect(),
            working_dir: self.texts.optional(script.working_dir.as_ref()),
            stdin: self.texts.optional(script.stdin.as_ref()),
            schema: script.output.as_ref().map(fields::schema),
        }
    }

    fn set(&mut self, set: &source::SetStep) -> Set {
        match &set.what {
            Some(source::SetWhat::Value { value, output_type }) => {
                Set::Value { text: self.texts.text(value), ty: set_type(output_type.value) }
            }
            Some(source::SetWhat::Values(values)) => Set::Values(self.texts.named(values)),
            None => Set::Values(Vec::new()),
        }
    }

    fn terminate(&mut self, step: &source::TerminateStep) -> Terminate {
        Terminate {
            success: step.status.value == source::TerminateStatus::Success,
            reason: self.or_empty(step.reason.as_ref()),
            output: step.output_template.as_ref().map(|output| self.texts.named(output)),
        }
    }

    fn wait(&mut self, wait: &source::WaitStep) -> Wait {
        let duration = match &wait.duration {
            Some(source::WaitDuration::Literal(duration)) => millis(duration.value),
            Some(source::WaitDuration::Template(text)) => Span::Text(self.texts.text(text)),
            None => Span::Millis(0),
        };
        Wait { duration, reason: self.texts.optional(wait.reason.as_ref()) }
    }

    fn sub_plan(&mut self, call: &source::WorkflowStep) -> SubPlan {
        let path = call.workflow.as_ref().map_or("", |path| &path.value);
        let ix = self.bundle.child(self.source, path).expect("sub-workflows were read");
        SubPlan {
            workflow: WorkflowIx(ix as u32),
            input_mapping: call.input_mapping.as_ref().map(|mapping| self.texts.named(mapping)),
            max_depth: call.max_depth.as_ref().map(|limit| limit.value as u32),
        }
    }

    fn parallel(&mut self, group: &'a source::ParallelGroup) -> Node {
        let kind = Kind::Parallel(Parallel {
            members: group.agents.iter().map(|name| self.named(&name.value)).collect(),
            failure_mode: failure_mode(group.failure_mode),
            max_concurrent: group.max_concurrent.as_ref().map(|limit| limit.value as u32),
        });
        self.node(&group.name.value, kind, &group.common)
    }

    fn for_each(&mut self, group: &'a source::ForEach) -> Node {
        let body = match group.body.as_ref().expect("a fan-out without a body is an error") {
            source::ForEachBody::Run(name) => self.named(&name.value),
            source::ForEachBody::Inline(step) => {
                let node = self.step(step);
                self.add(node)
            }
        };
        let kind = Kind::ForEach(ForEach {
            source: dotted(&group.source.value),
            variable: group.variable.value.as_str().into(),
            body,
            key_by: group.key_by.as_ref().map(|path| dotted(&path.value)),
            failure_mode: failure_mode(group.failure_mode),
            max_concurrent: group.max_concurrent.as_ref().map_or(MAX_CONCURRENT, |limit| limit.value as u32),
        });
        self.node(&group.name.value, kind, &group.common)
    }

    pub(super) fn or_empty(&mut self, text: Option<&crate::source::Text>) -> Text {
        self.texts.optional(text).unwrap_or_else(|| Text::Literal("".into()))
    }
}

fn millis(duration: Duration) -> Span {
    Span::Millis(duration.as_millis() as u64)
}

fn dotted(path: &str) -> Vec<String> {
    path.split('.').map(str::to_owned).collect()
}

fn join(source: source::Join) -> Join {
    match source {
        source::Join::All => Join::All,
        source::Join::Any => Join::Any,
        source::Join::FirstSuccess => Join::FirstSuccess,
        source::Join::Quorum(count) => Join::Quorum(count as u32),
    }
}

fn failure_mode(source: source::FailureMode) -> FailureMode {
    match source {
        source::FailureMode::FailFast => FailureMode::FailFast,
        source::FailureMode::ContinueOnError => FailureMode::ContinueOnError,
        source::FailureMode::AllOrNothing => FailureMode::AllOrNothing,
        source::FailureMode::Quorum(count) => FailureMode::Quorum(count as u32),
    }
}

fn set_type(source: source::SetType) -> SetType {
    match source {
        source::SetType::Auto => SetType::Auto,
        source::SetType::String => SetType::String,
        source::SetType::Number => SetType::Number,
        source::SetType::Integer => SetType::Integer,
        source::SetType::Boolean => SetType::Boolean,
        source::SetType::List => SetType::List,
        source::SetType::Dict => SetType::Dict,
    }
}

fn retry(kind: &Kind, stated: Option<&source::Retry>) -> Retry {
    let Some(stated) = stated else {
        return if matches!(kind, Kind::Agent(_)) { Retry::agent_default() } else { Retry::once() };
    };
    let on: Vec<Class> = stated.retry_on.iter().map(|found| class(*found)).collect();
    Retry {
        max_attempts: stated.max_attempts.value,
        base_ms: stated.delay.as_millis() as u64,
        factor: if stated.backoff == source::Backoff::Exponential { 2 } else { 1 },
        cap_ms: stated.delay.max(RETRY_CAP).as_millis() as u64,
        on: Classes::of(&on),
    }
}

fn class(source: source::ErrorClass) -> Class {
    match source {
        source::ErrorClass::RateLimit => Class::RateLimit,
        source::ErrorClass::Capacity => Class::Capacity,
        source::ErrorClass::Timeout => Class::Timeout,
        source::ErrorClass::Transient => Class::Transient,
        source::ErrorClass::InvalidOutput => Class::InvalidOutput,
        source::ErrorClass::Refused => Class::Refused,
        source::ErrorClass::Permission => Class::Permission,
        source::ErrorClass::Budget => Class::Budget,
        source::ErrorClass::Security => Class::Security,
        source::ErrorClass::Conflict => Class::Conflict,
        source::ErrorClass::Cancelled => Class::Cancelled,
        source::ErrorClass::Fatal => Class::Fatal,
    }
}

/// A script may have had its effect before the crash, so a person is asked unless it may be repeated.
fn on_unknown(kind: &Kind, common: &source::Common) -> OnUnknown {
    let repeatable = common.idempotent.as_ref().is_some_and(|stated| stated.value);
    match common.on_unknown.as_ref().map(|stated| stated.value) {
        Some(source::OnUnknown::Retry) => OnUnknown::Retry,
        Some(source::OnUnknown::Ask) => OnUnknown::Ask,
        Some(source::OnUnknown::Fail) => OnUnknown::Fail,
        None if matches!(kind, Kind::Script(_)) && !repeatable => OnUnknown::Ask,
        None => OnUnknown::Retry,
    }
}

fn labels(step: &source::Labels, workflow: &source::Labels) -> Labels {
    let priority = step.priority.as_ref().or(workflow.priority.as_ref());
    let class = step.class.as_ref().or(workflow.class.as_ref());
    let tenant = step.tenant.as_ref().or(workflow.tenant.as_ref());
    Labels {
        priority: priority.map_or(Priority::default(), |label| priority_of(label.value)),
        class: class.map_or(WorkClass::default(), |label| class_of(label.value)),
        tenant: tenant.map(|label| Arc::from(label.value.as_str())),
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
