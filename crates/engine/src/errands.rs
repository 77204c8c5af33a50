//! Small things that the run must know or do outside itself on its way: files that a decision depends on, and what the
//! runs of a project share. Each is done on a thread that may wait, and its answer is a fact.

use crate::fact::What;
use crate::run::Run;
use convoke_model::{Class, Failure, JsonText};
use convoke_schedule::TaskIx;
use std::path::Path;

impl Run {
    /// Looks whether files exist below the folder of the run.
    pub(crate) fn look(&self, task: TaskIx, paths: Vec<String>) {
        let (handle, folder) = (self.handle.clone(), self.core.scheduler.folder().to_owned());
        tokio::task::spawn_blocking(move || {
            let exists = |path: &String| Path::new(&folder).join(path).exists();
            let (present, absent) = paths.into_iter().partition(exists);
            handle.send(What::FilesSeen { task, present, absent });
        });
    }

    /// Changes what the runs of the project share, once.
    pub(crate) fn patch_project(&self, task: TaskIx, key: String, patch: JsonText) {
        let (handle, project) = (self.handle.clone(), self.project.clone());
        tokio::task::spawn_blocking(move || {
            let nowhere =
                || Failure::new(Class::Fatal, "this run belongs to no project").reason("no_project");
            let state = project.ok_or_else(nowhere).and_then(|project| project.patch(&key, &patch));
            handle.send(What::ProjectSeen { task: Some(task), state });
        });
    }
}
