//! The router over plain values: what it decides, in which order, and that it always comes to an end.

use super::contract::Said;
use super::decision::{Act, Decision};
use super::items::NOT_ACHIEVED;
use super::outcome::{Status, status};
use super::proposal::{Draft, Proposal};
use super::purse::Purse;
use super::route::route;
use super::state::{ItemState, Standing, State, Step, Told};
use super::verdict::{shortfall, verdict};
use crate::task::End;
use convoke_model::{Budget, Class, Duty, Effort, Failure, Item, Skip, TaskId, Usage};
use convoke_plan::{Action, Bounds, Goal, NodeIx, SpawnRule, Text};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A goal that is worked on by nobody real: duties are answered by the test.
struct Play {
    goal: Goal,
    steps: Vec<Move>,
    items: Vec<Piece>,
    ended: Option<Result<(), Failure>>,
    asked: Vec<String>,
    purses: Vec<Purse>,
}

#[derive(Clone)]
enum Move {
    Duty(Duty, Heard),
    Child(usize),
}

#[derive(Clone)]
enum Heard {
    Nothing,
    Failed(Failure),
    Said(Arc<Said>),
}

struct Piece {
    id: TaskId,
    item: Item,
    parent: Option<usize>,
    standing: Standing,
    steps: Vec<Move>,
    tried: Vec<Action>,
    due: Option<Action>,
    failure: Option<Failure>,
}

fn goal() -> Goal {
    let all = [
        Action::Retry,
        Action::RepairParameters,
        Action::AlternativeTool,
        Action::Decompose,
        Action::SpawnRecovery,
        Action::Skip,
        Action::Fail,
    ];
    Goal {
        goal: Text::Literal("g".into()),
        context: None,
        duties: BTreeMap::new(),
        item: NodeIx(0),
        tools: vec!["read".into(), "write".into()],
        bounds: Bounds { max_depth: 2, max_children: 4, max_tasks: 12, max_rounds: 2, max_recoveries: 3 },
        spawn: SpawnRule { tokens: 1000, seconds: 60, tools: 3 },
        skip_threshold: 70,
        policies: Class::ALL.into_iter().map(|class| (class, all.to_vec())).collect(),
        approve: false,
        plan_only: false,
        plan: None,
    }
}

fn draft(id: &str, inputs: &[&str]) -> Draft {
    Draft {
        id: id.into(),
        description: format!("do {id}"),
        inputs: inputs.iter().map(|id| (*id).into()).collect(),
        tools: Vec::new(),
        priority: 0,
        skip_probability: 0,
        skip_reason: String::new(),
        effort: Effort::default(),
        replaces: Vec::new(),
    }
}

fn tasks(tasks: Vec<Draft>) -> Said {
    Said::Tasks(Proposal { tasks, complete: true })
}

fn done() -> Said {
    Said::Work { achieved: true, reason: "seen".into() }
}

fn answer(achieved: Option<bool>) -> Said {
    Said::Answer { achieved, reason: "it says so".into() }
}

fn not_done() -> Said {
    Said::Work { achieved: false, reason: "no".into() }
}

impl Play {
    fn new(goal: Goal) -> Play {
        Play {
            goal,
            steps: Vec::new(),
            items: Vec::new(),
            ended: None,
            asked: Vec::new(),
            purses: Vec::new(),
        }
    }

    fn state(&self) -> State<'_> {
        State {
            goal: &self.goal,
            id: TaskId("g".into()),
            given: None,
            approved: None,
            approved_text: None,
            unattended: true,
            purses: self.purses.clone(),
            steps: self.steps.iter().map(step).collect(),
            made: self.items.len() as u32,
            rounds: self.rounds(),
            items: self.items.iter().map(|item| self.item_state(item)).collect(),
            places: Default::default(),
        }
    }

    fn rounds(&self) -> u32 {
        let later = |pair: &&[Move]| matches!(pair, [Move::Duty(Duty::Classify, _), Move::Child(_)]);
        u32::from(!self.items.is_empty()) + self.steps.windows(2).filter(later).count() as u32
    }

    fn item_state<'p>(&'p self, piece: &'p Piece) -> ItemState<'p> {
        let end = |id: &TaskId| match self.items[self.at(id)].standing {
            Standing::Ended(end) => Some(end),
            _ => None,
        };
        ItemState {
            id: piece.id.clone(),
            item: &piece.item,
            parent: piece.parent,
            standing: piece.standing,
            builds_on: piece.item.inputs.clone(),
            inputs: piece.item.inputs.iter().map(end).collect(),
            steps: piece.steps.iter().map(step).collect(),
            tried: &piece.tried,
            due: piece.due,
            insisted: false,
            skipped: None,
            failure: piece.failure.as_ref(),
        }
    }

    /// Decides and carries out, until somebody must answer.
    fn settle(&mut self) -> Vec<Decision> {
        let mut all = Vec::new();
        for _ in 0..10_000 {
            if self.ended.is_some() {
                return all;
            }
            let decisions = route(&self.state());
            if decisions.is_empty() {
                return all;
            }
            for decision in decisions {
                self.carry_out(&decision);
                all.push(decision);
            }
        }
        panic!("routing does not come to an end");
    }

    fn carry_out(&mut self, decision: &Decision) {
        let at = decision.about.as_ref().map(|id| self.at(id));
        let action = Action::ALL.into_iter().find(|action| action.word() == decision.chosen);
        if let (Some(at), Some(action)) = (at, action) {
            self.items[at].tried.push(action);
            self.items[at].due = Some(action);
        }
        match &decision.act {
            Act::Ask { duty, .. } => {
                let of = decision.about.as_ref().map_or("g".to_owned(), |id| id.to_string());
                self.asked.push(format!("{of}/{}", duty.word()));
                self.moves(at).push(Move::Duty(*duty, Heard::Nothing));
                at.iter().for_each(|at| self.items[*at].due = None);
            }
            Act::Add(items) => self.add(at, items),
            Act::Skip(_) => self.items[at.unwrap()].standing = Standing::Ended(End::Skipped),
            Act::Retry => {}
            Act::Escalate(_) => unreachable!("nobody is there"),
            Act::Fail(failure) => {
                self.items[at.unwrap()].failure = Some(failure.clone());
                self.items[at.unwrap()].standing = Standing::Ended(End::Failed);
            }
            Act::Succeed | Act::Inherit(_) => {
                self.items[at.unwrap()].standing = Standing::Ended(End::Succeeded)
            }
            Act::Approve { .. } => unreachable!("nobody is there"),
            Act::Planned(_) | Act::Conclude => self.ended = Some(Ok(())),
            Act::Abandon(failure) => self.ended = Some(Err(failure.clone())),
        }
    }

    fn add(&mut self, at: Option<usize>, items: &[Item]) {
        let below = at.map_or(TaskId("g".into()), |at| self.items[at].id.clone());
        let mut number = self.items.iter().filter(|item| item.parent == at).count();
        for item in items {
            number += 1;
            self.items.push(Piece {
                id: TaskId::new(Some(&below), &number.to_string(), None, 1),
                item: item.clone(),
                parent: at,
                standing: Standing::Waiting,
                steps: Vec::new(),
                tried: Vec::new(),
                due: None,
                failure: None,
            });
            let last = self.items.len() - 1;
            self.moves(at).push(Move::Child(last));
        }
        at.iter().for_each(|at| self.items[*at].due = None);
    }

    fn moves(&mut self, at: Option<usize>) -> &mut Vec<Move> {
        match at {
            Some(at) => {
                self.items[at].standing = Standing::Open;
                &mut self.items[at].steps
            }
            None => &mut self.steps,
        }
    }

    fn at(&self, id: &TaskId) -> usize {
        self.items.iter().position(|item| item.id == *id).expect("it is a task")
    }

    /// Who waits for an answer: the goal or a task, and the duty.
    fn waiting(&self) -> Vec<(Option<usize>, Duty)> {
        let open = |moves: &[Move]| match moves.last() {
            Some(Move::Duty(duty, Heard::Nothing)) => Some(*duty),
            _ => None,
        };
        let of_goal = open(&self.steps).map(|duty| (None, duty));
        let of_items = self.items.iter().enumerate();
        let of_items = of_items.filter_map(|(at, item)| Some((Some(at), open(&item.steps)?)));
        of_goal.into_iter().chain(of_items).collect()
    }

    fn answer(&mut self, at: Option<usize>, heard: Heard) {
        let moves = self.moves(at);
        let Some(Move::Duty(_, waits)) = moves.last_mut() else { panic!("nobody was asked") };
        *waits = heard;
    }

    /// Answers whoever works for a task, or the goal (`g`), and decides what follows.
    fn say(&mut self, id: &str, said: Said) -> Vec<Decision> {
        let at = (id != "g").then(|| self.at(&TaskId(format!("g/{id}").into())));
        self.answer(at, Heard::Said(Arc::new(said)));
        self.settle()
    }

    fn fail(&mut self, id: &str, class: Class) -> Vec<Decision> {
        let at = self.at(&TaskId(format!("g/{id}").into()));
        self.answer(Some(at), Heard::Failed(Failure::new(class, "broken")));
        self.settle()
    }

    /// Whether who was heard last about all of it said that something is missing: the plan, whoever sorts, whoever answers.
    fn was_called_unreached(&self) -> bool {
        let said = |wanted: Duty| {
            let heard = |step: &Move| match step {
                Move::Duty(duty, Heard::Said(said)) if *duty == wanted => match &**said {
                    Said::Tasks(plan) => Some(!plan.complete),
                    Said::More { done, achieved, .. } => Some(!done || *achieved == Some(false)),
                    Said::Answer { achieved, .. } => Some(*achieved == Some(false)),
                    _ => None,
                },
                _ => None,
            };
            self.steps.iter().rev().find_map(heard)
        };
        said(Duty::Finalise) == Some(true) || said(Duty::Classify).or(said(Duty::Plan)) == Some(true)
    }

    fn standing(&self, id: &str) -> Standing {
        self.items[self.at(&TaskId(format!("g/{id}").into()))].standing
    }

    fn status(&self) -> Status {
        status(&self.state())
    }
}

fn step(made: &Move) -> Step<'_> {
    match made {
        Move::Child(at) => Step::Child(*at),
        Move::Duty(duty, Heard::Nothing) => Step::Duty(*duty, Told::Nothing),
        Move::Duty(duty, Heard::Failed(failure)) => Step::Duty(*duty, Told::Failed(Some(failure))),
        Move::Duty(duty, Heard::Said(said)) => Step::Duty(*duty, Told::Said(said.clone())),
    }
}

/// A goal whose plan is taken; nothing is done yet.
fn planned(goal: Goal, drafts: Vec<Draft>) -> Play {
    let mut play = Play::new(goal);
    play.settle();
    play.say("g", tasks(drafts));
    play
}

fn chosen(decisions: &[Decision]) -> Vec<String> {
    let word = |decision: &Decision| match &decision.about {
        Some(id) => format!("{} {}", decision.chosen, id.to_string().trim_start_matches("g/")),
        None => decision.chosen.to_owned(),
    };
    decisions.iter().map(word).collect()
}

#[test]
fn ao_1_a_new_task_has_tried_nothing_and_failed_at_nothing() {
    let play = planned(goal(), vec![draft("a", &[]), draft("b", &["a"])]);
    let second = &play.items[1];
    assert_eq!((second.standing, second.tried.len(), second.failure.is_none()), (Standing::Waiting, 0, true));
    assert!(second.steps.is_empty());
}

#[test]
fn tasks_that_do_not_depend_on_one_another_start_together_and_the_others_wait() {
    let play = planned(goal(), vec![draft("a", &[]), draft("b", &[]), draft("c", &["a", "b"])]);
    assert_eq!(play.asked, ["g/plan", "g/1/execute", "g/2/execute"]);
}

#[test]
fn ao_8_two_comes_before_ten_and_the_more_urgent_before_both() {
    let mut drafts: Vec<Draft> = (1..=11).map(|n| draft(&n.to_string(), &[])).collect();
    drafts[10].priority = -1;
    let play = planned(goal(), drafts);
    let order: Vec<&str> = play.asked.iter().skip(1).map(String::as_str).collect();
    assert_eq!(order[..3], ["g/11/execute", "g/1/execute", "g/2/execute"]);
    assert_eq!(order[10], "g/10/execute");
}

#[test]
fn ao_2_the_analysers_verdict_is_obeyed_and_its_reason_kept() {
    for (spawn, expected) in [(true, "spawn 1"), (false, "execute 1")] {
        let two_tools = Draft { tools: vec!["read".into(), "write".into()], ..draft("a", &[]) };
        let mut play = planned(goal(), vec![two_tools]);
        assert_eq!(play.asked.last().unwrap(), "g/1/analyse");
        let decisions = play.say("1", Said::Size { spawn, reason: "two parts".into(), tools: Vec::new() });
        assert_eq!(chosen(&decisions), [expected]);
        assert!(decisions[0].reason.contains("two parts"), "{decisions:?}");
    }
}

#[test]
fn large_tasks_spawn_without_asking_and_small_ones_are_done() {
    let effort = |tokens, seconds| Effort { tokens, seconds };
    let cases = [
        (effort(Some(1000), None), "decompose"),
        (effort(None, Some(60)), "decompose"),
        (effort(Some(999), Some(59)), "execute"),
        (effort(None, None), "execute"),
    ];
    for (effort, expected) in cases {
        let play = planned(goal(), vec![Draft { effort, ..draft("a", &[]) }]);
        assert_eq!(play.asked.last().unwrap(), &format!("g/1/{expected}"));
    }
}

#[test]
fn defect_3_a_refused_spawn_is_done_directly_and_says_why() {
    let mut shallow = goal();
    shallow.bounds.max_depth = 0;
    let large = Draft { effort: Effort { tokens: Some(5000), seconds: None }, ..draft("a", &[]) };
    let mut play = Play::new(shallow);
    play.settle();
    let decisions = play.say("g", tasks(vec![large]));
    let last = decisions.last().unwrap();
    assert_eq!(last.chosen, "execute");
    assert!(last.reason.contains("5000 tokens") && last.reason.contains("max_depth"), "{}", last.reason);
}

#[test]
fn a_split_that_the_budget_does_not_allow_is_refused_and_says_so() {
    let budget = Budget { tokens: Some(10_000), ..Budget::default() };
    let large = || Draft { effort: Effort { tokens: Some(2_000), seconds: None }, ..draft("a", &[]) };
    let next = |used: u64| {
        let used = Usage { input_tokens: used, ..Usage::default() };
        let mut play = Play { purses: Purse::of("goal", &budget, &used), ..Play::new(goal()) };
        play.settle();
        play.say("g", tasks(vec![large()])).pop().expect("something is decided")
    };
    assert_eq!(next(5_000).chosen, "spawn");
    let refused = next(8_000);
    assert_eq!(refused.chosen, "execute");
    assert!(refused.reason.contains("only 2000 tokens of the goal's budget"), "{}", refused.reason);
}

#[test]
fn the_deeper_a_task_stands_the_larger_it_must_be_to_be_split_unasked() {
    let sized =
        |id: &str, tokens| Draft { effort: Effort { tokens: Some(tokens), seconds: None }, ..draft(id, &[]) };
    let mut play = planned(goal(), vec![sized("a", 1_000)]);
    play.say("1", tasks(vec![sized("x", 1_999), sized("y", 2_000)]));
    assert_eq!(play.asked[2..], ["g/1/1/execute", "g/1/2/decompose"]);
}

#[test]
fn max_depth_counts_how_often_a_task_can_be_split_on() {
    let large = |id: &str| Draft { effort: Effort { tokens: Some(9_000), seconds: None }, ..draft(id, &[]) };
    let mut play =
        planned(Goal { bounds: Bounds { max_depth: 1, ..goal().bounds }, ..goal() }, vec![large("a")]);
    assert_eq!(play.asked.last().unwrap(), "g/1/decompose");
    let decisions = play.say("1", tasks(vec![large("x"), large("y")]));
    assert_eq!(play.asked[2..], ["g/1/1/execute", "g/1/2/execute"]);
    assert!(decisions.last().unwrap().reason.contains("max_depth: 1"), "{decisions:?}");
}

#[test]
fn ao_3_and_ao_4_children_stand_below_their_parent_and_it_stays_open() {
    let large = Draft { effort: Effort { tokens: Some(5000), seconds: None }, ..draft("a", &[]) };
    let mut play = planned(goal(), vec![large]);
    let children = vec![Draft { tools: vec!["read".into()], ..draft("x", &[]) }, draft("y", &[])];
    play.say("1", tasks(children));
    let ids: Vec<String> = play.items.iter().map(|item| item.id.to_string()).collect();
    assert_eq!(ids, ["g/1", "g/1/1", "g/1/2"]);
    assert_eq!(play.standing("1"), Standing::Open);
    let kept: Vec<_> =
        play.items.iter().map(|item| (item.item.depth, item.item.description.as_str())).collect();
    assert_eq!(kept, [(0, "do a"), (1, "do x"), (1, "do y")]);
    assert_eq!(play.items[1].item.tools, ["read"]);
}

#[test]
fn ao_10_a_parent_stays_open_until_all_its_children_have_ended_however_nested() {
    let large = |id: &str| Draft { effort: Effort { tokens: Some(5000), seconds: None }, ..draft(id, &[]) };
    let mut play = planned(goal(), vec![large("a")]);
    play.say("1", tasks(vec![large("x"), draft("y", &[])]));
    play.say("1/1", tasks(vec![draft("p", &[]), draft("q", &[])]));
    play.say("1/2", done());
    play.say("1/1/1", done());
    assert_eq!((play.standing("1"), play.standing("1/1")), (Standing::Open, Standing::Open));
    play.say("1/1/2", done());
    assert_eq!(play.asked.last().unwrap(), "g/1/1/reconcile");
    play.say("1/1", done());
    assert_eq!(play.asked.last().unwrap(), "g/1/reconcile");
    play.say("1", done());
    assert_eq!(play.standing("1"), Standing::Ended(End::Succeeded));
    assert_eq!(play.asked.last().unwrap(), "g/finalise");
}

#[test]
fn the_result_of_an_only_child_is_its_parents() {
    let large = Draft { effort: Effort { tokens: Some(5000), seconds: None }, ..draft("a", &[]) };
    let mut play = planned(goal(), vec![large]);
    play.say("1", tasks(vec![draft("x", &[])]));
    play.say("1/1", done());
    assert_eq!(play.standing("1"), Standing::Ended(End::Succeeded));
    assert!(!play.asked.iter().any(|asked| asked.ends_with("reconcile")));
}

#[test]
fn defect_6_skips_follow_declared_inputs_and_nothing_else() {
    let impossible =
        Draft { skip_probability: 90, skip_reason: "there is no network".into(), ..draft("a", &[]) };
    let similar = Draft { description: "using the previous task do a".into(), ..draft("c", &[]) };
    let mut play = planned(goal(), vec![impossible, draft("b", &["a"]), similar]);
    assert_eq!(play.standing("1"), Standing::Ended(End::Skipped));
    assert_eq!(play.standing("2"), Standing::Ended(End::Skipped));
    assert_eq!(play.standing("3"), Standing::Open);
    play.say("3", done());
    assert_eq!(play.status(), Status::Partial);
}

#[test]
fn ao_12_the_status_is_counted_from_the_tasks() {
    let skip = |id: &str| Draft { skip_probability: 90, skip_reason: "no key".into(), ..draft(id, &[]) };
    assert_eq!(planned(goal(), vec![skip("a"), skip("b")]).status(), Status::SkippedAll);
    let mut some = planned(goal(), vec![skip("a"), draft("b", &[])]);
    some.say("2", done());
    assert_eq!(some.status(), Status::Partial);
    let mut strict = goal();
    strict.policies.clear();
    let mut failed = planned(strict.clone(), vec![draft("a", &[]), draft("b", &[])]);
    failed.say("1", done());
    failed.say("2", not_done());
    assert_eq!(failed.status(), Status::Failed);
    let mut well = planned(strict, vec![draft("a", &[])]);
    well.say("1", done());
    assert_eq!(well.status(), Status::Succeeded);
}

#[test]
fn a_failure_is_recovered_as_its_class_says_and_never_twice_in_the_same_way() {
    let mut goal = goal();
    goal.policies = [(Class::Fatal, vec![Action::RepairParameters, Action::Decompose])].into();
    let mut play = planned(goal, vec![draft("a", &[])]);
    play.fail("1", Class::Fatal);
    assert_eq!(play.asked.last().unwrap(), "g/1/recover");
    let way = |action| Said::Way { action, reason: "r".into(), next_steps: String::new(), tool: None };
    let taken = play.say("1", way(Action::RepairParameters));
    assert_eq!(chosen(&taken), ["repair_parameters 1"]);
    // One way is left: nobody has to be asked which.
    let taken = play.fail("1", Class::Fatal);
    assert_eq!(chosen(&taken), ["decompose 1"]);
    play.say("1", tasks(vec![draft("x", &[]), draft("y", &[])]));
    play.fail("1/1", Class::Timeout);
    play.fail("1/2", Class::Timeout);
    assert_eq!(play.standing("1"), Standing::Ended(End::Failed));
    assert_eq!(play.items[0].tried, [Action::RepairParameters, Action::Decompose, Action::Fail]);
}

#[test]
fn defect_5_a_strategy_that_is_not_left_is_refused_once_and_then_the_first_is_taken() {
    let mut goal = goal();
    goal.policies = [(Class::Fatal, vec![Action::RepairParameters, Action::Skip])].into();
    let mut play = planned(goal, vec![draft("a", &[])]);
    play.fail("1", Class::Fatal);
    let wrong =
        || Said::Way { action: Action::Decompose, reason: "r".into(), next_steps: String::new(), tool: None };
    assert_eq!(chosen(&play.say("1", wrong())), ["recover 1"]);
    assert_eq!(chosen(&play.say("1", wrong())), ["repair_parameters 1"]);
}

#[test]
fn a_spawned_recovery_has_no_children_and_its_result_counts() {
    let mut goal = goal();
    goal.policies = [(Class::Fatal, vec![Action::SpawnRecovery])].into();
    let large = Draft { tools: vec!["read".into()], ..draft("a", &[]) };
    let mut play = planned(goal, vec![large]);
    play.fail("1", Class::Fatal);
    assert_eq!(play.asked.last().unwrap(), "g/1/1/rescue");
    assert_eq!(play.items[1].item.tools, ["read"]);
    play.say("1/1", done());
    assert_eq!((play.standing("1"), play.status()), (Standing::Ended(End::Succeeded), Status::Succeeded));
}

#[test]
fn what_was_not_achieved_is_tried_again_only_after_its_back_off() {
    let mut goal = goal();
    goal.policies = [(Class::InvalidOutput, vec![Action::Retry])].into();
    let mut play = planned(goal, vec![draft("a", &[])]);
    play.answer(Some(0), Heard::Said(Arc::new(not_done())));
    let decisions = route(&play.state());
    assert_eq!((chosen(&decisions), &decisions[0].act), (vec!["retry 1".to_owned()], &Act::Retry));
    play.carry_out(&decisions[0]);
    play.items[0].standing = Standing::Paused;
    assert!(route(&play.state()).is_empty(), "nothing is done before its time");
    play.items[0].standing = Standing::Open;
    assert_eq!(chosen(&play.settle()), ["execute 1"]);
    play.say("1", not_done());
    assert_eq!(play.items[0].failure.as_ref().unwrap().reason.as_deref(), Some(NOT_ACHIEVED));
}

#[test]
fn failed_tasks_are_made_up_for_in_another_round_or_the_goal_has_failed() {
    let mut goal = goal();
    goal.policies.clear();
    let mut play = planned(goal, vec![draft("a", &[])]);
    play.fail("1", Class::Fatal);
    assert_eq!(play.asked.last().unwrap(), "g/classify");
    let instead = Draft { replaces: vec!["1".into()], ..draft("again", &[]) };
    let more = Said::More {
        done: false,
        achieved: None,
        reason: "another way".into(),
        tasks: Proposal { tasks: vec![instead], complete: true },
    };
    play.say("g", more);
    assert_eq!((play.asked.last().unwrap().as_str(), play.status()), ("g/2/execute", Status::Failed));
    play.say("2", done());
    assert_eq!((play.asked.last().unwrap().as_str(), play.status()), ("g/classify", Status::Succeeded));
    let tasks = Proposal { tasks: Vec::new(), complete: true };
    play.say("g", Said::More { done: true, achieved: None, reason: "r".into(), tasks });
    play.say("g", answer(None));
    assert_eq!(play.ended, Some(Ok(())));
    assert_eq!(verdict(&play.state()), Status::Succeeded);
}

#[test]
fn who_makes_up_for_a_makeshift_makes_up_for_what_it_stood_for() {
    let mut goal = goal();
    goal.policies.clear();
    goal.bounds.max_rounds = 3;
    let mut play = planned(goal, vec![draft("a", &[]), draft("b", &["a"])]);
    let more = |drafts: Vec<Draft>| Said::More {
        done: false,
        achieved: None,
        reason: "another way".into(),
        tasks: Proposal { tasks: drafts, complete: true },
    };
    let instead =
        |id: &str, inputs: &[&str], of: &str| Draft { replaces: vec![of.into()], ..draft(id, inputs) };
    play.fail("1", Class::Fatal);
    assert_eq!(play.standing("2"), Standing::Ended(End::Skipped));
    play.say("g", more(vec![instead("c", &[], "1"), instead("d", &["c"], "2")]));
    play.fail("3", Class::Fatal);
    play.say("g", more(vec![instead("e", &[], "3"), instead("f", &["e"], "4")]));
    play.say("5", done());
    play.say("6", done());
    assert_eq!(play.status(), Status::Succeeded);
}

#[test]
fn a_goal_that_whoever_answers_calls_not_reached_was_not() {
    let reached = |achieved: Option<bool>| {
        let mut play = planned(goal(), vec![draft("a", &[])]);
        play.say("1", done());
        play.say("g", answer(achieved));
        (verdict(&play.state()), shortfall(&play.state()))
    };
    assert_eq!(reached(Some(true)), (Status::Succeeded, None));
    assert_eq!(reached(None), (Status::Succeeded, None), "then the tasks alone count");
    assert_eq!(reached(Some(false)), (Status::Failed, Some("it says so".into())));
    let skipped = Draft { skip_probability: 90, skip_reason: "no key".into(), ..draft("a", &[]) };
    let mut all =
        planned(Goal { bounds: Bounds { max_rounds: 1, ..goal().bounds }, ..goal() }, vec![skipped]);
    all.say("g", answer(Some(true)));
    assert_eq!(verdict(&all.state()), Status::SkippedAll, "words make nothing better");
}

#[test]
fn whoever_sorts_says_whether_the_goal_was_reached() {
    for (achieved, expected) in
        [(Some(false), Status::Failed), (Some(true), Status::Succeeded), (None, Status::Succeeded)]
    {
        let mut play = Play::new(goal());
        play.settle();
        play.say("g", Said::Tasks(Proposal { tasks: vec![draft("a", &[])], complete: false }));
        play.say("1", done());
        let nothing = Proposal { tasks: Vec::new(), complete: true };
        play.say("g", Said::More { done: true, achieved, reason: "seen".into(), tasks: nothing });
        play.say("g", answer(None));
        assert_eq!(verdict(&play.state()), expected, "{achieved:?}");
    }
}

/// Says that something is missing, and these tasks for it.
fn missing(drafts: Vec<Draft>) -> Said {
    let tasks = Proposal { tasks: drafts, complete: true };
    Said::More { done: false, achieved: None, reason: "not yet".into(), tasks }
}

/// A goal whose rounds or tasks are used up: each round was thought not to be enough, and everything was done.
fn used_up(bounds: Bounds, rounds: &[&str]) -> Play {
    let mut play = Play::new(Goal { bounds, ..goal() });
    play.settle();
    play.say("g", Said::Tasks(Proposal { tasks: vec![draft("a", &[])], complete: false }));
    for (number, round) in rounds.iter().enumerate() {
        play.say(&(number + 1).to_string(), done());
        assert_eq!(play.asked.last().unwrap(), "g/classify");
        play.say("g", missing(vec![draft(round, &[])]));
    }
    play.say(&(rounds.len() + 1).to_string(), done());
    play
}

#[test]
fn after_the_last_round_it_is_asked_whether_the_goal_is_reached_and_nothing_else() {
    let bounds = goal().bounds;
    let rounds = || used_up(Bounds { max_rounds: 3, ..bounds }, &["b", "c"]);
    let tasks = || used_up(Bounds { max_tasks: 2, max_rounds: 9, ..bounds }, &["b"]);
    for mut play in [rounds(), tasks()] {
        assert_eq!(play.asked.last().unwrap(), "g/classify", "the last round is looked at too");
        let (asked, made) = (play.asked.len(), play.items.len());
        play.say("g", missing(vec![draft("more", &[])]));
        assert_eq!((play.asked.len(), play.items.len()), (asked + 1, made), "no task is made of it");
        play.say("g", answer(Some(true)));
        assert_eq!(verdict(&play.state()), Status::Failed);
        assert!(shortfall(&play.state()).unwrap().contains("not yet"));
    }
    for mut play in [rounds(), tasks()] {
        let tasks = Proposal { tasks: Vec::new(), complete: true };
        play.say("g", Said::More { done: true, achieved: Some(true), reason: "r".into(), tasks });
        play.say("g", answer(None));
        assert_eq!(verdict(&play.state()), Status::Succeeded);
    }
}

#[test]
fn what_was_missing_stays_missing_if_nobody_says_otherwise() {
    let mut play = used_up(Bounds { max_rounds: 2, ..goal().bounds }, &["b"]);
    play.answer(None, Heard::Failed(Failure::new(Class::Budget, "no money is left")));
    play.settle();
    assert_eq!(play.asked.last().unwrap(), "g/finalise");
    play.say("g", answer(None));
    assert_eq!(verdict(&play.state()), Status::Failed);
}

#[test]
fn a_plan_is_refused_once_and_then_the_goal_is_abandoned() {
    let mut play = Play::new(goal());
    play.settle();
    let round = || tasks(vec![draft("a", &["b"]), draft("b", &["a"])]);
    let again = play.say("g", round());
    assert!(
        matches!(&again[0].act, Act::Ask { duty: Duty::Plan, note: Some(note) } if note.contains("circle"))
    );
    play.say("g", round());
    assert_eq!(play.ended.unwrap().unwrap_err().reason.as_deref(), Some("plan_refused"));
}

#[test]
fn the_same_state_gives_the_same_decisions() {
    let play = planned(goal(), vec![draft("a", &[]), draft("b", &[])]);
    assert_eq!(route(&play.state()), route(&play.state()));
}

#[test]
fn priority_order_is_finalisation_escalation_work_planning_maintenance() {
    let about = Some(TaskId("g/1".into()));
    let decision = |act: Act, about: &Option<TaskId>| {
        Decision { chosen: "x", reason: String::new(), about: about.clone(), role: None, act }.rank()
    };
    let ask = |duty| Act::Ask { duty, note: None };
    let ranks = [
        decision(ask(Duty::Finalise), &None),
        decision(Act::Escalate(String::new()), &about),
        decision(ask(Duty::Execute), &about),
        decision(ask(Duty::Plan), &None),
        decision(ask(Duty::Reconcile), &about),
    ];
    assert!(ranks.is_sorted_by(|a, b| a < b), "{ranks:?}");
}

/// What a planner, an executor and a judge may say, however odd.
fn anything(duty: Duty, dice: &[u8]) -> Heard {
    let roll = |at: usize| dice[at % dice.len()];
    if roll(0) < 40 {
        let class = Class::ALL[roll(1) as usize % Class::ALL.len()];
        return Heard::Failed(Failure::new(class, "broken"));
    }
    if roll(2) < 30 {
        return Heard::Said(Arc::new(Said::Refused("no JSON".into())));
    }
    let proposal = || {
        let count = if roll(3) < 20 { 300 } else { usize::from(roll(3) % 6) };
        let draft = |n: usize| {
            let inputs = if roll(4 + n) < 90 {
                vec![]
            } else {
                vec![(usize::from(roll(5 + n)) % (count + 1)).to_string()]
            };
            Draft {
                id: n.to_string(),
                description: format!("t{}", if roll(6 + n) < 20 { 0 } else { n }),
                inputs,
                tools: if roll(7 + n) < 128 { vec![] } else { vec!["read".into(), "write".into()] },
                priority: i64::from(roll(8 + n)) % 3,
                skip_probability: if roll(9 + n) < 30 { 80 } else { 0 },
                skip_reason: "r".into(),
                effort: Effort { tokens: (roll(10 + n) < 140).then_some(9999), seconds: None },
                replaces: Vec::new(),
            }
        };
        Proposal { tasks: (0..count).map(draft).collect(), complete: roll(11) < 128 }
    };
    let said = match duty {
        Duty::Plan | Duty::Decompose => Said::Tasks(proposal()),
        Duty::Analyse => Said::Size { spawn: roll(12) < 170, reason: "r".into(), tools: vec![] },
        Duty::Execute | Duty::Rescue | Duty::Reconcile => {
            Said::Work { achieved: roll(13) < 110, reason: "r".into() }
        }
        Duty::Recover => {
            let action = Action::ALL[usize::from(roll(14)) % 8];
            Said::Way { action, reason: "r".into(), next_steps: String::new(), tool: None }
        }
        Duty::Classify => Said::More {
            done: roll(15) < 60,
            achieved: (roll(17) < 100).then_some(roll(18) < 128),
            reason: "r".into(),
            tasks: proposal(),
        },
        Duty::Collect => Said::Digest,
        Duty::Finalise => answer([None, Some(true), Some(false)][usize::from(roll(16)) % 3]),
    };
    Heard::Said(Arc::new(said))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    /// Bad JSON, cycles, hundreds of tasks, endless spawning, endless failing: it ends, within its bounds, honestly.
    #[test]
    fn whatever_models_say_a_goal_ends_within_its_bounds(
        dice in prop::collection::vec(any::<u8>(), 50..120),
        bounds in (0u32..4, 1u32..5, 1u32..20, 1u32..4, 0u32..5),
    ) {
        let mut goal = goal();
        let (max_depth, max_children, max_tasks, max_rounds, max_recoveries) = bounds;
        goal.bounds = Bounds { max_depth, max_children, max_tasks, max_rounds, max_recoveries };
        let mut play = Play::new(goal);
        play.settle();
        let mut turn = 0usize;
        while play.ended.is_none() {
            let waiting = play.waiting();
            prop_assert!(!waiting.is_empty(), "nobody is asked, and it has not ended");
            let roll = usize::from(dice[turn % dice.len()]) + turn;
            let (at, duty) = waiting[roll % waiting.len()];
            let from = (turn * 7) % dice.len();
            let rolled: Vec<u8> = dice[from..].iter().chain(&dice[..from]).map(|die| die.wrapping_add(turn as u8)).collect();
            play.answer(at, anything(duty, &rolled));
            play.settle();
            turn += 1;
            prop_assert!(turn < 2000, "it does not end");
        }
        prop_assert!(play.items.len() as u32 <= max_tasks);
        let status = play.status();
        for item in &play.items {
            prop_assert!(item.item.depth <= max_depth, "{} is too deep", item.id);
            prop_assert!(matches!(item.standing, Standing::Ended(_)), "{} is open", item.id);
            let mut tried = item.tried.clone();
            tried.retain(|action| !matches!(action, Action::Fail | Action::Skip));
            prop_assert!(tried.len() as u32 <= max_recoveries);
            let mut once = tried.clone();
            once.sort();
            once.dedup();
            prop_assert_eq!(once.len(), tried.len(), "{:?} of {}", tried, item.id);
        }
        for (at, _) in play.items.iter().enumerate() {
            let children = play.items.iter().filter(|item| item.parent == Some(at)).count() as u32;
            prop_assert!(children <= max_children, "a task has {} children", children);
        }
        if play.ended == Some(Ok(())) {
            let failed = play.items.iter().any(|item| item.parent.is_none() && item.standing == Standing::Ended(End::Failed));
            prop_assert_eq!(failed, status == Status::Failed, "{:?}", status);
            let verdict = verdict(&play.state());
            prop_assert!(!failed || verdict == Status::Failed, "{:?}", verdict);
            let reached = matches!(verdict, Status::Succeeded | Status::Partial);
            prop_assert!(!(reached && play.was_called_unreached()), "{:?}", verdict);
        }
    }
}

#[test]
fn a_skip_with_a_reason_below_the_threshold_is_no_skip() {
    let doubtful = Draft { skip_probability: 69, skip_reason: "perhaps".into(), ..draft("a", &[]) };
    let play = planned(goal(), vec![doubtful]);
    assert_eq!(play.items[0].item.skip, Some(Skip { probability: 69, reason: "perhaps".into() }));
    assert_eq!(play.asked.last().unwrap(), "g/1/execute");
}

#[test]
fn a_persons_plan_that_cannot_be_used_comes_back_with_what_is_wrong() {
    let play = Play::new(Goal { approve: true, ..goal() });
    let mut state = play.state();
    state.unattended = false;
    state.given = Some(Ok(Proposal { tasks: vec![draft("a", &[])], complete: true }));
    let [first] = &route(&state)[..] else { panic!("one decision") };
    assert!(matches!(&first.act, Act::Approve { plan, .. } if plan.contains("do a")), "{first:?}");
    let changed = "# mine\n- {description: x, inputs: [nothing]}";
    state.approved = Some(Proposal::read_text(changed));
    state.approved_text = Some(changed.to_owned());
    let [again] = &route(&state)[..] else { panic!("one decision") };
    let Act::Approve { prompt, plan } = &again.act else { panic!("{again:?}") };
    assert!(prompt.contains("needs `nothing`"), "{prompt}");
    assert_eq!(plan, changed, "the plan that is wrong, not the one before it");
    state.approved = Some(Proposal::read_text("- description: x"));
    let [taken] = &route(&state)[..] else { panic!("one decision") };
    assert!(matches!(&taken.act, Act::Add(items) if items.len() == 1), "{taken:?}");
}

#[test]
fn tasks_that_fail_together_are_recovered_within_max_tasks() {
    let mut goal = goal();
    goal.bounds.max_tasks = 5;
    goal.policies = [(Class::Fatal, vec![Action::SpawnRecovery])].into();
    let mut play = planned(goal, vec![draft("a", &[]), draft("b", &[]), draft("c", &[]), draft("d", &[])]);
    (0..4).for_each(|at| play.answer(Some(at), Heard::Failed(Failure::new(Class::Fatal, "broken"))));
    play.settle();
    assert_eq!(play.items.len(), 5);
}

#[test]
fn what_was_left_out_does_not_hide_that_the_goal_was_not_reached() {
    let impossible = || Draft { skip_probability: 90, skip_reason: "no network".into(), ..draft("b", &[]) };
    let cases = [
        (false, None, Status::Failed),
        (true, Some(false), Status::Failed),
        (true, None, Status::Partial),
        (true, Some(true), Status::Partial),
    ];
    for (done_with, achieved, expected) in cases {
        let mut play = planned(goal(), vec![draft("a", &[]), impossible()]);
        play.say("1", done());
        assert_eq!(play.asked.last().unwrap(), "g/classify");
        let tasks = Proposal { tasks: Vec::new(), complete: true };
        play.say("g", Said::More { done: done_with, achieved, reason: "r".into(), tasks });
        play.say("g", answer(None));
        assert_eq!(verdict(&play.state()), expected, "done: {done_with}, achieved: {achieved:?}");
    }
}
