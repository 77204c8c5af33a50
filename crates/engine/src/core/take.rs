//! What each kind of fact means.

use super::{Core, Effect, Turn};
use crate::capacity::ledger::Purpose;
use crate::capacity::terms::RequestNo;
use crate::fact::{CallReply, CapacityFact, Fact, What};
use convoke_agent::{CallDemand, Report, TurnRecord};
use convoke_govern::Outcome;
use convoke_journal::Reply;
use convoke_model::{
    Answer, AnswerOrigin, AnswerSource, Ask, AttemptEnd, Blob, Class, Digest, EffectClaim, EffectCommit,
    Event, Failure, JsonText, LimitAdapted, LimitReason, LimitSetting, LimitsSeen, Payload, ProbeFinding,
    ProbeVerdict, TaskId, Timestamp, Usage, WaitsFor, reason,
};
use convoke_schedule::{Outputs, TaskIx, TaskState};

impl Core {
    pub(super) fn take(&mut self, Fact { at, what }: Fact, turn: &mut Turn) {
        match what {
            What::Ended { task, attempt, end } => self.take_end(at, task, attempt, end, turn),
            What::Reported { task, attempt, report } => self.take_report(at, task, attempt, report, turn),
            What::CallAsked { task, demand, reply, .. } => self.take_call(at, task, demand, reply, turn),
            What::CallEnded { task, attempt, usage, outcome } => {
                // What an earlier attempt says late is not about the call of this one.
                if attempt == self.scheduler.attempts(task) {
                    self.close_call(at, task, usage, outcome, turn)
                }
            }
            What::Capacity(told) => self.take_capacity(at, told, turn),
            What::Turned { task, attempt, record, written } => {
                self.take_record(at, task, attempt, record, turn);
                turn.effects.push(Effect::Acknowledge(written));
            }
            What::ToolsSettled { task, attempt, allowed, written } => {
                let task = self.scheduler.id(task).clone();
                self.happen(at, Event::ToolsSettled { task, attempt, allowed_tools: allowed }, turn);
                turn.effects.push(Effect::Acknowledge(written));
            }
            What::Workspace { task, attempt, owner, told, written } => {
                self.take_workspace(at, Some((task, attempt)), owner, *told, turn);
                turn.effects.push(Effect::Acknowledge(written));
            }
            What::Proof { task, attempt, told, written } => {
                self.take_proof(at, task, attempt, *told, turn);
                turn.effects.push(Effect::Acknowledge(written));
            }
            What::ProofLooked { task, seen } => self.take_look(at, task, *seen, turn),
            What::WorkspaceLeft { task, left } => self.take_left(at, task, left, turn),
            What::Answered { reply, sent, message } => {
                turn.consumed.extend(message);
                self.take_answer(at, *reply, sent, turn);
            }
            What::Stop { now, by, message } => {
                turn.consumed.extend(message);
                self.take_stop(at, now, by, turn);
            }
            What::Guided { task, text, by, message } => {
                turn.consumed.extend(message);
                self.take_guidance(at, task, text, by, turn);
            }
            What::Unreadable { message } => {
                turn.consumed.extend(message);
                self.take_unreadable(at, turn);
            }
            What::FilesSeen { task, present, absent } => {
                let task = self.scheduler.id(task).clone();
                self.happen(at, Event::FilesSeen { task, present, absent }, turn);
            }
            What::ProjectSeen { task, state } => self.take_project(at, task, state, turn),
            What::Slept { time } => {
                self.happen(at, Event::MachineSlept { ms: time.as_millis() as u64 }, turn);
            }
            // These change how the run is driven, not what is decided.
            What::Mailed | What::Unattended => {}
            What::Interrupt { now, by } => self.take_interrupt(now, by, turn),
        }
    }

    /// An attempt asks for a call to a model.
    fn take_call(
        &mut self,
        at: Timestamp,
        task: TaskIx,
        demand: CallDemand,
        reply: CallReply,
        turn: &mut Turn,
    ) {
        if self.scheduler.is_stopping() {
            return turn.effects.push(Effect::Answer(reply, Box::new(Err(stopping()))));
        }
        let Some(agent) = self.scheduler.agent_of(task) else { return };
        let (labels, node) = (self.scheduler.labels(task), self.scheduler.node(task));
        self.permits.ask_call(task, (node, &labels, agent), demand, reply, at, &mut turn.effects);
        self.bound_call(task, at);
    }

    /// A person has the run stop.
    fn take_stop(&mut self, at: Timestamp, now: bool, by: String, turn: &mut Turn) {
        self.happen(at, Event::StopRequested { now, by }, turn);
        self.permits.refuse_waiting(&stopping(), &mut turn.effects);
        turn.effects.push(Effect::StopCalls);
    }

    /// This process lets go of the run; the second time, at once.
    fn take_interrupt(&mut self, now: bool, by: String, turn: &mut Turn) {
        if now || self.interrupt.is_some() {
            turn.effects.push(Effect::AbortAll);
        }
        self.interrupt = Some(by);
        self.withdraw_ready();
    }

    fn take_unreadable(&mut self, at: Timestamp, turn: &mut Turn) {
        let message = "a message in the inbox was written by a newer version and is ignored".into();
        self.note(at, None, "unreadable_message", message, turn);
    }

    /// What the project's runs share has changed for a task; or it could not, and the task fails.
    fn take_project(
        &mut self,
        at: Timestamp,
        task: Option<TaskIx>,
        state: Result<crate::ProjectState, Failure>,
        turn: &mut Turn,
    ) {
        let place = task.and_then(|task| self.scheduler.project_place(task)).unwrap_or_default();
        let task = task.map(|task| self.scheduler.id(task).clone());
        match (state, task) {
            (Ok(state), task) => {
                let (revision, context) = (state.revision, self.store.payload(state.context));
                for place in self.other_names(&place) {
                    let context = context.clone();
                    self.happen(at, Event::ProjectSeen { task: None, revision, context, place }, turn);
                }
                self.happen(at, Event::ProjectSeen { task, revision, context, place }, turn);
            }
            (Err(failure), Some(task)) => self.fail_unwritten(at, task, failure, turn),
            (Err(failure), None) => self.note(at, None, "project_unread", failure.message, turn),
        }
    }

    /// What else the place is called by other pipelines of the plan: they see the change too.
    fn other_names(&self, place: &str) -> Vec<String> {
        let same = self.same_places.iter().find(|names| names.iter().any(|name| name == place));
        same.into_iter().flatten().filter(|name| *name != place).cloned().collect()
    }

    /// What was stopped meanwhile has ended already: it asks again when it goes on.
    fn fail_unwritten(&mut self, at: Timestamp, task: TaskId, failure: Failure, turn: &mut Turn) {
        let state = self.scheduler.find(&task).map(|task| self.scheduler.state(task));
        if matches!(state, None | Some(TaskState::Ended(_))) {
            return self.note(at, Some(task), reason::PROJECT_UNWRITTEN, failure.message, turn);
        }
        let failure = failure.reason(reason::PROJECT_UNWRITTEN);
        self.happen(at, Event::TaskFailed { task, failure }, turn);
    }

    /// Takes back what attempts wait for. Calls of those that run are still granted: they may end well in the time they have.
    fn withdraw_ready(&mut self) {
        self.ready().into_iter().for_each(|task| self.permits.withdraw(task));
    }

    /// Tasks that wait for a permit.
    fn ready(&self) -> Vec<TaskIx> {
        self.scheduler.tasks().filter(|task| self.scheduler.state(*task) == TaskState::Ready).collect()
    }

    pub(super) fn note(
        &mut self,
        at: Timestamp,
        task: Option<TaskId>,
        code: &str,
        message: String,
        turn: &mut Turn,
    ) {
        self.happen(at, Event::Noted { task, code: code.into(), message }, turn);
    }

    fn take_end(&mut self, at: Timestamp, task: TaskIx, attempt: u32, end: AttemptEnd, turn: &mut Turn) {
        let outcome = match &end {
            AttemptEnd::Finished { .. } => Outcome::Succeeded,
            AttemptEnd::Failed { failure, .. } => Outcome::of(failure),
            AttemptEnd::Probed(_) => Outcome::Succeeded,
            AttemptEnd::Suspended { .. } | AttemptEnd::Lost | AttemptEnd::Detached => Outcome::Unknown,
        };
        let end = self.as_probe(task, end);
        self.notice_fence(at, task, &end, turn);
        let fenced = self.fenced.remove(&task);
        let id = self.scheduler.id(task).clone();
        let event = match end {
            AttemptEnd::Finished { output, usage } => {
                Event::AttemptFinished { task: id, attempt, output: self.store.payload(output), usage }
            }
            AttemptEnd::Failed { failure, usage, .. } if fenced && self.is_ours(task, &failure) => {
                Event::AttemptLost { task: id, attempt, usage }
            }
            AttemptEnd::Failed { failure, usage, partial } => {
                let partial = partial.map(|partial| self.store.payload(partial));
                let failure = self.interrupted(task, failure);
                Event::AttemptFailed { task: id, attempt, failure, usage, partial }
            }
            AttemptEnd::Suspended { state, waits_for, usage } => {
                let state = self.store.payload(state);
                let waits_for = match waits_for {
                    WaitsFor::Children(Payload::Inline(sub_queries)) => {
                        WaitsFor::Children(self.store.payload(sub_queries))
                    }
                    other => other,
                };
                Event::AttemptSuspended { task: id, attempt, state, waits_for, usage }
            }
            AttemptEnd::Detached => Event::AttemptDetached { task: id, attempt },
            AttemptEnd::Probed(finding) => {
                let verdict = match finding {
                    ProbeFinding::Happened(output) => {
                        ProbeVerdict::Happened { output: self.store.payload(output) }
                    }
                    ProbeFinding::Absent => ProbeVerdict::Absent,
                    ProbeFinding::Unclear(why) => ProbeVerdict::Unclear { why },
                };
                let key = self.scheduler.effect_key(task).to_string();
                Event::EffectProbed { task: id, attempt, key, verdict }
            }
            // Decided in this turn, as after a crash.
            AttemptEnd::Lost => {
                self.scheduler.lose(task);
                return self.take_back(at, task, attempt, outcome, turn);
            }
        };
        self.happen(at, event, turn);
        self.note_unheard(at, task, turn);
        self.take_back(at, task, attempt, outcome, turn);
    }

    /// A probe that failed says nothing about the effect, unless it was told to stop.
    fn as_probe(&self, task: TaskIx, end: AttemptEnd) -> AttemptEnd {
        match end {
            AttemptEnd::Failed { failure, .. }
                if self.scheduler.is_probing(task) && failure.class != Class::Cancelled =>
            {
                AttemptEnd::Probed(ProbeFinding::Unclear(failure.message))
            }
            end => end,
        }
    }

    /// Takes back what an attempt held, and records what was learned from how it fared.
    fn take_back(&mut self, at: Timestamp, task: TaskIx, attempt: u32, outcome: Outcome, turn: &mut Turn) {
        self.permits.paths.end(task, at, &self.scheduler);
        if self.silent.remove(&task) {
            return self.permits.orphan(task, attempt);
        }
        // A call that is open still was never made, or its outcome is unknown: it says nothing about its model.
        self.close_call(at, task, None, Outcome::Unknown, turn);
        if self.unheld.remove(&task) {
            return;
        }
        let learned = self.permits.end(task, outcome, at, &mut turn.effects);
        learned.into_iter().for_each(|adapted| self.adapted(adapted, turn));
    }

    /// An attempt looks at its lease before it sends anything, and may find that it ran out before the heartbeat does.
    fn notice_fence(&mut self, at: Timestamp, task: TaskIx, end: &AttemptEnd, turn: &mut Turn) {
        let noticed = matches!(
            end, AttemptEnd::Failed { failure, .. } if failure.reason.as_deref() == Some(reason::FENCED)
        );
        if let Some(lease) = self.permits.lease_of(task).filter(|_| noticed) {
            self.lose(at, &[lease], turn);
        }
    }

    /// Gives back what a call holds, and records what was learned from how it fared.
    fn close_call(
        &mut self,
        at: Timestamp,
        task: TaskIx,
        usage: Option<Usage>,
        outcome: Outcome,
        turn: &mut Turn,
    ) {
        let learned = self.permits.end_call(task, usage, outcome, at, &mut turn.effects);
        learned.into_iter().for_each(|adapted| self.adapted(adapted, turn));
        for (task, worst) in self.permits.calls.take_lost() {
            let (task, attempt) = (self.scheduler.id(task).clone(), self.scheduler.attempts(task));
            self.push(at, Event::CallLost { task, attempt, worst }, turn);
        }
    }

    /// News of what all processes share.
    fn take_capacity(&mut self, at: Timestamp, fact: CapacityFact, turn: &mut Turn) {
        match fact {
            CapacityFact::Granted { request, fence } => {
                self.permits.leased(request, fence, at, &mut turn.effects)
            }
            // What the queue waits for is said at the end of the turn.
            CapacityFact::Queued { request, .. } => self.permits.ledger.queued(request),
            CapacityFact::Lapsed { request } => {
                turn.effects.extend(self.permits.ledger.request_again(request))
            }
            CapacityFact::Unpaid { request, budget, used } => {
                if let Some(Purpose::Call(call)) = self.permits.ledger.refused(request) {
                    self.permits.unpaid_by_all(call, &budget, used, &mut turn.effects);
                }
            }
            CapacityFact::Refused { request, why } => self.refuse(at, request, why, turn),
            CapacityFact::Lost { fences } => self.lose(at, &fences, turn),
            CapacityFact::Changed { name, from, to, origin } => {
                self.permits.set_limit(&name, to, at);
                let (setting, reason) = (LimitSetting::Limit, LimitReason::SetForAll);
                let (resource, origin) = (name, Some(origin));
                let adapted = LimitAdapted { resource, setting, from, to, reason, origin };
                self.happen(at, Event::LimitAdapted(adapted), turn);
                self.turn_away(at, turn);
            }
            CapacityFact::Paused { service, pause } => {
                let paused = self.permits.pause(&service, at + pause, at);
                paused.into_iter().for_each(|adapted| self.adapted(adapted, turn));
            }
            CapacityFact::Crowded { waits } => self.permits.crowded = waits,
            CapacityFact::Learned(learned) => self.learn(at, *learned, turn),
            CapacityFact::Noted { code, message } => self.note(at, None, code, message, turn),
        }
    }

    /// All processes together know something else of a service.
    fn learn(&mut self, at: Timestamp, learned: crate::fact::Learned, turn: &mut Turn) {
        self.permits.know(&learned);
        if let Some((from, to)) = learned.change {
            // Before anything was known a run asked as often as it may.
            let from = from.min(self.permits.services.most);
            let (resource, setting, reason) = (learned.service, LimitSetting::Limit, learned.reason);
            let adapted = LimitAdapted { resource, setting, from, to, reason, origin: None };
            self.happen(at, Event::LimitAdapted(adapted), turn);
        }
    }

    /// What a holder wants of the machine can never be had.
    fn refuse(&mut self, at: Timestamp, request: RequestNo, why: String, turn: &mut Turn) {
        let failure = Failure::new(Class::Capacity, why)
            .reason("never_fits")
            .hint("convoke capacity shows every limit and where it comes from");
        let tasks = match self.permits.ledger.refused(request) {
            Some(Purpose::Call(call)) => {
                return self.permits.refuse(call, Err(failure), &mut turn.effects);
            }
            Some(Purpose::Run) => self.ready(),
            Some(Purpose::Attempts(kind)) => self.permits.attempt_leases.waiting(kind),
            None => return,
        };
        for task in tasks {
            self.permits.withdraw(task);
            let event = Event::TaskFailed { task: self.scheduler.id(task).clone(), failure: failure.clone() };
            self.happen(at, event, turn);
        }
    }

    /// Leases ran out while this process was away. Agents are cut off from their services and begun again; commands and
    /// tools go on, because no other process can use what is in quarantine until they have ended.
    fn lose(&mut self, at: Timestamp, fences: &[u64], turn: &mut Turn) {
        for (task, fence) in self.permits.lose(fences) {
            if self.scheduler.state(task) != TaskState::Running {
                continue;
            }
            if self.scheduler.agent_of(task).is_some() && self.fenced.insert(task) {
                let (id, attempt) = (self.scheduler.id(task).clone(), self.scheduler.attempts(task));
                self.happen(at, Event::Fenced { task: id, attempt, lease: fence.0 }, turn);
                turn.effects.push(Effect::Abort(task));
            }
        }
    }

    /// A part of a conversation, and the large values that it names.
    fn take_record(
        &mut self,
        at: Timestamp,
        task: TaskIx,
        attempt: u32,
        record: TurnRecord,
        turn: &mut Turn,
    ) {
        let kept = record.kept.into_iter().map(|text| {
            let digest = Digest::of(text.as_str().as_bytes());
            self.store.put(Blob { digest, text });
            digest
        });
        let kept = kept.collect();
        let (id, piece) = (self.scheduler.id(task).clone(), self.store.payload(record.piece));
        let recorded = Event::TurnRecorded { task: id.clone(), attempt, piece, kept, usage: record.usage };
        self.happen(at, recorded, turn);
        // In the same commit: the calls whose results are in the record, and those that follow it.
        for commit in record.committed {
            let event = self.committed(task, attempt, commit);
            self.happen(at, event, turn);
        }
        for EffectClaim { key, kind, what } in record.claimed {
            self.happen(at, Event::EffectClaimed { task: id.clone(), attempt, key, kind, what }, turn);
        }
    }

    pub(super) fn committed(&mut self, task: TaskIx, attempt: u32, commit: EffectCommit) -> Event {
        let EffectCommit { key, failed, result } = commit;
        let result = result.map(|result| self.store.payload(result));
        Event::EffectCommitted { task: self.scheduler.id(task).clone(), attempt, key, failed, result }
    }

    /// An attempt that ended because we let go of the run did not fail: it is tried again on resume.
    fn interrupted(&self, task: TaskIx, failure: Failure) -> Failure {
        let ours = self.interrupt.is_some() && self.is_ours(task, &failure);
        match failure.reason.as_deref() {
            _ if !ours => failure,
            Some(reason::NEVER_STARTED) => failure.reason(reason::INTERRUPTED_UNSTARTED),
            _ => failure.reason(reason::INTERRUPTED),
        }
    }

    /// Whether an attempt was stopped by this process, and not because its task is over.
    fn is_ours(&self, task: TaskIx, failure: &Failure) -> bool {
        let stopped = failure.class == Class::Cancelled || failure.reason.as_deref() == Some(reason::FENCED);
        stopped && !self.scheduler.is_cancelling(task)
    }

    fn take_report(&mut self, at: Timestamp, task: TaskIx, attempt: u32, report: Report, turn: &mut Turn) {
        if let (Report::LimitsSeen(limits), Some(agent)) = (&report, self.scheduler.agent_of(task)) {
            let adapted = self.permits.limits_seen(agent, limits, at);
            adapted.into_iter().for_each(|adapted| self.adapted(adapted, turn));
            self.turn_away(at, turn);
        }
        let id = self.scheduler.id(task).clone();
        let event = match report {
            Report::TakenBy { pid } => Event::AttemptTaken { task: id, attempt, pid },
            Report::ProcessStarted { pid, start } => {
                Event::ProcessStarted { task: id, attempt, pid, start, survives: false }
            }
            Report::SurvivorStarted { pid, start } => {
                Event::ProcessStarted { task: id, attempt, pid, start, survives: true }
            }
            Report::EffectCommitted(commit) => self.committed(task, attempt, commit),
            Report::ModelCalled(call) => Event::ModelCalled { task: id, attempt, call },
            Report::ToolCalled { tool, ms, failed } => {
                Event::ToolCalled { task: id, attempt, tool, ms, failed }
            }
            Report::Noted { code, message } => Event::Noted { task: Some(id), code: code.into(), message },
            Report::LimitsSeen(limits) => Event::LimitsSeen(LimitsSeen {
                provider: limits.provider,
                model: limits.model,
                requests: [limits.requests.limit, limits.requests.remaining],
                tokens: [limits.tokens.limit, limits.tokens.remaining],
            }),
            Report::Silent => {
                self.silent.insert(task);
                return;
            }
            Report::GuidanceHeard { count } => {
                self.heard.insert(task, count);
                return;
            }
            Report::LetGo => {
                let learned = self.permits.reclaim(task, attempt, at, &mut turn.effects);
                return learned.into_iter().for_each(|adapted| self.adapted(adapted, turn));
            }
            Report::Progress { .. } | Report::ToolStarted { .. } | Report::Usage(_) => return,
        };
        self.happen(at, event, turn);
    }

    /// An answer that does not fit is told and changes nothing.
    fn take_answer(&mut self, at: Timestamp, reply: Reply, sent: Timestamp, turn: &mut Turn) {
        let event = match self.refusal(&reply, sent) {
            None => {
                self.allow(at, &reply, turn);
                self.answered(reply)
            }
            Some(why) => {
                let message = format!("an answer to `{}` by {} was refused: {why}", reply.task, reply.by);
                Event::Noted { task: Some(reply.task), code: "answer_refused".into(), message }
            }
        };
        self.happen(at, event, turn);
    }

    fn answered(&self, reply: Reply) -> Event {
        let question = self.scheduler.find(&reply.task).map_or(1, |task| self.scheduler.question(task));
        let answer = self.store.payload(JsonText::of(&reply.answer));
        Event::GateAnswered { task: reply.task, question, answer, by: reply.by, from: reply.from }
    }

    /// An answer that lets one task go on that a budget could not pay lets all tasks go on that wait for money.
    fn allow(&mut self, at: Timestamp, reply: &Reply, turn: &mut Turn) {
        let allows = |task: &TaskIx| reply.answer == Answer::Retry && self.asks_for_money(*task);
        let task = self.scheduler.find(&reply.task).filter(allows);
        let Some(task) = task else { return };
        let raised = self.permits.allow(task, &self.scheduler, at);
        for adapted in raised {
            let name = self.permits.governor.name(adapted.resource).to_owned();
            turn.effects.push(Effect::Allow { budget: name, limit: adapted.to });
            self.adapted(adapted, turn);
        }
        let others = self.scheduler.tasks().filter(|other| *other != task && self.asks_for_money(*other));
        for other in others.collect::<Vec<_>>() {
            let implied =
                Reply::new(self.scheduler.id(other).clone(), reply.answer.clone(), reply.by.clone());
            let from = Some(Box::new(AnswerSource::rule(AnswerOrigin::Implied)));
            let answered = self.answered(Reply { from, ..implied });
            self.happen(at, answered, turn);
        }
    }

    fn asks_for_money(&self, task: TaskIx) -> bool {
        let failure = self.scheduler.failure(task).and_then(|failure| failure.reason.as_deref());
        self.scheduler.state(task) == TaskState::Asking && failure == Some(reason::BUDGET_ASK)
    }

    fn refusal(&self, reply: &Reply, sent: Timestamp) -> Option<String> {
        let id = &reply.task;
        let task = match self.scheduler.find(id) {
            Some(task) if self.scheduler.is_answered(task) => return Some("it is answered already".into()),
            Some(task) if self.scheduler.state(task) == TaskState::Asking => task,
            _ => return Some("it does not wait for an answer".into()),
        };
        if reply.question.is_some_and(|question| self.questions.get(id) != Some(&question)) {
            return Some("it was an answer to an earlier question".into());
        }
        if self.scheduler.deadline(task).is_some_and(|until| until < sent) {
            return Some("its time to answer was over".into());
        }
        let ask = self.scheduler.ask(task).and_then(|payload: &Payload| self.store.text(payload));
        let ask: Option<Ask> = ask.and_then(|text| serde_json::from_str(text.as_str()).ok());
        let ask = ask?;
        match reply.shown.is_some_and(|shown| shown != ask.shown()) {
            true => Some("the question has changed since it was shown".into()),
            false => reply.answer.refusal(&ask),
        }
    }
}

/// Why a run that is stopping makes no further call. Its attempts go on after a resume, at their last finished turn.
pub fn stopping() -> Failure {
    Failure::new(Class::Cancelled, "the run is stopping; no further call is made").reason(reason::INTERRUPTED)
}
