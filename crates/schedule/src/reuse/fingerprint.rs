//! What decides how a task comes out, part by part: what it is asked, as it was rendered, and for people what that was
//! rendered from.
//!
//! Left out is what changes nothing about an answer: addresses and keys of services, prices, time limits, retries, and what a
//! command or a tool reads from the world. Two fingerprints are the same if every rendered part is.

use crate::state::TaskIx;
use crate::view::View;
use convoke_model::{Affected, AgentCall, AgentSettings, Assignment, Digest, Work, reference};
use convoke_plan::template::{parse_template, to_json};
use convoke_plan::{Argument, Kind, Text};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The parts of a task.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fingerprint {
    /// As rendered, by the word for it.
    rendered: BTreeMap<&'static str, Digest>,
    /// As written in the workflow, by the same word.
    written: BTreeMap<&'static str, Digest>,
    /// Values that the texts read.
    read: BTreeMap<Read, Digest>,
    /// Variables of the environment that it reads. Plans and journals have their names, not their values.
    variables: BTreeSet<String>,
}

/// A value that a text reads.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Read {
    Input(String),
    Output(String),
}

impl Fingerprint {
    /// All rendered parts as one.
    pub fn digest(&self) -> Digest {
        let words: Vec<_> = self.rendered.iter().map(|(part, digest)| format!("{part}={digest}")).collect();
        Digest::of(words.join("\n").as_bytes())
    }

    /// What this one has differently from an earlier one; empty if nothing.
    pub fn differences(&self, before: &Fingerprint) -> Vec<Affected> {
        let parts: BTreeSet<_> = self.rendered.keys().chain(before.rendered.keys()).copied().collect();
        let differs = |part: &&str| self.rendered.get(part) != before.rendered.get(part);
        let (mut found, mut unexplained) = (Vec::new(), Vec::new());
        for part in parts.into_iter().filter(differs) {
            let is_text = self.written.contains_key(part) && before.written.contains_key(part);
            match is_text && self.written.get(part) == before.written.get(part) {
                true => unexplained.push(part),
                false => found.push(Affected::Changed(part.to_owned())),
            }
        }
        if !unexplained.is_empty() {
            let values = self.changed_values(before);
            match values.is_empty() && found.is_empty() {
                true => found.extend(unexplained.into_iter().map(|part| Affected::Rendered(part.to_owned()))),
                false => found.extend(values),
            }
        }
        found
    }

    /// Why it cannot be said whether it is the same as another one.
    pub fn unrecorded(&self) -> Vec<Affected> {
        self.variables.iter().cloned().map(Affected::Environment).collect()
    }

    /// Whether a text reads an input of the workflow.
    pub fn reads_input(&self, name: &str) -> bool {
        self.read.contains_key(&Read::Input(name.to_owned()))
    }

    fn changed_values(&self, before: &Fingerprint) -> Vec<Affected> {
        let names: BTreeSet<&Read> = self.read.keys().chain(before.read.keys()).collect();
        let changed = names.into_iter().filter(|name| self.read.get(*name) != before.read.get(*name));
        let words = changed.map(|name| match name {
            Read::Input(name) => Affected::Input(name.clone()),
            Read::Output(step) => Affected::Output(step.clone()),
        });
        words.collect()
    }

    fn part(&mut self, name: &'static str, value: Value) {
        self.rendered.insert(name, digest(&value));
    }

    fn agent(&mut self, call: &AgentCall) {
        let AgentSettings { provider, .. } = &*call.settings;
        self.part("prompt", json!([&call.prompt, &call.kept]));
        self.part("system_prompt", json!(call.system));
        self.part("model", json!(call.model));
        self.part("reasoning_effort", json!(call.reasoning_effort));
        self.part("working_dir", json!(call.working_dir));
        self.part("provider", json!([&provider.name, &provider.file, &provider.program]));
        self.settings(&call.settings);
    }

    fn settings(&mut self, settings: &AgentSettings) {
        self.part("output", json!([&settings.schema, settings.raw]));
        self.part("temperature", json!(settings.temperature));
        self.part("max_tokens", json!(settings.max_tokens));
        self.part("tools", json!([&settings.tools, settings.show_tools, &settings.servers]));
        self.part("validator", json!(settings.validator));
        self.part("success_criteria", json!(settings.success_criteria));
        self.part("models that help", json!([&settings.repair_model, &settings.fallback]));
        self.part("limits of its conversation", json!(settings.capabilities));
    }

    fn work(&mut self, assignment: &Assignment) {
        match &assignment.work {
            Work::Agent(call) => self.agent(call),
            Work::Script(call) => {
                self.part("command", json!(call.command));
                self.part("args", json!(call.args));
                self.part("env", json!(call.env));
                self.variables.extend(call.env.iter().flat_map(|(_, value)| reference::names(value)));
                self.part("working_dir", json!(call.working_dir));
                self.part("stdin", json!(call.stdin));
                self.part("output", json!(call.schema));
            }
            Work::Tool(call) => {
                self.part("tool", json!([&call.server, &call.tool]));
                self.part("arguments", json!(call.arguments));
                self.part("output", json!(call.schema));
            }
            Work::Program(call) => self.agent(&call.agent),
            // Asks about an effect of this run alone.
            Work::Probe(_) => {}
        }
        self.part("contract", json!(assignment.contract));
        if let Some(proof) = &assignment.proof {
            // How often it may try, and what the files were before, say nothing about what must hold.
            self.part("ensure", json!([&proof.conditions, &proof.protect, &proof.policies]));
        }
    }
}

impl View<'_> {
    /// The fingerprint of a task that could start now; `None` if it cannot even be rendered.
    pub(crate) fn fingerprint(&self, task: TaskIx) -> Option<Fingerprint> {
        let assignment = self.assignment(task).ok()?;
        let mut found = Fingerprint::default();
        found.work(&assignment);
        let texts = self.texts(task);
        for (part, text) in &texts {
            let written = self.as_written(text);
            let so_far = found.written.get(part).map(Digest::to_string).unwrap_or_default();
            found.written.insert(part, Digest::of(format!("{so_far}{written}").as_bytes()));
        }
        found.read = self.values_read(task, &texts);
        Some(found)
    }

    /// The texts that a task's work is rendered from.
    fn texts(&self, task: TaskIx) -> Vec<(&'static str, Text)> {
        let some = |part, text: &Option<Text>| text.clone().map(|text| (part, text));
        match &self.node(task).kind {
            Kind::Agent(agent) => {
                let rest = [
                    some("system_prompt", &agent.system),
                    some("model", &agent.model),
                    some("reasoning_effort", &agent.reasoning_effort),
                    some("working_dir", &agent.working_dir),
                ];
                let mut texts = vec![("prompt", agent.prompt.clone())];
                texts.extend(rest.into_iter().flatten());
                let before = self.workflow_of(task).instructions.iter().chain(&agent.skills);
                texts.extend(before.map(|text| ("prompt", Text::Literal(text.to_string().into()))));
                texts
            }
            Kind::Script(script) => {
                let mut texts = vec![("command", script.command.clone())];
                texts.extend(script.args.iter().map(|text| ("args", text.clone())));
                let rest = [some("working_dir", &script.working_dir), some("stdin", &script.stdin)];
                texts.extend(rest.into_iter().flatten());
                texts
            }
            Kind::Tool(tool) => {
                let texts = tool.arguments.iter().flat_map(|(_, argument)| argument_texts(argument));
                texts.map(|text| ("arguments", text)).collect()
            }
            _ => Vec::new(),
        }
    }

    fn as_written(&self, text: &Text) -> String {
        match text {
            Text::Literal(text) => text.to_string(),
            Text::Template(id) => self.plan.templates[id.0 as usize].text.to_string(),
        }
    }

    /// Every value that these texts name, and the outputs that an agent is shown behind its prompt.
    fn values_read(&self, task: TaskIx, texts: &[(&'static str, Text)]) -> BTreeMap<Read, Digest> {
        let mut paths = BTreeSet::new();
        for (_, text) in texts {
            let Text::Template(id) = text else { continue };
            let source = &self.plan.templates[id.0 as usize];
            let parsed = parse_template(&source.text, source.base.as_deref(), &self.plan.partials);
            let references = parsed.map(|parsed| parsed.references()).unwrap_or_default();
            paths.extend(references.into_iter().map(|reference| reference.path));
        }
        let mut read = BTreeMap::new();
        for path in paths {
            let (name, path) = named(&path);
            let value = self.value_at(task, &path, "value").map(|value| to_json(&value));
            read.insert(name, digest(&value.unwrap_or_default()));
        }
        let place = self.tasks[task].place;
        for need in &self.node(task).needs {
            if let Some(before) = self.beside(place, need.node) {
                let name = self.node(before).name.to_string();
                read.entry(Read::Output(name)).or_insert_with(|| digest(&self.json_of(before)));
            }
        }
        read
    }
}

/// What a reference reads, in the words of people, and how far the path goes that is compared.
fn named(path: &[String]) -> (Read, Vec<String>) {
    let words: Vec<&str> = path.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["workflow", "input", name, ..] => (Read::Input((*name).to_owned()), path[..3].to_vec()),
        [step, "output" | "outputs" | "errors", ..] => (Read::Output((*step).to_owned()), path[..1].to_vec()),
        _ => (Read::Input(path.join(".")), path.to_vec()),
    }
}

fn digest(value: &Value) -> Digest {
    Digest::of(value.to_string().as_bytes())
}

/// The templates of a tool's arguments.
fn argument_texts(argument: &Argument) -> Vec<Text> {
    match argument {
        Argument::Value(value) => vec![Text::Literal(value.to_string().into())],
        Argument::Template(id) => vec![Text::Template(*id)],
        Argument::List(items) => items.iter().flat_map(argument_texts).collect(),
        Argument::Map(entries) => entries.iter().flat_map(|(_, argument)| argument_texts(argument)).collect(),
    }
}
