//! Nodes: from the file's steps and groups to the plan's, one function per kind.

use super::build::Builder;
use super::node::millis;
use super::servers::given;
use crate::check::outline::{END, Item};
use crate::plan::*;
use crate::source::declared;
use crate::source::workflow as source;

/// Items of a fan-out at one time, where nothing is said.
const MAX_CONCURRENT: u32 = 10;

/// How long a probe may take, where nothing is said.
const PROBE_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(60);

impl<'a> Builder<'a> {
    /// The node of an item.
    pub(super) fn item(&mut self, ix: usize) -> Node {
        match self.outline.items[ix] {
            Item::Step(step) => self.step(step),
            Item::Parallel(group) => self.parallel(group),
            Item::ForEach(group) => self.for_each(group),
        }
    }

    /// What a step does.
    pub(super) fn kind(&mut self, step: &source::Step) -> Kind {
        match &step.kind {
            source::StepKind::Agent(agent) => {
                Kind::Agent(Box::new(self.agent(agent, step.common.retry.as_ref())))
            }
            source::StepKind::HumanGate(gate) => Kind::Gate(self.gate(gate)),
            source::StepKind::Questions(questions) => Kind::Questions(Box::new(self.questions(questions))),
            source::StepKind::Script(script) => {
                let survives = script.survive.as_ref().is_some_and(|stated| stated.value);
                let limit = step.common.timeout.as_ref().map(|limit| limit.value).filter(|_| survives);
                Kind::Script(Box::new(Script { survives: limit, ..self.script(script) }))
            }
            source::StepKind::Set(set) => Kind::Set(self.set(set)),
            source::StepKind::Terminate(end) => Kind::Terminate(self.terminate(end)),
            source::StepKind::Tool(tool) => Kind::Tool(Box::new(self.tool(tool))),
            source::StepKind::Wait(wait) => Kind::Wait(self.wait(wait)),
            source::StepKind::Workflow(call) => Kind::SubPlan(self.sub_plan(call)),
            source::StepKind::Reduce(reduce) => Kind::Reduce(Box::new(self.reduce(step, reduce))),
            source::StepKind::Verify(verify) => Kind::Verify(Box::new(self.verify(step, verify))),
            source::StepKind::Phase(phase) => Kind::Phase(Box::new(self.phase(step, phase))),
            source::StepKind::Goal(goal) => Kind::Goal(Box::new(self.goal(step, goal))),
            source::StepKind::Unknown => unreachable!("a step of an unknown type is an error"),
        }
    }

    fn gate(&mut self, gate: &source::GateStep) -> Gate {
        let prompt = self.or_empty(gate.prompt.as_ref());
        let default = gate.default.as_ref().map(|default| default.value.clone());
        Gate { prompt, options: gate.options.iter().map(|option| self.option(option)).collect(), default }
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
            source: self.question_source(step),
            allow_back: step.allow_back,
            allow_skip: step.allow_skip,
            allow_skip_all: step.allow_skip_all,
            allow_abort: step.allow_abort,
            default_on_timeout: step
                .on_timeout
                .as_ref()
                .is_some_and(|word| word.value == source::OnTimeout::Default),
            abort_route: step.abort_route.as_ref().map(|to| self.gate_route(&to.value)),
        }
    }

    fn question_source(&mut self, step: &source::QuestionsStep) -> QuestionSource {
        if let Some(path) = &step.source {
            return QuestionSource::Path(dotted(&path.value));
        }
        let written = step.questions.iter().flatten();
        QuestionSource::Listed(written.map(|question| self.question(question)).collect())
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

    /// How it is found out whether an effect happened.
    pub(super) fn probe(&mut self, probe: &source::Probe) -> Probe {
        let source::Probe {
            command, args, env, working_dir, stdin, server, tool, arguments, timeout, ..
        } = probe.clone();
        let timeout = timeout.map_or(PROBE_TIMEOUT, |limit| limit.value);
        let asks = match tool {
            Some(_) => {
                ProbeKind::Tool(self.tool(&source::ToolStep { server, tool, arguments, output: None }))
            }
            None => ProbeKind::Command(self.script(&source::ScriptStep {
                command,
                args,
                env,
                stdin,
                secrets: None,
                survive: None,
                working_dir,
                output: None,
                timeouts: Default::default(),
            })),
        };
        Probe { asks, timeout }
    }

    pub(super) fn script(&mut self, script: &source::ScriptStep) -> Script {
        Script {
            survives: None,
            command: self.or_empty(script.command.as_ref()),
            args: script.args.iter().map(|arg| self.texts.text(arg)).collect(),
            env: given(&script.env, script.secrets.iter().flatten()),
            working_dir: self.texts.optional(script.working_dir.as_ref()),
            stdin: self.texts.optional(script.stdin.as_ref()),
            schema: script.output.as_ref().map(declared::schema),
            idle: script.timeouts.idle.as_ref().map(|limit| limit.value),
        }
    }

    fn set(&mut self, set: &source::SetStep) -> Set {
        let ty = set.output_type.as_ref().map(|word| word.value).unwrap_or_default();
        match (&set.value, &set.values) {
            (Some(value), _) => Set::Value { text: self.texts.text(value), ty },
            (None, Some(values)) => Set::Values(self.texts.named(values)),
            (None, None) => Set::Values(Vec::new()),
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
        self.group_node(&group.name.value, kind, &group.common)
    }

    fn for_each(&mut self, group: &'a source::ForEach) -> Node {
        let body = match group.body.as_ref().expect("a fan-out without a body is an error") {
            source::ForEachBody::Run(name) => self.named(&name.value),
            source::ForEachBody::Inline(step) => {
                let mut node = self.step(step);
                node.name = self.body_name(&group.name.value, &step.name.value);
                self.add(node)
            }
        };
        let kind = Kind::ForEach(ForEach {
            source: if group.items.is_some() { Vec::new() } else { dotted(&group.source.value) },
            items: group.items.as_ref().map(|items| items.value.clone().into()),
            variable: group.variable.value.as_str().into(),
            body,
            key_by: group.key_by.as_ref().map(|path| key_path(&path.value)),
            named: group.named,
            in_batches: group.in_batches,
            failure_mode: failure_mode(group.failure_mode),
            max_concurrent: group.max_concurrent.as_ref().map_or(MAX_CONCURRENT, |limit| limit.value as u32),
        });
        self.group_node(&group.name.value, kind, &group.common)
    }

    fn group_node(&mut self, name: &str, kind: Kind, common: &'a source::Common) -> Node {
        let proof = self.proof(common.ensure.as_ref(), &common.protect, None);
        Node { proof, ..self.node(name, kind, common) }
    }

    pub(super) fn or_empty(&mut self, text: Option<&crate::source::Text>) -> Text {
        self.texts.optional(text).unwrap_or_else(|| Text::Literal("".into()))
    }
}

/// A dot alone is the item itself.
fn key_path(path: &str) -> Vec<String> {
    if path == "." { Vec::new() } else { dotted(path) }
}

fn dotted(path: &str) -> Vec<String> {
    path.split('.').map(str::to_owned).collect()
}

fn failure_mode(source: source::FailureMode) -> FailureMode {
    match source {
        source::FailureMode::FailFast => FailureMode::FailFast,
        source::FailureMode::ContinueOnError => FailureMode::ContinueOnError,
        source::FailureMode::AllOrNothing => FailureMode::AllOrNothing,
        source::FailureMode::Quorum(count) => FailureMode::Quorum(count as u32),
    }
}
