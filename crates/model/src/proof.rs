//! Proof of work: conditions that the engine checks when an agent, a script or a tool says that it is done.
//!
//! Data alone. What stands on disk before the work begins (the baseline) and what each check found are events; who looks is the
//! attempt's affair. Evidence is bounded here, so that neither the journal nor a prompt grows with what a command prints.

use crate::excerpt::{clipped, one_line};
use crate::{
    Class, EffectCommit, Failure, JsonText, PolicySource, TaskId, WorkspaceCall, WorkspaceTold, reason,
};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The most conditions of one task.
pub const MOST_CONDITIONS: usize = 32;

/// Characters of evidence that are kept of one condition.
pub const MOST_EVIDENCE: usize = 1_200;

/// Characters of what was found that stand in a failure.
const MOST_WORDS: usize = 300;

/// One thing that must hold for work to count as done. Paths are those of the folder that the work is done in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// A file is there; of a pattern, at least one.
    FileExists(String),
    /// A file is another one than before the work; of a pattern, at least one, or one more or less.
    FileChanged(String),
    /// Something of these patterns changed; without any, something in the folder that git does not ignore.
    DiffNotEmpty(Vec<String>),
    /// A command ends with exit code 0.
    Command(String),
    /// The tests of the project run and pass: this command, or the one that the project's files call for.
    TestsPass(Option<String>),
    /// A tool was called, and the call succeeded.
    ToolCalled(String),
    /// An expression over the output is true.
    That(String),
    /// Nothing of these patterns was changed, made or removed.
    Protected(Vec<String>),
}

impl Condition {
    /// The words by which files name conditions; `protect` is a key of its own.
    pub const WORDS: &'static [&'static str] =
        &["file_exists", "file_changed", "diff_not_empty", "command", "tests_pass", "tool_called", "that"];

    /// The word for it.
    pub fn word(&self) -> &'static str {
        match self {
            Condition::FileExists(_) => "file_exists",
            Condition::FileChanged(_) => "file_changed",
            Condition::DiffNotEmpty(_) => "diff_not_empty",
            Condition::Command(_) => "command",
            Condition::TestsPass(_) => "tests_pass",
            Condition::ToolCalled(_) => "tool_called",
            Condition::That(_) => "that",
            Condition::Protected(_) => "protect",
        }
    }

    /// Whether it compares with what was there before the work.
    pub fn needs_baseline(&self) -> bool {
        matches!(self, Condition::FileChanged(_) | Condition::DiffNotEmpty(_) | Condition::Protected(_))
    }

    /// Whether a command is run to check it.
    pub fn runs_command(&self) -> bool {
        matches!(self, Condition::Command(_) | Condition::TestsPass(_))
    }

    /// Whether it is about the words of the agent or about its conversation, and not about what stands in files.
    pub fn is_about_answer(&self) -> bool {
        matches!(self, Condition::ToolCalled(_) | Condition::That(_))
    }

    /// Reads a condition that a model wrote: `KIND: VALUE`, or `KIND` alone where no value is needed. An expression is a person's to
    /// write: it is about outputs that a planner does not know.
    pub fn of_model(text: &str) -> Result<Condition, String> {
        let (word, value) = text.split_once(':').unwrap_or((text, ""));
        let (word, value) = (word.trim(), value.trim());
        let needed = |condition: fn(String) -> Condition| match value {
            "" | "true" => Err(format!("`{word}` needs a value, as in `{word}: …`")),
            value => Ok(condition(value.to_owned())),
        };
        let stated = !matches!(value, "" | "true");
        match word {
            "file_exists" => needed(Condition::FileExists),
            "file_changed" => needed(Condition::FileChanged),
            "command" => needed(Condition::Command),
            "tool_called" => needed(Condition::ToolCalled),
            "tests_pass" => Ok(Condition::TestsPass(stated.then(|| value.to_owned()))),
            "diff_not_empty" => Ok(Condition::DiffNotEmpty(
                value.split(',').map(str::trim).filter(|_| stated).map(str::to_owned).collect(),
            )),
            _ => Err(format!(
                "`{}` is no condition; they are file_exists, file_changed, diff_not_empty, command, tests_pass and tool_called",
                clipped(&one_line(word), 40)
            )),
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = self.word();
        match self {
            Condition::FileExists(value)
            | Condition::FileChanged(value)
            | Condition::Command(value)
            | Condition::ToolCalled(value)
            | Condition::That(value)
            | Condition::TestsPass(Some(value)) => write!(f, "{word}: {value}"),
            Condition::TestsPass(None) => f.write_str(word),
            Condition::DiffNotEmpty(patterns) if patterns.is_empty() => f.write_str(word),
            Condition::DiffNotEmpty(patterns) | Condition::Protected(patterns) => {
                write!(f, "{word}: {}", patterns.join(", "))
            }
        }
    }
}

/// A condition, and whether a model wrote it: what a model wants run is run only where the policy allows it unasked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatedCondition {
    /// What must hold.
    pub condition: Condition,
    /// A planner declared it, and no file.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_model: bool,
}

/// What an attempt must prove.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProofCall {
    /// What must hold, in this order.
    #[serde(default)]
    pub conditions: Vec<StatedCondition>,
    /// Patterns of files that the work must leave as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protect: Vec<String>,
    /// How often what does not hold goes back to the agent.
    #[serde(default)]
    pub max_retries: u32,
    /// Whether the output says by `status` or `goal_achieved` that the work is done; one that says it is not proves nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub judged: bool,
    /// The policies under which commands are run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<PolicySource>,
    /// Where the files are that it is about, where that is not the folder of the attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// Tells the checks of one conversation of the task from those of another.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// What was there before the task's first attempt, once that is on disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<JsonText>,
    /// The last check that is on disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<ProofCheck>,
}

impl ProofCall {
    /// All that must hold; that nothing protected was changed comes first.
    pub fn all(&self) -> impl Iterator<Item = StatedCondition> + '_ {
        let protected = (!self.protect.is_empty()).then(|| StatedCondition {
            condition: Condition::Protected(self.protect.clone()),
            by_model: false,
        });
        protected.into_iter().chain(self.conditions.iter().cloned())
    }

    /// Whether an output says that the work is done.
    pub fn claims(&self, output: &JsonText) -> bool {
        if !self.judged {
            return true;
        }
        let said = output.value();
        // Work that is handed to others is not done yet.
        if said.get("children").and_then(|children| children.as_array()).is_some_and(|all| !all.is_empty()) {
            return false;
        }
        let status = said.get("status").and_then(|status| status.as_str());
        let achieved = said.get("goal_achieved").and_then(|achieved| achieved.as_bool());
        status.is_none_or(|status| status == "success") && achieved != Some(false)
    }

    /// The findings of a check that was made before, where that is on disk.
    pub fn known(&self, check: &str) -> Option<&[ProofFinding]> {
        self.known.as_ref().filter(|known| known.check == check).map(|known| &*known.findings)
    }
}

/// What was found about one condition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProofFinding {
    /// What should hold.
    pub condition: Condition,
    /// Whether it does.
    pub held: bool,
    /// What was seen, bounded.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub evidence: String,
}

impl ProofFinding {
    /// A finding with so much of the evidence as is kept: its beginning and its end.
    pub fn new(condition: Condition, held: bool, evidence: impl Into<String>) -> ProofFinding {
        let evidence = evidence.into();
        let evidence = match evidence.chars().count() > MOST_EVIDENCE {
            true => middle_left_out(&evidence),
            false => evidence,
        };
        ProofFinding { condition, held, evidence }
    }
}

/// The beginning and, of a command more telling, the end.
fn middle_left_out(text: &str) -> String {
    let count = text.chars().count();
    let (head, tail) = (MOST_EVIDENCE / 4, MOST_EVIDENCE / 4 * 3);
    let begins: String = text.chars().take(head).collect();
    let ends: String = text.chars().skip(count - tail).collect();
    format!("{begins}\n[… {} characters left out]\n{ends}", count - head - tail)
}

/// One check of all conditions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProofCheck {
    /// Which one: the same when an attempt that goes on would make it again.
    pub check: String,
    /// What was found, in the order of the conditions.
    pub findings: Vec<ProofFinding>,
}

impl ProofCheck {
    /// Whether everything holds.
    pub fn held(&self) -> bool {
        self.findings.iter().all(|finding| finding.held)
    }
}

/// What an attempt tells about proof, to be on disk before it goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProofTold {
    /// What was there before the work.
    Begun(JsonText),
    /// A command or a tool is done, with this outcome. It is not done again, whatever becomes of the check that follows.
    Done(EffectCommit),
    /// Conditions were checked.
    Checked(ProofCheck),
}

/// The work of a task that has parts is to be looked at: before they begin, or once all of them have ended.
#[derive(Debug, Clone)]
pub struct ProofLook {
    /// The task.
    pub task: TaskId,
    /// Its step, for people.
    pub step: String,
    /// What must hold.
    pub proof: ProofCall,
    /// What the parts came to, and the name of the check. `None`: they have not begun.
    pub ended: Option<(String, JsonText)>,
    /// Where its parts work, where that is not the folder of the run.
    pub workspace: Option<Box<WorkspaceCall>>,
}

/// What a look saw.
#[derive(Debug, Clone)]
pub struct ProofSeen {
    /// Workspaces that had to be leased to look at them, each with its owner.
    pub leased: Vec<(TaskId, WorkspaceTold)>,
    /// What was there before, or what was found.
    pub told: ProofTold,
}

/// What does not hold, in one line.
pub fn missing(findings: &[ProofFinding]) -> String {
    let words =
        findings.iter().filter(|finding| !finding.held).map(|finding| match finding.evidence.as_str() {
            "" => format!("`{}` does not hold", finding.condition),
            why => format!("`{}` does not hold ({})", finding.condition, clipped(&one_line(why), MOST_WORDS)),
        });
    words.collect::<Vec<_>>().join("; ")
}

/// The failure of work whose proof was looked for so many times.
pub fn unproven(step: &str, findings: &[ProofFinding], times: u32) -> Failure {
    let asked = if times > 1 { format!(" (checked {times} times)") } else { String::new() };
    let message = format!("step `{step}`: it is said to be done and is not{asked}: {}", missing(findings));
    Failure::new(Class::InvalidOutput, message)
        .reason(reason::UNPROVEN)
        .hint(format!("`convoke show RUN {step}` has each check with what was found"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_a_model_wrote_is_read_or_refused_with_the_reason() {
        let read = |text: &str| Condition::of_model(text).map(|condition| condition.to_string());
        for text in
            ["file_exists: a/b.md", "command: cargo test -- a:b", "tests_pass", "tests_pass: npm test"]
        {
            assert_eq!(read(text).as_deref(), Ok(text));
        }
        assert_eq!(read("diff_not_empty").as_deref(), Ok("diff_not_empty"));
        assert_eq!(read(" diff_not_empty : src/**, docs ").as_deref(), Ok("diff_not_empty: src/**, docs"));
        assert_eq!(read("tests_pass: true").as_deref(), Ok("tests_pass"));
        for wrong in ["", "file_exists", "command:", "that: output.x", "it works"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn evidence_is_bounded_with_its_beginning_and_its_end() {
        let long = format!("first {} last", "é".repeat(5_000));
        let finding = ProofFinding::new(Condition::TestsPass(None), false, long);
        assert!(finding.evidence.starts_with("first ") && finding.evidence.ends_with(" last"));
        assert!(finding.evidence.chars().count() < MOST_EVIDENCE + 60);
        assert_eq!(ProofFinding::new(Condition::TestsPass(None), true, "short").evidence, "short");
    }

    #[test]
    fn only_who_says_to_be_done_must_prove_it() {
        let output = |value: serde_json::Value| JsonText::of(&value);
        let judged = ProofCall { judged: true, ..ProofCall::default() };
        for done in [json!({"status": "success"}), json!({"goal_achieved": true}), json!({"result": 1})] {
            assert!(judged.claims(&output(done)));
        }
        for open in [
            json!({"status": "failure"}),
            json!({"goal_achieved": false}),
            json!({"status": "success", "children": [{"persona": "a"}]}),
        ] {
            assert!(!judged.claims(&output(open.clone())));
            assert!(ProofCall::default().claims(&output(open)));
        }
    }

    #[test]
    fn conditions_keep_their_form_in_journals() {
        let all = [
            (Condition::FileExists("a".into()), json!({"file_exists": "a"})),
            (Condition::DiffNotEmpty(vec![]), json!({"diff_not_empty": []})),
            (Condition::TestsPass(None), json!({"tests_pass": null})),
            (Condition::Protected(vec!["t".into()]), json!({"protected": ["t"]})),
        ];
        for (condition, form) in all {
            assert_eq!(serde_json::to_value(&condition).unwrap(), form);
            assert_eq!(serde_json::from_value::<Condition>(form).unwrap(), condition);
        }
    }
}
