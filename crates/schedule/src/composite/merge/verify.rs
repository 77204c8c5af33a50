//! Examining an answer: assess, correct, assess again, until nothing is left to correct or the rounds are used up.
//!
//! The assessor is asked afresh each time and sees the answer, the question and the outputs behind the answer, never
//! its own earlier words. What remains is reported with the answer. An answer that could not be examined is a failure;
//! the answer itself stands in for the step (`unverified`).

use super::findings::{findings, open_findings, remains, severity, with_status};
use super::levels::as_text;
use super::prompt::{given_output, not_asked, with_prompt};
use crate::composite::Step;
use crate::state::{State, TaskIx};
use crate::view::View;
use convoke_model::excerpt::headed;
use convoke_model::synthesis::{astray, bare, cited, lead_nowhere, mark, readable, usage_value};
use convoke_model::{AgentCall, ChildKind, ChildSpec, Class, Event, Failure, TaskId};
use convoke_plan::{NodeIx, Strategy, Verify};
use serde_json::{Value, json};

/// Tokens of the outputs behind an answer that an assessor sees.
const EVIDENCE_TOKENS: u64 = 24_000;
/// And of each of them at least; fewer would say nothing.
const LEAST_TOKENS: u64 = 50;

/// The fields of a finding that its correction is told.
const FINDING: [&str; 5] = ["kind", "severity", "claim", "explanation", "correction"];

/// The reason of an examination whose first question failed for good.
pub(crate) const NOT_EXAMINED: &str = "not_examined";

impl View<'_> {
    pub(super) fn next_examination(&self, task: TaskIx, verify: &Verify) -> Vec<Step> {
        if self.group(task).open > 0 {
            return Vec::new();
        }
        let Some(last) = self.children(task).last().copied() else {
            let answer = self.tasks[self.first_answer(task)].id.clone();
            return vec![ask_one(task, 1, ChildKind::Assess { answer })];
        };
        let round = self.children(task).len().div_ceil(2) as u32;
        let about = self.child_kind(last).expect("a child of a verify task is a question");
        match (about, self.tasks[last].succeeded()) {
            (ChildKind::Assess { .. }, false) => self.not_examined(task, last, round, verify),
            (ChildKind::Assess { answer }, true) => {
                let open = open_findings(&self.json_of(last), verify.severity);
                if open == 0 || round > verify.rounds {
                    return self.end_verify(task, verify, None);
                }
                let findings = self.tasks[last].id.clone();
                vec![ask_one(task, round, ChildKind::Correct { answer: answer.clone(), findings })]
            }
            (_, false) => {
                let why = self.why_not(last);
                let note = format!("correction {round} failed; the answer is the one before it: {why}");
                self.end_verify(task, verify, Some(note))
            }
            (_, true) => {
                let answer = self.tasks[last].id.clone();
                vec![ask_one(task, round + 1, ChildKind::Assess { answer })]
            }
        }
    }

    /// The examination failed: the first time that is a failure of the step, later it is noted.
    fn not_examined(&self, task: TaskIx, last: TaskIx, round: u32, verify: &Verify) -> Vec<Step> {
        let why = self.why_not(last);
        if round > 1 {
            let note = format!("the corrected answer could not be examined: {why}");
            return self.end_verify(task, verify, Some(note));
        }
        let message =
            format!("verify step `{}`: the answer could not be examined: {why}", self.node(task).name);
        let class = self.tasks[last].failure.as_deref().map_or(Class::Fatal, |failure| failure.class);
        let answer = &self.tasks[self.first_answer(task)].id;
        let hint = format!("`convoke show RUN {answer}` has the unexamined answer");
        vec![Step::Fail { on: task, failure: Failure::new(class, message).reason(NOT_EXAMINED).hint(hint) }]
    }

    fn end_verify(&self, task: TaskIx, verify: &Verify, note: Option<String>) -> Vec<Step> {
        let findings = self.all_findings(task, verify);
        let open = findings.iter().filter(|finding| finding["status"] == "open").count();
        let corrections = self.answers(task).len() - 1;
        let verdict = match (open, corrections) {
            (0, 0) => "clean",
            (0, _) => "corrected",
            _ => "open",
        };
        if open > 0 && verify.fail_when_open {
            let failure = self.still_open(task, open, findings.len(), corrections);
            return vec![Step::Fail { on: task, failure }];
        }
        let (calls, usage) = self.calls_so_far(task);
        let answer = *self.answers(task).last().expect("there is a first answer");
        let result = bare(self.json_of(answer));
        let (sources, nowhere) = self.sources_behind(task, &result, corrections);
        // Notes for a person that only sees that the step succeeded.
        let notes = [("findings_open", remains(&findings)), ("not_corrected", note.clone())];
        let output = json!({
            "result": result, "verdict": verdict, "findings": findings, "sources": sources,
            "rounds": corrections, "calls": calls, "usage": usage_value(&usage),
            "notes": note.into_iter().chain(nowhere).collect::<Vec<_>>(),
        });
        let tell = |(code, message): (&str, Option<String>)| {
            let task = Some(self.tasks[task].id.clone());
            Some(Step::record(Event::Noted { task, code: code.to_owned(), message: message? }))
        };
        notes.into_iter().filter_map(tell).chain([Step::Succeed { on: task, output }]).collect()
    }

    /// Puts what is to be examined or corrected into the call that asks it.
    pub(super) fn put_examination(&self, child: TaskIx, call: AgentCall) -> Result<AgentCall, Failure> {
        let (task, verify) =
            self.parent_of(child).and_then(|task| Some((task, self.verify(task)?))).ok_or_else(not_asked)?;
        let prompt = match self.child_kind(child) {
            Some(ChildKind::Assess { answer }) => self.assess_prompt(task, verify, answer)?,
            Some(ChildKind::Correct { answer, findings }) => {
                self.correct_prompt(task, verify, answer, findings)?
            }
            _ => return Err(not_asked()),
        };
        Ok(with_prompt(call, prompt))
    }

    /// What there is of an examination that came to no end of its own: the newest answer, unverified, with the findings
    /// so far. `None` where there is no answer.
    pub(crate) fn unverified(&self, task: TaskIx, verify: &Verify) -> Option<Value> {
        let (mut report, findings, rounds) = match self.tasks[task].merging {
            None => {
                let answer = self.source_of(task, verify.of)?;
                (json!({ "result": bare(self.left_of(answer)?), "sources": [] }), Vec::new(), 0)
            }
            Some(_) => {
                let answers = self.answers(task);
                let (answer, rounds) = (*answers.last()?, answers.len() - 1);
                let result = bare(self.json_of(answer));
                let sources = self.sources_behind(task, &result, rounds).0;
                let findings = self.all_findings(task, verify);
                (json!({ "result": result, "sources": sources }), findings, rounds)
            }
        };
        let (calls, usage) = self.calls_so_far(task);
        report["verdict"] = json!(if findings.is_empty() { "unverified" } else { "open" });
        report["findings"] = json!(findings);
        report["rounds"] = json!(rounds);
        report["calls"] = json!(calls);
        report["usage"] = usage_value(&usage);
        report["notes"] = json!([]);
        report["partial"] = json!(true);
        report["reason"] = json!(self.why_unfinished(task));
        Some(report)
    }

    /// The sources of the merge that was examined, with what the answer names now, and a note about marks that lead
    /// nowhere. What stands in an answer without marks is known from its merge.
    fn sources_behind(&self, task: TaskIx, result: &Value, corrections: usize) -> (Value, Option<String>) {
        let first = self.first_answer(task);
        let Some(merging) = self.merging_of(first) else { return (json!([]), None) };
        let mut sources = self.json_of(first)["sources"].take();
        let text = as_text(result);
        let by_marks =
            !merging.strategy.chooses() && !matches!(merging.strategy, Strategy::Flat | Strategy::Vote);
        if let Some(sources) = sources.as_array_mut().filter(|_| by_marks && corrections > 0) {
            let named = cited(&text, sources.len());
            for (at, source) in sources.iter_mut().enumerate() {
                source["cited"] = json!(named.contains(&at));
            }
        }
        let nowhere = astray(&text, merging.sources.len());
        (sources, by_marks.then(|| lead_nowhere(&nowhere)).flatten())
    }

    /// Every finding with its round and what became of it.
    fn all_findings(&self, task: TaskIx, verify: &Verify) -> Vec<Value> {
        let assessed = self.group(task).members.iter().filter(|child| {
            let about = self.tasks[**child].spec.as_ref().map(|question| &question.kind);
            matches!(about, Some(ChildKind::Assess { .. })) && self.tasks[**child].succeeded()
        });
        let said: Vec<Value> = assessed.map(|child| self.json_of(*child)).collect();
        with_status(&said, verify.severity)
    }

    pub(super) fn assess_prompt(
        &self,
        task: TaskIx,
        verify: &Verify,
        answer: &TaskId,
    ) -> Result<String, Failure> {
        let given = self.examined_given(task, verify, verify.assessor, answer)?;
        self.render_given(task, &verify.assess, "assessor.prompt", given)
    }

    pub(super) fn correct_prompt(
        &self,
        task: TaskIx,
        verify: &Verify,
        answer: &TaskId,
        assessed: &TaskId,
    ) -> Result<String, Failure> {
        let mut given = self.examined_given(task, verify, verify.repairer, answer)?;
        let said = self.tasks.find(assessed).map(|child| self.json_of(child)).unwrap_or_default();
        let open = findings(&said).into_iter().filter(|finding| severity(finding) >= verify.severity);
        let words = |finding: Value| -> Value {
            let field = |name: &str| (name.to_owned(), json!(finding[name].as_str().unwrap_or_default()));
            Value::Object(FINDING.map(field).into_iter().collect())
        };
        given.push(("findings", open.map(words).collect()));
        self.render_given(task, &verify.correct, "repairer.prompt", given)
    }

    /// What both models are given: what the step says, the answer, and the outputs behind it.
    fn examined_given(
        &self,
        task: TaskIx,
        verify: &Verify,
        asked: NodeIx,
        answer: &TaskId,
    ) -> Result<Vec<(&'static str, Value)>, Failure> {
        let (room, stated) = (self.room_of(task, asked), self.stated_room(task, Some(asked)));
        let query = self.stated(task, verify.query.as_ref(), "query", stated)?;
        let constraints = self.stated(task, verify.constraints.as_ref(), "constraints", stated)?;
        let (outputs, further) = self.evidence(task, room);
        Ok(vec![
            ("query", json!(query.unwrap_or_default())),
            ("constraints", json!(constraints.unwrap_or_default())),
            ("answer", json!(self.answer_text(answer, room))),
            ("outputs", outputs),
            ("outputs_further", json!(further)),
        ])
    }

    /// An answer, up to half of what the window leaves to a prompt.
    fn answer_text(&self, answer: &TaskId, room: Option<u64>) -> String {
        let task = self.tasks.find(answer);
        let text = task.map(|task| readable(&bare(self.json_of(task)))).unwrap_or_default();
        let most =
            room.map_or(usize::MAX, |room| usize::try_from(room.saturating_mul(2)).unwrap_or(usize::MAX));
        headed(&text, most, "")
    }

    /// The outputs that the answer was made from (the sources of a merge, else what the step followed), as far as they are
    /// shown, and how many more there are.
    fn evidence(&self, task: TaskIx, room: Option<u64>) -> (Value, usize) {
        let all = room.map_or(EVIDENCE_TOKENS, |room| EVIDENCE_TOKENS.min(room / 4)).max(LEAST_TOKENS);
        let answer = self.first_answer(task);
        let sources = match self.merging_of(answer) {
            Some(merging) => merging.sources.clone(),
            None => {
                self.tasks[answer].from.iter().copied().filter(|from| self.tasks[*from].succeeded()).collect()
            }
        };
        let each = all / sources.len().max(1) as u64;
        let most = (all / LEAST_TOKENS) as usize;
        let shown = |(index, source): (usize, &TaskIx)| {
            let heading = format!("[{}] {}", mark(index), self.step_name(*source));
            given_output(heading, self.output_excerpt(*source, each.max(LEAST_TOKENS)))
        };
        let outputs = sources.iter().enumerate().take(most).map(shown).collect();
        (outputs, sources.len().saturating_sub(most))
    }
}

impl State {
    fn first_answer(&self, task: TaskIx) -> TaskIx {
        self.tasks[task].merging.as_ref().expect("it has begun").sources[0]
    }

    fn why_not(&self, question: TaskIx) -> &str {
        self.tasks[question].failure.as_deref().map_or("it was stopped", |failure| &failure.message)
    }

    fn still_open(&self, task: TaskIx, open: usize, all: usize, corrections: usize) -> Failure {
        let noun = if corrections == 1 { "correction" } else { "corrections" };
        let message = format!(
            "verify step `{}`: {open} of {all} findings remain after {corrections} {noun}",
            self.node(task).name,
        );
        Failure::new(Class::InvalidOutput, message).reason("findings_open")
    }

    /// The answer and its corrections, oldest first.
    fn answers(&self, task: TaskIx) -> Vec<TaskIx> {
        let corrected = self.group(task).members.iter().copied().filter(|child| {
            let about = self.tasks[*child].spec.as_ref().map(|question| &question.kind);
            matches!(about, Some(ChildKind::Correct { .. })) && self.tasks[*child].succeeded()
        });
        std::iter::once(self.first_answer(task)).chain(corrected).collect()
    }
}

fn ask_one(task: TaskIx, number: u32, about: ChildKind) -> Step {
    Step::Spawn { on: task, children: vec![ChildSpec::new(number.to_string(), about)] }
}
