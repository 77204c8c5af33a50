//! A run and its tasks, for programs.

use super::capacity::Fared;
use super::{InspectedRun, conversation, word};
use crate::failure::CommandFailure;
use crate::reusing::explain;
use convoke_engine::report::{AttemptReport, TaskReport};
use convoke_journal::Blocked;
use convoke_model::synthesis::bare;
use convoke_model::{Event, GateId, JsonText, Payload, TaskId, Timestamp, Usage};
use serde_json::{Map, Value, json};

/// What was used; a cost that is not known is null.
fn usage(used: &Usage) -> Value {
    let mut record = json!(used);
    record["cost_usd"] = json!(used.cost_usd());
    record
}

impl InspectedRun {
    pub(super) fn run_json(&self) -> Result<Value, CommandFailure> {
        let report = &self.report;
        let started = report.started.as_ref();
        let inputs = self.value(started.map(|started| &started.inputs))?;
        let tasks: Result<Vec<_>, _> =
            report.tasks.iter().map(|(id, task)| self.task_json(id, task, None)).collect();
        let waves = self.waves();
        let (proven, unproven) = self.proven_count();
        Ok(json!({
            "id": self.stored.run,
            "workflow": started.map(|started| &started.workflow),
            "file": started.map(|started| &started.file),
            "folder": started.map(|started| &started.folder),
            "version": started.map(|started| &started.version),
            "plan": started.map(|started| started.plan),
            "metadata": started.map(|started| &started.metadata),
            "base": started.and_then(|started| started.base.as_ref()),
            "inherited": usage(&report.inherited),
            "status": self.status.word(),
            "blocked": self.blocked.map(Blocked::word),
            "started_at": report.started_at.map(Timestamp::rfc3339),
            "finished_at": report.finished_at.map(Timestamp::rfc3339),
            "worked_ms": self.worked().map(|time| time.as_millis() as u64),
            "inputs": inputs,
            "output": self.value(report.output.as_ref())?,
            "failure": report.failure,
            "waiting": self.stored.waiting(),
            "gates": self.stored.gates_json()?,
            "usage": usage(&report.usage),
            "budget": self.budget,
            "budgets": self.budgets,
            "capacity": Fared::of(&self.stored.events, self.metrics.as_ref()).record(),
            "metrics": self.metrics_json(),
            "levels": waves.as_ref().map(|waves| &waves.levels),
            "critical_path": waves.as_ref().map(|waves| &waves.critical_path),
            "critical_path_length": waves.as_ref().map(|waves| waves.critical_path.len()),
            "parallelism_ratio": waves.as_ref().map(|waves| waves.parallelism_ratio),
            "proof": {"proven": proven, "unproven": unproven},
            "verification": self.verification(),
            "goals": self.goals_json(),
            "notes": self.notes_json(),
            "tasks": tasks?,
        }))
    }

    /// A task alone: with what it was asked, and the conversation that followed.
    pub(super) fn whole_task_json(
        &self,
        id: &TaskId,
        task: &TaskReport,
        asked: Option<&Value>,
    ) -> Result<Value, CommandFailure> {
        let mut record = self.task_json(id, task, asked)?;
        if let Some(contracts) = self.contracts_json(id) {
            record["contracts"] = contracts;
        }
        if let Some(conversations) = conversation::json(&self.conversations(id)?) {
            record["conversations"] = conversations;
        }
        let below: Vec<_> = self.below(id).map(|(id, _)| id).collect();
        if !below.is_empty() {
            record["tasks"] = json!(below);
        }
        Ok(record)
    }

    /// Which questions of a task were answered, when, by whom and from where.
    fn answers_json(&self, id: &TaskId) -> Option<Value> {
        let answered = self.stored.events.iter().filter_map(|stamped| match &stamped.event {
            Event::GateAnswered { task, question, by, from, .. } if task == id => Some(json!({
                "gate": GateId { task: task.clone(), question: *question }.to_string(),
                "by": by, "from": from, "at": stamped.at.rfc3339(),
            })),
            _ => None,
        });
        let answered: Vec<Value> = answered.collect();
        (!answered.is_empty()).then_some(Value::Array(answered))
    }

    fn task_json(
        &self,
        id: &TaskId,
        task: &TaskReport,
        asked: Option<&Value>,
    ) -> Result<Value, CommandFailure> {
        let answer = self.answer(id);
        let mut record = Map::new();
        let mut put =
            |key: &str, value: Option<Value>| drop(value.map(|value| record.insert(key.to_owned(), value)));
        put("task", Some(json!(id)));
        put("status", Some(json!(word(task.state, self.status))));
        put("came_to", self.try_outcome(id, task)?.map(|came| json!(came.word)));
        put("started_at", Some(json!(task.started_at.map(Timestamp::rfc3339))));
        put("finished_at", Some(json!(task.ended_at.map(Timestamp::rfc3339))));
        put("worked_ms", self.worked_on(task).map(|time| json!(time.as_millis() as u64)));
        put("usage", Some(usage(&task.usage)));
        put("tools", (!task.tools.is_empty()).then(|| json!(task.tools)));
        put("asked", asked.cloned());
        put("output", self.optional(task.output.as_ref())?);
        put("so_far", self.so_far(id)?);
        put("proven", self.proven(id, task).map(|proven| json!(proven)));
        put("checks", self.checks_json(id)?);
        put("failure", task.failure.as_ref().map(|failure| json!(failure)));
        put("reuse", explain::record(&task.because, task.taken.as_ref()));
        put("superseded", task.superseded.then(|| json!(true)));
        put("cause", task.cause.as_ref().map(|cause| json!(cause)));
        put("decided", self.decided.get(id).map(|reason| json!(reason)));
        put("guidance", self.task_guidance_json(id));
        put("notes", self.task_notes_json(id));
        put("question", self.optional(task.ask.as_ref())?);
        put("answer", self.optional(answer.as_ref().map(|(answer, _)| *answer))?);
        put("answered_by", answer.map(|(_, by)| json!(by)));
        put("answers", self.answers_json(id));
        let attempts: Result<Vec<_>, _> =
            task.attempts.iter().map(|attempt| self.attempt_json(attempt)).collect();
        put("attempts", Some(json!(attempts?)));
        Ok(Value::Object(record))
    }

    /// What a merge that takes outputs as they arrive has come to, until it has an output.
    pub(super) fn so_far(&self, id: &TaskId) -> Result<Option<Value>, CommandFailure> {
        let Some(so_far) = self.partial_merges.get(id) else { return Ok(None) };
        let text = self.optional(so_far.text.as_ref())?.map(bare);
        Ok(text.map(|text| json!({"merges": so_far.merges, "text": text})))
    }

    fn attempt_json(&self, attempt: &AttemptReport) -> Result<Value, CommandFailure> {
        Ok(json!({
            "attempt": attempt.attempt,
            "started_at": attempt.started_at.rfc3339(),
            "taken_by": attempt.taken_by,
            "finished_at": attempt.ended_at.map(Timestamp::rfc3339),
            "usage": usage(&attempt.usage),
            "failure": attempt.failure,
            "partial": self.optional(attempt.partial.as_ref())?,
        }))
    }

    fn optional(&self, payload: Option<&Payload>) -> Result<Option<Value>, CommandFailure> {
        Ok(self.value(payload)?.as_ref().map(JsonText::value))
    }
}
