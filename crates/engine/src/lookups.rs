//! External lookups: what the run reads or changes outside itself for a decision. Files that an edge depends on, what the
//! runs of a project share, and workspaces that are let go of. Each is done on a thread that may wait, and its answer is a fact.

use crate::fact::What;
use crate::run::Run;
use convoke_failpoint::failpoint;
use convoke_model::{Class, Failure, JsonText, MergeMode, RunStatus};
use convoke_schedule::TaskIx;
use std::path::Path;

impl Run {
    /// Looks whether there are regular files below the folder of the run.
    pub(crate) fn look_up_files(&self, task: TaskIx, paths: Vec<String>) {
        let (handle, folder) = (self.handle.clone(), self.core.scheduler.folder().to_owned());
        tokio::task::spawn_blocking(move || {
            let root = Path::new(&folder).canonicalize();
            let is_there = |path: &String| root.as_ref().is_ok_and(|root| is_file_below(root, path));
            let (present, absent) = paths.into_iter().partition(is_there);
            failpoint!("engine.files.looked_up");
            handle.send(What::FilesSeen { task, present, absent });
        });
    }

    /// Changes what the runs of the project share, once. Comes after the commit, so what is settled is on disk.
    pub(crate) fn patch_project(&mut self, task: TaskIx, key: String, patch: JsonText) {
        let place = self.core.scheduler.project_place(task);
        let project = place.as_ref().and_then(|place| self.projects.get(place)).cloned();
        let settled = place.map(|place| self.core.scheduler.take_settled(&place)).unwrap_or_default();
        let handle = self.handle.clone();
        tokio::task::spawn_blocking(move || {
            let nowhere = || Failure::new(Class::Fatal, "this run belongs to no project");
            let state = project.ok_or_else(nowhere).and_then(|project| project.patch(&key, &patch, &settled));
            failpoint!("engine.project.patched");
            handle.send(What::ProjectSeen { task: Some(task), state });
        });
    }

    /// Lets go of a task's workspace. Comes after the commit, so the end of the task is on disk.
    pub(crate) fn let_workspace_go(&self, task: TaskIx, back: Option<MergeMode>) {
        self.attempts.let_go(task, self.core.scheduler.id(task).clone(), back);
    }

    /// Tells the places that the run has changed which changes need not be remembered. What cannot be told now is told
    /// by the process that resumes the run; a run that ended well leaves nothing behind.
    pub(crate) async fn settle_projects(&mut self, status: RunStatus) {
        for place in self.core.scheduler.changed_places() {
            let keys = self.core.scheduler.take_settled(&place);
            let all = matches!(status, RunStatus::Succeeded);
            let Some(project) = self.projects.get(&place).cloned().filter(|_| all || !keys.is_empty()) else {
                continue;
            };
            let settle = move || project.settle((!all).then_some(&keys[..]));
            drop(tokio::task::spawn_blocking(settle).await);
        }
    }
}

/// Whether a path leads to a regular file that really stands below a folder, wherever links lead. `root` has none.
fn is_file_below(root: &Path, path: &str) -> bool {
    root.join(path).canonicalize().is_ok_and(|found| found.starts_with(root) && found.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_below_the_folder_are_there() {
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("secret"), "").unwrap();
        let folder = outside.path().join("run");
        std::fs::create_dir_all(folder.join("sub")).unwrap();
        std::fs::write(folder.join("sub/file"), "").unwrap();
        #[cfg(unix)]
        for (to, at) in [("../secret", "leak"), ("..", "up"), ("sub/file", "inside")] {
            std::os::unix::fs::symlink(to, folder.join(at)).unwrap();
        }
        let root = folder.canonicalize().unwrap();
        let absolute = outside.path().join("secret");
        for elsewhere in [absolute.to_str().unwrap(), "../secret", "leak", "up/secret", "sub", "no", ""] {
            assert!(!is_file_below(&root, elsewhere), "{elsewhere}");
        }
        assert!(is_file_below(&root, "sub/file") && is_file_below(&root, "./sub/../sub/file"));
        #[cfg(unix)]
        assert!(is_file_below(&root, "inside"));
    }
}
