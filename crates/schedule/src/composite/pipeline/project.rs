//! What a pipeline sees of what the runs of its project share.
//!
//! Texts of a manifest and programs have all of it, as it was when the run began or after its own last change. A prompt shows
//! flags, pointers and the tasks that the pipeline itself has put into the queue: what others have there would grow with
//! their number, and is theirs.

use super::prompt_context::Cut;
use super::try_progress::Reply;
use crate::context::map_value;
use crate::state::FrameIx;
use crate::view::View;
use convoke_model::hash::HashSet;
use convoke_plan::template::{Value as Template, flags_value, from_json};
use serde_json::Value;

impl View<'_> {
    /// What this pipeline shares with other runs; others of the same plan may share something else.
    pub(super) fn project_json(&self, frame: FrameIx) -> Value {
        let place = self.workflow_in(frame).project_place();
        let context = place.and_then(|place| self.projects.get(&place));
        let context = context.and_then(|(_, context)| self.read(context));
        context.map_or(Value::Null, |text| text.value())
    }

    /// The same for texts and conditions: a flag that is not set is false, as those of the run are.
    pub(super) fn project_value(&self, frame: FrameIx) -> Template {
        let project = self.project_json(frame);
        let Some(parts) = project.as_object() else { return from_json(&project) };
        let value = |(name, part): (&String, &Value)| match (name.as_str(), part) {
            ("globalFlags", Value::Object(flags)) => {
                flags_value(flags.iter().map(|(key, flag)| (key.as_str(), flag == &Value::Bool(true))))
            }
            _ => from_json(part),
        };
        map_value(parts.iter().map(|part| (part.0.clone(), value(part))))
    }

    /// What a prompt shows of it; the rest can be read where the worker has a tool for it.
    pub(super) fn project_in_prompt(&self, frame: FrameIx, cut: Option<&mut Cut>) -> Value {
        let mut project = self.project_json(frame);
        let Some(Value::Array(queue)) = project.get_mut("taskQueue").map(Value::take) else { return project };
        let own = self.own_tasks(frame);
        let is_own = |task: &&Value| task["taskId"].as_str().is_some_and(|id| own.contains(id));
        let shown: Vec<Value> = queue.iter().filter(is_own).cloned().collect();
        let others = queue.len() - shown.len();
        project["taskQueue"] = shown.into();
        let mut way = String::new();
        if let Some(cut) = cut {
            for part in ["globalFlags", "artifactPointers", "taskQueue"] {
                cut.one(&mut project[part]);
            }
            if others > 0 {
                way = cut.keep(queue.into(), "the whole queue");
            }
        }
        if others > 0 {
            project["otherTasks"] = format!("{others} tasks that are not of this run{way}").into();
        }
        project
    }

    /// The tasks that phases of this pipeline have put into the queue.
    fn own_tasks(&self, frame: FrameIx) -> HashSet<String> {
        let mut own = HashSet::default();
        for child in &self.frame(frame).pipeline.patched {
            let Some((task, phase)) = self.phase_of(*child) else { continue };
            let Reply::Answered(said) = self.reply(task, phase, *child) else { continue };
            let tasks =
                said.project.as_ref().and_then(|patch| patch.pointer("/taskQueue/upsert")?.as_array());
            let names = tasks.into_iter().flatten().filter_map(|task| task["taskId"].as_str());
            own.extend(names.map(str::to_owned));
        }
        own
    }
}
