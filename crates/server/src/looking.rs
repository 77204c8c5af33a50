//! The folds of the server for a program that shows runs by itself: no port, no token, no client.
//!
//! What is read here is what the API sends, by the same followers and the same board. Reading waits for the disk, so it is done on a
//! thread that may wait; a run or a task that cannot be read is a sentence, and everything else goes on.

use crate::api::task_now;
use crate::error::ApiError;
use crate::following::{Follower, Hub};
use crate::host::Host;
pub use crate::shapes::{
    AttemptBody, CapacityBody, HolderBody, InstanceBody, LimitBody, MessageBody, PayloadBody, Question,
    QuestionField, QuestionOption, RunHead, TaskDetail, WaitsFor,
};
use convoke_journal::{RunRow, Saying, StateDir};
use convoke_model::{RunId, TaskId, Timestamp};
use convoke_view::Picture;
use std::io;
use std::sync::Arc;

/// Looks at the runs of a state folder.
pub struct Looking {
    hub: Arc<Hub>,
}

/// All runs at one moment.
#[derive(Debug, Default)]
pub struct AllRuns {
    /// The newest runs, each with how many questions it asks.
    pub runs: Vec<(RunRow, usize)>,
    /// Every question, oldest first.
    pub questions: Vec<Arc<Question>>,
    /// Whether more runs have not ended than were looked into.
    pub is_cut: bool,
    /// Why the runs cannot be listed.
    pub problem: Option<String>,
    /// Another number where anything has changed.
    pub version: u64,
}

/// One run at one moment.
pub struct OneRun<'a> {
    /// The head of its page.
    pub head: RunHead,
    /// Its folds.
    pub picture: &'a Picture,
    /// Grows with everything that a page could show of it.
    pub version: u64,
    /// What its tasks do at this moment, in a few words.
    pub doing: Vec<(TaskId, String)>,
}

impl Looking {
    /// Looks at this state folder; `host` is the program that it runs in.
    pub fn at(state: StateDir, host: Arc<dyn Host>) -> io::Result<Looking> {
        Ok(Looking { hub: Hub::new(state, host)? })
    }

    /// All runs and what they ask.
    pub fn runs(&self) -> AllRuns {
        self.hub.board.look();
        let view = self.hub.board.view();
        AllRuns {
            runs: view.runs.iter().map(|listed| (listed.row.clone(), listed.asks)).collect(),
            questions: view.questions.iter().map(|opened| opened.question.clone()).collect(),
            is_cut: view.is_cut,
            problem: view.problem.clone(),
            version: view.version,
        }
    }

    /// One run, or why it cannot be shown.
    pub fn run<R>(
        &self,
        run: &RunId,
        now: Timestamp,
        look: impl FnOnce(&OneRun<'_>) -> R,
    ) -> Result<R, String> {
        let follower = self.opened(run)?;
        Ok(follower.look(|seen| {
            let doing =
                seen.said.values().filter_map(|heard| Some((heard.saying.task.clone(), heard.words()?)));
            look(&OneRun {
                head: RunHead::of(&self.hub.state, run, seen, now),
                picture: &seen.picture,
                version: seen.version,
                doing: doing.collect(),
            })
        }))
    }

    /// One task with everything that is known of it, and what its agent says at this moment; or why it cannot be shown.
    pub fn task(&self, run: &RunId, task: &TaskId) -> Result<(TaskDetail, Option<Saying>), String> {
        let follower = self.opened(run)?;
        let saying = follower.look(|seen| seen.said.get(task).map(|heard| heard.saying.clone()));
        let detail = task_now(&self.hub, &follower, task).map_err(words)?;
        Ok((detail, saying))
    }

    /// What processes share; `None` where nothing was shared since the machine was started.
    pub fn capacity(&self) -> Result<Option<CapacityBody>, String> {
        let snapshot = self.hub.shared().map_err(|error| error.to_string())?;
        Ok(snapshot.map(|snapshot| CapacityBody::of(Some(&snapshot), |_| Vec::new())))
    }

    fn opened(&self, run: &RunId) -> Result<Arc<Follower>, String> {
        self.hub.opened(run).map_err(words)
    }
}

fn words(error: ApiError) -> String {
    error.message().to_owned()
}
