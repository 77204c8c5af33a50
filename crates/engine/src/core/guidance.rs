//! Guidance: what people say to a run on its way, to its goals or to the agent of one task. Every agent that is asked afterwards
//! reads all of what was said to it, so its length is bounded, whichever way it came.
//!
//! An attempt that runs is told only what is on disk. What it has not heard when it ends is told to people.

use super::{Core, Effect, Turn};
use convoke_model::{Event, TaskId, Timestamp};
use convoke_schedule::{TaskIx, TaskState};

/// Characters of all that is heard in a run by its goals, and of all that is heard by one task.
pub const MOST_GUIDANCE: usize = 10_000;

impl Core {
    /// Has the words heard by the goals of the run or by the agent of one task, or says that they are not.
    pub(super) fn take_guidance(
        &mut self,
        at: Timestamp,
        task: Option<TaskId>,
        text: String,
        by: String,
        turn: &mut Turn,
    ) {
        match task {
            None => self.guide_goals(at, text, by, turn),
            Some(task) => self.guide_task(at, task, text, by, turn),
        }
    }

    fn guide_goals(&mut self, at: Timestamp, text: String, by: String, turn: &mut Turn) {
        let (before, now) = (self.scheduler.guidance_heard(), text.chars().count());
        if before + now <= MOST_GUIDANCE {
            return self.happen(at, Event::Guided { text, by }, turn);
        }
        let message = format!(
            "what {by} said was not heard: {now} characters after {before}, and at most {MOST_GUIDANCE} are heard in a run"
        );
        self.happen(at, Event::Noted { task: None, code: UNHEARD.into(), message }, turn);
    }

    /// Has the agent of a task hear it before its next turn, or says why it does not.
    fn guide_task(&mut self, at: Timestamp, id: TaskId, text: String, by: String, turn: &mut Turn) {
        let task = match self.scheduler.guidable(&id) {
            Ok(task) => task,
            Err(why) => {
                let message = format!("what {by} said was not heard: {why}");
                return self.note(at, Some(id), UNHEARD, message, turn);
            }
        };
        let ((_, before), now) = (self.scheduler.told(task), text.chars().count());
        if before + now > MOST_GUIDANCE {
            let message = format!(
                "what {by} said was not heard: {now} characters after {before}, and a task hears at most {MOST_GUIDANCE}"
            );
            return self.note(at, Some(id), UNHEARD, message, turn);
        }
        self.happen(at, Event::TaskGuided { task: id, text: text.clone(), by }, turn);
        if self.scheduler.state(task) == TaskState::Running {
            turn.effects.push(Effect::Guide(task, text));
        }
    }

    /// A task whose answer was on its way when a person spoke to it has ended without it: the person is told.
    pub(super) fn note_unheard(&mut self, at: Timestamp, task: TaskIx, turn: &mut Turn) {
        let heard = self.heard.remove(&task).unwrap_or_default();
        let (said, _) = self.scheduler.told(task);
        if said > heard && matches!(self.scheduler.state(task), TaskState::Ended(_)) {
            let message = "it had ended before it heard what was said to it last".to_owned();
            let id = self.scheduler.id(task).clone();
            self.note(at, Some(id), UNHEARD, message, turn);
        }
    }
}

/// The word for guidance that came to nothing.
const UNHEARD: &str = "guidance_unheard";
