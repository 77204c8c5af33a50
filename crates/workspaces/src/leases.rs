//! The leases of one run: made, gone on with, brought back and let go of.
//!
//! Calls about one task come one after another; calls about one repository that change its list of worktrees or one of its branches
//! are held apart by a lock between processes.

use crate::error::Trouble;
use crate::forecast::{Changes, both_change, changes, common};
use crate::git::{Git, Surroundings};
use crate::lease::Lease;
use crate::lock::{Locked, lock};
use crate::merge::{Merged, bring_back, commit_all};
use crate::naming;
use crate::ports;
use crate::record::{Record, Records, Standing, TreeRecord};
use crate::release::{discard, release};
use crate::repository::{Repository, commit, current_branch, tip};
use crate::worktree::{make, seed, stands, take_over};
use convoke_failpoint::failpoint;
use convoke_model::{MergeMode, Ports, WorkspaceCall, WorkspaceRemains, WorkspaceTold, WorktreeCall, fnv};
use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// The workspaces of one run.
pub struct Leases {
    root: PathBuf,
    run: String,
    surroundings: Surroundings,
    records: Records,
    /// One call at a time about each task.
    busy: Mutex<HashMap<String, Arc<Mutex<()>>>>,
    /// Tasks whose worktrees this process has made or taken over.
    begun: Mutex<HashSet<String>>,
    /// Whether every git of an earlier process of this run has ended.
    quiet: Mutex<bool>,
}

/// The file that every git of a run has open while it runs.
fn alive(root: &Path, run: &str) -> PathBuf {
    root.join("locks").join(format!("git-{}.lock", naming::slug(run)))
}

/// What a look at the leases of runs that nobody drives came to.
#[derive(Debug, Default)]
pub struct Cleaned {
    /// So many are gone.
    pub gone: u32,
    /// What could not be let go of, and why.
    pub troubles: Vec<(Record, Trouble)>,
}

impl Leases {
    /// The leases of a run. Worktrees and records lie below `root`.
    pub fn new(root: PathBuf, run: &str, surroundings: Surroundings) -> Leases {
        let records = Records { root: root.join("leases") };
        let surroundings = surroundings.alive_in(alive(&root, run));
        Leases {
            root,
            run: run.to_owned(),
            surroundings,
            records,
            busy: Mutex::default(),
            begun: Mutex::default(),
            quiet: Mutex::default(),
        }
    }

    /// The workspace of a task: the one that stands, or a new one. With it those that it is a part of.
    pub fn acquire(&self, call: &WorkspaceCall) -> Result<Lease, Trouble> {
        let parent = call.parent.as_deref().map(|parent| self.acquire(parent)).transpose()?;
        let one_at_a_time = self.busy(&call.owner.0);
        let _held = one_at_a_time.lock().expect("a panic poisoned this lock");
        self.wait_for_earlier_git()?;
        let before = self.records.read(&self.run, &call.owner.0)?;
        let mut record = before.unwrap_or_else(|| Record {
            run: self.run.clone(),
            task: call.owner.0.to_string(),
            standing: Standing::Making,
            tree: None,
            ports: None,
            parent: parent.as_ref().map(|parent| parent.record.task.clone()),
            survives: call.survives,
            why: String::new(),
        });
        let folder = PathBuf::from(&call.folder);
        let (mut top, mut prefix) = (folder.clone(), PathBuf::new());
        if let Some(wanted) = &call.worktree {
            let repository = Repository::of(&self.surroundings, &folder.join(&wanted.repository))?;
            self.stand(&mut record, wanted, &repository, parent.as_ref())?;
            (top, prefix) = (repository.top, repository.prefix);
        }
        self.take_ports(&mut record, call.ports, parent.as_ref())?;
        record.standing = Standing::Ready;
        record.why.clear();
        self.records.write(&record)?;
        failpoint!("workspaces.lease.ready");
        Ok(Lease { record, top, prefix, folder, parent: parent.map(Box::new) })
    }

    /// Has the worktree of a record stand.
    fn stand(
        &self,
        record: &mut Record,
        wanted: &WorktreeCall,
        repository: &Repository,
        parent: Option<&Lease>,
    ) -> Result<(), Trouble> {
        if let Some(tree) = &record.tree {
            let works = matches!(record.standing, Standing::Ready | Standing::Kept);
            if works && stands(&self.surroundings, tree) {
                // Once in this process: later, a lock there is that of a part that comes back.
                let first =
                    self.begun.lock().expect("a panic poisoned this lock").insert(record.task.clone());
                return if first { take_over(&self.surroundings, tree) } else { Ok(()) };
            }
            if works && tree.path.exists() {
                let why = "it is no worktree of its repository any more".to_owned();
                return Err(Trouble::Io {
                    what: tree.path.display().to_string(),
                    source: std::io::Error::other(why),
                });
            }
            // Half made, half removed, or removed while its branch was kept.
            let _alone = self.lock_for(&tree.common, "worktrees")?;
            crate::release::clear(&self.surroundings, tree)?;
        }
        let tree = match record.tree.take() {
            Some(tree) => tree,
            None => self.new_tree(record, wanted, repository, parent)?,
        };
        record.tree = Some(tree.clone());
        record.standing = Standing::Making;
        self.records.write(record)?;
        failpoint!("workspaces.lease.recorded");
        let alone = self.lock_for(&tree.common, "worktrees")?;
        make(&self.surroundings, &tree, &wanted.sparse)?;
        drop(alone);
        failpoint!("workspaces.lease.made");
        self.begun.lock().expect("a panic poisoned this lock").insert(record.task.clone());
        let from = parent.and_then(Lease::path).unwrap_or(&repository.top);
        seed(&self.surroundings, from, &tree, &wanted.seed)
    }

    fn new_tree(
        &self,
        record: &Record,
        wanted: &WorktreeCall,
        repository: &Repository,
        parent: Option<&Lease>,
    ) -> Result<TreeRecord, Trouble> {
        let path =
            self.root.join("trees").join(naming::slug(&self.run)).join(naming::tree(&self.run, &record.task));
        let branch = naming::branch(&self.run, &record.task);
        let (common, sparse) = (repository.common.clone(), !wanted.sparse.is_empty());
        if let Some(above) = parent.and_then(Lease::tree).filter(|above| above.common == common) {
            let git = Git::new(&self.surroundings, &above.path);
            let base = commit(&git, "HEAD")?;
            return Ok(TreeRecord { common, path, branch, base, into: Some(above.branch.clone()), sparse });
        }
        let git = Git::new(&self.surroundings, &repository.top);
        let base = commit(&git, &wanted.base)?;
        let into = self.target(&git, wanted)?;
        Ok(TreeRecord { common, path, branch, base, into, sparse })
    }

    /// The branch that work comes back to, where it does.
    fn target(&self, git: &Git<'_>, wanted: &WorktreeCall) -> Result<Option<String>, Trouble> {
        let repository = git.folder.display().to_string();
        let Some(into) = &wanted.into else {
            let current = current_branch(git)?;
            return match (current, wanted.merge) {
                (Some(current), _) => Ok(Some(current)),
                (None, MergeMode::None) => Ok(None),
                (None, _) => Err(Trouble::Detached { repository }),
            };
        };
        match tip(git, into)? {
            Some(_) => Ok(Some(into.clone())),
            None => Err(Trouble::NoTarget { into: into.clone(), repository }),
        }
    }

    /// Gives a record its ports: those that it has, or the first free ones, of its parent where that has some.
    fn take_ports(&self, record: &mut Record, wanted: u32, parent: Option<&Lease>) -> Result<(), Trouble> {
        if wanted == 0 || record.ports.is_some_and(|ports| u32::from(ports.count) == wanted) {
            return Ok(());
        }
        let _alone = lock(&self.root.join("locks/ports.lock"))?;
        let range = parent.and_then(Lease::ports);
        let is_within = |other: &Ports| range.is_none_or(|range| range.covers(*other) && range != *other);
        let above: Vec<&str> = parent.into_iter().map(|parent| parent.record.task.as_str()).collect();
        let others = self.records.all().into_iter().filter(|other| {
            let is_above = other.run == self.run && above.contains(&other.task.as_str());
            !is_above && (&other.run, &other.task) != (&record.run, &record.task)
        });
        let taken: Vec<Ports> = others.filter_map(|other| other.ports).filter(is_within).collect();
        record.ports = Some(ports::choose(wanted, range.unwrap_or(ports::RANGE), &taken, ports::is_free)?);
        failpoint!("workspaces.lease.ports_chosen");
        self.records.write(record)
    }

    /// Finds out, before anything is made, whether a worktree can be had.
    pub fn judge(&self, folder: &Path, wanted: &WorktreeCall) -> Result<(), Trouble> {
        let repository = Repository::of(&self.surroundings, &folder.join(&wanted.repository))?;
        let git = Git::new(&self.surroundings, &repository.top);
        commit(&git, &wanted.base)?;
        self.target(&git, wanted).map(drop)
    }

    /// Commits what is in a worktree and in no commit. Gives the last commit, and whether there is any work at all.
    pub fn seal(&self, lease: &Lease, message: &str) -> Result<(String, bool), Trouble> {
        let tree = lease.tree().expect("only a worktree has work in it");
        let git = Git::new(&self.surroundings, &tree.path).sparse(tree.sparse);
        let head = commit_all(&git, tree, message)?;
        Ok((head.clone(), head != tree.base))
    }

    /// Brings the work back as far as that goes.
    pub fn bring_back(&self, lease: &Lease, mode: MergeMode, resolved: bool) -> Result<Merged, Trouble> {
        let tree = lease.tree().expect("only a worktree has a way back");
        let name = format!("into {}", tree.into.as_deref().unwrap_or_default());
        let _alone = self.lock_for(&tree.common, &name)?;
        bring_back(&self.surroundings, tree, mode, resolved)
    }

    /// Describes the work for somebody who merges it elsewhere: gives the file.
    pub fn describe(&self, lease: &Lease, title: &str) -> Result<PathBuf, Trouble> {
        let tree = lease.tree().expect("only a worktree has work in it");
        let git = Git::new(&self.surroundings, &tree.path);
        let range = format!("{}..{}", tree.base, tree.branch);
        let folder = self.root.join("pull-requests").join(naming::slug(&self.run));
        let file = folder.join(format!("{}.md", naming::slug(&lease.record.task)));
        let patch = file.with_extension("patch");
        let commits = git.text(&["log", "--reverse", "--format=- %h %s", &range])?;
        let files =
            git.text(&["diff", "--no-ext-diff", "--no-textconv", "--stat=100", &tree.base, &tree.branch])?;
        let text = format!(
            "# {title}\n\n| | |\n|---|---|\n| branch | `{}` |\n| into | `{}` |\n| base | `{}` |\n| run | `{}` |\n| task | `{}` |\n| \
             patch | `{}` |\n\n## Commits\n\n{commits}\n\n## Files\n\n```text\n{files}\n```\n",
            tree.branch,
            tree.into.as_deref().unwrap_or("-"),
            tree.base,
            self.run,
            lease.record.task,
            patch.display(),
        );
        let commits = git.must(&["format-patch", "--stdout", "--no-ext-diff", "--no-textconv", &range])?.out;
        fs::create_dir_all(&folder)
            .and_then(|()| fs::write(&patch, commits))
            .and_then(|()| fs::write(&file, text))
            .map_err(Trouble::io(format!("`{}` cannot be written", file.display())))?;
        Ok(file)
    }

    /// Lets go of a task's workspace; gives what stays of it. One that is gone is gone.
    pub fn release(&self, task: &str) -> Result<Option<WorkspaceRemains>, Trouble> {
        let one_at_a_time = self.busy(task);
        let _held = one_at_a_time.lock().expect("a panic poisoned this lock");
        self.wait_for_earlier_git()?;
        match self.records.read(&self.run, task)? {
            Some(record) => self.let_go(record),
            None => Ok(None),
        }
    }

    /// Brings the work of a task back, whose parts have all ended, and lets go of it. The files that contradict each other instead.
    pub fn settle(
        &self,
        task: &str,
        back: Option<MergeMode>,
    ) -> Result<Result<Vec<WorkspaceTold>, Vec<String>>, Trouble> {
        let mut told = Vec::new();
        let record = self.records.read(&self.run, task)?;
        if let (Some(record), Some(mode)) = (record, back.filter(|mode| *mode != MergeMode::None)) {
            let lease = Lease::of(record);
            if lease.tree().is_some_and(|tree| tree.path.exists()) {
                match self.bring_all_back(&lease, mode)? {
                    Ok(merged) => told.extend(merged),
                    Err(paths) => return Ok(Err(paths)),
                }
            }
        }
        told.push(match self.release(task)? {
            Some(remains) => WorkspaceTold::Kept(remains),
            None => WorkspaceTold::Released,
        });
        Ok(Ok(told))
    }

    fn bring_all_back(
        &self,
        lease: &Lease,
        mode: MergeMode,
    ) -> Result<Result<Option<WorkspaceTold>, Vec<String>>, Trouble> {
        let (commit, has_work) =
            self.seal(lease, &format!("Work of the parts of `{}`", lease.record.task))?;
        if !has_work {
            return Ok(Ok(None));
        }
        if mode == MergeMode::PullRequestFile {
            let into = self.describe(lease, &lease.record.task)?.display().to_string();
            return Ok(Ok(Some(WorkspaceTold::Merged { into, commit })));
        }
        let into = lease.tree().and_then(|tree| tree.into.clone()).unwrap_or_default();
        Ok(match self.bring_back(lease, mode, true)? {
            Merged::Done { commit } => Ok(Some(WorkspaceTold::Merged { into, commit })),
            Merged::Conflict { paths, .. } => Err(paths),
        })
    }

    fn let_go(&self, record: Record) -> Result<Option<WorkspaceRemains>, Trouble> {
        match record.run == self.run {
            true => self.wait_for_earlier_git()?,
            false => drop(lock(&alive(&self.root, &record.run))?),
        }
        let _alone = match &record.tree {
            Some(tree) => Some(self.lock_for(&tree.common, "worktrees")?),
            None => None,
        };
        release(&self.surroundings, &self.records, record)
    }

    /// Every lease of every run, the kept ones with them.
    pub fn all(&self) -> Vec<Record> {
        self.records.all()
    }

    /// Lets go of leases whose runs no process drives. What is in no commit stays, and is there for a run that goes on. A command
    /// that goes on without an engine keeps its own.
    pub fn clean(&self, is_driven: impl Fn(&str) -> bool) -> Cleaned {
        self.let_all_go(|record| !record.survives && !is_driven(&record.run))
    }

    /// Lets go of what is left of this run, which has ended.
    pub fn end(&self) -> Cleaned {
        self.let_all_go(|record| record.run == self.run)
    }

    fn let_all_go(&self, is_meant: impl Fn(&Record) -> bool) -> Cleaned {
        let mut cleaned = Cleaned::default();
        for record in self.records.all().into_iter().filter(is_meant) {
            let stands = record.tree.as_ref().is_some_and(|tree| tree.path.exists());
            if record.standing == Standing::Kept && stands {
                continue;
            }
            match self.let_go(record.clone()) {
                Ok(None) => cleaned.gone += 1,
                Ok(Some(_)) => {}
                Err(trouble) => cleaned.troubles.push((record, trouble)),
            }
        }
        cleaned
    }

    /// Removes a lease with everything in it, also what no commit has.
    pub fn discard(&self, record: &Record) -> Result<(), Trouble> {
        let _alone = match &record.tree {
            Some(tree) => Some(self.lock_for(&tree.common, "worktrees")?),
            None => None,
        };
        discard(&self.surroundings, &self.records, record)
    }

    /// The files in which two worktrees change the same lines.
    pub(crate) fn forecast(&self, trees: &[TreeRecord]) -> Vec<(usize, usize, Vec<String>)> {
        let mut known: HashMap<(usize, String), Changes> = HashMap::new();
        let mut found = Vec::new();
        for one in 0..trees.len() {
            for other in one + 1..trees.len() {
                if trees[one].common != trees[other].common || trees[one].into != trees[other].into {
                    continue;
                }
                let Ok(since) = common(&self.surroundings, &trees[one], &trees[other]) else { continue };
                for ix in [one, other] {
                    known.entry((ix, since.clone())).or_insert_with(|| {
                        changes(&self.surroundings, &trees[ix], &since).unwrap_or_default()
                    });
                }
                let files = both_change(&known[&(one, since.clone())], &known[&(other, since)]);
                if !files.is_empty() {
                    found.push((one, other, files));
                }
            }
        }
        found
    }

    /// A git that a killed process began goes on to its end: nothing is done beside it.
    fn wait_for_earlier_git(&self) -> Result<(), Trouble> {
        self.prepare_folders()?;
        let mut quiet = self.quiet.lock().expect("a panic poisoned this lock");
        if !*quiet {
            drop(lock(&alive(&self.root, &self.run))?);
            *quiet = true;
        }
        Ok(())
    }

    fn busy(&self, task: &str) -> Arc<Mutex<()>> {
        let mut busy = self.busy.lock().expect("a panic poisoned this lock");
        busy.entry(task.to_owned()).or_default().clone()
    }

    fn lock_for(&self, common: &Path, what: &str) -> Result<Locked, Trouble> {
        let words = format!("{}\0{what}", common.display());
        self.prepare_folders()?;
        lock(&self.root.join("locks").join(format!("{:016x}.lock", fnv(words.bytes()))))
    }

    /// The folders that everything lies in are the user's alone.
    fn prepare_folders(&self) -> Result<(), Trouble> {
        let locks = self.root.join("locks");
        if locks.is_dir() {
            return Ok(());
        }
        let prepared = fs::create_dir_all(&locks).and_then(|()| {
            #[cfg(unix)]
            {
                use std::os::unix::fs::PermissionsExt;
                fs::set_permissions(&self.root, fs::Permissions::from_mode(0o700))?;
            }
            Ok(())
        });
        prepared.map_err(Trouble::io(format!("the folder `{}`", self.root.display())))
    }
}

#[cfg(test)]
mod tests;
