//! Guidance: what people say to a run on its way. Every agent that is asked afterwards reads all of it, so its length is
//! bounded, whichever way it came.

use super::{Core, Turn};
use convoke_model::{Event, Timestamp};

/// Characters of all that is heard in a run.
pub const MOST_GUIDANCE: usize = 10_000;

impl Core {
    /// Has it heard, or says that it is not.
    pub(super) fn take_guidance(&mut self, at: Timestamp, text: String, by: String, turn: &mut Turn) {
        let (before, now) = (self.scheduler.guidance_heard(), text.chars().count());
        if before + now <= MOST_GUIDANCE {
            return self.happen(at, Event::Guided { text, by }, turn);
        }
        let message = format!(
            "what {by} said was not heard: {now} characters after {before}, and at most {MOST_GUIDANCE} are heard in a run"
        );
        self.happen(at, Event::Noted { task: None, code: "guidance_unheard".into(), message }, turn);
    }
}
