//! What a text may refer to: the context of a task, built from where the task came from.
//!
//! Only what a text names is built. A step sees its ancestors (needs, routes taken, enclosing groups) and never
//! whatever else happens to be finished, so the same plan and answers always render the same text.

mod dependencies;
mod explicit;
mod name;
mod naming;
mod roots;
mod texts;
mod trim;
mod values;
mod window;
mod work;

pub(crate) use dependencies::TokenBudget;
pub use name::Name;
pub use roots::Roots;
pub(crate) use texts::part_of;
pub(crate) use values::{map_value, with_values};
pub(crate) use window::{Fitted, Heads, binding_room, level};
pub(crate) use work::{WORK, names};

use crate::state::{End, FrameEnding, FrameIx, Stage, State, TaskIx, TaskState};
use crate::view::View;
use convoke_model::{Class, Ending, Failure, HookPoint, reason};
use convoke_plan::template::{ConditionId, RenderError, TemplateId, Value, from_json};
use convoke_plan::value::read_output;
use convoke_plan::{ContextMode, Kind, Text};
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// A context under construction.
pub type Names = BTreeMap<Name, Value>;

impl View<'_> {
    /// Renders a text of a step, as the step sees the world.
    pub(crate) fn render(&self, task: TaskIx, text: &Text, what: &str) -> Result<String, Failure> {
        self.render_with(task, text, what, Scope::OfMode)
    }

    /// The value of a template of a step: of a single expression its own, else the text.
    pub(crate) fn value_of(&self, task: TaskIx, id: TemplateId, what: &str) -> Result<Value, Failure> {
        let names = self.names(task, &self.template_roots(id), Scope::OfMode)?;
        let failed = |e| self.text_failure(task, what, &e);
        self.renderer.value(id, map_value(names)).map_err(failed)
    }

    /// Renders a text that sees everything before the step, whatever the mode (gates).
    pub(crate) fn render_full(&self, task: TaskIx, text: &Text, what: &str) -> Result<String, Failure> {
        self.render_with(task, text, what, Scope::Full)
    }

    /// Renders a text of a route: everything before the step, and the step itself.
    pub(crate) fn render_after(&self, task: TaskIx, text: &Text, what: &str) -> Result<String, Failure> {
        self.render_with(task, text, what, Scope::After)
    }

    /// Renders a text of a step that is given some values besides what the step sees.
    pub(crate) fn render_given(
        &self,
        task: TaskIx,
        text: &Text,
        what: &str,
        given: Vec<(&'static str, Json)>,
    ) -> Result<String, Failure> {
        let id = match text {
            Text::Literal(text) => return Ok(text.to_string()),
            Text::Template(id) => *id,
        };
        let mut names = self.names(task, &self.template_roots(id), Scope::OfMode)?;
        names.extend(given.into_iter().map(|(name, value)| (name.into(), from_json(&value))));
        self.renderer.render(id, map_value(names)).map_err(|e| self.text_failure(task, what, &e))
    }

    fn render_with(&self, task: TaskIx, text: &Text, what: &str, scope: Scope) -> Result<String, Failure> {
        let id = match text {
            Text::Literal(text) => return Ok(text.to_string()),
            Text::Template(id) => *id,
        };
        let names = self.names(task, &self.template_roots(id), scope)?;
        self.renderer.render(id, map_value(names)).map_err(|e| self.text_failure(task, what, &e))
    }

    /// The same with the data in it shown by its heads. Lists that were cut are told of behind the text: an entry that says so
    /// would be no entry that the template expects.
    pub(crate) fn render_cut(
        &self,
        task: TaskIx,
        id: TemplateId,
        what: &str,
        heads: Heads,
    ) -> Result<Fitted, Failure> {
        let mut names = self.names(task, &self.template_roots(id), Scope::OfMode)?;
        let (cut, notes) = self.cut_names(task, heads, &mut names);
        let failed = |e| self.text_failure(task, what, &e);
        let mut text = self.renderer.render(id, map_value(names)).map_err(failed)?;
        for note in notes {
            text.push_str("\n\n");
            text.push_str(&note);
        }
        Ok(Fitted { text, cut })
    }

    /// What an output of a workflow that has come to its end is read as.
    pub(crate) fn output_in_frame(&self, frame: FrameIx, name: &str, text: &Text) -> Result<Json, Failure> {
        if let Text::Template(id) = text {
            let names = || map_value(self.names_in_frame(frame, &self.template_roots(*id)));
            if let Some(value) = self.renderer.read_back(*id, names) {
                return Ok(value);
            }
        }
        let what = format!("workflow output `{name}`");
        self.render_at_end(frame, text, &what, Names::new()).map(|text| read_output(&text))
    }

    /// Renders a hook's text, which may look at the workflow's result.
    pub(crate) fn hook_text(
        &self,
        frame: FrameIx,
        text: &Text,
        hook: HookPoint,
        result: Option<&Json>,
    ) -> Result<String, Failure> {
        let result = result.map(|result| ("result".into(), from_json(result)));
        self.render_at_end(frame, text, &format!("hook `{}`", hook.word()), result.into_iter().collect())
    }

    /// Renders a text of a workflow that has come to its end.
    fn render_at_end(&self, frame: FrameIx, text: &Text, what: &str, more: Names) -> Result<String, Failure> {
        let id = match text {
            Text::Literal(text) => return Ok(text.to_string()),
            Text::Template(id) => *id,
        };
        let mut names = self.names_in_frame(frame, &self.template_roots(id));
        names.extend(more);
        let name = &self.workflow_in(frame).name;
        let failed = |e| template_failure(&format!("workflow `{name}`: {what}"), &e);
        self.renderer.render(id, map_value(names)).map_err(failed)
    }

    /// Whether a route's condition holds.
    pub(crate) fn holds(&self, task: TaskIx, when: Option<ConditionId>) -> Result<bool, Failure> {
        let Some(id) = when else { return Ok(true) };
        let roots = self.with_flattened(task, &self.condition_roots(id));
        let mut names = self.names(task, &roots, Scope::After)?;
        names.entry("output".into()).or_insert_with(|| self.output_value(task));
        let step = &self.node(task).name;
        self.renderer
            .test(id, map_value(names))
            .map_err(|e| template_failure(&format!("step `{step}`: when"), &e))
    }

    /// Whether a condition holds that looks at what came before a step, and at some values besides.
    pub(crate) fn holds_with(
        &self,
        task: TaskIx,
        id: ConditionId,
        what: &str,
        more: Vec<(&'static str, Value)>,
    ) -> Result<bool, Failure> {
        let roots = self.with_flattened(task, &self.condition_roots(id));
        let mut names = self.names(task, &roots, Scope::Full)?;
        names.extend(more.into_iter().map(|(name, value)| (name.into(), value)));
        let condition = self.plan.conditions[id.0 as usize].text.trim();
        let failed = |e| template_failure(&format!("{what}: when `{condition}`"), &e);
        self.renderer.test(id, map_value(names)).map_err(failed)
    }

    fn names(&self, task: TaskIx, roots: &Roots, scope: Scope) -> Result<Names, Failure> {
        let frame = self.tasks[task].place.frame;
        if self.tasks[task].hook && self.tasks[task].summary_for.is_none() {
            return Ok(self.names_of_hook(frame, roots));
        }
        let mut names = Names::new();
        let workflow = self.workflow_in(frame);
        let mode = if scope == Scope::OfMode { workflow.context.mode } else { ContextMode::Accumulate };
        if mode == ContextMode::Explicit {
            self.add_explicit(task, roots, &mut names)?;
        } else {
            self.add_workflow(frame, roots, &mut names);
            self.add_steps(task, roots, mode, scope, &mut names);
        }
        if roots.want("context") {
            names.insert("context".into(), self.history_value(self.lineage(task, scope == Scope::After)));
        }
        if scope == Scope::After && roots.want("output") {
            names.insert("output".into(), self.output_value(task));
        }
        self.add_loop_variables(task, roots, &mut names);
        self.add_error(task, roots, &mut names);
        let composite = self.composite_above(task);
        let added = composite.map(|composite| composite.names(self, task, roots, &mut names)).transpose()?;
        if added != Some(true) {
            self.add_pipeline_names(frame, roots, &mut names);
        }
        self.summary_sources(task, &mut names);
        Ok(names)
    }

    /// The value of a first name, as the step sees it.
    pub(crate) fn named_value(&self, task: TaskIx, name: &str) -> Result<Option<Value>, Failure> {
        Ok(self.names(task, &Roots::Names(vec![name.into()]), Scope::Full)?.remove(name))
    }

    fn add_workflow(&self, frame: FrameIx, roots: &Roots, names: &mut Names) {
        if roots.want("workflow") {
            names.insert("workflow".into(), self.whole_workflow_value(frame));
        }
    }

    fn add_steps(&self, task: TaskIx, roots: &Roots, mode: ContextMode, scope: Scope, names: &mut Names) {
        let trimmed = if scope == Scope::OfMode { self.trimming(task, mode) } else { None };
        let mut add = |step: TaskIx| {
            let name = self.called(step);
            let seen = self.repaired(task, self.tasks[step].node).unwrap_or(step);
            names.entry(name.into()).or_insert_with(|| self.entry_value(seen));
        };
        if scope == Scope::After {
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
            (_, Some(trimmed)) => self.add_trimmed(task, trimmed, roots, names),
        }
    }

    /// What a finished step is in templates: `name.output`, or a group's own keys.
    pub(crate) fn entry_value(&self, step: TaskIx) -> Value {
        if let Some(failure) = self.tasks[step].failure.as_deref().filter(|_| !self.tasks[step].succeeded()) {
            let error = ("error", self.error_value(step, failure));
            let left = || self.stand_in(step);
            let own = self.own_composite(step).and_then(|composite| composite.failed_output(self, step));
            let output = own.or_else(left).map(|value| ("output", value));
            return map_value(std::iter::once(error).chain(output));
        }
        if self.is_cut_off(step)
            && let Some(left) = self.stand_in(step)
        {
            return map_value([("output", left)]);
        }
        let value = self.output_value(step);
        if self.node(step).kind.is_group() { value } else { map_value([("output", value)]) }
    }

    /// What texts see of a step that came to no end of its own. A group has its own keys and none of an output.
    fn stand_in(&self, step: TaskIx) -> Option<Value> {
        if self.node(step).kind.is_group() {
            return None;
        }
        self.left_of(step).map(|left| from_json(&left))
    }

    /// Loop variables of every for_each around the task, from the outside in: inner ones win.
    fn add_loop_variables(&self, task: TaskIx, roots: &Roots, names: &mut Names) {
        let place = self.tasks[task].place;
        let Some(group) = place.within else { return };
        self.add_loop_variables(group, roots, names);
        let (Some(index), Kind::ForEach(each)) = (place.item, &self.node(group).kind) else { return };
        if roots.want("_index") {
            names.insert("_index".into(), Value::from(index));
        }
        if roots.want("_key") && self.group(group).keys.is_some() {
            names.insert("_key".into(), Value::from(&*self.key_of(group, index)));
        }
        if roots.want(&each.variable) {
            names.insert(each.variable.clone().into(), self.item_value(group, index));
        }
    }

    fn names_in_frame(&self, frame: FrameIx, roots: &Roots) -> Names {
        let mut names = Names::new();
        self.add_workflow(frame, roots, &mut names);
        if roots.want("context") {
            names.insert("context".into(), self.history_value(self.frame(frame).history.clone()));
        }
        if roots.want(WORK) && self.workflow_in(frame).manifest {
            names.insert(WORK.into(), self.work_value(frame));
        }
        let latest = &self.frame(frame).latest;
        match roots {
            Roots::Names(wanted) => {
                let by_name = &self.index_in(frame).by_name;
                let steps = wanted.iter().filter_map(|name| latest.get(by_name.get(name)?));
                for step in steps {
                    names.insert(self.called(*step).into(), self.entry_value(*step));
                }
            }
            Roots::All => {
                for step in latest.values() {
                    names.insert(self.called(*step).into(), self.entry_value(*step));
                }
            }
        }
        self.add_unfinished(frame, roots, &mut names);
        self.add_pipeline_names(frame, roots, &mut names);
        self.add_ending(frame, roots, &mut names);
        names
    }

    /// What stands in for steps that came to no end of their own, in a workflow that failed.
    fn add_unfinished(&self, frame: FrameIx, roots: &Roots, names: &mut Names) {
        if !matches!(self.frame(frame).ending, Some(FrameEnding::Stated(Ending::Failed { .. }))) {
            return;
        }
        let steps = self.frame(frame).steps.iter().rev().copied();
        let unfinished = steps.filter(|step| !self.tasks[*step].hook && !self.tasks[*step].succeeded());
        for step in unfinished.filter(|step| roots.want(&self.called(*step))) {
            let name = self.called(step);
            if !names.contains_key(&*name) && !self.node(step).kind.is_group() && self.left_of(step).is_some()
            {
                names.insert(name.into(), self.entry_value(step));
            }
        }
    }

    /// A step that a hook runs belongs to the whole workflow: it sees what a hook's text sees.
    fn names_of_hook(&self, frame: FrameIx, roots: &Roots) -> Names {
        let mut names = self.names_in_frame(frame, roots);
        if roots.want("result")
            && self.frame(frame).stage == Stage::Closing
            && let Some(result) = self.frame_result(frame).output
        {
            names.insert("result".into(), from_json(&result));
        }
        names
    }
}

impl State {
    /// A text of a step cannot be rendered. Of a child whose texts are no step's people know what it does, not the node.
    fn text_failure(&self, task: TaskIx, what: &str, error: &RenderError) -> Failure {
        match self.composite_above(task).and_then(|composite| composite.text_hint(self, task)) {
            None => template_failure(&format!("step `{}`: {what}", self.node(task).name), error),
            Some(hint) => {
                template_failure(&format!("step `{}`: {what}", self.step_word(task)), error).hint(hint)
            }
        }
    }

    pub(crate) fn workflow_value(&self, frame: FrameIx, input: Value) -> Value {
        let workflow = self.workflow_in(frame);
        map_value([
            ("input", input),
            ("dir", Value::from(absolute(&self.folder, &workflow.dir))),
            ("file", Value::from(absolute(&self.folder, &workflow.file))),
            ("name", Value::from(&*workflow.name)),
        ])
    }

    fn history_value(&self, steps: Vec<TaskIx>) -> Value {
        let names: Vec<Value> = steps.iter().map(|step| Value::from(&*self.node(*step).name)).collect();
        map_value([("iteration", Value::from(names.len())), ("history", Value::from(names))])
    }

    /// Whether a failure elsewhere kept a step from its end.
    fn is_cut_off(&self, step: TaskIx) -> bool {
        let ending = &self.frame(self.tasks[step].place.frame).ending;
        let failed = matches!(ending, Some(FrameEnding::Stated(Ending::Failed { .. })));
        match self.tasks[step].state {
            TaskState::Ended(End::Cancelled) => failed || self.would_fall_short(step, End::Cancelled),
            TaskState::Ended(End::Skipped) => failed,
            _ => false,
        }
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

    /// Hooks at the end of a workflow may look at why it failed.
    fn add_ending(&self, frame: FrameIx, roots: &Roots, names: &mut Names) {
        if !roots.want("error") {
            return;
        }
        let judged = || Some(Ending::Failed { task: None, failure: self.pipeline_failure(frame)? });
        let ending = match self.frame(frame).ending.clone() {
            Some(FrameEnding::Stated(ending)) => Some(ending),
            Some(_) => None,
            None => judged(),
        };
        let Some(ending) = ending else { return };
        let (class, message, step, hint) = match &ending {
            Ending::Failed { task, failure } => {
                (failure.class, failure.message.as_str(), task.as_ref(), failure.hint.as_deref())
            }
            Ending::Terminated { task, success: false, reason, .. } => {
                (Class::Fatal, reason.as_str(), Some(task), None)
            }
            Ending::Terminated { .. } => return,
        };
        let mut fields = vec![
            ("class", Value::from(class.word())),
            ("type", Value::from(class.word())),
            ("message", Value::from(message)),
            ("step", Value::from(step.map(|task| task.0.to_string()))),
        ];
        fields.extend(hint.map(|hint| ("suggestion", Value::from(hint))));
        names.insert("error".into(), map_value(fields));
    }
}

/// How much of what came before a text may see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// As the workflow's context mode says.
    OfMode,
    /// Everything before the step.
    Full,
    /// Everything before the step, and the step itself.
    After,
}

/// A path as seen from anywhere: commands may run in other folders than the run does.
fn absolute(folder: &str, path: &str) -> String {
    if path.starts_with('/') || !folder.starts_with('/') {
        return path.to_owned();
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

pub(crate) fn template_failure(what: &str, error: &RenderError) -> Failure {
    Failure::new(Class::Fatal, format!("{what}: template error: {error}")).reason(reason::TEMPLATE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_begin_at_the_root_where_the_run_knows_its_folder() {
        assert_eq!(absolute("/home/here", "."), "/home/here");
        assert_eq!(absolute("/home/here", "./sub/w.yaml"), "/home/here/sub/w.yaml");
        assert_eq!(absolute("/home/here", "../there/w.yaml"), "/home/there/w.yaml");
        assert_eq!(absolute("/home/here", "/else/w.yaml"), "/else/w.yaml");
        assert_eq!(absolute("/", "w.yaml"), "/w.yaml");
        assert_eq!(absolute(".", "sub"), "sub");
    }
}
