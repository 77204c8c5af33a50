//! Proof: what an attempt must prove, rendered; and which ends are proven.
//!
//! A task has the conditions of its node; a task of a goal also has those that its planner declared. Baseline and last findings come from
//! the journal. Whether a condition holds is decided elsewhere (`agent`): this module has the question and the recorded answer.

use crate::state::{State, TaskIx};
use crate::view::View;
use convoke_model::{
    ChildKind, Condition, Failure, ProofCall, ProofCheck, ProofFinding, StatedCondition, Work,
};
use convoke_plan::{Claim, Kind, Text};

impl View<'_> {
    /// What the next attempt of a task must prove, if anything.
    pub(super) fn proof_call(&self, task: TaskIx, work: &Work) -> Result<Option<ProofCall>, Failure> {
        if matches!(work, Work::Program(_)) {
            return Ok(None);
        }
        let (own, planned) = (self.node(task).proof.as_deref(), self.planned_conditions(task));
        if own.is_none() && planned.is_empty() {
            return Ok(None);
        }
        let mut conditions = Vec::new();
        for claim in own.iter().flat_map(|own| &own.conditions) {
            conditions.push(StatedCondition { condition: self.condition(task, claim)?, by_model: false });
        }
        let by_model =
            |condition: &Condition| StatedCondition { condition: condition.clone(), by_model: true };
        conditions.extend(planned.iter().map(by_model));
        let proof = self.proofs.get(&task);
        Ok(Some(ProofCall {
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
        }))
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
