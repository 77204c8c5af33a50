//! What holds for every way of making one answer of many, whatever the number and size of the outputs, the order in which
//! they arrive, what fails and where the run is cut off: nothing is lost in silence, nothing is used twice.

use convoke_model::{Assignment, ChildKind, Class, Event, Piece};
use convoke_plan::Plan;
use convoke_testkit::{Behaviour, Ended, World, plan_of};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

/// How one source behaves.
#[derive(Debug, Clone)]
struct Source {
    fails: bool,
    /// When it ends, counted from its start.
    millis: u64,
    /// Words of its output.
    words: usize,
}

fn source(words: std::ops::Range<usize>) -> impl Strategy<Value = Source> {
    (prop::bool::weighted(0.15), 1u64..200, words).prop_map(|(fails, millis, words)| Source {
        fails,
        millis,
        words,
    })
}

fn plan(count: usize, places: usize, more: &str) -> Arc<Plan> {
    let items: Vec<_> = (0..count).map(|n| n.to_string()).collect();
    let text = format!(
        "
workflow: {{name: w, runtime: {{provider: scripted}}, limits: {{max_concurrency: 60}}}}
for_each:
  - {{name: a, type: for_each, items: [{}], as: n, max_concurrent: {places}, failure_mode: continue_on_error, agent: {{name: one, prompt: 'say'}}}}
agents:
  - {{name: s, type: reduce, needs: [{{step: a, requires: any}}], {more}}}
output: {{answer: '{{{{ s.output | json }}}}'}}
",
        items.join(", ")
    );
    plan_of(&text, &[])
}

type Fails = HashSet<usize>;

/// Sources do as they are told, and a question answers with its own name; the n-th question fails if it is among these.
fn script(sources: &[Source], failing: &Fails) -> Box<dyn FnMut(&Assignment) -> Behaviour> {
    let (sources, failing, mut asked) = (sources.to_vec(), failing.clone(), 0);
    Box::new(move |assignment| {
        let task = assignment.task.to_string();
        let Some(index) = task.strip_prefix("a[").and_then(|rest| rest.strip_suffix(']')) else {
            asked += 1;
            let takes = Duration::from_millis(20);
            return match failing.contains(&asked) {
                true => Behaviour::fails(takes, Class::Fatal),
                false => Behaviour::gives(takes, json!({ "result": task })),
            };
        };
        let source: &Source = &sources[index.parse::<usize>().unwrap()];
        let takes = Duration::from_millis(source.millis);
        match source.fails {
            true => Behaviour::fails(takes, Class::Fatal),
            false => Behaviour::gives(takes, json!({ "result": "word ".repeat(source.words) })),
        }
    })
}

/// A run, and what came of it.
struct Ran {
    world: World,
    ended: Ended,
}

impl Ran {
    fn of(plan: &Arc<Plan>, sources: &[Source], failing: &Fails, limit: u32) -> Ran {
        let mut world = World::new(plan.clone(), json!({}), limit, 1, script(sources, failing));
        let ended = world.finish();
        Ran { world, ended }
    }

    /// The same run, cut off after a part of its commits.
    fn cut_off(&self, plan: &Arc<Plan>, sources: &[Source], limit: u32, at: f64) -> Ran {
        let cut = 1 + ((self.world.commits.len() - 2) as f64 * at) as usize;
        let left = self.world.commits[..cut].to_vec();
        let script = script(sources, &Fails::new());
        let mut world = World::resumed(plan.clone(), limit, left, &self.world, script);
        let ended = world.finish();
        Ran { world, ended }
    }

    fn answer(&self) -> &Value {
        &self.ended.output.as_ref().unwrap_or_else(|| panic!("{:?}", self.ended))["answer"]
    }

    fn tasks(&self, field: &str) -> Vec<String> {
        let listed = self.answer()[field].as_array().unwrap().iter();
        listed.map(|entry| entry["task"].as_str().unwrap().to_owned()).collect()
    }

    /// What was asked, in order: the question's task, and its pieces.
    fn questions(&self) -> Vec<(String, Vec<Piece>)> {
        let mut all = Vec::new();
        for stamped in self.world.events() {
            let Event::ChildrenSpawned { task, children: questions } = &stamped.event else { continue };
            for question in questions {
                let ChildKind::Merge { of } = &question.kind else { panic!("only merges here") };
                all.push((format!("{task}/merge[{}]", question.key), of.clone()));
            }
        }
        all
    }

    /// The pieces of sources that the result was made of, each as often as it went in.
    fn went_in(&self) -> Vec<Piece> {
        let asked: BTreeMap<String, Vec<Piece>> = self.questions().into_iter().collect();
        let mut open = match self.answer()["result"].as_str() {
            Some(last) if last.starts_with("s/") => asked[last].clone(),
            _ => panic!("no question gave it"),
        };
        let mut leaves = Vec::new();
        while let Some(piece) = open.pop() {
            match asked.get(&piece.task.to_string()) {
                Some(of) => open.extend(of.clone()),
                None => leaves.push(piece),
            }
        }
        leaves
    }
}

fn names(sources: &[Source], fails: bool) -> Vec<String> {
    let those = sources.iter().enumerate().filter(|(_, source)| source.fails == fails);
    those.map(|(index, _)| format!("a[{index}]")).collect()
}

/// The sources of which every part is among these, each exactly once; a part that came twice is a failure.
fn whole(pieces: &[Piece]) -> BTreeSet<String> {
    let mut parts: BTreeMap<String, Vec<[u32; 2]>> = BTreeMap::new();
    for piece in pieces {
        parts.entry(piece.task.to_string()).or_default().push(piece.part.unwrap_or([0, 1]));
    }
    let mut found = BTreeSet::new();
    for (task, mut parts) in parts {
        parts.sort_unstable();
        let (count, of) = (parts.len(), parts[0][1]);
        parts.dedup();
        assert_eq!(parts.len(), count, "{task}: a part is used twice");
        assert!(parts.iter().all(|part| part[1] == of), "{task} is cut in two ways");
        if count as u32 == of {
            found.insert(task);
        }
    }
    found
}

/// The smallest d with ratio^d ≥ n.
fn depth(n: usize, ratio: usize) -> u64 {
    let (mut depth, mut reach) = (0, 1);
    while reach < n {
        (depth, reach) = (depth + 1, reach * ratio);
    }
    depth
}

fn set(names: Vec<String>) -> BTreeSet<String> {
    names.into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn merging_by_levels_is_as_deep_as_the_logarithm_and_uses_every_output_once(
        sources in prop::collection::vec(source(1..5), 1..150),
        ratio in 2usize..12,
        limit in 1u32..60,
        cut in 0f64..1.0,
    ) {
        let there = names(&sources, false);
        prop_assume!(!there.is_empty());
        let plan = plan(sources.len(), 100, &format!("strategy: hierarchical, ratio: {ratio}"));
        let whole_run = Ran::of(&plan, &sources, &Fails::new(), limit);
        for ran in [whole_run.cut_off(&plan, &sources, limit, cut), whole_run] {
            prop_assert_eq!(&ran.answer()["rounds"], &json!(depth(there.len(), ratio)));
            prop_assert_eq!(ran.tasks("sources"), there.clone());
            prop_assert_eq!(ran.tasks("missing"), names(&sources, true));
            let asked = ran.questions();
            prop_assert_eq!(&ran.answer()["calls"], &json!(asked.len()));
            // Over all levels together: what was asked about once is not asked about again.
            let mut used: Vec<String> =
                asked.iter().flat_map(|(_, of)| of).map(|piece| piece.task.to_string()).collect();
            let count = used.len();
            used.sort_unstable();
            used.dedup();
            prop_assert_eq!(used.len(), count, "something is used twice: {:?}", asked);
            prop_assert!(asked.iter().all(|(_, of)| (2..=ratio).contains(&of.len())), "{:?}", asked);
            if there.len() > 1 {
                // Everything but the last answer went into something, and the sources went in in their order.
                prop_assert_eq!(count, there.len() + asked.len() - 1);
                let mut leaves: Vec<String> =
                    ran.went_in().into_iter().map(|piece| piece.task.to_string()).collect();
                leaves.reverse();
                prop_assert_eq!(leaves, there.clone());
            }
        }
    }

    #[test]
    fn outputs_of_any_size_are_merged_whole_or_said_to_be_missing(
        sources in prop::collection::vec(source(1..120), 2..40),
        strategy in prop::sample::select(vec!["hierarchical, ratio: 4", "progressive"]),
        group_tokens in 20u64..400,
        failing in prop::collection::hash_set(1usize..40, 0..4),
        places in 1usize..10,
    ) {
        let more = format!("strategy: {strategy}, group_tokens: {group_tokens}");
        let plan = plan(sources.len(), places, &more);
        let ran = Ran::of(&plan, &sources, &failing, 60);
        // Its last question failed, or nothing was there: that is a failure, and it is said.
        if ran.ended.failure.is_some() || ran.ended.output.is_none() {
            prop_assert!(ran.ended.failure.is_some());
            return Ok(());
        }
        prop_assume!(ran.answer()["result"].as_str().is_some_and(|last| last.starts_with("s/")));
        let merged = whole(&ran.went_in());
        let missing = set(ran.tasks("missing"));
        let all: BTreeSet<String> = (0..sources.len()).map(|index| format!("a[{index}]")).collect();
        let unmerged: BTreeSet<String> = all.difference(&merged).cloned().collect();
        prop_assert_eq!(&missing, &unmerged, "what is not whole in the answer, and only that, is missing");
        let mut named = ran.tasks("sources");
        named.sort_unstable();
        prop_assert_eq!(named, set(names(&sources, false)).into_iter().collect::<Vec<_>>());
        prop_assert!(!failing.is_empty() || merged == set(names(&sources, false)));
    }

    #[test]
    fn merging_as_outputs_arrive_takes_each_once_whatever_the_order(
        sources in prop::collection::vec(source(1..5), 1..60),
        places in 1usize..20,
        limit in 1u32..20,
        cut in 0f64..1.0,
    ) {
        let there = names(&sources, false);
        prop_assume!(!there.is_empty());
        let plan = plan(sources.len(), places, "strategy: progressive");
        let whole_run = Ran::of(&plan, &sources, &Fails::new(), limit);
        for ran in [whole_run.cut_off(&plan, &sources, limit, cut), whole_run] {
            prop_assert_eq!(set(ran.tasks("sources")), set(there.clone()));
            prop_assert_eq!(ran.tasks("sources").len(), there.len(), "a source is named twice");
            prop_assert_eq!(set(ran.tasks("missing")), set(names(&sources, true)));
            let asked = ran.questions();
            // Each question is about the text so far, if there is one, and about what has arrived since.
            for (before, after) in asked.iter().zip(asked.iter().skip(1)) {
                prop_assert_eq!(&after.1[0].task.to_string(), &before.0);
            }
            let new = asked.iter().flat_map(|(_, of)| of).filter(|piece| piece.task.to_string().starts_with("a["));
            let mut new: Vec<String> = new.map(|piece| piece.task.to_string()).collect();
            if there.len() > 1 {
                prop_assert_eq!(&new, &ran.tasks("sources"), "in the order in which they were taken");
                new.sort_unstable();
                let mut expected = there.clone();
                expected.sort_unstable();
                prop_assert_eq!(new, expected);
            } else {
                prop_assert_eq!(asked.len(), 0, "one output is the answer as it stands");
            }
        }
    }
}

/// What a member of a board does.
#[derive(Debug, Clone)]
enum Member {
    Votes(&'static str),
    Abstains,
    Fails,
}

fn member() -> impl Strategy<Value = Member> {
    prop_oneof![
        4 => prop::sample::select(vec!["ship", "wait", "stop"]).prop_map(Member::Votes),
        1 => Just(Member::Abstains),
        1 => Just(Member::Fails),
    ]
}

fn board(members: &[Member]) -> Box<dyn FnMut(&Assignment) -> Behaviour> {
    let members = members.to_vec();
    Box::new(move |assignment| {
        let task = assignment.task.to_string();
        let index: usize = task.trim_start_matches("a[").trim_end_matches(']').parse().unwrap();
        let takes = Duration::from_millis(1 + index as u64 * 7 % 5);
        match &members[index] {
            Member::Votes(option) => Behaviour::gives(takes, json!({ "vote": option, "reason": "so" })),
            Member::Abstains => Behaviour::gives(takes, json!({ "vote": null, "reason": "so" })),
            Member::Fails => Behaviour::fails(takes, Class::Fatal),
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn a_board_comes_to_what_its_votes_say_whoever_abstains_or_fails(
        members in prop::collection::vec(member(), 1..9),
        needed in prop::sample::select(vec![("majority", 0), ("unanimous", 100), ("threshold, threshold: 0.75", 75)]),
        limit in 1u32..6,
        cut in 0f64..1.0,
    ) {
        // Where every member fails, their group does, and there is nothing to count.
        prop_assume!(members.iter().any(|member| !matches!(member, Member::Fails)));
        let (method, percent) = needed;
        let plan = plan(members.len(), 10, &format!("strategy: vote, vote: {{method: {method}, options: [stop, ship, wait]}}"));
        let mut whole = World::new(plan.clone(), json!({}), limit, 1, board(&members));
        let ended = whole.finish();
        let vote = &ended.output.as_ref().unwrap_or_else(|| panic!("{ended:?}"))["answer"]["vote"];

        let of = |option: &str| members.iter().filter(|m| matches!(m, Member::Votes(own) if *own == option)).count();
        let (ship, wait, stop) = (of("ship"), of("wait"), of("stop"));
        let (cast, most) = (ship + wait + stop, ship.max(wait).max(stop));
        prop_assert_eq!(&vote["tally"], &json!({ "stop": stop, "ship": ship, "wait": wait }));
        prop_assert_eq!(&vote["cast"], &json!(cast));
        let top: Vec<&str> = ["ship", "wait", "stop"].into_iter().filter(|o| of(o) == most && most > 0).collect();
        let winner = top.first().filter(|_| top.len() == 1 && most * 100 >= cast * percent);
        prop_assert_eq!(&vote["winner"], &json!(winner));
        let who = |wanted: fn(&Member) -> bool| -> BTreeSet<String> {
            let those = members.iter().enumerate().filter(|(_, member)| wanted(member));
            those.map(|(index, _)| format!("a [{index}]")).collect()
        };
        let abstained = vote["abstained"].as_array().unwrap().iter().map(|m| m.as_str().unwrap().to_owned());
        prop_assert_eq!(abstained.collect::<BTreeSet<_>>(), who(|member| matches!(member, Member::Abstains)));
        let failed = vote["failed"].as_object().unwrap().keys().cloned();
        prop_assert_eq!(failed.collect::<BTreeSet<_>>(), who(|member| matches!(member, Member::Fails)));

        let at = 1 + ((whole.commits.len() - 2) as f64 * cut) as usize;
        let left = whole.commits[..at].to_vec();
        let again = World::resumed(plan.clone(), limit, left, &whole, board(&members)).finish();
        prop_assert_eq!((again.status, again.output), (ended.status, ended.output));
    }
}
