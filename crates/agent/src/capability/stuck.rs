//! Finds an agent that does the same thing over and over.
//!
//! Three ways: the same call n times in a row, two calls in turn for 2n, and n equal results of one tool. Equal results
//! of calls that all differ and all went well ("ok", "ok", "ok" after three files were written) are worth a word, but
//! no failure. Calls of one turn were made before the agent saw any of their results, so one turn alone is never a reason to give
//! up. Calls whose outcome is unknown count for nothing. What is remembered is bounded by 2n calls.

use crate::{ToolCall, ToolResult};
use convoke_model::{Class, Digest, Failure, StuckAction, StuckLoop};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{HashSet, VecDeque};

/// What an agent did last.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct History {
    recent: VecDeque<Deed>,
    /// What the agent was told about, and how often it has done so since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    told: Option<(Pattern, u32)>,
}

/// One call and what came of it, as hashes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Deed {
    tool: String,
    call: u64,
    result: u64,
    failed: bool,
}

/// What is done over and over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Pattern {
    Repeats { call: u64 },
    Alternates { calls: (u64, u64) },
    Idles { result: u64 },
}

/// What the agent knew when it made the calls of a turn.
struct Seen {
    /// Whether it had been told that it seems to be stuck.
    word: bool,
    /// How many calls of the turn were looked at: their results it had not seen.
    calls: u32,
}

/// What to do about a turn.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing.
    Fine,
    /// Tell the agent this.
    Tell(String),
    /// Give up, because of this.
    Stuck(String),
}

impl History {
    /// Takes note of the calls of one turn.
    pub fn observe<'a>(
        &mut self,
        bounds: StuckLoop,
        turn: impl Iterator<Item = (&'a ToolCall, &'a ToolResult)>,
    ) -> Verdict {
        let n = bounds.repeats.max(2);
        let mut verdict = Verdict::Fine;
        let mut seen = Seen { word: self.told.is_some(), calls: 0 };
        // A call whose outcome is unknown was made by an attempt before, and says nothing of what the agent does.
        for (call, result) in turn.filter(|(_, result)| !result.unknown) {
            seen.calls += 1;
            match self.take(Deed::of(call, result), bounds.action, n, &mut seen) {
                Verdict::Fine => {}
                stuck @ Verdict::Stuck(_) => return stuck,
                tell => verdict = tell,
            }
        }
        verdict
    }

    fn take(&mut self, deed: Deed, action: StuckAction, n: u32, seen: &mut Seen) -> Verdict {
        if let Some((pattern, since)) = &mut self.told {
            if pattern.goes_on(&deed) {
                *since += u32::from(seen.word);
                let (pattern, since) = (pattern.clone(), *since);
                self.remember(deed, n);
                return if since >= n { self.found(pattern, true) } else { Verdict::Fine };
            }
            *self = History::default();
            seen.word = false;
        }
        self.remember(deed, n);
        match self.pattern(n as usize) {
            Some(pattern) => self.found(pattern, action == StuckAction::Fail && seen.calls < n),
            None => Verdict::Fine,
        }
    }

    fn remember(&mut self, deed: Deed, n: u32) {
        if self.recent.len() == 2 * n as usize {
            self.recent.pop_front();
        }
        self.recent.push_back(deed);
    }

    fn pattern(&self, n: usize) -> Option<Pattern> {
        let last = self.recent.back()?;
        let latest = || self.recent.iter().rev();
        let streak = |same: fn(&Deed, &Deed) -> bool| latest().take_while(|deed| same(deed, last)).count();
        if streak(|deed, last| deed.call == last.call) >= n {
            return Some(Pattern::Repeats { call: last.call });
        }
        if streak(|deed, last| deed.result == last.result) >= n {
            return Some(Pattern::Idles { result: last.result });
        }
        let other = latest().nth(1)?.call;
        let expected = |at: usize| if at.is_multiple_of(2) { last.call } else { other };
        let alternating = latest().enumerate().take_while(|(at, deed)| deed.call == expected(*at)).count();
        (other != last.call && alternating >= 2 * n)
            .then_some(Pattern::Alternates { calls: (last.call, other) })
    }

    fn found(&mut self, pattern: Pattern, is_last_word: bool) -> Verdict {
        let what = self.in_words(&pattern);
        if is_last_word && self.is_grave(&pattern) {
            return Verdict::Stuck(what);
        }
        let told = self.told.as_ref().is_some_and(|(told, _)| *told == pattern);
        self.told = Some((pattern, 0));
        match told {
            true => Verdict::Fine,
            false => Verdict::Tell(format!(
                "You seem to be stuck: {what}. Do something else, or answer with what you know."
            )),
        }
    }

    /// Equal results of calls that differ and went well are what good work can look like.
    fn is_grave(&self, pattern: &Pattern) -> bool {
        let Pattern::Idles { result } = pattern else { return true };
        let streak: Vec<&Deed> = self.recent.iter().rev().take_while(|deed| deed.result == *result).collect();
        let distinct: HashSet<u64> = streak.iter().map(|deed| deed.call).collect();
        streak.iter().any(|deed| deed.failed) || distinct.len() < streak.len()
    }

    fn in_words(&self, pattern: &Pattern) -> String {
        let latest = |at: usize| self.recent.iter().rev().nth(at).map_or("", |deed| deed.tool.as_str());
        match pattern {
            Pattern::Repeats { .. } => {
                format!("`{}` is called with the same arguments again and again", latest(0))
            }
            Pattern::Alternates { .. } => {
                format!("the same calls of `{}` and `{}` take turns again and again", latest(1), latest(0))
            }
            Pattern::Idles { .. } => format!("`{}` gives the same result again and again", latest(0)),
        }
    }
}

impl Pattern {
    fn goes_on(&self, deed: &Deed) -> bool {
        match self {
            Pattern::Repeats { call } => deed.call == *call,
            Pattern::Alternates { calls } => deed.call == calls.0 || deed.call == calls.1,
            Pattern::Idles { result } => deed.result == *result,
        }
    }
}

impl Deed {
    fn of(call: &ToolCall, result: &ToolResult) -> Deed {
        let mut arguments: Value = call.arguments.value();
        arguments.sort_all_objects();
        Deed {
            tool: call.name.clone(),
            call: hash(&call.name, &arguments.to_string()),
            result: hash(&call.name, &result.text),
            failed: result.failed,
        }
    }
}

/// The same in every process, because it is written down.
fn hash(tool: &str, text: &str) -> u64 {
    let digest = Digest::of(format!("{tool}\n{text}").as_bytes());
    u64::from_le_bytes(digest.0[..8].try_into().expect("a digest has 32 bytes"))
}

/// The failure of an agent that is stuck.
pub(crate) fn failure(step: &str, what: &str) -> Failure {
    Failure::new(Class::Fatal, format!("step `{step}`: the agent is stuck: {what}"))
        .reason("stuck_loop")
        .hint("make the prompt say what to do when a tool does not help, or change `stuck_loop`")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(history: &mut History, action: StuckAction, call: (&str, &str), result: &str) -> Verdict {
        let call = ToolCall::new("1", call.0, call.1);
        let result =
            ToolResult { text: result.into(), failed: result.starts_with('!'), ..ToolResult::default() };
        history.observe(StuckLoop { repeats: 3, action }, [(&call, &result)].into_iter())
    }

    /// The numbers of the turns, from 1, in which the agent was told, and the one in which it failed.
    fn told_and_failed(action: StuckAction, turns: &[(&str, &str, &str)]) -> (Vec<usize>, Option<usize>) {
        let mut history = History::default();
        let mut told = Vec::new();
        for (at, (tool, arguments, result)) in turns.iter().enumerate() {
            match turn(&mut history, action, (tool, arguments), result) {
                Verdict::Fine => {}
                Verdict::Tell(_) => told.push(at + 1),
                Verdict::Stuck(_) => return (told, Some(at + 1)),
            }
        }
        (told, None)
    }

    #[test]
    fn the_same_call_is_told_and_then_fails() {
        let same = [("f", "{\"a\": 1, \"b\": 2}", "x"), ("f", "{\"b\": 2, \"a\": 1}", "y")].repeat(5);
        assert_eq!(told_and_failed(StuckAction::Warn, &same), (vec![3], Some(6)));
        assert_eq!(told_and_failed(StuckAction::Fail, &same), (vec![], Some(3)));
    }

    #[test]
    fn two_calls_in_turn_are_told_and_then_fail() {
        let turns: Vec<_> = (0..12)
            .map(|at| {
                if at % 2 == 0 {
                    ("f", "{}", ["a", "b", "c"][at % 3])
                } else {
                    ("g", "{}", ["d", "e", "f"][at % 3])
                }
            })
            .collect();
        assert_eq!(told_and_failed(StuckAction::Warn, &turns), (vec![6], Some(9)));
        assert_eq!(told_and_failed(StuckAction::Fail, &turns), (vec![], Some(6)));
    }

    #[test]
    fn equal_failures_are_told_and_then_fail() {
        let arguments: Vec<String> = (0..9).map(|at| format!("{{\"n\": {at}}}")).collect();
        let failing: Vec<_> = arguments.iter().map(|text| ("f", text.as_str(), "!no")).collect();
        assert_eq!(told_and_failed(StuckAction::Warn, &failing), (vec![3], Some(6)));
    }

    #[test]
    fn equal_results_of_other_calls_may_be_good_work() {
        let arguments: Vec<String> = (0..30).map(|at| format!("{{\"file\": {at}}}")).collect();
        let writing: Vec<_> = arguments.iter().map(|text| ("write", text.as_str(), "ok")).collect();
        for action in [StuckAction::Warn, StuckAction::Fail] {
            assert_eq!(told_and_failed(action, &writing), (vec![3], None));
        }
    }

    #[test]
    fn calls_that_a_crash_cut_off_are_no_deeds() {
        let calls: Vec<ToolCall> = (0..8).map(|n| ToolCall::new(n.to_string(), "act", "{}")).collect();
        let unknown =
            ToolResult { text: "nobody knows".into(), failed: true, unknown: true, ..ToolResult::default() };
        let mut history = History::default();
        for action in [StuckAction::Warn, StuckAction::Fail] {
            let turn = calls.iter().map(|call| (call, &unknown));
            assert_eq!(history.observe(StuckLoop { repeats: 3, action }, turn), Verdict::Fine);
        }
        assert_eq!(history, History::default());
    }

    #[test]
    fn one_turn_alone_is_no_reason_to_give_up() {
        let calls: Vec<ToolCall> =
            (0..8).map(|n| ToolCall::new(n.to_string(), "act", &format!("{{\"n\": {n}}}"))).collect();
        let refused = ToolResult { text: "!no".into(), failed: true, ..ToolResult::default() };
        for action in [StuckAction::Warn, StuckAction::Fail] {
            let mut history = History::default();
            let mut next = || {
                history.observe(StuckLoop { repeats: 3, action }, calls.iter().map(|call| (call, &refused)))
            };
            assert!(matches!(next(), Verdict::Tell(_)), "{action:?}: it has not seen one result yet");
            assert!(matches!(next(), Verdict::Stuck(_)), "{action:?}: it was told, and goes on");
        }
    }

    #[test]
    fn an_agent_that_changes_its_ways_begins_anew() {
        let mut turns = vec![("f", "{}", "x"); 5];
        turns.push(("g", "{}", "y"));
        turns.extend(vec![("f", "{}", "x"); 5]);
        assert_eq!(told_and_failed(StuckAction::Warn, &turns), (vec![3, 9], None));
        let varied: Vec<String> = (0..40).map(|at| format!("{{\"n\": {at}}}")).collect();
        let varied: Vec<_> = varied.iter().map(|text| ("f", text.as_str(), text.as_str())).collect();
        assert_eq!(told_and_failed(StuckAction::Fail, &varied), (vec![], None));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut history = History::default();
        for at in 0..1000 {
            let arguments = format!("{{\"n\": {}}}", at % 7);
            turn(&mut history, StuckAction::Warn, ("f", &arguments), &arguments);
            assert!(history.recent.len() <= 6);
        }
    }
}
