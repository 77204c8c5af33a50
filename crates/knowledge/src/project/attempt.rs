//! Attempts: what they used, who answered, and the tools that they called.

use super::state::Attempt;
use super::{Projector, names};
use crate::vocab::{cv, prov};
use convoke_model::{ModelCall, Timestamp, Usage};
use oxrdf::NamedNode;

impl Projector {
    fn attempt(&mut self, task: &str, attempt: u32) -> NamedNode {
        names::part(&self.task(task), &format!("attempt:{attempt}"))
    }

    fn attempt_state(&mut self, task: &str, attempt: u32) -> &mut Attempt {
        self.tasks.entry(task.to_owned()).or_default().attempts.entry(attempt).or_default()
    }

    pub(super) fn attempt_started(&mut self, task: &str, attempt: u32, at: Timestamp) {
        self.tell(task, at);
        let (me, of) = (self.attempt(task, attempt), self.task(task));
        self.attempt_state(task, attempt).started = at;
        self.quads.class(&me, "Attempt");
        self.quads.add(&me, cv("attemptOf"), of);
        self.quads.number(&me, "number", attempt.into());
        self.quads.moment(&me, prov("startedAtTime"), at);
    }

    /// What a turn used counts when the attempt ends.
    pub(super) fn turn(&mut self, task: &str, attempt: u32, usage: &Usage) {
        self.attempt_state(task, attempt).usage += *usage;
    }

    pub(super) fn model_called(&mut self, task: &str, attempt: u32, call: &ModelCall) {
        if call.failure.is_some() || !call.purpose.is_empty() {
            return;
        }
        let name = if call.answered_by.is_empty() { &call.model } else { &call.answered_by };
        let answered = (call.provider.clone(), name.clone());
        let known = &mut self.attempt_state(task, attempt).answered;
        if !name.is_empty() && !known.contains(&answered) {
            known.push(answered);
        }
    }

    /// The attempt that goes on turns to the next model of its contract.
    pub(super) fn fell_back(&mut self, task: &str) {
        let attempts = self.tasks.get_mut(task).map(|task| &mut task.attempts);
        if let Some(attempt) = attempts.and_then(|attempts| attempts.values_mut().next_back()) {
            attempt.turned += 1;
        }
    }

    /// The model that answered in the end, where no call says so itself.
    fn last_asked(&self, task: &str, turned: usize) -> Option<(String, String)> {
        let (service, models) = self.tasks.get(task)?.models.as_ref()?;
        let name = models.get(turned).filter(|name| !name.is_empty())?;
        Some((service.clone(), name.clone()))
    }

    pub(super) fn tool_called(
        &mut self,
        task: &str,
        attempt: u32,
        tool: &str,
        ms: u64,
        failed: bool,
        seq: u64,
    ) {
        let by = self.attempt(task, attempt);
        let me = names::part(&by, &format!("call:{seq}"));
        self.quads.class(&me, "ToolUse");
        self.quads.add(&me, cv("inAttempt"), by);
        self.quads.add(&me, cv("tool"), names::thing("tool", tool));
        self.quads.number(&me, "durationMicros", ms.saturating_mul(1000));
        if failed {
            self.quads.add(&me, cv("status"), cv("Failed"));
        }
    }

    pub(super) fn attempt_ended(
        &mut self,
        task: &str,
        attempt: u32,
        status: &str,
        usage: &Usage,
        at: Timestamp,
    ) -> NamedNode {
        let me = self.attempt(task, attempt);
        let Attempt { started, usage: mut all, mut answered, turned } =
            self.attempt_state(task, attempt).clone();
        all += *usage;
        if answered.is_empty() && status == "Succeeded" {
            answered.extend(self.last_asked(task, turned));
        }
        let quads = &mut self.quads;
        quads.moment(&me, prov("endedAtTime"), at);
        quads.add(&me, cv("status"), cv(status));
        quads.number(&me, "durationMicros", at.0.saturating_sub(started.0));
        quads.count(&me, "calls", all.calls);
        quads.count(&me, "inputTokens", all.input_tokens);
        quads.count(&me, "outputTokens", all.output_tokens);
        quads.count(&me, "cacheReadTokens", all.cache_read_tokens);
        quads.count(&me, "costMicros", all.cost_micros);
        for (service, name) in &answered {
            quads.add(&me, cv("answeredByModel"), names::model(service, name));
        }
        me
    }
}
