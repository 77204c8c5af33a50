//! What came of a run, against what its test expects. Pure.

use super::case::Expect;
use convoke_model::nearest;
use convoke_model::{Event, Stamped, TaskId, Usage};
use serde_json::{Map, Value};

/// What came of a run.
#[derive(Debug, Default)]
pub struct Found {
    /// How it ended; `refused` if it did not begin.
    pub status: String,
    /// Calls to models.
    pub calls: u64,
    output: Option<Value>,
    /// Tasks that began.
    ran: Vec<TaskId>,
    /// The names of all steps, where the workflow could be read.
    steps: Vec<String>,
    /// What was said on standard error, and why it failed.
    said: String,
    /// A model was asked for something that is on no cassette.
    pub unanswered: bool,
}

impl Found {
    /// A workflow that was refused, with the words that refused it.
    pub fn refused(said: String) -> Found {
        Found { status: "refused".to_owned(), said, ..Found::default() }
    }

    /// A run, as its events tell it.
    pub fn of(events: &[Stamped], status: String, output: Option<Value>, mut said: String) -> Found {
        let mut used = Usage::default();
        let (mut ran, mut unanswered) = (Vec::new(), false);
        for stamped in events {
            if let Event::AttemptFailed { failure, .. } = &stamped.event {
                unanswered |= failure.reason.as_deref() == Some("not_on_cassette");
            }
            match &stamped.event {
                Event::AttemptFinished { usage, .. }
                | Event::AttemptFailed { usage, .. }
                | Event::AttemptSuspended { usage, .. }
                | Event::TurnRecorded { usage, .. } => used += *usage,
                Event::AttemptStarted { task, .. }
                | Event::TaskStarted { task, .. }
                | Event::TaskSucceeded { task, .. }
                | Event::OutputTaken { task, .. }
                | Event::GateOpened { task, .. }
                | Event::FannedOut { task, .. } => ran.push(task.clone()),
                Event::RunFinished { failure: Some(failure), .. } => said.push_str(&failure.message),
                _ => {}
            }
        }
        Found { status, calls: used.calls, output, ran, said, steps: Vec::new(), unanswered }
    }

    /// The same, of a workflow with these steps.
    pub fn with_steps(self, steps: Vec<String>) -> Found {
        Found { steps, ..self }
    }

    /// Why a name can mean no step of this workflow: a test that names what is not there would hold for ever.
    fn unknown(&self, step: &str) -> Option<String> {
        let is_known = |name: &str| self.steps.iter().any(|known| known == name);
        let is_path = TaskId(step.into()).segments().all(|segment| is_known(&segment.node));
        if self.steps.is_empty() || is_known(step) || is_path || self.has_run(step) {
            return None;
        }
        let near = nearest(step, self.steps.iter().map(String::as_str));
        let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        Some(format!("there is no step `{step}`{near}"))
    }

    /// Whether a step ran, by its name or by the whole path of one of its tasks.
    fn has_run(&self, step: &str) -> bool {
        let named = |task: &TaskId| task.segments().last().is_some_and(|last| last.node == step);
        self.ran.iter().any(|task| &*task.0 == step || named(task))
    }
}

/// Everything that is not as expected, in words.
pub fn problems(expect: &Expect, found: &Found) -> Vec<String> {
    let mut problems = Vec::new();
    let status = expect.status.as_deref().unwrap_or("succeeded");
    if found.status != status {
        problems.push(format!("status: expected {status}, was {}\n{}", found.status, found.said.trim()));
    }
    let output = found.output.as_ref().unwrap_or(&Value::Null);
    if let Some(part) = &expect.output {
        compare("output", part, output, Extra::Allowed, &mut problems);
    }
    if let Some(whole) = &expect.exact_output {
        compare("output", whole, output, Extra::Wrong, &mut problems);
    }
    let unknown = |key: &str, step: &str| found.unknown(step).map(|why| format!("{key}: {why}"));
    let missing = expect.ran.iter().filter(|step| !found.has_run(step));
    problems.extend(
        missing.map(|step| unknown("ran", step).unwrap_or_else(|| format!("step `{step}` did not run"))),
    );
    let surplus = expect.skipped.iter().filter(|step| found.has_run(step));
    problems.extend(surplus.map(|step| format!("step `{step}` ran")));
    problems.extend(expect.skipped.iter().filter_map(|step| unknown("skipped", step)));
    if let Some(most) = expect.max_calls.filter(|most| found.calls > *most) {
        problems.push(format!("max_calls: expected at most {most}, were {}", found.calls));
    }
    if let Some(words) = expect.error.as_ref().filter(|words| !found.said.contains(*words)) {
        problems.push(format!("error: expected the words {words:?}, was\n{}", found.said.trim()));
    }
    problems
}

/// What would have to stand below `expect` for the run to be as expected: the way to each value that differs, and the value.
/// Steps and words of an error are for people to say, and a status that is not written stays a success.
/// A run that failed unexpectedly corrects nothing: what it left is no result.
pub fn corrections(expect: &Expect, found: &Found) -> Vec<(Vec<String>, Value)> {
    let mut corrections = Vec::new();
    let expected = expect.status.as_deref().unwrap_or("succeeded");
    if found.unanswered || found.status != expected && found.status != "succeeded" {
        return corrections;
    }
    let mut correct = |key: &str, value: Value| corrections.push((vec![key.to_owned()], value));
    if expect.status.as_ref().is_some_and(|status| *status != found.status) {
        correct("status", Value::from(found.status.as_str()));
    }
    if expect.max_calls.is_some_and(|most| found.calls > most) {
        correct("max_calls", Value::from(found.calls));
    }
    let output = found.output.as_ref().unwrap_or(&Value::Null);
    for (key, expected, extra) in
        [("output", &expect.output, Extra::Allowed), ("exact_output", &expect.exact_output, Extra::Wrong)]
    {
        if let Some(expected) = expected {
            differ(&[key.to_owned()], expected, output, extra, &mut corrections);
        }
    }
    corrections
}

/// Goes as deep as what is there and what is expected have the same shape.
fn differ(
    path: &[String],
    expected: &Value,
    was: &Value,
    extra: Extra,
    found: &mut Vec<(Vec<String>, Value)>,
) {
    let mut problems = Vec::new();
    compare("", expected, was, extra, &mut problems);
    if problems.is_empty() {
        return;
    }
    let below = |step: String| [path, &[step]].concat();
    match (expected, was) {
        (Value::Object(expected), Value::Object(was)) if same_keys(expected, was, extra) => {
            for (name, value) in expected {
                differ(&below(name.clone()), value, &was[name], extra, found);
            }
        }
        (Value::Array(expected), Value::Array(was)) if expected.len() == was.len() => {
            for (at, (value, there)) in expected.iter().zip(was).enumerate() {
                differ(&below(at.to_string()), value, there, extra, found);
            }
        }
        _ => found.push((path.to_vec(), was.clone())),
    }
}

fn same_keys(expected: &Map<String, Value>, was: &Map<String, Value>, extra: Extra) -> bool {
    expected.keys().all(|key| was.contains_key(key))
        && (extra == Extra::Allowed || expected.len() == was.len())
}

/// What fields mean that were not asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extra {
    Allowed,
    Wrong,
}

fn compare(path: &str, expected: &Value, was: &Value, extra: Extra, problems: &mut Vec<String>) {
    match (expected, was) {
        (Value::Object(expected), Value::Object(was)) => {
            for (name, value) in expected {
                let there = was.get(name).unwrap_or(&Value::Null);
                compare(&format!("{path}.{name}"), value, there, extra, problems);
            }
            let more = was.keys().filter(|name| extra == Extra::Wrong && !expected.contains_key(*name));
            problems.extend(more.map(|name| format!("{path}.{name}: not expected, was {}", was[name])));
        }
        (Value::Array(expected), Value::Array(was)) if expected.len() == was.len() => {
            for (at, (value, there)) in expected.iter().zip(was).enumerate() {
                compare(&format!("{path}[{at}]"), value, there, extra, problems);
            }
        }
        (Value::Number(a), Value::Number(b)) if a.as_f64() == b.as_f64() => {}
        (a, b) if a == b => {}
        _ => problems.push(format!("{path}: expected {expected}, was {was}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn found() -> Found {
        let output = Some(json!({"score": 9, "tags": ["a", {"b": 1, "c": 2}]}));
        let ran = vec![TaskId("write#2".into()), TaskId("all/slow".into())];
        Found {
            unanswered: false,
            status: "succeeded".into(),
            calls: 3,
            output,
            ran,
            said: "error: too slow".into(),
            steps: vec![],
        }
    }

    #[test]
    fn names_of_no_step_are_problems() {
        let steps = ["write", "publish", "all", "slow"].map(str::to_owned).to_vec();
        let found = found().with_steps(steps);
        let expect = json!({"ran": ["wrote"], "skipped": ["publsh", "publish", "all/quick", "all/slow#2"]});
        assert_eq!(
            problems(&serde_json::from_value(expect).unwrap(), &found),
            [
                "ran: there is no step `wrote`; did you mean `write`?",
                "skipped: there is no step `publsh`; did you mean `publish`?",
                "skipped: there is no step `all/quick`",
            ]
        );
    }

    fn problems_of(expect: Value) -> Vec<String> {
        problems(&serde_json::from_value(expect).unwrap(), &found())
    }

    #[test]
    fn only_what_differs_is_corrected() {
        let expect =
            json!({"output": {"score": 8, "tags": ["a", {"b": 2}]}, "max_calls": 2, "status": "failed"});
        let path = |path: &str| path.split('.').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(
            corrections(&serde_json::from_value(expect).unwrap(), &found()),
            [
                (path("status"), json!("succeeded")),
                (path("max_calls"), json!(3)),
                (path("output.score"), json!(9)),
                (path("output.tags.1.b"), json!(1)),
            ]
        );
        let exact = json!({"exact_output": {"score": 9}});
        let whole = found().output.unwrap();
        let corrected = corrections(&serde_json::from_value(exact).unwrap(), &found());
        assert_eq!(corrected, [(path("exact_output"), whole)]);
    }

    #[test]
    fn a_failure_that_was_not_expected_corrects_nothing() {
        let failed = Found { status: "failed".into(), output: Some(json!({"partial": {}})), ..found() };
        let corrected =
            |expect: Value, found: &Found| corrections(&serde_json::from_value(expect).unwrap(), found);
        assert_eq!(corrected(json!({"exact_output": {"score": 9}}), &failed), []);
        assert_eq!(corrected(json!({"output": {"score": 8}, "status": "succeeded"}), &failed), []);
        let partial = corrected(json!({"exact_output": {"score": 9}, "status": "failed"}), &failed);
        assert_eq!(partial.len(), 1, "what a failure leaves can be what is tested");
        let unanswered = Found { unanswered: true, ..found() };
        assert_eq!(corrected(json!({"output": {"score": 8}}), &unanswered), []);
    }

    #[test]
    fn what_is_as_expected_has_no_problems() {
        let expect = json!({"output": {"score": 9.0, "tags": ["a", {"b": 1}]}, "ran": ["write", "slow", "all/slow"],
            "skipped": ["publish"], "max_calls": 3, "error": "slow"});
        assert_eq!(problems_of(expect), Vec::<String>::new());
        assert_eq!(problems_of(json!({})), Vec::<String>::new());
    }

    #[test]
    fn every_problem_is_named() {
        let expect = json!({"status": "failed", "output": {"score": 8, "none": 1}, "ran": ["publish"],
            "skipped": ["write"], "max_calls": 2, "error": "fast"});
        assert_eq!(
            problems_of(expect),
            [
                "status: expected failed, was succeeded\nerror: too slow",
                "output.score: expected 8, was 9",
                "output.none: expected 1, was null",
                "step `publish` did not run",
                "step `write` ran",
                "max_calls: expected at most 2, were 3",
                "error: expected the words \"fast\", was\nerror: too slow",
            ]
        );
        let exact = problems_of(json!({"exact_output": {"tags": ["a", {"b": 1}]}}));
        assert_eq!(exact, ["output.tags[1].c: not expected, was 2", "output.score: not expected, was 9"]);
    }
}
