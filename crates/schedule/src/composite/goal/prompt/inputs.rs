//! Which inputs of a task stand in the prompts of its roles, and what is said where that is not all.
//!
//! How much of each is shown is `prompt_budget`'s decision. Invariant: what is neither shown nor can be read is counted in the
//! prompt, and the run has a note of it.

use super::RoleContext;
use super::prompt_budget;
use crate::composite::Step;
use crate::composite::goal::planning::answer::words;
use crate::state::TaskIx;
use crate::view::View;
use convoke_model::Event;
use convoke_model::synthesis::readable;
use serde_json::{Value as Json, json};

/// The first of the inputs of a task that have results, how many there are besides, and what the results share.
pub(in crate::composite::goal) struct Inputs {
    pub tasks: Vec<TaskIx>,
    pub further: usize,
    pub all: usize,
}

impl View<'_> {
    /// Notes that the prompt of the newest role has not all of what the task builds on, and that the rest cannot be read.
    pub(in crate::composite::goal) fn note_inputs_in_part(&self, on: TaskIx) -> Option<Step> {
        let message = self.inputs_in_part(on)?;
        let (task, code) = (Some(self.tasks[on].id.clone()), "inputs_in_part".to_owned());
        Some(Step::record(Event::Noted { task, code, message }))
    }

    /// The inputs of a task that a prompt shows.
    pub(in crate::composite::goal) fn prompt_inputs(&self, cx: &RoleContext<'_>) -> Inputs {
        let mut tasks = self.with_results(cx.builds_on().iter());
        let size = |task: &TaskIx| {
            let said = self.json_of(*task);
            let description = self.item_of(*task).map_or("", |item| &item.description);
            let beside = cx.room.beside(&[description, &words(&said, "summary")]);
            (beside, said.get("result").map_or(0, |result| prompt_budget::marked(&readable(result))))
        };
        let prompt_budget::Inputs { shown, all } = cx.room.inputs(tasks.iter().map(size));
        let further = tasks.len() - shown;
        tasks.truncate(shown);
        Inputs { tasks, further, all }
    }

    fn inputs_in_part(&self, on: TaskIx) -> Option<String> {
        // A role that can read on misses something only where there are very many.
        const FEW: usize = 64;
        let asked = *self.tasks[on].group.as_ref()?.members.last()?;
        let inputs = self.item_of(on).map_or(0, |_| self.builds_on(on).len());
        if inputs == 0 || inputs <= FEW && self.can_read_on(asked) {
            return None;
        }
        let cx = self.role_context(asked)?;
        let Inputs { tasks, further, all } = self.prompt_inputs(&cx);
        let cut = match cx.reads_on {
            true => 0,
            false => self.seen_of(&cx, tasks, all, 0).iter().filter(|seen| seen.cut).count(),
        };
        let word = cx.role.word();
        (cut + further > 0).then(|| {
            format!(
                "the prompt of role `{word}` does not hold all that the task builds on: {cut} results are cut and cannot \
                 be read on, {further} are not shown"
            )
        })
    }
}

/// The last of the results that a task builds on, where not all are shown.
pub(in crate::composite::goal) fn not_shown(further: usize) -> Json {
    let description = format!("{further} further results that it builds on, for which there is no room here");
    json!({ "id": "…", "description": description, "summary": "", "result": null })
}
