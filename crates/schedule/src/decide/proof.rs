//! Proof: what an attempt must prove, rendered; when the work of a task that has parts is looked at; and which ends are proven.
//!
//! A task has the conditions of its node; a task of a goal also has those that its planner declared. Baseline and last findings come from
//! the journal. Whether a condition holds is decided elsewhere (`agent`): this module has the question and the recorded answer.
//!
//! A task that has parts (a group, a sub-workflow, a goal, a merge) makes no attempt that could prove its work. It is looked at before
//! the parts begin, and when all have ended: what they came to is on disk (`proof_due`), and counts once everything holds. Invariant:
//! such a task succeeds only behind a check in which everything holds, and no check is made twice.

use crate::outputs::Outputs;
use crate::scheduler::{Command, Scheduler};
use crate::state::{State, TaskIx, TaskState};
use crate::view::View;
use convoke_model::{
    ChildKind, Condition, Event, Failure, JsonText, Payload, ProofCall, ProofCheck, ProofFinding, ProofLook,
    StatedCondition, TaskId, Work, unproven,
};
use convoke_plan::template::to_json;
use convoke_plan::{Claim, Kind, Text};

impl Scheduler {
    /// Whether a task with parts waits until it is known what is there before they begin. It is looked at where it must be proven.
    pub(super) fn looks_first(&mut self, task: TaskIx, outputs: &dyn Outputs) -> bool {
        if !self.is_looked_at(task) || self.proofs.get(&task).is_some_and(|proof| proof.baseline.is_some()) {
            return false;
        }
        self.look(task, None, outputs);
        true
    }

    /// Whether what the parts of a task came to waits for a check, or has failed it.
    pub(crate) fn proves_first(&mut self, id: &TaskId, output: &Payload) -> bool {
        let Some(task) = self.find(id).filter(|task| self.is_looked_at(*task)) else { return false };
        let Some((_, held, findings)) = self.due(task) else {
            self.emit(Event::ProofDue { task: id.clone(), output: output.clone() });
            return true;
        };
        !held || findings.is_none()
    }

    /// Decide: what the parts of a task came to is checked, counts, or does not.
    pub(super) fn prove(&mut self, task: TaskIx, outputs: &dyn Outputs) {
        let Some((due, held, findings)) = self.due(task) else { return };
        let id = self.tasks[task].id.clone();
        if self.tasks[task].cancelling.is_some() {
            return self.finish_cancel(task);
        }
        match findings {
            None => self.look(task, Some(&due), outputs),
            Some(_) if held => self.emit(Event::TaskSucceeded { task: id, output: due }),
            Some(found) => {
                let found = self.view(outputs).read(&found);
                let found = found.map(|text| findings_in(text.as_str())).unwrap_or_default();
                let failure = unproven(&self.node(task).name, &found, 1);
                match self.node(task).kind {
                    Kind::SubPlan(_) => self.retry_or_fail(task, failure, self.tasks[task].failures + 1),
                    _ => self.fail_task(task, failure),
                }
            }
        }
    }

    /// What waits for a check of an open task, whether it held, and what it found.
    fn due(&self, task: TaskIx) -> Option<(Payload, bool, Option<Payload>)> {
        let is_over = matches!(self.tasks[task].state, TaskState::Ended(_));
        let proof = self.proofs.get(&task).filter(|_| !is_over)?;
        Some((proof.due.clone()?, proof.held, proof.findings.clone()))
    }

    /// Has the work of a task looked at, unless that is under way.
    fn look(&mut self, task: TaskIx, ended: Option<&Payload>, outputs: &dyn Outputs) {
        if self.lookups.contains(&task) {
            return;
        }
        match self.view(outputs).proof_look(task, ended) {
            Ok(look) => {
                self.begin_lookup(task);
                self.command(Command::LookAtProof { task, look: Box::new(look) });
            }
            Err(failure) => self.fail_task(task, failure),
        }
    }

    /// A task is to stop: a look at its work is no longer wanted.
    pub(super) fn stop_look(&mut self, task: TaskIx) {
        if self.is_looked_at(task) && self.lookup_is_over(task) {
            self.command(Command::Abort(task));
        }
    }
}

impl View<'_> {
    /// What the next attempt of a task must prove, if anything.
    pub(super) fn proof_call(&self, task: TaskIx, work: &Work) -> Result<Option<ProofCall>, Failure> {
        if matches!(work, Work::Program(_)) {
            return Ok(None);
        }
        if self.is_looked_at(task) {
            return Ok(None);
        }
        let own = self.node(task).proof.as_deref();
        if own.is_none() && self.planned_conditions(task).is_empty() {
            return Ok(None);
        }
        self.must_prove(task).map(Some)
    }

    /// What a look at the work of a task with parts is about; `ended`: what they came to.
    fn proof_look(&self, task: TaskIx, ended: Option<&Payload>) -> Result<ProofLook, Failure> {
        let checks = self.proofs.get(&task).map_or(0, |proof| proof.checks);
        let check = format!("end {}", checks + 1);
        let output = |payload: &Payload| match payload {
            Payload::Gathered => JsonText::of(&to_json(&self.group_value(task))),
            payload => self.read(payload).unwrap_or_else(|| JsonText::of(&())),
        };
        Ok(ProofLook {
            task: self.tasks[task].id.clone(),
            step: self.node(task).name.to_string(),
            proof: self.must_prove(task)?,
            ended: ended.map(|payload| (check, output(payload))),
            workspace: self.workspace_of_parts(task).map(Box::new),
        })
    }

    fn must_prove(&self, task: TaskIx) -> Result<ProofCall, Failure> {
        let (own, planned) = (self.node(task).proof.as_deref(), self.planned_conditions(task));
        let mut conditions = Vec::new();
        for claim in own.iter().flat_map(|own| &own.conditions) {
            conditions.push(StatedCondition { condition: self.condition(task, claim)?, by_model: false });
        }
        let by_model =
            |condition: &Condition| StatedCondition { condition: condition.clone(), by_model: true };
        conditions.extend(planned.iter().map(by_model));
        let proof = self.proofs.get(&task);
        Ok(ProofCall {
            conditions,
            protect: own.map(|own| own.protect.clone()).unwrap_or_default(),
            max_retries: own.map_or(PLANNED_RETRIES, |own| own.max_retries),
            judged: self.says_itself(task),
            policies: own.map(|own| own.policies.clone()).unwrap_or_default(),
            baseline: proof.and_then(|proof| self.read(proof.baseline.as_ref()?)),
            known: proof.and_then(|proof| {
                let findings = self.read(proof.findings.as_ref()?)?;
                Some(ProofCheck { check: proof.check.to_string(), findings: findings_in(findings.as_str()) })
            }),
            ..ProofCall::default()
        })
    }

    fn condition(&self, task: TaskIx, claim: &Claim) -> Result<Condition, Failure> {
        let text = |text: &Text| self.render(task, text, "ensure").map(|text| text.trim().to_owned());
        Ok(match claim {
            Claim::FileExists(path) => Condition::FileExists(text(path)?),
            Claim::FileChanged(path) => Condition::FileChanged(text(path)?),
            Claim::DiffNotEmpty(paths) => {
                Condition::DiffNotEmpty(paths.iter().map(text).collect::<Result<_, _>>()?)
            }
            Claim::Command(command) => Condition::Command(text(command)?),
            Claim::TestsPass(command) => Condition::TestsPass(command.as_ref().map(text).transpose()?),
            Claim::ToolCalled(tool) => Condition::ToolCalled(tool.clone()),
            Claim::That(expression) => Condition::That(expression.clone()),
        })
    }
}

/// How often a planner's conditions go back to the agent, where the role says nothing.
const PLANNED_RETRIES: u32 = 2;

impl State {
    /// Whether the work of a task is looked at from outside: it must be proven, and is done by parts.
    fn is_looked_at(&self, task: TaskIx) -> bool {
        self.node(task).is_looked_at()
    }

    /// Whether what the parts of a task came to is being checked.
    pub(crate) fn awaits_check(&self, task: TaskIx) -> bool {
        let is_stopping = self.tasks[task].cancelling.is_some();
        let proof = self.proofs.get(&task).filter(|_| !is_stopping);
        proof.is_some_and(|proof| proof.due.is_some() && proof.findings.is_none())
    }

    /// What the planner of a goal's task says must hold; of the roles that do the task.
    fn planned_conditions(&self, task: TaskIx) -> &[Condition] {
        let works = matches!(self.child_kind(task), Some(ChildKind::Role { role, .. }) if role.works());
        let item = self.parent_of(task).filter(|_| works).and_then(|parent| self.item_of(parent));
        item.map(|item| item.ensure.as_slice()).unwrap_or_default()
    }

    /// Whether the output of a task says by itself whether the work is done.
    fn says_itself(&self, task: TaskIx) -> bool {
        let above = self.parent_of(task).map(|parent| &self.node(parent).kind);
        matches!(above, Some(Kind::Phase(_) | Kind::Item(_)))
    }

    /// Whether it was proven that a task is done: it succeeded, and everything that was asked held. What is done by others is proven
    /// if their work is; a task that is asked again for its result adds nothing to that.
    pub fn is_proven(&self, task: TaskIx) -> bool {
        if !self.tasks[task].succeeded() {
            return false;
        }
        if let Some(proof) = self.proofs.get(&task).filter(|proof| proof.findings.is_some()) {
            return proof.held;
        }
        let members = self.tasks[task].group.iter().flat_map(|group| &group.members).copied();
        match &self.node(task).kind {
            Kind::Item(_) => self.is_item_proven(task),
            // What is accepted is the last try, or what was made of the work that it handed out.
            Kind::Phase(_) => {
                let is_own = |member: &TaskIx| {
                    matches!(
                        self.child_kind(*member),
                        Some(ChildKind::Try { .. } | ChildKind::Aggregate { .. })
                    )
                };
                members.filter(is_own).last().is_some_and(|last| self.is_proven(last))
            }
            _ => false,
        }
    }

    /// A task of a goal is proven by the role that did it, or by all the children that it was split into.
    fn is_item_proven(&self, task: TaskIx) -> bool {
        let members: Vec<TaskIx> =
            self.tasks[task].group.iter().flat_map(|group| &group.members).copied().collect();
        let works = |member: &TaskIx| self.goal_role(*member).is_some_and(|(role, _)| role.works());
        let mut last = members
            .iter()
            .rev()
            .copied()
            .skip_while(|member| !works(member) && self.item_of(*member).is_none());
        match last.next() {
            Some(done) if self.item_of(done).is_none() => self.is_proven(done),
            Some(child) => {
                let children =
                    std::iter::once(child).chain(last.take_while(|one| self.item_of(*one).is_some()));
                children.into_iter().all(|child| self.is_proven(child))
            }
            None => false,
        }
    }
}

/// What cannot be read was never found: the check is made again.
fn findings_in(text: &str) -> Vec<ProofFinding> {
    serde_json::from_str(text).unwrap_or_default()
}
