//! How each kind of node begins, and what an attempt is given.
//!
//! Texts are rendered at the last moment, when a permit is there: a hundred thousand waiting tasks hold no prompts.

use crate::context::{TokenBudget, binding_room, names};
use crate::decide::kind_word;
use crate::outputs::{Outputs, store};
use crate::scheduler::Scheduler;
use crate::state::{ProbeState, State, TaskIx, TaskState};
use crate::view::View;
use convoke_model::excerpt::tokens;
use convoke_model::hash::HashMap;
use convoke_model::{
    AgentCall, Answer, Assignment, Class, Digest, Ending, Event, Failure, JsonText, Payload, Ruling,
    ScriptCall, Survival, Verdict, Work,
};
use convoke_plan::compile::{GivenInput, check_inputs};
use convoke_plan::template::{from_json_text, python_text, to_json};
use convoke_plan::value::{check_wait, parse_duration, read_output, read_set};
use convoke_plan::{Agent, ForEach, Kind, Script, Set, Span, SubPlan, Terminate, Text, Wait};
use serde_json::{Map, Value as Json, json};
use std::sync::Arc;
use std::time::Duration;

/// What a granted permit led to.
pub enum Launch {
    /// The attempt starts, once its event is on disk.
    Start(Box<Assignment>),
    /// It does not; the permit goes back.
    Refused,
}

/// How deep sub-workflows may stand.
const MAX_DEPTH: u32 = 10;

impl Scheduler {
    /// A permit is there, and the lease with this fencing token where there must be one: the attempt is prepared and its
    /// start recorded, or the task fails. Events are left for the next [`Scheduler::decide`], which must follow in the
    /// same turn.
    pub fn launch(&mut self, task: TaskIx, lease: Option<u64>, outputs: &dyn Outputs) -> Launch {
        if self.tasks[task].state != TaskState::Ready || !self.tasks[task].queued {
            return Launch::Refused;
        }
        if self.wants_summary(task, outputs) {
            return Launch::Refused;
        }
        if self.tasks[task].probe == ProbeState::Due {
            return self.launch_probe(task, lease, outputs);
        }
        match self.view(outputs).assignment(task) {
            Ok(assignment) => {
                self.note_trimming(task, outputs);
                self.note_contract(&assignment);
                self.emit(Event::AttemptStarted {
                    task: assignment.task.clone(),
                    attempt: assignment.attempt,
                    lease,
                });
                if !self.is_sealed(task) {
                    self.claim(&assignment);
                }
                Launch::Start(Box::new(assignment))
            }
            Err(failure) => {
                self.fail_begin(task, failure);
                Launch::Refused
            }
        }
    }

    /// What an attempt may do is recorded before it starts.
    fn note_contract(&mut self, assignment: &Assignment) {
        if let Some(contract) = &assignment.contract {
            let (task, attempt) = (assignment.task.clone(), assignment.attempt);
            self.emit(Event::ContractResolved { task, attempt, contract: (**contract).clone() });
        }
    }

    pub(crate) fn begin_set(&mut self, task: TaskIx, set: &Set, outputs: &dyn Outputs) {
        match self.view(outputs).set_value(task, set) {
            Ok(value) => self.succeed(task, &value, outputs),
            Err(failure) => self.fail_begin(task, failure),
        }
    }

    pub(crate) fn begin_wait(&mut self, task: TaskIx, wait: &Wait, outputs: &dyn Outputs) {
        match self.view(outputs).wait_time(task, wait) {
            Ok(duration) => {
                let until = Some(self.now + duration);
                self.emit(Event::TaskStarted { task: self.tasks[task].id.clone(), until, inputs: None });
            }
            Err(failure) => self.fail_begin(task, failure),
        }
    }

    pub(crate) fn begin_terminate(&mut self, task: TaskIx, terminate: &Terminate, outputs: &dyn Outputs) {
        let prepared = self.view(outputs).render(task, &terminate.reason, "reason").and_then(|reason| {
            let output =
                terminate.output.as_ref().map(|texts| self.view(outputs).terminate_output(task, texts));
            Ok((reason, output.transpose()?))
        });
        let (reason, output) = match prepared {
            Ok(prepared) => prepared,
            Err(failure) => return self.fail_begin(task, failure),
        };
        let (id, frame) = (self.tasks[task].id.clone(), self.tasks[task].place.frame);
        let status = if terminate.success { "success" } else { "failed" };
        let entry =
            json!({ "status": status, "reason": reason, "terminated_by": self.node(task).name.as_ref() });
        let output = output.map(|value| store(outputs, &value));
        let within = self.frame_task(frame);
        let ending = Ending::Terminated { task: id, success: terminate.success, reason, output };
        self.emit(Event::WorkflowEnding { within, ending });
        self.succeed(task, &entry, outputs);
    }

    pub(crate) fn begin_sub_plan(&mut self, task: TaskIx, sub: &SubPlan, outputs: &dyn Outputs) {
        match self.view(outputs).sub_inputs(task, sub) {
            Ok(inputs) => {
                let inputs = Some(store(outputs, &Json::Object(inputs)));
                self.emit(Event::TaskStarted { task: self.tasks[task].id.clone(), until: None, inputs });
            }
            Err(failure) => self.fail_begin(task, failure),
        }
    }

    pub(crate) fn begin_parallel(&mut self, task: TaskIx) {
        let (frame, node) = (self.tasks[task].place.frame, self.tasks[task].node);
        if let Some(failure) = self.iterations_failure(frame, node, self.group_iterations(task)) {
            return self.end_frame_by(frame, Some(task), failure);
        }
        self.emit(Event::TaskStarted { task: self.tasks[task].id.clone(), until: None, inputs: None });
    }

    pub(crate) fn begin_for_each(&mut self, task: TaskIx, each: &ForEach, outputs: &dyn Outputs) {
        let (count, items, keys) = match self.view(outputs).fan_out(task, each) {
            Ok(fan_out) => fan_out,
            Err(failure) => return self.fail_begin(task, failure),
        };
        let (frame, node) = (self.tasks[task].place.frame, self.tasks[task].node);
        let counted = self.item_iterations(task, count);
        if let Some(failure) =
            self.iterations_failure(frame, node, counted).or_else(|| self.too_many_items(task, count))
        {
            return self.end_frame_by(frame, Some(task), failure);
        }
        self.emit(Event::FannedOut { task: self.tasks[task].id.clone(), count, items, keys });
    }
}

/// Whether the work can change anything outside of the run.
fn touches_world(work: &Work) -> bool {
    match work {
        Work::Agent(call) => !call.settings.servers.is_empty() || call.settings.provider.program.is_some(),
        _ => true,
    }
}

impl View<'_> {
    /// What the next attempt of a task is asked to do.
    pub fn assignment(&self, task: TaskIx) -> Result<Assignment, Failure> {
        let node = self.node(task);
        let work = match &node.kind {
            Kind::Agent(agent) => Work::Agent(Box::new(self.asked_call(task, agent)?)),
            Kind::Script(script) => Work::Script(Box::new(self.script_call(task, script)?)),
            Kind::Tool(tool) => Work::Tool(Box::new(self.tool_work(task, tool)?)),
            other => {
                let composite = self.own_composite(task);
                let work = composite.and_then(|composite| composite.attempt(self, task));
                let message = || format!("step `{}` of type {} makes no attempts", node.name, other.word());
                work.ok_or_else(|| Failure::new(Class::Fatal, message()))??
            }
        };
        self.assignment_of(task, work)
    }

    /// This work, as the next attempt of a task.
    pub(super) fn assignment_of(&self, task: TaskIx, work: Work) -> Result<Assignment, Failure> {
        let node = self.node(task);
        let key = if touches_world(&work) { self.effect_key(task) } else { Arc::default() };
        let contract = self.contract_of(task, &work).map(Box::new);
        let workspace = self.workspace_call(task, &work)?.map(Box::new);
        let proof = self.proof_call(task, &work)?.map(Box::new);
        let pieces = |pieces: &[Payload]| -> Result<Vec<JsonText>, Failure> {
            pieces.iter().map(|piece| self.turn(task, piece)).collect()
        };
        Ok(Assignment {
            trace: None,
            task: self.tasks[task].id.clone(),
            attempt: self.tasks[task].attempts + 1,
            key,
            step: self.step_word(task),
            work,
            seed: self.seed,
            continues: pieces(&self.tasks[task].turns)?,
            past: pieces(&self.tasks[task].past)?,
            answer: self.answer_to(task),
            retry: node.retry.clone(),
            failures: self.tasks[task].failures,
            cut_off: self.tasks[task].cut_off,
            known_results: self.known_results(task),
            remembered: self.remembered(),
            guidance: self.tasks[task].guidance.clone(),
            contract,
            workspace,
            proof,
        })
    }

    fn turn(&self, task: TaskIx, piece: &Payload) -> Result<JsonText, Failure> {
        self.read(piece).ok_or_else(|| {
            let name = &self.node(task).name;
            let message = format!("step `{name}`: a part of its conversation is missing in the journal");
            Failure::new(Class::Fatal, message)
        })
    }

    /// The plans of calls that a person allowed for the rest of the run.
    fn remembered(&self) -> Vec<Digest> {
        let read = |answer: &Payload| serde_json::from_str(self.read(answer)?.as_str()).ok();
        let of = |answer| match answer {
            Answer::Approval { rulings } => rulings.into_values().collect(),
            _ => Vec::new(),
        };
        let ruled = self.remembers.iter().filter_map(read).flat_map(of);
        let remembered = ruled.filter(|ruling: &Ruling| ruling.verdict == Verdict::Remember);
        remembered.map(|ruling| ruling.plan).collect()
    }

    /// What a person said to an attempt that asked, for the one that goes on.
    fn answer_to(&self, task: TaskIx) -> Option<Answer> {
        let answer = self.tasks[task].answer.as_ref().filter(|_| !self.tasks[task].turns.is_empty())?;
        serde_json::from_str(self.read(answer)?.as_str()).ok()
    }

    /// The call of an agent, with the question that it answers for another task.
    fn asked_call(&self, task: TaskIx, agent: &Agent) -> Result<AgentCall, Failure> {
        let call = self.agent_call(task, agent)?;
        match self.composite_above(task) {
            Some(composite) => composite.prompt(self, task, call),
            None => Ok(call),
        }
    }

    pub(crate) fn agent_call(&self, task: TaskIx, agent: &Agent) -> Result<AgentCall, Failure> {
        let optional = |text: &Option<Text>, what: &str| {
            text.as_ref().map(|text| self.render(task, text, what)).transpose()
        };
        let model = optional(&agent.model, "model")?.unwrap_or_default();
        let settings = self.settings_for(agent, &model);
        let before = self.before_prompt(task, agent).map(tokens).sum::<u64>();
        let room = binding_room(&settings).map_or(u64::MAX, |room| room.saturating_sub(before));
        let (system, kept) = self.system_within(task, agent, room)?;
        let room = room.saturating_sub(system.as_deref().map_or(0, tokens));
        // Where outputs of what it needs stand behind the prompt, they have a quarter of the room at least.
        let own = if agent.dependency_outputs.is_some() { room / 4 * 3 } else { room };
        let (prompt, kept) = self.text_within(task, (&agent.prompt, "prompt"), own, kept)?;
        let room = room.saturating_sub(tokens(&prompt));
        let (prompt, kept) = self.with_dependencies(task, agent, (prompt, kept), room);
        Ok(AgentCall {
            settings,
            model,
            system,
            prompt: self.with_instructions(task, agent, prompt),
            reasoning_effort: optional(&agent.reasoning_effort, "reasoning effort")?,
            working_dir: optional(&agent.working_dir, "working_dir")?,
            kept,
        })
    }

    /// The system prompt, with the data in it cut where it leaves the prompt less than the prompt takes, or than half of the room.
    fn system_within(
        &self,
        task: TaskIx,
        agent: &Agent,
        room: u64,
    ) -> Result<(Option<String>, Vec<Digest>), Failure> {
        let Some(system) = &agent.system else { return Ok((None, Vec::new())) };
        let is_bound = room < u64::MAX && matches!(system, Text::Template(_));
        let prompt = if is_bound { tokens(&self.render(task, &agent.prompt, "prompt")?) } else { 0 };
        let own = room.saturating_sub(prompt.min(room / 2));
        let (text, kept) = self.text_within(task, (system, "system_prompt"), own, Vec::new())?;
        Ok((Some(text), kept))
    }

    /// Outputs of what the agent needs stand behind its prompt, where it asks for them; and what of them it can read on.
    fn with_dependencies(
        &self,
        task: TaskIx,
        agent: &Agent,
        (prompt, kept): (String, Vec<Digest>),
        room: u64,
    ) -> (String, Vec<Digest>) {
        let Some(each) = agent.dependency_outputs else { return (prompt, kept) };
        // A task without needs needs what its group needs.
        let mut step = task;
        while let Some(group) = self.tasks[step].place.within.filter(|_| self.node(step).needs.is_empty()) {
            step = group;
        }
        match self.dependency_block(task, step, TokenBudget { each, all: room }, kept) {
            (block, kept) if block.is_empty() => (prompt, kept),
            (block, kept) => (format!("{prompt}\n\n{block}"), kept),
        }
    }

    pub(super) fn script_call(&self, task: TaskIx, script: &Script) -> Result<ScriptCall, Failure> {
        let render = |text: &Text, what: &str| self.render(task, text, what);
        let args = script.args.iter().map(|text| render(text, "args")).collect::<Result<_, _>>()?;
        Ok(ScriptCall {
            command: render(&script.command, "command")?,
            args,
            env: script.env.clone(),
            working_dir: script.working_dir.as_ref().map(|text| render(text, "working_dir")).transpose()?,
            stdin: script.stdin.as_ref().map(|text| render(text, "stdin")).transpose()?,
            schema: script.schema.clone(),
            idle: script.idle,
            key: Some(self.effect_key(task)),
            survival: script.survives.map(|timeout| Survival { attach: self.tasks[task].detached, timeout }),
        })
    }

    fn set_value(&self, task: TaskIx, set: &Set) -> Result<Json, Failure> {
        let name = &self.node(task).name;
        let fail = |e: convoke_plan::value::ValueError| {
            Failure::new(Class::InvalidOutput, format!("set step `{name}`: {e}"))
        };
        match set {
            Set::Value { text, ty } => {
                let text = self.render(task, text, "value")?;
                read_set(&text, *ty).map_err(fail)
            }
            Set::Values(values) => {
                let mut all = Map::new();
                for (key, text) in values {
                    let text = self.render(task, text, &format!("value `{key}`"))?;
                    all.insert(
                        key.clone(),
                        read_set(&text, convoke_plan::value::SetType::Auto).map_err(fail)?,
                    );
                }
                Ok(Json::Object(all))
            }
        }
    }

    fn wait_time(&self, task: TaskIx, wait: &Wait) -> Result<Duration, Failure> {
        let name = &self.node(task).name;
        match &wait.duration {
            Span::Millis(ms) => Ok(Duration::from_millis(*ms)),
            Span::Text(text) => {
                let text = self.render(task, text, "duration")?;
                let duration = parse_duration(&text).and_then(|duration| check_wait(duration, &text));
                duration.map_err(|e| Failure::new(Class::Fatal, format!("wait step `{name}`: duration: {e}")))
            }
        }
    }

    fn terminate_output(&self, task: TaskIx, texts: &[(String, Text)]) -> Result<Json, Failure> {
        let mut values = Map::new();
        for (name, text) in texts {
            let rendered = self.render_full(task, text, &format!("output_template `{name}`"))?;
            values.insert(name.clone(), read_output(&rendered));
        }
        Ok(Json::Object(values))
    }

    fn sub_inputs(&self, task: TaskIx, sub: &SubPlan) -> Result<Map<String, Json>, Failure> {
        let name = &self.node(task).name;
        let frame = self.tasks[task].place.frame;
        let limit = sub.max_depth.unwrap_or(MAX_DEPTH).min(MAX_DEPTH);
        if self.frame(frame).depth + 1 > limit {
            let message = format!("workflow step `{name}` stands deeper than {limit} workflows");
            return Err(Failure::new(Class::Fatal, message));
        }
        let child = self.plan.workflow(sub.workflow);
        let given = match &sub.input_mapping {
            Some(mapping) => self.mapped_inputs(task, mapping)?,
            None => self.forwarded_inputs(frame, child.inputs.as_ref().map(|inputs| inputs.keys())),
        };
        check_inputs(child, &given).map_err(|errors| {
            let words: Vec<_> =
                errors.iter().map(|error| format!("`{}`: {}", error.name, error.message)).collect();
            Failure::new(Class::Fatal, format!("workflow step `{name}`: input {}", words.join("; ")))
        })
    }

    fn mapped_inputs(
        &self,
        task: TaskIx,
        mapping: &[(String, Text)],
    ) -> Result<Vec<(String, GivenInput)>, Failure> {
        let render = |(name, text): &(String, Text)| {
            let rendered = self.render(task, text, &format!("input_mapping `{name}`"))?;
            Ok((name.clone(), GivenInput::Text(rendered)))
        };
        mapping.iter().map(render).collect()
    }

    /// Without a mapping a sub-workflow gets its parent's inputs, as far as it declares them.
    fn forwarded_inputs<'a>(
        &self,
        frame: crate::state::FrameIx,
        declared: Option<impl Iterator<Item = &'a String>>,
    ) -> Vec<(String, GivenInput)> {
        let Json::Object(mut inputs) = to_json(&self.inputs_value(frame)) else { return Vec::new() };
        if let Some(declared) = declared {
            let names: Vec<&String> = declared.collect();
            inputs.retain(|name, _| names.contains(&name));
        }
        inputs.into_iter().map(|(name, value)| (name, GivenInput::Json(value))).collect()
    }

    fn fan_out(&self, task: TaskIx, each: &ForEach) -> Result<(u32, Payload, Option<Vec<String>>), Failure> {
        let items = match &each.items {
            Some(items) => items.to_vec(),
            None => self.listed(task, each)?,
        };
        let keys = each.key_by.as_ref().map(|key_by| self.keys(task, key_by, &items)).transpose()?;
        let keys = keys.or_else(|| names(&items).filter(|_| each.named));
        let count = items.len() as u32;
        Ok((count, store(self.outputs, &Json::Array(items)), keys))
    }

    /// The list that a fan-out's path leads to.
    fn listed(&self, task: TaskIx, each: &ForEach) -> Result<Vec<Json>, Failure> {
        let list = self.value_at(task, &each.source, "source")?;
        // A JSON text in an input stands for the list it holds.
        let list = match list.as_str().and_then(|text| from_json_text(text).ok()) {
            Some(parsed) => parsed,
            None => list,
        };
        let Json::Array(items) = to_json(&list) else {
            let (found, path) = (kind_word(&list), each.source.join("."));
            let message =
                format!("for_each `{}`: source `{path}` is {found}, not a list", self.node(task).name);
            return Err(Failure::new(Class::Fatal, message));
        };
        Ok(items)
    }

    /// A group's gathered value as JSON, for people and reports.
    pub fn gathered(&self, task: TaskIx) -> JsonText {
        JsonText::of(&to_json(&self.output_value(task)))
    }
}

impl State {
    /// The name of an agent in messages and scripts: a step by its name, a helper by its step and what it does.
    pub(crate) fn step_word(&self, task: TaskIx) -> Arc<str> {
        match (&self.tasks[task].spec, self.tasks[task].place.within) {
            (Some(question), Some(asks)) => {
                let asks = self.root_of(asks);
                format!("{}/{}", self.node(asks).name, question.kind.word()).into()
            }
            (_, group) => {
                let group = group.map(|group| self.tasks[group].node);
                self.workflow_of(task).known_as(self.tasks[task].node, group).clone()
            }
        }
    }

    /// The workflow's instructions and the agent's skills.
    fn before_prompt<'s>(&'s self, task: TaskIx, agent: &'s Agent) -> impl Iterator<Item = &'s str> {
        self.workflow_of(task).instructions.as_deref().into_iter().chain(agent.skills.as_deref())
    }

    /// The workflow's instructions and the agent's skills stand before every prompt.
    fn with_instructions(&self, task: TaskIx, agent: &Agent, prompt: String) -> String {
        let before: Vec<&str> = self.before_prompt(task, agent).collect();
        if before.is_empty() { prompt } else { format!("{}\n\n{prompt}", before.join("\n\n")) }
    }

    fn too_many_items(&self, task: TaskIx, count: u32) -> Option<Failure> {
        let limit = self.plan.root().limits.max_tasks;
        let wanted = self.tasks.len() as u64 + u64::from(count);
        (wanted > u64::from(limit)).then(|| {
            let name = &self.node(task).name;
            let message = format!("for_each `{name}` with {count} items would pass the limit of {limit} tasks (limits.max_tasks)");
            Failure::new(Class::Budget, message)
                .reason(convoke_model::reason::MAX_TASKS)
                .hint(format!("raise `limits.max_tasks` to at least {wanted}"))
        })
    }

    fn keys(&self, task: TaskIx, key_by: &[String], items: &[Json]) -> Result<Vec<String>, Failure> {
        let mut keys = Vec::with_capacity(items.len());
        let mut seen: HashMap<String, usize> = HashMap::default();
        for (index, item) in items.iter().enumerate() {
            let found =
                key_by.iter().try_fold(item, |value, field| value.get(field)).filter(|key| !key.is_null());
            let key = match found {
                Some(Json::String(text)) => text.clone(),
                Some(other) => python_text(&convoke_plan::template::from_json(other)),
                None => index.to_string(),
            };
            if let Some(before) = seen.insert(key.clone(), index) {
                let name = &self.node(task).name;
                let message =
                    format!("for_each `{name}`: items {before} and {index} have the same key `{key}`");
                return Err(
                    Failure::new(Class::Fatal, message).hint("choose a key_by that tells items apart")
                );
            }
            keys.push(key);
        }
        Ok(keys)
    }
}
