//! Watches worktrees that are worked in, and warns once of each pair of them that changes the same lines of a file.

use crate::lease::Lease;
use crate::leases::Leases;
use crate::record::TreeRecord;
use convoke_agent::{EngineLink, Report};
use convoke_model::WorkspaceCall;
use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The worktrees that are worked in.
pub(super) struct Forecasts {
    leases: Arc<Leases>,
    period: Duration,
    watched: Mutex<Watched>,
}

#[derive(Default)]
struct Watched {
    next: u64,
    trees: BTreeMap<u64, Tree>,
    /// Pairs of owners that were warned of, with the file.
    warned: HashSet<(String, String, String)>,
    looks: bool,
}

#[derive(Clone)]
struct Tree {
    owner: String,
    record: TreeRecord,
    link: Arc<dyn EngineLink>,
}

/// Ends the watch of one worktree when it is dropped.
pub(super) struct Watch {
    forecasts: Arc<Forecasts>,
    at: u64,
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.forecasts.watched.lock().expect("a panic poisoned this lock").trees.remove(&self.at);
    }
}

impl Forecasts {
    pub fn new(leases: Arc<Leases>, period: Duration) -> Forecasts {
        Forecasts { leases, period, watched: Mutex::default() }
    }

    /// Watches a worktree, where its work is to come back.
    pub fn watch(
        self: &Arc<Self>,
        lease: &Lease,
        call: &WorkspaceCall,
        link: &Arc<dyn EngineLink>,
    ) -> Option<Watch> {
        let comes_back = call.worktree.as_ref().is_some_and(|worktree| worktree.merge.moves_target());
        let record = lease.tree().filter(|_| comes_back && !call.shared)?.clone();
        let mut watched = self.watched.lock().expect("a panic poisoned this lock");
        let at = watched.next;
        watched.next += 1;
        watched.trees.insert(at, Tree { owner: call.owner.to_string(), record, link: link.clone() });
        if !std::mem::replace(&mut watched.looks, true) {
            tokio::spawn(self.clone().look());
        }
        Some(Watch { forecasts: self.clone(), at })
    }

    /// Compares until no worktree is worked in.
    async fn look(self: Arc<Self>) {
        loop {
            tokio::time::sleep(self.period).await;
            let trees: Vec<Tree> = {
                let mut watched = self.watched.lock().expect("a panic poisoned this lock");
                if watched.trees.is_empty() {
                    watched.looks = false;
                    return;
                }
                watched.trees.values().cloned().collect()
            };
            if trees.len() > 1 {
                let (leases, records) =
                    (self.leases.clone(), trees.iter().map(|tree| tree.record.clone()).collect());
                let found = move || leases.forecast(&Vec::<TreeRecord>::from_iter::<Vec<_>>(records));
                let found = tokio::task::spawn_blocking(found).await.unwrap_or_default();
                found
                    .into_iter()
                    .for_each(|(one, other, files)| self.warn(&trees[one], &trees[other], files));
            }
        }
    }

    fn warn(&self, one: &Tree, other: &Tree, files: Vec<String>) {
        let mut watched = self.watched.lock().expect("a panic poisoned this lock");
        let is_new =
            |file: &String| watched.warned.insert((one.owner.clone(), other.owner.clone(), file.clone()));
        let files: Vec<String> = files.into_iter().filter(is_new).collect();
        drop(watched);
        if files.is_empty() {
            return;
        }
        let message = format!(
            "`{}` and `{}` change the same lines of {}: the one that comes back later will meet a conflict",
            one.owner,
            other.owner,
            files.join(", ")
        );
        one.link.report(Report::Noted { code: "merge_forecast", message });
    }
}
