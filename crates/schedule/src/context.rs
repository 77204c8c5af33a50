//! What a text may refer to: the context of a task, built from where the task came from.
//!
//! Only what a text names is built. A step sees its ancestors (needs, routes taken, enclosing groups) and never
//! whatever else happens to be finished, so the same plan and answers always render the same text.

use crate::frame::FrameIx;
use crate::outputs::Outputs;
use crate::scheduler::Scheduler;
use crate::shown::map_value;
use crate::task::{End, TaskIx, TaskState};
use convoke_model::{Class, Failure, JsonText, Payload, reason};
use convoke_plan::template::{
    ConditionId, RenderError, TemplateId, Value, from_json, from_json_text, parse_condition, parse_template,
};
use convoke_plan::{ContextMode, Kind, NodeIx, Plan, Text};
use std::cell::RefCell;
use std::collections::{BTreeMap, BinaryHeap, HashMap, HashSet};
use std::sync::Arc;

/// A context under construction.
pub(crate) type Names = BTreeMap<Arc<str>, Value>;

/// The first names of everything that a text refers to.
#[derive(Debug)]
pub(crate) enum Roots {
    /// It may refer to anything (it includes other texts).
    All,
    /// Exactly these.
    Names(Vec<Arc<str>>),
}

impl Roots {
    fn want(&self, name: &str) -> bool {
        match self {
            Roots::All => true,
            Roots::Names(names) => names.iter().any(|wanted| &**wanted == name),
        }
    }
}

/// Values that were read from payloads, and what texts refer to. A cache: dropping it changes nothing.
pub(crate) struct Values {
    template_roots: RefCell<Vec<Option<Arc<Roots>>>>,
    condition_roots: RefCell<Vec<Option<Arc<Roots>>>>,
    outputs: RefCell<HashMap<TaskIx, Value>>,
    inputs: RefCell<HashMap<u32, Value>>,
    items: RefCell<HashMap<TaskIx, Arc<Vec<Value>>>>,
}

/// Values kept at most; beyond that the cache starts anew.
const KEPT_VALUES: usize = 4096;

impl Values {
    pub fn new(plan: &Plan) -> Values {
        Values {
            template_roots: RefCell::new(vec![None; plan.templates.len()]),
            condition_roots: RefCell::new(vec![None; plan.conditions.len()]),
            outputs: RefCell::default(),
            inputs: RefCell::default(),
            items: RefCell::default(),
        }
    }
}

impl Scheduler {
    /// The JSON text behind a payload; `None` for gathered ones and for blobs that are not to be had.
    pub(crate) fn read(&self, payload: &Payload, outputs: &dyn Outputs) -> Option<JsonText> {
        match payload {
            Payload::Inline(text) => Some(text.clone()),
            Payload::Blob { digest, .. } => outputs.get(digest),
            Payload::Gathered => None,
        }
    }

    /// What a task gave, as templates see it.
    pub(crate) fn output_value(&self, task: TaskIx, outputs: &dyn Outputs) -> Value {
        if let Some(value) = self.values.outputs.borrow().get(&task) {
            return value.clone();
        }
        let value = match &self.tasks[task].output {
            None => Value::from(()),
            Some(Payload::Gathered) => self.group_value(task, outputs),
            Some(payload) => self.read_value(payload, outputs),
        };
        let mut kept = self.values.outputs.borrow_mut();
        if kept.len() >= KEPT_VALUES {
            kept.clear();
        }
        kept.insert(task, value.clone());
        value
    }

    fn read_value(&self, payload: &Payload, outputs: &dyn Outputs) -> Value {
        let text = self.read(payload, outputs);
        text.and_then(|text| from_json_text(text.as_str()).ok()).unwrap_or_else(|| Value::from(()))
    }

    pub(crate) fn inputs_value(&self, frame: FrameIx, outputs: &dyn Outputs) -> Value {
        let mut inputs = self.values.inputs.borrow_mut();
        inputs.entry(frame.0).or_insert_with(|| self.read_value(&self.frame(frame).inputs, outputs)).clone()
    }

    fn item_value(&self, group: TaskIx, index: u32, outputs: &dyn Outputs) -> Value {
        let mut items = self.values.items.borrow_mut();
        let list = items.entry(group).or_insert_with(|| {
            let payload = self.group(group).items.clone().expect("a for_each has items");
            let value = self.read_value(&payload, outputs);
            Arc::new(value.try_iter().map(|items| items.collect()).unwrap_or_default())
        });
        list.get(index as usize).cloned().unwrap_or_else(|| Value::from(()))
    }

    fn template_roots(&self, id: TemplateId) -> Arc<Roots> {
        let mut known = self.values.template_roots.borrow_mut();
        known[id.0 as usize].get_or_insert_with(|| Arc::new(self.find_template_roots(id))).clone()
    }

    fn find_template_roots(&self, id: TemplateId) -> Roots {
        let source = &self.plan.templates[id.0 as usize];
        match parse_template(&source.text, source.base.as_deref(), &self.plan.partials) {
            Ok(parsed) if parsed.includes().is_empty() => {
                roots_of(parsed.references().iter().map(|r| &r.path))
            }
            _ => Roots::All,
        }
    }

    fn condition_roots(&self, id: ConditionId) -> Arc<Roots> {
        let mut known = self.values.condition_roots.borrow_mut();
        known[id.0 as usize]
            .get_or_insert_with(|| {
                let text = &self.plan.conditions[id.0 as usize].text;
                Arc::new(match parse_condition(text) {
                    Ok(parsed) => roots_of(parsed.references().iter().map(|r| &r.path)),
                    Err(_) => Roots::All,
                })
            })
            .clone()
    }

    /// Renders a text of a step, as the step sees the world.
    pub(crate) fn render(
        &self,
        task: TaskIx,
        text: &Text,
        what: &str,
        outputs: &dyn Outputs,
    ) -> Result<String, Failure> {
        self.render_with(task, text, what, outputs, View::OfMode)
    }

    /// Renders a text that sees everything before the step, whatever the mode (gates).
    pub(crate) fn render_full(
        &self,
        task: TaskIx,
        text: &Text,
        what: &str,
        outputs: &dyn Outputs,
    ) -> Result<String, Failure> {
        self.render_with(task, text, what, outputs, View::Full)
    }

    /// Renders a text of a route: everything before the step, and the step itself.
    pub(crate) fn render_after(
        &self,
        task: TaskIx,
        text: &Text,
        what: &str,
        outputs: &dyn Outputs,
    ) -> Result<String, Failure> {
        self.render_with(task, text, what, outputs, View::After)
    }

    fn render_with(
        &self,
        task: TaskIx,
        text: &Text,
        what: &str,
        outputs: &dyn Outputs,
        view: View,
    ) -> Result<String, Failure> {
        let id = match text {
            Text::Literal(text) => return Ok(text.to_string()),
            Text::Template(id) => *id,
        };
        let names = self.names(task, &self.template_roots(id), outputs, view)?;
        let step = &self.node(task).name;
        self.renderer
            .render(id, map_value(names))
            .map_err(|e| template_failure(&format!("step `{step}`: {what}"), &e))
    }

    /// Renders a text of a workflow that has come to its end.
    pub(crate) fn render_in_frame(
        &self,
        frame: FrameIx,
        text: &Text,
        what: &str,
        outputs: &dyn Outputs,
    ) -> Result<String, Failure> {
        self.render_at_end(frame, text, what, Names::new(), outputs)
    }

    /// Renders a hook's text, which may look at the workflow's result.
    pub(crate) fn render_hook(
        &self,
        frame: FrameIx,
        text: &Text,
        hook: &str,
        result: Option<&serde_json::Value>,
        outputs: &dyn Outputs,
    ) -> Result<String, Failure> {
        let result = result.map(|result| ("result".into(), from_json(result)));
        self.render_at_end(frame, text, &format!("hook `{hook}`"), result.into_iter().collect(), outputs)
    }

    fn render_at_end(
        &self,
        frame: FrameIx,
        text: &Text,
        what: &str,
        more: Names,
        outputs: &dyn Outputs,
    ) -> Result<String, Failure> {
        let id = match text {
            Text::Literal(text) => return Ok(text.to_string()),
            Text::Template(id) => *id,
        };
        let mut names = self.names_in_frame(frame, &self.template_roots(id), outputs);
        names.extend(more);
        let name = &self.workflow_in(frame).name;
        let failed = |e| template_failure(&format!("workflow `{name}`: {what}"), &e);
        self.renderer.render(id, map_value(names)).map_err(failed)
    }

    /// Whether a route's condition holds.
    pub(crate) fn holds(
        &self,
        task: TaskIx,
        when: Option<ConditionId>,
        outputs: &dyn Outputs,
    ) -> Result<bool, Failure> {
        let Some(id) = when else { return Ok(true) };
        let roots = self.with_flattened(task, &self.condition_roots(id));
        let mut names = self.names(task, &roots, outputs, View::After)?;
        names.entry("output".into()).or_insert_with(|| self.output_value(task, outputs));
        let step = &self.node(task).name;
        self.renderer
            .test(id, map_value(names))
            .map_err(|e| template_failure(&format!("step `{step}`: when"), &e))
    }

    /// A condition may say `writer_output` for `writer.output`: the names behind such names are wanted as well.
    fn with_flattened(&self, task: TaskIx, roots: &Roots) -> Roots {
        let Roots::Names(names) = roots else { return Roots::All };
        let mut all = names.clone();
        let index = self.index_in(self.tasks[task].place.frame);
        for name in names {
            let cuts = name.match_indices('_').map(|(at, _)| &name[..at]);
            for head in cuts {
                if let Some((known, _)) = index.by_name.get_key_value(head) {
                    all.push(known.clone());
                }
                if matches!(head, "workflow" | "context" | "output") {
                    all.push(head.into());
                }
            }
        }
        Roots::Names(all)
    }

    fn names(
        &self,
        task: TaskIx,
        roots: &Roots,
        outputs: &dyn Outputs,
        view: View,
    ) -> Result<Names, Failure> {
        let mut names = Names::new();
        let frame = self.tasks[task].place.frame;
        let workflow = self.workflow_in(frame);
        let mode = if view == View::OfMode { workflow.context.mode } else { ContextMode::Accumulate };
        if mode == ContextMode::Explicit {
            self.add_explicit(task, roots, &mut names, outputs)?;
        } else {
            self.add_workflow(frame, roots, &mut names, outputs);
            self.add_steps(task, roots, mode, view, &mut names, outputs);
        }
        if roots.want("context") {
            names.insert("context".into(), self.history_value(self.lineage(task, view == View::After)));
        }
        if view == View::After && roots.want("output") {
            names.insert("output".into(), self.output_value(task, outputs));
        }
        self.add_loop_variables(task, roots, &mut names, outputs);
        self.add_error(task, roots, &mut names);
        self.summary_sources(task, &mut names, outputs);
        Ok(names)
    }

    /// The value of a first name, as the step sees it.
    pub(crate) fn named_value(
        &self,
        task: TaskIx,
        name: &str,
        outputs: &dyn Outputs,
    ) -> Result<Option<Value>, Failure> {
        Ok(self.names(task, &Roots::Names(vec![name.into()]), outputs, View::Full)?.remove(name))
    }

    fn add_workflow(&self, frame: FrameIx, roots: &Roots, names: &mut Names, outputs: &dyn Outputs) {
        if roots.want("workflow") {
            names.insert("workflow".into(), self.workflow_value(frame, self.inputs_value(frame, outputs)));
        }
    }

    pub(crate) fn workflow_value(&self, frame: FrameIx, input: Value) -> Value {
        let workflow = self.workflow_in(frame);
        map_value([
            ("input", input),
            ("dir", Value::from(workflow.dir.as_str())),
            ("file", Value::from(workflow.file.as_str())),
            ("name", Value::from(&*workflow.name)),
        ])
    }

    fn add_steps(
        &self,
        task: TaskIx,
        roots: &Roots,
        mode: ContextMode,
        view: View,
        names: &mut Names,
        outputs: &dyn Outputs,
    ) {
        let trimmed = if view == View::OfMode { self.trimming(task, mode, outputs) } else { None };
        let mut add = |step: TaskIx| {
            let name = self.node(step).name.clone();
            if !names.contains_key(&name) {
                names.insert(name, self.entry_value(step, outputs));
            }
        };
        if view == View::After {
            add(task);
        }
        match (roots, &trimmed) {
            (Roots::Names(wanted), None) => {
                let index = self.index_in(self.tasks[task].place.frame);
                for node in wanted.iter().filter_map(|name| index.by_name.get(name)) {
                    let found = match mode {
                        ContextMode::LastOnly => self.predecessor(task, *node),
                        _ => self.ancestor_of(task, *node),
                    };
                    found.into_iter().for_each(&mut add);
                }
            }
            (_, None) => self.visible(task, mode).into_iter().rev().for_each(add),
            (_, Some(trimmed)) => self.add_trimmed(trimmed, roots, names, outputs),
        }
    }

    /// The steps that a task sees, oldest first.
    pub(crate) fn visible(&self, task: TaskIx, mode: ContextMode) -> Vec<TaskIx> {
        match mode {
            ContextMode::LastOnly => self.tasks[task].from.to_vec(),
            _ => self.ancestors(task),
        }
    }

    pub(crate) fn wants(roots: &Roots, name: &str) -> bool {
        roots.want(name)
    }

    fn predecessor(&self, task: TaskIx, node: NodeIx) -> Option<TaskIx> {
        self.tasks[task].from.iter().copied().find(|from| self.tasks[*from].node == node)
    }

    /// The newest ancestor that is an instance of a node.
    pub(crate) fn ancestor_of(&self, task: TaskIx, node: NodeIx) -> Option<TaskIx> {
        let mut next = self.heap_of(task);
        let mut seen = HashSet::new();
        while let Some((_, step)) = next.pop() {
            if self.tasks[step].node == node && self.is_shown(step) {
                return Some(step);
            }
            for from in self.tasks[step].from.iter().copied() {
                if next.is_empty() || seen.insert(from) {
                    next.push((self.tasks[from].ended, from));
                }
            }
        }
        None
    }

    fn heap_of(&self, task: TaskIx) -> BinaryHeap<(u32, TaskIx)> {
        self.tasks[task].from.iter().map(|from| (self.tasks[*from].ended, *from)).collect()
    }

    /// All ancestors, oldest first.
    pub(crate) fn ancestors(&self, task: TaskIx) -> Vec<TaskIx> {
        let mut seen: HashSet<TaskIx> = self.tasks[task].from.iter().copied().collect();
        let mut next: Vec<TaskIx> = seen.iter().copied().collect();
        while let Some(step) = next.pop() {
            next.extend(self.tasks[step].from.iter().copied().filter(|from| seen.insert(*from)));
        }
        let mut all: Vec<_> = seen.into_iter().filter(|step| self.is_shown(*step)).collect();
        all.sort_by_key(|step| self.tasks[*step].ended);
        all
    }

    fn is_shown(&self, step: TaskIx) -> bool {
        matches!(self.tasks[step].state, TaskState::Ended(End::Succeeded | End::Failed))
    }

    fn lineage(&self, task: TaskIx, itself: bool) -> Vec<TaskIx> {
        let mut steps = self.ancestors(task);
        steps.extend(itself.then_some(task));
        steps.retain(|step| self.tasks[*step].succeeded());
        steps
    }

    fn history_value(&self, steps: Vec<TaskIx>) -> Value {
        let names: Vec<Value> = steps.iter().map(|step| Value::from(&*self.node(*step).name)).collect();
        map_value([("iteration", Value::from(names.len())), ("history", Value::from(names))])
    }

    /// What a finished step is in templates: `name.output`, or a group's own keys.
    pub(crate) fn entry_value(&self, step: TaskIx, outputs: &dyn Outputs) -> Value {
        if let Some(failure) = self.tasks[step].failure.as_deref().filter(|_| !self.tasks[step].succeeded()) {
            return map_value([("error", self.error_value(step, failure))]);
        }
        let value = self.output_value(step, outputs);
        if self.node(step).kind.is_group() { value } else { map_value([("output", value)]) }
    }

    fn error_value(&self, step: TaskIx, failure: &Failure) -> Value {
        map_value([
            ("class", Value::from(failure.class.word())),
            ("message", Value::from(failure.message.as_str())),
            ("step", Value::from(&*self.node(step).name)),
        ])
    }

    fn add_error(&self, task: TaskIx, roots: &Roots, names: &mut Names) {
        if !roots.want("error") || !self.tasks[task].after_error {
            return;
        }
        let failed = self.tasks[task]
            .from
            .iter()
            .find_map(|from| Some((*from, self.tasks[*from].failure.as_deref()?)));
        if let Some((step, failure)) = failed {
            names.insert("error".into(), self.error_value(step, failure));
        }
    }

    /// Loop variables of every for_each around the task; inner ones win.
    fn add_loop_variables(&self, task: TaskIx, roots: &Roots, names: &mut Names, outputs: &dyn Outputs) {
        let mut done: HashSet<Arc<str>> = HashSet::new();
        let mut next = Some(task);
        while let Some(member) = next {
            let place = self.tasks[member].place;
            let (Some(group), item) = (place.within, place.item) else { return };
            if let (Some(index), Kind::ForEach(each)) = (item, &self.node(group).kind) {
                let mut bind = |name: Arc<str>, value: &dyn Fn() -> Value| {
                    if roots.want(&name) && done.insert(name.clone()) {
                        names.insert(name, value());
                    }
                };
                bind(each.variable.clone(), &|| self.item_value(group, index, outputs));
                bind("_index".into(), &|| Value::from(index));
                if each.key_by.is_some() {
                    bind("_key".into(), &|| Value::from(&*self.key_of(group, index)));
                }
            }
            next = Some(group);
        }
    }

    fn names_in_frame(&self, frame: FrameIx, roots: &Roots, outputs: &dyn Outputs) -> Names {
        let mut names = Names::new();
        self.add_workflow(frame, roots, &mut names, outputs);
        if roots.want("context") {
            names.insert("context".into(), self.history_value(self.frame(frame).history.clone()));
        }
        let latest = &self.frame(frame).latest;
        match roots {
            Roots::Names(wanted) => {
                let by_name = &self.index_in(frame).by_name;
                let steps = wanted.iter().filter_map(|name| latest.get(by_name.get(name)?));
                for step in steps {
                    names.insert(self.node(*step).name.clone(), self.entry_value(*step, outputs));
                }
            }
            Roots::All => {
                for step in latest.values() {
                    names.insert(self.node(*step).name.clone(), self.entry_value(*step, outputs));
                }
            }
        }
        self.add_ending(frame, roots, &mut names);
        names
    }

    /// Hooks at the end of a workflow may look at why it failed.
    fn add_ending(&self, frame: FrameIx, roots: &Roots, names: &mut Names) {
        use crate::frame::FrameEnding::Stated;
        let Some(Stated(convoke_model::Ending::Failed { task, failure })) = &self.frame(frame).ending else {
            return;
        };
        if roots.want("error") {
            let mut fields = vec![
                ("class", Value::from(failure.class.word())),
                ("type", Value::from(failure.class.word())),
                ("message", Value::from(failure.message.as_str())),
                ("step", Value::from(task.as_ref().map(|task| task.0.to_string()))),
            ];
            fields.extend(failure.hint.as_deref().map(|hint| ("suggestion", Value::from(hint))));
            names.insert("error".into(), map_value(fields));
        }
    }
}

/// How much of what came before a text may see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum View {
    /// As the workflow's context mode says.
    OfMode,
    /// Everything before the step.
    Full,
    /// Everything before the step, and the step itself.
    After,
}

fn roots_of<'a>(paths: impl Iterator<Item = &'a Vec<String>>) -> Roots {
    let mut names: Vec<Arc<str>> =
        paths.filter_map(|path| path.first()).map(|name| name.as_str().into()).collect();
    names.sort();
    names.dedup();
    Roots::Names(names)
}

pub(crate) fn template_failure(what: &str, error: &RenderError) -> Failure {
    Failure::new(Class::Fatal, format!("{what}: template error: {error}")).reason(reason::TEMPLATE)
}
