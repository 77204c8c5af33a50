//! Folds the events of a run to its spans.

use super::attempt::{Attempt, Work};
use super::contents::Contents;
use super::ids::{ATTEMPT, Given, SpanId, TraceId};
use super::names::{self, operation};
use super::span::{Kind, Link, Span, Value};
use super::steps::{Step, Steps};
use convoke_follow::Fold;
use convoke_model::{
    BaseKind, Cause, Event, Failure, ModelCall, Payload, RunForked, RunId, RunStarted, RunStatus, Stamped,
    TaskId, Timestamp, Usage,
};
use std::collections::HashMap;

/// The spans of one run.
pub struct RunSpans {
    run: RunId,
    trace: TraceId,
    steps: Steps,
    contents: Option<Contents>,
    given: Given,
    workflow: String,
    /// The run itself, while it is open.
    root: Option<Span>,
    /// The last span of the run itself.
    before: Option<SpanId>,
    /// Tasks that work through children, and questions, while they are open.
    open: HashMap<TaskId, Span>,
    attempts: HashMap<TaskId, Attempt>,
    /// The last attempt of tasks that are tried again.
    tried: HashMap<TaskId, SpanId>,
    /// The word for each child that a task has spawned and that has not ended.
    children: HashMap<TaskId, String>,
    usage: Usage,
    last: Timestamp,
}

impl RunSpans {
    /// Spans of a run with this plan, as its journal keeps it; with contents where those are given.
    pub fn new(run: &RunId, plan: &str, contents: Option<Contents>) -> RunSpans {
        RunSpans {
            run: run.clone(),
            trace: TraceId::of(run),
            steps: Steps::read(plan),
            contents,
            given: Given::default(),
            workflow: String::new(),
            root: None,
            before: None,
            open: HashMap::new(),
            attempts: HashMap::new(),
            tried: HashMap::new(),
            children: HashMap::new(),
            usage: Usage::default(),
            last: Timestamp::default(),
        }
    }

    /// What has begun and not ended, as far as it has come: for a run that may never go on.
    pub fn so_far(&self) -> Vec<Span> {
        let attempts = self.attempts.values().map(|attempt| &attempt.span);
        let all = self.root.iter().chain(self.open.values()).chain(attempts);
        all.map(|span| Span { end: self.last.max(span.start), ..span.clone() }.with(names::STATUS, "open"))
            .collect()
    }

    /// The trace of the run.
    pub(crate) fn trace(&self) -> TraceId {
        self.trace
    }

    /// The span that stands for a task at this moment, or else for the run.
    pub(crate) fn span_of(&self, task: Option<&TaskId>) -> Option<SpanId> {
        let of_task = task.and_then(|task| {
            let attempt = self.attempts.get(task).map(|attempt| attempt.span.id);
            attempt.or_else(|| self.open.get(task).map(|span| span.id))
        });
        of_task.or_else(|| self.root.as_ref().map(|root| root.id))
    }

    /// A text as it may be told: without keys, and only where contents are told.
    pub(crate) fn told(&self, text: &str) -> Option<String> {
        self.contents.as_ref().map(|contents| contents.clean(text))
    }

    fn begin(&mut self, started: &RunStarted, at: Timestamp) {
        self.workflow.clone_from(&started.workflow);
        // Events that are copied belong to the base's trace; the fork begins where they end.
        let is_fork = matches!(started.base.as_ref().map(|base| base.how), Some(BaseKind::Fork { .. }));
        if !is_fork {
            self.open_run(at, Vec::new());
        }
    }

    fn open_run(&mut self, at: Timestamp, links: Vec<Link>) {
        let id = self.given.fresh(&self.run, "run", "", 1);
        let name = format!("{} {}", operation::WORKFLOW, self.workflow);
        let mut root = self.span(id, None, name, at);
        root.set(names::OPERATION, operation::WORKFLOW);
        root.set(names::WORKFLOW, self.workflow.as_str());
        root.set(names::CONVERSATION, &*self.run.0);
        root.links = links;
        self.usage = Usage::default();
        self.root = Some(root);
    }

    /// A run that goes on after its end is another part of the same trace.
    fn reopen(&mut self, at: Timestamp) {
        if self.root.is_none() {
            let link = |span| Link { trace: self.trace, span, why: "reopened" };
            self.open_run(at, self.before.map(link).into_iter().collect());
        }
    }

    /// Attempts and groups that were under way are the base's.
    fn fork(&mut self, forked: &RunForked, at: Timestamp) {
        self.attempts.clear();
        self.tried.clear();
        let open: Vec<_> = self.open.drain().collect();
        let (trace, span) = (TraceId::of(&forked.run), SpanId::of(&forked.run, "run", "", 1));
        self.open_run(at, vec![Link { trace, span, why: "fork" }]);
        for (task, span) in open {
            let parent = self.parent(&task);
            self.open.insert(task, Span { start: at, parent, ..span });
        }
    }

    fn finish(&mut self, at: Timestamp, status: RunStatus, failure: Option<&Failure>, out: &mut Vec<Span>) {
        let open: Vec<_> = self.open.drain().map(|(_, span)| span).collect();
        out.extend(open.into_iter().map(|span| Span { end: at, ..span }));
        let Some(mut root) = self.root.take() else { return };
        root.end = at;
        root.set(names::STATUS, status.word());
        root.total(&self.usage);
        failure.into_iter().for_each(|failure| root.fail(failure, self.contents.as_ref()));
        self.before = Some(root.id);
        out.push(root);
    }

    fn model_called(&mut self, task: &TaskId, at: Timestamp, call: &ModelCall) {
        if let Some(attempt) = self.attempts.get_mut(task) {
            attempt.model_called(&self.run, &task.0, at, call);
        }
    }

    fn tool_called(&mut self, task: &TaskId, at: Timestamp, call: (&str, u64, bool)) {
        if let Some(attempt) = self.attempts.get_mut(task) {
            attempt.tool_called((&self.run, &task.0), at, call, self.contents.as_ref());
        }
    }

    fn turned(&mut self, task: &TaskId, piece: &Payload, usage: &Usage, out: &mut Vec<Span>) {
        self.usage += *usage;
        let contents = self.contents.as_ref();
        let messages = contents.map(|contents| contents.messages(piece)).unwrap_or_default();
        if let Some(attempt) = self.attempts.get_mut(task) {
            attempt.turned(usage, &messages, contents, out);
        }
    }

    /// A task that works through children begins.
    fn start_task(&mut self, task: &TaskId, at: Timestamp) {
        if self.open.contains_key(task) || self.attempts.contains_key(task) {
            return;
        }
        let id = self.given.fresh(&self.run, "task", &task.0, 1);
        let (kind, name, is_workflow) = match (self.steps.find(task), self.children.get(task)) {
            (_, Some(child)) => ("task", child.clone(), false),
            (Some(step), None) => (step.kind, step.name.clone(), step.is_workflow()),
            (None, None) => ("task", task.to_string(), false),
        };
        let word = if is_workflow { operation::WORKFLOW } else { kind };
        let mut span = self.span(id, self.parent(task), format!("{word} {name}"), at);
        if is_workflow {
            span.set(names::OPERATION, operation::WORKFLOW);
            span.set(names::WORKFLOW, name);
        }
        span.set(names::TASK, &*task.0);
        span.set(names::STEP_KIND, kind);
        self.open.insert(task.clone(), span);
    }

    /// A task has ended that is no attempt.
    fn end_task(
        &mut self,
        task: &TaskId,
        at: Timestamp,
        failure: Option<&Failure>,
        cause: Option<&Cause>,
        out: &mut Vec<Span>,
    ) {
        self.children.remove(task);
        self.tried.remove(task);
        let Some(mut span) = self.open.remove(task) else { return };
        span.end = at;
        failure.into_iter().for_each(|failure| span.fail(failure, self.contents.as_ref()));
        if let Some(cause) = cause {
            span.set(names::CAUSE, word(&cause.kind));
        }
        out.push(span);
    }

    fn start_attempt(&mut self, task: &TaskId, attempt: u32, at: Timestamp, is_probe: bool) {
        let id = self.given.fresh(&self.run, ATTEMPT, &task.0, attempt);
        let prompt = self.contents.as_mut().and_then(|contents| contents.prompts.prompt(task));
        let (step, child) = (self.steps.find(task), self.children.get(task).map(String::as_str));
        let work = if is_probe { Work::Tool } else { Work::of(step.filter(|_| child.is_none()), child) };
        let name = match (child, step) {
            (Some(child), _) => child.to_owned(),
            (None, Some(step)) => step.tool.clone().unwrap_or_else(|| step.name.clone()),
            (None, None) => task.to_string(),
        };
        let mut span = self.span(id, self.parent(task), format!("{} {name}", work.operation()), at);
        describe(&mut span, work, &name, step.filter(|_| child.is_none()));
        span.set(names::TASK, &*task.0);
        span.set(names::ATTEMPT, u64::from(attempt));
        span.set(names::CONVERSATION, format!("{}/{task}", self.run));
        let link = |span| Link { trace: self.trace, span, why: "retry" };
        span.links.extend(self.tried.remove(task).map(link));
        self.attempts.insert(task.clone(), Attempt::new(span, work, prompt));
    }

    /// An attempt has ended; `again` if another one of the task may follow it.
    fn end_attempt(&mut self, stamped: &Stamped, task: &TaskId, end: End<'_>, out: &mut Vec<Span>) {
        self.usage += end.usage;
        let Some(attempt) = self.attempts.remove(task) else { return };
        let mut span = attempt.end(stamped, &end.usage, end.output, self.contents.as_ref(), out);
        end.failure.into_iter().for_each(|failure| span.fail(failure, self.contents.as_ref()));
        if let Some(word) = end.word {
            span.set(names::END, word);
        }
        if let Some(code) = end.output.and_then(exit_code) {
            span.attributes.push((names::EXIT_CODE, Value::Number(code)));
        }
        if end.again {
            self.tried.insert(task.clone(), span.id);
        } else {
            self.children.remove(task);
        }
        out.push(span);
    }

    fn ask(&mut self, task: &TaskId, question: u32, at: Timestamp) {
        let id = self.given.fresh(&self.run, "question", &task.0, question);
        let mut span = self.span(id, self.parent(task), format!("human_gate {task}"), at);
        span.set(names::TASK, &*task.0);
        span.set(names::STEP_KIND, "human_gate");
        self.open.insert(task.clone(), span);
    }

    fn answered(&mut self, task: &TaskId, by: &str, at: Timestamp, out: &mut Vec<Span>) {
        if let Some(span) = self.open.remove(task) {
            out.push(Span { end: at, ..span }.with(names::ANSWERED_BY, by));
        }
    }

    /// The nearest task above that has a span, or else the run.
    fn parent(&self, task: &TaskId) -> Option<SpanId> {
        let mut above = above(&task.0);
        while let Some(name) = above {
            if let Some(span) = self.open.get(&TaskId(name.into())) {
                return Some(span.id);
            }
            above = self::above(name);
        }
        self.root.as_ref().map(|root| root.id)
    }

    fn span(&self, id: SpanId, parent: Option<SpanId>, name: String, start: Timestamp) -> Span {
        let (kind, attributes) = (Kind::Internal, vec![(names::RUN, Value::from(&*self.run.0))]);
        Span {
            trace: self.trace,
            id,
            parent,
            name,
            kind,
            start,
            end: start,
            attributes,
            links: vec![],
            error: None,
        }
    }
}

/// How an attempt ended.
#[derive(Default)]
struct End<'a> {
    usage: Usage,
    output: Option<&'a Payload>,
    failure: Option<&'a Failure>,
    word: Option<&'static str>,
    again: bool,
}

impl Fold<Span> for RunSpans {
    fn take(&mut self, stamped: &Stamped, out: &mut Vec<Span>) {
        let at = stamped.at;
        self.last = at;
        match &stamped.event {
            Event::RunStarted(started) => self.begin(started, at),
            Event::RunReopened(_) => self.reopen(at),
            Event::RunForked(forked) => self.fork(forked, at),
            Event::RunFinished { status, failure, .. } => self.finish(at, *status, failure.as_ref(), out),
            Event::TaskStarted { task, .. }
            | Event::FannedOut { task, .. }
            | Event::MergeStarted { task, .. } => {
                self.start_task(task, at);
            }
            Event::ChildrenSpawned { task, children } => {
                self.start_task(task, at);
                let named = children.iter().map(|child| (child.child_of(task), child.kind.word().to_owned()));
                self.children.extend(named);
            }
            Event::AttemptStarted { task, attempt, .. } => self.start_attempt(task, *attempt, at, false),
            Event::ProbeStarted { task, attempt, .. } => self.start_attempt(task, *attempt, at, true),
            Event::ModelCalled { task, call, .. } => self.model_called(task, at, call),
            Event::ToolCalled { task, tool, ms, failed, .. } => {
                self.tool_called(task, at, (tool, *ms, *failed));
            }
            Event::TurnRecorded { task, piece, usage, .. } => self.turned(task, piece, usage, out),
            Event::AttemptFinished { task, output, usage, .. } => {
                let end = End { usage: *usage, output: Some(output), ..End::default() };
                self.end_attempt(stamped, task, end, out);
            }
            Event::AttemptFailed { task, failure, usage, .. } => {
                let end = End { usage: *usage, failure: Some(failure), again: true, ..End::default() };
                self.end_attempt(stamped, task, end, out);
            }
            Event::AttemptSuspended { task, usage, .. } => {
                let end = End { usage: *usage, word: Some("suspended"), again: true, ..End::default() };
                self.end_attempt(stamped, task, end, out);
            }
            Event::AttemptLost { task, usage, .. } => {
                let end = End { usage: *usage, word: Some("lost"), again: true, ..End::default() };
                self.end_attempt(stamped, task, end, out);
            }
            Event::AttemptDetached { task, .. } | Event::EffectProbed { task, .. } => {
                let word =
                    if matches!(stamped.event, Event::EffectProbed { .. }) { None } else { Some("detached") };
                self.end_attempt(stamped, task, End { word, again: true, ..End::default() }, out);
            }
            Event::GateOpened { task, question, .. } => self.ask(task, *question, at),
            Event::GateAnswered { task, by, .. } => self.answered(task, by, at, out),
            Event::TaskSucceeded { task, .. } | Event::OutputTaken { task, .. } => {
                self.end_task(task, at, None, None, out);
            }
            Event::TaskFailed { task, failure } => self.end_task(task, at, Some(failure), None, out),
            Event::TaskSkipped { task, cause } | Event::TaskCancelled { task, cause } => {
                self.end_task(task, at, None, Some(cause), out);
            }
            _ => {}
        }
        if let Some(contents) = &mut self.contents {
            contents.prompts.take(stamped);
        }
    }
}

/// What an attempt is, by the plan.
fn describe(span: &mut Span, work: Work, name: &str, step: Option<&Step>) {
    span.set(names::OPERATION, work.operation());
    if work == Work::Tool {
        span.set(names::TOOL, name);
        let is_script = step.is_some_and(|step| step.is_script);
        span.set(names::TOOL_TYPE, if is_script { "extension" } else { "function" });
        if let Some(program) = step.and_then(|step| step.program.as_deref()) {
            span.set(names::EXECUTABLE, program);
        }
        return;
    }
    span.set(names::AGENT, name);
    let Some(step) = step else { return };
    if let Some(description) = &step.description {
        span.set(names::AGENT_DESCRIPTION, description.as_str());
    }
    let Some(agent) = &step.agent else { return };
    let asked = [(names::MODEL, &step.model), (names::REASONING, &step.reasoning)];
    for (name, text) in asked {
        text.iter().for_each(|text| span.set(name, &**text));
    }
    if !agent.provider.name.is_empty() {
        span.set(names::PROVIDER, names::provider(&agent.provider.name));
    }
    agent.max_tokens.into_iter().for_each(|most| span.set(names::MAX_TOKENS, most));
    agent.temperature.into_iter().for_each(|temperature| span.set(names::TEMPERATURE, temperature));
    if agent.schema.is_some() {
        span.set(names::OUTPUT_TYPE, "json");
    }
}

/// The exit code of a script step, where its output is small.
fn exit_code(output: &Payload) -> Option<i64> {
    let Payload::Inline(text) = output else { return None };
    let text = text.as_str();
    if !text.contains("\"exit_code\"") {
        return None;
    }
    serde_json::from_str::<serde_json::Value>(text).ok()?.get("exit_code")?.as_i64()
}

/// The name of what a task stands in: of an item its fan-out, else the part before the last slash.
fn above(task: &str) -> Option<&str> {
    let own = task.rfind('/').map_or(0, |at| at + 1);
    match task[own..].find('[') {
        Some(at) if at > 0 => Some(&task[..own + at]),
        _ => task.rsplit_once('/').map(|(above, _)| above),
    }
}

fn word(kind: &impl serde::Serialize) -> String {
    match serde_json::to_value(kind) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}
