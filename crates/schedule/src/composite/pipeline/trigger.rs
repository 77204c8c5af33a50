//! Whether an edge is taken: a pure question about how its phase ended, what was announced, and what holds.
//!
//! Knows no task and no state; the caller answers through [`Circumstances`]. Telemetry never gets here: what routes is the
//! status of a phase, what was announced, and the conditions that the edge states.

use convoke_model::{Failure, PhaseStatus};
use convoke_plan::template::ConditionId;
use convoke_plan::{Condition, On, Trigger};

/// What a phase that ran came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    /// It succeeded.
    Success,
    /// What it gave was not accepted, in any of its tries.
    ValidationFail,
    /// It failed.
    Failure,
}

impl Status {
    /// The word of the contract, of events and of outputs.
    pub fn word(self) -> &'static str {
        match self {
            Status::Success => "success",
            Status::ValidationFail => "validation_fail",
            Status::Failure => "failure",
        }
    }

    pub fn from_word(word: &str) -> Option<Status> {
        [Status::Success, Status::ValidationFail, Status::Failure]
            .into_iter()
            .find(|status| status.word() == word)
    }

    /// The status as events record it.
    pub fn to_record(self) -> PhaseStatus {
        match self {
            Status::Success => PhaseStatus::Success,
            Status::ValidationFail => PhaseStatus::ValidationFail,
            Status::Failure => PhaseStatus::Failure,
        }
    }

    /// The event that follows from it.
    pub fn implies(self) -> &'static str {
        match self {
            Status::Success => "validation_passed",
            Status::ValidationFail => "validation_failed",
            Status::Failure => "task_blocked",
        }
    }
}

/// What an edge is judged by.
pub(crate) trait Circumstances {
    /// What the phase that the edge leads from came to; nothing if it did not run.
    fn status(&self) -> Option<Status>;
    /// Whether that phase announced something of this kind.
    fn announced(&self, kind: &str) -> bool;
    /// Whether any phase has.
    fn happened(&self, kind: &str) -> bool;
    /// A flag of the run.
    fn flag(&self, key: &str) -> bool;
    /// Whether a file exists; nothing before it was looked for.
    fn file(&self, path: &str) -> Option<bool>;
    /// Whether an expression holds.
    fn holds(&self, when: ConditionId) -> Result<bool, Failure>;
    /// An expression as it is written.
    fn text(&self, when: ConditionId) -> String;
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Taken {
    /// It is.
    Yes,
    /// It is not, for this reason.
    No(String),
    /// That depends on files that were not looked for.
    Unseen(Vec<String>),
}

/// Whether an edge is taken.
pub(crate) fn taken(edge: &Trigger, at: &dyn Circumstances) -> Result<Taken, Failure> {
    let Some(status) = at.status() else { return Ok(Taken::No("did not run".into())) };
    if !asks_for(edge.on, edge.event.is_some(), status) {
        let wanted = edge.on.unwrap_or(On::Success).word();
        return Ok(Taken::No(format!("ended in {}, not in {wanted}", status.word())));
    }
    if let Some(event) = edge.event.as_deref().filter(|event| !at.announced(event)) {
        return Ok(Taken::No(format!("did not announce {event}")));
    }
    let mut unseen = Vec::new();
    for condition in &edge.when {
        match met(condition, at)? {
            Taken::Yes => {}
            Taken::Unseen(paths) => unseen.extend(paths),
            no => return Ok(no),
        }
    }
    Ok(if unseen.is_empty() { Taken::Yes } else { Taken::Unseen(unseen) })
}

/// An edge that names neither a status nor an event asks for success.
fn asks_for(on: Option<On>, has_event: bool, status: Status) -> bool {
    match on {
        None => has_event || status == Status::Success,
        Some(On::Always) => true,
        Some(On::Success) => status == Status::Success,
        Some(On::ValidationFail) => status == Status::ValidationFail,
        Some(On::Failure) => status == Status::Failure,
    }
}

fn met(condition: &Condition, at: &dyn Circumstances) -> Result<Taken, Failure> {
    let (holds, otherwise) = match condition {
        Condition::Always => (true, String::new()),
        Condition::StateFlag { key, equals } => {
            (at.flag(key) == *equals, format!("flag {key} is {}", at.flag(key)))
        }
        Condition::HistoryHasEvent { event } => (at.happened(event), format!("{event} has not happened")),
        Condition::FileExists { path } => match at.file(path) {
            None => return Ok(Taken::Unseen(vec![path.clone()])),
            Some(exists) => (exists, format!("there is no {path}")),
        },
        Condition::Expression { when } => (at.holds(*when)?, format!("`{}` does not hold", at.text(*when))),
    };
    Ok(if holds { Taken::Yes } else { Taken::No(otherwise) })
}

/// An edge in words, without where it leads from: `on failure, event task_blocked`.
pub(crate) fn in_words(edge: &Trigger) -> String {
    let on = match edge.on {
        Some(On::Always) => Some("in any case".to_owned()),
        Some(On::Success) => Some("on success".to_owned()),
        Some(On::ValidationFail) => Some("on validation_fail".to_owned()),
        Some(On::Failure) => Some("on failure".to_owned()),
        None if edge.event.is_none() => Some("on success".to_owned()),
        None => None,
    };
    let event = edge.event.as_deref().map(|event| format!("event {event}"));
    on.into_iter().chain(event).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_plan::NodeIx;

    #[derive(Default)]
    struct At {
        status: Option<Status>,
        said: Vec<&'static str>,
        before: Vec<&'static str>,
        flags: Vec<&'static str>,
        files: Vec<(&'static str, bool)>,
        expression: Option<bool>,
    }

    impl Circumstances for At {
        fn status(&self) -> Option<Status> {
            self.status
        }
        fn announced(&self, kind: &str) -> bool {
            self.said.contains(&kind)
        }
        fn happened(&self, kind: &str) -> bool {
            self.said.contains(&kind) || self.before.contains(&kind)
        }
        fn flag(&self, key: &str) -> bool {
            self.flags.contains(&key)
        }
        fn file(&self, path: &str) -> Option<bool> {
            self.files.iter().find(|(known, _)| *known == path).map(|(_, exists)| *exists)
        }
        fn holds(&self, _: ConditionId) -> Result<bool, Failure> {
            self.expression.ok_or_else(|| Failure::new(convoke_model::Class::Fatal, "no value"))
        }
        fn text(&self, _: ConditionId) -> String {
            "output.n > 1".to_owned()
        }
    }

    fn edge(on: Option<On>, event: Option<&str>, when: Vec<Condition>) -> Trigger {
        Trigger { from: NodeIx(0), on, event: event.map(Into::into), when, last: false }
    }

    fn at(status: Status) -> At {
        At { status: Some(status), ..At::default() }
    }

    #[test]
    fn a_status_is_asked_for_by_its_own_word_and_by_always() {
        use Status::*;
        let asked = [(On::Success, Success), (On::ValidationFail, ValidationFail), (On::Failure, Failure)];
        for (on, wanted) in asked {
            for status in [Success, ValidationFail, Failure] {
                let taken = taken(&edge(Some(on), None, vec![]), &at(status)).unwrap();
                assert_eq!(taken == Taken::Yes, status == wanted, "{on:?} {status:?}");
                assert_eq!(
                    super::taken(&edge(Some(On::Always), None, vec![]), &at(status)).unwrap(),
                    Taken::Yes
                );
            }
        }
        assert_eq!(taken(&edge(None, None, vec![]), &at(Success)).unwrap(), Taken::Yes);
        assert_ne!(taken(&edge(None, None, vec![]), &at(Failure)).unwrap(), Taken::Yes);
    }

    #[test]
    fn nothing_is_taken_from_a_phase_that_did_not_run() {
        let all = edge(Some(On::Always), None, vec![Condition::Always]);
        assert_eq!(taken(&all, &At::default()).unwrap(), Taken::No("did not run".into()));
    }

    #[test]
    fn an_event_must_have_been_announced_by_that_very_phase() {
        let planned = edge(None, Some("tasks_planned"), vec![]);
        let elsewhere = At { before: vec!["tasks_planned"], ..at(Status::Failure) };
        assert_eq!(taken(&planned, &elsewhere).unwrap(), Taken::No("did not announce tasks_planned".into()));
        let here = At { said: vec!["tasks_planned"], ..at(Status::Failure) };
        assert_eq!(taken(&planned, &here).unwrap(), Taken::Yes);
        let both = edge(Some(On::Success), Some("tasks_planned"), vec![]);
        assert_eq!(taken(&both, &here).unwrap(), Taken::No("ended in failure, not in success".into()));
    }

    #[test]
    fn all_conditions_must_hold_and_a_flag_never_set_is_false() {
        let flag = |key: &str, equals| Condition::StateFlag { key: key.into(), equals };
        let history = Condition::HistoryHasEvent { event: "merge_conflict_detected".into() };
        let when = edge(None, None, vec![flag("ready", true), flag("late", false), history]);
        let mut now = At { flags: vec!["ready"], ..at(Status::Success) };
        assert_eq!(taken(&when, &now).unwrap(), Taken::No("merge_conflict_detected has not happened".into()));
        now.before.push("merge_conflict_detected");
        assert_eq!(taken(&when, &now).unwrap(), Taken::Yes);
        now.flags.push("late");
        assert_eq!(taken(&when, &now).unwrap(), Taken::No("flag late is true".into()));
    }

    #[test]
    fn files_are_looked_for_only_where_nothing_else_decides() {
        let file = |path: &str| Condition::FileExists { path: path.into() };
        let flag = Condition::StateFlag { key: "ready".into(), equals: true };
        let when = edge(None, None, vec![file("a"), flag, file("b")]);
        assert_eq!(taken(&when, &at(Status::Success)).unwrap(), Taken::No("flag ready is false".into()));
        let mut now = At { flags: vec!["ready"], ..at(Status::Success) };
        assert_eq!(taken(&when, &now).unwrap(), Taken::Unseen(vec!["a".into(), "b".into()]));
        now.files = vec![("a", true), ("b", false)];
        assert_eq!(taken(&when, &now).unwrap(), Taken::No("there is no b".into()));
        now.files[1].1 = true;
        assert_eq!(taken(&when, &now).unwrap(), Taken::Yes);
    }

    #[test]
    fn an_expression_that_has_no_value_is_a_failure() {
        let when = edge(None, None, vec![Condition::Expression { when: ConditionId(0) }]);
        assert!(taken(&when, &at(Status::Success)).is_err());
        let no = At { expression: Some(false), ..at(Status::Success) };
        assert_eq!(taken(&when, &no).unwrap(), Taken::No("`output.n > 1` does not hold".into()));
    }
}
