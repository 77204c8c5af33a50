//! Every text of a workflow that is rendered or evaluated, with its owner and what it may see.

use super::outline::{Item, Outline};
use crate::plan::{PromptKind, VARIABLES};
use crate::source::workflow::{
    AgentStep, Clearance, Condition, Ensure, GateStep, GoalStep, Hook, PhaseStep, QuestionsStep, ReduceStep,
    Route, ScriptStep, SetStep, Step, StepKind, Templates, TerminateStep, ToolStep, VerifyStep, WaitDuration,
    WaitStep, WorkerKind, WorkflowStep, edge_between,
};
use crate::source::{Spanned, Text};

/// How a text is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Rendered to text.
    Template,
    /// Evaluated to true or false.
    Condition,
}

/// From where a text looks at what has run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum View {
    /// When this item starts.
    Before(usize),
    /// When this item has ended: it sees itself too.
    After(usize),
    /// When an item of this fan-out starts, in its inline body.
    Inside(usize),
    /// When the workflow ends.
    End,
    /// In a hook.
    Hook,
}

/// One text and its surroundings.
pub(crate) struct Site<'a> {
    /// The text.
    pub text: &'a Text,
    /// How it is read.
    pub form: Form,
    /// What it may see.
    pub view: View,
    /// The step that it belongs to; `None` for groups, hooks and the workflow's output.
    pub step: Option<&'a Step>,
    /// Its owner, for messages.
    pub owner: String,
    /// The key that holds it.
    pub key: String,
    /// Further names that it is given: those of a role of a goal, or of a question that a step asks on its way.
    pub given: &'static [&'static str],
}

/// All texts of a workflow.
pub(crate) fn texts<'a>(outline: &Outline<'a>) -> Vec<Site<'a>> {
    let mut found = Vec::new();
    let by_hook: Vec<usize> = outline.hook_steps().into_iter().map(|(_, ix)| ix).collect();
    for (ix, item) in outline.items.iter().enumerate() {
        let owner = format!("{} `{}`", word(item), item.name().value);
        if let Item::Step(step) = item {
            let view = if by_hook.contains(&ix) { View::Hook } else { View::Before(ix) };
            Collector { view, step: Some(step), owner: owner.clone(), given: &[], found: &mut found }
                .step(step);
        } else {
            let (view, owner) = (View::Before(ix), owner.clone());
            Collector { view, step: None, owner, given: &[], found: &mut found }
                .proof(item.common().ensure.as_ref());
        }
        let mut after = Collector { view: View::After(ix), step: None, owner, given: &[], found: &mut found };
        item.common().routes.iter().for_each(|route| after.route(route));
    }
    for (ix, step) in outline.inline() {
        let owner = format!("inline agent `{}` of `{}`", step.name.value, outline.name(ix));
        Collector { view: View::Inside(ix), step: Some(step), owner, given: &[], found: &mut found }
            .step(step);
    }
    whole(outline, &mut found);
    found
}

fn word(item: &Item<'_>) -> &'static str {
    match item {
        Item::Step(Step { kind: StepKind::Phase(_), .. }) => "node",
        item => item.word(),
    }
}

/// The texts that belong to no step.
fn whole<'a>(outline: &Outline<'a>, found: &mut Vec<Site<'a>>) {
    let workflow = outline.workflow;
    if let Some(output) = &workflow.output {
        let owner = "workflow output".to_owned();
        Collector { view: View::End, step: None, owner, given: &[], found }.named("output", output);
    }
    let hooks = &workflow.hooks;
    for (key, hook) in
        [("on_start", &hooks.on_start), ("on_complete", &hooks.on_complete), ("on_error", &hooks.on_error)]
    {
        let owner = format!("hook {key}");
        let mut collector = Collector { view: View::Hook, step: None, owner, given: &[], found };
        match hook {
            Some(Hook::Message(text)) => collector.add(key, text),
            Some(Hook::Command { command, args, .. }) => {
                collector.add("command", command);
                collector.list("args", args);
            }
            Some(Hook::Step(_)) | None => {}
        }
    }
}

struct Collector<'a, 'b> {
    view: View,
    step: Option<&'a Step>,
    owner: String,
    given: &'static [&'static str],
    found: &'b mut Vec<Site<'a>>,
}

impl<'a> Collector<'a, '_> {
    fn step(&mut self, step: &'a Step) {
        match &step.kind {
            StepKind::Agent(agent) => self.agent(agent),
            StepKind::HumanGate(gate) => self.gate(gate),
            StepKind::Questions(questions) => self.questions(questions),
            StepKind::Script(script) => self.script(script),
            StepKind::Set(set) => self.set(set),
            StepKind::Terminate(terminate) => self.terminate(terminate),
            StepKind::Tool(tool) => self.tool(tool),
            StepKind::Wait(wait) => self.wait(wait),
            StepKind::Workflow(call) => self.call(call),
            StepKind::Reduce(reduce) => self.reduce(reduce),
            StepKind::Verify(verify) => self.verify(verify),
            StepKind::Phase(phase) => self.phase(phase),
            StepKind::Goal(goal) => self.goal(goal),
            StepKind::Unknown => {}
        }
        self.expectations(step);
        self.probe(step);
        self.proof(step.common.ensure.as_ref());
    }

    fn agent(&mut self, agent: &'a AgentStep) {
        self.model(agent);
        self.optional("prompt", agent.prompt.as_ref());
    }

    /// A model that a step asks on its way, with the words of the question where they are the step's own.
    fn helper(&mut self, prompt: PromptKind, key: &str, agent: &'a AgentStep) {
        self.model(agent);
        self.given = prompt.variables();
        self.optional(key, agent.prompt.as_ref());
        self.given = &[];
    }

    fn model(&mut self, agent: &'a AgentStep) {
        self.optional("model", agent.model.as_ref());
        self.optional("system_prompt", agent.system_prompt.as_ref());
        self.optional("reasoning.effort", agent.reasoning_effort.as_ref());
        self.optional("working_dir", agent.working_dir.as_ref());
    }

    /// Models that the step asks on its way, besides those of its kind.
    fn expectations(&mut self, step: &'a Step) {
        if let Some(repairer) = &step.common.repair_input {
            self.helper(PromptKind::RepairInput, "repair_input.prompt", repairer);
        }
    }

    /// What finds out whether the step had its effect.
    fn probe(&mut self, step: &'a Step) {
        let Some(probe) = &step.common.probe else { return };
        self.optional("probe.command", probe.command.as_ref());
        self.list("probe.args", &probe.args);
        self.optional("probe.working_dir", probe.working_dir.as_ref());
        self.optional("probe.stdin", probe.stdin.as_ref());
        for (name, entry) in &probe.arguments {
            let key = format!("probe.arguments `{name}`");
            entry.value.texts().into_iter().for_each(|text| self.add(&key, text));
        }
    }

    /// What must hold; texts that are rendered before the work begins.
    fn proof(&mut self, ensure: Option<&'a Ensure>) {
        for condition in ensure.iter().flat_map(|ensure| &ensure.conditions) {
            let key = format!("ensure `{}`", condition.what.word());
            condition.what.texts().into_iter().for_each(|text| self.add(&key, text));
        }
    }

    fn reduce(&mut self, reduce: &'a ReduceStep) {
        self.optional("query", reduce.query.as_ref());
        self.optional("instructions", reduce.instructions.as_ref());
        self.optional("rlm.model", reduce.rlm.as_ref().and_then(|rlm| rlm.model.as_ref()));
        let prompt = if reduce.strategy.value.chooses() { PromptKind::Choose } else { PromptKind::Merge };
        self.helper(prompt, "prompt", &reduce.agent);
    }

    fn verify(&mut self, verify: &'a VerifyStep) {
        self.optional("query", verify.query.as_ref());
        self.optional("constraints", verify.constraints.as_ref());
        self.helper(PromptKind::Assess, "assessor.prompt", &verify.assessor);
        self.helper(PromptKind::Correct, "repairer.prompt", &verify.repairer);
    }

    fn phase(&mut self, phase: &'a PhaseStep) {
        for (persona, clearance, worker) in phase.players() {
            match &worker.kind {
                WorkerKind::Agent(agent) => self.persona(persona, clearance, agent),
                WorkerKind::Script(script) => self.script(script),
            }
            self.proof(worker.common.ensure.as_ref());
        }
        let Some(step) = self.step else { return };
        let node = std::mem::take(&mut self.owner);
        for edge in &phase.edges {
            self.owner = edge_between(&edge.from.value, &step.name.value);
            for condition in &edge.when {
                if let Condition::Expression(text) = condition {
                    self.push("when".to_owned(), text, Form::Condition);
                }
            }
        }
        self.owner = node;
    }

    /// A model in a role: its texts stand under other keys than those of an agent, and some of them with the persona.
    fn persona(&mut self, persona: &Spanned<String>, clearance: &Clearance, agent: &'a AgentStep) {
        let (of_persona, of_actor) = match clearance.model {
            Some(_) => (agent.model.as_ref(), None),
            None => (None, agent.model.as_ref()),
        };
        let node = std::mem::replace(&mut self.owner, format!("persona `{}`", persona.value));
        self.optional("modelConstraint", of_persona);
        self.optional("systemPromptTemplate", agent.system_prompt.as_ref());
        self.owner = node;
        self.optional("model", of_actor);
        self.optional("task", agent.prompt.as_ref());
        self.optional("reasoning.effort", agent.reasoning_effort.as_ref());
        self.optional("working_dir", agent.working_dir.as_ref());
    }

    fn goal(&mut self, goal: &'a GoalStep) {
        self.optional("goal", goal.goal.as_ref());
        self.optional("context", goal.context.as_ref());
        self.optional("plan", goal.plan.as_ref());
        self.given = VARIABLES;
        for (role, agent) in &goal.roles {
            let key = format!("roles.{}", role.word());
            self.optional(&format!("{key}.model"), agent.model.as_ref());
            self.optional(&format!("{key}.system_prompt"), agent.system_prompt.as_ref());
            self.optional(&format!("{key}.prompt"), agent.prompt.as_ref());
            self.optional(&format!("{key}.reasoning.effort"), agent.reasoning_effort.as_ref());
            self.optional("working_dir", agent.working_dir.as_ref());
        }
        self.given = &[];
    }

    fn gate(&mut self, gate: &'a GateStep) {
        self.optional("prompt", gate.prompt.as_ref());
        gate.options.iter().for_each(|option| self.add("label", &option.label));
    }

    fn questions(&mut self, step: &'a QuestionsStep) {
        self.optional("prompt", step.prompt.as_ref());
        for question in step.questions.iter().flatten() {
            self.add("text", &question.text);
            self.optional("hint", question.hint.as_ref());
            self.optional("default", question.default.as_ref());
        }
    }

    fn script(&mut self, script: &'a ScriptStep) {
        self.optional("command", script.command.as_ref());
        self.list("args", &script.args);
        self.optional("working_dir", script.working_dir.as_ref());
        self.optional("stdin", script.stdin.as_ref());
    }

    fn set(&mut self, set: &'a SetStep) {
        self.optional("value", set.value.as_ref());
        if let Some(values) = &set.values {
            self.named("values", values);
        }
    }

    fn terminate(&mut self, step: &'a TerminateStep) {
        self.optional("reason", step.reason.as_ref());
        if let Some(output) = &step.output_template {
            self.named("output_template", output);
        }
    }

    fn tool(&mut self, tool: &'a ToolStep) {
        for (name, entry) in &tool.arguments {
            let key = format!("arguments `{name}`");
            entry.value.texts().into_iter().for_each(|text| self.add(&key, text));
        }
    }

    fn wait(&mut self, wait: &'a WaitStep) {
        if let Some(WaitDuration::Template(text)) = &wait.duration {
            self.add("duration", text);
        }
        self.optional("reason", wait.reason.as_ref());
    }

    fn call(&mut self, call: &'a WorkflowStep) {
        if let Some(mapping) = &call.input_mapping {
            self.named("input_mapping", mapping);
        }
    }

    fn route(&mut self, route: &'a Route) {
        if let Some(when) = &route.when {
            self.push("when".to_owned(), when, Form::Condition);
        }
        if let Some(output) = &route.output {
            self.named("route output", output);
        }
    }

    fn named(&mut self, key: &str, texts: &'a Templates) {
        for (name, entry) in texts {
            self.push(format!("{key} `{name}`"), &entry.value, Form::Template);
        }
    }

    fn list(&mut self, key: &str, texts: &'a [Text]) {
        texts.iter().for_each(|text| self.add(key, text));
    }

    fn optional(&mut self, key: &str, text: Option<&'a Text>) {
        if let Some(text) = text {
            self.add(key, text);
        }
    }

    fn add(&mut self, key: &str, text: &'a Text) {
        self.push(key.to_owned(), text, Form::Template);
    }

    fn push(&mut self, key: String, text: &'a Text, form: Form) {
        let (view, step, owner, given) = (self.view, self.step, self.owner.clone(), self.given);
        self.found.push(Site { text, form, view, step, owner, key, given });
    }
}
